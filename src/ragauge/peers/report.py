"""A comparison as Markdown: the figures, and the rows that differ by cause with the evidence of the worst."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ragauge.peers.causes import CAUSES
from ragauge.peers.matching import Matching
from ragauge.peers.outcome import Compared, Difference, Parity, Row, Total
from ragauge.report.markdown import plain
from ragauge.report.wording import counted, number, one_line

#: What makes a line a heading, an item or a row.
_MARK = re.compile(r"(?:#+ | *- |\|)?")


def parity_text(parity: Parity) -> str:
    """The whole comparison, to be read as it stands."""
    return "".join(f"{one_line(line)}\n" for line in _lines(parity))


def parity_markdown(parity: Parity) -> str:
    """The same as Markdown; what it quotes is shown as it stands."""
    return "".join(f"{_marked(line)}\n" for line in _lines(parity))


def _marked(line: str) -> str:
    mark = _MARK.match(line)
    assert mark is not None
    return mark[0] + plain(line[mark.end() :])


def _lines(parity: Parity) -> Iterator[str]:
    yield f"# ragauge beside {parity.peer}"
    yield ""
    yield f"Theirs: {parity.scores}. Ours: run {parity.run}, judge {parity.judge}."
    if parity.matching:
        yield _matching_words(parity.matching)
    yield ""
    yield from _totals(parity.totals) if parity.totals else _figures(parity.columns)
    yield from _left(parity.left)
    for compared in parity.columns:
        yield from _compared(compared)


def _matching_words(matching: Matching) -> str:
    rows, samples = counted(matching.rows, "row"), counted(matching.samples, "sample")
    said = f"{matching.pairs} of {rows} matched with {samples} by {matching.by}."
    more = matching.rows - matching.pairs - len(matching.alone)
    alone = ", ".join(matching.alone) + (f" and {more} more" if more else "")
    return f"{said} Without a sample: {alone}." if alone else said


def _table(head: str, rows: Iterable[Iterable[str]]) -> Iterator[str]:
    yield f"| {head} |"
    yield "|" + "---|" * (head.count("|") + 1)
    yield from (f"| {' | '.join(cell.replace('|', '∣') for cell in cells)} |" for cells in rows)


def _with_interval(value: float | None, low: float | None, high: float | None) -> str:
    shown = [number(None if one is None else round(one, 3) + 0.0) for one in (value, low, high)]  # no "-0.000"
    return shown[0] if low is None else f"{shown[0]} [{shown[1]}, {shown[2]}]"


def _figures(columns: Iterable[Compared]) -> Iterator[str]:
    head = "theirs | ours | n | mean theirs | mean ours | ours − theirs, 95 % | rank correlation, 95 % | within 0.05"
    yield from _table(head, map(_figure_cells, columns))


def _figure_cells(one: Compared) -> list[str]:
    f = one.figures
    low, high = f.rank_interval or (None, None)
    return [
        *(one.theirs, one.ours, str(f.n), number(f.mean_theirs), number(f.mean_ours)),
        _with_interval(f.difference.value, f.difference.low, f.difference.high) if f.difference else "–",
        _with_interval(f.rank, low, high),
        f"{f.close / f.n:.0%}" if f.n else "–",
    ]


def _totals(totals: Iterable[Total]) -> Iterator[str]:
    yield "Theirs are numbers of the whole data set."
    yield ""
    head = "theirs | ours | n | value theirs | value ours, 95 % | theirs in our interval"
    yield from _table(head, map(_total_cells, totals))
    for one in totals:
        if one.notes:
            yield from ("", f"{one.theirs}: {'; '.join(one.notes)}.")


def _total_cells(one: Total) -> list[str]:
    ours = _with_interval(one.estimate, one.low, one.high)
    return [one.theirs, one.ours, str(one.n), number(one.value), ours, _within(one)]


def _within(one: Total) -> str:
    if one.low is None or one.high is None:
        return "–"
    return "yes" if one.low <= one.value <= one.high else "no"


def _left(left: dict[str, str]) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for name, reason in left.items():
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        yield from ("", f"Not compared: {', '.join(names)}: {reason}.")


def _compared(one: Compared) -> Iterator[str]:
    yield from ("", f"## {one.theirs} beside {one.ours}", "")
    yield from (f"- {note}" for note in one.notes)
    if one.notes:
        yield ""
    differ = sum(difference.count for difference in one.differences)
    neither = f"; {counted(one.neither, 'row')} without a number on either side" if one.neither else ""
    yield f"{counted(one.figures.close, 'row')} within 0.05, {differ} differ{neither}."
    for difference in one.differences:
        yield from _difference(difference)


def _difference(difference: Difference) -> Iterator[str]:
    more = f", the worst {len(difference.rows)}" if len(difference.rows) < difference.count else ""
    head = f"### {CAUSES[difference.cause]}: {counted(difference.count, 'row')}{more if difference.rows else ''}"
    yield from ("", head, "")
    for row in difference.rows:
        yield f"- {_row_words(row)}"
        yield from (f"  - {line}" for line in row.evidence)


def _row_words(row: Row) -> str:
    why = f" ({row.why})" if row.why else ""
    return f"{row.id}: theirs {number(row.theirs)}, ours {number(row.ours)}{why}. {row.query}".rstrip()
