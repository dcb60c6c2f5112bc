from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import ragauge as rg
from ragauge.judges.base import RecordingJudge
from ragauge.judges.embedded.judge import EmbeddedJudge
from ragauge.questions import Judgment, Question, Relevant, judgment_key
from ragauge.run.sync import blocking
from ragauge.testing import PLAIN, check_judge
from ragauge.types import Answer, Failure, Grade, Identity, Label, Verdict


def _function() -> rg.judges.Judge:
    return rg.judge_from(
        decompose=lambda text: [piece.strip() for piece in text.split(".") if piece.strip()],
        entail=lambda premise, hypothesis: hypothesis in premise,
        relevant=lambda query, text: bool(set(query.split()) & set(text.split())),
        classify=lambda text, trait: trait in text,
        rate=lambda rubric, **texts: 1,
        name="function",
    )


def _recording() -> rg.judges.Judge:
    judge = EmbeddedJudge()
    answers = blocking(judge.answer, "answer")(PLAIN)
    pairs = [(question, answer) for question, answer in zip(PLAIN, answers, strict=True)]
    return RecordingJudge(
        Judgment(question, answer, judge.identity, judgment_key(question, judge.identity))
        for question, answer in pairs
        if not isinstance(answer, Failure)
    )


@pytest.mark.parametrize("make", [EmbeddedJudge, _function, _recording])
def test_our_judges_keep_the_contract(make: Callable[[], rg.judges.Judge]) -> None:
    """The embedded judge, a judge of functions and a recording pass the contract that anybody's judge can run."""
    check_judge(make)
    assert make().identity == make().identity


class Good:
    """A judge that finds everything relevant; the subclasses say what is wrong with it."""

    identity = Identity("good")
    answers = frozenset({"relevant"})

    async def answer(self, questions: Sequence[Question]) -> Sequence[Answer | Failure]:
        """Yes to everything."""
        unable = Failure("unanswerable")
        return [Verdict(Label.YES) if isinstance(question, Relevant) else unable for question in questions]


class Moody(Good):
    """Has another identity at each start."""

    def __init__(self) -> None:
        self.identity = Identity("moody", (("id", str(id(self))),))


class Boastful(Good):
    """Claims a kind that there is not."""

    answers = frozenset({"relevance"})


class Modest(Good):
    """Claims nothing."""

    answers = frozenset[str]()


class Answering(Good):
    """Answers what `reply` makes of the good answers."""

    def __init__(self, reply: Callable[[Sequence[Question], Sequence[Answer | Failure]], Any]) -> None:
        self._reply = reply

    async def answer(self, questions: Sequence[Question]) -> Any:
        """The good answers as `reply` makes them."""
        return self._reply(questions, await super().answer(questions))


class Learning(Good):
    """Becomes another by answering."""

    async def answer(self, questions: Sequence[Question]) -> Sequence[Answer | Failure]:
        """The good answers."""
        self.identity = Identity("learning", (("questions", str(len(questions))),))
        return await super().answer(questions)


def _picky(questions: Sequence[Question], answers: Sequence[Answer | Failure]) -> Sequence[Answer | Failure]:
    if not all(isinstance(question, Relevant) for question in questions):
        raise KeyError("entail")
    return answers


def _crowded(questions: Sequence[Question], answers: Sequence[Answer | Failure]) -> Sequence[Answer | Failure]:
    return answers if len(answers) > 1 else [Verdict(Label.NO)] * len(answers)


def _answering(reply: Callable[[Any, Any], Any]) -> Callable[[], rg.judges.Judge]:
    return lambda: Answering(reply)


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (Moody, "two judges of the same settings have different identities"),
        (Boastful, r"answers names \['relevance'\]; the kinds are decompose, entail,"),
        (Modest, "answers is empty"),
        (_answering(lambda asked, answers: [Failure("down")] * len(asked)), "no question was answered"),
        (_answering(lambda asked, answers: answers[:1]), "1 answers to 2 questions"),
        (_answering(lambda asked, answers: answers or [Failure("ask")]), "1 answers to 0 questions"),
        (_answering(_picky), r"answer\(\) raised KeyError\('entail'\); what cannot be answered is a Failure"),
        (_answering(lambda asked, answers: [Grade(1.0)] * len(asked)), "a grade does not answer"),
        (_answering(lambda asked, answers: ["yes"] * len(asked)), "'yes' is not an answer"),
        (_answering(_crowded), r"alone and .* in a batch"),
        (Learning, "the identity changed"),
    ],
)
def test_a_judge_that_breaks_the_contract_is_reported(make: Callable[[], rg.judges.Judge], fault: str) -> None:
    """Each way of breaking the contract is found, and named."""
    with pytest.raises(AssertionError, match=fault):
        check_judge(make)


def test_a_good_judge_passes() -> None:
    """A judge of one kind, with a Failure for all others, passes; also under a running event loop."""

    async def notebook() -> None:
        check_judge(Good)

    check_judge(Good)
    asyncio.run(notebook())
