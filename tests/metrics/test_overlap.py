"""Metrics of shared wording: that they hand their texts and parameters to the measures of ragauge.text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ragauge.metrics.registry import parse_metric
from ragauge.text import overlap

if TYPE_CHECKING:
    from tests.metrics.conftest import Answering, Drive, Sampling, Scoring, Valuing

RESPONSE = "The cats were running.\nThey ran far."
REFERENCES = ("A cat was running, far away.", "The cats ran.\nThey were running far.")


def test_rouge_is_the_measure_of_the_text_floor(scores: Scoring, sample: Sampling) -> None:
    """rouge gives one value per type, equal to the text measure with the same parameters."""
    one = sample(response=RESPONSE, references=REFERENCES)
    got = scores(one, "rouge(types=rouge1+rougeLsum,stemmer=true,tokenizer=unicode)")
    want = overlap.rouge(RESPONSE, REFERENCES, ("rouge1", "rougeLsum"), stemmer=True, tokenizer="unicode")
    assert {key: score.value for key, score in got.items()} == {f"rouge.{name}": value for name, value in want.items()}
    assert list(scores(one, "rouge")) == ["rouge.rouge1", "rouge.rouge2", "rouge.rougeL", "rouge.rougeLsum"]


def test_single_values_are_the_measures_of_the_text_floor(value: Valuing) -> None:
    """bleu, chrf, exact_match and token_f1 equal the text measures with the same parameters."""
    fields = {"response": RESPONSE, "references": REFERENCES}
    assert value("bleu", **fields) == overlap.bleu(RESPONSE, REFERENCES)
    assert value("bleu(weights=0.5+0.5,tokenizer=whitespace,smoothing=method1)", **fields) == overlap.bleu(
        RESPONSE, REFERENCES, (0.5, 0.5), "whitespace", "method1"
    )
    assert value("chrf(order=4,beta=1,words=2)", **fields) == overlap.chrf(RESPONSE, REFERENCES, 4, 1.0, 2)
    assert value("chrf", **fields) == overlap.chrf(RESPONSE, REFERENCES)
    assert value("token_f1", **fields) == overlap.token_f1(RESPONSE, REFERENCES)
    assert value("exact_match", response="the Cat!", references=["a dog", "A cat"]) == 1.0
    assert value("exact_match", response="the Cat!", references=["a dog"]) == 0.0


@pytest.mark.parametrize(
    ("response", "reference"),
    [("السعر 19 يورو", "العمر 19 سنة"), ("休みは日曜です。", "休みは日曜です。"), ("It is Sunday.", "日曜です。")],
)
def test_rouge_is_undefined_for_letters_that_its_tokenizer_drops(value: Valuing, response: str, reference: str) -> None:
    """Text mostly in letters other than a-z has no ROUGE by Google's tokenizer, and has one by the other."""
    fields = {"response": response, "references": [reference]}
    assert "rouge(tokenizer=unicode)" in str(value("rouge(types=rouge1)", **fields))
    assert value("rouge(types=rouge1,tokenizer=unicode)", **fields) != value("rouge(types=rouge1)", **fields)
    assert value("rouge(types=rouge1)", response="Schön", references=["Schön"]) == 1.0


@pytest.mark.parametrize("name", ["rouge(types=rouge1)", "bleu", "chrf", "exact_match", "token_f1"])
def test_no_wording_at_all(value: Valuing, name: str) -> None:
    """An empty response scores 0; without a reference that says something the score is undefined."""
    assert value(name, response="", references=["a b c d"]) == 0.0
    assert value(name, response="a", references=[]) == "undefined: the sample has no reference"
    assert value(name, response="a", references=[" "]) == "undefined: the sample has no reference"


def test_no_judge_is_asked(drive: type[Drive], sample: Sampling, words: Answering) -> None:
    """Measures of wording put no question and declare none."""
    measures = [parse_metric(name) for name in ("rouge", "bleu", "chrf", "exact_match", "token_f1")]
    assert drive([sample(response="a", references=["a"])], measures, words).questions == []
    assert {topic for measure in measures for need in measure.needs for topic in need.asks} == set()
