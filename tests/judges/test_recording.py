"""The recording judge: exact replay."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.judges.base import Judge, RecordingJudge
from ragauge.questions import COHERENCE, Classify, Decompose, Entail, Judgment, Question, Rate, Relevant, judgment_key
from ragauge.types import Answer, ChunkVerdict, Decomposition, Failure, Grade, Identity, Label, Statement, Verdict

WHO = Identity("someone", (("revision", "1"),))


def judgment(question: Question, answer: Answer | Failure, by: Identity = WHO) -> Judgment:
    """A judgment as it would be recorded."""
    return Judgment(question, answer, by, judgment_key(question, by))


ENTAIL, YES, NO = Entail(("p",), "h", "q"), Verdict(Label.YES, 0.9, rationale="so"), Verdict(Label.NO)
RECORDED = [
    judgment(Decompose("t", "q"), Decomposition((Statement("t", (0, 1), opinion=True),))),
    judgment(ENTAIL, Verdict(Label.CONTRADICTED, 0.1, (ChunkVerdict(Label.CONTRADICTED, 0.1, (0, 1)),))),
    judgment(Relevant("q", "t", "g"), YES),
    judgment(Classify("t", "toxic"), NO),
    judgment(Rate(COHERENCE, (("source", "s"), ("response", "r"))), Grade(4, "good")),
]


def ask(judge: RecordingJudge, *questions: Question) -> list[Answer | Failure]:
    """What a recording answers."""
    return asyncio.run(judge.answer(questions))


def test_every_recorded_question_is_answered_as_it_was() -> None:
    """Answers come back as they were recorded, in any order and as often as they are asked for."""
    judge = RecordingJudge(RECORDED)
    assert isinstance(judge, Judge)
    backwards = [*reversed(RECORDED), RECORDED[0]]
    assert ask(judge, *(one.question for one in backwards)) == [one.answer for one in backwards]


@pytest.mark.parametrize(
    "question",
    [Decompose("t"), Entail(("p",), "h"), Entail(("p", ""), "h", "q"), Relevant("q", "t"), Classify("t", "biased")],
)
def test_a_question_that_differs_at_all_is_not_recorded(question: Question) -> None:
    """A question with another text, query or trait is a failure of its own kind."""
    (answer,) = ask(RecordingJudge(RECORDED), question)
    assert isinstance(answer, Failure)
    assert answer.reason == "not_recorded"


def test_the_last_answer_counts() -> None:
    """Where a question was recorded twice, the later answer is replayed."""
    question = Classify("t", "toxic")
    judge = RecordingJudge([judgment(question, NO), judgment(question, YES, Identity("other"))])
    assert ask(judge, question) == [YES]


def test_a_recording_answers_the_topics_it_holds() -> None:
    """Kinds are answered in general, traits and rubrics only where they were recorded."""
    assert RecordingJudge(RECORDED).answers == {"decompose", "entail", "relevant", "classify:toxic", "rate:coherence"}
    assert RecordingJudge([]).answers == set()


@pytest.mark.parametrize(
    "verdict",
    [Verdict(Label.NOT_ENTAILED), Verdict(Label.ENTAILED, chunks=(ChunkVerdict(Label.NOT_ENTAILED),))],
)
def test_a_two_way_recording_does_not_claim_contradiction(verdict: Verdict) -> None:
    """A recording of a judge who tells only support claims no more than support."""
    assert RecordingJudge([judgment(ENTAIL, verdict)]).answers == {"entail:support"}


def test_the_identity_is_what_was_recorded() -> None:
    """Two recordings are the same judge if and only if they replay the same answers of the same judges."""
    recorded = [*RECORDED, judgment(Decompose("other"), Decomposition(()), Identity("another"))]
    same = RecordingJudge(reversed(recorded)).identity
    assert RecordingJudge(recorded).identity == same
    assert RecordingJudge(RECORDED).identity != same
    edited = [judgment(Classify("t", "toxic"), YES) if one == RECORDED[3] else one for one in recorded]
    assert RecordingJudge(edited).identity != same
    assert dict(same.settings)["of"] == "another, someone"


@given(st.lists(st.tuples(st.text(max_size=3), st.booleans()), max_size=8), st.permutations(range(8)))
def test_replay_does_not_depend_on_the_order_of_other_questions(
    texts: list[tuple[str, bool]], order: list[int]
) -> None:
    """Whatever was recorded, and in whatever order, each question has the last answer that it was given."""
    recorded = [judgment(Classify(text, "toxic"), YES if yes else NO) for text, yes in texts]
    last = dict(texts)
    shuffled = [recorded[i] for i in order if i < len(recorded)]
    judge = RecordingJudge(recorded)
    answers = ask(judge, *(one.question for one in shuffled))
    assert answers == [YES if last[texts[i][0]] else NO for i in order if i < len(texts)]
