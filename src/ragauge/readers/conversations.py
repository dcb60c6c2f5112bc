"""Conversations in the forms of other tools: their messages, the calls of tools in them, and the tools offered."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import msgspec

from ragauge.readers.values import (
    Malformed,
    boolean,
    describe,
    is_blank,
    items,
    jsonable,
    list_of,
    native,
    object_under,
    parse_list,
    parse_object,
    to_chunks,
)
from ragauge.readers.values import text as plain_text
from ragauge.types import TURN_KEY, Chunk, Sample, ToolCall, Turn

#: Who speaks in a conversation -> the role: OpenAI, LangChain, Gemini, ShareGPT, ragas. "" is not part of what is said.
ROLES = {
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "ai", "model", "gpt", "function_call"), "assistant"),
    **dict.fromkeys(("tool", "function", "retriever", "retrieval", "context", "function_call_output"), "tool"),
    **dict.fromkeys(("system", "developer"), "system"),
    "reasoning": "",
}

#: Where a message holds what was said; the passages that were retrieved for it; the calls of tools made for it.
_CONTENT = ("content", "contents", "parts", "value", "output", "summary", "text")
_CONTEXTS = ("contexts", "retrieval_context", "retrieved_contexts")
_CALLS = ("tool_calls", "calls", "tools_called")

#: Parts of a message that call a tool, and parts that hold what it gave: Anthropic, OpenTelemetry, OpenAI, Gemini.
_CALL_TYPES = ("tool_call", "tool_use", "function_call", "functionCall")
_RESULT_TYPES = ("tool_call_response", "tool_result", "function_response", "functionResponse")

#: Where a call has its arguments, its id, and what it returned.
_ARGUMENTS = ("arguments", "args", "kwargs", "input", "tool_input", "input_parameters", "inputParameters", "parameters")
_IDS = ("tool_call_id", "call_id", "tool_use_id", "id")
_OUTPUTS = ("result", "response", "output", "content")

#: How tools begin that report their failure in words.
_FAILED = re.compile(r"error\b.{0,40}?:", re.IGNORECASE)


class Result(NamedTuple):
    """What a tool gave, for the call with an id where it names one. failed: whether it says so."""

    content: Any
    id: str = ""
    failed: bool = False


class Message(NamedTuple):
    """A message of a conversation.

    role: of `ROLES`. content: a text or its parts. calls: the calls of tools that it makes. results: what tools gave.
    contexts: what was retrieved for the assistant's; the documents in the user's. whole: whether its calls have their
    results.
    """

    role: str
    content: Any
    calls: tuple[ToolCall, ...] = ()
    results: tuple[Result, ...] = ()
    contexts: Any = None
    whole: bool = False


def messages(value: Any) -> list[Message]:
    """The messages of a conversation, also as text in a cell of CSV, or of one message; none for any other value."""
    value = list_of(value) if isinstance(value, str) and value.lstrip().startswith("[") else value
    value = [value] if isinstance(value, Mapping) or hasattr(value, "content") else value
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):  # a batch of LangChain's models
        value = value[0]
    if not isinstance(value, list | tuple) or any(isinstance(item, str) for item in value):
        return []
    read = [_message(item) for item in value]
    return [message for message in read if message] if all(read) else []


def unread(said: Sequence[Any]) -> Malformed | None:
    """What is wrong with messages that are not read as a conversation; None for a list of anything else."""
    if not said:
        return Malformed("an empty list, not a conversation or a text", "leave the row out")
    place, item = next(((place, item) for place, item in enumerate(said, start=1) if not _message(item)), (0, None))
    if not any(_message(other) or (isinstance(other, Mapping) and "role" in other) for other in said):
        return None
    role = item.get("role") if isinstance(item, Mapping) else describe(item)
    fix = f"give each a role of {', '.join(dict.fromkeys(filter(None, ROLES.values())))}, and content or tool_calls"
    return Malformed(f"message {place} has no known role, or says nothing (its role: {role!r})", fix)


def _message(item: Any) -> Message | None:
    item = msgspec.structs.asdict(item) if isinstance(item, Turn) else item
    fields: Any = item if isinstance(item, Mapping) else getattr(item, "__dict__", {})
    inner = object_under(fields, ("message", "kwargs", "data")) or fields
    path = fields.get("id")  # of LangChain's class, where that is the only thing that says who speaks
    names = [*map(inner.get, ("role", "type", "from")), *(path[-1:] if isinstance(path, list) else ())]
    role = next((name for name in names if isinstance(name, str)), "").casefold()
    role = role.removesuffix("chunk").removesuffix("message")
    content = next((inner[key] for key in _CONTENT if key in inner), None)
    content = content or inner.get("refusal") or content
    parts = [part for part in content if isinstance(part, Mapping)] if isinstance(content, list | tuple) else []
    listed = next((native(inner[key]) for key in _CALLS if inner.get(key) is not None), None)
    invalid = _calls_among(native(inner.get("invalid_tool_calls")), all_are=True)
    failed = tuple(msgspec.structs.replace(call, error=call.error or "invalid") for call in invalid)
    calls = (*_calls_among(listed, all_are=True), *failed) or _calls_among(parts) or _calls_among([inner])
    if role not in ROLES or not (calls or content or any(key in inner for key in _CONTENT)):
        return None
    role = ROLES[role]
    contexts = _first(inner, _CONTEXTS) if role == "assistant" else list(filter(None, map(_document, parts)))
    results = tuple(result for part in parts if (result := _result(part)) is not None)
    if role == "tool" and not results:
        output = content if isinstance(content, str | list | tuple) else as_text(content)
        return Message(role, None, calls, (Result(output, _id_of(inner), _says_failed(inner)),))
    if results and len(results) == len(parts):  # which some send in the name of the user
        role = "tool"
    return Message(role, content, calls, results, contexts, inner.get("calls") is not None)


def _document(part: Mapping[str, Any]) -> dict[str, Any] | None:
    """The document or search result that is a part of a message of Anthropic, where it holds a text."""
    source = part if part.get("type") == "search_result" else part.get("source")
    if part.get("type") not in ("document", "search_result") or not isinstance(source, Mapping):
        return None
    text = source.get("data") if source.get("type") == "text" else text_of(source.get("content"))
    return {"text": text, "title": part.get("title") or ""} if text else None


def with_instructions(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row with the instructions under `system`, as Anthropic has them, as the first message.

    The name of a system stays: it does not end as a sentence, and has fewer than ten words.
    """
    system = native(row["system"])
    is_name = isinstance(system, str) and not system.rstrip().endswith((".", "!", "?")) and len(system.split()) < 10
    column = "messages" if row.get("messages") is not None else "conversations"
    said = list_of(row.get(column))
    if is_name or not isinstance(system, str | list) or not said or not isinstance(said[0], Mapping):
        return row
    instructions = {"role": "system", "content": system}
    others = {name: cell for name, cell in row.items() if name != "system"}
    return {**others, column: said if said[0] == instructions else [instructions, *said]}


#: The columns of a row that is one message.
MESSAGE_COLUMNS = {"conversation_id", "role", "content"}


def is_message(row: Any) -> bool:
    """Whether a row is one message of a conversation."""
    if not isinstance(row, Mapping) or not row.keys() >= MESSAGE_COLUMNS:
        return False
    return str(row["role"]).casefold() in ROLES and row.keys().isdisjoint(("query", "question", "response", "answer"))


def joined_messages(rows: Iterable[Any]) -> Iterator[Any]:
    """A row for each conversation of rows that are messages; those of one keep their order, and may be far apart."""
    chats: dict[Any, list[Any]] = {}
    for row in rows:
        chat = native(row.get("conversation_id")) if isinstance(row, Mapping) else None
        if not isinstance(chat, str | int | float) or chat == "":
            yield row if isinstance(row, Malformed) else Malformed("a message without conversation_id", "add it")
        else:
            held = {name: cell for name, cell in row.items() if name in MESSAGE_COLUMNS or not is_blank(native(cell))}
            chats.setdefault(chat, []).append(held)
    yield from ({"id": chat, "messages": said} for chat, said in chats.items())


def _first(fields: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((value for key in keys if (value := native(fields.get(key))) is not None), None)


def _id_of(fields: Mapping[str, Any]) -> str:
    return str(_first(fields, _IDS) or "")


def _says_failed(fields: Mapping[str, Any]) -> bool:
    return fields.get("status") == "error" or fields.get("is_error") is True or fields.get("isError") is True


def _calls_among(listed: Any, all_are: bool = False) -> tuple[ToolCall, ...]:
    """The calls among the items of a list; all_are: whether all its items are to be calls."""
    calls = []
    for item in listed if isinstance(listed, list | tuple) else ():
        fields: Any = item if isinstance(item, Mapping) else getattr(item, "__dict__", None) or {}
        inner = object_under(fields, ("tool_call", *_CALL_TYPES))
        function = (inner or fields).get("function")
        if all_are or inner or isinstance(function, Mapping) or fields.get("type") in _CALL_TYPES or "args" in fields:
            try:
                calls.append(_call(item))
            except Malformed as error:  # of the model, not of the data
                calls += [ToolCall("", error=error.problem)] if all_are else []
    return tuple(calls)


def _call(item: Any) -> ToolCall:
    """The call of a tool in the form of any framework. Raises Malformed where it has no name."""
    if isinstance(item, str):
        return ToolCall(plain_text(item))
    if isinstance(item, ToolCall):
        return item
    fields: Any = item if isinstance(item, Mapping) else getattr(item, "__dict__", {})
    outer = object_under(fields, ("tool_call", *_CALL_TYPES)) or fields
    function = object_under(outer, ("function",)) or outer
    name = function.get("name", function.get("tool_name"))
    if not isinstance(name, str) or not name.strip():
        raise Malformed(f"{describe(item)} without the name of a tool", 'write it as {"name": ..., "arguments": {...}}')
    acceptable = to_acceptable(function.get("acceptable"))
    arguments, fault = _arguments(_first(function, _ARGUMENTS) or first_choices(acceptable or {}))
    call = ToolCall(plain_text(name), arguments, _id_of(outer), acceptable=acceptable)
    output, error = _first(outer, _OUTPUTS), _first(outer, ("error",)) or ("failed" if _says_failed(outer) else "")
    return msgspec.structs.replace(
        call,
        result=None if output is None else as_text(output),
        error="; ".join(filter(None, [fault, error and as_text(error)])),
        effect=boolean(outer.get("effect")),
    )


def to_acceptable(value: Any) -> dict[str, list[Any]] | None:
    """The acceptable values of each argument of an expected call. Raises Malformed where they are no lists."""
    if value is None:
        return None
    if not isinstance(value, Mapping) or not all(isinstance(values, list) for values in value.values()):
        raise Malformed("acceptable values that are no lists", 'write {"unit": ["km", ""]}: "" if it may be left out')
    return {str(name): jsonable(values) for name, values in value.items()}


def first_choices(acceptable: Mapping[str, Any]) -> dict[str, Any]:
    """The first acceptable value of each argument, without those that may be left out."""
    lists = {name: values if isinstance(values, list) else [values] for name, values in acceptable.items()}
    return {name: _first_choice(values[0]) for name, values in lists.items() if values and "" not in values}


def _first_choice(value: Any) -> Any:
    if isinstance(value, list):
        return list(map(_first_choice, value))
    return first_choices(value) if isinstance(value, Mapping) else value


def _arguments(value: Any) -> tuple[dict[str, Any], str]:
    """The arguments of a call, and what is wrong with them."""
    if value is None or value == "":
        return {}, ""
    if isinstance(value, str):
        parsed = parse_object(value)
        if parsed is None and value.lstrip()[:1] in ("{", "["):
            return {}, f"its arguments are no JSON object: {value}"
        value = {"input": value} if parsed is None else parsed
    return jsonable(value if isinstance(value, Mapping) else {"input": value}), ""


def with_result(call: ToolCall, result: Result) -> ToolCall:
    """A call with what it gave: an error where it is marked so, or where its words begin as one."""
    text = as_text(result.content)
    if result.failed or _FAILED.match(text):
        return msgspec.structs.replace(call, error="; ".join(filter(None, [call.error, text])) or "failed")
    return msgspec.structs.replace(call, result=text)


def as_text(value: Any) -> str:
    """What a tool gave, as text: parts of text joined, anything else as JSON."""
    text = value if isinstance(value, str) else text_of(value)
    return text or ("" if value is None or value == "" else json.dumps(jsonable(value), ensure_ascii=False))


def _result(part: Mapping[str, Any]) -> Result | None:
    """What a tool gave, if a part of a message holds that."""
    inner = object_under(part, _RESULT_TYPES)
    if inner is None and part.get("type") not in _RESULT_TYPES:
        return None
    inner = part if inner is None else inner
    return Result(as_text(_first(inner, _OUTPUTS)), _id_of(inner), _says_failed(inner))


def to_calls(value: Any, strict: bool = False) -> tuple[ToolCall, ...] | None:
    """The calls of tools in a cell: ours, OpenAI's, Anthropic's, LangChain's, ragas', DeepEval's, ADK's, or names.

    strict: whether arguments that are no JSON are an error of the data, rather than of the model that made the call.
    """
    listed = _listed(value)
    if listed is None:
        return None
    calls = []
    for position, item in enumerate(listed, start=1):
        try:
            call = _call(native(item))
        except Malformed as error:
            raise Malformed(f"call {position}: {error.problem}", error.fix) from None
        if strict and call.error.startswith("its arguments"):
            raise Malformed(f"call {position}: {call.error}", "write them as a JSON object")
        calls.append(call)
    return tuple(calls)


def to_tools(value: Any) -> tuple[dict[str, Any], ...] | None:
    """The tools offered, each with its name, and its parameters under that key: OpenAI, Anthropic, Gemini, MCP."""
    listed = _listed(value)
    if listed is None:
        return None
    tools: list[dict[str, Any]] = []
    for position, item in enumerate(listed, start=1):
        item = parse_object(item) or item if isinstance(item, str) else item
        outer: Any = {"name": item} if isinstance(item, str) else item
        fields = (object_under(outer, ("function",)) or outer) if isinstance(outer, Mapping) else {}
        declared = fields.get("function_declarations")
        if isinstance(declared, list):
            tools += to_tools(declared) or ()
        elif isinstance(fields.get("name"), str):
            rest = {key: item for key, item in fields.items() if key not in ("inputSchema", "input_schema", "type")}
            schema = _first(fields, ("parameters", "inputSchema", "input_schema"))
            schema = parse_object(schema) if isinstance(schema, str) else schema
            tools.append(jsonable({**rest, **({"parameters": schema} if schema is not None else {})}))
        else:
            problem = f"tool {position}: {describe(item)} without the name of a tool"
            raise Malformed(problem, 'write it as {"name": ..., "parameters": {...}}')
    return tuple(tools)


def _listed(value: Any) -> Sequence[Any] | None:
    """The items of a cell; None where it is missing."""
    value = native(value)
    if value is None or value == "":
        return None
    if isinstance(value, str):
        value = parse_list(value) or parse_object(value) or ([] if value.strip() == "[]" else value)
    return value if isinstance(value, list | tuple) else [value]


def with_effects(sample: Sample, read_only: Sequence[str] | None) -> Sample:
    """The sample with the effects of its calls, as its tools' annotations or the list of those that only read say."""
    hints: dict[str, bool] = {}
    for tool in sample.tools or ():
        annotations = tool.get("annotations")
        if isinstance(annotations, Mapping) and isinstance(annotations.get("readOnlyHint"), bool):
            hints[tool["name"]] = not annotations["readOnlyHint"]
    if not hints and read_only is None:
        return sample

    def effect(call: ToolCall) -> bool | None:
        declared = hints.get(call.name) if read_only is None else call.name not in read_only
        return declared if call.effect is None else call.effect

    def known(calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
        return tuple(msgspec.structs.replace(call, effect=effect(call)) for call in calls)

    turns = sample.turns and tuple(msgspec.structs.replace(turn, calls=known(turn.calls)) for turn in sample.turns)
    made, expected = (calls and known(calls) for calls in (sample.tool_calls, sample.reference_tool_calls))
    return msgspec.structs.replace(sample, turns=turns, tool_calls=made, reference_tool_calls=expected)


@dataclass
class _Draft:
    """A turn that is being read."""

    role: str
    text: str = ""
    contexts: list[Any] | None = None
    calls: list[ToolCall] = field(default_factory=list)

    def retrieved(self, passages: Sequence[Any]) -> None:
        self.contexts = [*(self.contexts or ()), *passages]

    def turn(self) -> Turn:
        """The turn. Raises Malformed for a context or text that is none."""
        return Turn(self.role, plain_text(self.text), to_chunks(self.contexts), tuple(self.calls))


def _passages(content: Any) -> list[Any]:
    """What a tool gave, as the passages that it lists; one where it is no list of texts."""
    try:
        return [msgspec.structs.replace(chunk, id="") for chunk in to_chunks(content) or ()]
    except Malformed:
        return [as_text(content)]


@dataclass(frozen=True)
class Conversation:
    """A conversation, split at its last question.

    Attributes:
        turns: what was said before it.
        query: the last question; None without one.
        answers: what was said and done since.
        stray: how many results of tools have no call.
    """

    turns: tuple[Turn, ...]
    query: str | None
    answers: tuple[Turn, ...]
    stray: int = 0

    @property
    def response(self) -> str | None:
        """The last text since the question; empty where only blank ones are, None without any."""
        texts = [turn.text for turn in self.answers if turn.text.strip() or not turn.calls]
        return next((text for text in reversed(texts) if text.strip()), texts[-1] if texts else None)

    @property
    def contexts(self) -> tuple[Chunk, ...] | None:
        """What was retrieved since the question, numbered where it has no ids; None where nothing says."""
        chunks = [chunk for turn in self.answers for chunk in turn.contexts or ()]
        if all(turn.contexts is None for turn in self.answers):
            return None
        numbered = len({chunk.id for chunk in chunks}) < len(chunks)
        return to_chunks([msgspec.structs.replace(chunk, id="") if numbered else chunk for chunk in chunks])

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of tools since the question."""
        return tuple(call for turn in self.answers for call in turn.calls)

    @property
    def remarks(self) -> int:
        """How many texts since the question came before the response."""
        return max(0, sum(bool(turn.text.strip()) for turn in self.answers) - 1)

    @property
    def all_turns(self) -> tuple[Turn, ...]:
        """The whole of it."""
        return (*self.turns, *(() if self.query is None else (Turn("user", self.query),)), *self.answers)

    def field(self, name: str) -> Any:
        """What it holds of a field of a sample; None for nothing."""
        held = self.calls if name == "tool_calls" else getattr(self, name)
        return (held or None) if name in ("turns", "tool_calls") else held

    def as_history(self) -> Conversation:
        """The same as what was said before some other question."""
        return Conversation(self.all_turns, None, (), self.stray)


def conversation(said: Sequence[Message]) -> Conversation:
    """The turns of some messages: calls and results belong to the next text of the assistant."""
    drafts: list[_Draft] = []
    draft, open_calls, stray = _Draft("assistant"), list[tuple[_Draft, int]](), 0
    documents: list[Any] = []
    for message in said:
        for result in message.results:
            draft.retrieved(_passages(result.content))
            if (match := _of_result(result, open_calls)) is not None:
                holder, number = open_calls.pop(match)
                holder.calls[number] = with_result(holder.calls[number], result)
            elif result.id:
                stray += 1
        text = text_of(message.content, in_pieces=message.role == "assistant")
        if message.role in ("user", "system"):
            documents += message.contexts or ()
            drafts += [draft] if draft.calls or draft.contexts else []
            drafts.append(_Draft(message.role, text))
            draft = _Draft("assistant")
        elif message.role == "assistant":
            open_calls += [(draft, len(draft.calls) + number) for number, _ in enumerate(message.calls)]
            draft.calls += message.calls
            if documents or message.contexts is not None:
                draft.retrieved([*documents, *items(message.contexts or [])])
                documents = []
            if text.strip() or message.whole or not message.calls:
                draft.text = text
                drafts.append(draft)
                draft = _Draft("assistant")
    drafts += [draft] if draft.calls or draft.contexts else []
    asked = max((place for place, draft in enumerate(drafts) if draft.role == "user"), default=-1)
    turns = tuple(draft.turn() for draft in drafts)
    if asked < 0:
        said_before = [place for place, turn in enumerate(turns) if turn.role == "system"]
        asked = max(said_before, default=-1)
        return Conversation(turns[: asked + 1], None, turns[asked + 1 :], stray)
    return Conversation(turns[:asked], turns[asked].text, turns[asked + 1 :], stray)


def _of_result(result: Result, open_calls: Sequence[tuple[_Draft, int]]) -> int | None:
    """The place of the call that a result belongs to: by its id, else the first one without a result."""
    ids = [holder.calls[number].id for holder, number in open_calls]
    if result.id in ids:
        return ids.index(result.id)
    return 0 if ids and (not result.id or not ids[0]) else None


def text_of(content: Any, in_pieces: bool = False) -> str:
    """The text of a message, which may come in parts, of which pictures, thoughts and calls of tools are none.

    in_pieces: whether parts side by side are one text where white space or punctuation joins them, as Anthropic cuts an
    answer where it cites; other parts are lines.
    """
    texts: list[str] = []
    follows_text = False
    for part in content if isinstance(content, list | tuple) else [content]:
        part = part.get("message_content", part) if isinstance(part, Mapping) else {"text": part}
        is_text = part.get("type", "text") in ("text", "input_text", "output_text", "refusal")
        said = [part[key] for key in ("text", "content", "refusal") if is_text and isinstance(part.get(key), str)]
        for text in filter(None, said):
            if in_pieces and follows_text and (texts[-1][-1].isspace() or text[0].isspace() or text[0] in ".,;:!?)"):
                texts[-1] += text
            else:
                texts.append(text)
        follows_text = is_text and bool(texts)
    return "\n".join(texts)


def answered(turns: Sequence[Turn]) -> int:
    """How many questions of some turns were answered."""
    said = [turn.role for turn in turns if turn.role == "user" or (turn.role == "assistant" and turn.text.strip())]
    return sum(pair == ("user", "assistant") for pair in pairwise(said))


#: What of a conversation is a sample.
Per = Literal["turn", "conversation"]


def by_turn(sample: Sample) -> list[Sample]:
    """A sample for each question of a conversation, with the turns before it and what was said and done since.

    They are c#1, c#2 ... of the group c, or of the sample's own, with the number of the turn in their metadata. What is
    known of the last answer alone stays with it. Messages of the user in a row are one question, the last of them.
    Calls that are expected of a whole conversation are dropped where it has several questions.
    """
    turns = sample.turns or ()
    asked = [place for place, turn in enumerate(turns) if turn.role == "user"]
    group = sample.group or sample.id
    shared = Sample(sample.id, system=sample.system, group=group, tools=sample.tools)
    samples = []
    for place, end in pairwise([*asked, len(turns)]):
        if end == place + 1:
            continue
        chat = Conversation(turns[:place], turns[place].text, turns[place + 1 : end])
        fields = {name: chat.field(name) for name in ("turns", "query", "response", "contexts", "tool_calls")}
        if chat.answers and sample.tool_calls is not None:
            fields["tool_calls"] = chat.calls
        samples.append(msgspec.structs.replace(shared, **fields))
    expected = None if samples else sample.reference_tool_calls
    samples.append(msgspec.structs.replace(sample, group=group, reference_tool_calls=expected))
    return [
        msgspec.structs.replace(answer, id=f"{sample.id}#{turn}", metadata={**sample.metadata, TURN_KEY: turn})
        for turn, answer in enumerate(samples, start=1)
    ]


def as_conversation(sample: Sample) -> Sample:
    """A conversation as one sample: its questions, its answers, and all that was retrieved and called for them."""
    query = () if sample.query is None else (Turn("user", sample.query),)
    own = (Turn("assistant", sample.response or "", sample.contexts, sample.tool_calls or ()),)
    turns = (*(sample.turns or ()), *query, *(own if sample.response is not None else ()))
    asked = [turn.text for turn in turns if turn.role == "user"]
    answers = [turn for turn in turns if turn.role == "assistant"]
    whole = Conversation((), None, tuple(answers))
    said = [turn.text for turn in answers if turn.text.strip()]
    return msgspec.structs.replace(
        sample,
        query="\n".join(asked) or None,
        response="\n\n".join(said) if answers else None,
        contexts=whole.contexts,
        tool_calls=whole.calls or sample.tool_calls,
        turns=None,
    )
