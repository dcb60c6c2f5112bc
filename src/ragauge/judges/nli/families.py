"""Which family a model is of, as its configuration says, and what follows from that."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ragauge.errors import BadParameter
from ragauge.judges.nli.card import Family
from ragauge.judges.nli.labels import TWO_WAY, labels_of
from ragauge.types import Label

#: The tokens of one input where a model's positions are relative and have no end of their own. Trust-Eval, ragas and
#: MiniCheck feed such models whole documents; their cost grows with the square of the length. MiniCheck's documents are
#: put to Flan-T5 in pieces of 500 words, which are about 700 tokens, and to the others in 400 of 512 tokens.
_WINDOWS: dict[Family, int] = {"hhem": 2048, "true": 2048, "minicheck-t5": 768, "minicheck": 512}

_DEFAULT_WINDOW = 512
_SHIFTED = ("roberta", "xlm-roberta", "camembert", "mpnet")  # their positions begin behind that of the padding
_RELATIVE = ("deberta", "deberta-v2")
_TRUE = re.compile(r"(?<![a-z])true")  # t5_xxl_true_nli_mixture, t5_11b_trueteacher_and_anli
_SANE = 1_000_000  # tokenizers without a limit give an enormous one


def family_of(config: Mapping[str, Any], name: str, given: str | None, spec: str) -> Family:
    """The family of a model from its configuration, or as the caller gives it.

    name: text-to-text models differ in nothing but their prompt, and MiniCheck's classifiers do not look otherwise than
    any: these are known by what they are called.

    Raises BadParameter where it cannot be told.
    """
    architecture = str((config.get("architectures") or [""])[0])
    writes = architecture.endswith("ForConditionalGeneration")
    known = given or _guessed(architecture, f"{name} {config.get('_name_or_path', '')}".lower())
    if known == "minicheck":
        return "minicheck-t5" if writes else "minicheck"
    if known == "true" and writes:
        return "true"
    if known == "hhem":
        return "hhem"
    if known == "classifier" and architecture.endswith("ForSequenceClassification"):
        return "classifier"
    raise BadParameter(
        f"{spec}: {'its name does not say how it is asked' if writes else f'{architecture or config} is no NLI model'};"
        f" write {spec}?family=NAME, with true for 'premise: ... hypothesis: ...' answered by 1, or minicheck, hhem, "
        "classifier"
    )


def _guessed(architecture: str, name: str) -> str:
    if architecture.startswith("HHEMv2"):
        return "hhem"
    if "minicheck" in name:
        return "minicheck"
    if architecture.endswith("ForConditionalGeneration"):
        return "true" if _TRUE.search(name) else ""
    return "classifier"


def classes_of(family: Family, config: Mapping[str, Any], given: str | None, spec: str) -> tuple[Label, ...]:
    """The labels of the model's classes; those of the families that are two-way by their making need no names."""
    return labels_of(config, given, spec) if family == "classifier" or given else TWO_WAY


def window_of(
    family: Family, config: Mapping[str, Any], tokenizer: Mapping[str, Any], given: int | None, spec: str
) -> int:
    """The tokens of one input. Raises BadParameter where more are wanted than the model has positions for."""
    positions = _positions(config)
    if given and positions and given > positions and config.get("model_type") not in _RELATIVE:
        raise BadParameter(f"{spec}: window={given}, but the model has positions for {positions} tokens; give no more")
    if given:
        return given
    fixed = None if config.get("model_type") in _RELATIVE and family != "classifier" else positions
    limits = (_WINDOWS.get(family), fixed, tokenizer.get("model_max_length") if family == "classifier" else None)
    known = [int(limit) for limit in limits if limit and limit < _SANE]
    return min(known, default=_DEFAULT_WINDOW)


def _positions(config: Mapping[str, Any]) -> int | None:
    positions = config.get("max_position_embeddings")
    if positions and config.get("model_type") in _SHIFTED:
        return int(positions) - int(config.get("pad_token_id") or 1) - 1
    return positions
