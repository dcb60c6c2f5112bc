"""The document: a run as plain data, versioned; everything that shows a run starts from it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ragauge.report.patterns import CUTS, PATTERNS, patterns_of, signs_of
from ragauge.scores import RunRecord, SampleRecord, Score, ScoreRecord

SCHEMA = "ragauge.run/1"


def run_document(run: RunRecord, samples: Iterable[SampleRecord]) -> dict[str, Any]:
    """The whole run: {"schema", "run", "estimates", "patterns", "cuts", "samples"}; see docs/output.md."""
    return {**head_document(run), "samples": [sample_document(record) for record in samples]}


def head_document(run: RunRecord) -> dict[str, Any]:
    """The document without its samples; every field of the run is there, empty or not."""
    about = msgspec.to_builtins(msgspec.structs.asdict(run))
    estimates = about.pop("estimates")
    patterns = msgspec.to_builtins(PATTERNS)
    return {"schema": SCHEMA, "run": about, "estimates": estimates, "patterns": list(patterns), "cuts": dict(CUTS)}


def sample_document(record: SampleRecord) -> dict[str, Any]:
    """One sample: its fields, its scores with their evidence, what fails in it, and why questions have no answer."""
    return {**_about(record), "scores": _scores(record, record.scores), "counted": _scores(record, record.counted)}


def shared_document(record: SampleRecord) -> dict[str, Any]:
    """The same with each piece of evidence once, in a table of its own that scores name entries of."""
    scores = {key: score_document(score) for key, score in record.scores.items()}
    counted = {key: score_document(score) for key, score in record.counted.items()}
    return {**_about(record), "scores": scores, "counted": counted, "evidence": msgspec.to_builtins(record.evidence)}


def _scores(record: SampleRecord, keys: Iterable[str]) -> dict[str, Any]:
    return {key: score_document(record.score(key)) for key in keys}


def _about(record: SampleRecord) -> dict[str, Any]:
    fields = msgspec.to_builtins(record.sample)
    signs = signs_of(record)
    return {
        "id": fields.pop("id"),
        "sample": fields,
        "signs": signs,
        "patterns": patterns_of(record, signs),
        "failures": list(msgspec.to_builtins(record.failures)),
    }


def score_document(score: Score | ScoreRecord) -> dict[str, Any]:
    """{"value"} or {"undefined"} or {"failed"}, with "evidence", and "counts" where the value is made of counts.

    What a sample adds to a metric over the data set has "counts" and no "value".
    """
    states = {state: getattr(score, state) for state in ("value", "undefined", "failed")}
    known = {state: found for state, found in states.items() if found is not None}
    document = {**known, "evidence": msgspec.to_builtins(score.evidence)}
    return {**document, "counts": list(score.counts)} if score.counts else document
