"""The embedded judge by the rules that decide cases, over the table that the tests of the prompts share."""

from __future__ import annotations

import json
from typing import Any

import pytest
from benchmarks import prompts

MISSED: dict[str, Any] = json.loads(prompts.MISSED.read_text(encoding="utf-8"))
RULES = sorted({f"{type(case.question).__name__} {case.rule}" for case in prompts.cases()})


@pytest.fixture(scope="module")
def missed() -> dict[str, list[str]]:
    """The cases that the judge gets wrong now."""
    return prompts.missed()


@pytest.mark.parametrize("rule", RULES)
def test_the_judge_gets_right_what_it_did_and_wrong_what_is_listed(rule: str, missed: dict[str, list[str]]) -> None:
    """Of each rule's cases those in missed.json fail, and no others; `benchmarks/prompts.py missed` writes it anew."""
    assert missed.get(rule, []) == MISSED.get(rule, {"cases": []})["cases"]


def test_every_expected_failure_has_a_reason() -> None:
    """Each rule with expected failures is one of the table, and says why the judge fails."""
    assert set(MISSED) <= set(RULES)
    assert [rule for rule, found in MISSED.items() if not found["why"]] == []
