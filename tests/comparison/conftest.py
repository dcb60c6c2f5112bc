"""Fixtures of the tests of comparisons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count as counting
from typing import Any

import pytest

from ragauge.run.results import Run
from ragauge.scores import Better, Estimate, RunRecord, SampleRecord, ScoreRecord
from ragauge.store import Store
from ragauge.types import Identity, Sample

_NUMBERS = counting(1)

#: A value; None for an undefined score, "failed" for a failed one.
Value = float | str | None


@pytest.fixture
def run() -> Callable[..., Run]:
    """Makes a run with the given values by metric, in its own store; no judge is asked."""
    return run_of


def run_of(
    values: Mapping[str, Sequence[Value]],
    *,
    samples: Sequence[Sample] | None = None,
    better: Better = "higher",
    **record: Any,
) -> Run:
    """A run of one sample for each value; `record` are fields of its record."""
    count = len(next(iter(values.values())))
    samples = samples or [Sample(str(n), query=f"query {n}") for n in range(count)]
    given = {"id": f"run-{next(_NUMBERS)}", "name": "", "status": "finished", "samples": count, **record}
    given = {"metrics": tuple(values), "judges": {"*": Identity("stub")}, "version": "0.1", **given}
    estimates = {key: Estimate(None, None, None, count, 0, 0, "none", better=better) for key in values}
    made = RunRecord(started="", data="data.jsonl", estimates=estimates, **given)
    store = Store.temporary()
    store.begin(made)
    scores = [{key: _score(values[key][at]) for key in values} for at in range(count)]
    store.keep_samples(made.id, 0, [SampleRecord(sample, score) for sample, score in zip(samples, scores, strict=True)])
    return Run(store, made)


def _score(value: Value) -> ScoreRecord:
    if isinstance(value, str):
        return ScoreRecord(failed=value)
    return ScoreRecord(value) if value is not None else ScoreRecord(undefined="nothing to count")
