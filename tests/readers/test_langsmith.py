"""Runs and examples of LangSmith, and messages of LangChain, as those libraries write them."""

from __future__ import annotations

import datetime
import json
import uuid
from typing import Any

import pytest

from ragauge.readers import read

_REASON = "langsmith is not installed (extra dev-compat)"
messages: Any = pytest.importorskip("langchain_core.messages", reason=_REASON)
schemas: Any = pytest.importorskip("langsmith.schemas", reason=_REASON)

QUERY, RESPONSE, DOCUMENT = "Who built the bridge?", "Two brothers built it.", "Two brothers built the bridge."
QUESTION = messages.HumanMessage(QUERY)
ANSWER = messages.AIMessage(RESPONSE)
TOOL = messages.ToolMessage(DOCUMENT, tool_call_id="1")


def _run(**more: Any) -> dict[str, Any]:
    """A run as LangSmith's client gives it, as JSON."""
    values = {
        "id": uuid.UUID(int=1),
        "trace_id": uuid.UUID(int=1),
        "session_id": uuid.UUID(int=9),
        "start_time": datetime.datetime(2026, 1, 1),
        "name": "answer",
        "run_type": "chain",
        "inputs": {"question": QUERY},
    }
    run: dict[str, Any] = json.loads(schemas.Run(**{**values, **more}).model_dump_json())
    return run


def test_runs_with_their_children() -> None:
    """The outer run is the sample; the documents of the retriever under it are its contexts, listed or nested."""
    root = _run(outputs={"output": RESPONSE})
    retriever = {"id": uuid.UUID(int=2), "parent_run_id": uuid.UUID(int=1), "name": "search", "run_type": "retriever"}
    child = _run(**retriever, outputs={"documents": [{"page_content": DOCUMENT, "type": "Document", "metadata": {}}]})
    for rows in ([child, root], [{**root, "child_runs": [child]}]):
        (sample,) = read(rows)
        assert (sample.id, sample.query, sample.response) == (root["id"], QUERY, RESPONSE)
        assert [chunk.text for chunk in sample.contexts or ()] == [DOCUMENT]


def test_runs_of_a_thread_are_a_group() -> None:
    """The thread is in the metadata of a run, and its session is the project, in which runs are independent."""
    for extra, group in (
        ({"metadata": {"thread_id": "t"}}, "t"),
        ({"metadata": {"session_id": "s"}}, "s"),
        ({"metadata": {"conversation_id": "c"}}, "c"),
        ({}, None),
    ):
        (sample,) = read([_run(outputs={"output": RESPONSE}, extra=extra)])
        assert sample.group == group
        assert sample.metadata["session_id"]


def test_the_history_in_the_inputs_of_a_run() -> None:
    """What was said before the question is its turns, also where it holds the question's words."""
    history = [{"role": "user", "content": f"Hi. {QUERY}"}, {"role": "assistant", "content": "Hello."}]
    (sample,) = read([_run(inputs={"input": QUERY, "chat_history": history}, outputs={"output": RESPONSE})])
    assert (sample.query, sample.response) == (QUERY, RESPONSE)
    assert [turn.text for turn in sample.turns or ()] == [f"Hi. {QUERY}", "Hello."]


def test_runs_of_a_chat() -> None:
    """Messages of LangChain in the inputs and outputs of a run are question and answer."""
    serialised = {"lc": 1, "type": "constructor", "id": ["x"], "kwargs": QUESTION.model_dump()}
    outputs = {"messages": messages.messages_to_dict([QUESTION, TOOL, ANSWER])}
    (sample,) = read([_run(inputs={"messages": [[serialised]]}, outputs=outputs)])
    assert (sample.query, sample.response) == (QUERY, RESPONSE)
    assert [chunk.text for chunk in sample.contexts or ()] == [DOCUMENT]


def test_examples_of_a_chat_are_references() -> None:
    """The second form of a data set, with messages as inputs and outputs, holds what people wrote."""
    example = schemas.Example(
        id=uuid.UUID(int=1),
        dataset_id=uuid.UUID(int=2),
        created_at=datetime.datetime(2026, 1, 1),
        inputs={"messages": [{"role": "user", "content": "Who?"}]},
        outputs={"messages": [{"role": "assistant", "content": "Ada."}]},
    )
    (sample,) = read([json.loads(example.model_dump_json())])
    assert (sample.query, sample.response, sample.references) == ("Who?", None, ("Ada.",))


def test_messages_of_langchain_are_a_conversation() -> None:
    """Message objects are known by their type, as messages in other forms are."""
    (sample,) = read([{"user_input": [QUESTION, TOOL, ANSWER]}])
    assert (sample.query, sample.response) == (QUERY, RESPONSE)
    assert [chunk.text for chunk in sample.contexts or ()] == [DOCUMENT]
