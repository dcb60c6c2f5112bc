"""A measurement for people: tables in the terminal, and the same in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ragauge.measure.figures import LEVEL, Against, Measured
from ragauge.measure.measurement import Measurement
from ragauge.measure.published import Published, published
from ragauge.report.markdown import plain
from ragauge.report.wording import counted
from ragauge.statistics.intervals import Interval

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

#: A table: its columns, and its rows.
Sheet = tuple[tuple[str, ...], list[list[str]]]

_TEXTS = ("set", "of", "system", "figure", "")  # columns of words, which are set to the left


def measurement_view(found: Measurement) -> Iterator[RenderableType]:
    """The figures, the comparison with the other judge, published figures, and what they leave out."""
    for title, sheet in _sheets(found, speed=True):
        yield title
        yield _table(sheet)
    yield from _remarks(found)


def measurement_markdown(found: Measurement) -> str:
    """The same as Markdown, but for the speed, which is that of one machine."""
    lines: list[str] = []
    for title, (columns, rows) in _sheets(found, speed=False):
        lines += [plain(title), "", _row(columns), "|" + "---|" * len(columns), *map(_row, rows), ""]
    return "\n".join(lines + [f"{plain(line)}  " for line in _remarks(found)]).rstrip() + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(plain, cells))} |"


def _sheets(found: Measurement, speed: bool) -> Iterator[tuple[str, Sheet]]:
    rows = [one for one in found.sets if one.rows]
    agreed = [one for one in rows if one.balanced_accuracy is not None or one.auc is not None]
    if agreed:
        yield f"{found.judge} beside people's labels, with 95 % intervals:", _agreement(agreed, speed)
    compared = [(one.name, one.against) for one in rows if one.against is not None]
    if compared and found.beside is not None:
        yield f"{found.judge} against {found.beside} on the same rows:", _comparison(found, compared)
    known = published([one.name for one in rows])
    if known:
        yield "Published of larger models; how each figure differs is told below:", _published(known, rows)


def _agreement(rows: Iterable[Measured], speed: bool) -> Sheet:
    columns = ("set", "rows", "AUC", "balanced accuracy", "AUC of words", *(["rows/s"] if speed else ()))
    return columns, [
        [
            *(one.name, f"{one.rows:,}", _words(one.auc), _words(one.balanced_accuracy), _words(one.words)),
            *([_speed(one)] if speed else ()),
        ]
        for one in rows
    ]


def _speed(one: Measured) -> str:
    """Rows a second, to two digits; empty where the answers were not asked for just now."""
    if not one.seconds:
        return ""
    speed = one.rows / one.seconds
    return f"{speed:,.0f}" if speed >= 10 else f"{speed:.2g}"


def _comparison(found: Measurement, compared: Iterable[tuple[str, Against]]) -> Sheet:
    columns = ("set", str(found.judge), str(found.beside), "difference, 95 %", "p", f"{found.judge} is")
    return columns, [
        [name, f"{one.one:.3f}", f"{one.other:.3f}", _signed(one.difference), _p(one), one.verdict]
        for name, one in compared
    ]


def _published(known: Sequence[Published], rows: Sequence[Measured]) -> Sheet:
    own = {one.name: one for one in rows}
    sources = _sources(known)
    return ("of", "system", "figure", "published", "here", ""), [
        [
            *(one.benchmark, one.system, one.figure, f"{one.value:g}", _words(_like(one, own))),
            f"[{sources.index((one.source, one.differs)) + 1}]",
        ]
        for one in known
    ]


def _like(one: Published, own: Mapping[str, Measured]) -> Interval | None:
    """The figure of the same kind that was measured here; None where there is none, or it is of several sets."""
    if len(one.sets) > 1:
        return None
    found = own[one.sets[0]]
    return {"balanced accuracy": found.balanced_accuracy, "rank correlation": found.correlation}.get(one.figure)


def _sources(known: Iterable[Published]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((one.source, one.differs) for one in known))


def _remarks(found: Measurement) -> Iterator[str]:
    """The sources, what p is, figures of another kind, and sets without figures."""
    known = published([one.name for one in found.sets if one.rows])
    yield from (f"[{at}] {source}: {differs}." for at, (source, differs) in enumerate(_sources(known), start=1))
    tested = [one.against for one in found.sets if one.against is not None]
    if tested:
        yield f"p: two-sided, adjusted for {counted(len(tested), 'test')} (Holm); told apart where it is below {LEVEL}."
    for one in found.sets:
        yield from _set_remarks(one)


def _set_remarks(one: Measured) -> Iterator[str]:
    if one.correlation is not None:
        yield f"{one.name}: rank correlation (Spearman) with people's grades {_words(one.correlation)}"
    if one.f1 is not None:
        yield (
            f"{one.name}: F1 of the claims {_words(one.f1)}, of whole sentences {_words(one.sentences)}, the mean of "
            f"{counted(one.rows, 'text')}"
        )
    if one.against is not None and one.against.by == "balanced_accuracy":
        yield f"{one.name}: compared by balanced accuracy, as a judge tells no probabilities"
    if one.against is not None and one.against.by == "f1":
        yield f"{one.name}: compared by the F1 of the claims"
    if one.note:
        yield f"{one.name}: {one.note}"
    if one.failure:
        yield f"{one.name}: {counted(one.failed, 'row')} without an answer, the first because: {one.failure}"


def _table(sheet: Sheet) -> Table:
    from rich import box
    from rich.table import Table

    columns, rows = sheet
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        words = column in _TEXTS or column.endswith(" is")
        table.add_column(column, justify="left" if words else "right", no_wrap=column == "set")
    for row in rows:
        table.add_row(*row)
    return table


def _words(one: Interval | None) -> str:
    if one is None or one.value is None:
        return "–"
    return (
        f"{one.value:.2f}" if one.low is None or one.high is None else f"{one.value:.2f} {one.low:.2f}–{one.high:.2f}"
    )


def _signed(one: Interval) -> str:
    if one.value is None or one.low is None or one.high is None:
        return "–"
    return f"{one.value:+.3f} [{one.low:+.3f}, {one.high:+.3f}]"


def _p(one: Against) -> str:
    p = one.p if one.p_adjusted is None else one.p_adjusted
    return "<0.001" if p < 0.001 else f"{p:.3f}"
