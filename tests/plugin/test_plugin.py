from __future__ import annotations

import re
import tomllib
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import ragauge
from ragauge.plugin.scoring import Scoring

pytest_plugins = "pytester"

ROOT = Path(__file__).parents[2]

TESTS = """
ROW = {
    "id": "bridge",
    "query": "Who wrote book 1?",
    "response": "Ada Bell wrote book 1 in 1910. Zoe Quill painted the bridge.",
    "contexts": ["Book 1 was written by Ada Bell in 1910."],
    "references": ["Ada Bell"],
}


def test_good(ragauge):
    run = ragauge.assert_scores([ROW], {"faithfulness": 0.4, "hallucination": 0.1, "rouge.rougeL": 0.1})
    assert list(run.estimates) == ["faithfulness", "hallucination", "rouge.rouge1", "rouge.rouge2", "rouge.rougeL",
        "rouge.rougeLsum"]


def test_bad(ragauge):
    run = ragauge.evaluate(ROW, "faithfulness,token_f1")
    ragauge.assert_scores(run, {"token_f1": 0.0, "faithfulness": 0.9})
"""


@pytest.fixture
def session(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder in which pytest runs in its own process, with only the plugins that are named."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(Path(ragauge.__file__).parents[1]))
    return pytester


def _run(session: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return session.runpytest_subprocess("-p", "ragauge.plugin", *arguments, timeout=120)


@pytest.mark.slow
def test_a_test_fails_with_the_evidence(session: pytest.Pytester) -> None:
    """A score beyond its bound fails the test; the message has the sample, the claim and the verdict."""
    session.makepyfile(TESTS)
    result = _run(session)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "E*AssertionError: faithfulness is 0.500, below 0.9 [[]0.012, 0.988[]]; 1 sample",
            "E*bridge “Who wrote book 1?”: 0.500 (1 of 2); not supported by contexts: “Zoe Quill painted the bridge.”",
        ]
    )
    assert "scoring.py" not in str(result.stdout)


def test_few_measured_samples_are_a_warning_or_a_failure() -> None:
    """Where less than half of the samples are measured a test warns, and fails if it demands a greater share."""
    silent = {"response": "", "contexts": ["Ada wrote book 1."]}
    rows = [{"response": "Ada wrote book 1.", "contexts": ["Ada wrote book 1."]}, silent, silent]
    scoring = _scoring()
    with pytest.warns(UserWarning, match="1 of 3 samples: less than half are measured"):
        run = scoring.assert_scores(rows, {"faithfulness": 0.9})
    with pytest.raises(AssertionError, match=r"measured on less than 50% of the samples .*1 of 3 samples"):
        scoring.assert_scores(run, {"faithfulness": 0.9}, min_measured=0.5)


def test_a_run_that_is_given_keeps_its_gates() -> None:
    """A run measured by the fixture is held to the bounds; one that is given keeps the gates that it has."""
    rows = [{"response": "red", "references": ["red"]}]
    run = _scoring().assert_scores(rows, {"exact_match": 0.5}, metrics="exact_match,token_f1")
    _scoring().assert_scores(run, {"token_f1": 0.9})
    assert [gate.key for gate in run.record.gates] == ["exact_match"]


def _scoring() -> Scoring:
    return Scoring(lambda name, value: None)


def test_failed_scores_and_an_early_end_fail_the_test() -> None:
    """Estimates that hold are not enough where a gated metric failed on a sample, or the run was stopped."""

    def entail(premise: str, hypothesis: str) -> str:
        if "Bob" in hypothesis:
            raise ValueError("no line")
        return "entailed"

    judge = ragauge.judge_from(decompose=lambda text: [text], entail=entail)
    rows = [{"query": "Who?", "response": name, "contexts": ["Ada."]} for name in ("Ada.", "Bob.")]
    run = ragauge.evaluate(rows, "faithfulness,max_words(5)", judge)
    with pytest.raises(AssertionError, match=r"scores failed \(faithfulness 1\), the first because: .*no line"):
        _scoring().assert_scores(run, {"faithfulness": 0.5})
    _scoring().assert_scores(run, {"max_words": 0.5})
    run.record.status, run.record.stopped = "stopped", "the money is spent"
    with pytest.raises(AssertionError, match="The run is stopped because the money is spent: these are the first 2"):
        _scoring().assert_scores(run, {"max_words": 0.5})


@ragauge.check
def short(sample: ragauge.types.Sample) -> bool:
    """Whether the response is short."""
    return len(sample.response or "") < 10


#: A criterion of one's own, which the judge of these tests grades by the words in it.
POLITE = ragauge.criterion("Polite", "1-5", name="polite")


@pytest.mark.parametrize(
    ("bound", "metrics"),
    [
        ("polite", [POLITE]),
        (POLITE, [POLITE, "faithfulness"]),
        (POLITE, None),
        ('criterion("Polite",1-5,name=polite)', None),
        ('criterion("Polite", 1-5, name=polite)@intent=billing', [POLITE]),
        ("polite@intent=billing", [POLITE]),
        (short, None),
        ("short", [short]),
        ("faithfulness@intent=billing", None),
        ("max_words(5)", None),
        ("rouge(types=rouge1).rouge1@intent=billing", None),
    ],
)
def test_a_bound_names_any_metric(bound: Any, metrics: Any) -> None:
    """A bound is of a value by its key, of a metric by its spec or itself, or of a slice of the data."""
    judge = ragauge.judge_from(
        decompose=lambda text: [text], entail=lambda premise, claim: "entailed", rate=lambda *texts: 5
    )
    row = {"query": "Q", "response": "Ada.", "contexts": ["Ada."], "references": ["Ada."], "intent": "billing"}
    options = {} if metrics is None else {"metrics": metrics}
    run = _scoring().assert_scores(row, {bound: 1}, judge=judge, **options)
    assert [gate.failure(run.record) for gate in run.record.gates] == [None]
    _scoring().assert_scores(run, {bound: 1})
    with pytest.raises(ragauge.errors.BadParameter, match="off the scale"):
        _scoring().assert_scores(row, {bound: 6}, judge="recording:nowhere", **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [pytest.param((), id="alone"), pytest.param(("-p", "xdist", "-n", "2"), id="xdist", marks=pytest.mark.slow)],
)
def test_scores_go_into_the_test_report(session: pytest.Pytester, arguments: tuple[str, ...]) -> None:
    """JUnit XML has each estimate as properties of the test, also if an xdist worker ran it."""
    session.makepyfile(TESTS)
    _run(session, "--junitxml=results.xml", *arguments).assert_outcomes(passed=1, failed=1)
    cases = ElementTree.parse(session.path / "results.xml").getroot().iter("testcase")
    found = {case.get("name"): {one.get("name"): one.get("value") for one in case.iter("property")} for case in cases}
    assert found["test_bad"]["faithfulness.value"] == "0.5"
    assert found["test_bad"]["faithfulness.n"] == "1"
    assert {name.split(".")[0] for name in found["test_good"] if name} == {"faithfulness", "hallucination", "rouge"}


@pytest.mark.slow
def test_a_store_is_shared_by_workers(session: pytest.Pytester) -> None:
    """Tests of several workers with one store all pass, and keep their runs in it."""
    session.makepyfile(
        TESTS.partition("def test_good")[0]
        + """
import pytest


@pytest.mark.parametrize("n", range(6))
def test_stored(ragauge, n):
    row = {**ROW, "response": f"Ada Bell wrote book {n} in 1910."}
    ragauge.assert_scores(row, {"faithfulness": 0.0}, store="store", name=str(n))
"""
    )
    _run(session, "-p", "xdist", "-n", "2").assert_outcomes(passed=6)
    with ragauge.Store.open(session.path / "store") as store:
        assert sorted(run.name for run in store.runs()) == list("012345")


@pytest.mark.slow
def test_wrong_calls_are_errors(session: pytest.Pytester) -> None:
    """An unknown metric, one that the run did not measure, and options together with a run are errors."""
    session.makepyfile(
        TESTS.partition("def test_good")[0]
        + """
import pytest
import ragauge as rg


def test_errors(ragauge):
    with pytest.raises(rg.errors.UnknownName, match="did you mean 'faithfulness'"):
        ragauge.assert_scores(ROW, {"faithfulnes": 0.5})
    run = ragauge.evaluate(ROW, "token_f1")
    with pytest.raises(rg.errors.UnknownName, match="metric of this run 'faithfulness'"):
        ragauge.assert_scores(run, {"faithfulness": 0.5})
    with pytest.raises(rg.errors.UsageError, match="measured already; give judge to evaluate"):
        ragauge.assert_scores(run, {"token_f1": 0.0}, judge="embedded")
    with pytest.raises(rg.errors.BadParameter, match="off the scale of token_f1; give a number from 0 to 1"):
        ragauge.assert_scores(run, {"token_f1": 5})
    with pytest.raises(rg.errors.UnknownName, match="unknown metric 'rogue'"):
        ragauge.assert_scores(ROW, {"rogue.rougeL": 0.5})
"""
    )
    _run(session).assert_outcomes(passed=1)


def test_an_unused_plugin_loads_nothing_else(session: pytest.Pytester) -> None:
    """In a session that does not use it, the plugin is the only module of ragauge that is loaded."""
    session.makepyfile(
        """
        import sys

        def test_nothing():
            ours = {name for name in sys.modules if name.partition(".")[0] == "ragauge"}
            assert ours == {"ragauge", "ragauge.lazy", "ragauge.version", "ragauge.plugin"}
            assert not {"numpy", "msgspec", "rich", "sqlite3"} & set(sys.modules)
        """
    )
    _run(session).assert_outcomes(passed=1)


def test_installing_ragauge_installs_the_plugin() -> None:
    """The project has the plugin as an entry point of pytest, with a name to switch it off."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"] == {"pytest11": {"ragauge": "ragauge.plugin"}}
    assert hasattr(import_module("ragauge.plugin"), "scoring")
    installed = {one.value for one in entry_points(group="pytest11", name="ragauge")}
    assert installed <= {"ragauge.plugin"}


def test_the_documented_tests_pass(session: pytest.Pytester) -> None:
    """The tests on the page about CI are collected and pass next to the packaged answers."""
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    (code,) = [
        block for block in re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE) if "def test_" in block
    ]
    session.makepyfile(code)
    answers = ROOT / "src" / "ragauge" / "demo" / "candidate.jsonl"
    (session.path / "answers.jsonl").write_bytes(answers.read_bytes())
    _run(session).assert_outcomes(passed=2)


@pytest.mark.slow
def test_properties_are_recorded_without_a_warning(session: pytest.Pytester) -> None:
    """The usual family of JUnit files, xunit2, has the estimates as properties, and pytest warns of nothing."""
    session.makepyfile(TESTS)
    result = _run(session, "--junitxml=results.xml", "-k", "good", "-W", "error::pytest.PytestWarning")
    result.assert_outcomes(passed=1, deselected=1)
    names = [one.get("name") for one in ElementTree.parse(session.path / "results.xml").iter("property")]
    assert "faithfulness.value" in names


def test_a_typo_shows_the_line_of_the_test_alone(session: pytest.Pytester) -> None:
    """The traceback of an unknown metric has no frame of the library."""
    session.makepyfile(
        'def test_typo(ragauge):\n    ragauge.assert_scores([{"response": "a"}], {"fathfulness": 0.5})\n'
    )
    result = _run(session)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*unknown metric 'fathfulness'; did you mean 'faithfulness'?*"])
    result.stdout.no_fnmatch_line("*registry.py*")
