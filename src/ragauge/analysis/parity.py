"""`parity`: another system's scores and a run of ours on the same rows, and why they differ."""

from __future__ import annotations

import heapq
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ragauge.analysis.parity_columns import SYSTEMS, Column, RowName, ScoreSheet, number_in, read_sheet
from ragauge.analysis.parity_results import (
    CAUSES,
    FigureScale,
    Parity,
    ParityColumn,
    ParityDifference,
    ParityFigures,
    ParityRow,
    ParityTotal,
    cause_of,
    figures,
    match_rows,
)
from ragauge.errors import UnknownName, UsageError
from ragauge.metrics.base import Measure
from ragauge.metrics.registry import FAMILIES, select_metrics
from ragauge.readers.columns import ALIASES, folded, rank
from ragauge.report.explain import decisive, pieces_words
from ragauge.report.wording import shortened
from ragauge.run.results import Run
from ragauge.scores import RunRecord, ScoreRecord

#: A column in per cent, or with the opposite meaning: "LLM F1/100", "1-error".
_WRITTEN = re.compile(r"(?P<flipped>1-)?(?P<name>.+?)(/(?P<per>\d+(\.\d+)?))?")


class Chosen(NamedTuple):
    """A column of theirs, by its name in the sheet, and how it relates to ours."""

    theirs: str
    column: Column


def choose(
    sheet: ScoreSheet, against: str, named: Mapping[str, str] | None = None, only: Collection[str] = ()
) -> list[Chosen]:
    """The columns of `sheet` that have a counterpart here.

    against: a key of SYSTEMS. named: their column -> our value, which precedes known names; "NAME/100" divides theirs,
    "1-NAME" subtracts it from 1. only: our metrics or values to compare; all if empty.

    Raises UnknownName for a system or column that does not exist, UsageError if nothing can be compared.
    """
    if against not in SYSTEMS:
        raise UnknownName("system", against, SYSTEMS)
    found = {one.theirs: one for one in (_named(sheet, theirs, ours) for theirs, ours in (named or {}).items())}
    for name in sheet.columns:
        known = SYSTEMS[against].columns.get(folded(name))
        if known and name not in found and sheet.is_scored(name):
            found[name] = Chosen(name, known)
    wanted = {name for spec in only for name in (spec, metric_of(spec))}
    kept = [one for one in found.values() if not wanted or {one.column.ours, metric_of(one.column.ours)} & wanted]
    if not kept:
        among = f" among {', '.join(only)}" if only else ""
        raise UsageError(
            f"{sheet.name}: no column of {against} has a counterpart{among}; found: "
            f"{', '.join(map(repr, sheet.columns))}; name one with columns={{THEIRS: OURS}} (--column THEIRS=OURS)"
        )
    return kept


def _named(sheet: ScoreSheet, theirs: str, ours: str) -> Chosen:
    """A column as the caller maps it to ours."""
    if theirs in sheet.columns:
        return Chosen(theirs, Column(ours))
    match = _WRITTEN.fullmatch(theirs)
    if match is None or match["name"] not in sheet.columns:
        raise UnknownName("column", match["name"] if match else theirs, sheet.columns)
    return Chosen(match["name"], Column(ours, per=float(match["per"] or 1), flipped=bool(match["flipped"])))


def others(sheet: ScoreSheet, against: str, kept: Sequence[Chosen]) -> dict[str, str]:
    """The other numeric columns, with the reason why they are not compared."""
    known = SYSTEMS[against].columns
    names = {one.theirs for one in kept}
    rest = [name for name in sheet.columns if name not in names and _holds_numbers(sheet, name)]
    return {name: "not requested" if folded(name) in known else "no known counterpart among ours" for name in rest}


def _holds_numbers(sheet: ScoreSheet, name: str) -> bool:
    """Whether a column may contain scores: of no known meaning, with numbers in most of its filled cells."""
    if any(rank(field, name) is not None for field in ALIASES):
        return False
    filled = [cell for line in sheet.lines if (cell := line.cells.get(name)) not in (None, "")]
    return sum(number_in(cell) is not None for cell in filled) * 2 > len(filled)


def measuring(kept: Sequence[Chosen]) -> list[str]:
    """The metrics to measure so that each column has its counterpart, in the form closest to theirs."""
    specs = list(dict.fromkeys(one.column.metric or metric_of(one.column.ours) for one in kept))
    families = [spec for spec in specs if spec.partition("(")[0] in FAMILIES]
    included = {value for metric in (select_metrics(families) if families else ()) for value in metric.values}
    return [spec for spec in specs if spec not in included]


def metric_of(value: str) -> str:
    """The metric of a key, with its parameters: `rouge` for `rouge.rouge1`."""
    return re.sub(r"\.\w+$", "", value)


def key_in(run: RunRecord, column: Column) -> str | None:
    """The key of the counterpart of a column in the run, with their parameters if there are several."""
    name, part = metric_of(column.ours), column.ours[len(metric_of(column.ours)) :]
    with_their_parameters = column.metric + part if column.metric.partition("(")[0] == name else column.ours
    return next((key for key in (with_their_parameters, column.ours) if key in run.estimates), None)


def notes(run: RunRecord, column: Column) -> list[str]:
    """Known differences of a column: definition, edge cases, and parameters of the metric in this run."""
    known = [f"different definition: {column.differs}"] if column.differs else []
    known += [f"theirs is {column.nothing}"] if column.nothing else []
    name = metric_of(column.ours)
    if column.metric.partition("(")[0] == name and column.metric not in run.metrics:
        measured = next((spec for spec in run.metrics if spec.partition("(")[0] == name), name)
        known.append(f"measured here as {measured}; {column.metric} is closer to theirs")
    return known


class _ScoredSample(NamedTuple):
    """A sample of the run without its evidence. shown: its query, or another text."""

    name: RowName
    shown: str
    group: str | None
    scores: Mapping[str, ScoreRecord]


class ParityPair(NamedTuple):
    """A row of theirs and the matching sample of ours.

    position: of the sample in the run. theirs: their score on our scale; cells: their row.
    """

    position: int
    sample: _ScoredSample
    theirs: float | None
    ours: ScoreRecord
    cells: Mapping[str, Any]

    @property
    def gap(self) -> float:
        """The difference of the two scores, with 0 for one that is missing."""
        return abs((self.theirs or 0.0) - (self.ours.value or 0.0))


class AlignedScores:
    """A sheet of scores and a run, matched row by row. matching: how rows were matched.

    quoted: their columns with explanations of a score. show: the number of rows shown for each cause.
    """

    def __init__(self, run: Run, sheet: ScoreSheet, quoted: Sequence[str], show: int) -> None:
        self._run, self._sheet, self._quoted, self._show = run, sheet, quoted, show
        self._scales = _scales(run.record)
        self._samples = [
            _ScoredSample(RowName(s.id, s.query, s.response), s.query or s.source or s.response or "", s.group, scores)
            for s, scores in ((record.sample, record.scores) for record in run.records())
        ]
        self.matching, self._places = match_rows(sheet, [sample.name for sample in self._samples])

    def compared(self, one: Chosen, key: str) -> ParityColumn:
        """One column of theirs compared with one value of ours."""
        pairs = list(self._pairs(one, key))
        both = [pair for pair in pairs if pair.theirs is not None and pair.ours.value is not None]
        theirs, ours = [pair.theirs or 0.0 for pair in both], [pair.ours.value or 0.0 for pair in both]
        groups = [pair.sample.group for pair in both]
        scale = self._scales.get(key) or (min([0.0, *theirs, *ours]), max([1.0, *theirs, *ours]))
        of_theirs = one.column.scale or scale
        found = figures(theirs, ours, groups if any(groups) else None, scale, of_theirs)
        neither = sum(pair.theirs is None and pair.ours.value is None for pair in pairs)
        known = (*notes(self._run.record, one.column), *_warnings(one.theirs, theirs, found, scale))
        by_cause: dict[str, list[ParityPair]] = {cause: [] for cause in CAUSES}
        for pair in pairs:
            if cause := cause_of(pair.theirs, pair.ours, one.column, scale, of_theirs):
                by_cause[cause].append(pair)
        differences = tuple(
            ParityDifference(cause, len(differing), tuple(self._rows(differing, one.theirs, key)))
            for cause, differing in by_cause.items()
            if differing
        )
        return ParityColumn(one.theirs, key, found, neither, known, differences)

    def _pairs(self, one: Chosen, key: str) -> Iterator[ParityPair]:
        for row, position in self._places:
            cells, sample = self._sheet.lines[row].cells, self._samples[position]
            theirs = number_in(cells.get(one.theirs))
            value = None if theirs is None else one.column.converted(theirs)
            yield ParityPair(position, sample, value, sample.scores[key], cells)

    def _rows(self, differing: Sequence[ParityPair], theirs: str, key: str) -> Iterator[ParityRow]:
        """The pairs that differ most, with the pieces that make our score lower or higher than theirs."""
        for pair in heapq.nlargest(self._show, differing, key=lambda pair: pair.gap):
            why, evidence = pair.ours.undefined or pair.ours.failed or "", []
            if pair.theirs is None:
                why = f"theirs is {pair.cells[theirs]!r:.80}" if theirs in pair.cells else "theirs is left out"
            elif pair.ours.value is not None:
                score = self._run.scores[pair.position][key]
                raising, better = pair.ours.value > pair.theirs, self._run.estimates[key].better
                evidence = pieces_words(decisive(score, raising, better))
            quoted = ((name, pair.cells.get(name)) for name in self._quoted)
            evidence += [f"theirs, {name}: {shortened(str(cell), 300)}" for name, cell in quoted if cell]
            sample = pair.sample
            query = shortened(sample.shown, 120)
            yield ParityRow(sample.name.id, query, pair.theirs, pair.ours.value, why, tuple(evidence))


def _scales(run: RunRecord) -> dict[str, FigureScale]:
    """The scale of each value of the catalogue's metrics that was measured."""
    known: list[Measure] = []
    for spec in run.metrics:
        with suppress(UsageError):  # a custom metric has no spec that can be parsed
            known += select_metrics(spec)
    return {key: metric.scale for metric in (select_metrics(known) if known else ()) for key in metric.values}


def _warnings(name: str, theirs: Sequence[float], found: ParityFigures, scale: FigureScale) -> list[str]:
    """Warnings from the scores themselves: another scale, or the opposite direction."""
    warnings = []
    if theirs and found.difference is None:
        spread = f"from {min(theirs):g} to {max(theirs):g}, our scale is {scale[0]:g} to {scale[1]:g}"
        warnings.append(f"different scale: theirs range {spread}; write --column {name}/100=... for per cent")
    if found.rank_interval and found.rank_interval[1] < 0:
        warnings.append(f"opposite direction: theirs fall where ours rise; try --column 1-{name}=...")
    return warnings


def parity(
    run: Run,
    scores: Any,
    against: str,
    *,
    columns: Mapping[str, str] | None = None,
    metrics: Collection[str] = (),
    map: Mapping[str, str] | None = None,
    show: int = 3,
) -> Parity:
    """Compare another system's scores with those of a run, and find out why they differ.

    No judge is asked. Rows are matched by id or position if the texts agree, else by query and response. See
    docs/migrating/parity.md.

    Args:
        run: A run over the same samples.
        scores: The system's file of scores, or rows in memory: anything that `ragauge.read` reads, with one row per
            sample, or a single row of scores for the whole data set.
        against: The system, which determines what its columns mean: "ragas", "valor", "deepeval", "rag_evals",
            "trust_eval" or "dataworkz".
        columns: Their column -> our value, such as {"my score": "faithfulness"}; takes precedence over the known names.
            "NAME/100" is for a column in per cent, "1-NAME" for one with the opposite meaning.
        metrics: Compare only these of ours; all if empty.
        map: Field -> column of `scores`, for id, query and response.
        show: The number of rows of each cause that are shown with evidence.

    Raises:
        UnknownName: There is no such system or column.
        BadData: The scores cannot be read, or match no sample.
        UsageError: The run has no counterpart of the scores.
    """
    sheet = read_sheet(scores, map or {})
    record = run.record
    kept = choose(sheet, against, columns, metrics)
    keys = [(one, key) for one in kept if (key := key_in(record, one.column))]
    if not keys:
        wanted = ", ".join(sorted({one.column.metric or one.column.ours for one in kept}))
        raise UsageError(f"run {run.id} has no counterpart of what {sheet.name} holds; measure {wanted}")
    measured = {one for one, _ in keys}
    left = {one.theirs: f"{one.column.ours} was not measured" for one in kept if one not in measured}
    about = (against, sheet.name, run.id, ", ".join(sorted({str(identity) for identity in record.judges.values()})))
    if len(sheet.lines) == 1 and record.samples != 1:
        totals = tuple(_total(record, sheet, *one) for one in keys)
        return Parity(*about, None, (), totals, left | others(sheet, against, kept))
    by_row = [(one, key) for one, key in keys if record.estimates[key].over == "samples"]
    left |= {one.theirs: f"{key} has no value of each sample" for one, key in keys if (one, key) not in by_row}
    aligned = AlignedScores(run, sheet, SYSTEMS[against].evidence, show)
    compared = tuple(aligned.compared(*one) for one in by_row)
    return Parity(*about, aligned.matching, compared, (), left | others(sheet, against, kept))


def _total(run: RunRecord, sheet: ScoreSheet, one: Chosen, key: str) -> ParityTotal:
    estimate, theirs = run.estimates[key], number_in(sheet.lines[0].cells[one.theirs])
    assert theirs is not None  # a column without a number is not chosen
    ours = (estimate.value, estimate.low, estimate.high, estimate.n)
    return ParityTotal(one.theirs, key, one.column.converted(theirs), *ours, tuple(notes(run, one.column)))
