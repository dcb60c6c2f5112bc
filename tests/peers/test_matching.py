"""Rows of scores beside samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.analysis.parity_columns import RowName, read_sheet
from ragauge.analysis.parity_results import match_rows
from ragauge.errors import BadData

SAMPLES = [RowName(f"q{n}", f"Question {n}?", f"Answer {n}.") for n in range(4)]


def beside(rows: Sequence[dict[str, Any]], samples: Sequence[RowName] = SAMPLES) -> tuple[str, list[tuple[int, int]]]:
    """How the rows were matched, and the pairs."""
    matching, pairs = match_rows(read_sheet(list(rows), {}), samples)
    assert (matching.pairs, matching.rows, matching.samples) == (len(pairs), len(rows), len(samples))
    return matching.by, pairs


def row(n: int, **more: Any) -> dict[str, Any]:
    """A row with the texts of a sample."""
    return {"question": f"Question {n}?", "answer": f"Answer {n}.", **more}


def test_by_id() -> None:
    """Ids count, in any order, where one side has them all and the texts are the same."""
    rows = [{"id": "q2", "faithfulness": 1}, {"id": "q0", "faithfulness": 0}]
    assert beside([{**row(2), "id": "q2"}, {**row(0), "id": "q0"}]) == ("id", [(0, 2), (1, 0)])
    assert beside([*rows, {"id": "q1"}, {"id": "q3"}]) == ("id", [(0, 2), (1, 0), (2, 1), (3, 3)])


def test_ids_that_mean_something_else() -> None:
    """Ids that are numbers on both sides are not trusted where the texts under them differ."""
    numbered = [RowName(str(n), one.query, one.response) for n, one in enumerate(SAMPLES, start=1)]
    rows = [{**row(n), "id": n} for n in range(1, 4)]
    assert beside(rows, numbered) == ("query and response", [(0, 1), (1, 2), (2, 3)])


def test_numbers_from_nought_are_no_numbers_from_one() -> None:
    """Without texts, ids must be the very same on both sides; else only the order is left, and as many rows."""
    numbered = [RowName(str(n), None, None) for n in range(1, 5)]
    assert beside([{"id": n} for n in range(4)], numbered) == ("position", [(n, n) for n in range(4)])
    with pytest.raises(BadData, match="3 rows and 4 samples, without matching ids or texts"):
        beside([{"id": n} for n in range(3)], numbered)


def test_by_position() -> None:
    """Rows without ids and texts are taken in their order, if there are as many as samples."""
    assert beside([{"faithfulness": 1}] * 4) == ("position", [(n, n) for n in range(4)])


def test_texts_may_differ_in_space_and_case() -> None:
    """Line breaks and capitals of a spreadsheet do not part a row from its sample."""
    assert beside([{"question": " question\n3?", "answer": "ANSWER 3."}]) == ("query and response", [(0, 3)])


def test_texts_that_occur_twice_are_taken_in_order() -> None:
    """The second row of a text goes with the second sample of it; a third is left over, and named."""
    samples = [SAMPLES[0], SAMPLES[1], SAMPLES[0]]
    matching, pairs = match_rows(read_sheet([row(0), row(0), row(0)], {}), samples)
    assert pairs == [(0, 0), (1, 2)]
    assert (matching.rows, matching.alone) == (3, ("3",))


def test_scores_of_other_responses() -> None:
    """Scores of another system's responses match nothing, and the message shows the first of them."""
    with pytest.raises(
        BadData, match=r"no row has the query and response of a sample \(the first row: 'Question 0\?'\)"
    ):
        beside([{"question": "Question 0?", "answer": "Something else."}])


@given(st.permutations(range(4)), st.integers(1, 4))
def test_the_order_does_not_matter(order: list[int], count: int) -> None:
    """Whatever the order of the rows, and however many are missing, each finds the sample of its texts."""
    by, pairs = beside([row(n) for n in order[:count]])
    assert by in ("position", "query and response")
    assert [j for _, j in pairs] == order[:count]
