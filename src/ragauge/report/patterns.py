"""Patterns of failure: what a sample's scores together say about the cause.

The table is plain data and part of the document, so that whoever shows a run can apply it with cuts of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from ragauge.scores import SampleRecord
from ragauge.types import Sample

Level = Literal["below", "at_least", "above"]

#: Where a signal turns from low to high, unless the reader says otherwise: conventions, fitted to nothing.
CUTS: Mapping[str, float] = {
    "faithfulness": 0.75,
    "citation_precision": 0.75,
    "hallucination": 0.0,
    "bias": 0.0,
    "toxicity": 0.0,
    "context_recall": 0.5,
    "claim_recall@contexts": 0.5,
    "context_utilization": 0.5,
    "claim_recall": 0.5,
    "answer_correctness": 0.5,
    "context_relevance": 0.5,
    "answer_relevance": 0.5,
    "relevance_rubric.topical_match": 0.5,
    "refused": 0.5,
    "answerable": 0.5,
}


class Condition(msgspec.Struct, frozen=True):
    """What a signal must be: below its cut, at least its cut, or above it.

    signals: keys of metrics or signs; the first that a sample has is the one that counts.
    """

    level: Level
    signals: tuple[str, ...]

    def holds(self, signals: Mapping[str, float], cuts: Mapping[str, float]) -> bool:
        """Whether the sample's signal is so; False where the sample has none of them."""
        signal = next((signal for signal in self.signals if signal in signals), None)
        if signal is None:
            return False
        value, cut = signals[signal], cuts[signal]
        return value < cut if self.level == "below" else value >= cut if self.level == "at_least" else value > cut


class Pattern(msgspec.Struct, frozen=True):
    """A cause of failure: it shows where all of `when` holds and none of `unless`.

    title: in a few words. advice: what it means, and where to look.
    """

    name: str
    title: str
    advice: str
    when: tuple[Condition, ...]
    unless: tuple[Condition, ...] = ()

    def shows(self, signals: Mapping[str, float], cuts: Mapping[str, float] = CUTS) -> bool:
        """Whether a sample with these signals shows the pattern."""
        held = all(condition.holds(signals, cuts) for condition in self.when)
        return held and not any(condition.holds(signals, cuts) for condition in self.unless)


_RETRIEVED = ("context_recall", "claim_recall@contexts")
_REFUSED = Condition("at_least", ("refused",))
_UNFAITHFUL = Condition("below", ("faithfulness",))
_IRRELEVANT_CONTEXTS = Condition("below", ("context_relevance",))

#: Named, where it names them, after the patterns that the documentation of RAG Evals reads from chunk precision (here
#: context_relevance) and faithfulness, and after the modules that RAGChecker (Ru et al., 2024) tells apart.
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
        "The contexts lack what the reference says. Look at the index, at how the query is put to it, and at how many "
        "chunks are taken.",
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
        "faithfulness). Mend the retrieval first.",
        (_UNFAITHFUL, _IRRELEVANT_CONTEXTS),
        (_REFUSED,),
    ),
    Pattern(
        "irrelevant",
        "Irrelevant to the query",
        "The response says something else than was asked.",
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
    """The names of the patterns that a sample shows at the usual cuts; `signs` are those of `signs_of`."""
    values = {key: score.value for key, score in record.scores.items() if score.value is not None}
    signals = {**values, **signs}
    return [pattern.name for pattern in PATTERNS if pattern.shows(signals)]


def signs_of(record: SampleRecord) -> dict[str, float]:
    """What patterns go by besides metrics, 1 for yes and 0 for no; what is not known is left out.

    refused: the response declines to answer, by the metric `refusal` where it was measured, else by its rules.
    answerable: the contexts hold an answer, as the data says (`answerable`, or `answers_found` of each context).
    """
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
