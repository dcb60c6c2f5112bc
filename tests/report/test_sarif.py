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
    """The one run of the log, which is valid SARIF."""
    log = json.loads(run.save(folder / "out.sarif").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(LOG, format_checker=jsonschema.FormatChecker()).validate(log)
    (run_of_log,) = log["runs"]
    return run_of_log


def _results(log: Any) -> list[tuple[str, str, str]]:
    """Rule, sample and claim of each result."""
    return [(one["ruleId"], one["properties"]["sample"], _region(one)["snippet"]["text"]) for one in log["results"]]


def _region(result: Any) -> Any:
    return result["locations"][0]["physicalLocation"]["region"]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The rows as JSON Lines in the working directory, with escapes, raw characters, and an empty line."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "in here" / "answers.jsonl"
    path.parent.mkdir()
    ascii, raw = json.dumps(ROWS[1]), json.dumps({**ROWS[1], "id": "raw"}, ensure_ascii=False)
    path.write_bytes(f"{json.dumps(ROWS[0])}\r\n\n{ascii}\n{raw}\n".encode())
    return path


def test_each_unsupported_claim_is_a_result(tmp_path: Path) -> None:
    """Unsupported claims are warnings, contradicted ones errors, even if another chunk supports them."""
    log = _log(measured(), tmp_path)
    assert _results(log) == [
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
    """A claim that a reference contradicts is a result; one that another supports, or none mentions, is not."""
    row = {"query": "q", "response": "a is b. a is c. a is d.", "references": ["not: a is b. not: a is c.", "a is c."]}
    assert _results(_log(measured([row], "answer_correctness"), tmp_path)) == [("contradicted", "1", "a is b")]


def test_claims_of_a_summary_are_checked_against_its_source(tmp_path: Path) -> None:
    """What the summarised text contradicts is an error, what it does not say a warning, also by the default metrics."""
    rows = [{"id": "sum", "source": "a is b. not: a is c", "response": "a is b. a is c. a is d."}]
    for metrics in ("faithfulness(against=source)", None):
        log = _log(measured(rows, metrics), tmp_path)
        assert _results(log) == [("contradicted", "sum", "a is c"), ("unsupported", "sum", "a is d")]


def test_a_claim_is_one_result(tmp_path: Path) -> None:
    """A claim that several texts contradict or do not support is one result, of the more severe kind."""
    row = {"query": "q", "response": "a is b.", "contexts": ["x"], "references": ["not: a is b."]}
    log = _log(measured([row], "faithfulness,answer_correctness"), tmp_path)
    assert _results(log) == [("contradicted", "1", "a is b")]
    assert log["results"][0]["message"]["text"] == "“a is b” is contradicted by references[0]."


def test_sentences_are_checked_against_their_citations(tmp_path: Path) -> None:
    """A sentence that its citations do not support is a result; a missing citation is not."""
    row = {"query": "q", "response": "a is b [1]. a is c [2].", "contexts": ["a is b.", "a is d."]}
    log = _log(measured([row], "citation_recall,citation_precision"), tmp_path)
    assert [(one["ruleId"], one["properties"]["against"]) for one in log["results"]] == [("unsupported", "citations")]


def test_claims_are_located_in_the_data(data: Path, tmp_path: Path) -> None:
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


def test_responses_without_a_file_are_in_the_log(tmp_path: Path) -> None:
    """For rows from memory the region is one of the response itself, which the log contains."""
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


def test_a_changed_file_is_not_referred_to(data: Path, tmp_path: Path) -> None:
    """If the line no longer contains the response, or the file is gone, the log contains the response instead."""
    run = measured(data)
    data.write_text("\n".join(json.dumps({"response": "new"}) for _ in range(3)))
    changed = _log(run, tmp_path)
    data.unlink()
    gone = _log(run, tmp_path)
    for log in (changed, gone):
        assert [one["location"]["uri"].split("/")[0] for one in log["artifacts"]] == ["samples", "samples"]
        assert len(log["results"]) == 4


def test_skipped_rows_make_lines_unknown(data: Path, tmp_path: Path) -> None:
    """If rows were skipped the line of a sample is not known, so none is given."""
    data.write_text("{broken\n" + data.read_text())
    log = _log(measured(data, skip_bad_rows=True), tmp_path)
    assert all("contents" in one for one in log["artifacts"])
    assert len(log["results"]) == 4


def test_fingerprints_are_stable(data: Path, tmp_path: Path) -> None:
    """Each result has its own fingerprint, the same in the next run, even if a claim is made twice."""
    row = {**ROWS[1], "id": "twice", "response": "d is f. d is f."}
    once, again = (_log(measured([row, *ROWS], name=name), tmp_path) for name in ("one", "two"))
    marks = [one["partialFingerprints"]["primaryLocationLineHash"] for one in once["results"]]
    assert marks == [one["partialFingerprints"]["primaryLocationLineHash"] for one in again["results"]]
    assert len(set(marks)) == len(marks) == 5


@pytest.mark.slow
def test_the_packaged_data_make_a_log(tmp_path: Path) -> None:
    """All unsupported claims that the embedded judge finds in the packaged answers are located in their file."""
    with as_file(files("ragauge.demo") / "baseline.jsonl") as path:
        run = rg.evaluate(path, "faithfulness")
    log = _log(run, tmp_path)
    assert len(log["artifacts"]) == 1
    unsupported = [
        (sample["id"], sample["sample"]["response"][slice(*claim["span"])])
        for sample in run.to_dict()["samples"]
        for claim in sample["scores"]["faithfulness"]["evidence"] or ()
        if claim["label"] != "entailed"
    ]
    assert unsupported
    assert [(sample, text) for _, sample, text in _results(log)] == unsupported
    assert log["automationDetails"]["id"].startswith("ragauge/")


@given(st.text(), st.text(), st.booleans(), st.data())
def test_columns_lead_to_the_span(before: str, text: str, ascii: bool, data: st.DataObject) -> None:
    """In a line of JSON, the columns of any span of a text contain what JSON reads as that span."""
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, len(text)))
    line = SourceLine(1, json.dumps({"a": before, "response": text, "n": 1}, ensure_ascii=ascii))
    columns = line.columns(text, (begin, end))
    assert columns is not None
    assert json.loads(f'"{line.text[columns[0] - 1 : columns[1] - 1]}"') == text[begin:end]
    assert line.columns(f"{text}!{before}", None) is None


def test_columns_in_lines_of_other_encoders() -> None:
    """Signs that need no escape, but that Go and PHP escape, have their columns too."""
    line = SourceLine(1, r'{"response": "a \u003c b\/c é"}')
    columns = line.columns("a < b/c é", (2, 7))
    assert columns is not None
    assert line.text[columns[0] - 1 : columns[1] - 1] == r"\u003c b\/c"


@pytest.mark.parametrize("sign", ["\x1b[31m", "\u202e", "\u2066", "\U000e0041", "\r"])
def test_texts_in_the_log_steer_nothing(tmp_path: Path, sign: str) -> None:
    """Escapes, bidirectional controls and tags of a response are replaced, one for one, wherever the log quotes it."""
    row = {**ROWS[1], "id": f"a{sign}b", "response": f"d is {sign}f.\r\nd is g."}
    log = _log(measured([row], "faithfulness"), tmp_path)
    assert len(log["results"]) == 2
    assert sign[0] not in (tmp_path / "out.sarif").read_text(encoding="utf-8")
    assert "\\u001b" not in (tmp_path / "out.sarif").read_text(encoding="utf-8")
    assert len(log["artifacts"][0]["contents"]["text"]) == len(row["response"])
