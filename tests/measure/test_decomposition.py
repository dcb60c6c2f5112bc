"""Scoring a decomposition against a person's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.analysis.measure import claims_f1

STATEMENTS = st.lists(st.lists(st.sampled_from("ann bob won lost it".split()), max_size=5).map(" ".join), max_size=5)


@pytest.mark.parametrize(
    ("found", "expected", "pairs"),
    [
        (["Ann won."], ["ann won"], 1),
        (["Ann won."], ["Ann lost."], 0),
        (["a b c d e f g"], ["a b c d e f g x y z p q r"], 1),  # 14 / 20
        (["a b c d e f g"], ["a b c d e f g x y z p q r s"], 0),  # 14 / 21
        (["a a a b"], ["a b b b"], 0),  # a word counts as often as it occurs
        (["Ann won it."], ["Ann won it.", "Ann won it."], 1),
        (["Ann won it.", "Ann won it."], ["Ann won it."], 1),
        (["a b c x", "a b c"], ["a b c", "a b x c y"], 2),  # the first must leave its equal to the second
        (["!", ""], ["!", ""], 0),
    ],
)
def test_each_statement_is_matched_once(found: list[str], expected: list[str], pairs: int) -> None:
    """Matched statements share at least 0.7 of their words, and as many as possible are matched."""
    assert claims_f1(found, expected) == pytest.approx(2 * pairs / (len(found) + len(expected)))


def test_f1_of_the_matches() -> None:
    """F1 is twice the pairs over all statements, and 0 where there are none."""
    assert claims_f1(["a", "b", "c"], ["b", "c", "d", "e"]) == 4 / 7
    assert (claims_f1(["a", "b"], []), claims_f1([], [])) == (0, 0)


@given(found=STATEMENTS, expected=STATEMENTS)
def test_matching_is_symmetric(found: list[str], expected: list[str]) -> None:
    """Matching is the same from both sides, in any order, and a decomposition matches itself."""
    assert claims_f1(found, expected) == claims_f1(expected[::-1], found[::-1])
    worded = [statement for statement in found if statement]
    assert claims_f1(worded, worded) == (1 if worded else 0)
