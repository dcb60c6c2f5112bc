"""The document: a run as plain data, versioned; everything that shows a run starts from it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ragauge.nouns.records import RunRecord, SampleRecord
from ragauge.nouns.scores import Score

SCHEMA = "ragauge.run/1"


def run_document(run: RunRecord, samples: Iterable[SampleRecord]) -> dict[str, Any]:
    """The whole run: {"schema", "run", "estimates", "samples"}; see docs/output.md."""
    return {**head_document(run), "samples": [sample_document(record) for record in samples]}


def head_document(run: RunRecord) -> dict[str, Any]:
    """The document without its samples; every field of the run is there, empty or not."""
    about = msgspec.to_builtins(msgspec.structs.asdict(run))
    estimates = about.pop("estimates")
    return {"schema": SCHEMA, "run": about, "estimates": estimates}


def sample_document(record: SampleRecord) -> dict[str, Any]:
    """One sample: its id, its fields, its scores with their evidence, and why questions of it have no answer."""
    fields = msgspec.to_builtins(record.sample)
    scores = {key: score_document(record.score(key)) for key in record.scores}
    failures = msgspec.to_builtins(record.failures)
    return {"id": fields.pop("id"), "sample": fields, "scores": scores, "failures": list(failures)}


def score_document(score: Score) -> dict[str, Any]:
    """{"value"} or {"undefined"} or {"failed"}, with "evidence", and "counts" where the value is made of counts."""
    state = next(state for state in ("value", "undefined", "failed") if getattr(score, state) is not None)
    document = {state: getattr(score, state), "evidence": msgspec.to_builtins(score.evidence)}
    return {**document, "counts": list(score.counts)} if score.counts else document
