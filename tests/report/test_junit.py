from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import junitparser
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.judged import ROWS, measured

import ragauge as rg
from ragauge.report.ci import write_junit
from ragauge.scores import Gate


def _suite(run: rg.Run, folder: Path) -> ElementTree.Element:
    (suite,) = ElementTree.parse(run.save(folder / "results.xml")).getroot()
    return suite


def _case(suite: ElementTree.Element, name: str) -> ElementTree.Element:
    (case,) = [case for case in suite.iter("testcase") if case.get("name") == name]
    return case


def _outcome(case: ElementTree.Element) -> tuple[str, str]:
    """The outcome of a test, and its text; "passed" if it has none."""
    words = [(child.tag, child.text or "") for child in case if child.tag in ("failure", "error", "skipped")]
    return words[0] if words else ("passed", "")


def test_a_test_for_each_value_and_one_for_the_run(tmp_path: Path) -> None:
    """Every estimate is one test with its numbers as properties; one more test is for the end of the run."""
    run = measured(metrics="faithfulness,hallucination,pooled(faithfulness)")
    suite = _suite(run, tmp_path)
    assert [case.get("name") for case in suite.iter("testcase")] == ["run", *run.estimates]
    assert [_outcome(case)[0] for case in suite.iter("testcase")] == ["passed"] * 4
    properties = {one.get("name"): one.get("value") for one in _case(suite, "faithfulness").iter("property")}
    estimate = run.estimates["faithfulness"]
    assert float(properties["value"] or "") == estimate.value
    assert float(properties["low"] or "") == estimate.low
    assert (properties["n"], properties["undefined"], properties["failed"]) == ("3", "1", "0")


def test_a_gate_that_fails_shows_the_worst_samples(tmp_path: Path) -> None:
    """The test of a metric fails if a gate on it does, with the worst samples and their evidence."""
    run = measured()
    run.hold_to({"faithfulness": 0.8, "hallucination": 0.9})
    suite = _suite(run, tmp_path)
    kind, text = _outcome(_case(suite, "faithfulness"))
    assert kind == "failure"
    assert text.startswith("faithfulness is 0.444, below 0.8 [")
    assert "1 undefined: the response makes no claim" in text
    assert "  both “What is h?”: 0.000 (0 of 1); " in text
    assert "not supported by contexts: “d is f 😀”" in text
    assert _outcome(_case(suite, "hallucination")) == ("passed", "")
    gates = [one.get("value") for one in suite.iter("property") if one.get("name") == "gates"]
    assert gates == ["faithfulness is 0.444, below 0.8 (3 of 4 samples)", "hallucination ≤ 0.9 (4 samples)"]


def test_a_metric_without_a_value_is_an_error_or_skipped(tmp_path: Path) -> None:
    """A metric that failed on all samples is an error; one with nothing to count, or left out, is skipped."""

    def refuse(premise: str, hypothesis: str) -> str:
        raise ValueError("no line")

    judge = rg.judge_from(decompose=lambda text: [text], entail=refuse)
    suite = _suite(rg.evaluate(ROWS[:1], "faithfulness", judge), tmp_path)
    assert _outcome(_case(suite, "faithfulness"))[0] == "error"
    assert "entail() raised ValueError: no line" in _outcome(_case(suite, "faithfulness"))[1]
    suite = _suite(measured(ROWS[3:], "faithfulness"), tmp_path)
    assert _outcome(_case(suite, "faithfulness")) == ("skipped", "nothing to count: the response makes no claim")
    suite = _suite(measured(ROWS[:1], None), tmp_path)
    kind, text = _outcome(_case(suite, "bleu"))
    assert kind == "skipped"
    assert "no sample has 'references'" in text


def test_a_gate_without_a_value_fails(tmp_path: Path) -> None:
    """A gate on a metric that was left out, or has nothing to count, fails with the reason."""
    run = measured(ROWS[:1], None)
    run.hold_to([Gate("bleu", 0.5)])
    kind, text = _outcome(_case(_suite(run, tmp_path), "bleu"))
    assert kind == "failure"
    assert text.startswith("bleu has no value: no sample has 'references'")
    run = measured(ROWS[3:], "faithfulness")
    run.hold_to({"faithfulness": 0.5})
    kind, text = _outcome(_case(_suite(run, tmp_path), "faithfulness"))
    assert text == ("faithfulness has no value; 0 of 1 sample; 1 undefined: the response makes no claim")


def test_a_run_that_stopped_is_an_error(tmp_path: Path) -> None:
    """A run that did not finish is an error, whatever its estimates."""
    run = measured()
    run.record.status, run.record.stopped = "stopped", "the money is spent"
    assert _outcome(_case(_suite(run, tmp_path), "run"))[0] == "error"


def test_another_parser_reads_the_same(tmp_path: Path) -> None:
    """junitparser finds as many tests, failures and skips as the suite states, and as there are."""
    run = measured(None, None)
    run.hold_to({"faithfulness": 0.8})
    (suite,) = junitparser.JUnitXml.fromfile(str(run.save(tmp_path / "results.xml")))
    numbers = (suite.tests, suite.failures, suite.errors, suite.skipped)
    suite.update_statistics()
    assert numbers == (suite.tests, suite.failures, suite.errors, suite.skipped)
    assert suite.failures == 1
    assert suite.skipped == len(run.left_out) > 0
    assert {case.classname for case in suite} == {"ragauge.list of 4 rows"}


@pytest.fixture(scope="module")
def run() -> rg.Run:
    """A run to be given odd texts."""
    return measured(ROWS[1:2])


@given(st.text())
def test_any_text_can_be_written(run: rg.Run, tmp_path_factory: Any, text: str) -> None:
    """Whatever names and samples contain, the file is XML, and text that XML can hold comes back."""
    (record,) = run.records()
    sample = msgspec.structs.replace(record.sample, id=text, query=text)
    about = msgspec.structs.replace(run.record, name=f"n{text}", gates=(Gate("faithfulness", 1),))
    path = tmp_path_factory.getbasetemp() / "odd.xml"
    write_junit(about, [msgspec.structs.replace(record, sample=sample)], path)
    (suite,) = ElementTree.parse(path).getroot()
    assert suite.get("failures") == "1"
    if text.isprintable():
        assert suite.get("name") == f"n{text}"
