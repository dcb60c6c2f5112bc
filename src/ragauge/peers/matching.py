"""Which row of a peer's scores is of which sample of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from itertools import islice

import msgspec

from ragauge.errors import BadData
from ragauge.peers.sheet import Named, Sheet
from ragauge.report.wording import shortened

#: How many rows without a sample are named.
SHOWN = 5

Key = Callable[[Named], Hashable]


class Matching(msgspec.Struct, frozen=True):
    """Rows of scores beside samples.

    by: how they were found: "position", "id", or "query and response" (or one of the two).
    pairs: how many there are. rows, samples: how many on either side. alone: ids of the first rows without a sample.
    """

    by: str
    pairs: int
    rows: int
    samples: int
    alone: tuple[str, ...] = ()


def matched(sheet: Sheet, samples: Sequence[Named]) -> tuple[Matching, list[tuple[int, int]]]:
    """The rows of `sheet` beside `samples`, as pairs of positions: by id if that can be, else by texts, else in order.

    Ids (without a column of ids: the numbers of the rows) count where those of one side are all among those of the
    other, and the texts of matched rows are the same; without texts to tell, both sides must have the very same ids.
    Texts that occur several times are taken in their order. Positions count only where there are no texts to tell, and
    as many rows as samples.

    Raises BadData where nothing matches.
    """
    lines = sheet.lines
    fields = [field for field in ("query", "response") if _has(field, lines) and _has(field, samples)]
    by_id = _pairs(lines, samples, lambda one: one.id)
    if _whole(by_id, lines, samples, bool(fields)) and all(_agree(lines[i], samples[j], fields) for i, j in by_id):
        return _matching("position" if sheet.numbered else "id", by_id, lines, samples), by_id
    by_text = _pairs(lines, samples, lambda one: tuple(_folded(getattr(one, field)) for field in fields))
    if fields and by_text:
        return _matching(" and ".join(fields), by_text, lines, samples), by_text
    if fields or len(lines) != len(samples):
        raise BadData(_unmatched(sheet, samples, fields))
    in_order = [(i, i) for i in range(len(lines))]
    return _matching("position", in_order, lines, samples), in_order


def _matching(by: str, pairs: Sequence[tuple[int, int]], lines: Sequence[Named], samples: Sequence[Named]) -> Matching:
    found = {i for i, _ in pairs}
    alone = (line.id for i, line in enumerate(lines) if i not in found)
    return Matching(by, len(pairs), len(lines), len(samples), tuple(islice(alone, SHOWN)))


def _has(field: str, rows: Sequence[Named]) -> bool:
    return any(getattr(row, field) is not None for row in rows)


def _pairs(lines: Sequence[Named], samples: Sequence[Named], key: Key) -> list[tuple[int, int]]:
    """Positions of rows and samples with equal keys; the second row of a key goes with its second sample."""
    places = {place: j for j, place in enumerate(_counted(samples, key))}
    return [(i, places[place]) for i, place in enumerate(_counted(lines, key)) if place in places]


def _counted(rows: Sequence[Named], key: Key) -> list[tuple[Hashable, int]]:
    """Each row's key, with how often it occurred before."""
    seen: Counter[Hashable] = Counter()
    places = []
    for row in rows:
        places.append((key(row), seen[key(row)]))
        seen[key(row)] += 1
    return places


def _whole(pairs: Sequence[object], lines: Sequence[Named], samples: Sequence[Named], told: bool) -> bool:
    """Whether the ids of one side are all found on the other; of both, where no texts tell whether that is right."""
    return bool(pairs) and len(pairs) == (min if told else max)(len(lines), len(samples))


def _agree(line: Named, sample: Named, fields: Sequence[str]) -> bool:
    texts = ((getattr(line, field), getattr(sample, field)) for field in fields)
    return all(_folded(theirs) == _folded(ours) for theirs, ours in texts)


def _folded(text: str | None) -> str:
    return " ".join((text or "").split()).casefold()


def _unmatched(sheet: Sheet, samples: Sequence[Named], fields: Sequence[str]) -> str:
    shown = shortened(sheet.lines[0].query or sheet.lines[0].response or "", 80)
    why = f"no row has the {' and '.join(fields)} of a sample (the first row: {shown!r})"
    if not fields:
        why = f"{len(sheet.lines)} rows beside {len(samples)} samples, with neither ids nor texts that match"
    return f"{sheet.name}: {why}; give the rows that were measured, with their ids or their query and response"
