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
