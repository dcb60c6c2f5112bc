"""ragas' metrics of calls of tools, by the formulas of its code."""

from __future__ import annotations

from typing import Any

import pytest

import ragauge as rg
from ragauge.compat.ragas import evaluate
from ragauge.compat.ragas.metrics import (
    AgentGoalAccuracyWithoutReference,
    AgentGoalAccuracyWithReference,
    NonLLMStringSimilarity,
    ToolCallAccuracy,
    ToolCallF1,
    TopicAdherence,
)
from ragauge.compat.ragas.samples import AIMessage, HumanMessage, MultiTurnSample, ToolCall, ToolMessage

FIND, BOOK = ToolCall("find", {"city": "Rome", "stars": 3}), ToolCall("book", {"id": 7})


def conversation(made: list[ToolCall], expected: list[ToolCall] | None, **more: Any) -> MultiTurnSample:
    """A conversation with these calls, one for each message."""
    calls = [AIMessage("", [call]) for call in made]
    messages = [HumanMessage("A hotel?"), *calls, ToolMessage("booked"), AIMessage("It is booked.")]
    return MultiTurnSample(user_input=messages, reference_tool_calls=expected, **more)


@pytest.mark.parametrize(
    ("made", "expected", "metric", "value"),
    [
        ([FIND, BOOK], [FIND, BOOK], ToolCallAccuracy(), 1),
        ([BOOK, FIND], [FIND, BOOK], ToolCallAccuracy(), 0),
        ([BOOK, FIND], [FIND, BOOK], ToolCallAccuracy(strict_order=False), 1),
        ([FIND, BOOK], [FIND], ToolCallAccuracy(), 0),
        ([ToolCall("find", {"city": "Rome", "stars": 4})], [FIND], ToolCallAccuracy(), 0.5),
        ([ToolCall("find", {"city": "Rome", "stars": "3"})], [FIND], ToolCallAccuracy(), 1),  # compared as texts
        (
            [ToolCall("find", {"city": "Roma", "stars": 3})],
            [FIND],
            ToolCallAccuracy(arg_comparison_metric=NonLLMStringSimilarity()),
            0.875,
        ),
        ([], [], ToolCallAccuracy(), 1),
        ([], [FIND], ToolCallAccuracy(), 0),
        ([FIND, FIND, BOOK], [FIND], ToolCallF1(), 0.6667),  # of the distinct calls
        ([FIND], [BOOK], ToolCallF1(), 0),
        ([], [], ToolCallF1(), 0),
    ],
)
def test_calls_are_scored_as_by_ragas(
    made: list[ToolCall], expected: list[ToolCall], metric: Any, value: float
) -> None:
    """The value is ragas', in an evaluation, by `multi_turn_score` and by `score`."""
    sample = conversation(made, expected)
    assert metric.multi_turn_score(sample) == value
    assert metric.score(user_input=sample.user_input, reference_tool_calls=expected).value == value
    assert evaluate([sample], [metric])[metric.key] == [value]


def test_agents_reach_their_goal_wholly_or_not() -> None:
    """The score is 1 if all claims of the reference are shown, and a warning says that ragas' is another."""
    sample = conversation([BOOK], [BOOK], reference="It is booked.")
    with pytest.warns(UserWarning, match="agent_goal_accuracy is not ragas'"):
        assert evaluate([sample], [AgentGoalAccuracyWithReference()])["agent_goal_accuracy"] == [1]


def test_goals_without_a_reference_are_graded_by_a_model() -> None:
    """The whole conversation is read, and what tools returned."""

    def rate(rubric: str, query: str, contexts: str, response: str) -> float:
        return float("A hotel?" in query and contexts == "booked" and response == "It is booked.")

    metric = AgentGoalAccuracyWithoutReference(llm=rg.judge_from(rate=rate))
    assert evaluate([conversation([BOOK], None)], [metric])["agent_goal_accuracy"] == [1]


TOPICS = MultiTurnSample(
    user_input=[
        HumanMessage("How fast is light?"),
        AIMessage("300,000 km a second."),
        HumanMessage("And a snail?"),
        AIMessage("I only answer questions on physics."),
        HumanMessage("Which horse will win?"),
        AIMessage("Blaze."),
        HumanMessage("Which one came last?"),
        AIMessage("Comet."),
    ],
    reference_topics=["physics {of things}", "animals"],
)


class Reader:
    """A judge that grades each message by the wording of the rubric."""

    identity, answers = rg.types.Identity("reader"), frozenset({"rate"})

    async def answer(self, questions: Any) -> list[Any]:
        """1 for answered messages, or for those on the topics."""
        return [rg.types.Grade(float(self._holds(question))) for question in questions]

    def _holds(self, question: Any) -> bool:
        assert "How fast is light?" in dict(question.texts)["query"]
        message = question.rubric.wording.rpartition(": ")[2]
        if "rather than refuses" in question.rubric.wording:
            return bool(message != "And a snail?")
        assert "physics {of things}, animals" in question.rubric.wording
        return message in ("How fast is light?", "And a snail?")


@pytest.mark.parametrize(("mode", "value"), [("precision", 1 / 3), ("recall", 1 / 2), ("f1", 2 / 5)])
def test_adherence_to_topics_counts_answers_on_them(mode: str, value: float) -> None:
    """Two of four messages are on the topics of their row, and three are answered, one of which is on them."""
    metric = TopicAdherence(llm=Reader(), mode=mode)
    with pytest.warns(UserWarning, match="topic_adherence is not ragas'"):
        assert evaluate([TOPICS], [metric])[f"topic_adherence(mode={mode})"] == [pytest.approx(value)]
    assert metric.multi_turn_score(TOPICS) == pytest.approx(value)
    columns = {"user_input": TOPICS.user_input, "reference_topics": TOPICS.reference_topics}
    assert metric.score(**columns).value == pytest.approx(value)


def test_adherence_needs_topics_and_a_judge_that_grades() -> None:
    """Without topics the message names the column, with the embedded judge a judge to choose; modes are checked."""
    bare = MultiTurnSample(user_input=TOPICS.user_input)
    with pytest.raises(rg.errors.UsageError, match="topic_adherence needs reference_topics"):
        TopicAdherence().multi_turn_score(bare)
    with pytest.raises(rg.errors.UnanswerableNeed, match="openai/gpt-4o-mini"):
        TopicAdherence().multi_turn_score(TOPICS)
    with pytest.raises(rg.errors.UnknownName, match="mode of topic_adherence"):
        TopicAdherence(mode="accuracy")
