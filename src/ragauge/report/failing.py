"""Gates that a run fails, each with the samples that bring its metric down, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ragauge.report.explaining import explain
from ragauge.report.wording import counted, interval, one_line, shortened
from ragauge.report.worst import worst
from ragauge.scores import Better, Estimate, Gate, RunRecord, SampleRecord

#: How many samples are told for a gate that failed.
TOLD = 5


def failing(run: RunRecord, gates: Sequence[Gate], samples: Iterable[SampleRecord]) -> list[tuple[Gate, str]]:
    """The gates that the run fails, and for each some lines: what is wrong, and its worst samples with their evidence.

    The samples are gone through once, and not at all where every gate holds.
    """
    failed = [(gate, failure) for gate in gates if (failure := gate.failure(run.estimates))]
    found = _worst_of_each({gate.metric: _better(run, gate) for gate, _ in failed}, samples) if failed else {}
    return [
        (gate, "\n".join(map(one_line, _lines(gate, failure, run, found[gate.metric])))) for gate, failure in failed
    ]


def _better(run: RunRecord, gate: Gate) -> Better:
    return run.estimates[gate.metric].better if gate.metric in run.estimates else "higher"


def _worst_of_each(metrics: Mapping[str, Better], samples: Iterable[SampleRecord]) -> dict[str, list[SampleRecord]]:
    found: dict[str, list[SampleRecord]] = {metric: [] for metric in metrics}
    for record in samples:
        for metric, better in metrics.items():
            found[metric] = worst([*found[metric], record], metric, better, TOLD)
    return found


def _lines(gate: Gate, failure: str, run: RunRecord, records: Sequence[SampleRecord]) -> Iterator[str]:
    yield failure + _because(run, gate.metric)
    for record in records:
        query = f" “{shortened(record.sample.query, 80)}”" if record.sample.query else ""
        yield f"  {record.sample.id}{query}: {explain(record.score(gate.metric), _better(run, gate))}"


def _because(run: RunRecord, metric: str) -> str:
    """What stands behind an estimate, and why it does not stand on more."""
    estimate = run.estimates.get(metric)
    if estimate is None:
        return f": {run.left_out[metric]}" if metric in run.left_out else ": it was not measured"
    reasons = {"undefined": run.undefined.get(metric), "failed": run.failures.get(metric)}
    known = {why: reason for why, reason in reasons.items() if reason}
    missing = [f"{getattr(estimate, why)} {why}, the first because: {reason}" for why, reason in known.items()]
    within = f" {interval(estimate)}" if estimate.n else ""
    return "; ".join([f"{within}; {counted(estimate.n, 'sample')}", *missing])


def standing(estimate: Estimate) -> dict[str, float]:
    """An estimate as named numbers: value and interval where it has one, and how many samples stand behind it."""
    numbers = {name: getattr(estimate, name) for name in ("value", "low", "high", "n", "undefined", "failed")}
    return {name: number for name, number in numbers.items() if number is not None}
