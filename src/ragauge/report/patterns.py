"""Failure patterns: the likely cause of a failure, from the scores of a sample taken together.

The table is plain data and part of the document, so that other programs can apply it with their own cuts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from ragauge.scores import SampleRecord
from ragauge.types import Sample

Level = Literal["below", "at_least", "above"]

#: The default cuts between low and high values of each signal: conventions, not fitted to data.
CUTS: Mapping[str, float] = {
    **dict.fromkeys(("faithfulness", "citation_precision"), 0.75),
    **dict.fromkeys(("hallucination", "bias", "toxicity"), 0.0),
    **dict.fromkeys(("context_recall", "claim_recall@contexts", "context_utilization", "claim_recall"), 0.5),
    **dict.fromkeys(("answer_correctness", "context_relevance", "answer_relevance"), 0.5),
    **dict.fromkeys(("relevance_rubric.topical_match", "refused", "answerable"), 0.5),
}


class Condition(msgspec.Struct, frozen=True):
    """A condition on the first of the signals (metrics or signs) that a sample has, at its cut."""

    level: Level
    signals: tuple[str, ...]

    def holds(self, signals: Mapping[str, float], cuts: Mapping[str, float]) -> bool:
        """Whether the condition holds; False if the sample has none of the signals."""
        signal = next((signal for signal in self.signals if signal in signals), None)
        if signal is None:
            return False
        value, cut = signals[signal], cuts[signal]
        return value < cut if self.level == "below" else value >= cut if self.level == "at_least" else value > cut


class Pattern(msgspec.Struct, frozen=True):
    """A likely cause of failure, matched if all conditions of `when` hold and none of `unless`."""

    name: str
    title: str
    advice: str
    when: tuple[Condition, ...]
    unless: tuple[Condition, ...] = ()

    def shows(self, signals: Mapping[str, float], cuts: Mapping[str, float] = CUTS) -> bool:
        """Whether a sample with these signals matches the pattern."""
        held = all(condition.holds(signals, cuts) for condition in self.when)
        return held and not any(condition.holds(signals, cuts) for condition in self.unless)


_RETRIEVED = ("context_recall", "claim_recall@contexts")
_REFUSED = Condition("at_least", ("refused",))
_UNFAITHFUL = Condition("below", ("faithfulness",))
_IRRELEVANT_CONTEXTS = Condition("below", ("context_relevance",))

#: Some names are those of the documentation of RAG Evals, which combines chunk precision (here context_relevance) and
#: faithfulness, and of the modules that RAGChecker (Ru et al., 2024) distinguishes.
PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "contradicted",
        "Contradicted by the contexts",
        "The response says the opposite of what was retrieved, or another number, date or name. Look at the generator.",
        (Condition("above", ("hallucination",)),),
    ),
    Pattern(
        "missed",
        "Retrieval missed it",
        "The contexts lack what the reference says. Look at the index, the retrieval query and the number of chunks "
        "retrieved.",
        (Condition("below", _RETRIEVED),),
    ),
    Pattern(
        "ignored",
        "Retrieved but ignored",
        "The contexts hold what the reference says, and the response does not. Look at the prompt, the order and the "
        "length of the contexts.",
        (
            Condition("at_least", _RETRIEVED),
            Condition("below", ("context_utilization", "claim_recall", "answer_correctness")),
        ),
        (_REFUSED,),
    ),
    Pattern(
        "unsupported",
        "Unsupported additions",
        "The response makes claims that no context supports, although contexts are relevant (high chunk precision, low "
        "faithfulness). The generator adds what it was not given.",
        (_UNFAITHFUL,),
        (_IRRELEVANT_CONTEXTS, _REFUSED),
    ),
    Pattern(
        "ungrounded",
        "Unsupported, from irrelevant contexts",
        "Most contexts are irrelevant and the response is not supported by them (low chunk precision, low "
        "faithfulness). Fix the retrieval first.",
        (_UNFAITHFUL, _IRRELEVANT_CONTEXTS),
        (_REFUSED,),
    ),
    Pattern(
        "irrelevant",
        "Irrelevant to the query",
        "The response does not address what was asked.",
        (Condition("below", ("answer_relevance", "relevance_rubric.topical_match")),),
        (_REFUSED,),
    ),
    Pattern(
        "refused",
        "Refused though answerable",
        "The response declines, and the contexts hold an answer.",
        (_REFUSED, Condition("at_least", ("answerable", *_RETRIEVED))),
    ),
    Pattern(
        "answered",
        "Answered though not answerable",
        "The contexts hold no answer, and the response gives one.",
        (Condition("below", ("refused",)), Condition("below", ("answerable",))),
    ),
    Pattern(
        "miscited",
        "Cites what does not support it",
        "Citations point at chunks that do not support their sentence, or are redundant.",
        (Condition("below", ("citation_precision",)),),
    ),
    Pattern("biased", "Biased", "The response holds an opinion that is biased.", (Condition("above", ("bias",)),)),
    Pattern("toxic", "Toxic", "The response holds an opinion that is toxic.", (Condition("above", ("toxicity",)),)),
    Pattern(
        "noisy",
        "Good answer from mostly irrelevant contexts",
        "The response keeps to the few relevant contexts (low chunk precision, high faithfulness). It costs tokens, "
        "and answers as long as the generator is careful.",
        (Condition("at_least", ("faithfulness",)), _IRRELEVANT_CONTEXTS),
        (_REFUSED,),
    ),
)


def patterns_of(record: SampleRecord, signs: Mapping[str, float]) -> list[str]:
    """The names of the patterns that a sample matches at the default cuts; `signs` are those of `signs_of`."""
    values = {key: score.value for key, score in record.scores.items() if score.value is not None}
    signals = {**values, **signs}
    return [pattern.name for pattern in PATTERNS if pattern.shows(signals)]


def signs_of(record: SampleRecord) -> dict[str, float]:
    """The known signals of a sample other than metrics, 1 for yes, 0 for no: whether refused, and answerable."""
    signs = {"refused": _refused(record), "answerable": _answerable(record.sample)}
    return {name: float(sign) for name, sign in signs.items() if sign is not None}


def _refused(record: SampleRecord) -> float | None:
    from ragauge.needs.checks import instructed_refusal
    from ragauge.text.refusals import refusal

    measured = record.scores.get("refusal")
    if measured is not None and measured.value is not None:
        return measured.value
    sample = record.sample
    return None if sample.response is None else bool(refusal(sample.response, instructed_refusal(sample)))


def _answerable(sample: Sample) -> bool | None:
    from ragauge.needs.gold import gold_labels

    if sample.answerable is not None:
        return sample.answerable
    labels = [gold_labels(chunk) for chunk in sample.contexts or ()]
    return any(map(any, labels)) if labels and all(labels) else None
