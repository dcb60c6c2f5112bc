"""Batches: what comes back without an answer, and how it is asked again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.llm import batching
from tests.llm.batching import SPEC, Line, answered, errored, expired, lines, results, settings, take, waves_of

import ragauge as rg
from ragauge.run.batch.collect import import_results, release_lost
from ragauge.run.batch.export import export
from ragauge.run.batch.folder import Folder
from ragauge.types import Failure

pytestmark = pytest.mark.usefixtures("key")


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


def test_no_line_stops_an_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines beyond MAX_LINE_BYTES, of any depth, and an error page in Latin-1 leave the good lines to be imported."""
    monkeypatch.setattr("ragauge.run.batch.collect.MAX_LINE_BYTES", 10_000)
    with Folder.make(tmp_path / "batch", settings(tmp_path)) as folder:
        found = lines(export(folder).files[0])
        path = results(tmp_path, [answered(found[0]), answered(found[1])])
        page = json.dumps(errored(found[2], 429, "Zu viele Anfragen f?r heute")).encode().replace(b"?", b"\xfc")
        deep = b'{"custom_id": "a", "response": {"body": ' + b"[" * 9_000
        path.write_bytes(b"[" * 35_000 + b"\n" + deep + b"\n" + page + b"\n" + path.read_bytes())
        imported = import_results(folder, [path])
    assert (imported.replies, imported.refused) == (2, {"rate_limited": 1})
    assert [one.split(", ")[1][:6] for one in imported.unreadable] == ["line 1", "line 2"]


def test_a_question_is_given_up_after_three_rounds(tmp_path: Path) -> None:
    """A question that no reply answers is asked three times, with the fault quoted, then kept with its last reply."""
    asked = settings(tmp_path, count=1, metrics="answer_relevance")
    with Folder.make(tmp_path / "batch", asked) as folder:
        waves = list(waves_of(folder, tmp_path, lambda line: answered(line, lambda body: "no")))
    bodies = [lines(wave.files[0])[0]["body"] for wave in waves[:-1]]
    assert [len(body["messages"]) for body in bodies] == [2, 4, 4]
    assert bodies[1]["messages"][2] == {"role": "assistant", "content": "no"}
    assert "cannot be used" in bodies[1]["messages"][3]["content"]
    assert waves[-1].done
    (failure,) = waves[-1].unanswered.values()
    assert (failure.reason, failure.raw) == ("invalid_answer", "no")


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
        for wave in waves_of(folder, tmp_path, two_of):
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
        for wave in waves_of(folder, tmp_path, lambda line: errored(line, **error)):
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
        take(folder, tmp_path, [errored(line, 400, message, param="temperature") for line in first])
        second = lines(export(folder).files[0])
        take(folder, tmp_path, map(answered, second))
        waves = list(waves_of(folder, tmp_path))
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
        waves = list(waves_of(folder, tmp_path, short_window))
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
        waves = list(waves_of(folder, tmp_path))
    run = rg.evaluate(asked.data, asked.metrics, asked.judge, asked.store)
    assert sum(wave.requests for wave in waves) > 2
    assert (waves[-1].done, run.record.asked, run.estimates["faithfulness"].n) == (True, 0, 1)


def test_what_is_lost_is_asked_again(tmp_path: Path) -> None:
    """Requests without a result, given up as lost, come again under the same ids; late results still count once."""
    with Folder.make(tmp_path / "batch", settings(tmp_path)) as folder:
        found = lines(export(folder).files[0])
        take(folder, tmp_path, map(answered, found[:4]))
        assert release_lost(folder) == 2
        again = [line for path in export(folder).files for line in lines(path)]
        assert {line["custom_id"] for line in found[4:]} <= {line["custom_id"] for line in again}
        assert take(folder, tmp_path, map(answered, found)).replies == 2
        assert take(folder, tmp_path, map(answered, again)).replies == 4
        assert list(waves_of(folder, tmp_path))[-1].done


def test_a_failure_keeps_its_question(tmp_path: Path) -> None:
    """A refusal and a filter, of one question alone, are final: it is not asked again."""
    asked = settings(tmp_path, count=1, metrics="answer_relevance")
    with Folder.make(tmp_path / "batch", asked) as folder:
        found = lines(export(folder).files[0])
        refusing = [_refusing(answered(line)) for line in found]
        take(folder, tmp_path, refusing)
        again = export(folder)
    assert again.done
    assert [failure.reason for failure in again.unanswered.values()] == ["refused"]
    assert all(isinstance(failure, Failure) for failure in again.unanswered.values())


def _schema(line: Line) -> Line:
    schema: Line = line["body"]["response_format"]["json_schema"]["schema"]
    return schema


def _refusing(line: Line) -> Line:
    line["response"]["body"]["choices"][0]["message"] = {"role": "assistant", "content": None, "refusal": "No."}
    return line
