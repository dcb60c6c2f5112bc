"""What other tools export, as rows that have columns: conversations, the spans of traces, and logs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

from ragauge.errors import BadData
from ragauge.readers.values import Malformed, native, parse_list, parse_object

#: Who speaks in a conversation -> the field that holds what was said: OpenAI, LangChain, Gemini, ShareGPT, ragas.
ROLES = {
    **dict.fromkeys(("user", "human"), "query"),
    **dict.fromkeys(("assistant", "ai", "model", "gpt"), "response"),
    **dict.fromkeys(("tool", "function", "retriever", "retrieval", "context"), "contexts"),
    **dict.fromkeys(("system", "developer"), ""),
}


#: A message of a conversation: the field that its role fills, "" for none; and a text, or what a tool gave.
Message = tuple[str, Any]


def messages(value: Any) -> list[Message]:
    """The messages of a conversation, or of one message; none for any other value."""
    value = [value] if isinstance(value, Mapping) or hasattr(value, "content") else value
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):  # a batch of LangChain's models
        value = value[0]
    if not isinstance(value, list | tuple) or any(isinstance(item, str) for item in value):
        return []
    found = [_message(item) for item in value]
    return [one for one in found if one] if all(found) else []


def _message(item: Any) -> Message | None:
    fields: Any = item if isinstance(item, Mapping) else getattr(item, "__dict__", {})
    inner = next((fields[key] for key in ("message", "kwargs", "data") if isinstance(fields.get(key), Mapping)), fields)
    role = next((found for key in ("role", "type", "from") if isinstance(found := inner.get(key), str)), "").casefold()
    contents = [inner[key] for key in ("content", "contents", "parts", "value", "tool_calls") if key in inner]
    return (ROLES[role], contents[0]) if contents and role in ROLES else None


def content_of(conversation: Sequence[Message], field: str) -> Any:
    """The last question of a conversation, the last answer to it, or for "contexts" what tools gave; None without."""
    if field == "contexts":
        return [content for fills, content in conversation if fills == "contexts"] or None
    asked = max((place for place, (fills, _) in enumerate(conversation) if fills == "query"), default=-1)
    part = conversation[max(asked, 0) : asked + 1] if field == "query" else conversation[asked + 1 :]
    texts = [_text(content) for fills, content in part if fills == field]
    return next((text for text in reversed(texts) if text.strip()), texts[-1] if texts else None)


def _text(content: Any) -> str:
    """The text of a message, which may come in parts, of which pictures, thoughts and calls of tools are none."""
    texts = []
    for part in content if isinstance(content, list | tuple) else [content]:
        part = part.get("message_content", part) if isinstance(part, Mapping) else {"text": part}
        if part.get("type", "text") in ("text", "input_text", "output_text"):
            texts += [part[key] for key in ("text", "content") if isinstance(part.get(key), str)]
    return "\n".join(filter(None, texts))


#: Paths in a span, each under the names of OpenTelemetry and Phoenix, LangSmith, Langfuse and MLflow.
_SPAN = {
    "id": "context.span_id span_id spanId id",
    "trace": "context.trace_id trace_id traceId",
    "parent": "parent_id parent_span_id parentSpanId parent_run_id parent_observation_id parentObservationId",
    "kind": "attributes.openinference.span.kind span_kind run_type attributes.mlflow.spanType type",
    "start": "start_time startTime startTimeUnixNano start_time_unix_nano",
    "documents": """attributes.retrieval.documents attributes.output.value.documents attributes.output.value
        attributes.mlflow.spanOutputs outputs.documents outputs.output output.documents outputs output""",
    "texts": "attributes.input attributes.output attributes.llm inputs outputs input output request response",
}

_KINDS = """chain llm chat_model retriever embedding reranker tool agent guardrail evaluator prompt parser span
    generation event unknown""".split()

#: Columns in which a trace holds its own spans: Langfuse, MLflow, LangSmith.
_CHILDREN = ("observations", "spans", "child_runs")


def samples_of(rows: Iterable[Any], name: str) -> Iterator[Any]:
    """The rows; where the first is a span, one for each trace, with the documents that its retrievers found.

    Spans are all held in memory, since those of a trace need not be adjacent. name: what is read, for messages.
    """
    rows = iter(rows)
    first = next(rows, None)
    found = [first, *_children(first)] if isinstance(first, Mapping) else []
    of_trace = (_at(span, "id") and _at(span, "trace") and _kind(span) in _KINDS for span in found)
    if not any("resourceSpans" in span for span in found) and not any(of_trace):
        yield from rows if first is None else chain([first], rows)
        return
    spans: list[dict[str, Any]] = []
    for row in chain([first], rows):
        try:
            spans += _spans(row)
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
            fault = Malformed("no span of a trace", "export it again, or remove it")
            yield row if isinstance(row, Malformed) else fault
    yield from _traces(spans, name)


def _children(row: Mapping[str, Any]) -> list[Any]:
    lists = [found for key in _CHILDREN if isinstance(found := native(row.get(key)), list)]
    return [span for spans in lists for span in spans if isinstance(span, Mapping)]


def _spans(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The spans in a row: itself, with those that it holds, or those of a request of OpenTelemetry's protocol."""
    if "resourceSpans" in row:
        scopes = (scope for resource in row["resourceSpans"] for scope in resource["scopeSpans"])
        for span in (span for scope in scopes for span in scope["spans"]):
            yield _nested({**span, "attributes": {one["key"]: _otlp(one["value"]) for one in span["attributes"]}})
        return
    own = _nested({key: value for key, value in row.items() if key not in _CHILDREN})
    own.setdefault("id", _at(own, "trace"))
    yield own
    for span in (span for child in _children(row) for span in _spans(child)):
        yield span if _at(span, "parent") else {**span, "parent_id": own["id"]}


def _otlp(value: Mapping[str, Any]) -> Any:
    """The value of an attribute in OpenTelemetry's protocol, such as {"stringValue": "a"}."""
    ((_, found),) = value.items() or [("", None)]
    return [_otlp(item) for item in found.get("values", ())] if isinstance(found, Mapping) else found


def _nested(row: Mapping[str, Any]) -> dict[str, Any]:
    """{"documents": [{"content": "a"}]} for {"documents.0.content": "a"}; JSON texts become objects, None goes."""
    found: dict[str, Any] = {}
    for key, value in row.items():
        place, (*path, leaf), value = found, str(key).split("."), _parsed(value)
        for name in path:
            inner = place.get(name)
            place[name] = place = inner if isinstance(inner, dict) else {}
        if isinstance(place.get(leaf), dict) and isinstance(value, dict):
            place[leaf] |= value
        elif value is not None:
            place[leaf] = value
    return {name: _listed(value) for name, value in found.items()}


def _parsed(value: Any) -> Any:
    value = native(value)
    if isinstance(value, str):
        return parse_object(value) or (found if messages(found := _list_in(value)) else value)
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
    values = (native(_under(span, path)) for path in _SPAN[part].split())
    return next((value for value in values if value not in (None, "")), None)


def _under(value: Any, path: str) -> Any:
    """The value at a path, of whose points some may be part of names."""
    if not isinstance(value, Mapping) or path in value:
        return value[path] if isinstance(value, Mapping) else None
    name, _, rest = path.partition(".")
    return _under(value.get(name), rest) if rest else None


def _kind(span: Mapping[str, Any]) -> str:
    return str(_at(span, "kind")).strip('"').casefold()


def _traces(spans: Sequence[dict[str, Any]], name: str) -> Iterator[dict[str, Any]]:
    """The spans without a parent among the others, each with the documents of the retrievers under it, in time."""
    by_id = {str(_at(span, "id")): span for span in spans}
    found: defaultdict[str, list[Any]] = defaultdict(list)
    retrieved = [span for span in spans if _kind(span) == "retriever"]
    for span in sorted(retrieved, key=lambda span: str(_at(span, "start"))):
        root, seen = span, set()
        while (parent := str(_at(root, "parent"))) in by_id and parent not in seen:
            seen.add(parent)
            root = by_id[parent]
        found[str(_at(root, "id"))] += _documents(_at(span, "documents"))
    roots = {key: span for key, span in by_id.items() if str(_at(span, "parent")) not in by_id}
    if spans and not any(_at(root, "texts") for root in roots.values()):
        raise BadData(
            f"{name}: {len(spans)} spans, but no outer one has an input or output (OpenInference: "
            "attributes.input.value, attributes.output.value); record them, or export the spans that have them"
        )
    for key, root in roots.items():
        row = {**root, "id": key, "trace_id": _at(root, "trace"), "context": None, "span_id": None, "spanId": None}
        if _kind(root) == "retriever":  # what it gave are the documents
            attributes = {**root.get("attributes", {}), "output": None}
            row |= {"attributes": attributes, "output": None, "outputs": None}
        if key in found:
            row["retrieved_documents"] = found[key]
        yield {column: value for column, value in row.items() if value is not None}


def _list_in(text: str) -> list[Any]:
    """The list that is written in a text; empty for a text that only begins as a list does."""
    with suppress(Malformed):
        return parse_list(text) or []
    return []


def _documents(value: Any) -> list[Any]:
    if isinstance(value, str):
        value = _list_in(value) or value
    listed = value if isinstance(value, list) else [] if value is None else [value]
    return [item.get("document", item) if isinstance(item, Mapping) else item for item in listed]


def inspect_rows(log: Mapping[str, Any], samples: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The samples of a log of Inspect, without its events; epochs are a group, and one that failed has no answer."""
    repeated = _under(log, "eval.config.epochs") not in (None, 1)
    for row in samples:
        dropped = {"events", "events_data", "attachments", *(["output", "messages"] if row.get("error") else [])}
        kept = {column: value for column, value in row.items() if column not in dropped}
        epoch = {"id": f"{row.get('id')}, epoch {row.get('epoch')}", "group": str(row.get("id"))} if repeated else {}
        yield {**kept, **epoch}
