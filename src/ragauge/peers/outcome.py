"""What a comparison with a peer's scores comes to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from ragauge.peers.matching import Matching
from ragauge.report.writing import check_ending, replacing
from ragauge.statistics.intervals import Interval

SCHEMA = "ragauge.parity/1"

#: The endings of files that a comparison is written to.
WRITERS = (".md", ".json")


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """One row on which the two differ.

    theirs, ours: the numbers, on our scale, None where there is none; why: the reason there is none.
    evidence: what counts here for or against, and what their file says of it; a line each.
    """

    id: str
    query: str
    theirs: float | None
    ours: float | None
    why: str = ""
    evidence: tuple[str, ...] = ()


class Difference(msgspec.Struct, frozen=True):
    """The rows that differ for one cause, a key of `ragauge.peers.causes.CAUSES`: how many, and the worst of them."""

    cause: str
    count: int
    rows: tuple[Row, ...]


class Figures(msgspec.Struct, frozen=True):
    """What the n rows with a number on both sides come to.

    difference: the mean of ours - theirs with a 95 % interval; None where theirs are off their scale.
    rank: Spearman's correlation, None where either side is all equal; its 95 % interval for 10 to 10,000 rows.
    close: the rows on which the numbers lie within 0.05 of our scale.
    """

    n: int
    mean_theirs: float | None
    mean_ours: float | None
    difference: Interval | None
    rank: float | None
    rank_interval: tuple[float, float] | None
    close: int


class Compared(msgspec.Struct, frozen=True):
    """A column of theirs beside a value of ours.

    neither: rows without a number on either side. notes: what to know of it: another definition, another scale.
    """

    theirs: str
    ours: str
    figures: Figures
    neither: int
    notes: tuple[str, ...]
    differences: tuple[Difference, ...]


class Total(msgspec.Struct, frozen=True):
    """A number of theirs for the whole data set, on our scale, beside an estimate of ours with its 95 % interval."""

    theirs: str
    ours: str
    value: float
    estimate: float | None
    low: float | None
    high: float | None
    n: int
    notes: tuple[str, ...] = ()


class Parity(msgspec.Struct, frozen=True):
    """A peer's scores beside ours.

    peer, scores, run, judge: whose, from which file, beside which run of which judge.
    matching: which rows belong together; None where theirs are numbers of the whole data set.
    columns, totals: what was compared row by row, or as a whole. left: their other columns of numbers, and why.
    """

    peer: str
    scores: str
    run: str
    judge: str
    matching: Matching | None
    columns: tuple[Compared, ...]
    totals: tuple[Total, ...]
    left: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """The comparison as one document of schema "ragauge.parity/1"."""
        document: dict[str, Any] = {"schema": SCHEMA, **msgspec.to_builtins(self)}
        return document

    def save(self, path: str | Path) -> Path:
        """Write it to a file, as its ending says: .md to be read, or .json. Raises UsageError for others."""
        from ragauge.peers.report import parity_markdown

        path = Path(path)
        check_ending(path, WRITERS)
        json = path.suffix.lower() == ".json"
        text = msgspec.json.encode(self.to_dict()).decode() if json else parity_markdown(self)
        with replacing(path) as part:
            part.write_text(text, encoding="utf-8")
        return path

    def __str__(self) -> str:
        from ragauge.peers.report import parity_text

        return parity_text(self)
