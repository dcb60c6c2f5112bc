"""Files that other tools export, as those tools wrote them (exports/README.md says how), and conversations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import datasets
import pandas as pd
import pytest

from ragauge import evaluate
from ragauge.errors import BadData, BadRow, UnknownName
from ragauge.readers import read
from ragauge.types import Sample, ToolCall, Turn

EXPORTS = Path(__file__).parent / "exports"

QUESTIONS = ("Who built the bridge?", "When was it opened?")
ANSWERS = ("Two brothers built it.", "It opened in 1931.")
DOCUMENTS = ("Two brothers built the bridge.", "The bridge opened in 1931.")
TUNNEL = "A tunnel runs under it."


def _texts(sample: Sample) -> list[str] | None:
    return None if sample.contexts is None else [chunk.text for chunk in sample.contexts]


def _in_order(samples: list[Sample]) -> list[Sample]:
    """The samples in the order of the questions; some tools list the latest first."""
    return sorted(samples, key=lambda sample: QUESTIONS.index(sample.query or ""))


#: File -> what it retrieved for each question besides its document, and the references.
FILES: dict[str, tuple[list[str], list[tuple[str, ...] | None]]] = {
    "promptfoo.yaml": ([], [("Two brothers.",), ("In 1931.",)]),
    "promptfoo.json": ([], [("Two brothers.",), ("In 1931.",)]),
    "promptfoo.jsonl": ([], [("Two brothers.",), ("In 1931.",)]),
    "deepeval_test_run.json": ([], [("Two brothers.",), ("In 1931.",)]),
    "azure.jsonl": ([], [("Two brothers.",), ("In 1931.",)]),
    "bedrock.jsonl": ([], [("Two brothers.",), ("In 1931.",)]),
    "openinference.json": ([TUNNEL], [None, None]),
    "otlp.jsonl": ([TUNNEL], [None, None]),
    "phoenix.json": ([TUNNEL], [None, None]),
    "phoenix.parquet": ([TUNNEL], [None, None]),
    "phoenix_to_json.json": ([TUNNEL], [None, None]),
    "langfuse.jsonl": ([], [None, None]),
    "inspect.eval": ([], [("Two brothers",), ("1931", "In 1931")]),
    "mlflow_table.json": ([], [("Two brothers.",), ("In 1931.",)]),
    "mlflow_genai.json": ([], [("Two brothers.",), ("In 1931.",)]),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_tool_is_read_as_it_is(name: str) -> None:
    """Question, answer, retrieved documents and references of two samples are found in the file of every tool."""
    more, references = FILES[name]
    samples = _in_order(list(read(EXPORTS / name)))
    assert [(sample.query, sample.response) for sample in samples] == list(zip(QUESTIONS, ANSWERS, strict=True))
    assert [_texts(sample) for sample in samples] == [[document, *more] for document in DOCUMENTS]
    assert [sample.references for sample in samples] == references


def test_data_sets_and_predictions_of_llama_index(tmp_path: Path) -> None:
    """The reference answers of a `LabelledRagDataset`, and the answers and contexts of its predictions, are read."""
    by = {"model_name": "bridge-bot", "type": "ai"}
    example = {"query": QUESTIONS[0], "query_by": by, "reference_contexts": [DOCUMENTS[0]]}
    example |= {"reference_answer": ANSWERS[0], "reference_answer_by": by}
    prediction = {"response": ANSWERS[0], "contexts": [DOCUMENTS[0]]}
    (tmp_path / "set.json").write_text(json.dumps({"examples": [example]}), encoding="utf-8")
    (tmp_path / "predictions.json").write_text(json.dumps({"predictions": [prediction]}), encoding="utf-8")
    (asked,), (answered,) = read(tmp_path / "set.json"), read(tmp_path / "predictions.json")
    assert (asked.query, asked.references) == (QUESTIONS[0], (ANSWERS[0],))
    assert (answered.response, _texts(answered)) == (ANSWERS[0], [DOCUMENTS[0]])


def test_yaml_that_is_broken_or_grows_is_refused(tmp_path: Path) -> None:
    """YAML that cannot be read, contains itself, or multiplies by references is an error that names the file."""
    grows = "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
    for letter, before in zip("bcdefghij", "abcdefghi", strict=True):
        grows += f"{letter}: &{letter} [{', '.join([f'*{before}'] * 10)}]\n"
    for text in ("a: [", "&a [*a]", grows):
        (tmp_path / "rows.yaml").write_text(text, encoding="utf-8")
        with pytest.raises(BadData, match=r"rows\.yaml"):
            list(read(tmp_path / "rows.yaml"))


def test_every_stored_file_is_described() -> None:
    """The list of files says of each which tool wrote it."""
    page = (EXPORTS / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in EXPORTS.iterdir() if f"`{path.name}`" not in page and path.suffix != ".md"] == []


def test_a_frame_of_phoenix_is_read_as_its_file() -> None:
    """The frame of `get_spans_dataframe` gives the samples of its Parquet file, under the ids of the outer spans."""
    frame = pd.read_parquet(EXPORTS / "phoenix.parquet")
    reading = read(frame)
    assert [(sample.id, sample.query, _texts(sample)) for sample in reading] == [
        (sample.id, sample.query, _texts(sample)) for sample in read(EXPORTS / "phoenix.parquet")
    ]
    assert [sample.id for sample in reading] == list(frame[frame.parent_id.isna()]["context.span_id"])
    assert reading.columns["query"] == "attributes.input.value.question"


def test_spans_of_retrievers_alone() -> None:
    """Where only the retrievers were exported, their documents are the contexts, and nobody answered."""
    frame = pd.read_parquet(EXPORTS / "phoenix.parquet")
    samples = _in_order(list(read(frame[frame.span_kind == "RETRIEVER"])))
    assert [(sample.response, _texts(sample)) for sample in samples] == [(None, [one, TUNNEL]) for one in DOCUMENTS]


def test_spans_of_models_alone() -> None:
    """Where only the calls of a model were exported, its messages are question and answer, and it is the system."""
    frame = pd.read_parquet(EXPORTS / "phoenix.parquet")
    samples = _in_order(list(read(frame[frame.span_kind == "LLM"])))
    assert [(sample.response, sample.system) for sample in samples] == [(answer, "small") for answer in ANSWERS]


def test_spans_without_texts_are_refused() -> None:
    """Traces that recorded neither input nor output are recognised, and the attributes that lack are named."""
    frame = pd.read_parquet(EXPORTS / "phoenix.parquet")
    bare = frame.drop(
        columns=[
            name for name in frame.columns if name.startswith(("attributes.input", "attributes.o", "attributes.l"))
        ]
    )
    with pytest.raises(
        BadData, match=r"DataFrame of 6 rows: 6 spans, but none has an input or output, .*attributes\.input\.value"
    ):
        read(bare)


def test_a_trace_of_langfuse_with_its_observations() -> None:
    """A trace as Langfuse's page downloads it holds its observations, among them what a retriever found."""
    rows = [json.loads(line) for line in (EXPORTS / "langfuse.jsonl").read_text(encoding="utf-8").splitlines()]
    trace = {"id": "t0", "name": "answer", "input": {"question": QUESTIONS[0]}, "output": ANSWERS[0]}
    (sample,) = read([{**trace, "observations": [row for row in rows if row["traceId"] == "t0"]}])
    assert (sample.id, sample.query, sample.response, _texts(sample)) == (
        "t0",
        QUESTIONS[0],
        ANSWERS[0],
        [DOCUMENTS[0]],
    )


def test_what_langfuse_says_of_a_run() -> None:
    """A tool of level ERROR has failed; model, tokens, cost and latency are of the observations, or of the trace."""
    call = {"name": "find", "args": {"id": 7}, "id": "c"}
    model: dict[str, Any] = {
        "id": "m",
        "traceId": "t",
        "type": "GENERATION",
        "model": "small",
        "input": [{"role": "user", "content": "?"}],
    }
    model["output"] = {"role": "assistant", "content": None, "tool_calls": [call]}
    tool = {"id": "x", "traceId": "t", "type": "TOOL", "name": "find", "level": "ERROR", "statusMessage": "timeout"}
    trace = {"id": "t", "input": "?", "output": "!", "latency": 1.5, "totalCost": 0.002}

    def sample_of(**more: Any) -> Sample:
        (sample,) = read([{**trace, "observations": [{**model, **more}, tool]}])
        return sample

    sample = sample_of(usage={"input": 100, "output": 20, "unit": "TOKENS"})
    assert ([made.error for made in sample.tool_calls or ()], sample.system) == (["timeout"], "small")
    spent = {"tokens": {"input": 100, "output": 20}, "cost": 0.002, "latency": 1.5}
    assert {name: sample.metadata[name] for name in spent} == spent
    sample = sample_of(usageDetails={"input": 7, "output": 2}, costDetails={"total": 0.25})
    assert (sample.metadata["tokens"], sample.metadata["cost"]) == ({"input": 7, "output": 2}, 0.25)


def test_a_sample_of_inspect_that_failed_has_no_answer(tmp_path: Path) -> None:
    """Inspect writes an empty completion for a sample whose solver raised; it is absent, not an empty answer.

    The parts of this log are deflated, as versions of Inspect before Zstandard wrote them.
    """
    log = json.loads((EXPORTS / "inspect_epochs.json").read_text(encoding="utf-8"))
    failed = {"error": {"message": "the search failed"}, "output": {"model": "m", "choices": [], "completion": ""}}
    log["eval"]["config"]["epochs"] = 1
    with ZipFile(tmp_path / "failed.eval", "w", ZIP_DEFLATED) as parts:
        parts.writestr("header.json", json.dumps({"status": "success", "eval": log["eval"]}))
        for number, sample in enumerate(log["samples"][:2]):
            parts.writestr(f"samples/{number}.json", json.dumps(sample | (failed if number else {})))
    good, bad = read(tmp_path / "failed.eval")
    assert (good.response in ANSWERS, bad.response, bad.metadata["error"]) == (True, None, failed["error"])


def test_epochs_of_inspect_are_one_group() -> None:
    """The samples of several epochs have ids of their own, and those of one question are a group."""
    samples = list(read(EXPORTS / "inspect_epochs.json"))
    assert sorted(sample.id for sample in samples) == [f"{name}, epoch {n}" for name in ("when", "who") for n in (1, 2)]
    assert {sample.group for sample in samples} == {"when", "who"}
    assert all(sample.response in ANSWERS for sample in samples)


def test_a_log_of_inspect_without_samples_is_refused() -> None:
    """A log that kept no samples is recognised, and the message says why it has none."""
    with pytest.raises(BadData, match=r"inspect_no_samples\.eval: a log of Inspect without samples, .*log_samples"):
        read(EXPORTS / "inspect_no_samples.eval")


@pytest.mark.parametrize("size", [0, 200, 2000])
def test_a_damaged_log_of_inspect_is_refused(tmp_path: Path, size: int) -> None:
    """What is left of a log that was cut off is refused with its name."""
    (tmp_path / "cut.eval").write_bytes((EXPORTS / "inspect.eval").read_bytes()[:size] or b"x")
    with pytest.raises(BadData, match=r"cut\.eval: not a whole log of Inspect"):
        read(tmp_path / "cut.eval")


def test_promptfoo_says_what_it_tested() -> None:
    """The provider is the system, the rows of one test are a group, and the rest is metadata."""
    first, second = read(EXPORTS / "promptfoo.json")
    assert (first.system, first.group, second.group) == ("bridge-bot", "0", "1")
    assert first.metadata["score"] == 1
    assert str(first.metadata["prompt.raw"]).startswith("Context: ")


def test_the_prompt_of_promptfoo_is_the_query_where_no_variable_is() -> None:
    """With variables of other names, what was asked is the prompt as it was sent."""
    row = {
        "vars": {"topic": "tea", "tone": "dry"},
        "prompt": {"raw": "On tea.", "label": "p"},
        "response": {"output": "Hot."},
    }
    (sample,) = read([row])
    assert (sample.query, sample.response) == ("On tea.", "Hot.")
    (mapped,) = read([row], map={"query": "vars.topic"})
    assert mapped.query == "tea"


def test_results_of_a_langsmith_experiment() -> None:
    """The frame of `get_test_results` has columns such as `outputs.answer` and `reference.answer`."""
    (sample,) = read(
        pd.DataFrame([{"input.question": "q", "outputs.answer": "a", "reference.answer": "r", "feedback.x": 1.0}])
    )
    assert (sample.query, sample.response, sample.references) == ("q", "a", ("r",))


CONVERSATION = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": [{"type": "text", "text": "Who"}, {"type": "text", "text": "built it?"}]},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "find"}}]},
    {"role": "tool", "tool_call_id": "1", "content": '["Two brothers.", "In 1931."]'},
    {"role": "assistant", "content": "Two brothers."},
]


def test_a_conversation_is_its_last_question_and_answer() -> None:
    """Of chat `messages`, the last question, the last answer, what tools gave and were called with, and the rest."""
    reading = read([{"messages": CONVERSATION}])
    (sample,) = reading
    assert reading.columns == dict.fromkeys(("query", "response", "contexts", "turns", "tool_calls"), "messages")
    assert (sample.query, sample.response, _texts(sample)) == (
        "Who\nbuilt it?",
        "Two brothers.",
        ["Two brothers.", "In 1931."],
    )
    assert sample.turns == (Turn("system", "Be brief."), Turn("user", "Hello"), Turn("assistant", "Hello."))
    assert sample.tool_calls == (ToolCall("find", id="1", result='["Two brothers.", "In 1931."]'),)


@pytest.mark.parametrize(
    "turns",
    [
        [{"type": "human", "content": "Q"}, {"type": "tool", "content": "C"}, {"type": "ai", "content": "A"}],
        [{"from": "human", "value": "Q"}, {"from": "tool", "value": "C"}, {"from": "gpt", "value": "A"}],
        [
            {"role": "user", "parts": [{"type": "text", "content": "Q"}]},
            {"role": "tool", "parts": [{"type": "text", "content": "C"}]},
            {"role": "assistant", "parts": [{"type": "reasoning", "content": "x"}, {"type": "text", "content": "A"}]},
        ],
        [
            {"message": {"role": "user", "content": "Q"}},
            {"message": {"role": "tool", "content": "C"}},
            {"message": {"role": "assistant", "content": "A"}},
        ],
    ],
    ids=["ragas", "ShareGPT", "OpenTelemetry", "OpenInference"],
)
def test_conversations_in_the_forms_of_others(turns: list[Any]) -> None:
    """Messages are known by role, type or sender, whatever holds their text; ragas has them as `user_input`."""
    (sample,) = read([{"user_input": turns, "reference": "R"}])
    assert (sample.query, sample.response, _texts(sample), sample.references) == ("Q", "A", ["C"], ("R",))


def test_columns_of_their_own_go_before_a_conversation() -> None:
    """Where question, answer and contexts have columns, messages that end otherwise are the turns before."""
    (sample,) = read([{"question": "q", "answer": "a", "contexts": ["c"], "messages": CONVERSATION}])
    assert (sample.query, sample.response, _texts(sample)) == ("q", "a", ["c"])
    assert [turn.text for turn in sample.turns or ()][2:] == ["Hello.", "Who\nbuilt it?", "Two brothers."]


def test_what_of_a_conversation_was_not_measured_is_said() -> None:
    """The report counts earlier answers and calls of tools, and names columns that no metric reads, each once."""
    row = {"messages": CONVERSATION, "topic": "bridges"}
    run = evaluate([row, row | {"messages": CONVERSATION[3:]}], "max_words(100)")
    notes = " ".join(str(run).split())
    assert notes.count("Earlier answers of conversations not measured: 1 in 1;") == 1
    assert notes.count("Calls of tools not measured: 2 in 2.") == 1
    assert notes.count("Columns that no metric reads: topic.") == 1
    kept = run.to_dict()["run"]
    assert (kept["unmeasured"]["earlier_answers"], kept["unread"]) == (1, ("topic",))


@pytest.mark.parametrize(
    "messages",
    [
        [
            {"role": "user", "content": "Q"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "find", "input": {"q": "Q"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "C"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "A"}]},
        ],
        [
            {"role": "user", "content": "Q"},
            {"type": "function_call", "call_id": "1", "name": "find", "arguments": '{"q": "Q"}'},
            {"type": "function_call_output", "call_id": "1", "output": "C"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "A"}]},
        ],
        [
            {"role": "user", "parts": [{"text": "Q"}]},
            {"role": "model", "parts": [{"function_call": {"name": "find", "args": {"q": "Q"}}}]},
            {"role": "user", "parts": [{"function_response": {"name": "find", "response": {"found": "C"}}}]},
            {"role": "model", "parts": [{"text": "A"}]},
        ],
    ],
    ids=["Anthropic", "OpenAI Responses", "Gemini"],
)
def test_results_of_tools_are_not_questions(messages: list[Any]) -> None:
    """What a tool gave is a context whoever sends it, and a message that only calls a tool is no answer."""
    reading = read([{"messages": messages}])
    (sample,) = reading
    assert (sample.query, sample.response) == ("Q", "A")
    assert _texts(sample) in (["C"], ['{"found": "C"}'])
    assert reading.unmeasured["calls"] == 1
    (unanswered,) = read([{"messages": messages[:2]}])
    assert unanswered.response is None


def test_a_conversation_that_ends_with_a_question_has_no_answer() -> None:
    """What was said before the last question does not answer it."""
    (sample,) = read([{"messages": CONVERSATION[:4]}])
    assert (sample.query, sample.response, sample.contexts) == ("Who\nbuilt it?", None, None)


def test_the_answer_of_a_conversation_may_be_mapped_to_the_references() -> None:
    """In a file for fine-tuning the answers were written by people, which the caller's map says."""
    (sample,) = read([{"messages": CONVERSATION}], map={"references": "messages", "response": ""})
    assert (sample.query, sample.response, sample.references) == ("Who\nbuilt it?", None, ("Two brothers.",))


def test_map_reaches_as_deep_as_needed() -> None:
    """Points lead through objects, the places of lists, and objects that are written as text in a cell."""
    row = {"trace": {"steps": [{"out": {"text": "A"}}]}, "asked": '{"body": {"text": "Q"}}', "n": 1}
    (sample,) = read([row], map={"query": "asked.body.text", "response": "trace.steps.0.out.text"})
    assert (sample.query, sample.response, sample.metadata) == ("Q", "A", {"n": 1})
    with pytest.raises(UnknownName, match=r"unknown column 'trace\.step'; did you mean"):
        read([row], map={"query": "trace.step"})


def test_what_pandas_writes_by_default_is_a_table(tmp_path: Path) -> None:
    """`to_json` without and with `orient="split"` give the rows of the frame, whatever its index."""
    frame = pd.DataFrame({"question": ["q1", "q2", "q3"], "answer": ["a1", "a2", "a3"]})
    for form in ("columns", "split"):
        frame[1:].to_json(tmp_path / "rows.json", orient=form)
        assert [(one.query, one.response) for one in read(tmp_path / "rows.json")] == [("q2", "a2"), ("q3", "a3")]


@pytest.mark.parametrize("form", ["pandas", "arrow", "polars", "numpy"])
@pytest.mark.parametrize("stream", [False, True])
def test_hugging_face_sets_in_any_format(form: str, stream: bool) -> None:
    """A set that gives frames or tables is read row by row like any other."""
    found = datasets.Dataset.from_dict({"question": ["q1", "q2"], "answer": ["a1", "a2"], "contexts": [["c"], ["d"]]})
    given = (found.to_iterable_dataset() if stream else found).with_format(form)
    assert [(one.query, one.response, _texts(one)) for one in read(given)] == [("q1", "a1", ["c"]), ("q2", "a2", ["d"])]


def test_a_hugging_face_set_keeps_its_transform() -> None:
    """Rows that a caller's function makes of a batch stay as it makes them."""
    found = datasets.Dataset.from_dict({"x": ["q"]}).with_transform(
        lambda batch: {"query": [f"{one}!" for one in batch["x"]]}
    )
    assert [sample.query for sample in read(found)] == ["q!"]


@pytest.mark.parametrize(
    "row",
    [{"resourceSpans": 3}, {"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": 1}]}]}]}],
)
def test_a_broken_request_is_one_bad_row(row: dict[str, Any]) -> None:
    """What only looks like spans is refused by its number."""
    with pytest.raises(BadRow, match=r"no span of a trace; export it again"):
        list(read([row]))


def _invocation(query: str, answer: str, *calls: dict[str, Any]) -> dict[str, Any]:
    """An invocation as Google's ADK writes it."""
    return {
        "invocation_id": "i",
        "user_content": {"parts": [{"text": query}], "role": "user"},
        "final_response": {"parts": [{"text": answer}], "role": "model"},
        "intermediate_data": {"tool_uses": list(calls), "intermediate_responses": []},
        "creation_timestamp": 0.0,
    }


ROLL = {"id": "1", "name": "roll", "args": {"sides": 6}}


def test_an_evaluation_set_of_adk_holds_what_is_expected(tmp_path: Path) -> None:
    """Each invocation is a sample with the ones before it, a reference, and reference calls."""
    case = {"eval_id": "dice", "conversation": [_invocation("Roll.", "A 4.", ROLL), _invocation("Again.", "A 5.")]}
    path = tmp_path / "dice.evalset.json"
    path.write_text(json.dumps({"eval_set_id": "s", "eval_cases": [case]}))
    first, second = read(path)
    assert (first.id, first.group, first.query, first.references) == ("dice#1", "dice", "Roll.", ("A 4.",))
    assert first.reference_tool_calls is not None
    assert (first.reference_tool_calls[0].signature, first.response) == ("roll(sides=6)", None)
    assert [turn.text for turn in second.turns or ()] == ["Roll.", "A 4."]


def test_results_of_adk_hold_what_was_made(tmp_path: Path) -> None:
    """The answers and calls that were made stand beside the expected ones."""
    pair = {
        "actual_invocation": _invocation("Roll.", "A 6."),
        "expected_invocation": _invocation("Roll.", "A 4.", ROLL),
    }
    case = {"eval_id": "dice", "eval_metric_result_per_invocation": [pair]}
    path = tmp_path / "dice.evalset_result.json"
    path.write_text(json.dumps({"eval_set_result_id": "r", "eval_case_results": [case]}))
    (sample,) = read(path)
    assert (sample.response, sample.references, sample.tool_calls) == ("A 6.", ("A 4.",), ())


def test_an_error_in_place_of_a_response_is_no_response() -> None:
    """A row of promptfoo whose provider failed leaves the other rows readable, and its own without a response."""
    of_row = {"vars": {"question": "Who?", "context": "Ada."}, "provider": {"id": "bot"}}
    results = [{**of_row, "response": {"output": "Ada."}}, {**of_row, "response": {"error": "API error: 500"}}]
    samples = list(read({"results": {"version": 3, "results": results}}))
    assert [(sample.query, sample.response) for sample in samples] == [("Who?", "Ada."), ("Who?", None)]
    with pytest.raises(BadRow, match="column 'response': an object, not text"):
        list(read([{"query": "Who?", "response": {"error": "no such user"}}]))
