"""Matching rows of scores with samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.analysis.parity import RowName, match_rows, read_sheet
from ragauge.errors import BadData

SAMPLES = [RowName(f"q{n}", f"Question {n}?", f"Answer {n}.") for n in range(4)]


def matched(rows: Sequence[dict[str, Any]], samples: Sequence[RowName] = SAMPLES) -> tuple[str, list[tuple[int, int]]]:
    """How the rows were matched, and the pairs."""
    matching, pairs = match_rows(read_sheet(list(rows), {}), samples)
    assert (matching.pairs, matching.rows, matching.samples) == (len(pairs), len(rows), len(samples))
    return matching.by, pairs


def row(n: int, **more: Any) -> dict[str, Any]:
    """A row with the texts of a sample."""
    return {"question": f"Question {n}?", "answer": f"Answer {n}.", **more}


def test_by_id() -> None:
    """Ids are used, in any order, if one side has them all and the texts agree."""
    rows = [{"id": "q2", "faithfulness": 1}, {"id": "q0", "faithfulness": 0}]
    assert matched([{**row(2), "id": "q2"}, {**row(0), "id": "q0"}]) == ("id", [(0, 2), (1, 0)])
    assert matched([*rows, {"id": "q1"}, {"id": "q3"}]) == ("id", [(0, 2), (1, 0), (2, 1), (3, 3)])


def test_ids_with_different_texts() -> None:
    """Numeric ids on both sides are not used if their texts differ."""
    numbered = [RowName(str(n), one.query, one.response) for n, one in enumerate(SAMPLES, start=1)]
    rows = [{**row(n), "id": n} for n in range(1, 4)]
    assert matched(rows, numbered) == ("query and response", [(0, 1), (1, 2), (2, 3)])


def test_ids_from_0_and_from_1() -> None:
    """Without texts, ids must be equal on both sides; otherwise only the order remains, for equal numbers of rows."""
    numbered = [RowName(str(n), None, None) for n in range(1, 5)]
    assert matched([{"id": n} for n in range(4)], numbered) == ("position", [(n, n) for n in range(4)])
    with pytest.raises(BadData, match="3 rows and 4 samples, without matching ids or texts"):
        matched([{"id": n} for n in range(3)], numbered)


def test_by_position() -> None:
    """Rows without ids and texts are matched in order if there are as many as samples."""
    assert matched([{"faithfulness": 1}] * 4) == ("position", [(n, n) for n in range(4)])


def test_texts_may_differ_in_space_and_case() -> None:
    """Line breaks and capitals do not prevent a match."""
    assert matched([{"question": " question\n3?", "answer": "ANSWER 3."}]) == ("query and response", [(0, 3)])


def test_repeated_texts_are_matched_in_order() -> None:
    """The second row of a text matches its second sample; a third is left over, and named."""
    samples = [SAMPLES[0], SAMPLES[1], SAMPLES[0]]
    matching, pairs = match_rows(read_sheet([row(0), row(0), row(0)], {}), samples)
    assert pairs == [(0, 0), (1, 2)]
    assert (matching.rows, matching.alone) == (3, ("3",))


def test_scores_of_other_responses() -> None:
    """Scores of another system's responses match nothing, and the message shows the first of them."""
    with pytest.raises(
        BadData, match=r"no row has the query and response of a sample \(the first row: 'Question 0\?'\)"
    ):
        matched([{"question": "Question 0?", "answer": "Something else."}])


@given(st.permutations(range(4)), st.integers(1, 4))
def test_the_order_does_not_matter(order: list[int], count: int) -> None:
    """In any order, and with rows missing, each row matches the sample with its texts."""
    by, pairs = matched([row(n) for n in order[:count]])
    assert by in ("position", "query and response")
    assert [j for _, j in pairs] == order[:count]
