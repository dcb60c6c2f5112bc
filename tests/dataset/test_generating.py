from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ragauge as rg
from ragauge.datasets import generate
from ragauge.datasets.generator import REFUSAL_SENTENCE, AnswerBrief, answer_in, answer_prompt
from ragauge.errors import BadParameter, UsageError
from ragauge.judges.llm.judge import model_client
from ragauge.judges.llm.messages import Completion
from ragauge.store import Store
from ragauge.text import trust_eval
from ragauge.text.refusals import refusal
from ragauge.types import Chunk, Failure, Sample

ROWS: list[dict[str, Any]] = [
    {"id": f"s{n}", "query": f"How is tea {n}?", "contexts": [{"text": "Tea is hot.", "title": "Tea"}, "Ice is cold."]}
    for n in range(3)
]
SAMPLE = Sample("1", "How is tea?", contexts=(Chunk("Tea is hot.", "a", "Tea"), Chunk("Ice.", "b")))


def test_each_sample_is_answered(system: Any) -> None:
    """Every sample comes out in order with the response and the name of the system."""
    generated = generate(ROWS, system(lambda document: f"{document['question'][-2]} [1]."))
    assert [(one.id, one.response, one.system) for one in generated.samples] == [
        (f"s{n}", f"{n} [1].", "system") for n in range(3)
    ]
    assert (generated.answered, generated.refused, generated.asked) == (3, 0, 3)


def test_texts_are_data() -> None:
    """Question, titles and documents stand in the user's JSON, numbered from 1; the instructions hold none of them."""
    asked = answer_prompt(SAMPLE, AnswerBrief())
    assert json.loads(asked.user) == {
        "question": "How is tea?",
        "documents": {"1": {"title": "Tea", "text": "Tea is hot."}, "2": {"text": "Ice."}},
    }
    assert "Tea" not in asked.system
    assert REFUSAL_SENTENCE in asked.system


@pytest.mark.parametrize("form", ["prose", "list"])
def test_the_refusal_is_an_option(form: Any) -> None:
    """The instructions name the refusal that is asked for, or ask for an answer in any case."""
    assert "Nothing found." in answer_prompt(SAMPLE, AnswerBrief(form, "Nothing found.")).system
    assert "do not decline" in answer_prompt(SAMPLE, AnswerBrief(form, "")).system
    assert REFUSAL_SENTENCE not in answer_prompt(SAMPLE, AnswerBrief(form, "")).system


def test_the_usual_refusal_is_known_for_one() -> None:
    """Trust-Eval's match and our own detector both know the sentence that systems are instructed to use."""
    assert trust_eval.is_refusal(REFUSAL_SENTENCE)
    assert refusal(REFUSAL_SENTENCE)


def test_a_refusal_in_ones_own_words_is_known_afterwards(system: Any, judge: rg.judges.Judge, tmp_path: Path) -> None:
    """The sentence goes with the samples: it is a refusal here, for citations, and where the file is measured."""
    generated = generate(ROWS[:1], system("Nothing on file."), refusal="Nothing on file!", cite=judge)
    assert (generated.refused, generated.cited) == (1, 0)
    run = rg.evaluate(generated.save(tmp_path / "answers.jsonl"), "refusal,citation_recall", judge)
    assert run.values("refusal") == [1.0]
    assert run.values("citation_recall") == [None]
    again = generate(generated.samples, system("Nothing on file."), refusal="")
    assert again.refused == 0
    assert rg.evaluate(again.samples, "refusal", judge).values("refusal") == [0.0]


def test_nothing_is_asked_twice(system: Any, tmp_path: Path) -> None:
    """Equal prompts are asked once, side by side or in another run; another manner or another system is asked anew."""
    first = system()
    generate([{**ROWS[0], "id": str(n)} for n in range(5)], first, store=tmp_path)
    assert len(first.asked) == 1
    again = system()
    assert generate(ROWS[:1], again, store=tmp_path).reused == 1
    assert again.asked == []
    generate(ROWS[:1], again, store=tmp_path, form="list")
    generate(ROWS[:1], again, store=tmp_path, top=1)
    assert len(again.asked) == 2
    assert generate(ROWS[:1], lambda messages: "x", store=tmp_path).asked == 1


def test_only_the_first_documents_are_shown_and_kept(system: Any) -> None:
    """`top` cuts the documents of the prompt and of the sample alike, so that citations point at what was shown."""
    asked = system()
    (sample,) = generate(ROWS[:1], asked, top=1).samples
    assert list(json.loads(asked.asked[0][1]["content"])["documents"]) == ["1"]
    assert len(sample.contexts or ()) == 1


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"query": "q", "response": "old"}, "no_documents: the sample has no contexts"),
        ({"contexts": ["c"], "response": "old"}, "no_query"),
    ],
)
def test_a_sample_that_cannot_be_asked_is_kept_with_the_reason(row: dict[str, Any], reason: str, system: Any) -> None:
    """It has no response, not even an older one, and is not asked."""
    asked = system()
    (sample,) = generate([row], asked).samples
    assert sample.response is None
    assert sample.metadata["failed"]["response"].startswith(reason)
    assert asked.asked == []


def test_nothing_retrieved_is_a_question_for_the_system(system: Any) -> None:
    """A sample for which nothing was retrieved is asked: to decline is part of what is measured."""
    generated = generate([{"query": "q", "contexts": []}], system(REFUSAL_SENTENCE))
    assert (generated.answered, generated.refused, generated.samples[0].response) == (1, 1, REFUSAL_SENTENCE)


def test_empty_answers_are_answers(system: Any) -> None:
    """An empty answer is kept as one, and counted."""
    generated = generate(ROWS[:1], system("  "))
    assert (generated.answered, generated.empty, generated.samples[0].response) == (1, 1, "")


def test_a_system_that_fails_is_reported_for_each_sample(system: Any) -> None:
    """An exception for one sample is its reason; the others are answered."""

    def reply(document: dict[str, Any]) -> str:
        if document["question"] == "How is tea 1?":
            raise OSError("no memory")
        return "Hot."

    generated = generate(ROWS, model_client(system(reply)))
    assert [sample.response for sample in generated.samples] == ["Hot.", None, "Hot."]
    assert "OSError: no memory" in generated.samples[1].metadata["failed"]["response"]
    assert generated.failures == {"response": 1}


@pytest.mark.parametrize(
    ("text", "finish", "outcome"),
    [
        ('{"answer": " Hot [1]. "}', "stop", "Hot [1]."),
        ('Here:\n```json\n{"answer": "Hot."}\n```', "stop", "Hot."),
        ("Hot, as [1] says.", "stop", "Hot, as [1] says."),
        ('{"reply": "Hot."}', "stop", "invalid_answer"),
        ("", "stop", "invalid_answer"),
        ('{"answer": 7}', "stop", "invalid_answer"),
        ('{"answer": "Hot."} Or rather: {"answer": "Cold."}', "stop", "invalid_answer"),
        ('{"answer": "Hot.", "answer": "Cold."}', "stop", "invalid_answer"),
        ('{"answer": "Ho', "length", "truncated"),
        ("", "content_filter", "content_filter"),
        ("No.", "refusal", "refused"),
    ],
)
def test_replies_are_read(text: str, finish: Any, outcome: str) -> None:
    """The answer is the text under "answer", or a plain text as it is; all else is a failure with a reason."""
    found = answer_in(Completion(text, finish))
    assert (found.reason if isinstance(found, Failure) else found) == outcome


def test_a_bad_reply_is_asked_for_once_more(tmp_path: Path) -> None:
    """The second try quotes the first reply; the answer it brings is kept under the prompt of the first."""
    sent: list[list[dict[str, str]]] = []

    def stubborn(messages: list[dict[str, str]]) -> str:
        sent.append(messages)
        return '{"wrong": 1}' if len(messages) == 2 else '{"answer": "Hot."}'

    line = model_client(stubborn, name="stubborn")
    assert generate(ROWS[:1], line, store=tmp_path).samples[0].response == "Hot."
    assert [message["role"] for message in sent[1]] == ["system", "user", "assistant", "user"]
    assert generate(ROWS[:1], line, store=tmp_path).reused == 1


def test_answers_without_citations_get_those_that_a_judge_finds(system: Any, judge: rg.judges.Judge) -> None:
    """Each sentence gets the first document that entails it, before its full stop; one that none entails gets none."""
    (sample,) = generate(ROWS[:1], system("Ice is cold. Salt is white. Tea is hot!"), cite=judge).samples
    assert sample.response == "Ice is cold [2]. Salt is white. Tea is hot [1]!"
    assert sample.metadata["cited_by"] == "words"


@pytest.mark.parametrize(
    "answer",
    ["Ice is cold [1]. Tea is hot.", "Ice is cold (1). Tea is hot.", "Ice is cold [9].", REFUSAL_SENTENCE, "", "Salt."],
)
def test_nothing_is_added_where_nothing_is_called_for(answer: str, system: Any, judge: rg.judges.Judge) -> None:
    """An answer that cites, a refusal, an empty answer, and one that no document entails stay as they are."""
    generated = generate(ROWS[:1], system(answer), cite=judge)
    assert (generated.samples[0].response, generated.cited) == (answer, 0)
    assert "cited_by" not in generated.samples[0].metadata


def test_items_of_a_list_are_cited_one_by_one(system: Any, judge: rg.judges.Judge) -> None:
    """In a list each item gets its document."""
    (sample,) = generate(ROWS[:1], system("Tea, Ice, Salt"), form="list", cite=judge).samples
    assert sample.response == "Tea [1], Ice [2], Salt"


def test_a_real_server_answers(stub_server: Callable[..., Any], tmp_path: Path) -> None:
    """Over HTTP: faults on the way are tried again, calls are recorded, and a second run sends nothing."""
    server = stub_server(script="429,ok,500,ok", retry_after="0")
    model = f"openai/gpt-4o-mini?base_url={server.url}"
    rows = [{"query": f"Is kettle {n} warm?", "contexts": ["Ice is cold.", "The kettle is warm."]} for n in range(3)]
    generated = generate(rows, model, store=tmp_path)
    assert {sample.response for sample in generated.samples} == {"The kettle is warm [2]."}
    assert generated.spent.calls == 3
    assert generated.spent.cost > 0
    with Store.open(tmp_path) as store:
        assert len(list(store.calls())) == 3
    before = server.stats()["calls"]
    assert generate(rows, model, store=tmp_path).reused == 3
    assert server.stats()["calls"] == before


def test_money_is_limited(stub_server: Callable[..., Any], tmp_path: Path) -> None:
    """At the limit the rest is left without a response, and says why; with more money only the rest is asked."""
    server = stub_server()
    rows = [{**ROWS[0], "id": str(n), "query": f"How is tea {n}?"} for n in range(20)]
    model = f"openai/gpt-4o-mini?base_url={server.url}&price=100:100&concurrency=1"
    short = generate(rows, model, store=tmp_path, max_cost=0.5)
    missing = [sample for sample in short.samples if sample.response is None]
    assert 0 < len(missing) < 20
    assert short.spent.cost <= 0.5
    assert short.asked == short.spent.calls == short.answered
    assert "the limit of $0.5 was reached" in short.stopped
    assert all(sample.metadata["failed"]["response"].startswith("stopped:") for sample in missing)
    rest = generate(rows, model, store=tmp_path, max_cost=50)
    assert (rest.asked, rest.answered, rest.stopped) == (len(missing), 20, "")
    assert all("failed" not in sample.metadata for sample in rest.samples)


def test_a_limit_needs_a_price(system: Any) -> None:
    """A limit in dollars means nothing for a model whose price is not known."""
    with pytest.raises(BadParameter, match="a limit on the cost needs the price of system"):
        generate(ROWS, system(), max_cost=1)


def test_a_wrong_key_stops_the_rest(stub_server: Callable[..., Any], tmp_path: Path) -> None:
    """Once the server refuses the key nothing more is sent or counted as a call, and every sample says so."""
    server = stub_server(key="right")
    rows = [{**ROWS[0], "id": str(n), "query": str(n)} for n in range(9)]
    generated = generate(rows, f"openai/m?base_url={server.url}&concurrency=1", store=tmp_path)
    assert generated.answered == 0
    assert "unauthorized" in generated.samples[-1].metadata["failed"]["response"]
    assert generated.spent.calls == server.stats()["calls"] == 1
    with Store.open(tmp_path) as store:
        assert len(list(store.calls())) == 1


def test_a_missing_key_is_reported_unless_nothing_is_asked(
    stub_server: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a key nothing is asked; where the store holds every answer none is needed."""
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", stub_server().root)
    for name in ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_KEY", "AZURE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    model = "azure/gpt-4o-mini"
    with pytest.raises(UsageError, match="set AZURE_OPENAI_API_KEY to your key of azure"):
        generate(ROWS, model, store=tmp_path)
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    assert generate(ROWS, model, store=tmp_path).answered == 3
    monkeypatch.delenv("AZURE_OPENAI_API_KEY")
    assert generate(ROWS, model, store=tmp_path).reused == 3


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_killed_generation_goes_on(stub_server: Callable[..., Any], tmp_path: Path) -> None:
    """Killed by SIGKILL and run again, only those answers are asked for that the store does not hold."""
    server = stub_server(latency=0.05)
    rows = [{**ROWS[0], "id": str(n), "query": f"How is tea {n}?"} for n in range(60)]
    (tmp_path / "samples.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    model = f"openai/m?base_url={server.url}&concurrency=4"
    command = [sys.executable, "-m", "ragauge", "generate", "samples.jsonl", "-j", model, "-o", "answers.jsonl"]
    environment = {**os.environ, "PYTHONPATH": str(Path(rg.__file__).parents[1])}
    child = subprocess.Popen(command, cwd=tmp_path, env=environment)
    while server.stats()["calls"] < 20:
        assert child.poll() is None
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.wait(timeout=30)
    assert not (tmp_path / "answers.jsonl").exists()
    before = server.stats()["calls"]
    assert 20 <= before < 60
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert 60 <= server.stats()["calls"] <= 60 + 4
    assert len((tmp_path / "answers.jsonl").read_text(encoding="utf-8").splitlines()) == 60
