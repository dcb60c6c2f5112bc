"""`parity`: another system's scores and a run of ours on the same rows, and why they differ."""

from __future__ import annotations

import heapq
import re
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from importlib.resources import files
from math import floor, fsum, isfinite
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragauge.errors import BadData, BadRow, UnknownName, UsageError
from ragauge.readers.columns import ALIASES, flatten_wrappers, folded, rank
from ragauge.readers.read import as_mapping, source
from ragauge.readers.values import TEXT_KEYS, Malformed, describe, native, text_or_none
from ragauge.report.explain import decisive, is_share, pieces_words
from ragauge.report.files import save_text
from ragauge.report.text import plain
from ragauge.report.wording import by_reason, counted, number, one_line, shortened, with_interval
from ragauge.run.aggregation import recovered_record
from ragauge.run.results import Run
from ragauge.scores import RunRecord, ScoreRecord
from ragauge.statistics.agreement import group_interval, spearman
from ragauge.statistics.intervals import Clusters, Interval, sampling_units
from ragauge.statistics.paired import paired_mean

Scale = tuple[float, float]


class Column(msgspec.Struct, frozen=True):
    """How a column of another system relates to ours: the key of our value, and the metric closest to it if another.

    differs: how their definition differs. nothing: their value if there is nothing to count. Their number is divided by
    `per`, or subtracted from 1 if `flipped`; scale: of the result, if it is not that of our metric.
    """

    ours: str
    metric: str = ""
    differs: str = ""
    nothing: str = ""
    per: float = 1.0
    flipped: bool = False
    scale: Scale | None = None

    def converted(self, value: float) -> float:
        """Their number on our scale."""
        return 1 - value if self.flipped else value / self.per


class _NamedColumn(Column, frozen=True, kw_only=True):
    names: tuple[str, ...]


def _systems() -> dict[str, dict[str, Column]]:
    content = (files("ragauge.analysis") / "parity.json").read_bytes()
    columns = msgspec.json.decode(content, type=dict[str, list[_NamedColumn]])
    return {system: {name: column for column in listed for name in column.names} for system, listed in columns.items()}


#: The columns of each system by folded name (see `ragauge.readers.columns.folded`).
SYSTEMS: Mapping[str, Mapping[str, Column]] = _systems()

#: The columns that explain another system's numbers: those of Dataworkz.
EVIDENCE = ("Golden Response Claims", "Candidate Response Claims", "Common Claims")

#: The fields that identify the sample of a row.
NAMING = ("id", "query", "response")


class RowName(msgspec.Struct, frozen=True):
    """Identifies a row or sample. id: its own, or its number counted from 1."""

    id: str
    query: str | None
    response: str | None


class ScoreRow(RowName, frozen=True):
    """One row of scores. cells: all its columns."""

    cells: Mapping[str, Any]


class ScoredSample(RowName, frozen=True):
    """A sample of the run without its evidence. shown: its query, or another text."""

    shown: str
    group: str | None
    scores: Mapping[str, ScoreRecord]


class ScoreSheet(msgspec.Struct, frozen=True):
    """The rows of another system's scores. name: of the file. numbered: whether ids are row numbers."""

    name: str
    lines: tuple[ScoreRow, ...]
    numbered: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, in the order in which they first occur."""
        return tuple(dict.fromkeys(column for line in self.lines for column in line.cells))

    def numbers(self, column: str) -> list[float]:
        """The numbers in a column."""
        found = (number_in(line.cells.get(column)) for line in self.lines)
        return [value for value in found if value is not None]


def read_sheet(scores: Any, map: Mapping[str, str]) -> ScoreSheet:
    """The rows of any file or object that `ragauge.read` takes. map: field -> column, for id, query and response."""
    if isinstance(scores, ScoreSheet):
        return scores
    found = source(scores)
    rows = [_cells(row, found.name, number) for number, row in enumerate(found.rows(), start=1)]
    if not rows:
        raise BadData(f"{found.name}: no rows of scores")
    columns = dict.fromkeys(column for row in rows for column in row)
    serving = {field: _serving(field, columns, map) for field in NAMING}
    lines = []
    for at, row in enumerate(rows, start=1):
        id, query, response = (_text(row.get(column)) if (column := serving[field]) else None for field in NAMING)
        lines.append(ScoreRow(id or str(at), query, response, row))
    return ScoreSheet(found.name, tuple(lines), serving["id"] is None)


def _cells(row: Any, where: str, number: int) -> Mapping[str, Any]:
    if isinstance(row, Malformed):
        raise BadRow(where, number, None, row.problem, row.fix)
    fields = as_mapping(row)
    if fields is None:
        raise BadRow(where, number, None, f"{describe(row)}, not an object", "give each row as a dict")
    return dict(pair for column, cell in flatten_wrappers(fields).items() for pair in _scores(column, cell))


def _scores(column: str, cell: Any) -> Iterator[tuple[str, Any]]:
    """The scores in a cell by name: Valor and DeepEval have lists of objects with a name and a value."""
    cell = native(cell)
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


def _serving(field: str, columns: Mapping[str, Any], map: Mapping[str, str]) -> str | None:
    """The column of a field: the one that the caller names, else the best of the known names."""
    if field in map:
        if map[field] and map[field] not in columns:
            raise UnknownName("column", map[field], columns)
        return map[field] or None
    fits = [(place, column) for column in columns if (place := rank(field, column)) is not None]
    return min(fits)[1] if fits else None


def _text(cell: Any) -> str | None:
    try:
        return text_or_none(cell)
    except Malformed:
        return None


def number_in(cell: Any) -> float | None:
    """The number in a cell, also if it is text; None for NaN, infinities and anything else."""
    cell = native(cell)
    try:
        value = float(cell) if isinstance(cell, str | int | float) else None
    except ValueError:
        return None
    return value if value is not None and isfinite(value) else None


#: The number of rows without a sample that are named.
SHOWN = 5


class RowMatching(msgspec.Struct, frozen=True):
    """How rows of scores were matched with samples, and how many. alone: ids of the first rows without a sample."""

    by: str
    pairs: int
    rows: int
    samples: int
    alone: tuple[str, ...] = ()


def match_rows(sheet: ScoreSheet, samples: Sequence[RowName]) -> tuple[RowMatching, list[tuple[int, int]]]:
    """Match the rows of `sheet` with `samples`, as pairs of positions: by id if possible, else by texts, else in order.

    Ids (row numbers if there is no column of ids) are used if all ids of one side occur on the other and the texts of
    matched rows agree; without texts, both sides must have the same ids. Repeated texts are matched in order. Positions
    are used only without texts, and if there are as many rows as samples. Raises BadData if nothing matches.
    """
    lines = sheet.lines
    sizes = len(lines), len(samples)
    fields = [
        field
        for field in ("query", "response")
        if all(any(getattr(row, field) is not None for row in rows) for rows in (lines, samples))
    ]
    pairs = _pairs(lines, samples, lambda one: one.id)
    enough = len(pairs) == (min(sizes) if fields else max(sizes))
    by = "position" if sheet.numbered else "id"
    if not (pairs and enough and all(_texts(lines[i], fields) == _texts(samples[j], fields) for i, j in pairs)):
        pairs = _pairs(lines, samples, lambda one: _texts(one, fields)) if fields else []
        by = " and ".join(fields)
    if not pairs:
        if fields or sizes[0] != sizes[1]:
            raise BadData(_unmatched(sheet, sizes, fields))
        pairs, by = [(i, i) for i in range(len(lines))], "position"
    found = {i for i, _ in pairs}
    alone = [line.id for i, line in enumerate(lines) if i not in found]
    return RowMatching(by, len(pairs), *sizes, tuple(alone[:SHOWN])), pairs


def _texts(row: RowName, fields: Sequence[str]) -> tuple[str, ...]:
    """The texts of a row, without regard to white space and case."""
    return tuple(" ".join((getattr(row, field) or "").split()).casefold() for field in fields)


def _pairs(
    lines: Sequence[RowName], samples: Sequence[RowName], key: Callable[[RowName], Hashable]
) -> list[tuple[int, int]]:
    """Positions of rows and samples with equal keys; the second row of a key goes with its second sample."""
    places: dict[Hashable, deque[int]] = {}
    for j, sample in enumerate(samples):
        places.setdefault(key(sample), deque()).append(j)
    return [(i, places[key(line)].popleft()) for i, line in enumerate(lines) if places.get(key(line))]


def _unmatched(sheet: ScoreSheet, sizes: tuple[int, int], fields: Sequence[str]) -> str:
    shown = shortened(sheet.lines[0].query or sheet.lines[0].response or "", 80)
    why = f"no row has the {' and '.join(fields)} of a sample (the first row: {shown!r})"
    if not fields:
        why = f"{sizes[0]} rows and {sizes[1]} samples, without matching ids or texts"
    return f"{sheet.name}: {why}; give the rows that were measured, with their ids or their query and response"


SCHEMA = "ragauge.parity/1"

PARITY_WRITERS = (".md", ".json")


class ParityRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One row on which the two differ: the numbers on our scale, and the reason or our deciding pieces."""

    id: str
    query: str
    theirs: float | None
    ours: float | None
    why: str = ""
    evidence: tuple[str, ...] = ()


class ParityDifference(msgspec.Struct, frozen=True):
    """The rows that differ for one cause, a key of `CAUSES`: their number, and the worst of them."""

    cause: str
    count: int
    rows: tuple[ParityRow, ...]


class ParityFigures(msgspec.Struct, frozen=True):
    """The figures of the n rows with a number on both sides; None if undefined, or theirs are off their scale."""

    n: int
    mean_theirs: float | None
    mean_ours: float | None
    difference: Interval | None
    rank: float | None
    rank_interval: tuple[float, float] | None
    close: int


class ParityColumn(msgspec.Struct, frozen=True):
    """A column of theirs compared with a value of ours. neither: number of rows without a number on either side."""

    theirs: str
    ours: str
    figures: ParityFigures
    neither: int
    notes: tuple[str, ...]
    differences: tuple[ParityDifference, ...]


class Parity(msgspec.Struct, frozen=True):
    """Another system's scores compared with those of a run.

    system: whose scores. scores: the file. run, judge: the run and its judges. matching: how rows were matched with
    samples. columns: the comparisons. left: columns that were not compared, with the reason.
    """

    system: str = msgspec.field(name="peer")
    scores: str
    run: str
    judge: str
    matching: RowMatching
    columns: tuple[ParityColumn, ...]
    left: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """The comparison as one document of schema "ragauge.parity/1"."""
        return {"schema": SCHEMA, **msgspec.to_builtins(self)}

    def save(self, path: str | Path) -> Path:
        """Write the comparison to a .json or .md file. Raises UsageError for other endings."""
        as_json = msgspec.json.encode(self.to_dict()).decode()
        return save_text(Path(path), {".json": lambda: as_json, ".md": self._markdown})

    def __str__(self) -> str:
        return "".join(f"{one_line(line)}\n" for line in _lines(self))

    def _markdown(self) -> str:
        """The comparison as Markdown; quoted texts are shown literally."""
        split = ((line, match.end()) for line in _lines(self) if (match := _MARK.match(line)))
        return "".join(f"{line[:end]}{plain(line[end:])}\n" for line, end in split)


#: Numbers that differ by at most this share of the scale are taken as equal.
CLOSE = 0.05

#: The number of pairs for which a rank correlation has an interval; with more it would be narrower than 0.05.
FEWEST, MOST = 10, 10_000

#: The tolerance for rounded numbers at the ends of a scale.
ROUNDING = 1e-6


def _is_on(scale: Scale, value: float) -> bool:
    return scale[0] - ROUNDING <= value <= scale[1] + ROUNDING


def _is_close(scale: Scale, one: float, other: float) -> bool:
    return abs(one - other) <= CLOSE * (scale[1] - scale[0])


def _figures(
    theirs: Sequence[float], ours: Sequence[float], clusters: Clusters, scale: Scale, of_theirs: Scale
) -> ParityFigures:
    """The figures of pairs of numbers. scale: of ours; of_theirs: of theirs. clusters: as for `paired_mean`."""
    pairs, n = list(zip(theirs, ours, strict=True)), len(ours)
    difference = rank_interval = None
    if n and all(_is_on(of_theirs, value) for value in theirs):
        widest = (scale[0] - of_theirs[1] - ROUNDING, scale[1] - of_theirs[0] + ROUNDING)
        difference = paired_mean([b - a for a, b in pairs], scale=widest, clusters=clusters).interval
    rank = spearman(theirs, ours)
    if rank is not None and FEWEST <= n <= MOST:
        resamples = max(200, min(1000, 1_000_000 // n))
        rank_interval = group_interval(theirs, ours, sampling_units(clusters, n), spearman, resamples=resamples)
    return ParityFigures(
        n=n,
        mean_theirs=fsum(theirs) / n if n else None,
        mean_ours=fsum(ours) / n if n else None,
        difference=difference,
        rank=rank,
        rank_interval=rank_interval,
        close=sum(_is_on(of_theirs, a) and _is_close(scale, a, b) for a, b in pairs),
    )


#: cause -> its meaning, in the order of reports.
CAUSES = {
    "undefined_here": "nothing to count here, a number there",
    "failed_here": "no answer of the judge here, a number there",
    "missing_there": "a number here, none there (NaN, empty or an error)",
    "scale": "their number is off our scale",
    "definition": "another definition",
    "pieces": "other claims: their number is no share of as many pieces as were found here",
    "verdicts": "other verdicts or other claims",
    "numbers": "other numbers, with no verdicts behind ours",
}

#: The rounding of another system's numbers, and the number of pieces up to which rounded shares can be distinguished.
_EXACT, _FEW = 0.005, 50


def _cause(theirs: float | None, ours: ScoreRecord, column: Column, scale: Scale, of_theirs: Scale) -> str | None:
    """The cause of a difference, None if there is none. scale: of ours; of_theirs: of theirs, as converted."""
    if ours.value is None:
        return None if theirs is None else "failed_here" if ours.failed else "undefined_here"
    if theirs is None:
        return "missing_there"
    if not _is_on(of_theirs, theirs):
        return "scale"
    if _is_close(scale, theirs, ours.value):
        return None
    if column.differs:
        return "definition"
    if not ours.evidence:
        return "numbers"
    if is_share(ours) and (pieces := ours.counts[1]) <= _FEW:
        nearest = floor(theirs * pieces + 0.5) / pieces
        return "verdicts" if abs(theirs - nearest) <= _EXACT else "pieces"
    return "verdicts"


#: The mark of a heading, an item or a row.
_MARK = re.compile(r"(?:#+ | *- |\|)?")


def _lines(parity: Parity) -> Iterator[str]:
    yield from (f"# ragauge compared with {parity.system}", "")
    yield f"Theirs: {parity.scores}. Ours: run {parity.run}, judge {parity.judge}."
    found = parity.matching
    more = found.rows - found.pairs - len(found.alone)
    alone = ", ".join(found.alone) + (f" and {more} more" if more else "")
    without = f" Without a sample: {alone}." if alone else ""
    rows, samples = counted(found.rows, "row"), counted(found.samples, "sample")
    yield f"{found.pairs} of {rows} matched with {samples} by {found.by}.{without}"
    yield ""
    yield f"| {_FIGURES} |"
    yield "|" + "---|" * (_FIGURES.count("|") + 1)
    for column in parity.columns:
        yield f"| {' | '.join(cell.replace('|', '∣') for cell in _figure_cells(column))} |"
    for reason in by_reason(parity.left):
        yield from ("", f"Not compared: {reason}.")
    for compared in parity.columns:
        yield from _column_lines(compared)


_FIGURES = "theirs | ours | n | mean theirs | mean ours | ours − theirs, 95 % | rank correlation, 95 % | within 0.05"


def _with_interval(value: float | None, low: float | None, high: float | None) -> str:
    # 0.000, never -0.000
    return with_interval(value, low, high, lambda one: number(None if one is None else round(one, 3) + 0.0))


def _figure_cells(one: ParityColumn) -> list[str]:
    f = one.figures
    return [
        *(one.theirs, one.ours, str(f.n), number(f.mean_theirs), number(f.mean_ours)),
        _with_interval(f.difference.value, f.difference.low, f.difference.high) if f.difference else "–",
        _with_interval(f.rank, *(f.rank_interval or (None, None))),
        f"{f.close / f.n:.0%}" if f.n else "–",
    ]


def _column_lines(one: ParityColumn) -> Iterator[str]:
    yield from ("", f"## {one.theirs} and {one.ours}", "")
    yield from (f"- {note}" for note in one.notes)
    if one.notes:
        yield ""
    differ = sum(difference.count for difference in one.differences)
    neither = f"; {counted(one.neither, 'row')} without a number on either side" if one.neither else ""
    yield f"{counted(one.figures.close, 'row')} within 0.05, {differ} differ{neither}."
    for difference in one.differences:
        shown = len(difference.rows)
        more = f", the worst {shown}" if 0 < shown < difference.count else ""
        yield from ("", f"### {CAUSES[difference.cause]}: {counted(difference.count, 'row')}{more}", "")
        for row in difference.rows:
            why = f" ({row.why})" if row.why else ""
            yield f"- {row.id}: theirs {number(row.theirs)}, ours {number(row.ours)}{why}. {row.query}".rstrip()
            yield from (f"  - {line}" for line in row.evidence)


#: A column in per cent, or with the opposite meaning: "LLM F1/100", "1-error".
_WRITTEN = re.compile(r"(?P<flipped>1-)?(?P<name>.+?)(/(?P<per>\d+(\.\d+)?))?")


def choose(
    sheet: ScoreSheet, against: str, named: Mapping[str, str] | None = None, only: Collection[str] = ()
) -> dict[str, Column]:
    """The columns of `sheet` that have a counterpart here. named: their column, as "NAME/100" or "1-NAME" -> our value.

    only: our metrics or values; all if empty. Raises UnknownName, or UsageError if nothing can be compared.
    """
    if against not in SYSTEMS:
        raise UnknownName("system", against, SYSTEMS)
    found = dict(_named(sheet, theirs, ours) for theirs, ours in (named or {}).items())
    for name in sheet.columns:
        known = SYSTEMS[against].get(folded(name))
        if known and name not in found and sheet.numbers(name):
            found[name] = known
    wanted = {name for spec in only for name in (spec, metric_of(spec))}
    kept = {
        name: column for name, column in found.items() if not wanted or {column.ours, metric_of(column.ours)} & wanted
    }
    if not kept:
        among = f" among {', '.join(only)}" if only else ""
        raise UsageError(
            f"{sheet.name}: no column of {against} has a counterpart{among}; found: "
            f"{', '.join(map(repr, sheet.columns))}; name one with columns={{THEIRS: OURS}} (--column THEIRS=OURS)"
        )
    return kept


def _named(sheet: ScoreSheet, theirs: str, ours: str) -> tuple[str, Column]:
    """A column as the caller maps it to ours."""
    if theirs in sheet.columns:
        return theirs, Column(ours)
    match = _WRITTEN.fullmatch(theirs)
    if match is None or match["name"] not in sheet.columns:
        raise UnknownName("column", match["name"] if match else theirs, sheet.columns)
    return match["name"], Column(ours, per=float(match["per"] or 1), flipped=bool(match["flipped"]))


def others(sheet: ScoreSheet, against: str, kept: Collection[str]) -> dict[str, str]:
    """The other columns with numbers in most of their filled cells, and the reason why they are not compared."""
    reasons = {}
    for name in sheet.columns:
        if name not in kept and not any(rank(field, name) is not None for field in ALIASES):
            filled = sum(line.cells.get(name) not in (None, "") for line in sheet.lines)
            if 2 * len(sheet.numbers(name)) > filled:
                known = folded(name) in SYSTEMS[against]
                reasons[name] = "not requested" if known else "no known counterpart among ours"
    return reasons


def measuring(kept: Mapping[str, Column]) -> list[str]:
    """The metrics to measure so that each column has its counterpart, in the form closest to theirs."""
    return list(dict.fromkeys(column.metric or metric_of(column.ours) for column in kept.values()))


def metric_of(value: str) -> str:
    """The metric of a key, with its parameters: `rouge` for `rouge.rouge1`."""
    return re.sub(r"\.\w+$", "", value)


def _key_in(run: RunRecord, column: Column) -> str | None:
    """The key of the counterpart of a column in the run, with their parameters if there are several."""
    name = metric_of(column.ours)
    part = column.ours.removeprefix(name)
    with_their_parameters = column.metric + part if column.metric.partition("(")[0] == name else column.ours
    return next((key for key in (with_their_parameters, column.ours) if key in run.estimates), None)


def _notes(run: RunRecord, column: Column) -> list[str]:
    """Known differences of a column: definition, edge cases, and parameters of the metric in this run."""
    known = [f"different definition: {column.differs}"] if column.differs else []
    known += [f"theirs is {column.nothing}"] if column.nothing else []
    name = metric_of(column.ours)
    if column.metric.partition("(")[0] == name and column.metric not in run.metrics:
        measured = next((spec for spec in run.metrics if spec.partition("(")[0] == name), name)
        known.append(f"measured here as {measured}; {column.metric} is closer to theirs")
    return known


def _warnings(name: str, theirs: Sequence[float], found: ParityFigures, scale: Scale) -> Iterator[str]:
    """Warnings from the scores themselves: another scale, or the opposite direction."""
    if theirs and found.difference is None:
        spread = f"from {min(theirs):g} to {max(theirs):g}, our scale is {scale[0]:g} to {scale[1]:g}"
        yield f"different scale: theirs range {spread}; write --column {name}/100=... for per cent"
    if found.rank_interval and found.rank_interval[1] < 0:
        yield f"opposite direction: theirs fall where ours rise; try --column 1-{name}=..."


class _Pair(NamedTuple):
    """A row of theirs with its score on our scale, and the matching sample at a position of the run with its score."""

    row: ScoreRow
    theirs: float | None
    position: int
    sample: ScoredSample
    ours: ScoreRecord


def _compared(run: Run, name: str, column: Column, key: str, pairs: Sequence[_Pair], show: int) -> ParityColumn:
    """One column of theirs compared with one value of ours. show: the number of rows shown for each cause."""
    both = [
        (p.theirs, p.ours.value, p.sample.group) for p in pairs if p.theirs is not None and p.ours.value is not None
    ]
    theirs, ours, groups = [a for a, _, _ in both], [b for _, b, _ in both], [group for _, _, group in both]
    measured = next((metric.scale for metric in recovered_record(run.record) if key in metric.values), None)
    scale = measured or (min([0.0, *theirs, *ours]), max([1.0, *theirs, *ours]))
    of_theirs = column.scale or scale
    found = _figures(theirs, ours, groups if any(groups) else None, scale, of_theirs)
    causes = [_cause(pair.theirs, pair.ours, column, scale, of_theirs) for pair in pairs]
    differences = []
    for cause in CAUSES:
        if differing := [pair for pair, why in zip(pairs, causes, strict=True) if why == cause]:
            worst = heapq.nlargest(show, differing, key=lambda pair: abs((pair.theirs or 0) - (pair.ours.value or 0)))
            rows = tuple(_row(run, name, key, pair) for pair in worst)
            differences.append(ParityDifference(cause, len(differing), rows))
    return ParityColumn(
        name,
        key,
        found,
        neither=sum(pair.theirs is None and pair.ours.value is None for pair in pairs),
        notes=(*_notes(run.record, column), *_warnings(name, theirs, found, scale)),
        differences=tuple(differences),
    )


def _row(run: Run, name: str, key: str, pair: _Pair) -> ParityRow:
    """A pair that differs, with the pieces that make our score lower or higher than theirs."""
    why, evidence, cells = pair.ours.undefined or pair.ours.failed or "", [], pair.row.cells
    if pair.theirs is None:
        why = f"theirs is {cells[name]!r:.80}" if name in cells else "theirs is left out"
    elif pair.ours.value is not None:
        score = run.scores[pair.position][key]
        deciding = decisive(score, pair.ours.value > pair.theirs, run.estimates[key].better)
        evidence = pieces_words(deciding, run.scores[pair.position].sample)
    evidence += [f"theirs, {each}: {shortened(str(cells[each]), 300)}" for each in EVIDENCE if cells.get(each)]
    query = shortened(pair.sample.shown, 120)
    return ParityRow(pair.sample.id, query, pair.theirs, pair.ours.value, why, tuple(evidence))


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
            sample.
        against: The system, which determines what its columns mean: "ragas", "valor", "deepeval", "rag_evals" or
            "dataworkz".
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
    keys = {name: key for name, column in kept.items() if (key := _key_in(record, column))}
    if not keys:
        wanted = ", ".join(sorted({column.metric or column.ours for column in kept.values()}))
        raise UsageError(f"run {run.id} has no counterpart of what {sheet.name} holds; measure {wanted}")
    left = {name: f"{column.ours} was not measured" for name, column in kept.items() if name not in keys}
    about = (against, sheet.name, run.id, ", ".join(sorted({str(identity) for identity in record.judges.values()})))
    samples = [
        ScoredSample(s.id, s.query, s.response, s.query or s.source or s.response or "", s.group, scores)
        for s, scores in ((record.sample, record.scores) for record in run.records())
    ]
    matching, places = match_rows(sheet, samples)
    compared = []
    for name, key in keys.items():
        if record.estimates[key].over != "samples":
            left[name] = f"{key} has no value of each sample"
            continue
        pairs = []
        for row, at in places:
            line, sample = sheet.lines[row], samples[at]
            value = number_in(line.cells.get(name))
            theirs = None if value is None else kept[name].converted(value)
            pairs.append(_Pair(line, theirs, at, sample, sample.scores[key]))
        compared.append(_compared(run, name, kept[name], key, pairs, show))
    return Parity(*about, matching, tuple(compared), left | others(sheet, against, kept))
