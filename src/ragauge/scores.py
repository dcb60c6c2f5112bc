"""Scores of samples with their evidence, estimates, gates, and the records of a run that a store keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Literal, Protocol

import msgspec

from ragauge.errors import BadParameter, UnknownName
from ragauge.types import Failure, Identity, Label, Sample, Span, TotalUsage, is_entailed

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


class F1Counts(msgspec.Struct, frozen=True, gc=False):
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
        """Whether the chunks together entail it and none of them contradicts it."""
        return is_entailed(self.label, self.chunks)

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


#: The sign for the side of its bound on which a gate is met.
_SIGNS = {"below": "≥", "above": "≤"}

#: The side of a bound that is worse.
_WORSE: Mapping[Better, Literal["below", "above"]] = {"higher": "below", "lower": "above"}


class Gate(msgspec.Struct, frozen=True):
    """The estimate of `metric` must not lie below, or else above, `bound`.

    fails: the side of the bound on which the gate fails.
    """

    metric: str
    bound: float
    fails: Literal["below", "above"] = "below"

    def failure(self, estimates: Mapping[str, Estimate]) -> str | None:
        """What is wrong, or None. A metric without a value fails: it cannot be said to have passed."""
        estimate = estimates.get(self.metric)
        if estimate is None or estimate.value is None:
            return f"{self.metric} has no value"
        below = self.fails == "below"
        if (estimate.value < self.bound) if below else (estimate.value > self.bound):
            return f"{self.metric} is {estimate.value:.3f}, {self.fails} {self.bound:g}"
        return None

    def __str__(self) -> str:
        return f"{self.metric} {_SIGNS[self.fails]} {self.bound:g}"


def gates_of(bounds: Mapping[str, float] | Sequence[Gate], estimates: Mapping[str, Estimate]) -> tuple[Gate, ...]:
    """A gate for each bound: the least that will do where higher is better, the most where lower is; or gates as given.

    Raises UnknownName for a metric that was not measured, BadParameter for a bound that is no number or off the
    metric's scale, and for a gate that fails on the side where its metric is better.
    """
    gates = _made(bounds, estimates) if isinstance(bounds, Mapping) else tuple(bounds)
    for gate in gates:
        if gate.metric in estimates:
            estimate = estimates[gate.metric]
            other = f'give fails="{_WORSE[estimate.better]}"'
            check_gate(gate, estimate.better, estimate.scale, f"the bound of {gate.metric} is {gate.bound!r}", other)
    return gates


def _made(bounds: Mapping[str, float], estimates: Mapping[str, Estimate]) -> tuple[Gate, ...]:
    for metric, bound in bounds.items():
        if metric not in estimates:
            raise UnknownName("metric of this run", metric, estimates)
        if isinstance(bound, bool) or not isinstance(bound, int | float) or isnan(bound):
            raise BadParameter(f"the bound of {metric} is {bound!r}; give a number")
    return tuple(Gate(metric, bound, _WORSE[estimates[metric].better]) for metric, bound in bounds.items())


def check_gate(gate: Gate, better: Better, scale: Scale | None, given: str, other: str) -> None:
    """Raise BadParameter for a gate that good values fail, or whose bound no value can lie beyond.

    better, scale: of its metric; a scale of None is not known. given: the gate as the caller wrote it. other: how the
    caller writes the gate that fails on the other side.
    """
    if gate.fails != _WORSE[better]:
        raise BadParameter(f"{given}: {better} is better for {gate.metric}, so good runs would fail; {other}")
    if scale is not None and not scale[0] <= gate.bound <= scale[1]:
        raise BadParameter(f"{given}: off the scale of {gate.metric}; give a number from {scale[0]:g} to {scale[1]:g}")


class ScoreRecord(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A score whose evidence is named, not repeated: `evidence` lists keys of the sample record's table."""

    value: float | None = None
    undefined: str | None = None
    failed: str | None = None
    counts: tuple[float, ...] = ()
    evidence: tuple[str, ...] = ()


class SampleRecord(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One sample with its scores; metrics that share evidence share one entry of the evidence table.

    counted: what the sample adds to metrics over the whole data set, which are no scores of its own.
    failures: why questions of the sample have no answer, with what the judge replied; the first few different ones.
    """

    sample: Sample
    scores: dict[str, ScoreRecord]
    evidence: dict[str, tuple[Evidence, ...]] = {}
    counted: dict[str, ScoreRecord] = {}
    failures: tuple[Failure, ...] = ()

    def score(self, name: str) -> Score:
        """The score called `name`, or what the sample adds to a metric over the data set, with its evidence in place.

        Raises KeyError where there is neither.
        """
        kept = self.scores.get(name) or self.counted[name]
        evidence = tuple(piece for key in kept.evidence for piece in self.evidence.get(key, ()))
        return Score(kept.value, kept.undefined, kept.failed, kept.counts, evidence)


class RunRecord(msgspec.Struct, omit_defaults=True):
    """One execution over a data set.

    id: unique, sortable by time. started, finished: ISO 8601 in UTC. status: "running", "finished", "interrupted" or
    "stopped".
    data: what was read, for people; data_hash: of the samples. judges: identity by kind of question.
    left_out: metrics of the default set that could not be measured, with the reason.
    asked, reused: judgments that were put to a judge, and that the store already held.
    spent: the calls that judges made to models, their tokens, and what they cost.
    stopped: why the run ended before the data did, where it stopped by itself; its status is then "stopped".
    notes: what judges have to say of how they worked, such as the agreement of a panel.
    labels, labelled: how many labels of people were given with the run, and how many answers came from people.
    failures: for each metric that some samples failed to get, the first reason. undefined: the same for metrics that
    have nothing to count on some samples. empty: how many responses are empty.
    bad_rows: rows that were skipped on request, each as its error message.
    gates: conditions that the estimates must meet.
    """

    id: str
    started: str
    data: str
    metrics: tuple[str, ...]
    judges: dict[str, Identity]
    version: str
    name: str = ""
    status: str = "running"
    finished: str = ""
    data_hash: str = ""
    samples: int = 0
    asked: int = 0
    reused: int = 0
    labels: int = 0
    labelled: int = 0
    spent: TotalUsage = msgspec.field(default_factory=TotalUsage)
    stopped: str = ""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    left_out: dict[str, str] = {}
    failures: dict[str, str] = {}
    undefined: dict[str, str] = {}
    empty: int = 0
    bad_rows: tuple[str, ...] = ()
    gates: tuple[Gate, ...] = ()
    estimates: dict[str, Estimate] = {}
