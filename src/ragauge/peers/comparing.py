"""`parity`: a peer's scores and a run of ours on the same rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ragauge.errors import UsageError
from ragauge.peers.beside import Beside
from ragauge.peers.choosing import Chosen, choose, key_in, notes, others
from ragauge.peers.columns import PEERS
from ragauge.peers.outcome import Parity, Total
from ragauge.peers.sheet import Sheet, number_in, read_sheet
from ragauge.run.results import Run
from ragauge.scores import RunRecord


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
    """Another system's scores beside those of a run, and why they differ; see docs/migrating/parity.md.

    scores: its file of scores, or rows in memory: whatever `ragauge.read` reads, a row per sample, or one row of
    numbers for the whole data set.
    against: whose they are, which tells what its columns mean: "ragas", "valor", "deepeval", "rag_evals", "trust_eval"
    or "dataworkz".
    columns: its column -> our value, such as {"my score": "faithfulness"}, before the names that are known; "NAME/100"
    for one in per cent, "1-NAME" for one that says the reverse. metrics: ours to which it is kept.
    map: field -> column of `scores`, for id, query and response. show: how many rows of each cause come with evidence.

    Nothing is judged. Rows are matched by id or position where the texts agree, else by query and response.
    Raises UnknownName for a peer or column there is not, BadData where scores cannot be read or match no sample,
    UsageError where the run holds nothing to compare them with.
    """
    sheet = read_sheet(scores, map or {})
    kept = choose(sheet, against, columns, metrics)
    keys = [(one, key) for one in kept if (key := key_in(run.record, one.column))]
    if not keys:
        wanted = ", ".join(sorted({one.column.metric or one.column.ours for one in kept}))
        raise UsageError(f"run {run.id} has no counterpart of what {sheet.name} holds; measure {wanted}")
    left = {one.theirs: f"{one.column.ours} was not measured" for one in kept if one not in {one for one, _ in keys}}
    judge = ", ".join(sorted({str(identity) for identity in run.record.judges.values()}))
    about = (against, sheet.name, run.id, judge)
    if len(sheet.lines) == 1 and run.record.samples != 1:
        totals = tuple(_total(run.record, sheet, *one) for one in keys)
        return Parity(*about, None, (), totals, left | others(sheet, against, kept))
    left |= {one.theirs: f"{key} has no value of each sample" for one, key in keys if not _by_row(run.record, key)}
    beside = Beside(run, sheet, PEERS[against].evidence, show)
    compared = tuple(beside.compared(*one) for one in keys if _by_row(run.record, one[1]))
    return Parity(*about, beside.matching, compared, (), left | others(sheet, against, kept))


def _by_row(run: RunRecord, key: str) -> bool:
    return run.estimates[key].over == "samples"


def _total(run: RunRecord, sheet: Sheet, one: Chosen, key: str) -> Total:
    estimate, theirs = run.estimates[key], number_in(sheet.lines[0].cells[one.theirs])
    assert theirs is not None  # a column without a number is not chosen
    ours = (estimate.value, estimate.low, estimate.high, estimate.n)
    return Total(one.theirs, key, one.column.converted(theirs), *ours, tuple(notes(run, one.column)))
