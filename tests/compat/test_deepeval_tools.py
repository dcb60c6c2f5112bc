"""DeepEval's test cases with tools and conversations, and its score of calls, by the formulas of its documentation."""

from __future__ import annotations

from typing import Any

import pytest

import ragauge as rg
from ragauge.compat import BadInput
from ragauge.compat.deepeval import (
    BaseConversationalMetric,
    ConversationalGEval,
    ConversationalTestCase,
    FaithfulnessMetric,
    KnowledgeRetentionMetric,
    LLMTestCase,
    MissingTestCaseParamsError,
    MultiTurnParams,
    TaskCompletionMetric,
    ToolCall,
    ToolCallParams,
    ToolCorrectnessMetric,
    TopicAdherenceMetric,
    Turn,
    evaluate,
)

FIND, BOOK, PAY = (
    ToolCall(name, input_parameters={"id": 1, "to": {"city": "Rome"}}) for name in ("find", "book", "pay")
)
INPUT = {"evaluation_params": [ToolCallParams.INPUT_PARAMETERS]}


def score(called: list[ToolCall], expected: list[ToolCall], **options: Any) -> float:
    """The score of a test case with these calls."""
    case = LLMTestCase("?", "!", tools_called=called, expected_tools=expected)
    return ToolCorrectnessMetric(**options).measure(case)


@pytest.mark.parametrize(
    ("called", "expected", "options", "value"),
    [
        ([BOOK, FIND, PAY], [FIND, BOOK], {}, 1),  # other tools cost nothing, and the order does not count
        ([FIND], [FIND, BOOK], {}, 0.5),
        ([FIND, FIND], [FIND, FIND], {}, 0.5),  # equal calls are one
        ([], [], {}, 1),
        ([FIND], [], {}, 0),
        ([BOOK, FIND], [FIND, BOOK], {"should_consider_ordering": True}, 0.5),
        ([FIND, PAY, BOOK], [FIND, BOOK], {"should_consider_ordering": True}, 1),
        ([FIND, PAY, BOOK], [FIND, BOOK], {"should_exact_match": True}, 0),
        ([FIND, BOOK], [FIND, BOOK], {"should_exact_match": True}, 1),
        ([ToolCall("find", input_parameters={"id": 1, "to": {"city": "Oslo", "zip": 1}})], [FIND], INPUT, 0.5),
        ([ToolCall("find", input_parameters={"id": 2, "to": {"city": "Rome", "zip": 1}})], [FIND], INPUT, 0.25),
        ([ToolCall("find", output=1)], [ToolCall("find", output=2)], {"evaluation_params": [ToolCallParams.OUTPUT]}, 0),
        ([FIND], [FIND, BOOK], {"strict_mode": True}, 0),
    ],
)
def test_tool_correctness(called: list[ToolCall], expected: list[ToolCall], options: Any, value: float) -> None:
    """The score is DeepEval's: greedy by name, in order, or exact, with parameters by the share that is equal."""
    assert score(called, expected, **options) == value


def test_tool_correctness_stands_beside_other_metrics() -> None:
    """It passes by its threshold in `evaluate`, gives its reason, and names what a test case lacks."""
    case = LLMTestCase(
        "?", "It sails.", retrieval_context=["It sails."], tools_called=[FIND], expected_tools=[BOOK, FIND]
    )
    (result,) = evaluate(
        [case], [ToolCorrectnessMetric(), FaithfulnessMetric(), ToolCorrectnessMetric(threshold=0.6)]
    ).test_results
    assert [data.success for data in result.metrics_data] == [True, True, False]
    assert result.metrics_data[0].reason == "expected ['book', 'find'], called ['find']"
    with pytest.raises(MissingTestCaseParamsError, match="expected_tools"):
        ToolCorrectnessMetric().measure(LLMTestCase("?", "!", tools_called=[]))
    with pytest.raises(BadInput, match="available_tools"):
        ToolCorrectnessMetric([FIND])


def test_the_last_answer_of_a_conversation_is_measured() -> None:
    """A conversation is measured by its last question and answer, and must end with one."""
    turns = [
        Turn("user", "A ferry?"),
        Turn("assistant", "At nine.", tools_called=[FIND]),
        Turn("user", "Does it sail?"),
    ]
    talk = ConversationalTestCase([*turns, Turn("assistant", "It sails.", ["It sails."])], name="talk")
    (result,) = evaluate([talk], [FaithfulnessMetric()]).test_results
    assert (result.name, result.test_case) == ("talk", talk)
    assert (talk.last().input, talk.last().tools_called) == ("Does it sail?", [FIND])
    assert result.success
    with pytest.raises(BadInput, match="end with an answer"):
        evaluate([ConversationalTestCase(turns)], [FaithfulnessMetric()])


def test_a_conversation_is_graded_whole() -> None:
    """Criteria over a conversation read all that was said and the role; a single answer is refused."""
    read = []

    def rate(rubric: rg.questions.Rubric, conversation: str) -> int:
        read.append(conversation)
        return 8 if "clerk" in conversation else 2

    grade = rg.judge_from(rate=rate, name="grade")
    turns = [Turn("user", "A ferry?"), Turn("assistant", "At nine."), Turn("user", "Sure?"), Turn("assistant", "Yes.")]
    talk = ConversationalTestCase(turns, chatbot_role="clerk")
    metric = ConversationalGEval("Manners", criteria="Is it polite?", model=grade)
    assert metric.measure(talk) == 0.8
    assert "clerk" in read[0]
    assert "at nine" not in read[0]
    turns[1].tools_called, turns[3].retrieval_context = [FIND], ["It sails at nine."]
    params: list[Any] = [MultiTurnParams.CONTENT, MultiTurnParams.RETRIEVAL_CONTEXT, MultiTurnParams.TOOLS_CALLED]
    params += [MultiTurnParams.SCENARIO, MultiTurnParams.EXPECTED_OUTCOME]
    ticket = ConversationalTestCase(turns, scenario="A stranger asks.", expected_outcome="A ticket.")
    assert evaluate([ticket], [ConversationalGEval("Help", params, "Does it help?", model=grade)])
    parts = ("find({'id': 1", "It sails at nine.", "scenario: A stranger asks.", "expected_outcome: A ticket.")
    assert [text for text in parts if text not in read[-1]] == []
    assert [text for text in ("A ferry?", "At nine.", "Sure?", "Yes.") if text not in read[0]] == []
    with pytest.warns(UserWarning, match="theirs counts turns"):
        retention = KnowledgeRetentionMetric(model=grade, window_size=3)
    assert evaluate([ConversationalTestCase(turns)], [retention]).test_results[0].success is False
    with pytest.raises(BadInput, match="reads a ConversationalTestCase"):
        evaluate([LLMTestCase("?", "!")], [metric])


def test_topics_and_tasks_are_graded_by_a_criterion() -> None:
    """The topics are in the criterion of a conversation; a task is read with the calls, and neither goes without."""
    read = []

    def rate(rubric: rg.questions.Rubric, **texts: str) -> int:
        read.append(texts)
        return 5

    grade = rg.judge_from(rate=rate, name="grade")
    with pytest.warns(UserWarning, match="one grade of the conversation"):
        topics = TopicAdherenceMetric(relevant_topics=["ferries", "{weather}"], model=grade)
    with pytest.warns(UserWarning, match="ours is one grade"):
        task = TaskCompletionMetric(model=grade)
    talk = ConversationalTestCase([Turn("user", "A ferry?"), Turn("assistant", "At nine.")])
    assert topics.measure(talk) == 0.5
    call = ToolCall("book", input_parameters={"id": 7}, output="sold out")
    assert task.measure(LLMTestCase("Book it.", "Done.", tools_called=[call])) == 0.5
    assert read[-1] == {"query": "Book it.", "response": "Done.\n\nCall: book({'id': 7}) → sold out"}
    case = LLMTestCase("Book it.", "Done.", retrieval_context=["Done."], tools_called=[call])
    one_group = evaluate([case], [task, FaithfulnessMetric(penalize_ambiguous_claims=True)]).test_results[0]
    assert one_group.metrics_data[1].score == 1, "the calls are no part of the output"
    with pytest.raises(BadInput, match="needs relevant_topics"):
        TopicAdherenceMetric(model=grade)


def test_a_metric_of_conversations_of_ones_own() -> None:
    """A subclass of BaseConversationalMetric measures the conversation itself."""

    class Length(BaseConversationalMetric):
        threshold = 2

        def measure(self, test_case: ConversationalTestCase) -> float:
            self.score = len(test_case.turns)
            self.success = self.is_successful()
            return self.score

    talk = ConversationalTestCase([Turn("user", "A ferry?"), Turn("assistant", "At nine.")])
    assert evaluate([talk], [Length()]).test_results[0].success
