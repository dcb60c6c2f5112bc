"""Conversations: their turns, the calls of tools in them, what of them is a sample, and what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragauge as rg
from ragauge.errors import BadData, BadParameter, BadRow
from ragauge.readers import read
from ragauge.types import Sample, ToolCall, Turn

Messages = list[dict[str, Any]]


def user(text: str) -> dict[str, Any]:
    """A message of the user."""
    return {"role": "user", "content": text}


def assistant(text: str | None = None, *calls: tuple[str, str]) -> dict[str, Any]:
    """A message of the assistant, with calls as pairs of id and arguments."""
    made = [{"id": id, "type": "function", "function": {"name": "look", "arguments": written}} for id, written in calls]
    return {"role": "assistant", "content": text, **({"tool_calls": made} if made else {})}


def tool(id: str, text: str) -> dict[str, Any]:
    """What a tool gave."""
    return {"role": "tool", "tool_call_id": id, "content": text}


CHAT = [
    user("How tall is it?"),
    assistant("Let me see.", ("c1", '{"of": "tower"}')),
    tool("c1", "30 metres"),
    assistant("30 metres."),
    user("And how old?"),
    assistant(None, ("c2", '{"of": "age"}'), ("c3", '{"of": "age", "again": true}')),
    tool("c3", "Error: no such thing"),
    tool("c2", "90 years"),
    assistant("90 years."),
]


def test_each_answer_is_a_sample_with_its_history() -> None:
    """With `per="turn"` answers are c#1, c#2 of the group c, each with its own calls, contexts and turns before."""
    reading = read([{"id": "c", "messages": CHAT, "references": ["90"]}], per="turn")
    first, second = reading
    assert (first.id, second.id, first.group, second.group) == ("c#1", "c#2", "c", "c")
    assert (first.query, first.response, first.turns, first.references) == ("How tall is it?", "30 metres.", None, None)
    assert first.tool_calls == (ToolCall("look", {"of": "tower"}, "c1", "30 metres"),)
    assert (second.query, second.response, second.references) == ("And how old?", "90 years.", ("90",))
    assert [chunk.text for chunk in second.contexts or ()] == ["Error: no such thing", "90 years"]
    assert [turn.text for turn in second.turns or ()] == ["How tall is it?", "Let me see.", "30 metres."]
    assert not reading.unmeasured["earlier_answers"]


@pytest.mark.parametrize("column", ["messages", "user_input"])
@pytest.mark.parametrize("write", [json.dumps, str])
def test_conversations_written_as_text_are_the_same(column: str, write: Callable[[Messages], str]) -> None:
    """Messages as JSON or Python print them, as in CSV, are the conversation; another list stays a text."""
    (listed,) = read([{column: CHAT, "reference": "90"}])
    (written,) = read([{column: write(CHAT), "reference": "90"}])
    assert written == listed
    (other,) = read([{column: '[{"a": 1}] is what?', "reference": "90"}])
    assert other.query == '[{"a": 1}] is what?'


def test_messages_written_as_text_in_an_answer_stay_its_text() -> None:
    """An answer or a context may itself be a conversation as JSON."""
    chat = json.dumps(CHAT)
    (sample,) = read([{"query": "A conversation as JSON?", "response": chat, "contexts": [chat]}])
    assert (sample.response, [chunk.text for chunk in sample.contexts or ()]) == (chat, [chat])
    (joined,) = read([{"query": "?", "response": "A.", "contexts": json.dumps([user("Hi.")])}])
    assert [chunk.text for chunk in joined.contexts or ()] == ["Hi."]


def test_results_belong_to_the_call_with_their_id() -> None:
    """Results in another order than the calls are matched by id, and one that begins as an error is one."""
    (sample,) = read([{"messages": CHAT}])
    assert sample.tool_calls == (
        ToolCall("look", {"of": "age"}, "c2", "90 years"),
        ToolCall("look", {"of": "age", "again": True}, "c3", error="Error: no such thing"),
    )


def test_a_conversation_as_one_sample() -> None:
    """With `per="conversation"` questions, answers, contexts and calls of all turns are those of one sample."""
    (sample,) = read([{"id": "c", "messages": CHAT}], per="conversation")
    assert (sample.id, sample.query, sample.turns) == ("c", "How tall is it?\nAnd how old?", None)
    assert sample.response == "Let me see.\n\n30 metres.\n\n90 years."
    assert [chunk.id for chunk in sample.contexts or ()] == ["1", "2", "3"]
    assert [call.id for call in sample.tool_calls or ()] == ["c1", "c2", "c3"]


def test_an_agent_that_calls_nothing_has_called_nothing() -> None:
    """A conversation without a call says so where calls are expected, tools offered, or called in others or before."""
    lazy = {"messages": [user("Block it."), assistant("Blocked.")]}
    called = {"messages": [user("?"), assistant(None, ("c", "{}")), assistant("A.")]}
    for rows in (
        [{**lazy, "expected_tools": [{"name": "look"}]}],
        [{**lazy, "tools": [{"name": "look"}]}],
        [lazy, called],
        [{"messages": [*called["messages"], *lazy["messages"]]}],
    ):
        assert next(iter(read(rows))).tool_calls == (), rows
    expecting = [{"query": "Block it.", "expected_tools": [{"name": "look"}]}]
    (joined,) = rg.join(expecting, [lazy]).samples
    assert rg.score(joined, "tool_calls(match=all)")["tool_calls.success"].value == 0
    whole = read([{"messages": [*lazy["messages"], *called["messages"]]}], per="turn")
    assert [len(sample.tool_calls or ()) for sample in whole if sample.tool_calls is not None] == [0, 1]


def test_nothing_is_known_of_calls_where_nothing_names_tools() -> None:
    """Plain chats, texts beside expected calls, and a column that holds calls elsewhere do not say what was called."""
    expected = {"expected_tools": [{"name": "look"}]}
    for row in (
        {"messages": [user("?"), assistant("A.")]},
        {"messages": [user("?")], **expected},
        {"query": "?", "response": "A.", **expected},
        {"messages": [user("?")], "response": "A.", **expected},
        {"messages": [user("?"), assistant("A.")], "tool_calls": None, **expected},
    ):
        assert next(iter(read([row]))).tool_calls is None, row


def test_what_is_not_a_unit_is_refused() -> None:
    """Only turns and conversations are units."""
    with pytest.raises(BadParameter, match=r"""per is 'row'; give "turn" or "conversation"""):
        read([{"messages": CHAT}], per="row")  # type: ignore[arg-type]


def test_history_of_its_own_is_not_expanded() -> None:
    """Where query and response have columns, a column of turns is what was said before, and its answers no samples."""
    row = {"query": "And how old?", "response": "90 years.", "history": CHAT[:4]}
    (sample,) = read([row], per="turn")
    assert (sample.id, sample.query, len(sample.turns or ())) == ("1", "And how old?", 3)


def test_a_question_without_an_answer_is_a_sample_without_a_response() -> None:
    """A turn that nobody answered is there under its number."""
    first, second = read([{"id": "c", "messages": [user("Hello?"), assistant("Yes."), user("Why?")]}], per="turn")
    assert (first.response, second.id, second.response) == ("Yes.", "c#2", None)


def test_messages_of_the_user_in_a_row_are_one_question() -> None:
    """It is the last of them, as without `per`, and those before it are turns."""
    chat = [user("Hello?"), user("Anybody?"), assistant("Yes."), user("Fine."), user("Bye.")]
    samples = list(read([{"id": "c", "messages": chat}], per="turn"))
    assert [(sample.query, sample.response) for sample in samples] == [("Anybody?", "Yes."), ("Bye.", None)]
    assert [turn.text for turn in samples[0].turns or ()] == ["Hello?"]
    (whole,) = read([{"id": "c", "messages": chat}])
    assert (whole.query, whole.turns) == (samples[-1].query, samples[-1].turns)


def test_arguments_that_are_no_json() -> None:
    """A model's call keeps what it wrote as its error; a reference call is an error of the data, with its place."""
    broken = '{"of": '
    (sample,) = read([{"messages": [user("?"), assistant(None, ("c", broken)), assistant("A.")]}])
    assert sample.tool_calls == (ToolCall("look", id="c", error='its arguments are no JSON object: {"of": '),)
    row = {"query": "?", "response": "A.", "reference_tool_calls": [{"name": "look", "arguments": broken}]}
    with pytest.raises(BadRow, match=r"row 1, column 'reference_tool_calls': call 1: its arguments are no JSON object"):
        list(read([row]))


def test_a_refusal_of_openai_is_what_was_said() -> None:
    """Without other content, `refusal` is the text of a message, also as a part; null beside a content is nothing."""
    refusal = "I'm sorry, but I can't help with that."
    for said in (
        {"content": None, "refusal": refusal},
        {"content": [{"type": "refusal", "refusal": refusal}]},
        {"refusal": refusal},
        {"content": refusal, "refusal": None},
    ):
        (sample,) = read([{"messages": [user("?"), {"role": "assistant", **said}]}])
        assert sample.response == refusal, said


def text(*parts: str) -> list[dict[str, Any]]:
    """Parts of a message."""
    return [{"type": "text", "text": part} for part in parts]


def test_pieces_of_an_answer_are_one_text() -> None:
    """Anthropic cuts an answer where it cites; parts without space between them, or with other parts, are lines."""
    thought = {"type": "thinking", "thinking": "Hm."}
    for parts, response in (
        (text("It takes ", "5 days", " in all", "."), "It takes 5 days in all."),
        (text("It takes 5 days.", "It is free."), "It takes 5 days.\nIt is free."),
        (text("It takes 5 days.", " It is free."), "It takes 5 days. It is free."),
        (text("Steps", "1. Ask", "- Wait"), "Steps\n1. Ask\n- Wait"),
        ([*text("Let me see"), thought, *text("it is 5")], "Let me see\nit is 5"),
    ):
        (sample,) = read([{"messages": [user("?"), {"role": "assistant", "content": parts}]}])
        assert sample.response == response
    (asked,) = read([{"messages": [{"role": "user", "content": text("A", "b")}, assistant("C.")]}])
    assert asked.query == "A\nb"


@pytest.mark.parametrize("column", ["messages", "conversations"])
def test_instructions_beside_the_messages_are_a_turn(column: str) -> None:
    """A list of blocks, a sentence or a long text under `system` is said by the system; a name is what answered."""
    long = "You help customers of a shop of lamps in Oslo"
    for system, turns in ((text("Be brief."), 1), ("Be brief.", 1), (long, 1), ("GPT with retrieval", 0)):
        (sample,) = read([{"system": system, "model": "m", column: [user("?"), assistant("A.")]}])
        assert len(sample.turns or ()) == turns
        assert sample.system == ("m" if turns else system)
    assert sample.metadata == {"model": "m"}
    (plain,) = read([{"system": "Be brief.", "query": "?", "response": "A."}])
    assert plain.system == "Be brief."
    said = {"role": "system", "content": "Be brief."}
    row = {"system": "Be brief.", column: [said, user("?"), assistant("A.")]}
    for messages in (row[column], row[column][1:], json.dumps(row[column])):
        (once,) = read([row | {column: messages}])
        assert ([turn.text for turn in once.turns or ()], once.system) == (["Be brief."], None)
    (mapped,) = read([row], map={"system": "system"})
    assert mapped.system == "Be brief."


def test_documents_of_the_user_are_contexts() -> None:
    """Texts that the user gives to a model of Anthropic are contexts of the answer; a question alone has none."""
    plain = {"type": "document", "title": "Rules", "source": {"type": "text", "data": "It takes 5 days."}}
    blocks = {"type": "document", "source": {"type": "content", "content": text("It is free.")}}
    hit = {"type": "search_result", "source": "https://a.b", "title": "Shop", "content": text("It is open.")}
    picture = {"type": "document", "source": {"type": "base64", "data": "AAAA"}}
    asked = {"role": "user", "content": [plain, blocks, hit, picture, *text("How long?")]}
    (sample,) = read([{"messages": [asked, assistant("5 days.")]}])
    chunks = [("Rules", "It takes 5 days."), ("", "It is free."), ("Shop", "It is open.")]
    assert [(chunk.title, chunk.text) for chunk in sample.contexts or ()] == chunks
    (other,) = read(
        [{"messages": [{"role": "system", "content": "Hi.", "contexts": "abc"}, user("?"), assistant("A.")]}]
    )
    assert other.contexts is None
    (unanswered,) = read([{"messages": [asked]}])
    assert (unanswered.query, unanswered.response, unanswered.contexts) == ("How long?", None, None)


def test_rows_that_are_messages_are_conversations(tmp_path: Path) -> None:
    """Rows with conversation_id, role and content, of several chats in turn, are their messages in order."""
    path = tmp_path / "chats.csv"
    rows = ("1,user,Hi?,", "2,user,Why?,", "1,assistant,Hello.,A greeting.", "1,user,How?,", "1,assistant,So.,")
    path.write_text("\n".join(["conversation_id,role,content,contexts", *rows]), encoding="utf-8")
    samples = list(read(path, per="turn"))
    assert [(sample.id, sample.query, sample.response) for sample in samples] == [
        ("1#1", "Hi?", "Hello."),
        ("1#2", "How?", "So."),
        ("2", "Why?", None),
    ]
    assert [len(sample.contexts or ()) for sample in samples] == [1, 0, 0]
    run = rg.evaluate(pd.read_csv(path), "max_words(1)")
    assert list(run.to_pandas().index) == [0, 1]
    for id in (None, "", ["1"]):
        with pytest.raises(BadRow, match="a message without conversation_id"):
            list(read([{"conversation_id": id, **user("?")} for id in ("1", "1", id)]))


def test_rows_that_may_be_messages_are_not_guessed() -> None:
    """Other columns, one row alone, or a column that is mapped are no conversation; the error shows its form."""
    row = {"conversation_id": "1", **user("?")}
    asked = read([row | {"query": "Who?", "response": "A."}] * 2, map={"id": ""})
    assert [sample.query for sample in asked] == ["Who?", "Who?"]
    for rows in ([{"ticket": 1, "author": "Ann", "body": "Hi."}] * 2, [row]):
        with pytest.raises(BadData, match=r"messages=\[\{'role': 'user', 'content': TEXT\}, \.\.\.\]"):
            read(rows)
    assert [sample.query for sample in read([row, row], map={"query": "content"})] == ["?", "?"]


def test_messages_of_langchain() -> None:
    """Streamed messages and those that only their class names are read, and invalid calls are calls with an error."""
    path = ["langchain", "schema", "messages"]
    human = {"lc": 1, "type": "constructor", "id": [*path, "HumanMessage"], "kwargs": {"content": "?"}}
    invalid = [{"name": "look", "args": "{a", "id": "q", "error": "no JSON"}]
    called = {"type": "ai", "content": "", "tool_calls": [], "invalid_tool_calls": invalid}
    (sample,) = read([{"messages": [human, called, {"type": "AIMessageChunk", "content": "A."}]}])
    assert (sample.query, sample.response) == ("?", "A.")
    assert [(call.name, "no JSON" in call.error) for call in sample.tool_calls or ()] == [("look", True)]


def test_messages_that_cannot_be_read_are_named() -> None:
    """A role that nobody has, a message with nothing in it, and no message at all are errors with their place."""
    for chat, problem in (
        ([user("?"), {"role": "critic", "content": "Hm."}], r"message 2 has no known role, .*'critic'"),
        ([{"role": "user"}], "message 1 .* says nothing"),
        ([], "an empty list, not a conversation"),
    ):
        rows = [{"messages": [user("?"), assistant("A.")]}, {"messages": chat}]
        with pytest.raises(BadRow, match=rf"row 2, column 'messages': {problem}"):
            list(read(rows))


def test_a_call_without_the_name_of_a_tool_has_failed() -> None:
    """What a model wrote without a name is a call with an error, and not left out."""
    chat = [user("?"), {"role": "assistant", "tool_calls": [{"id": "c", "function": {"arguments": "{}"}}]}]
    (sample,) = read([{"messages": [*chat, assistant("A.")]}])
    assert [call.error for call in sample.tool_calls or ()] == ["an object without the name of a tool"]


def test_a_result_without_its_call_is_counted_and_said() -> None:
    """What a tool gave for a call that is not there is a context, and a note says so."""
    chat = [user("?"), tool("gone", "It is old."), assistant("Old.")]
    run = rg.evaluate([{"messages": chat}], "max_words(9)")
    assert run.scores[0].sample.contexts
    assert "Results of tools whose calls are not there: 1;" in " ".join(str(run).split())


def test_ten_thousand_turns() -> None:
    """They are read as they are; as samples with their histories they are refused with the place and the way out."""
    chat = [message for n in range(5000) for message in (user(f"q{n}"), assistant(f"a{n}"))]
    (sample,) = read([{"messages": chat}])
    assert (len(sample.turns or ()), sample.response) == (9998, "a4999")
    with pytest.raises(BadRow, match=r"row 1, column 'messages': a conversation of 9998 turns; .*turns=10000"):
        list(read([{"messages": chat}], per="turn"))
    few = rg.readers.ReadingLimits(turns=1)
    with pytest.raises(BadRow, match="a conversation of 3 turns"):
        list(read([{"messages": CHAT}], per="turn", limits=few))


@pytest.mark.parametrize(
    "call",
    [
        {"name": "look", "arguments": {"of": "age"}},
        {"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"of": "age"}'}},
        {"type": "tool_use", "id": "1", "name": "look", "input": {"of": "age"}},
        {"name": "look", "args": {"of": "age"}, "id": "1", "type": "tool_call"},
        {"name": "look", "input_parameters": {"of": "age"}, "output": None},
        {"functionCall": {"name": "look", "args": {"of": "age"}}},
    ],
    ids=["ours", "OpenAI", "Anthropic", "LangChain", "DeepEval", "Gemini"],
)
@pytest.mark.parametrize("column", ["tool_calls", "tools_called"])
def test_calls_in_the_forms_of_others(call: dict[str, Any], column: str) -> None:
    """A column of calls holds them in the form of any framework."""
    (sample,) = read([{"query": "?", "response": "A.", column: [call]}])
    assert [(made.name, made.arguments) for made in sample.tool_calls or ()] == [("look", {"of": "age"})]


def test_effects_are_those_that_are_declared() -> None:
    """MCP's hint, or the list of tools that only read, says what a call changes; otherwise nobody knows."""
    calls = [{"name": "look"}, {"name": "book"}]
    tools = [{"name": "look", "annotations": {"readOnlyHint": True}}, {"name": "book"}]
    row = {"query": "?", "response": "A.", "tool_calls": calls}
    hinted, listed, unknown = read([{**row, "tools": tools}, {**row, "read_only_tools": ["look"]}, row])
    effects = [[call.effect for call in sample.tool_calls or ()] for sample in (hinted, listed, unknown)]
    assert effects == [[False, None], [False, True], [None, None]]


def test_a_column_of_turns_does_not_stand_for_a_turn() -> None:
    """Per turn, a column of the data that is called `turn` gives way to the number of the turn."""
    chat = [{"role": role, "content": role} for role in ("user", "assistant") * 2]
    samples = read([{"id": "k", "messages": chat, "turn": 7}], per="turn")
    assert [sample.metadata["turn"] for sample in samples] == [1, 2]


roles = st.sampled_from(["user", "assistant"])
turns = st.lists(st.builds(Turn, role=roles, text=st.text("ab ", max_size=3)), max_size=6)


@given(said=turns)
def test_no_turn_is_lost(said: list[Turn]) -> None:
    """Every question of a conversation is a sample, in order, and the last one has all turns before it."""
    sample = Sample("c", query="last?", response="A.", turns=tuple(said))
    samples = list(read([sample], per="turn"))
    asked = [turn.text for turn, following in pairwise(said) if (turn.role, following.role) == ("user", "assistant")]
    assert [one.query for one in samples] == [*asked, "last?"]
    assert samples[-1].turns == tuple(said)


def test_what_was_not_measured_is_kept_in_the_store(tmp_path: Path) -> None:
    """The counts of a run of conversations are numbers, so that the run is read again."""
    rg.evaluate([{"messages": CHAT}], "max_words(9)", store=tmp_path)
    (run,) = rg.Store.open(tmp_path).runs()
    assert (run.unmeasured["conversations"], run.unmeasured["callers"]) == (1, 1)
