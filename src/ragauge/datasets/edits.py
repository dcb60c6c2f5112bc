"""Rows of a test set that people change in `ragauge view`, and the set with their changes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from ragauge.datasets.question_set import TEST_SET, sealed, set_of
from ragauge.datasets.samples import SampleSet, add_metadata
from ragauge.errors import BadData, UsageError
from ragauge.readers import read
from ragauge.store import RowEdit, Store
from ragauge.types import Sample


def row_edit(sample: Sample, query: str, references: Sequence[str], claims: Sequence[str], by: str) -> RowEdit:
    """A person's change of a row. claims: its gold claims; one that is as before keeps its wordings and its weight.

    Raises UsageError where the row is of no test set, or has no question any more.
    """
    if not (test_set := set_of(sample)):
        raise UsageError(f"sample {sample.id!r} is not of a test set; edit its file")
    if not query.strip():
        raise UsageError("the question is empty; write one, or remove the row from the file")
    wordings = sample.answers or ()
    weights = sample.answer_weights or (1.0,) * len(wordings)
    before = {claim[0]: (claim, weight) for claim, weight in zip(wordings, weights, strict=True) if claim}
    after = [before.get(claim, ((claim,), 1.0)) for claim in claims]
    return RowEdit(
        test_set,
        sample.id,
        by,
        query,
        tuple(references) or None,
        tuple(claim for claim, _ in after) or None,
        tuple(weight for _, weight in after) if sample.answer_weights and after else None,
    )


def edited(data: Any, store: str | Path | Store) -> SampleSet:
    """A test set with the changes that people made in `ragauge view`, under an identity of its own.

    Args:
        data: the set, in any form that `read` takes.
        store: where the changes are.

    Returns:
        The set; its `bad_rows` name the changed rows that it lacks.

    Raises:
        BadData: no row was changed.
    """
    samples = list(read(data))
    opened = store if isinstance(store, Store) else Store.open(store, to_read=True)
    sets = dict.fromkeys(filter(None, map(set_of, samples)))
    edits = {(edit.test_set, edit.row): edit for test_set in sets for edit in opened.row_edits(test_set)}
    rows = [(sample, edits.pop((set_of(sample), sample.id), None)) for sample in samples]
    lost = tuple(f"row {edit.row!r}, which {edit.by} edited, is not in the set" for edit in edits.values())
    if not any(edit for _, edit in rows):
        nobody = f"nobody has edited a row of {', '.join(sets) or 'a test set'} in this store; see `ragauge view`"
        raise BadData(lost[0] if lost else nobody)
    changed = [_changed(sample, edit) if edit else sample for sample, edit in rows]
    origin = next(sample.metadata[TEST_SET] for sample in samples if set_of(sample))
    return SampleSet(samples=sealed(changed, {**origin, "edited_from": origin["id"]}), bad_rows=lost)


def latest_edit(store: Store, sample: Sample) -> RowEdit | None:
    """The change that counts of a row; None where there is none."""
    edits = store.row_edits(test_set) if (test_set := set_of(sample)) else []
    return next((edit for edit in reversed(edits) if edit.row == sample.id), None)


def _changed(sample: Sample, edit: RowEdit) -> Sample:
    fields = {name: getattr(edit, name) for name in ("query", "references", "answers", "answer_weights")}
    return add_metadata(msgspec.structs.replace(sample, **fields), edited_by=edit.by)
