"""What a report says about the groups of samples."""

from __future__ import annotations

import pytest

import ragauge as rg
from ragauge.report.wording import footnotes


@pytest.mark.parametrize(("groups", "warns"), [(0, False), (2, True), (6, False)])
def test_groups_behind_intervals_are_stated(groups: int, warns: bool) -> None:
    """A note gives the number of groups and their column, with a warning below five; without groups there is none."""
    rows = [{"response": "a", "references": ["a"], "thread_id": str(n % groups) if groups else None} for n in range(12)]
    record = rg.evaluate(rows, metrics="exact_match", store=None).record
    notes = [note for note in footnotes(record) if note.startswith("Intervals are over")]
    assert record.groups == groups
    assert len(notes) == bool(groups)
    assert all(f"over {groups} groups (column 'thread_id')" in note for note in notes)
    assert any("little" in note for note in notes) == warns


def test_a_sample_without_a_group_is_one() -> None:
    """Where only some samples have a group, each of the others counts as a group of its own."""
    rows = [{"response": "a", "references": ["a"], "thread_id": "x" if n < 4 else None} for n in range(12)]
    assert rg.evaluate(rows, metrics="exact_match", store=None).record.groups == 9
