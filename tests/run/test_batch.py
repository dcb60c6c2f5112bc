"""Batches: export, results by hand, import, round after round."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.llm import batching
from tests.llm.batching import METRICS, SPEC, answered, lines, settings, take, waves_of
from tests.llm.stub.fixture import StubFactory

import ragauge as rg
from ragauge.run.batch.export import ExportedBatch, export
from ragauge.run.batch.folder import LEDGER, Folder
from ragauge.store import Store

pytestmark = pytest.mark.usefixtures("key")


def test_the_round_trip_gives_the_scores_of_a_live_run(tmp_path: Path, stub_server: StubFactory) -> None:
    """Twenty samples by two rounds of replies by hand: a run then asks nothing, and scores as a live run does."""
    server = stub_server()
    spec = f"{SPEC}?base_url={server.url}"
    asked = settings(tmp_path, count=20, judge=spec)
    with Folder.make(tmp_path / "batch", asked) as folder:
        waves = list(waves_of(folder, tmp_path))
    assert [wave.requests for wave in waves] == [20, 20, 0]
    assert waves[-1].done
    assert server.stats()["calls"] == 0

    run = rg.evaluate(asked.data, METRICS, spec, asked.store)
    assert (run.record.asked, server.stats()["calls"]) == (0, 0)
    live = rg.evaluate(asked.data, METRICS, spec)
    assert live.record.asked > 0
    assert run.estimates == live.estimates
    assert [dict(one) for one in run.scores] == [dict(one) for one in live.scores]
    assert all(estimate.n == 20 for estimate in run.estimates.values())


def test_a_batch_asks_what_a_live_run_asks(tmp_path: Path, stub_server: StubFactory) -> None:
    """The bodies of the requests are those of the calls of a live run, but for the number that each call has there."""
    server = stub_server(record=tmp_path / "record.jsonl")
    asked = settings(tmp_path, count=2, judge=f"{SPEC}?base_url={server.url}")
    with Folder.make(tmp_path / "batch", asked) as folder:
        waves = list(waves_of(folder, tmp_path))
    exported = [line["body"] for wave in waves for path in wave.files for line in lines(path)]
    rg.evaluate(asked.data, METRICS, asked.judge)
    live = [line["body"] for line in lines(tmp_path / "record.jsonl")]
    for body in live:
        document, schema = body["messages"][-1], body["response_format"]["json_schema"]["schema"]
        document["content"], replaced = re.subn(r',"call":\d{6}}$', "}", document["content"])
        assert replaced == 1
        assert schema["properties"].pop("call") == {"type": "integer"}
        schema["required"].remove("call")
    assert sorted(map(json.dumps, exported)) == sorted(map(json.dumps, live))


def test_the_form_of_the_lines(tmp_path: Path) -> None:
    """OpenAI's lines have an id, a method, a path and a body; Anthropic's an id and parameters; none is there twice."""
    with Folder.make(tmp_path / "batch", settings(tmp_path)) as folder:
        exported = export(folder)
    (path,) = exported.files
    found = lines(path)
    assert all(set(line) == {"custom_id", "method", "url", "body"} for line in found)
    assert {line["url"] for line in found} == {"/v1/chat/completions"}
    assert len({line["custom_id"] for line in found}) == len(found) == 6
    assert "東京 🎈" in path.read_text(encoding="utf-8")
    with Folder.make(tmp_path / "other", settings(tmp_path, judge="anthropic/claude-haiku-4-5")) as folder:
        found = lines(export(folder).files[0])
    assert all(set(line) == {"custom_id", "params"} for line in found)
    assert found[0]["params"]["model"] == "claude-haiku-4-5"


def test_results_may_come_in_parts_and_in_disorder(tmp_path: Path) -> None:
    """Half of the results make half of the next round; nothing that is under way is written twice."""
    with Folder.make(tmp_path / "batch", settings(tmp_path)) as folder:
        found = lines(export(folder).files[0])
        first, second = found[::2], found[1::2]
        assert take(folder, tmp_path, map(answered, first)).replies == 3
        again = export(folder)
        assert (again.requests, again.waiting) == (3, 3)
        assert take(folder, tmp_path, map(answered, second)).replies == 3
        again = export(folder)
        assert (again.requests, again.waiting) == (3, 3)


def test_judges_that_are_no_models_answer_at_once(tmp_path: Path) -> None:
    """Where the embedded judge takes texts apart, the first round has the verdicts."""
    asked = settings(tmp_path, judge={"decompose": "embedded", "*": SPEC}, metrics="faithfulness")
    with Folder.make(tmp_path / "batch", asked) as folder:
        first = export(folder)
        assert (first.requests, first.questions) == (6, 12)
        assert "entail" in lines(first.files[0])[0]["body"]["messages"][1]["content"]
        list(waves_of(folder, tmp_path))


def test_two_models_have_files_of_their_own(tmp_path: Path) -> None:
    """Judges by kind that are two models are asked in two files, each in the form of its provider."""
    asked = settings(tmp_path, judge={"decompose": SPEC, "relevant": SPEC, "*": "anthropic/claude-haiku-4-5"})
    with Folder.make(tmp_path / "batch", asked) as folder:
        take(folder, tmp_path, map(answered, lines(export(folder).files[0])))
        second = export(folder)
        forms = [set(lines(path)[0]) for path in second.files]
        for path in second.files:
            made = [answered(line) if "body" in line else batching.answered_message(line) for line in lines(path)]
            take(folder, tmp_path, made)
        assert export(folder).done
    assert len(second.files) == 2
    assert {"custom_id", "params"} in forms


def test_files_keep_to_the_limits_of_the_provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A round that is more than one batch may hold goes into several files, each within the limits."""
    from ragauge.judges.llm.transport.batches import LIMITS, BatchLimit

    monkeypatch.setitem(LIMITS, "chat", BatchLimit(4, 10**6))
    with Folder.make(tmp_path / "batch", settings(tmp_path)) as folder:
        assert [len(lines(path)) for path in export(folder).files] == [4, 2]
    monkeypatch.setitem(LIMITS, "chat", BatchLimit(100, 9000))
    with Folder.make(tmp_path / "other", settings(tmp_path)) as folder:
        files = export(folder).files
    assert len(files) > 2
    assert all(path.stat().st_size <= 9000 for path in files)


def test_nothing_to_ask_is_done_at_once(tmp_path: Path) -> None:
    """With all answers in the store, or no question asked by any metric, nothing is written."""
    with Folder.make(tmp_path / "batch", settings(tmp_path)) as folder:
        list(waves_of(folder, tmp_path))
    with Folder.make(tmp_path / "again", settings(tmp_path)) as folder:
        assert export(folder) == ExportedBatch()
    with Folder.make(tmp_path / "cheap", settings(tmp_path, metrics="bleu", judge=SPEC)) as folder:
        assert export(folder).done
    assert sorted(path.name for path in (tmp_path / "cheap").iterdir()) == [LEDGER]


def test_tokens_and_price_are_counted_once(tmp_path: Path) -> None:
    """Each reply is a call in the store at the batch's half of the price; the judgments that came of it name it."""
    asked = settings(tmp_path)
    with Folder.make(tmp_path / "batch", asked) as folder:
        exported = export(folder)
        made = list(map(answered, lines(exported.files[0])))
        imported = take(folder, tmp_path, made)
        take(folder, tmp_path, made)
    assert exported.dollars is not None
    assert exported.dollars > 0
    half = 6 * (1000 * 0.15 + 100 * 0.60) / 1e6 / 2
    assert imported.spent.cost == pytest.approx(half)
    with Store.open(asked.store) as store:
        calls = list(store.calls())
        assert {one.call for one in store.judgments()} == {call.id for call in calls}
    assert len(calls) == 6


def test_the_price_may_be_unknown(tmp_path: Path) -> None:
    """A model without a known price, and a provider of which it is not known what a batch costs, cost None, never 0."""
    for spec in ("openai/none-such", "groq/llama?price=1:2"):
        with Folder.make(tmp_path / spec.partition("/")[0], settings(tmp_path, judge=spec)) as folder:
            exported = export(folder)
            imported = take(folder, tmp_path, map(answered, lines(exported.files[0])))
        assert exported.dollars is None
        assert (imported.spent.unpriced, imported.spent.cost) == (6, 0.0)


def test_labels_of_people_are_not_asked(tmp_path: Path) -> None:
    """A question that a person has answered is in no request."""
    asked = settings(tmp_path, count=1, metrics="context_relevance")
    row = batching.samples(1)[0]
    question = {"kind": "relevant", "query": row["query"], "text": row["contexts"][0]}
    label = {"question": question, "answer": "yes", "by": "ann"}
    (tmp_path / "labels.jsonl").write_text(json.dumps(label), encoding="utf-8")
    labelled = settings(tmp_path, count=1, metrics="context_relevance", labels=str(tmp_path / "labels.jsonl"))
    with Folder.make(tmp_path / "one", asked) as folder:
        assert export(folder).questions == 2
    with Folder.make(tmp_path / "two", labelled) as folder:
        assert export(folder).questions == 1
