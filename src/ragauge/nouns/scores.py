"""Scores of samples, their evidence, and estimates over a data set."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from ragauge.nouns.answers import Label
from ragauge.nouns.statements import Span

Better = Literal["higher", "lower"]

#: The lowest and highest value of a metric.
Scale = tuple[float, float]


class Counts(Protocol):
    """Sufficient statistics of a score: the same formula gives a sample's value and, on sums, the pooled value."""

    @property
    def value(self) -> float | None:
        """The score, or None where there is nothing to count."""

    @property
    def numbers(self) -> tuple[float, ...]:
        """The counts, to be added over samples."""


class Share(msgspec.Struct, frozen=True, gc=False):
    """`hits` out of `total`."""

    hits: float
    total: float

    @property
    def value(self) -> float | None:
        """The score, or None where there is nothing to count."""
        return self.hits / self.total if self.total else None

    @property
    def numbers(self) -> tuple[float, ...]:
        """The counts, to be added over samples."""
        return (self.hits, self.total)


class Incidence(msgspec.Struct, frozen=True, gc=False):
    """`hits` among `total`; where there was nothing that could be hit, none was, and the value is 0."""

    hits: float
    total: float

    @property
    def value(self) -> float | None:
        """The score, or None where there is nothing to count."""
        return self.hits / self.total if self.total else 0.0

    @property
    def numbers(self) -> tuple[float, ...]:
        """The counts, to be added over samples."""
        return (self.hits, self.total)


class Overlap(msgspec.Struct, frozen=True, gc=False):
    """True positives, false positives and false negatives; the value is F1, and 0 without a true positive."""

    tp: float
    fp: float
    fn: float

    @property
    def value(self) -> float | None:
        """The score, or None where there is nothing to count."""
        return self.tp / (self.tp + 0.5 * (self.fp + self.fn)) if self.tp else 0.0

    @property
    def numbers(self) -> tuple[float, ...]:
        """The counts, to be added over samples."""
        return (self.tp, self.fp, self.fn)


class PrecisionRecall(msgspec.Struct, frozen=True, gc=False):
    """Two shares with units of their own; the value is their harmonic mean."""

    precise: float
    responded: float
    recalled: float
    expected: float

    @property
    def precision(self) -> float | None:
        """What is precise of what was responded."""
        return Share(self.precise, self.responded).value

    @property
    def recall(self) -> float | None:
        """What is recalled of what was expected."""
        return Share(self.recalled, self.expected).value

    @property
    def value(self) -> float | None:
        """The score, or None where there is nothing to count."""
        precision, recall = self.precision, self.recall
        if precision == 0 or recall == 0:
            return 0.0
        if precision is None or recall is None:
            return None
        return 2 * precision * recall / (precision + recall)

    @property
    def numbers(self) -> tuple[float, ...]:
        """The counts, to be added over samples."""
        return (self.precise, self.responded, self.recalled, self.expected)


class ChunkEvidence(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What one chunk says: the chunk's id, label, probability of entailment, and its deciding characters."""

    chunk: str
    label: Label
    probability: float | None = None
    span: Span | None = None


class Evidence(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One judged piece behind a score; the single schema of everything a report shows.

    text: the piece that was judged (a statement, a chunk, a graded text).
    field: where it comes from: "response", "references[0]", "contexts[2]".
    span: its characters there.
    against: what it was held against: "contexts", "references[0]", "query", or the rubric's name; empty for traits.
    label: the verdict; value: the grade. One of the two is set.
    chunks: the label of each chunk, for entailment.
    judgment: the id of the judgment in the store; empty where nothing had to be asked.
    """

    text: str
    field: str
    span: Span | None = None
    against: str = ""
    label: Label | None = None
    value: float | None = None
    probability: float | None = None
    chunks: tuple[ChunkEvidence, ...] = ()
    rationale: str | None = None
    judgment: str = ""

    @property
    def entailed(self) -> bool:
        """Whether what it was held against entails it: all chunks together, and none contradicts it."""
        contradicted = any(chunk.label is Label.CONTRADICTED for chunk in self.chunks)
        return self.label is Label.ENTAILED and not contradicted

    def labels(self, chunks: int) -> list[Label | None]:
        """What each of so many chunks says; what they say together where no more is told."""
        return [chunk.label for chunk in self.chunks] or [self.label] * chunks


class Score(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A metric on one sample: a value, or undefined (nothing to count), or failed (no answer), with the reason.

    counts: the numbers the value was made of, where it is made of counts.
    """

    value: float | None = None
    undefined: str | None = None
    failed: str | None = None
    counts: tuple[float, ...] = ()
    evidence: tuple[Evidence, ...] = ()


class Estimate(msgspec.Struct, frozen=True, gc=False):
    """A metric over a data set.

    value: the mean over the n scored samples (or the metric's own aggregate), None where n is 0.
    low, high: its interval at `confidence`; method: how it was made.
    n + undefined + failed = the number of samples. better: which way is better. over: "samples" for a mean of scores,
    "data" for a value made of the counts of all samples, which no sample has by itself. scale: the lowest and highest
    value of the metric; None in runs that were kept before it was.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    undefined: int
    failed: int
    method: str
    confidence: float = 0.95
    better: Better = "higher"
    over: Literal["samples", "data"] = "samples"
    scale: Scale | None = None
