"""The form of a need: flows side by side, declared topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from ragauge.needs.base import NothingToCount, QuestionFlow, Statements, answerable, gather, need
from ragauge.questions import Decompose, Question
from ragauge.types import Sample

if TYPE_CHECKING:
    from tests.needs.conftest import Working


def asking(*steps: str) -> QuestionFlow[str]:
    """A flow that asks for the words of each step, and returns all answers."""
    reported = []
    for step in steps:
        judgments = yield [Decompose(word) for word in step.split()]
        reported += [judgment.question.text for judgment in judgments if isinstance(judgment.question, Decompose)]
    return " ".join(reported)


def texts(asked: Sequence[Sequence[Question]]) -> list[list[str]]:
    """What was asked to be taken apart, step by step."""
    return [[question.text for question in step if isinstance(question, Decompose)] for step in asked]


def test_flows_side_by_side_share_their_steps(worked: Working) -> None:
    """What flows ask at the same step goes into one round, and each receives its own answers, in its own order."""
    found, asked = worked(gather([asking("a b", "c"), asking("d"), asking("e", "f g", "h")]))
    assert found == ("a b c", "d", "e f g h")
    assert texts(asked) == [["a", "b", "d", "e"], ["c", "f", "g"], ["h"]]


def test_flows_that_ask_nothing_end_at_once(worked: Working) -> None:
    """Flows without a step cost no round, alone or with others; an empty step is passed on as it is."""
    assert worked(gather([])) == ((), [])
    assert worked(gather([asking(), asking()])) == (("", ""), [])
    found, asked = worked(gather([asking(), asking("a"), asking("")]))
    assert found == ("", "a", "")
    assert texts(asked) == [["a"]]


def test_flows_with_only_empty_steps_ask_an_empty_step(worked: Working) -> None:
    """Where nobody asks anything the round is empty, and the flows go on."""
    found, asked = worked(gather([asking("", "a"), asking("")]))
    assert found == ("a", "")
    assert texts(asked) == [[], ["a"]]


def test_nothing_to_count_ends_flows_side_by_side() -> None:
    """A flow that finds nothing to count ends the whole, with its reason."""

    def empty() -> QuestionFlow[str]:
        yield from ()
        raise NothingToCount("no text")

    with pytest.raises(NothingToCount, match="no text"):
        next(gather([asking("a"), empty()]))


def test_a_need_is_named_for_its_flow() -> None:
    """A declared need has its function's name, the fields it reads and the topics it asks."""

    @need(reads=["response"], asks=["decompose"])
    def reply(sample: Sample) -> QuestionFlow[Statements]:
        (judgment,) = yield [Decompose(sample.response or "")]
        return Statements.of("response", judgment)

    assert (reply.name, reply.reads, reply.asks) == ("reply", ("response",), frozenset({"decompose"}))
    more = reply.also_asking("entail:contradiction")
    assert (more.name, more.asks) == ("reply", frozenset({"decompose", "entail:contradiction"}))
    assert more.flow is reply.flow


@pytest.mark.parametrize(
    ("topic", "answers", "can"),
    [
        ("decompose", {"decompose"}, True),
        ("entail:support", {"entail"}, True),
        ("entail:contradiction", {"entail"}, True),
        ("entail:support", {"entail:support"}, True),
        ("entail:contradiction", {"entail:support"}, False),
        ("classify:toxic", {"classify"}, True),
        ("classify:toxic", {"classify:biased"}, False),
        ("rate:coherence", {"rate:coherence", "entail"}, True),
        ("decompose", set(), False),
    ],
)
def test_who_can_answer_a_topic(topic: str, answers: set[str], can: bool) -> None:
    """A judge answers a topic that it names, or whose kind it names; part of a kind is not the whole."""
    assert answerable(topic, frozenset(answers)) is can
