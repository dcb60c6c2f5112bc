"""Batches: export, results by hand, import, wave after wave, whatever goes wrong between."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.llm import batching
from tests.llm.batching import METRICS, SPEC, answered, errored, expired, lines, results, settings
from tests.llm.stub.process import StubServer

import ragauge as rg
from ragauge.errors import BadData, BadParameter, RagaugeError, UsageError
from ragauge.nouns.answers import Failure
from ragauge.run.batch.exporting import Exported, export
from ragauge.run.batch.folder import LEDGER, UNANSWERED, Folder
from ragauge.run.batch.importing import Imported, _Importing, import_results
from ragauge.run.batch.ledger import Ledger
from ragauge.run.batch.sending import lost
from ragauge.store import Store

StubFactory = Callable[..., StubServer]
Line = dict[str, Any]
Answering = Callable[[Line], Line]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key, which a run wants to see before its first question, even where it then asks none."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")


class Killed(BaseException):
    """What a test ends a command with in its middle."""


def test_the_round_trip_gives_the_scores_of_a_live_run(tmp_path: Path, stub_server: StubFactory) -> None:
    """Twenty samples by two waves of replies by hand: a run then asks nothing, and scores as a live run does."""
    server = stub_server()
    spec = f"{SPEC}?base_url={server.url}"
    asked = settings(tmp_path, count=20, judge=spec)
    with Folder.make(tmp_path / "batch", asked) as folder:
        waves = list(_waves(folder, tmp_path))
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
    """The bodies of the requests are those of the calls of a live run, byte for byte as JSON."""
    server = stub_server(record=tmp_path / "record.jsonl")
    asked = settings(tmp_path, count=2, judge=f"{SPEC}?base_url={server.url}")
    with Folder.make(tmp_path / "batch", asked) as folder:
        waves = list(_waves(folder, tmp_path))
    exported = [line["body"] for wave in waves for path in wave.files for line in lines(path)]
    rg.evaluate(asked.data, METRICS, asked.judge)
    live = [line["body"] for line in lines(tmp_path / "record.jsonl")]
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
    """Half of the results make half of the next wave; nothing that is under way is written twice."""
    with Folder.make(tmp_path / "batch", settings(tmp_path)) as folder:
        found = lines(export(folder).files[0])
        first, second = found[::2], found[1::2]
        assert _take(folder, tmp_path, map(answered, first)).replies == 3
        again = export(folder)
        assert (again.requests, again.waiting) == (3, 3)
        assert _take(folder, tmp_path, map(answered, second)).replies == 3
        again = export(folder)
        assert (again.requests, again.waiting) == (3, 3)


def test_every_line_has_a_stated_outcome(tmp_path: Path) -> None:
    """Good replies, bad ones, errors, repetitions, lines of others and scrap are all counted, each as what it is."""
    with Folder.make(tmp_path / "batch", settings(tmp_path)) as folder:
        found = lines(export(folder).files[0])
        mixed = [
            answered(found[0]),
            answered(found[0]),
            answered(found[1], lambda body: "I would rather not."),
            errored(found[2], 500, "oops"),
            expired(found[3]),
            answered({**found[4], "custom_id": "somebody-else"}),
        ]
        path = results(tmp_path, mixed)
        path.write_text(path.read_text() + '\n{"custom_id": "cut of\n{}\n[1]\n', encoding="utf-8")
        imported = import_results(folder, [path])
        again = export(folder)
    assert (imported.replies, imported.repeated, imported.foreign) == (2, 1, 1)
    assert imported.refused == {"server_error": 1, "expired": 1}
    assert imported.first["server_error"] == "the batch says: oops"
    assert len(imported.unreadable) == 3
    assert f"{path}, line 8: " in imported.unreadable[0]
    assert (imported.answered, imported.faults) == (2, {"invalid_answer": 2})
    assert imported.lines == 9
    assert (again.requests, again.waiting) == (4, 2)


def test_a_question_is_given_up_after_three_rounds(tmp_path: Path) -> None:
    """A question that no reply answers is asked three times, told what was wrong, then kept with its last reply."""
    asked = settings(tmp_path, count=1, metrics="answer_relevance")
    with Folder.make(tmp_path / "batch", asked) as folder:
        waves = list(_waves(folder, tmp_path, lambda line: answered(line, lambda body: "no")))
    bodies = [lines(wave.files[0])[0]["body"] for wave in waves[:-1]]
    assert [len(body["messages"]) for body in bodies] == [2, 4, 4]
    assert bodies[1]["messages"][2] == {"role": "assistant", "content": "no"}
    assert "cannot be used" in bodies[1]["messages"][3]["content"]
    assert waves[-1].done
    (failure,) = waves[-1].unanswered.values()
    assert failure.reason == "invalid_answer"
    (kept,) = lines(tmp_path / "batch" / UNANSWERED)
    assert (kept["reason"], kept["raw"], kept["question"]["kind"]) == ("invalid_answer", "no", "decompose")


def test_what_is_missing_in_a_reply_is_asked_in_smaller_requests(tmp_path: Path) -> None:
    """What is right in a reply is kept; the rest goes into a quarter of the size, then stands alone."""
    asked = settings(
        tmp_path, count=1, metrics="faithfulness,context_recall", judge={"decompose": "embedded", "*": SPEC}
    )
    row = json.loads(Path(asked.data).read_text())
    row["response"] = " ".join(f"Ada Bell wrote book {n} in 19{n}." for n in range(10, 30))
    Path(asked.data).write_text(json.dumps(row))

    def two_of(line: Line) -> Line:
        return answered(line, lambda body: json.dumps(dict(list(json.loads(batching.reply(body)).items())[:2])))

    with Folder.make(tmp_path / "batch", asked) as folder:
        sizes = []
        for wave in _waves(folder, tmp_path, two_of):
            found = [line for path in wave.files for line in lines(path)]
            sizes.append([len(_schema(line)["required"]) for line in found])
    assert sizes == [[22], [7, 7, 6], [1] * 14, []]


@pytest.mark.parametrize(
    ("error", "counted"),
    [
        ({"status": 401, "message": "Incorrect API key", "code": "invalid_api_key"}, False),
        ({"status": 404, "message": "no model", "code": "model_not_found"}, False),
        ({"status": 429, "message": "slow down"}, False),
        ({"status": 422, "message": "what is this"}, True),
        ({"status": 400, "message": "filtered", "code": "content_filter"}, True),
    ],
)
def test_errors_of_the_provider_are_no_fault_of_the_question(tmp_path: Path, error: Line, counted: bool) -> None:
    """What another batch may do better is asked again as it was, however often; what is the request's fault is not."""
    asked = settings(tmp_path, count=1, metrics="answer_relevance")
    with Folder.make(tmp_path / "batch", asked) as folder:
        waves = []
        for wave in _waves(folder, tmp_path, lambda line: errored(line, **error)):
            waves.append(wave)
            if len(waves) == 5:
                break
        again = export(folder)
    assert again.done == counted
    if counted:
        assert again.unanswered
    else:
        ids = [lines(wave.files[0])[0]["custom_id"] for wave in waves]
        assert len(set(ids)) == 1


def test_a_form_that_the_server_refuses_is_simplified(tmp_path: Path) -> None:
    """After "temperature is not supported" the requests come again without one, and that does not count as a try."""
    with Folder.make(tmp_path / "batch", settings(tmp_path, judge="openai/new-model")) as folder:
        first = lines(export(folder).files[0])
        message = "Unsupported value: 'temperature' does not support 0 with this model."
        _take(folder, tmp_path, [errored(line, 400, message, param="temperature") for line in first])
        second = lines(export(folder).files[0])
        _take(folder, tmp_path, map(answered, second))
        waves = list(_waves(folder, tmp_path))
    assert all("temperature" in line["body"] for line in first)
    assert not any("temperature" in line["body"] for line in second)
    assert len(second) == len(first)
    assert waves[-1].done
    assert not waves[-1].unanswered


def test_a_text_that_the_server_finds_too_long_is_asked_in_parts(tmp_path: Path) -> None:
    """A question that alone is too long comes again in two parts, and their answers make its answer."""
    asked = settings(tmp_path, count=1, metrics="answer_relevance")
    row = json.loads(Path(asked.data).read_text())
    row["response"] = " ".join(
        f"Ada Bell wrote the {n}th of her many books in the winter of 19{n}." for n in range(10, 99)
    )
    Path(asked.data).write_text(json.dumps(row))

    def short_window(line: Line) -> Line:
        long = len(json.dumps(line["body"]["messages"][1])) > 5000
        return (
            errored(line, 400, "maximum context length is 1000", code="context_length_exceeded")
            if long
            else answered(line)
        )

    with Folder.make(tmp_path / "batch", asked) as folder:
        waves = list(_waves(folder, tmp_path, short_window))
    run = rg.evaluate(asked.data, "answer_relevance", SPEC, asked.store)
    assert waves[-1].done
    assert not waves[-1].unanswered
    assert (run.record.asked, run.scores[0]["answer_relevance"].counts[1]) == (0, 89)


def test_long_texts_are_asked_in_parts_from_the_start(tmp_path: Path) -> None:
    """With a small window a long text is split before it is sent, and a run still asks nothing."""
    asked = settings(tmp_path, count=1, judge=f"{SPEC}?context=4000", metrics="faithfulness")
    row = json.loads(Path(asked.data).read_text())
    row["contexts"] = [" ".join(f"Ada Bell wrote book {n} in 19{n}, in the cold hall." for n in range(10, 99))] * 2
    Path(asked.data).write_text(json.dumps(row))
    with Folder.make(tmp_path / "batch", asked) as folder:
        waves = list(_waves(folder, tmp_path))
    run = rg.evaluate(asked.data, asked.metrics, asked.judge, asked.store)
    assert sum(wave.requests for wave in waves) > 2
    assert (waves[-1].done, run.record.asked, run.estimates["faithfulness"].n) == (True, 0, 1)


def test_judges_that_are_no_models_answer_at_once(tmp_path: Path) -> None:
    """Where the embedded judge takes texts apart, the first wave has the verdicts."""
    asked = settings(tmp_path, judge={"decompose": "embedded", "*": SPEC}, metrics="faithfulness")
    with Folder.make(tmp_path / "batch", asked) as folder:
        first = export(folder)
        assert (first.requests, first.questions) == (6, 12)
        assert "entail" in lines(first.files[0])[0]["body"]["messages"][1]["content"]
        list(_waves(folder, tmp_path))
    assert asked.command().startswith("ragauge run ")
    assert "-j decompose=embedded -j openai/gpt-4o-mini" in asked.command()


def test_two_models_have_files_of_their_own(tmp_path: Path) -> None:
    """Judges by kind that are two models are asked in two files, each in the form of its provider."""
    asked = settings(tmp_path, judge={"decompose": SPEC, "relevant": SPEC, "*": "anthropic/claude-haiku-4-5"})
    with Folder.make(tmp_path / "batch", asked) as folder:
        _take(folder, tmp_path, map(answered, lines(export(folder).files[0])))
        second = export(folder)
        forms = [set(lines(path)[0]) for path in second.files]
        for path in second.files:
            made = [answered(line) if "body" in line else batching.answered_message(line) for line in lines(path)]
            _take(folder, tmp_path, made)
        assert export(folder).done
    assert len(second.files) == 2
    assert {"custom_id", "params"} in forms


def test_files_keep_to_the_limits_of_the_provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wave that is more than one batch may hold goes into several files, each within the limits."""
    from ragauge.judges.llm.wire.batch_lines import LIMITS, Limit

    monkeypatch.setitem(LIMITS, "chat", Limit(4, 10**6))
    with Folder.make(tmp_path / "batch", settings(tmp_path)) as folder:
        assert [len(lines(path)) for path in export(folder).files] == [4, 2]
    monkeypatch.setitem(LIMITS, "chat", Limit(100, 9000))
    with Folder.make(tmp_path / "other", settings(tmp_path)) as folder:
        files = export(folder).files
    assert len(files) > 2
    assert all(path.stat().st_size <= 9000 for path in files)


def test_nothing_to_ask_is_done_at_once(tmp_path: Path) -> None:
    """With all answers in the store, or no question asked by any metric, nothing is written."""
    with Folder.make(tmp_path / "batch", settings(tmp_path)) as folder:
        list(_waves(folder, tmp_path))
    with Folder.make(tmp_path / "again", settings(tmp_path)) as folder:
        assert export(folder) == Exported()
    with Folder.make(tmp_path / "cheap", settings(tmp_path, metrics="bleu", judge=SPEC)) as folder:
        assert export(folder).done
    assert sorted(path.name for path in (tmp_path / "cheap").iterdir()) == [LEDGER]


def test_tokens_and_price_are_counted_once(tmp_path: Path) -> None:
    """Each reply is a call in the store at the batch's half of the price; the judgments that came of it name it."""
    asked = settings(tmp_path)
    with Folder.make(tmp_path / "batch", asked) as folder:
        exported = export(folder)
        made = list(map(answered, lines(exported.files[0])))
        imported = _take(folder, tmp_path, made)
        _take(folder, tmp_path, made)
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
            imported = _take(folder, tmp_path, map(answered, lines(exported.files[0])))
        assert exported.dollars is None
        assert (imported.spent.unpriced, imported.spent.cost) == (6, 0.0)


def test_what_is_lost_is_asked_again(tmp_path: Path) -> None:
    """Requests without a result, given up as lost, come again under the same ids; late results still count once."""
    with Folder.make(tmp_path / "batch", settings(tmp_path)) as folder:
        found = lines(export(folder).files[0])
        _take(folder, tmp_path, map(answered, found[:4]))
        assert lost(folder, folder.ledger.files()) == 2
        again = [line for path in export(folder).files for line in lines(path)]
        assert {line["custom_id"] for line in found[4:]} <= {line["custom_id"] for line in again}
        assert _take(folder, tmp_path, map(answered, found)).replies == 2
        assert _take(folder, tmp_path, map(answered, again)).replies == 4
        assert list(_waves(folder, tmp_path))[-1].done


def test_an_export_that_is_killed_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed before its end, an export has named no file and asked nothing; the next one writes all."""
    asked = settings(tmp_path)
    with Folder.make(tmp_path / "batch", asked) as folder:
        with monkeypatch.context() as patched:
            patched.setattr("ragauge.run.batch.exporting._Outbox.finished", _killed)
            with pytest.raises(Killed):
                export(folder)
        assert not list((tmp_path / "batch").glob("*.jsonl"))
        assert folder.ledger.files() == []
    with Folder.open(tmp_path / "batch") as folder:
        assert export(folder).requests == 6


def test_what_cannot_be_written_ends_the_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is an error of the export, and no failure of the questions that were to be written."""

    def full(*arguments: object) -> None:
        raise OSError("no space left")

    with Folder.make(tmp_path / "batch", settings(tmp_path)) as folder:
        with monkeypatch.context() as patched:
            patched.setattr(Ledger, "add", full)
            with pytest.raises(RagaugeError, match="no space left; nothing was exported"):
                export(folder)
        assert export(folder).requests == 6


@pytest.mark.parametrize("step", ["_store_answers", "_settle"])
def test_an_import_that_is_killed_counts_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Killed before or after the answers are kept, an import done again keeps each answer and each call once."""
    asked = settings(tmp_path)
    with Folder.make(tmp_path / "batch", asked) as folder:
        made = list(map(answered, lines(export(folder).files[0])))
        with monkeypatch.context() as patched:
            patched.setattr(_Importing, step, _killed)
            with pytest.raises(Killed):
                _take(folder, tmp_path, made)
    with Folder.open(tmp_path / "batch") as folder:
        assert _take(folder, tmp_path, made).replies == 6
        assert _take(folder, tmp_path, made).repeated == 6
        with Store.open(asked.store) as store:
            assert (len(list(store.calls())), len(list(store.judgments()))) == (6, 12)
        assert list(_waves(folder, tmp_path))[-1].done


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
    assert f"--labels {tmp_path / 'labels.jsonl'}" in labelled.command()


@pytest.mark.parametrize("judge", ["embedded", {"entail": "embedded", "*": "embedded"}])
def test_a_batch_needs_a_model(tmp_path: Path, judge: Any) -> None:
    """Where no judge is a model there is nothing to batch, and the folder is not made."""
    with pytest.raises(BadParameter, match="name one by provider and model"):
        Folder.make(tmp_path / "batch", settings(tmp_path, judge=judge))
    assert not (tmp_path / "batch").exists()


def test_judges_that_would_ask_by_themselves_are_refused(tmp_path: Path) -> None:
    """Decisions endpoints, and judges made of judges, cannot be asked in a batch; the message says what can."""
    for spec, message in (
        ("decisions:openai/x", "cannot be asked in a batch"),
        ("panel(openai/a,openai/b,openai/c)", "batch each of them by itself"),
    ):
        with pytest.raises(BadParameter, match=message):
            Folder.make(tmp_path / "batch", settings(tmp_path, judge={"entail": spec, "*": SPEC}))


def test_folders_are_not_mixed_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with other settings, other files, another judge or no batch is refused, with a way out."""
    Folder.make(tmp_path / "batch", settings(tmp_path, metrics="rouge")).close()  # into which nothing is exported
    with Folder.make(tmp_path / "batch", settings(tmp_path)) as folder:
        export(folder)
    with pytest.raises(UsageError, match=r"metrics .*; export into another folder"):
        Folder.make(tmp_path / "batch", settings(tmp_path, metrics="faithfulness"))
    with pytest.raises(UsageError, match="holds other things"):
        Folder.make(tmp_path, settings(tmp_path))
    with pytest.raises(UsageError, match="ragauge batch export"):
        Folder.open(tmp_path / "nowhere")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(UsageError, match="base_url differ"):
        Folder.open(tmp_path / "batch")


def test_a_file_of_somebody_else_is_an_error(tmp_path: Path) -> None:
    """Results of which none was asked here are most likely the wrong file, and so is what cannot be read."""
    with Folder.make(tmp_path / "batch", settings(tmp_path)) as folder:
        line = lines(export(folder).files[0])[0]
        with pytest.raises(BadData, match="none of its 1 lines answers a request"):
            _take(folder, tmp_path, [answered({**line, "custom_id": "x"})])
        with pytest.raises(BadData, match="give files of results"):
            import_results(folder, [tmp_path])


def test_a_damaged_or_busy_ledger_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What SQLite says becomes one sentence with the file and a way out."""
    with Folder.make(tmp_path / "batch", settings(tmp_path)) as folder, folder.ledger.writing():
        monkeypatch.setattr("ragauge.run.batch.ledger.PATIENCE", 0.01)
        with Folder.open(tmp_path / "batch") as other, pytest.raises(RagaugeError, match="another command"):
            export(other)
    (tmp_path / "batch" / LEDGER).write_bytes(b"no database" * 1000)
    with pytest.raises(RagaugeError, match="export into a new folder"):
        Folder.open(tmp_path / "batch")


def test_a_failure_keeps_its_question(tmp_path: Path) -> None:
    """A refusal and a filter, of one question alone, are final: it is not asked again."""
    asked = settings(tmp_path, count=1, metrics="answer_relevance")
    with Folder.make(tmp_path / "batch", asked) as folder:
        found = lines(export(folder).files[0])
        refusing = [_refusing(answered(line)) for line in found]
        _take(folder, tmp_path, refusing)
        again = export(folder)
    assert again.done
    assert [failure.reason for failure in again.unanswered.values()] == ["refused"]
    assert all(isinstance(failure, Failure) for failure in again.unanswered.values())


def _waves(folder: Folder, place: Path, answering: Answering = answered) -> Iterator[Exported]:
    """Export and answer, wave after wave, until nothing is asked; each export as it came."""
    while True:
        exported = export(folder)
        yield exported
        under_way = [line for path in exported.files for line in lines(path)]
        if not exported.files:
            return
        _take(folder, place, map(answering, under_way))


def _take(folder: Folder, place: Path, made: Any) -> Imported:
    return import_results(folder, [results(place, made)])


def _schema(line: Line) -> Line:
    schema: Line = line["body"]["response_format"]["json_schema"]["schema"]
    return schema


def _refusing(line: Line) -> Line:
    line["response"]["body"]["choices"][0]["message"] = {"role": "assistant", "content": None, "refusal": "No."}
    return line


def _killed(*arguments: object) -> None:
    raise Killed
