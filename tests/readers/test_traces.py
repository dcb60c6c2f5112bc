"""Traces by OpenTelemetry's conventions for generative AI, in the forms in which instrumentations write them."""

from __future__ import annotations

import gzip
import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import ragauge as rg
from ragauge.errors import BadRow
from ragauge.readers import read
from ragauge.types import ToolCall

QUESTION, ANSWER = "When was the bridge opened?", "It opened in 1931."
DOCUMENT = "The bridge opened in 1931."
PROMPT = f"Passages:\n[1] {DOCUMENT}\n\nQuestion: {QUESTION}"
CALL = {"type": "tool_call", "id": "c1", "name": "opening", "arguments": {"bridge": "old"}}
_TIMES = count(1)
RESULT = {"type": "tool_call_response", "id": "c1", "response": '{"year": 1931}'}


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": _value(item)} for key, item in value.items()]}}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(item) for item in value]}}
    return {"stringValue": value}


def _attributes(given: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in given.items()]


def _span(id: str, parent: str = "", trace: str = "t", **given: Any) -> dict[str, Any]:
    """A span; in the names of its attributes two underscores stand for a dot."""
    attributes = {key.replace("__", "."): value for key, value in given.items()}
    times = {"startTimeUnixNano": f"{next(_TIMES):019}"}
    return {"spanId": id, "traceId": trace, "parentSpanId": parent, **times, "attributes": _attributes(attributes)}


def _request(*spans: dict[str, Any], events: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": events}]}]} if events else {}
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}], **logs}


def _said(role: str, *parts: str | dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": p} if isinstance(p, str) else p for p in parts]}


def _said_twice() -> tuple[dict[str, Any], dict[str, Any]]:
    return _said("user", QUESTION), _said("assistant", ANSWER)


def _chat(id: str, *said: dict[str, Any], **given: Any) -> dict[str, Any]:
    """A call of a model, whose last message is its answer."""
    messages = {"gen_ai__input__messages": json.dumps(said[:-1]), "gen_ai__output__messages": json.dumps(said[-1:])}
    return _span(id, gen_ai__operation__name="chat", gen_ai__response__model="m-1", **messages, **given)


def _agent(**given: Any) -> list[dict[str, Any]]:
    """An agent's run: it retrieves, calls a tool, and answers; the outer span has no messages."""
    search = {"gen_ai__operation__name": "retrieval", "gen_ai__retrieval__query__text": QUESTION}
    documents = json.dumps([{"id": "d1", "score": 0.9, **given}])
    tool = {"gen_ai__tool__name": "opening", "gen_ai__tool__call__arguments": '{"bridge": "old"}'}
    asked = [_said("system", "Be brief."), _said("user", PROMPT)]
    return [
        _span("r", "a", **search, gen_ai__retrieval__documents=documents),
        _chat("m1", *asked, _said("assistant", CALL), parent="a"),
        _span("x", "a", gen_ai__operation__name="execute_tool", gen_ai__tool__call__result='{"year": 1931}', **tool),
        _chat("m2", *asked, _said("assistant", CALL), _said("user", RESULT), _said("assistant", ANSWER), parent="a"),
        _span("a", gen_ai__operation__name="invoke_agent", gen_ai__conversation__id="c9"),
    ]


@pytest.mark.parametrize("name", ["one.json", "one.json.gz", "one.jsonl", "spans.jsonl"])
def test_an_agents_run_is_one_sample(tmp_path: Path, name: str) -> None:
    """Of spans in any order come the bare question, the last answer, the documents, the conversation and the calls."""
    spans = _agent(content=DOCUMENT)
    requests = [_request(*spans)] if name.startswith("one") else [_request(span) for span in spans]
    text = "\n".join(map(json.dumps, requests))
    (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    (sample,) = read(tmp_path / name)
    assert (sample.id, sample.query, sample.response) == ("a", QUESTION, ANSWER)
    assert [(chunk.id, chunk.text) for chunk in sample.contexts or ()] == [("d1", DOCUMENT)]
    assert (sample.group, sample.system, sample.metadata["trace_id"]) == ("c9", "m-1", "t")
    assert sample.tool_calls == (ToolCall("opening", {"bridge": "old"}, "c1", result='{"year": 1931}'),)


def test_a_trace_without_a_call_says_so_where_tools_are_known() -> None:
    """Beside a trace with a call, or joined to expected calls, a whole trace has none; a cut or plain one is silent."""
    lazy, cut = (_request(_chat(id, *_said_twice(), trace=id, parent=up)) for id, up in (("u", ""), ("v", "gone")))
    calls = {sample.metadata["trace_id"]: sample.tool_calls for sample in read([_request(*_agent()), lazy, cut])}
    assert (len(calls["t"] or ()), calls["u"], calls["v"]) == (1, (), None)
    assert next(iter(read([lazy]))).tool_calls is None
    (joined,) = rg.join([{"query": QUESTION, "expected_tools": [{"name": "opening"}]}], [lazy]).samples
    assert joined.tool_calls == ()


def test_one_request_as_an_object_in_memory() -> None:
    """A dict that is a request of OpenTelemetry's protocol is no table of columns."""
    (sample,) = read(_request(*_agent(content=DOCUMENT)))
    assert sample.response == ANSWER


def test_documents_without_texts_are_missing_contexts() -> None:
    """Documents of which the trace has ids alone are no contexts; their ids measure retrieval, and a note says so."""
    run = rg.evaluate(_request(*_agent()), "answer_relevance", "lexical")
    sample = run.scores[0].sample
    assert (sample.contexts, sample.metadata["retrieved_context_ids"]) == (None, ["d1"])
    assert "as their documents have no texts: 1;" in " ".join(str(run).split())


def test_a_corpus_gives_the_texts_of_ids(tmp_path: Path) -> None:
    """Documents are looked up by id: without a corpus metrics of contexts are undefined, a gap is refused."""
    row = {"query": "q", "response": "r"}
    trace = row | {"trace_id": "t", "retrieved_context_ids": ["d1"]}
    run = rg.evaluate([trace, row | {"contexts": ["c"]}], "faithfulness", "lexical")
    assert "the trace holds ids, not texts" in (run.scores[0]["faithfulness"].undefined or "")
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(json.dumps({"id": "d1", "text": DOCUMENT}))
    (sample,) = read(_request(*_agent()), corpus=corpus)
    assert [(chunk.id, chunk.text) for chunk in sample.contexts or ()] == [("d1", DOCUMENT)]
    corpus.write_text(json.dumps({"id": "other", "text": DOCUMENT}))
    with pytest.raises(BadRow, match="document 'd1' is not in the corpus"):
        list(read(_request(*_agent()), corpus=corpus))
    corpus.write_text('{"id": "d1", "q": "Who?"}')
    with pytest.raises(rg.errors.BadData, match=r"corpus\.jsonl: item 1 has no text among 'id', 'q'; give its text"):
        read(_request(*_agent()), corpus=corpus)


def test_a_trace_says_what_it_took() -> None:
    """Latency is that of the outer span; tokens and cost count once, though two libraries recorded the same call.

    A trace of which one call has no cost has none.
    """
    usage: dict[str, Any] = {
        "gen_ai__usage__input_tokens": "7",
        "gen_ai__usage__output_tokens": "2",
        "gen_ai__usage__cost": 0.25,
    }
    outer = _chat("m", _said("user", QUESTION), _said("assistant", ANSWER), **usage)
    inner = _span("n", "m", gen_ai__operation__name="chat", **usage)
    outer |= {"startTimeUnixNano": "1000000000", "endTimeUnixNano": "1500000000"}
    (sample,) = read(_request(outer, inner))
    taken = [sample.metadata[name] for name in ("latency", "tokens", "cost")]
    assert taken == [0.5, {"input": 7, "output": 2}, 0.25]
    outer["parentSpanId"], unpriced = "a", _chat("o", *_said_twice(), parent="a")
    (partly,) = read(_request(_span("a", gen_ai__operation__name="invoke_agent"), outer, inner, unpriced))
    assert "cost" not in partly.metadata


def test_calls_without_an_outer_span() -> None:
    """Where each call of a model is a trace, one that ends with a call of a tool has no answer, and a note says so."""
    asked = _said("user", PROMPT)
    first = _chat("m1", asked, _said("assistant", CALL), trace="t1")
    second = _chat("m2", asked, _said("assistant", CALL), _said("tool", RESULT), _said("assistant", ANSWER), trace="t2")
    run = rg.evaluate(_request(first, second), "answer_relevance", "lexical")
    assert [(scores.sample.query, scores.sample.response) for scores in run.scores] == [
        (PROMPT, None),
        (PROMPT, ANSWER),
    ]
    assert run.scores[0].sample.contexts is None
    notes = " ".join(str(run).split())
    assert "as they end with a call of a tool: 1;" in notes
    assert "Calls of tools not measured: 2" in notes


def test_messages_in_events() -> None:
    """Messages that were recorded as events, one each, belong to the span in which they happened."""
    place = {"traceId": "t", "spanId": "m"}
    events = [
        {**place, "eventName": "gen_ai.user.message", "body": _value({"content": QUESTION})},
        {**place, "eventName": "gen_ai.choice", "body": _value({"index": "0", "message": {"content": ANSWER}})},
    ]
    (sample,) = read([_request(_span("m", gen_ai__operation__name="chat")), _request(events=events)])
    assert (sample.query, sample.response) == (QUESTION, ANSWER)


def test_events_are_read_in_time_and_once() -> None:
    """Events that come in another order than they happened in, or twice, are the same conversation."""
    said = [("user", "What is old?"), ("assistant", "The bridge."), ("user", QUESTION)]
    events = [
        {
            "traceId": "t",
            "spanId": "m",
            "observedTimeUnixNano": f"{time:019}",
            "eventName": f"gen_ai.{role}.message",
            "body": _value({"content": text}),
        }
        for time, (role, text) in enumerate(said)
    ]
    requests = [_request(events=[event]) for event in reversed(events * 2)]
    (sample,) = read([_request(_span("m", gen_ai__operation__name="chat")), *requests])
    assert [turn.text for turn in sample.turns or ()] == ["What is old?", "The bridge."]
    assert sample.query == QUESTION


def test_messages_in_one_event_of_the_span() -> None:
    """Messages in the attributes of a span's own event count as its own."""
    messages = {"input": [_said("user", QUESTION)], "output": [_said("assistant", ANSWER)]}
    attributes = _attributes({f"gen_ai.{side}.messages": found for side, found in messages.items()})
    event = {"name": "gen_ai.client.inference.operation.details", "attributes": attributes}
    (sample,) = read([_request({**_span("m", gen_ai__operation__name="chat"), "events": [event]})])
    assert (sample.query, sample.response) == (QUESTION, ANSWER)


def test_a_call_that_was_recorded_twice_counts_once() -> None:
    """A span without messages for a call that another span has with them is left out without a word."""
    asked, answered = _said("user", QUESTION), _said("assistant", ANSWER)
    told = _chat("m", asked, answered, gen_ai__response__id="r1")
    bare = _span("n", trace="u", gen_ai__operation__name="chat", gen_ai__response__id="r1")
    reading = read([_request(bare, told)])
    assert [sample.response for sample in reading] == [ANSWER]
    assert not +reading.unmeasured


def test_openllmetry_wraps_what_its_spans_hold() -> None:
    """The inputs, outputs and documents of OpenLLMetry are those within its wrappers."""
    documents = {"documents": [{"page_content": DOCUMENT, "metadata": {"source": "d1"}}]}
    outer = {"traceloop__entity__input": json.dumps({"inputs": QUESTION, "tags": []})}
    outer["traceloop__entity__output"] = json.dumps({"outputs": ANSWER})
    outer["traceloop__association__properties__session_id"] = "c9"
    inner = {"gen_ai__operation__name": "vector_db_retrieve", "traceloop__entity__output": json.dumps(documents)}
    created = _span("c", trace="u", gen_ai__operation__name="create_agent")
    reading = read([_request(created, _span("r", "w", **inner), _span("w", traceloop__span__kind="workflow", **outer))])
    (sample,) = reading
    assert (sample.query, sample.response, sample.group) == (QUESTION, ANSWER, "c9")
    assert [chunk.text for chunk in sample.contexts or ()] == [DOCUMENT]
    assert reading.unmeasured["without_texts"] == 1


def test_a_trace_that_is_cut_in_half_is_counted() -> None:
    """Where the outermost span is not there, what is left is read, and the report says so."""
    cut = _span("w", "gone", session__id="c9", input__value=QUESTION, output__value=ANSWER)
    reading = read([_request(cut)])
    assert [sample.query for sample in reading] == [QUESTION]
    assert reading.unmeasured["cut"] == 1
    said = {
        f"traceloop__entity__{put}put": json.dumps({f"{put}puts": held})
        for put, held in (("in", QUESTION), ("out", [{"update": 1}]))
    }
    inner = _span("i", "gone", traceloop__span__kind="task", **said)
    assert [sample.response for sample in read([_request(inner)])] == ['[{"update": 1}]']


def test_a_line_that_is_cut_is_named_before_what_the_rest_lacks(tmp_path: Path) -> None:
    """Where a line is broken, it is the error, and not that the spans on the others have no texts."""
    path = tmp_path / "traces.jsonl"
    path.write_text(json.dumps(_request(_span("m", gen_ai__operation__name="chat"))) + '\n{"resourceLogs": [{"sco')
    with pytest.raises(BadRow, match="line 2 is not JSON"):
        list(read(path))


def test_metrics_of_contexts_say_what_the_traces_lack() -> None:
    """Without documents the message says so, and with ids alone which option looks up their texts."""
    for spans, reason in ((_agent(), "ids, not texts: --corpus FILE"), ([_chat("m", *_said_twice())], "hold none")):
        with pytest.raises(rg.errors.MissingField, match=reason):
            rg.evaluate(_request(*spans), "faithfulness")


def test_of_nested_retrievers_the_outer_one_counts() -> None:
    """Documents that a retriever hands up are there once, and what a reranker gave replaces them."""
    root = {"openinference__span__kind": "CHAIN", "input__value": QUESTION, "output__value": ANSWER}
    outer = {"openinference__span__kind": "RETRIEVER", "retrieval__documents__0__document__content": DOCUMENT}
    inner = {"openinference__span__kind": "RETRIEVER", "output__value": '["<Node(id=1)>"]'}
    spans = [_span("w", session__id="c9", **root), _span("o", "w", **outer), _span("i", "o", **inner)]
    (sample,) = read([_request(*spans)])
    assert (sample.group, [chunk.text for chunk in sample.contexts or ()]) == ("c9", [DOCUMENT])
    ranked = {"openinference__span__kind": "RERANKER", "reranker__output_documents__0__document__content": "Best."}
    (sample,) = read([_request(*spans, _span("k", "w", **ranked))])
    assert [chunk.text for chunk in sample.contexts or ()] == ["Best."]


@pytest.mark.shared
def test_real_traces(shared: Path) -> None:
    """What fourteen instrumentations wrote is read without options: answers, conversations, contexts, and calls."""
    expected = json.loads((shared / "data/traces/expected.json").read_text(encoding="utf-8"))
    for name, wanted in expected.items():
        answered = [sample for sample in read(shared / "data/traces" / name) if sample.response]
        assert len(answered) == len(wanted["answers"]), name
        for sample, answer in zip(answered, wanted["answers"], strict=True):
            assert (sample.query or "").endswith(answer["query"]), name
            assert sample.response == answer["response"], name
            assert sample.group == (wanted["conversation"] if wanted["conversation_in_trace"] else None), name
            contexts = answer["contexts"] if wanted["contexts_as"] == "retriever spans" else None
            assert (sample.contexts and [chunk.text for chunk in sample.contexts]) == contexts, name
            calls = [(call.name, call.arguments, json.loads(call.result or "")) for call in sample.tool_calls or ()]
            wanted_calls = [(call["name"], call["arguments"], call["result"]) for call in answer["calls"]]
            assert calls == wanted_calls, name
