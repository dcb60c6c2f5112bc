from __future__ import annotations

from typing import Any

import pytest

from ragauge.errors import BadParameter
from ragauge.judges.nli.models import family_of, window_of


def _config(architecture: str, **more: Any) -> dict[str, Any]:
    return {"architectures": [architecture], **more}


@pytest.mark.parametrize(
    ("architecture", "name", "family"),
    [
        ("DebertaV2ForSequenceClassification", "cross-encoder/nli-deberta-v3-base", "classifier"),
        ("HHEMv2ForSequenceClassification", "vectara/hallucination_evaluation_model", "hhem"),
        ("T5ForConditionalGeneration", "google/t5_xxl_true_nli_mixture", "true"),
        ("T5ForConditionalGeneration", "google/t5_11b_trueteacher_and_anli", "true"),
        ("T5ForConditionalGeneration", "lytang/MiniCheck-Flan-T5-Large", "minicheck-t5"),
        ("RobertaForSequenceClassification", "lytang/MiniCheck-RoBERTa-Large", "minicheck"),
    ],
)
def test_families_are_reported_apart(architecture: str, name: str, family: str) -> None:
    """The published models fall into their families by their configuration and what they are called."""
    assert family_of(_config(architecture), name, None, f"hf/{name}") == family


def test_a_family_may_be_named() -> None:
    """A text-to-text model of another name is asked in the form that the caller names."""
    config = _config("T5ForConditionalGeneration")

    assert family_of(config, "mine", "true", "hf/mine") == "true"
    assert family_of(config, "mine", "minicheck", "hf/mine") == "minicheck-t5"


@pytest.mark.parametrize(
    ("config", "given", "message"),
    [
        (_config("T5ForConditionalGeneration"), None, "its input format is unknown"),
        (_config("BertForMaskedLM"), None, "BertForMaskedLM is no NLI model"),
        (_config("BertForSequenceClassification"), "true", "is no NLI model"),
        ({}, None, "is no NLI model"),
    ],
)
def test_a_model_of_no_family_is_refused(config: dict[str, Any], given: str | None, message: str) -> None:
    """What is unclear or impossible ends in an error that names the option."""
    with pytest.raises(BadParameter, match=rf"{message}.*\?family=NAME"):
        family_of(config, "mine", given, "hf/mine")


@pytest.mark.parametrize(
    ("family", "config", "tokenizer", "window"),
    [
        ("classifier", {"model_type": "bert", "max_position_embeddings": 512}, {}, 512),
        ("classifier", {"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1}, {}, 512),
        ("classifier", {"model_type": "bert", "max_position_embeddings": 512}, {"model_max_length": 256}, 256),
        ("classifier", {"model_type": "deberta-v2", "max_position_embeddings": 512}, {"model_max_length": 10**30}, 512),
        ("classifier", {}, {}, 512),
        ("hhem", {}, {"model_max_length": 512}, 2048),
        ("true", {"model_type": "t5"}, {"model_max_length": 512}, 2048),
        ("minicheck-t5", {"model_type": "t5"}, {}, 768),
        ("minicheck", {"model_type": "roberta", "max_position_embeddings": 66, "pad_token_id": 1}, {}, 64),
    ],
)
def test_windows_of_families(family: Any, config: dict[str, Any], tokenizer: dict[str, Any], window: int) -> None:
    """A window is what the positions hold and the tokenizer was made for; relative positions have one by convention."""
    assert window_of(family, config, tokenizer.get("model_max_length", 0), None, "hf/m") == window


def test_a_window_may_be_given_within_the_positions() -> None:
    """The caller may choose the window, but not beyond a model's positions, unless these are relative."""
    bert = {"model_type": "bert", "max_position_embeddings": 512}

    assert window_of("classifier", bert, 512, 128, "hf/m") == 128
    assert window_of("minicheck", {**bert, "model_type": "deberta-v2"}, 512, 2048, "hf/m") == 2048
    with pytest.raises(BadParameter, match="window=1024, but the model has positions for 512 tokens"):
        window_of("classifier", bert, 512, 1024, "hf/m")
