"""A peer's rows beside the samples of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from ragauge.errors import UsageError
from ragauge.metrics.base import Measure
from ragauge.metrics.registry import select_metrics
from ragauge.peers.causes import cause_of
from ragauge.peers.choosing import Chosen, notes
from ragauge.peers.differing import Pair, Telling
from ragauge.peers.figures import Scale, figures
from ragauge.peers.matching import matched
from ragauge.peers.outcome import Compared, Figures
from ragauge.peers.sheet import Named, Sheet, number_in
from ragauge.run.results import Run
from ragauge.scores import RunRecord, ScoreRecord
from ragauge.statistics.intervals import Clusters


class _Ours(NamedTuple):
    """A sample of the run without its evidence. shown: what it is about, for people."""

    named: Named
    shown: str
    group: str | None
    scores: Mapping[str, ScoreRecord]


class Beside:
    """A sheet of scores beside a run, row by row. matching: which rows belong to which samples.

    quoted: columns of theirs that say what a number was made of. show: how many rows are told for each cause.
    """

    def __init__(self, run: Run, sheet: Sheet, quoted: Sequence[str], show: int) -> None:
        self._run, self._sheet, self._quoted, self._show = run, sheet, quoted, show
        self._scales = _scales(run.record)
        self._samples = [
            _Ours(Named(s.id, s.query, s.response), s.query or s.source or s.response or "", s.group, record.scores)
            for record in run.records()
            for s in [record.sample]
        ]
        self.matching, self._places = matched(sheet, [sample.named for sample in self._samples])

    def compared(self, one: Chosen, key: str) -> Compared:
        """One column beside one value."""
        pairs = list(self._pairs(one, key))
        both = [pair for pair in pairs if pair.theirs is not None and pair.ours.value is not None]
        theirs, ours = [pair.theirs or 0.0 for pair in both], [pair.ours.value or 0.0 for pair in both]
        scale = self._scales.get(key) or _spanned([*theirs, *ours])
        of_theirs = one.column.scale or scale
        found = figures(theirs, ours, self._clusters(both), scale, of_theirs)
        neither = sum(pair.theirs is None and pair.ours.value is None for pair in pairs)
        known = (*notes(self._run.record, one.column), *_warnings(one.theirs, theirs, found, scale))
        telling = Telling(self._run, key, self._run.estimates[key].better, one.theirs, self._quoted, self._show)
        causes = ((cause_of(pair.theirs, pair.ours, one.column, scale, of_theirs), pair) for pair in pairs)
        return Compared(one.theirs, key, found, neither, known, telling.differences(causes))

    def _pairs(self, one: Chosen, key: str) -> Iterator[Pair]:
        for row, position in self._places:
            cells, sample = self._sheet.lines[row].cells, self._samples[position]
            theirs = number_in(cells.get(one.theirs))
            value = None if theirs is None else one.column.converted(theirs)
            yield Pair(position, sample.named.id, sample.shown, value, sample.scores[key], cells)

    def _clusters(self, pairs: Sequence[Pair]) -> Clusters:
        groups = [self._samples[pair.position].group for pair in pairs]
        return groups if any(groups) else None


def _scales(run: RunRecord) -> dict[str, Scale]:
    """The scale of each value of the catalogue's metrics that was measured."""
    known: list[Measure] = []
    for spec in run.metrics:
        with suppress(UsageError):  # a metric of the user's own has no spec that can be read
            known += select_metrics(spec)
    return {key: metric.scale for metric in (select_metrics(known) if known else ()) for key in metric.values}


def _spanned(values: Sequence[float]) -> Scale:
    """A scale for a metric of the user's own."""
    return min([0.0, *values]), max([1.0, *values])


def _warnings(name: str, theirs: Sequence[float], found: Figures, scale: Scale) -> list[str]:
    """What the numbers themselves say of the column: another scale, or the other way round."""
    warnings = []
    if theirs and found.difference is None:
        spread = f"from {min(theirs):g} to {max(theirs):g}, our scale is {scale[0]:g} to {scale[1]:g}"
        warnings.append(f"another scale: theirs run {spread}; write --column {name}/100=... if they are in per cent")
    if found.rank_interval and found.rank_interval[1] < 0:
        warnings.append(f"the other way round: theirs fall where ours rise; try --column 1-{name}=...")
    return warnings
