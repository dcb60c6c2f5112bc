"""The bench: who answers which question."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from ragauge.errors import BadParameter, UnknownName
from ragauge.judges.base import Judge, JudgeBase, JudgeRouter, NullContext, adapted
from ragauge.questions import COHERENCE, CONCISENESS, KINDS, Classify, Decompose, Entail, Question, Rate, Relevant
from ragauge.types import Answer, Failure, Identity


class Named(JudgeBase):
    """A judge known by its name, which gives the prescribed answers."""

    answers: frozenset[str] = frozenset()

    def __init__(self, name: str, *answers: str) -> None:
        self.identity = Identity(name)
        self.answers = frozenset(answers or KINDS)

    async def answer(self, questions: Sequence[Question]) -> Sequence[Answer | Failure]:
        """Nothing."""
        return [Failure("asleep")] * len(questions)


ALL, NLI, TOXIC = Named("all"), Named("nli", "entail:support"), Named("toxic", "classify:toxic")


def test_one_judge_for_everything() -> None:
    """A star stands for every kind."""
    bench = JudgeRouter({"*": ALL})
    questions: list[Question] = [
        Decompose("t"),
        Entail(("p",), "h"),
        Relevant("q", "t"),
        Classify("t", "toxic"),
        Rate(COHERENCE, ()),
    ]
    assert [bench.judge_of(question) for question in questions] == [ALL] * 5
    assert bench.judges == {"*": ALL}


def test_the_narrowest_key_answers() -> None:
    """A topic goes before its kind, and a kind before the star."""
    other = Named("other")
    bench = JudgeRouter({"*": ALL, "classify": other, "classify:toxic": TOXIC, "rate:coherence": other, "entail": NLI})
    assert bench.judge_of(Classify("t", "toxic")) is TOXIC
    assert bench.judge_of(Classify("t", "biased")) is other
    assert bench.judge_of(Rate(COHERENCE, ())) is other
    assert bench.judge_of(Rate(CONCISENESS, ())) is ALL
    assert bench.judge_of(Entail(("p",), "h")) is NLI
    assert bench.judge_of(Decompose("t")) is ALL


def test_nobody_for_a_kind() -> None:
    """A question of a kind that no key names has no judge."""
    bench = JudgeRouter({"entail": NLI})
    assert bench.judge_of(Decompose("t")) is None
    assert not bench.can("decompose")


@pytest.mark.parametrize(
    ("topic", "can"),
    [
        ("entail:support", True),
        ("entail:contradiction", False),
        ("classify:toxic", True),
        ("classify:biased", False),
        ("decompose", False),
    ],
)
def test_a_bench_can_what_the_judge_in_charge_can(topic: str, can: bool) -> None:
    """Who is named for a kind must itself answer the topic."""
    assert JudgeRouter({"entail": NLI, "classify": TOXIC}).can(topic) is can


def test_what_a_bench_can_do_it_routes() -> None:
    """Every topic of a question that a bench says it can answer has a judge who gets that question."""
    bench = JudgeRouter({"entail": ALL, "classify:toxic": TOXIC})
    assert bench.can("entail:contradiction")
    assert bench.judge_of(Entail(("p",), "h")) is ALL
    assert bench.can("classify:toxic")
    assert bench.judge_of(Classify("t", "toxic")) is TOXIC


@pytest.mark.parametrize(
    "key", ["entails", "", "*:x", "classified:toxic", "entail:support", "decompose:x", "relevant:x"]
)
def test_a_key_that_names_no_question_is_refused(key: str) -> None:
    """A key by which no question could be routed is refused, and the kinds are named."""
    with pytest.raises(UnknownName, match="unknown kind of question"):
        JudgeRouter({"*": ALL, key: NLI})


def test_an_empty_bench_is_refused() -> None:
    """A mapping without a judge is refused."""
    with pytest.raises(BadParameter, match="at least one kind"):
        JudgeRouter({})


def test_a_judge_is_reported_by_its_members() -> None:
    """Anything with the three members of a judge is one."""
    assert isinstance(ALL, Judge)
    assert not isinstance(object(), Judge)


class Own:
    """A judge of somebody's own, with some of what is optional, derived from nothing of ours."""

    identity = Identity("own")
    answers = frozenset(KINDS)
    by_sample = 7

    def __init__(self) -> None:
        self.entered = 0
        self.ended: Failure | None = None

    async def __aenter__(self) -> Own:
        self.entered += 1
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.entered -= 1

    def notes(self) -> list[str]:
        """A note."""
        return ["slept"]

    async def answer(self, questions: Sequence[Question]) -> Sequence[Answer | Failure]:
        """Whether it was entered."""
        return [Failure("awake" if self.entered else "asleep")] * len(questions)


def test_a_judge_of_ones_own_has_defaults_for_what_it_lacks() -> None:
    """What such a judge has is used, also where it changes later; all else that is optional has its default."""
    own = Own()
    judge = adapted(own)
    assert (judge.identity, judge.answers, judge.by_sample, judge.notes()) == (own.identity, own.answers, 7, ["slept"])
    assert (judge.batch, judge.members, judge.is_paid, judge.price, judge.expect([])) == (32, (), False, None, ())
    own.ended = Failure("gone")
    assert judge.ended == own.ended
    assert adapted(judge) is judge


def test_a_judge_of_ones_own_is_entered_and_left() -> None:
    """An asynchronous context manager is entered and left as the judge that it is."""
    own = Own()

    async def asked() -> Sequence[Answer | Failure]:
        async with adapted(own) as judge:
            return await judge.consult([Decompose("t")], NullContext())

    assert asyncio.run(asked()) == [Failure("awake")]
    assert own.entered == 0
