"""Matching rows of scores with samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragauge as rg
from ragauge.analysis.parity import match_rows, read_sheet
from ragauge.errors import BadData
from ragauge.scores import SampleRecord


def record(n: int, texts: bool = True) -> SampleRecord:
    """A sample with texts, or with an id alone."""
    sample = rg.Sample(id=f"q{n}", query=f"Question {n}?", response=f"Answer {n}.") if texts else rg.Sample(id=f"q{n}")
    return SampleRecord(sample, {})


SAMPLES = [record(n) for n in range(4)]


def matched(rows: Sequence[dict[str, Any]], samples: Sequence[SampleRecord] = SAMPLES) -> list[int | None]:
    """The row of each sample."""
    return match_rows(read_sheet(list(rows), {}), samples)[0]


def row(n: int, **more: Any) -> dict[str, Any]:
    """A row with the texts of a sample."""
    return {"question": f"Question {n}?", "answer": f"Answer {n}.", **more}


def test_by_id() -> None:
    """Rows without texts are matched by id, in any order."""
    assert matched([{"id": "q2", "faithfulness": 1}, {"id": "q0", "faithfulness": 0}]) == [1, None, 0, None]


def test_ids_with_different_texts() -> None:
    """Where both sides have texts, ids do not matter."""
    assert matched([row(n, id=n) for n in range(1, 4)]) == [None, 0, 1, 2]


def test_ids_of_other_samples() -> None:
    """Without texts, ids of nobody are an error."""
    with pytest.raises(BadData, match=r"no row has the id of a sample \(the first row: '0'\)"):
        matched([{"id": n} for n in range(3)], [record(n, texts=False) for n in range(4)])


def test_by_position() -> None:
    """Rows without ids and texts are matched in order if there are as many as samples."""
    assert matched([{"faithfulness": 1}] * 4) == [0, 1, 2, 3]
    with pytest.raises(BadData, match="give the rows that were measured"):
        matched([{"faithfulness": 1}] * 3)


def test_texts_may_differ_in_space_and_case() -> None:
    """Line breaks and capitals do not prevent a match."""
    assert matched([{"question": " question\n3?", "answer": "ANSWER 3."}]) == [None, None, None, 0]


def test_repeated_texts_are_matched_in_order() -> None:
    """The second row of a text matches its second sample; a third is left over."""
    assert matched([row(0), row(0), row(0)], [SAMPLES[0], SAMPLES[1], SAMPLES[0]]) == [0, None, 1]


def test_scores_of_other_responses() -> None:
    """Scores of another system's responses match nothing, and the message shows the first of them."""
    with pytest.raises(
        BadData, match=r"no row has the query and response of a sample \(the first row: 'Question 0\?'\)"
    ):
        matched([{"question": "Question 0?", "answer": "Something else."}])


@given(st.permutations(range(4)), st.integers(1, 4))
def test_the_order_does_not_matter(order: list[int], count: int) -> None:
    """In any order, and with rows missing, each row matches the sample with its texts."""
    rows = matched([row(n) for n in order[:count]])
    assert rows == [order.index(n) if n in order[:count] else None for n in range(4)]
