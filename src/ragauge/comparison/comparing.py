"""`compare`: is one run better than another on the same samples, and where?"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from ragauge.comparison.cautions import cautions
from ragauge.comparison.changes import changes
from ragauge.comparison.differing import Cells, difference
from ragauge.comparison.outcome import Compared, Comparison, Difference
from ragauge.comparison.pairing import Pairing, Side, check_group, paired, side
from ragauge.errors import UnknownName, UsageError
from ragauge.metrics.base import Measure
from ragauge.metrics.registry import split_specs
from ragauge.run.results import Run, recovered_record
from ragauge.scores import Estimate, RunRecord
from ragauge.statistics.intervals import Clusters
from ragauge.statistics.paired import holm


def compare(
    a: Run, b: Run, metrics: str | Collection[str] = (), *, group: str | None = None, show: int = 3
) -> Comparison:
    """Compare run `b` with run `a`, sample by sample; nothing is judged.

    metrics: those to compare, by their keys among the estimates, in a list or one text: "faithfulness,rouge.rougeL",
    with "rouge" for all values of rouge; empty for all that both runs measured. group: the column that says which
    samples belong together, where the runs were not made with one. show: how many samples are told of each metric that
    differs, with the claims that made the difference.

    Samples are the same where their ids and queries are, else where their queries are. A metric is compared over the
    samples where it has a value in both runs; how often it has none is compared too, since a system that refuses to
    answer drops out of metrics such as faithfulness. See docs/compare.md.

    Raises UsageError where the runs are not of the same samples or a metric was not measured alike, UnknownName for a
    metric that no run measured and a column that none kept.
    """
    kept, left_out = _chosen(a.record, b.record, split_specs(metrics) if isinstance(metrics, str) else metrics)
    sides = side(a.records(), kept, group), side(b.records(), kept, group)
    if group is not None:
        check_group(group, sides)
    pairing = paired(sides[0].rows, sides[1].rows)
    groups = _groups(sides, pairing)
    known = _measures(b.record)
    measures = {key: known.get(key) for key in kept}
    found = {
        key: difference(_cells(key, sides, pairing), groups, measure, b.estimates[key].better)
        for key, measure in measures.items()
    }
    differences = _adjusted(found)
    return Comparison(
        _compared(a.record),
        _compared(b.record),
        len(pairing.pairs),
        pairing.by,
        pairing.only_a,
        pairing.only_b,
        _number(groups),
        differences,
        tuple(changes((a, b), sides, pairing.pairs, differences, show)),
        left_out,
        tuple(cautions(a.record, b.record, list(measures.values()))),
    )


def _compared(run: RunRecord) -> Compared:
    return Compared(run.id, run.name, run.data)


def _measures(run: RunRecord) -> dict[str, Measure]:
    """What each value of a run is a value of, where the catalogue has it."""
    return {key: measure for measure in recovered_record(run) for key in measure.values}


def _chosen(a: RunRecord, b: RunRecord, wanted: Collection[str]) -> tuple[list[str], dict[str, str]]:
    """The keys of what both runs measured alike, and what is left out and why."""
    left = {key: "only the first run has it" for key in a.estimates if key not in b.estimates}
    left |= {key: "only the second run has it" for key in b.estimates if key not in a.estimates}
    first, second = _measures(a), _measures(b)
    for key in (key for key in a.estimates if key in b.estimates):
        if reason := _unlike(first.get(key), second.get(key), a.estimates[key]):
            left[key] = reason
    asked = [key for name in wanted for key in _named(name, a, left)]
    kept = [key for key in a.estimates if key not in left and (not wanted or key in asked)]
    if not kept:
        raise UsageError("the two runs have no metric in common; measure both with the same -m")
    return kept, {} if wanted else left


def _named(name: str, a: RunRecord, left: Mapping[str, str]) -> list[str]:
    """The keys that `name` stands for: its own, or those of all values of a metric."""
    keys = [key for key in (*a.estimates, *left) if key == name or key.startswith(f"{name}.")]
    for key in keys:
        if key in left:
            raise UsageError(f"{key} cannot be compared: {left[key]}")
    if not keys:
        raise UnknownName("metric of both runs", name, a.estimates.keys() - left.keys())
    return keys


def _unlike(first: Measure | None, second: Measure | None, estimate: Estimate) -> str | None:
    """Why a value that both runs have cannot be compared."""
    one, other = ("a metric of one's own" if measure is None else measure.spec for measure in (first, second))
    if one != other:
        return f"it was measured as {one} in the first run and as {other} in the second"
    if first is None and estimate.over == "data":
        return "a metric of one's own over the data set has no formula to compare by"
    return None


def _groups(sides: tuple[Side, Side], pairing: Pairing) -> Clusters:
    """The group of each pair, as either run has it; None where no sample has one."""
    a, b = sides
    groups = [a.rows[one].group or b.rows[other].group for one, other in pairing.pairs]
    return groups if any(groups) else None


def _number(groups: Clusters) -> int | None:
    """How many groups there are, a sample without one being a group of its own."""
    return None if groups is None else len({at if name is None else name for at, name in enumerate(groups)})


def _cells(key: str, sides: tuple[Side, Side], pairing: Pairing) -> Cells:
    first, second = (one.cells[key] for one in sides)
    return [(first[one], second[other]) for one, other in pairing.pairs]


def _adjusted(found: Mapping[str, Difference]) -> dict[str, Difference]:
    """The differences with their p-values adjusted, apart from those of missing values."""
    of_values = holm({key: one.p for key, one in found.items() if one.p is not None})
    of_missing = holm({key: one.missing.p for key, one in found.items() if one.missing.p is not None})
    return {
        key: msgspec.structs.replace(
            one,
            p_adjusted=of_values.get(key),
            missing=msgspec.structs.replace(one.missing, p_adjusted=of_missing.get(key)),
        )
        for key, one in found.items()
    }
