"""What counts as an answer to a question."""

from __future__ import annotations

import pytest

from ragauge.judges.base import checked
from ragauge.questions import COHERENCE, CONCISENESS, Classify, Decompose, Entail, Question, Rate, Relevant
from ragauge.types import Answer, ChunkVerdict, Decomposition, Failure, Grade, Label, Statement, Verdict

E, N = ChunkVerdict(Label.ENTAILED), ChunkVerdict(Label.NEUTRAL)
ONE, TWO = Entail(("p",), "h"), Entail(("pa", "qb"), "h")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (Decompose("text"), Decomposition(())),
        (Decompose("text"), Decomposition((Statement("text", (0, 4)), Statement("rewritten")))),
        (ONE, Verdict(Label.ENTAILED)),
        (ONE, Verdict(Label.NOT_ENTAILED, 0.0, (N,))),
        (TWO, Verdict(Label.ENTAILED, 1.0, (E, N))),
        (TWO, Verdict(Label.ENTAILED, chunks=(ChunkVerdict(Label.ENTAILED, 0.5, (0, 2)), N))),
        (Relevant("q", "text"), Verdict(Label.NO, span=(1, 4))),
        (Classify("t", "toxic"), Verdict(Label.YES)),
        (Rate(COHERENCE, ()), Grade(5)),
        (Rate(CONCISENESS, ()), Grade(0.25)),
        (ONE, Failure("judge_error", "no route")),
    ],
)
def test_an_answer_that_fits_passes_as_it_is(question: Question, answer: Answer | Failure) -> None:
    """A fitting answer, or a failure, is not touched."""
    assert checked(question, answer) is answer


@pytest.mark.parametrize(
    ("question", "answer", "fault"),
    [
        (Decompose("t"), Verdict(Label.YES), "a verdict does not answer a question of kind"),
        (ONE, Grade(1), "a grade does not answer"),
        (Rate(COHERENCE, ()), Decomposition(()), "a decomposition does not answer"),
        (Decompose("text"), Decomposition((Statement("text", (0, 5)),)), "lies outside the text of 4 characters"),
        (Decompose("text"), Decomposition((Statement("text", (3, 2)),)), "lies outside"),
        (Decompose("text"), Decomposition((Statement("text", (-1, 2)),)), "lies outside"),
        (ONE, Verdict(Label.YES), "yes"),
        (TWO, Verdict(Label.ENTAILED, chunks=(E, ChunkVerdict(Label.NO))), "no"),
        (
            TWO,
            Verdict(Label.ENTAILED),
            "no labels for 2 chunks; give Verdict(label, chunks=...) one ChunkVerdict for each",
        ),
        (TWO, Verdict(Label.ENTAILED, chunks=(E,)), "1 labels for 2 chunks"),
        (ONE, Verdict(Label.ENTAILED, chunks=(E, N)), "2 labels for 1 chunks"),
        (ONE, Verdict(Label.ENTAILED, 1.5), "probability 1.5"),
        (ONE, Verdict(Label.ENTAILED, float("nan")), "probability nan"),
        (ONE, Verdict(Label.ENTAILED, chunks=(ChunkVerdict(Label.ENTAILED, -0.1),)), "probability -0.1"),
        (TWO, Verdict(Label.ENTAILED, chunks=(E, ChunkVerdict(Label.NEUTRAL, None, (0, 3)))), "lies outside"),
        (Relevant("q", "t"), Verdict(Label.ENTAILED), "entailed"),
        (Relevant("q", "t"), Verdict(Label.YES, span=(0, 2)), "lies outside"),
        (Classify("t", "toxic"), Verdict(Label.NEUTRAL), "neutral"),
        (Classify("t", "toxic"), Verdict(Label.NO, 2.0), "probability"),
        (Rate(COHERENCE, ()), Grade(0), "0 lies outside 1 to 5"),
        (Rate(COHERENCE, ()), Grade(float("nan")), "nan lies outside"),
        (Rate(COHERENCE, ()), Grade(3.5), "3.5 is not a whole number"),
        (Rate(CONCISENESS, ()), Grade(1.01), "1.01 lies outside 0 to 1"),
    ],
)
def test_an_answer_that_does_not_fit_is_a_failure(question: Question, answer: Answer, fault: str) -> None:
    """An answer that breaks a rule becomes a failure that names the rule and keeps what was answered."""
    got = checked(question, answer)
    assert isinstance(got, Failure)
    assert got.reason == "invalid_answer"
    assert fault in got.detail
    assert got.raw == repr(answer)
