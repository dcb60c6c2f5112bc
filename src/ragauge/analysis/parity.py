"""`parity`: another system's scores as a run, compared with a run of ours over the same samples."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from math import isfinite
from typing import Any

import msgspec

from ragauge.analysis.compare import Comparison, compare
from ragauge.errors import BadData, BadRow, UnknownName, UsageError
from ragauge.metrics.registry import registered_metrics
from ragauge.readers.columns import ALIASES, flatten_wrappers, folded, rank
from ragauge.readers.read import as_mapping, source
from ragauge.readers.values import TEXT_KEYS, Malformed, describe, native, text_or_none
from ragauge.report.wording import counted, shortened
from ragauge.run.results import Run
from ragauge.scores import SampleRecord, ScoreRecord
from ragauge.statistics.agreement import spearman
from ragauge.store import Store
from ragauge.types import Sample


class Column(msgspec.Struct, frozen=True):
    """How a column of another system relates to ours: the key of our value, and the metric closest to it if another.

    differs: how their definition differs. nothing: their value if there is nothing to count. names: as parity.json has
    the column.
    """

    ours: str
    metric: str = ""
    differs: str = ""
    nothing: str = ""
    names: tuple[str, ...] = ()


def _systems() -> dict[str, dict[str, Column]]:
    content = (files("ragauge.analysis") / "parity.json").read_bytes()
    columns = msgspec.json.decode(content, type=dict[str, list[Column]])
    return {system: {name: column for column in listed for name in column.names} for system, listed in columns.items()}


#: The columns of each system by folded name (see `ragauge.readers.columns.folded`).
SYSTEMS: Mapping[str, Mapping[str, Column]] = _systems()

#: The fields that identify the sample of a row.
IDENTIFYING_FIELDS = ("id", "query", "response")


class ScoreRow(msgspec.Struct, frozen=True):
    """One row of another system's scores, as it names its sample. cells: all its columns."""

    id: str | None
    query: str | None
    response: str | None
    cells: Mapping[str, Any]


class ScoreSheet(msgspec.Struct, frozen=True):
    """The rows of another system's scores. name: of the file."""

    name: str
    rows: tuple[ScoreRow, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, in the order in which they first occur."""
        return tuple(dict.fromkeys(column for row in self.rows for column in row.cells))

    def numbers(self, column: str) -> list[float]:
        """The numbers in a column."""
        values = (number_in(row.cells.get(column)) for row in self.rows)
        return [value for value in values if value is not None]

    def fault(self, column: str) -> str:
        """The first text in a column that is neither a number nor missing, with its row; empty without one."""
        cells = ((number, row.cells.get(column)) for number, row in enumerate(self.rows, start=1))
        return next((f"row {number} holds {cell!r:.60}" for number, cell in cells if _is_fault(cell)), "")


def read_sheet(scores: Any, map: Mapping[str, str]) -> ScoreSheet:
    """The rows of any file or object that `ragauge.read` takes. map: field -> column, for id, query and response."""
    if isinstance(scores, ScoreSheet):
        return scores
    table = source(scores)
    rows = [_cells(row, table.name, number) for number, row in enumerate(table.rows(), start=1)]
    if not rows:
        raise BadData(f"{table.name}: no rows of scores")
    columns = dict.fromkeys(column for row in rows for column in row)
    columns_of_fields = [_column_of(field, columns, map) for field in IDENTIFYING_FIELDS]
    score_rows = []
    for row in rows:
        id, query, response = (_text(row.get(column)) if column else None for column in columns_of_fields)
        score_rows.append(ScoreRow(id, query, response, cells=row))
    return ScoreSheet(table.name, tuple(score_rows))


def _cells(row: Any, where: str, number: int) -> Mapping[str, Any]:
    if isinstance(row, Malformed):
        raise BadRow(where, number, None, row.problem, row.fix)
    fields = as_mapping(row)
    if fields is None:
        raise BadRow(where, number, None, f"{describe(row)}, not an object", "give each row as a dict")
    return dict(pair for column, cell in flatten_wrappers(fields).items() for pair in _scores(column, cell))


def _scores(column: str, cell: Any) -> Iterator[tuple[str, Any]]:
    """The scores in a cell by name: Valor and DeepEval have lists of objects with a name and a value.

    An object of numbers, such as RAGChecker's metrics, is a column for each, as in "metrics.faithfulness".
    """
    cell = native(cell)
    if isinstance(cell, Mapping) and not _is_field(column) and not _is_score(cell):
        inner = {f"{column}.{name}": native(value) for name, value in cell.items()}
        if any(isinstance(value, int | float) for value in inner.values()):
            yield from inner.items()
            return
    items = cell if isinstance(cell, list) else [cell]
    if not items or not all(map(_is_score, items)):
        yield column, cell
        return
    for item in items:
        name = str(item.get("name") or item.get("type"))
        kind = (item.get("parameters") or {}).get("rouge_type", "")
        yield column if name == "Error" else f"{name} {kind}".strip(), item.get("score", item.get("value"))


def _is_score(item: Any) -> bool:
    named = isinstance(item, Mapping) and {"name", "type"} & item.keys() and {"score", "value"} & item.keys()
    return bool(named) and item.keys().isdisjoint(TEXT_KEYS)


def _is_field(column: str) -> bool:
    return any(rank(field, column) is not None for field in ALIASES)


def _column_of(field: str, columns: Mapping[str, Any], map: Mapping[str, str]) -> str | None:
    """The column of a field: the one that the caller names, else the best of the known names."""
    if field in map:
        if map[field] and map[field] not in columns:
            raise UnknownName("column", map[field], columns)
        return map[field] or None
    ranks = {column: rank(field, column) for column in columns}
    ranked = [(place, column) for column, place in ranks.items() if place is not None]
    return min(ranked)[1] if ranked else None


def _text(cell: Any) -> str | None:
    try:
        return text_or_none(cell)
    except Malformed:
        return None


#: How a cell says that there is no number.
_MISSING = frozenset({"", "nan", "na", "n/a", "none", "null", "-", "–"})


def number_in(cell: Any) -> float | None:
    """The number in a cell, also if it is text, "50%" as 0.5; None for NaN, infinities and anything else."""
    cell = native(cell)
    if not isinstance(cell, str | int | float):
        return None
    try:
        is_per_cent = isinstance(cell, str) and cell.rstrip().endswith("%")
        value = float(str(cell).rstrip()[:-1]) / 100 if is_per_cent else float(cell)
    except ValueError:
        return None
    return value if isfinite(value) else None


def _is_fault(cell: Any) -> bool:
    """Whether a cell is a text that is neither a number nor says that there is none."""
    return isinstance(cell, str) and number_in(cell) is None and cell.strip().casefold() not in _MISSING


def match_rows(sheet: ScoreSheet, samples: Sequence[SampleRecord]) -> tuple[list[int | None], str]:
    """The position of the row of each sample, None for a sample without one, and by what they were matched.

    Rows are matched by query and response where they have these; else by id; else in order, if there are as many rows
    as samples. Texts are compared without regard to white space and case, and only those that both sides have. Raises
    BadData where no row matches.
    """
    rows, own_samples = sheet.rows, [record.sample for record in samples]
    fields = [field for field in ("query", "response") if _any_has(rows, field) and _any_has(own_samples, field)]

    def texts(row_or_sample: ScoreRow | Sample) -> Hashable:
        return tuple(" ".join((getattr(row_or_sample, field) or "").split()).casefold() for field in fields)

    by = " and ".join(fields) or "id"
    if fields:
        by_texts: dict[Hashable, list[int]] = {}
        for position, row in enumerate(rows):
            by_texts.setdefault(texts(row), []).append(position)
        matching = [by_texts.get(texts(sample), []) for sample in own_samples]
        positions = [rows_left.pop(0) if rows_left else None for rows_left in matching]
    elif len(rows) == len(own_samples) and any(row.id is None for row in rows):
        positions, by = list(range(len(rows))), "order"
    elif missing := [number for number, row in enumerate(rows, 1) if row.id is None]:
        raise BadData(f"{sheet.name}: row {missing[0]} has no id; give the rows that were measured, with their ids")
    else:
        by_id = {row.id: position for position, row in enumerate(rows)}
        positions = [by_id.get(sample.id) for sample in own_samples]
    if all(position is None for position in positions):
        first = shortened(rows[0].query or rows[0].response or rows[0].id or "", 80)
        raise BadData(
            f"{sheet.name}: no row has the {by} of a sample (the first row: {first!r}); give the rows that were "
            "measured, with their ids or their query and response"
        )
    return positions, by


def _any_has(rows: Iterable[ScoreRow | Sample], field: str) -> bool:
    return any(getattr(row, field) for row in rows)


def choose(
    sheet: ScoreSheet, against: str, named: Mapping[str, str] | None = None, only: Collection[str] = ()
) -> dict[str, Column]:
    """The columns of a sheet that have a counterpart among our values.

    Args:
        sheet: the other system's scores.
        against: the system, a key of SYSTEMS.
        named: their column -> our value; takes precedence over the known columns.
        only: our metrics or values to compare; all if empty.

    Raises:
        UnknownName: there is no such system or column.
        UsageError: nothing can be compared, or a column of the caller holds no number.
    """
    if against not in SYSTEMS:
        raise UnknownName("system", against, SYSTEMS)
    columns = {theirs: Column(ours) for theirs, ours in (named or {}).items()}
    for name in columns:
        if name not in sheet.columns:
            raise UnknownName("column", name, sheet.columns)
        if not sheet.numbers(name):
            fault = sheet.fault(name) or "all cells are empty"
            raise UsageError(f"{sheet.name}: column {name!r} holds no number ({fault})")
    taken = {(column.ours, "") for column in columns.values()}
    counterparts = {name: column for name in sheet.columns if (column := _known(against, name)) and sheet.numbers(name)}
    for name, column in sorted(counterparts.items(), key=lambda item: ("." in item[0], bool(item[1].differs))):
        if name not in columns and taken.isdisjoint({(column.ours, ""), (column.ours, column.metric)}):
            columns[name] = column
            taken.add((column.ours, column.metric))
    wanted = {name for spec in only for name in (spec, metric_of(spec))}
    kept = {
        name: column
        for name, column in columns.items()
        if not wanted or column.ours in wanted or metric_of(column.ours) in wanted
    }
    if not kept:
        among = f" among {', '.join(only)}" if only else ""
        empty = [name for name in sheet.columns if _known(against, name) and sheet.fault(name)]
        faults = "".join(f"; {name!r} holds no number ({sheet.fault(name)})" for name in empty)
        raise UsageError(
            f"{sheet.name}: no column of {against} has a counterpart{among}; found: "
            f"{', '.join(map(repr, sheet.columns))}{faults}; name one with "
            "columns={THEIRS: OURS} (--column THEIRS=OURS)"
        )
    return kept


def _known(against: str, name: str) -> Column | None:
    """What is known of a column of a system, also within an object: "metrics.faithfulness"."""
    return SYSTEMS[against].get(folded(name)) or SYSTEMS[against].get(folded(name.rpartition(".")[2]))


def not_compared(sheet: ScoreSheet, against: str, kept: Mapping[str, Column]) -> dict[str, str]:
    """Known columns, and others with numbers in most of their filled cells, and why they are not compared."""
    reasons = {}
    for name in sheet.columns:
        if name in kept or _is_field(name):
            continue
        filled = sum(row.cells.get(name) not in (None, "") for row in sheet.rows)
        known, fault = _known(against, name), sheet.fault(name)
        if 2 * len(sheet.numbers(name)) > filled:
            reasons[name] = (
                "not requested, or another is compared with ours" if known else "no known counterpart among ours"
            )
        elif known and fault:
            reasons[name] = f"no number in it ({fault})"
    return reasons


def metrics_for(kept: Mapping[str, Column]) -> list[str]:
    """The metrics to measure so that each column has its counterpart, in the form closest to theirs."""
    return list(dict.fromkeys(column.metric or metric_of(column.ours) for column in kept.values()))


def metric_of(value: str) -> str:
    """The metric of a key, with its parameters: `rouge` for `rouge.rouge1`."""
    return re.sub(r"\.\w+$", "", value)


def _key_in(run: Run, column: Column) -> str | None:
    """The key of the counterpart of a column in the run, with their parameters if there are several."""
    name = metric_of(column.ours)
    part = column.ours.removeprefix(name)
    keys = [column.ours]
    if column.metric.partition("(")[0] == name:
        keys.insert(0, column.metric + part)
    return next((key for key in keys if key in run.estimates and run.estimates[key].over == "samples"), None)


def parity(
    run: Run,
    scores: Any,
    against: str,
    *,
    columns: Mapping[str, str] | None = None,
    metrics: Collection[str] = (),
    map: Mapping[str, str] | None = None,
    show: int = 3,
) -> Comparison:
    """Compare another system's scores (A) with those of a run (B) over the same samples. No judge is asked.

    See docs/migrating/parity.md.

    Args:
        run: A run over the same samples.
        scores: The system's file of scores, or rows in memory: anything that `ragauge.read` reads, with one row per
            sample.
        against: The system, which determines what its columns mean: "ragas", "valor", "deepeval", "rag_evals",
            "dataworkz" or "ragchecker".
        columns: Their column -> our value, such as {"my score": "faithfulness"}; takes precedence over the known names.
        metrics: Compare only these of ours; all if empty.
        map: Field -> column of `scores`, for id, query and response.
        show: The number of samples shown for each metric, with our claims that make the difference.

    Returns:
        Their scores as run A compared with ours as run B, `by` what the rows were matched: texts, "id" or "order"; the
        notes have the rank correlations, and how definitions differ.

    Raises:
        UnknownName: There is no such system or column.
        BadData: The scores cannot be read, or match no sample.
        UsageError: The run has no counterpart of the scores.
    """
    sheet = read_sheet(scores, map or {})
    kept = choose(sheet, against, columns, metrics)
    keys = {key: name for name, column in kept.items() if (key := _key_in(run, column))}
    if not keys:
        wanted = ", ".join(sorted({column.metric or column.ours for column in kept.values()}))
        raise UsageError(f"run {run.id} has no counterpart of what {sheet.name} holds; measure {wanted}")
    records = list(run.records())
    positions, by = match_rows(sheet, records)
    scales = {key: measure.scale for measure in registered_metrics(run.record) for key in measure.values}
    theirs = []
    for record, position in zip(records, positions, strict=True):
        if position is not None:
            cells = sheet.rows[position].cells
            scores_of_row = {key: _score(cells.get(name), scales.get(key)) for key, name in keys.items()}
            theirs.append(SampleRecord(record.sample, scores_of_row))
    unmeasured = {name: f"{column.ours} was not measured" for name, column in kept.items() if name not in keys.values()}
    theirs_as_run = msgspec.structs.replace(
        run.record,
        id=f"{run.id}-theirs",
        name=f"{against}: {sheet.name}",
        samples=len(theirs),
        estimates={key: run.estimates[key] for key in keys},
    )
    with Store.temporary() as store:
        store.begin(theirs_as_run)
        store.keep_samples(theirs_as_run.id, 0, theirs)
        compared = compare(Run(store, theirs_as_run), run, list(keys), show=show)
    notes = ["the rows were matched in order, since one side has no ids or texts: is it the same?"] * (by == "order")
    for key, name in keys.items():
        notes += _notes(run, key, name, kept[name], records, theirs)
        if fault := sheet.fault(name):
            notes.append(f"{name} has texts that are no numbers, which count as failed: {fault}")
    return msgspec.structs.replace(
        compared, by=by, notes=(*compared.notes, *notes), left_out={**unmeasured, **not_compared(sheet, against, kept)}
    )


_OFF_SCALE = "is off the scale"


def _score(cell: Any, scale: tuple[float, float] | None) -> ScoreRecord:
    """Their number as a score, failed if it is off the scale. scale: of our value, None if it is not known."""
    if _is_fault(cell):
        return ScoreRecord(failed=f"{cell!r:.60} is no number")
    if (value := number_in(cell)) is None:
        return ScoreRecord(undefined="no number")
    if scale is None:
        return ScoreRecord(value)
    low, high = scale
    if not low <= round(value, 6) <= high:
        return ScoreRecord(failed=f"{value:g} {_OFF_SCALE}")
    return ScoreRecord(min(max(value, low), high))


def _notes(
    run: Run, key: str, name: str, column: Column, records: Sequence[SampleRecord], theirs: Sequence[SampleRecord]
) -> Iterator[str]:
    """What to know of a column of theirs: its rank correlation with ours, its scale, and how its definition differs."""
    ours = {record.sample.id: record.scores[key].value for record in records}
    pairs = [(record.scores[key].value, ours[record.sample.id]) for record in theirs]
    both = [(first, second) for first, second in pairs if first is not None and second is not None]
    theirs_of_both, ours_of_both = [first for first, _ in both], [second for _, second in both]
    if (correlation := spearman(theirs_of_both, ours_of_both)) is not None:
        yield f"{key} is their {name}: rank correlation {correlation:.2f} over {counted(len(both), 'sample')}"
    if any((record.scores[key].failed or "").endswith(_OFF_SCALE) for record in theirs):
        yield f"{name} has numbers off the scale of {key}, which count as failed; write per cent as 50%, or 0.5"
    if column.differs:
        yield f"{name} has a different definition: {column.differs}"
    if column.nothing:
        yield f"{name} where there is nothing to count: {column.nothing}"
    metric = metric_of(column.ours)
    if column.metric.partition("(")[0] == metric and column.metric not in run.record.metrics:
        measured = next((spec for spec in run.record.metrics if spec.partition("(")[0] == metric), metric)
        yield f"{key} was measured as {measured}; {column.metric} is closer to theirs"
