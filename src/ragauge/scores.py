"""Scores of samples with their evidence, estimates, gates, and the records of a run that a store keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any, Literal

import msgspec

from ragauge.errors import BadParameter, UnknownName
from ragauge.types import Failure, Identity, Label, Sample, Span, TotalUsage, is_entailed

#: How far rounding may carry a value beyond its scale, or a share beyond its bound.
ROUNDING = 1e-9

Better = Literal["higher", "lower"]

#: The lowest and highest value of a metric.
Scale = tuple[float, float]


class Counts(msgspec.Struct, frozen=True, gc=False):
    """Sufficient statistics of a score: one formula gives a sample's value and, on summed counts, the pooled value."""

    @property
    def value(self) -> float | None:
        """The score, or None where there is nothing to count."""
        raise NotImplementedError


class Share(Counts, frozen=True, gc=False):
    """`hits` out of `total`."""

    hits: float
    total: float

    @property
    def value(self) -> float | None:
        """The score, or None where there is nothing to count."""
        return self.hits / self.total if self.total else None


class Incidence(Share, frozen=True, gc=False):
    """`hits` out of `total`; 0 where `total` is 0."""

    @property
    def value(self) -> float:
        """The score."""
        return self.hits / self.total if self.total else 0.0


class F1Counts(Counts, frozen=True, gc=False):
    """True positives, false positives and false negatives; the value is F1, and 0 without a true positive."""

    tp: float
    fp: float
    fn: float

    @property
    def value(self) -> float:
        """The score."""
        return self.tp / (self.tp + 0.5 * (self.fp + self.fn)) if self.tp else 0.0


class PrecisionRecall(Counts, frozen=True, gc=False):
    """Precision and recall with different denominators; the value is their harmonic mean, None for impossible counts.

    Args:
        precise, responded: numerator and denominator of precision.
        recalled, expected: numerator and denominator of recall.
    """

    precise: float
    responded: float
    recalled: float
    expected: float

    @property
    def precision(self) -> float | None:
        """`precise` out of `responded`."""
        return Share(self.precise, self.responded).value

    @property
    def recall(self) -> float | None:
        """`recalled` out of `expected`."""
        return Share(self.recalled, self.expected).value

    @property
    def value(self) -> float | None:
        """The score, or None where there is nothing to count."""
        precision, recall = self.precision, self.recall
        if self.precise > self.responded * (1 + 1e-9) or self.recalled > self.expected * (1 + 1e-9):
            return None
        if precision == 0 or recall == 0:
            return 0.0
        if precision is None or recall is None:
            return None
        return 2 * precision * recall / (precision + recall)


class ChunkEvidence(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The verdict on one chunk.

    Args:
        chunk: the id of the chunk.
        label: the verdict.
        probability: of entailment, in 0..1.
        span: the deciding characters of the chunk's passage.
    """

    chunk: str
    label: Label
    probability: float | None = None
    span: Span | None = None


class Evidence(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One judged piece behind a score; the one schema of everything a report shows.

    Args:
        text: the piece that was judged (a statement, a chunk, a graded text).
        field: where it comes from: "response", "references[0]", "contexts[2]".
        span: its characters there.
        against: what it was compared with: "contexts", "references[0]", "query", or a rubric's name; empty for traits.
        label: the verdict; set unless `value` is.
        probability: of ENTAILED or YES, in 0..1.
        chunks: the verdict on each chunk, for entailment.
        rationale: the judge's reason, if it gave one.
        judgment: the key of the judgment in the store; empty where nothing was asked.
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

    def __repr__(self) -> str:
        verdict = self.label or _shown(self.value)
        probability = "" if self.probability is None else f" {self.probability:.2f}"
        against = f" against {self.against}" if self.against else ""
        return f"Evidence({verdict}{probability}{against}: {_excerpt(self.text)!r})"

    @property
    def entailed(self) -> bool:
        """Whether the chunks together entail it and none of them contradicts it."""
        return is_entailed(self.label, (chunk.label for chunk in self.chunks))

    @property
    def doubt(self) -> float:
        """1 at a probability of 0.5, such as a split vote of a panel, 0 at 0 and 1; 0.5 without a probability."""
        return 0.5 if self.probability is None else 1 - abs(2 * self.probability - 1)


class Score(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A metric on one sample: a value, or undefined (nothing to count), or failed (no answer), with the reason.

    Args:
        value: None where undefined or failed.
        undefined: why there is nothing to count.
        failed: why there is no answer.
        counts: the counts behind the value, for metrics that have them.
        abstained: whether it is undefined because the judge abstained.
    """

    value: float | None = None
    undefined: str | None = None
    failed: str | None = None
    counts: tuple[float, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    abstained: bool = False

    @property
    def is_unanswered(self) -> bool:
        """Whether the judge failed or abstained, so that nobody knows whether there was anything to count."""
        return self.failed is not None or self.abstained

    def __repr__(self) -> str:
        state = _shown(self.value) if self.undefined is None else f"undefined: {_excerpt(self.undefined)!r}"
        state = state if self.failed is None else f"failed: {_excerpt(self.failed)!r}"
        counts = f", counts=({', '.join(map(_shown, self.counts))})" if self.counts else ""
        pieces = len(self.evidence)
        return f"Score({state}{counts}, {pieces} piece{'' if pieces == 1 else 's'} of evidence)"


class JudgeError(msgspec.Struct, frozen=True, gc=False):
    """How far the judge's own error can move an estimate, by people's labels of questions that it answered too.

    Args:
        value, low, high: the estimate corrected by the error rates, and its interval with their uncertainty.
        sensitivity, specificity: the share of labels that are positive, and negative, on which the judge agrees.
        labels: the number of these.
    """

    value: float
    low: float
    high: float
    sensitivity: float
    specificity: float
    labels: int

    def __str__(self) -> str:
        return (
            f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}] as people would judge, by {self.labels} labels: the "
            f"judge affirms {self.sensitivity:.0%} of what people affirm and denies {self.specificity:.0%} of the rest"
        )


class Estimate(msgspec.Struct, frozen=True, gc=False):
    """A metric over a data set, with a confidence interval.

    Args:
        value: the mean over the scored samples, or the metric's own aggregate; None where n is 0.
        low, high: the ends of the interval.
        n, undefined, failed: the number of scored samples, of samples with nothing to count, and of those unanswered.
        method, confidence: of the interval.
        better: whether higher or lower is better.
        over: "samples" for a mean of scores, "data" for a value made of the counts of all samples.
        scale: the lowest and highest value of the metric; None in runs of versions that did not store it.
        counts: for a share of pieces, how many of how many over all samples; None for other metrics and older runs.
        judge_error: how far the judge's own error can move the value; None where labels do not show it.
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
    counts: tuple[float, float] | None = None
    judge_error: JudgeError | None = None

    @property
    def samples(self) -> int:
        """The number of samples, scored or not."""
        return self.n + self.undefined + self.failed

    def __repr__(self) -> str:
        interval = "" if self.low is None else f" [{_shown(self.low)}, {_shown(self.high)}]"
        return f"Estimate({_shown(self.value)}{interval}, n={self.n}, undefined={self.undefined}, failed={self.failed})"


def _shown(value: float | None) -> str:
    """A number with up to three decimals, or "None"."""
    return "None" if value is None else f"{round(value, 3):g}"


def _excerpt(text: str) -> str:
    """The beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:59] + "…"


#: On which side of a bound values are worse.
_WORSE: Mapping[Better, Literal["below", "above"]] = {"higher": "below", "lower": "above"}


class Gate(msgspec.Struct, frozen=True):
    """A bound that the estimate of a metric must meet, over all samples or over one slice.

    fails: the side of the bound on which the gate fails. column, value: the slice; empty for all samples.
    min_measured: the share of these samples that must have a score, from 0 to 1.
    """

    metric: str
    bound: float
    fails: Literal["below", "above"] = "below"
    column: str = ""
    value: str = ""
    min_measured: float = 0.0

    @property
    def key(self) -> str:
        """The metric, with its slice if it has one: "faithfulness@domain=finance"."""
        return f"{self.metric}@{self.column}={self.value}" if self.column else self.metric

    def estimate(self, run: RunRecord) -> Estimate | None:
        """The estimate that the gate is about; None if the run has none."""
        if not self.column:
            return run.estimates.get(self.metric)
        parts = run.slices.get(self.column, ())
        return next((part.estimates.get(self.metric) for part in parts if part.value == self.value), None)

    def covers(self, sample: Sample, run: RunRecord) -> bool:
        """Whether the gate is about this sample of a run."""
        return not self.column or slice_value(sample, self.column, run.group_column) == self.value

    def failure(self, run: RunRecord) -> str | None:
        """Why the gate fails, or None. A metric without a value fails."""
        estimate = self.estimate(run)
        if estimate is None or estimate.value is None:
            values = [part.value for part in run.slices.get(self.column, ())]
            choices = f": {self.column} is one of {', '.join(values)}" if values and self.value not in values else ""
            return f"{self.key} has no value{choices}"
        passes = estimate.value >= self.bound if self.fails == "below" else estimate.value <= self.bound
        if not passes:
            return f"{self.key} is {estimate.value:.3f}, {self.fails} {self.bound:g}"
        if estimate.n < self.min_measured * estimate.samples - ROUNDING:
            share = f"less than {self.min_measured:.0%} of the samples"
            return f"{self.key} is {estimate.value:.3f}, but measured on {share}"
        return None

    def __str__(self) -> str:
        return f"{self.key} {'≥' if self.fails == 'below' else '≤'} {self.bound:g}"


class SliceDifference(msgspec.Struct, frozen=True):
    """By how much a metric is higher in a slice than in all other samples, with its interval."""

    value: float
    low: float
    high: float

    def is_worse(self, better: Better) -> bool:
        """Whether the interval lies on the worse side of 0."""
        return self.high < 0 if better == "higher" else self.low > 0


class Slice(msgspec.Struct, frozen=True):
    """The samples with one value of a metadata column: their number, and estimates by metric.

    differences: from all other samples, by metric; their intervals hold together in 95 % of cases. worse: the metrics
    whose interval lies on the worse side of 0.
    """

    value: str
    samples: int
    estimates: dict[str, Estimate]
    worse: tuple[str, ...] = ()
    differences: dict[str, SliceDifference] = {}


#: What the measured system is called among the columns that a run is sliced by.
_SYSTEM_COLUMNS = ("model", "system")

#: The name of the column that groups samples, unless the data has another.
GROUP_COLUMN = "group"


def slice_columns(sample: Sample, group_column: str = GROUP_COLUMN) -> tuple[str, ...]:
    """The columns that a sample can be sliced by: its metadata, the system that responded, and its group."""
    return (*sample.metadata, *(_SYSTEM_COLUMNS if sample.system else ()), *((group_column,) if sample.group else ()))


def slice_value(sample: Sample, column: str, group_column: str = GROUP_COLUMN) -> str:
    """The value of one of `slice_columns` as text, JSON unless it is a string; "(none)" where it is missing."""
    fields = {**dict.fromkeys(_SYSTEM_COLUMNS, sample.system), group_column: sample.group}
    value = sample.metadata.get(column, fields.get(column))
    if value is None:
        return "(none)"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def gate_on(key: str, bound: float, fails: Literal["below", "above"] | None, directions: Mapping[str, Better]) -> Gate:
    """The gate on a metric, or on a metric in a slice as in "faithfulness@domain=finance".

    fails: None for the side on which the metric is worse. directions: metric -> whether higher or lower is better.
    Raises UnknownName for another metric.
    """
    for metric in sorted(directions, key=len, reverse=True):  # claim_recall@contexts before claim_recall
        column, equals, value = key.removeprefix(f"{metric}@").partition("=")
        if key == metric:
            return Gate(metric, bound, fails or _WORSE[directions[metric]])
        if key.startswith(f"{metric}@") and column and equals:
            return Gate(metric, bound, fails or _WORSE[directions[metric]], column, value)
    raise UnknownName("metric of this run", key.rpartition("@")[0] if "=" in key and "@" in key else key, directions)


def gates_of(
    bounds: Mapping[str, float] | Sequence[Gate], estimates: Mapping[str, Any], min_measured: float = 0.0
) -> tuple[Gate, ...]:
    """A gate per bound: a minimum where higher is better, a maximum where lower is better; or the given gates, checked.

    estimates: by key, or the metrics that are to be measured. min_measured: the share of its samples that each must
    have scores of.

    Raises UnknownName for a metric that was not measured, BadParameter for a bound that is not a number, or as
    `check_gate`.
    """
    if isinstance(bounds, Mapping):
        for key, bound in bounds.items():
            if isinstance(bound, bool) or not isinstance(bound, int | float) or isnan(bound):
                raise BadParameter(f"the bound of {key} is {bound!r}; give a number")
        better = {metric: estimate.better for metric, estimate in estimates.items()}
        bounds = [gate_on(key, bound, None, better) for key, bound in bounds.items()]
    gates = tuple(bounds)
    if min_measured:
        gates = tuple(msgspec.structs.replace(gate, min_measured=min_measured) for gate in gates)
    for gate in gates:
        if not (isinstance(gate.min_measured, int | float) and 0 <= gate.min_measured <= 1):
            raise BadParameter(f"min_measured={gate.min_measured!r} is no share of samples; give a number from 0 to 1")
        if gate.metric in estimates:
            estimate = estimates[gate.metric]
            other = f'give fails="{_WORSE[estimate.better]}"'
            check_gate(gate, estimate.better, estimate.scale, f"the bound of {gate.metric} is {gate.bound!r}", other)
    return gates


def check_gate(gate: Gate, better: Better, scale: Scale | None, written: str, other: str) -> None:
    """Raise BadParameter for a gate that good values fail, or whose bound is off the scale.

    written: the gate as the caller wrote it, for the message. other: how to write the one that fails on the other side.
    """
    if gate.fails != _WORSE[better]:
        raise BadParameter(f"{written}: {better} is better for {gate.metric}, so good runs would fail; {other}")
    if scale is not None and not scale[0] <= gate.bound <= scale[1]:
        raise BadParameter(
            f"{written}: off the scale of {gate.metric}; give a number from {scale[0]:g} to {scale[1]:g}"
        )


class ScoreRecord(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A score as stored: `evidence` lists keys of the evidence table of the sample record."""

    value: float | None = None
    undefined: str | None = None
    failed: str | None = None
    counts: tuple[float, ...] = ()
    evidence: tuple[str, ...] = ()
    abstained: bool = False


class SampleRecord(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One sample with its scores by metric and its evidence by need, which metrics may share.

    counted: what it adds to metrics over the data set. failures: why questions have no answer; the first few.
    """

    sample: Sample
    scores: dict[str, ScoreRecord]
    evidence: dict[str, tuple[Evidence, ...]] = {}
    counted: dict[str, ScoreRecord] = {}
    failures: tuple[Failure, ...] = ()

    def score(self, name: str) -> Score:
        """The score of a metric, or the counts for one over the data set, with its evidence. Raises KeyError."""
        record = self.scores.get(name) or self.counted[name]
        evidence = tuple(piece for key in record.evidence for piece in self.evidence.get(key, ()))
        return Score(record.value, record.undefined, record.failed, record.counts, evidence, record.abstained)


class SystemFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """The measured system, as far as the data says: its models, and the mean seconds and dollars of a sample."""

    models: tuple[str, ...] = ()
    latency: float | None = None
    cost: float | None = None


class RunRecord(msgspec.Struct, omit_defaults=True):
    """One run over a data set.

    asked, reused: the number of judgments made by a judge, and found in the store. labels, labelled: of human labels
    given with the run, and of answers that came from them. stopped: why it stopped before the end of the data.
    left_out, failures, undefined: reasons, by metric. about: each metric in one line. captions: each in about four
    words. fields: the columns that fields of a sample were read from, where these have other names. columns: not fields
    of a sample. unmeasured: numbers of what was read and not measured, by the keys of
    `ragauge.report.wording.UNMEASURED`. unread: columns that no metric reads. made_by: the user and machine, by a
    random name. archived: whether lists and trends leave it out. to_label: how many samples people label; 0: all.
    groups: the most groups of samples that an interval is over; 0 without groups. named: whether its metrics were
    named, so that reports show all of them.
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
    slices: dict[str, tuple[Slice, ...]] = {}
    about: dict[str, str] = {}
    captions: dict[str, str] = {}
    fields: dict[str, str] = {}
    columns: tuple[str, ...] = ()
    unmeasured: dict[str, int] = {}
    unread: tuple[str, ...] = ()
    made_by: str = ""
    tags: tuple[str, ...] = ()
    archived: bool = False
    to_label: int = 0
    system: SystemFacts = SystemFacts()
    groups: int = 0
    named: bool = False

    @property
    def group_column(self) -> str:
        """The name of the column that groups samples, where there are groups."""
        return self.fields.get("group", GROUP_COLUMN)

    def judge_of(self, topic: str) -> Identity | None:
        """The judge of the questions of a topic; None if there was none for their kind."""
        return next((self.judges[key] for key in (topic, topic.partition(":")[0], "*") if key in self.judges), None)
