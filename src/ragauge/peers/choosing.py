"""Which columns of a peer's scores are compared, with which of our values, and what has to be measured for that."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from ragauge.errors import UnknownName, UsageError
from ragauge.metrics.registry import FAMILIES, select_metrics
from ragauge.peers.columns import PEERS, Column
from ragauge.peers.sheet import Sheet, number_in
from ragauge.readers.columns import ALIASES, folded, rank
from ragauge.scores import RunRecord

#: How the caller writes that a column is in per cent, or that it says the reverse: "LLM F1/100", "1-error".
_WRITTEN = re.compile(r"(?P<flipped>1-)?(?P<name>.+?)(/(?P<per>\d+(\.\d+)?))?")


class Chosen(NamedTuple):
    """A column of theirs, by its name in the sheet, and how it relates to ours."""

    theirs: str
    column: Column


def choose(
    sheet: Sheet, against: str, named: Mapping[str, str] | None = None, only: Collection[str] = ()
) -> list[Chosen]:
    """The columns of `sheet` that have a counterpart here.

    against: whose they are, a key of PEERS. named: their column -> our value, before the known names; "NAME/100"
    divides theirs, "1-NAME" takes it from 1. only: our metrics or values to which it is kept; empty: all.

    Raises UnknownName for a peer or column there is not, UsageError where nothing can be compared.
    """
    if against not in PEERS:
        raise UnknownName("peer", against, PEERS)
    found = {one.theirs: one for theirs, ours in (named or {}).items() for one in [_asked(sheet, theirs, ours)]}
    for name in sheet.columns:
        known = PEERS[against].columns.get(folded(name))
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


def _asked(sheet: Sheet, theirs: str, ours: str) -> Chosen:
    """A column as the caller relates it to ours."""
    if theirs in sheet.columns:
        return Chosen(theirs, Column(ours))
    match = _WRITTEN.fullmatch(theirs)
    if match is None or match["name"] not in sheet.columns:
        raise UnknownName("column", match["name"] if match else theirs, sheet.columns)
    return Chosen(match["name"], Column(ours, per=float(match["per"] or 1), flipped=bool(match["flipped"])))


def others(sheet: Sheet, against: str, kept: Sequence[Chosen]) -> dict[str, str]:
    """The other columns of numbers, with the reason why they are not compared."""
    known = PEERS[against].columns
    names = {one.theirs for one in kept}
    rest = [name for name in sheet.columns if name not in names and _holds_numbers(sheet, name)]
    return {name: "not asked for" if folded(name) in known else "no metric of ours is known for it" for name in rest}


def _holds_numbers(sheet: Sheet, name: str) -> bool:
    """Whether a column is one of scores: of no known meaning, with numbers in most of its filled cells."""
    if any(rank(field, name) is not None for field in ALIASES):
        return False
    filled = [cell for line in sheet.lines if (cell := line.cells.get(name)) not in (None, "")]
    return sum(number_in(cell) is not None for cell in filled) * 2 > len(filled)


def measuring(kept: Sequence[Chosen]) -> list[str]:
    """What to measure so that each of the columns has its counterpart, in the form that is nearest to theirs."""
    specs = list(dict.fromkeys(one.column.metric or metric_of(one.column.ours) for one in kept))
    families = [spec for spec in specs if spec.partition("(")[0] in FAMILIES]
    come_along = {value for metric in (select_metrics(families) if families else ()) for value in metric.values}
    return [spec for spec in specs if spec not in come_along]


def metric_of(value: str) -> str:
    """The metric, with its parameters, that a key of a value is of: `rouge` of `rouge.rouge1`."""
    return re.sub(r"\.\w+$", "", value)


def key_in(run: RunRecord, column: Column) -> str | None:
    """The key under which the run has the counterpart of a column: in their form if there are several."""
    name, part = metric_of(column.ours), column.ours[len(metric_of(column.ours)) :]
    in_their_form = column.metric + part if column.metric.partition("(")[0] == name else column.ours
    return next((key for key in (in_their_form, column.ours) if key in run.estimates), None)


def notes(run: RunRecord, column: Column) -> list[str]:
    """What is known of a column beforehand: another definition, other edges, another form of the metric in this run."""
    known = [f"another definition: {column.differs}"] if column.differs else []
    return [*known, *([f"theirs is {column.nothing}"] if column.nothing else []), *_form_note(run, column)]


def _form_note(run: RunRecord, column: Column) -> list[str]:
    name = metric_of(column.ours)
    if column.metric.partition("(")[0] != name or column.metric in run.metrics:
        return []
    measured = next((spec for spec in run.metrics if spec.partition("(")[0] == name), name)
    return [f"measured here as {measured}; {column.metric} is nearer to theirs"]
