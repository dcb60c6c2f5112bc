"""Whose responses are better: by a criterion that a judge is asked in both orders, and by stored claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragauge as rg
from ragauge.analysis.preference import PREFERRED
from ragauge.errors import BadParameter, UnanswerableNeed, UsageError
from ragauge.metrics.rubrics import preference
from ragauge.run.results import Run
from ragauge.store import Store, label
from ragauge.types import Grade

COMPLETE = "more complete"


class Grading:
    """A judge that grades by a function of both texts, and keeps what it was asked, call by call."""

    answers = frozenset({"rate"})

    def __init__(self, grade: Callable[[str, str], float], name: str = "grading") -> None:
        self.identity = rg.types.Identity(name)
        self.calls: list[list[rg.questions.Rate]] = []
        self._grade = grade

    async def answer(self, questions: Sequence[rg.questions.Question]) -> list[rg.types.Grade]:
        """The grades."""
        asked = [question for question in questions if isinstance(question, rg.questions.Rate)]
        self.calls.append(asked)
        texts = [dict(question.texts) for question in asked]
        return [Grade(self._grade(text["response"], text["other"]), "because") for text in texts]


def longer(response: str, other: str) -> float:
    """Prefers the longer text."""
    return float((len(response) > len(other)) - (len(response) < len(other)))


def run_of(responses: Sequence[str | None], store: Store | None = None, **fields: Any) -> Run:
    """A run with these responses; no judge is asked."""
    rows = [{"id": str(n), "query": f"query {n}", "response": text, **fields} for n, text in enumerate(responses)]
    return rg.evaluate(rows, "max_words(100)", store=store or Store.temporary())


def test_a_preference_is_asked_in_both_orders() -> None:
    """Each pair is asked twice, with the texts swapped and never in one call, and what both orders prefer wins."""
    a, b = run_of(["short"] * 10), run_of(["much longer"] * 9 + ["s"])
    judge = Grading(longer)
    comparison = rg.compare(a, b, prefer=COMPLETE, judge=judge)
    row = comparison.differences[PREFERRED]
    assert list(comparison.differences) == [PREFERRED]
    assert (row.wins, row.ties, row.losses, row.n, row.difference) == (9, 0, 1, 10, 0.8)
    assert (row.a, row.b, row.verdict) == (None, None, "better")
    assert row.p is not None
    assert row.p == pytest.approx(row.p_adjusted)
    assert row.p < 0.05
    assert row.detectable
    orders = {tuple(dict(question.texts).values())[1:] for call in judge.calls for question in call}
    assert orders == {("much longer", "short"), ("short", "much longer"), ("s", "short"), ("short", "s")}
    assert not any(len({tuple(sorted(dict(q.texts).values())) for q in call}) < len(call) for call in judge.calls)
    assert COMPLETE in judge.calls[0][0].rubric.wording
    about = comparison.preference
    assert about
    assert (about.by, about.judge, about.samples, about.flips) == (COMPLETE, "grading", 10, 0)
    assert comparison.to_dict()["preference"]["run"] == about.run
    assert "on 0 of 10 pairs" in str(comparison)
    assert "on 0 of 10 pairs" in comparison._repr_markdown_()


def test_a_flip_is_a_tie_and_counted() -> None:
    """A judge that prefers whatever comes first decides nothing; its flips are counted among what was asked."""
    runs = run_of(["a"] * 9 + ["c"]), run_of(["b"] * 9 + ["c"])
    comparison = rg.compare(*runs, prefer=COMPLETE, judge=Grading(lambda *_: 2.0))
    row = comparison.differences[PREFERRED]
    assert (row.wins, row.ties, row.losses, row.difference, row.verdict) == (0, 10, 0, 0.0, "")
    about = comparison.preference
    assert about
    assert (about.samples, about.asked, about.flips) == (10, 9, 9)
    assert "on 9 of 9 pairs that changed the answer" in str(about)
    assert "goes by the order more than by the criterion" in str(about)


def test_each_preference_is_asked_once() -> None:
    """A second comparison asks nothing, and equal responses are a tie that nobody is asked about."""
    a, b = run_of(["one two", "same  text"]), run_of(["one", "same text"])
    judge = Grading(longer)
    for _ in range(2):
        row = rg.compare(a, b, prefer=COMPLETE, judge=judge).differences[PREFERRED]
        assert (row.wins, row.ties, row.losses) == (0, 1, 1)
    assert sum(map(len, judge.calls)) == 2


def test_people_win_over_the_judge() -> None:
    """Where a person judged one order, it alone counts."""
    a, b = run_of(["one two"] * 3), run_of(["one"] * 3)
    judge = Grading(longer)
    first = rg.compare(a, b, prefer=COMPLETE, judge=judge)
    (asked, *_), *_ = judge.calls
    b.store.keep_labels([label(asked, Grade(2.0), "ann")])
    second = rg.compare(a, b, prefer=COMPLETE, judge=judge)
    assert first.differences[PREFERRED].losses == 3
    row = second.differences[PREFERRED]
    assert (row.wins, row.losses) == (1, 2)


def test_a_run_keeps_the_reasons() -> None:
    """The preferences are a run of their own in the store of B, with both orders and reasons as evidence."""
    a, b = run_of(["one two"]), run_of(["one"])
    about = rg.compare(a, b, prefer=COMPLETE, judge=Grading(longer)).preference
    assert about
    run = Run.open(b.store, about.run)
    score = run.scores[0]["preference"]
    assert score.value == -1
    assert [(piece.text, piece.value, piece.rationale) for piece in score.evidence] == [
        ("one", -1, "because"),
        ("one two", 1, "because"),
    ]


def test_what_cannot_be_preferred_is_missing() -> None:
    """A sample without a response is undefined, one that the judge fails at failed; the first reason is given."""

    def grade(response: str, other: str) -> float:
        return 7.0 if "bad" in response + other else longer(response, other)

    a, b = run_of(["x", "bad", None, "x"]), run_of(["x y", "x y", "x y", "x y"])
    comparison = rg.compare(a, b, prefer=COMPLETE, judge=Grading(grade))
    row = comparison.differences[PREFERRED]
    assert (row.n, row.wins, row.missing.undefined_a, row.missing.failed_a) == (2, 2, 1, 1)
    assert "7 lies outside -2 to 2" in str(comparison)


def test_other_metrics_are_compared_where_they_are_named() -> None:
    """With metrics the preference is one row among them, and p is adjusted for all."""
    a, b = run_of(["short"] * 9), run_of(["much longer"] * 9)
    comparison = rg.compare(a, b, "max_words", prefer=COMPLETE, judge=Grading(longer))
    assert list(comparison.differences) == [PREFERRED, "max_words"]
    assert comparison.worse([PREFERRED]) == []
    assert comparison.preference is not None
    assert rg.compare(a, b).preference is None


def test_what_cannot_be_asked_is_refused() -> None:
    """A judge that gives no grades, and a blank criterion, are refused before anything is asked."""
    a, b = run_of(["a"]), run_of(["b"])
    with pytest.raises(UnanswerableNeed, match="embedded does not answer rate"):
        rg.compare(a, b, prefer=COMPLETE)
    for blank in ("", "  "):
        with pytest.raises(BadParameter, match="prefer is empty"):
            rg.compare(a, b, prefer=blank, judge=Grading(longer))
    with pytest.raises(UsageError, match="no judged claims in common; measure answer_correctness"):
        rg.compare(a, b, prefer="claims")


TEXTS = ("Ann came. Bob left.", "Ann came.", "Bob stayed.", "")


def claims_run(responses: Sequence[str]) -> Run:
    """A run whose judge finds "stayed" contradicted and everything else that the reference says entailed."""

    def entail(premise: str, hypothesis: str) -> str:
        return "contradicted" if "stayed" in hypothesis else "entailed" if hypothesis in premise else "neutral"

    judge = rg.judge_from(
        decompose=lambda text: [f"{piece.strip()}." for piece in text.split(".") if piece.strip()],
        entail=entail,
        name="splitting",
    )
    rows = [
        {"id": str(n), "query": "Who came?", "response": text, "references": ["Ann came. Bob left. Cid sang."]}
        for n, text in enumerate(responses)
    ]
    return rg.evaluate(rows, "answer_correctness", judge=judge)


def test_claims_are_preferred_from_stored_judgments() -> None:
    """Correct claims gained less contradicted ones, as a share of the claims of both; nothing is asked."""
    a, b = claims_run([TEXTS[1], TEXTS[0], TEXTS[2], TEXTS[3], TEXTS[1]]), claims_run([TEXTS[0], *TEXTS[1:], TEXTS[3]])
    comparison = rg.compare(a, b, prefer="claims", judge="python:never:imported")
    row = comparison.differences[PREFERRED]
    # 2 of 3 claims against 1; 1 against 2; the same; nothing against nothing; nothing against 1 of 1
    assert row.difference == pytest.approx((1 / 3 - 1 / 3 + 0 + 0 - 1) / 5)
    assert (row.wins, row.ties, row.losses) == (1, 2, 2)
    assert comparison.preference
    assert comparison.preference.by == "claims against references"
    contradicting = rg.compare(claims_run([TEXTS[1]]), claims_run([TEXTS[2]]), prefer="claims")
    assert contradicting.differences[PREFERRED].difference == -1


def test_an_empty_response_claims_nothing() -> None:
    """By claims an empty response loses to a correct one, and is no missing preference."""
    row = rg.compare(claims_run(["Ann came."] * 3), claims_run(["Bob left.", "", ""]), prefer="claims").differences[
        PREFERRED
    ]
    assert (row.wins, row.ties, row.losses, row.n) == (0, 1, 2, 3)


@given(st.integers(-2, 2), st.integers(-2, 2))
def test_a_preference_is_antisymmetric(first: int, second: int) -> None:
    """Whatever a judge grades, swapping response and other negates the preference; it lies on the scale."""
    grades = {("r", "o"): float(first), ("o", "r"): float(second)}
    judge = Grading(lambda response, other: grades[response, other], f"graded {first} {second}")
    rows = [{"query": "q", "response": "r", "other": "o"}, {"query": "q", "response": "o", "other": "r"}]
    run = rg.evaluate(rows, preference(COMPLETE), judge=judge)
    one, other = run.values("preference")
    assert one is not None
    assert other is not None
    assert one == -other
    assert -2 <= one <= 2
    assert (one > 0) == (first > 0 > second)
