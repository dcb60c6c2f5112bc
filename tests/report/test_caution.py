"""How far to trust the judges in the package, from what was measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ragauge as rg
from ragauge.judges.embedded.judge import EmbeddedJudge
from ragauge.report import wording as module
from ragauge.report.document import page_head
from ragauge.report.text import plain_text, run_view
from ragauge.report.wording import caution
from ragauge.scores import RunRecord
from ragauge.types import Identity

MEASURED = (("rules", "9"), ("splitter", "a 1.0"), ("tables", "abc"))
SETS = [
    {"name": "ent_a", "rows": 10, "balanced_accuracy": {"value": 0.591, "low": 0.5, "high": 0.7}},
    {"name": "rag_b", "rows": 10, "balanced_accuracy": {"value": 0.7149}},
    {"name": "ans_c", "rows": 10, "balanced_accuracy": {"value": 0.951}},
    {"name": "tox_d", "note": "not answered: classify:toxic"},
]


@pytest.fixture
def card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge that was measured on three sets."""
    path = tmp_path / "measured.json"
    path.write_text(json.dumps({"schema": "x", "judge": {"name": "embedded", "settings": MEASURED}, "sets": SETS}))
    monkeypatch.setattr(module, "CARD", path)


def run(metric: str = "faithfulness", others: Identity | None = None, **judges: Identity) -> RunRecord:
    """A run of a metric with these judges, and one of the other questions."""
    rest = {} if others is None else {"*": others}
    return RunRecord("id", "2026", "data", (metric,), judges | rest, "1", asked=1)


@pytest.mark.usefixtures("card")
def test_the_figures_are_the_measured_ones() -> None:
    """One sentence says on how many of 100 claims the judge agrees with people, on average and by set."""
    words = caution(run(entail=Identity("embedded", MEASURED)))
    assert "agreed with people on 65 of 100 claims, where guessing gives 50 (2 public sets: 59 to 71)" in words
    assert "ragauge docs embedded-judge" in words
    assert words.count(". ") == 0


def test_a_judge_of_other_questions_has_no_figures_on_claims() -> None:
    """The figures are given only where the embedded judge is the one that judged claims."""
    embedded, model = Identity("embedded", MEASURED), Identity("openai/x")
    assert caution(run(entail=model, decompose=embedded)) == ""
    assert caution(run(others=embedded, entail=model)) == ""
    assert caution(run("answer_relevance", others=embedded)) == ""


@pytest.mark.usefixtures("card")
def test_a_member_of_a_cascade_has_the_figures() -> None:
    """A member's settings are under its position; the sentence splitter does not matter."""
    settings = (("1", "embedded"), ("1.rules", "9"), ("1.splitter", "b 2.0"), ("1.tables", "abc"), ("2", "openai/x"))
    assert "65 of 100 claims" in caution(run(entail=Identity("cascade(embedded, openai/x)", settings)))


@pytest.mark.usefixtures("card")
def test_another_version_has_no_figures() -> None:
    """The figures of one version are not given for another."""
    words = caution(run(entail=Identity("embedded", (("rules", "8"), ("tables", "abc")))))
    assert words.startswith("This version of the embedded judge has not been measured")


def test_other_judges_have_no_caution() -> None:
    """An LLM judge has none; the lexical judge has a sentence of its own."""
    assert caution(run(entail=Identity("openai/x"))) == ""
    assert "compares words" in caution(run(entail=Identity("lexical")))


def test_the_packaged_judge_was_measured() -> None:
    """The packaged figures are those of the packaged judge; if it changes, it has to be measured again."""
    words = caution(run(entail=EmbeddedJudge().identity))
    assert "of 100 claims" in words, "measure anew: ragauge judges measure embedded --data FOLDER -o measured.json"


def test_terminal_and_page_show_the_caution() -> None:
    """It is the last line in the terminal and in the head of the page."""
    rows: list[dict[str, Any]] = [{"response": "It is red.", "contexts": ["It is red."]}]
    record = rg.evaluate(rows, "faithfulness", "embedded").record
    words = caution(record)
    assert "".join(plain_text(run_view(record), 100).split()).endswith("".join(words.split()))
    assert page_head(record)["words"]["caution"] == words
