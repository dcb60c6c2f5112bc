from __future__ import annotations

import json
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.judged import ROWS, measured
from tests.report.sarif_form import LOG

import ragauge as rg
from ragauge.report.ci import SourceLine


def _log(run: rg.Run, folder: Path) -> Any:
    """The one run of the log, which has the form that the standard demands."""
    log = json.loads(run.save(folder / "out.sarif").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(LOG, format_checker=jsonschema.FormatChecker()).validate(log)
    (run_of_log,) = log["runs"]
    return run_of_log


def _told(log: Any) -> list[tuple[str, str, str]]:
    """Rule, sample and claim of each result."""
    return [(one["ruleId"], one["properties"]["sample"], _region(one)["snippet"]["text"]) for one in log["results"]]


def _region(result: Any) -> Any:
    return result["locations"][0]["physicalLocation"]["region"]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The rows as JSON Lines in the folder of the call, with escapes, raw characters, and an empty line."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "in here" / "answers.jsonl"
    path.parent.mkdir()
    ascii, raw = json.dumps(ROWS[1]), json.dumps({**ROWS[1], "id": "raw"}, ensure_ascii=False)
    path.write_bytes(f"{json.dumps(ROWS[0])}\r\n\n{ascii}\n{raw}\n".encode())
    return path


def test_one_result_for_each_claim_that_does_not_hold(tmp_path: Path) -> None:
    """Claims without support are warnings, contradicted ones errors, also where another chunk supports them."""
    log = _log(measured(), tmp_path)
    assert _told(log) == [
        ("unsupported", "bad", "d is f 😀"),
        ("contradicted", "bad", "d is g"),
        ("contradicted", "both", "h is i"),
    ]
    assert [one["level"] for one in log["results"]] == ["warning", "error", "error"]
    texts = [one["message"]["text"] for one in log["results"]]
    assert texts[:2] == ["“d is f 😀” is not supported by contexts.", "“d is g” is contradicted by 2."]
    rules = log["tool"]["driver"]["rules"]
    assert all(rules[one["ruleIndex"]]["id"] == one["ruleId"] for one in log["results"])


def test_a_reference_contradicts_unless_another_agrees(tmp_path: Path) -> None:
    """What a reference contradicts is a fault, what another reference says or none mentions is not."""
    row = {"query": "q", "response": "a is b. a is c. a is d.", "references": ["not: a is b. not: a is c.", "a is c."]}
    assert _told(_log(measured([row], "answer_correctness"), tmp_path)) == [("contradicted", "1", "a is b")]


def test_a_claim_is_one_result(tmp_path: Path) -> None:
    """A claim that several texts speak against is one result, of the graver kind."""
    row = {"query": "q", "response": "a is b.", "contexts": ["x"], "references": ["not: a is b."]}
    log = _log(measured([row], "faithfulness,answer_correctness"), tmp_path)
    assert _told(log) == [("contradicted", "1", "a is b")]
    assert log["results"][0]["message"]["text"] == "“a is b” is contradicted by references[0]."


def test_sentences_are_held_against_what_they_cite(tmp_path: Path) -> None:
    """A sentence that what it cites does not support is a fault; whether a citation was called for is none."""
    row = {"query": "q", "response": "a is b [1]. a is c [2].", "contexts": ["a is b.", "a is d."]}
    log = _log(measured([row], "citation_recall,citation_precision"), tmp_path)
    assert [(one["ruleId"], one["properties"]["against"]) for one in log["results"]] == [("unsupported", "citations")]


def test_claims_are_shown_on_their_line_of_the_data(data: Path, tmp_path: Path) -> None:
    """Line and columns lead to the claim in the JSON Lines file, written with escapes or without."""
    log = _log(measured(data.relative_to(tmp_path)), tmp_path)
    lines = data.read_bytes().decode().split("\n")
    assert [_region(one)["startLine"] for one in log["results"]] == [3, 3, 4, 4]
    for result in log["results"]:
        region = _region(result)
        raw = lines[region["startLine"] - 1][region["startColumn"] - 1 : region["endColumn"] - 1]
        assert region["endLine"] == region["startLine"]
        assert json.loads(f'"{raw}"') == region["snippet"]["text"]
    assert [one["location"]["uri"] for one in log["artifacts"]] == ["in%20here/answers.jsonl"]


def test_without_a_place_in_a_file_the_log_holds_the_response(tmp_path: Path) -> None:
    """For rows from memory the region is one of the response itself, which the log has with it."""
    row = {**ROWS[1], "id": "a/b", "response": "d is e.\nd is f.\r\nd is 😀\nx."}
    log = _log(measured([row], "faithfulness"), tmp_path)
    ((artifact),) = log["artifacts"]
    assert artifact["location"]["uri"] == "samples/a%2Fb/response.txt"
    text = artifact["contents"]["text"]
    assert text == row["response"]
    assert len(log["results"]) == 2
    for result in log["results"]:
        region = _region(result)
        found = text[region["charOffset"] : region["charOffset"] + region["charLength"]]
        assert found == region["snippet"]["text"]
        last = text.split("\n")[region["endLine"] - 1][: region["endColumn"] - 1]
        first = text.split("\n")[region["startLine"] - 1][region["startColumn"] - 1 :]
        assert found.split("\n")[-1] == last[-len(found.split("\n")[-1]) :]
        assert first.startswith(found.split("\n")[0])


def test_a_file_that_has_changed_is_not_pointed_into(data: Path, tmp_path: Path) -> None:
    """Where the line no longer holds the response, or the file is gone, the log holds the response instead."""
    run = measured(data)
    data.write_text("\n".join(json.dumps({"response": "new"}) for _ in range(3)))
    changed = _log(run, tmp_path)
    data.unlink()
    gone = _log(run, tmp_path)
    for log in (changed, gone):
        assert [one["location"]["uri"].split("/")[0] for one in log["artifacts"]] == ["samples", "samples"]
        assert len(log["results"]) == 4


def test_rows_that_were_skipped_make_lines_unsure(data: Path, tmp_path: Path) -> None:
    """With rows skipped it is not known which line a sample is on, so none is named."""
    data.write_text("{broken\n" + data.read_text())
    log = _log(measured(data, skip_bad_rows=True), tmp_path)
    assert all("contents" in one for one in log["artifacts"])
    assert len(log["results"]) == 4


def test_fingerprints_know_claims_again(data: Path, tmp_path: Path) -> None:
    """Each result has a fingerprint of its own, the same in the next run, also where a claim is made twice."""
    row = {**ROWS[1], "id": "twice", "response": "d is f. d is f."}
    once, again = (_log(measured([row, *ROWS], name=name), tmp_path) for name in ("one", "two"))
    marks = [one["partialFingerprints"]["primaryLocationLineHash"] for one in once["results"]]
    assert marks == [one["partialFingerprints"]["primaryLocationLineHash"] for one in again["results"]]
    assert len(set(marks)) == len(marks) == 5


def test_the_packaged_data_give_a_log(tmp_path: Path) -> None:
    """The embedded judge's faults in the packaged answers are all placed in their file."""
    with as_file(files("ragauge.demo") / "baseline.jsonl") as path:
        log = _log(rg.evaluate(path, "faithfulness,answer_correctness"), tmp_path)
    assert len(log["artifacts"]) == 1
    assert len(log["results"]) > 15
    assert log["automationDetails"]["id"].startswith("ragauge/")


@given(st.text(), st.text(), st.booleans(), st.data())
def test_columns_lead_to_the_span(before: str, text: str, ascii: bool, data: st.DataObject) -> None:
    """In a line of JSON, the columns of any span of a text hold what JSON reads as that span."""
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, len(text)))
    line = SourceLine(1, json.dumps({"a": before, "response": text, "n": 1}, ensure_ascii=ascii))
    columns = line.columns(text, (begin, end))
    assert columns is not None
    assert json.loads(f'"{line.text[columns[0] - 1 : columns[1] - 1]}"') == text[begin:end]
    assert line.columns(f"{text}!{before}", None) is None
