"""What other tools export, as rows: spans of traces, logs of Inspect, sets of ADK and BFCL.

Spans are of OpenTelemetry's GenAI conventions, OpenInference, OpenLLMetry, and of other tools.
"""

from __future__ import annotations

import ast
from base64 import b64decode
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pkgutil import get_data
from typing import Any

import msgspec

from ragauge.errors import BadData
from ragauge.readers.conversations import Conversation, Result, as_text, conversation, messages, to_calls, with_result
from ragauge.readers.values import ID_KEYS, TEXT_KEYS, Malformed, list_of, native, object_under, parse_object
from ragauge.types import ToolCall

#: Paths in a span, each under the names of OpenTelemetry and Phoenix, LangSmith, Langfuse and MLflow.
_SPAN = msgspec.json.decode(get_data(__name__, "spans.json") or b"", type=dict[str, list[str]])

#: The kinds of spans -> what such a span does.
_OF_KINDS = msgspec.json.decode(get_data(__name__, "span_kinds.json") or b"", type=dict[str, list[str]])
_KINDS = {kind: does for does, kinds in _OF_KINDS.items() for kind in kinds}

#: Columns in which a trace holds its own spans: Langfuse, MLflow, LangSmith.
_CHILDREN = ("observations", "spans", "child_runs")

#: What a request of OpenTelemetry's protocol holds: spans, and records of events.
REQUEST = {"resourceSpans": ("scopeSpans", "spans"), "resourceLogs": ("scopeLogs", "logRecords")}

#: Columns of which a row that is a span, or holds spans, has one.
_COLUMNS = {*REQUEST, *_CHILDREN, "context", "context.trace_id", "trace_id", "traceId"}


def is_trace(row: Any) -> bool:
    """Whether a row is a span, or holds spans."""
    if not isinstance(row, Mapping) or _COLUMNS.isdisjoint(row):
        return False
    candidates = [row, *_children(row)]
    of_trace = (
        _at(row, "id") and _at(row, "trace") and (_kind(row) in _KINDS or _is_gen_ai(row)) for row in candidates
    )
    return any(not REQUEST.keys().isdisjoint(row) for row in candidates) or any(of_trace)


def samples_of(rows: Iterable[Any], name: str, counts: Counter[str]) -> Iterator[Any]:
    """A row for each trace, with the documents that its retrievers found.

    Spans are all held in memory, since those of a trace need not be adjacent. name: what is read, for messages. counts:
    what the traces lack is counted here; see `SampleReader.unmeasured`.
    """
    spans: list[dict[str, Any]] = []
    events: list[Mapping[str, Any]] = []
    is_whole = True
    for row in rows:
        try:
            spans += _spans(row)
            events += _records(row, "resourceLogs")
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
            fault = Malformed("no span of a trace", "export it again, or remove it")
            yield row if isinstance(row, Malformed) else fault
            is_whole = False
    _attach(events, spans)
    if is_whole or any(map(_has_text, spans)):
        yield from _traces(spans, name, counts)


def _is_gen_ai(row: Mapping[str, Any]) -> bool:
    attributes = row.get("attributes")
    return isinstance(attributes, Mapping) and any(str(key).startswith("gen_ai") for key in attributes)


def _children(row: Mapping[str, Any]) -> list[Any]:
    lists = [children for key in _CHILDREN if isinstance(children := native(row.get(key)), list)]
    return [span for spans in lists for span in spans if isinstance(span, Mapping)]


def _spans(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The spans in a row: itself, with those that it holds, or those of a request of OpenTelemetry's protocol."""
    if not REQUEST.keys().isdisjoint(row):
        yield from map(_with_events, _records(row, "resourceSpans"))
        return
    own = _with_events({key: value for key, value in row.items() if key not in _CHILDREN})
    own.setdefault("id", _at(own, "trace"))
    yield own
    for span in (span for child in _children(row) for span in _spans(child)):
        yield span if _at(span, "parent") else {**span, "parent_id": own["id"]}


def _records(row: Mapping[str, Any], part: str) -> Iterator[dict[str, Any]]:
    """The spans or events in a request of OpenTelemetry's protocol, with plain values."""
    scopes, records = REQUEST[part]
    for scope in (scope for resource in row.get(part, ()) for scope in resource.get(scopes, ())):
        for record in scope.get(records, ()):
            events = [{**event, **_plain(event)} for event in record.get("events", ())]
            yield {**record, **_plain(record), **({"events": events} if events else {})}


def _plain(record: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a span or event, and the body of an event."""
    attributes = {pair["key"]: _otlp(pair.get("value", {})) for pair in record.get("attributes", ())}
    return {"attributes": attributes, **({"body": _otlp(record["body"])} if record.get("body") else {})}


def _otlp(value: Mapping[str, Any]) -> Any:
    """A value in OpenTelemetry's protocol, such as {"stringValue": "a"}, as a plain one."""
    pair: tuple[str, Any] = next(iter(value.items()), ("", None))
    kind, held = pair
    if kind == "kvlistValue":
        return {item["key"]: _otlp(item.get("value", {})) for item in held.get("values", ())}
    return [_otlp(item) for item in held.get("values", ())] if kind == "arrayValue" else held


def _with_events(span: Mapping[str, Any]) -> dict[str, Any]:
    """A span with its dotted names as objects, and with the messages that its events hold."""
    own = _nested(span)
    events = span.get("events")
    _add_messages(own, [event for event in events if isinstance(event, Mapping)] if isinstance(events, list) else [])
    return own


#: Events, one a message -> who speaks in it, and whether the model was given it or gave it.
_SPEAKERS = {
    "gen_ai.system.message": ("system", "input"),
    "gen_ai.user.message": ("user", "input"),
    "gen_ai.assistant.message": ("assistant", "input"),
    "gen_ai.tool.message": ("tool", "input"),
    "gen_ai.choice": ("assistant", "output"),
}


def _attach(events: Sequence[Mapping[str, Any]], spans: Sequence[dict[str, Any]]) -> None:
    """Add the messages of events that were recorded as logs, each once and in time, to the spans of theirs."""
    of_span: defaultdict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for event in sorted(events, key=lambda event: str(event.get("observedTimeUnixNano") or event.get("timeUnixNano"))):
        happened = of_span[str(event.get("traceId")), str(event.get("spanId"))]
        happened += [event] if event not in happened else []
    for span in spans:
        _add_messages(span, of_span.get((str(_at(span, "trace")), str(_at(span, "id"))), []))


def _add_messages(span: dict[str, Any], events: Sequence[Mapping[str, Any]]) -> None:
    """Add the messages that events hold, one each or all in their attributes, where the span has none of its own."""
    said: dict[str, Any] = {"input": [], "output": []}
    for event in events:
        name = str(event.get("eventName") or event.get("name") or value_under(event, "attributes.event.name"))
        details = _nested({"attributes": event.get("attributes") or {}})
        if name in _SPEAKERS:
            role, side = _SPEAKERS[name]
            body = event.get("body") or value_under(details, "attributes.gen_ai.event") or details["attributes"]
            body = body if isinstance(body, Mapping) else {"content": body}
            inner = body.get("message")
            said[side].append({"role": role, **(inner if isinstance(inner, Mapping) else body)})
        for side, part in (("input", "asked"), ("output", "answered")):
            listed = _at(details, part)
            said[side] += listed if isinstance(listed, list) else []
    for side, part in (("input", "asked"), ("output", "answered")):
        if messages(said[side]) and _at(span, part) is None:
            attributes = span.get("attributes") or {}
            span["attributes"] = {**attributes, f"gen_ai.{side}.messages": said[side]}


def _nested(row: Mapping[str, Any]) -> dict[str, Any]:
    """{"documents": [{"content": "a"}]} for {"documents.0.content": "a"}; JSON texts become objects, None goes."""
    nested: dict[str, Any] = {}
    for key, value in row.items():
        place, (*path, leaf), value = nested, str(key).split("."), _parsed(value)
        for name in path:
            inner = place.get(name)
            place[name] = place = inner if isinstance(inner, dict) else {}
        if isinstance(place.get(leaf), dict) and isinstance(value, dict):
            place[leaf] |= value
        elif value is not None:
            place[leaf] = value
    return {name: _listed(value) for name, value in nested.items()}


def _parsed(value: Any) -> Any:
    value = native(value)
    if isinstance(value, str):
        return parse_object(value) or (items if messages(items := list_of(value)) else value)
    if isinstance(value, Mapping):
        return _nested(value)
    return [_parsed(item) for item in value] if isinstance(value, list | tuple) else value


def _listed(value: Any) -> Any:
    """An object with the keys 0, 1, 2 as a list, at any depth."""
    if not isinstance(value, dict):
        return value
    inner = {name: _listed(item) for name, item in value.items()}
    return list(inner.values()) if inner and all(name.isdigit() for name in inner) else inner


def _at(span: Mapping[str, Any], part: str) -> Any:
    """What a span holds at the first of the paths of a part that leads somewhere."""
    values = (native(value_under(span, path)) for path in _SPAN[part])
    return next((value for value in values if value not in (None, "")), None)


def _kind(span: Mapping[str, Any]) -> str:
    return str(_at(span, "kind")).strip('"').casefold()


def _does(span: Mapping[str, Any]) -> str:
    return _KINDS.get(_kind(span), "")


def _traces(spans: Sequence[dict[str, Any]], name: str, counts: Counter[str]) -> Iterator[dict[str, Any]]:
    """A row for each span without a parent among the others, with what the spans under it hold."""
    if spans and not any(map(_has_text, spans)):
        raise BadData(
            f"{name}: {len(spans)} spans, but none has an input or output, such as gen_ai.input.messages or "
            "attributes.input.value; switch the recording of content on, or export the spans that have it"
        )
    by_id = {str(_at(span, "id")): span for span in spans}
    under: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for key, span in sorted(by_id.items(), key=lambda pair: str(_at(pair[1], "start"))):
        under[[key, *_ancestors(key, by_id)][-1]].append(span)
    recorded = {str(_at(span, "recorded")) for span in spans if _has_text(span)} - {"None"}
    for key in filter(under.__contains__, by_id):
        counts["cut"] += not has_outer_span(by_id[key])
        if any(map(_has_text, under[key])):
            yield _row(key, under[key], by_id, counts)
        elif str(_at(by_id[key], "recorded")) not in recorded:  # else the same call was recorded twice
            counts["without_texts"] += 1


def has_outer_span(row: Mapping[str, Any]) -> bool:
    """Whether the outermost span of a trace, or its row, is that of the whole trace."""
    return _at(row, "parent") is None


def _ancestors(key: str, by_id: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The ids of the spans above a span, the nearest first."""
    ancestors: list[str] = []
    while (key := str(_at(by_id[key], "parent"))) in by_id and key not in ancestors:
        ancestors.append(key)
    return ancestors


def _has_text(span: Mapping[str, Any]) -> bool:
    return any(_at(span, part) is not None for part in ("texts", "asked", "answered"))


def _hexadecimal(id: Any) -> Any:
    """An id of a trace or span as OpenTelemetry writes it, also where protobuf has written it in base64."""
    if isinstance(id, str) and len(id) in (12, 24) and id.endswith("="):
        with suppress(ValueError):
            return b64decode(id, validate=True).hex()
    return id


def _row(key: str, spans: Sequence[dict[str, Any]], by_id: Mapping[str, Any], counts: Counter[str]) -> dict[str, Any]:
    """The row of a trace. key: the id of its outer span. spans: all of them, in time. counts: as for `samples_of`."""
    root = by_id[key]
    ids = {"trace_id": _hexadecimal(_at(root, "trace")), "span_id": _hexadecimal(key)}
    row = {**root, "id": key, **ids, "context": None, "spanId": None}
    calls_of_models = _outer_calls(spans, by_id)
    row |= {"tokens": _tokens_of(calls_of_models)}
    row |= {} if (seconds := _seconds(root)) is None else {"latency": seconds}
    costs = [cost for span in calls_of_models if isinstance(cost := _at(span, "cost"), int | float)]
    cost = sum(costs) if costs and len(costs) == len(calls_of_models) else root.get("totalCost") or None
    row |= {} if cost is None else {"cost": cost}
    if _does(root) == "retrieve":  # what it gave are the documents
        row |= {"attributes": {**root.get("attributes", {}), "output": None}, "output": None, "outputs": None}
    row |= _documents_of(spans, by_id, counts)
    row |= {} if _at(root, "texts") is not None else _texts_of(spans, by_id)
    last = next((said for span in reversed(spans) if (said := _said(span))), Conversation((), None, ()))
    row |= {"tool_calls": _calls_of(spans, last.calls) or None, "turns": last.turns or None}
    row |= {"tools": _tools_of(spans) or None}
    conversations = [name for span in spans if (name := _at(span, "conversation")) is not None]
    models = [model for span in spans if (model := _at(span, "model")) is not None]
    row |= {"group": conversations[0]} if conversations else {}
    row |= {"system": models[-1]} if models else {}
    responses = [conversation(answer).response for span in spans if (answer := messages(_at(span, "answered")))]
    counts["without_an_answer"] += bool(responses) and all(response is None for response in responses)
    return {column: value for column, value in row.items() if value is not None}


def _seconds(span: Mapping[str, Any]) -> float | None:
    start, end = (str(_at(span, part)) for part in ("start", "end"))
    if start.isdigit() and end.isdigit():
        return (int(end) - int(start)) / 1e9
    with suppress(ValueError, TypeError):
        return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    return None


def _outer_calls(spans: Sequence[dict[str, Any]], by_id: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The calls of models, each once though the span of another library may be within its own."""
    models = {str(_at(span, "id")): span for span in spans if _does(span) == "model"}
    return [span for key, span in models.items() if models.keys().isdisjoint(_ancestors(key, by_id))]


def _tokens_of(calls: Sequence[dict[str, Any]]) -> dict[str, int] | None:
    counted = {
        name: [int(number) for span in calls if str(number := _at(span, part)).isdigit()]
        for name, part in (("input", "input tokens"), ("output", "output tokens"))
    }
    return {name: sum(numbers) for name, numbers in counted.items() if any(numbers)} or None


def _said(span: Mapping[str, Any]) -> Conversation | None:
    """The conversation that a model was given, with its answer; None where the span holds none."""
    asked = messages(_at(span, "asked"))
    return conversation([*asked, *messages(_at(span, "answered"))]) if asked else None


def _tools_of(spans: Sequence[dict[str, Any]]) -> list[Any]:
    """The tools that a model was offered, each once."""
    offered = [tool for span in spans if isinstance(listed := _at(span, "offered"), list) for tool in listed]
    schemas = [value_under(tool, "tool.json_schema") or tool for tool in offered]
    return [tool for place, tool in enumerate(schemas) if tool not in schemas[:place]]


def _texts_of(spans: Sequence[dict[str, Any]], by_id: Mapping[str, Any]) -> dict[str, Any]:
    """The first question and the last answer of the outermost spans that have any."""
    depths = [(len(_ancestors(str(_at(span, "id")), by_id)), span) for span in spans]
    row: dict[str, Any] = {}
    for part, field, column, place in (("asked", "query", "inputs", 0), ("answered", "response", "outputs", -1)):
        speaking = [(depth, span) for depth, span in depths if _at(span, part) is not None]
        outermost = min((depth for depth, _ in speaking), default=0)
        said = [_at(span, part) for depth, span in speaking if depth == outermost]
        if said and (listed := messages(said[place])):
            row[field] = conversation(listed).field(field)
        elif said:
            is_object = isinstance(said[place], Mapping)
            row[column if is_object else field] = said[place] if is_object else as_text(said[place])
    searched = [
        query for span in spans if _does(span) == "retrieve" and isinstance(query := _at(span, "searched"), str)
    ]
    if inner := [text for text in searched if text in str(row.get("query"))]:  # of a prompt that holds the passages too
        row["query"] = inner[0]
    return row


def _documents_of(spans: Sequence[dict[str, Any]], by_id: Mapping[str, Any], counts: Counter[str]) -> dict[str, Any]:
    """The documents of the outermost retrievers, or of the last reranker, as a column; their ids if they lack texts."""
    own = {str(_at(span, "id")): _documents(_at(span, "documents")) for span in spans if _does(span) == "retrieve"}
    documents = [doc for key, docs in own.items() if not any(map(own.get, _ancestors(key, by_id))) for doc in docs]
    reranked = [docs for span in spans if _does(span) == "rerank" and (docs := _documents(_at(span, "reranked")))]
    if not (own or reranked):
        return {}
    documents = reranked[-1] if reranked else documents
    if all(not isinstance(doc, Mapping) or any(doc.get(key) is not None for key in TEXT_KEYS) for doc in documents):
        return {"retrieved_documents": documents}
    counts["documents_without_texts"] += 1
    ids = [next((doc[key] for key in ID_KEYS if doc.get(key) is not None), None) for doc in documents]
    return {} if None in ids else {"retrieved_context_ids": ids}


def _calls_of(spans: Sequence[dict[str, Any]], said: Sequence[ToolCall]) -> list[Any]:
    """The calls of tools that a model made in its messages or that have spans of their own, each once.

    What the model wrote are the arguments; frameworks write those of spans in forms of their own.
    """
    calls: list[Any] = list(said)
    left = list(range(len(calls)))
    for span in spans:
        if _does(span) != "tool":
            continue
        call = _call_of(span)
        same = [place for place in left if calls[place].name == call.name]
        by_id = [place for place in same if call.id == calls[place].id]
        unnamed = [place for place in same if not (call.id and calls[place].id)]
        if not (by_id or unnamed):
            calls.append(call)
        else:
            place = (by_id or unnamed)[0]
            left.remove(place)
            result = calls[place].result if call.result is None else call.result
            calls[place] = msgspec.structs.replace(calls[place], result=result, error=calls[place].error or call.error)
    return calls


def _call_of(span: Mapping[str, Any]) -> ToolCall:
    """The call of a tool that has a span of its own."""
    names = {"id": "call id", "name": "tool", "arguments": "arguments", "error": "error"}
    held = {name: value for name, part in names.items() if (value := _at(span, part)) is not None}
    if span.get("level") == "ERROR":  # of Langfuse, whose other levels may have a message too
        held["error"] = span.get("statusMessage") or "failed"
    if isinstance(held.get("arguments"), Mapping) and "input_str" in held["arguments"]:  # of LangChain
        held["arguments"] = held["arguments"]["input_str"]
    (call,) = to_calls([held]) or ()
    result = _at(span, "result")
    if result is None:
        return call
    wrapped = messages(result) or messages(value_under(result, "output"))
    results = [inner for message in wrapped for inner in message.results]
    return with_result(call, results[0] if results else Result(result))


def _documents(value: Any) -> list[Any]:
    if isinstance(value, str):
        value = list_of(value) or value
    if not isinstance(value, list):
        value = [] if value is None else [value]
    wrappers = ("document", "kwargs")  # of OpenInference and LangSmith, and of LangChain's own format
    return [(isinstance(item, Mapping) and object_under(item, wrappers)) or item for item in value]


#: Where Google's ADK keeps the cases of an evaluation set, and the results of one.
ADK_KEYS = ("eval_cases", "eval_case_results")


def value_under(value: Any, path: str) -> Any:
    """The value at a path, of whose points some may be part of names."""
    if not isinstance(value, Mapping) or path in value:
        return value[path] if isinstance(value, Mapping) else None
    name, _, rest = path.partition(".")
    return value_under(value.get(name), rest) if rest else None


def inspect_rows(log: Mapping[str, Any], samples: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The samples of a log of Inspect, without its events; epochs are a group, and one that failed has no answer."""
    repeated = value_under(log, "eval.config.epochs") not in (None, 1)
    for row in samples:
        dropped = {"events", "events_data", "attachments", *(["output", "messages"] if row.get("error") else [])}
        kept = {column: value for column, value in row.items() if column not in dropped}
        epoch = {"id": f"{row.get('id')}, epoch {row.get('epoch')}", "group": str(row.get("id"))} if repeated else {}
        yield {**kept, **epoch}


def adk_rows(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The invocations of an evaluation set of Google's ADK, or of its results, each with those before it.

    A set holds what is expected: references and reference calls. Results hold the answers and calls that were made too.
    """
    for case in document.get(ADK_KEYS[0]) or document.get(ADK_KEYS[1]) or ():
        results = case.get("eval_metric_result_per_invocation") or ()
        pairs = [(None, expected) for expected in case.get("conversation") or ()]
        pairs += [(result.get("actual_invocation"), result.get("expected_invocation")) for result in results]
        turns: list[dict[str, Any]] = []
        for number, (actual, expected) in enumerate(pairs, start=1):
            said = actual or expected or {}
            query, answer = (said.get(part) for part in ("user_content", "final_response"))
            row = {
                "id": f"{case.get('eval_id')}#{number}",
                "group": str(case.get("eval_id")),
                "turns": [*turns],
                "query": _adk_text(query),
                "references": [text] if (text := _adk_text((expected or {}).get("final_response"))) else None,
                "reference_tool_calls": value_under(expected or {}, "intermediate_data.tool_uses"),
            }
            made = value_under(actual or {}, "intermediate_data.tool_uses")
            yield row | ({"response": _adk_text(answer), "tool_calls": made} if actual else {})
            spoken = (("user", row["query"]), ("assistant", _adk_text(answer)))
            turns += [{"role": role, "content": text} for role, text in spoken if text]


def _adk_text(content: Any) -> str | None:
    parts = content.get("parts") if isinstance(content, Mapping) else None
    return "\n".join(part["text"] for part in parts or () if isinstance(part.get("text"), str)) or None


#: Types of arguments in BFCL -> those of JSON Schema.
_BFCL_TYPES = {"dict": "object", "float": "number", "tuple": "array"}

#: Columns of which the first row of a file of BFCL has one.
BFCL_COLUMNS = {"function", "involved_classes", "ground_truth", "result"}


def _is_bfcl(row: Any) -> bool:
    """Whether a row is of BFCL's files: a question with functions, acceptable answers, or a model's result."""
    if not isinstance(row, Mapping) or not isinstance(row.get("id"), str):
        return False
    question, answer = (_item(row.get(key)) for key in ("question", "ground_truth"))
    called = next(iter(answer.values()), None) if isinstance(answer, Mapping) else None
    is_answer = row.keys() == {"id", "ground_truth"} and (isinstance(answer, list) or isinstance(called, Mapping))
    is_result = "result" in row and not {"input_token_count", "traceback"}.isdisjoint(row)
    return isinstance(question, list) or ((is_result or is_answer) and "question" not in row)


def _item(value: Any) -> Any:
    """The first item of a list; None for any other value."""
    return value[0] if isinstance(value, list) and value else None


def bfcl_row(row: Any) -> Any:
    """A row of BFCL's files with columns of known names; a Malformed for what only its own checker can score."""
    if not _is_bfcl(row):
        return row
    question, answer, result = (row.get(key) for key in ("question", "ground_truth", "result"))
    made = _python_calls(result) if isinstance(result, str) else result
    if fault := _bfcl_fault(row, answer, made):
        return fault
    read = {key: value for key, value in row.items() if key not in ("question", "function", "ground_truth", "result")}
    read |= {"response": result} if isinstance(result, str) else {}
    if question:
        read |= {"messages": question[0], "tools": _json_schema(row.get("function"))}
    if answer or row["id"].removeprefix("live_").startswith("irrelevance"):
        read["reference_tool_calls"] = _bfcl_calls(answer or (), "acceptable")
    if made is not None:
        read["tool_calls"] = _bfcl_calls(made, "arguments")
    return read


def _bfcl_calls(calls: Iterable[Mapping[str, Any]], key: str) -> list[dict[str, Any]]:
    return [{"name": name, key: values} for call in calls for name, values in call.items()]


def _bfcl_fault(row: Mapping[str, Any], answer: Any, made: Any) -> Malformed | None:
    """Why a row is not scored by its calls. made: those of the model."""
    if row["id"].removeprefix("simple_").startswith("java"):
        problem = "its arguments are source text of Java or JavaScript, which is not compared"
        return Malformed(problem, "measure the other sets, or leave it out")
    if "traceback" in row:
        return Malformed(f"no answer of the model ({row.get('result')})", "run that question again, or leave it out")
    if len(row.get("question") or ()) > 1 or any(isinstance(_item(calls), list) for calls in (answer, made)):
        problem = "calls of several turns or steps, which BFCL scores by the state of its own programs after them"
        return Malformed(problem, "score them by BFCL's checker, or leave them out")
    listed = [calls for calls in (answer, made) if calls is not None]
    if all(isinstance(calls, list) and all(isinstance(call, Mapping) for call in calls) for calls in listed):
        return None
    return Malformed("an answer or result that is no list of calls", 'write [{"f": {"a": 1}}]')


def _json_schema(value: Any) -> Any:
    """Functions of BFCL with the types of JSON Schema, without those that allow anything."""
    value = parse_object(value) or value if isinstance(value, str) else value
    if isinstance(value, list):
        return list(map(_json_schema, value))
    if not isinstance(value, Mapping):
        return value
    kept = {key: _json_schema(item) for key, item in value.items() if (key, item) != ("type", "any")}
    return {**kept, "type": _BFCL_TYPES.get(kept["type"], kept["type"])} if isinstance(kept.get("type"), str) else kept


def _python_calls(text: str) -> list[dict[str, Any]]:
    """The calls in a text such as [f(a=1), g(b="x")]; none in any other text."""
    inner = text.strip("`[] \n")
    with suppress(SyntaxError, ValueError, TypeError, AttributeError, RecursionError, MemoryError):
        tree: Any = ast.parse(f"[{inner}]", mode="eval").body
        return [{ast.unparse(call.func): _python_arguments(call)} for call in tree.elts]
    return []


def _python_arguments(call: Any) -> dict[str, Any]:
    """The arguments of a call: constants, and the source text of other expressions; those without a name by place."""
    values = {str(place): value for place, value in enumerate(call.args, start=1)}
    arguments: dict[str, Any] = {}
    for name, value in [*values.items(), *((str(keyword.arg), keyword.value) for keyword in call.keywords)]:
        arguments[name] = ast.unparse(value)
        with suppress(ValueError):
            arguments[name] = ast.literal_eval(value)
    return arguments
