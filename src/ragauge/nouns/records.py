"""Records: what the store keeps of a run."""

from __future__ import annotations

import msgspec

from ragauge.nouns.answers import Failure
from ragauge.nouns.calls import Spent
from ragauge.nouns.gates import Gate
from ragauge.nouns.identity import Identity
from ragauge.nouns.samples import Sample
from ragauge.nouns.scores import Estimate, Evidence, Score


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
    spent: Spent = msgspec.field(default_factory=Spent)
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
