"""How far to trust the judges in the package: told where they judged, from what was measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ragauge as rg
from ragauge.judges.embedded.judge import EmbeddedJudge
from ragauge.report import wording as module
from ragauge.report.document import page_head
from ragauge.report.text import run_text
from ragauge.report.wording import caution
from ragauge.scores import RunRecord
from ragauge.types import Identity

MEASURED = (("rules", "9"), ("splitter", "a 1.0"), ("tables", "abc"))
SETS = [
    {"name": "ent_a", "rows": 10, "auc": {"value": 0.791, "low": 0.7, "high": 0.9}},
    {"name": "rag_b", "rows": 10, "auc": {"value": 0.8549}},
    {"name": "ans_c", "rows": 10, "auc": {"value": 0.951}},
    {"name": "tox_d", "note": "not answered: classify:toxic"},
]


@pytest.fixture
def card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge that was measured on three sets."""
    path = tmp_path / "measured.json"
    path.write_text(json.dumps({"schema": "x", "judge": {"name": "embedded", "settings": MEASURED}, "sets": SETS}))
    monkeypatch.setattr(module, "CARD", path)


def run(**judges: Identity) -> RunRecord:
    """A run of these judges."""
    return RunRecord("id", "2026", "data", (), dict(judges), "1")


@pytest.mark.usefixtures("card")
def test_the_figures_are_those_that_were_measured() -> None:
    """From the lowest to the highest AUC of each kind of set; kinds that were not measured are not spoken of."""
    said = caution(run(entail=Identity("embedded", MEASURED)))
    assert "supported from unsupported claims with an AUC of 0.79 to 0.85" in said
    assert "and right from wrong answers with an AUC of 0.95 (0.5 is chance)" in said
    assert "toxic" not in said
    assert "docs/embedded-judge.md" in said
    assert said.count(". ") == 0


@pytest.mark.usefixtures("card")
def test_a_member_of_another_judge_is_the_judge_too() -> None:
    """In a cascade its settings stand behind its place; how sentences are split is no part of what was measured."""
    settings = (("1", "embedded"), ("1.rules", "9"), ("1.splitter", "b 2.0"), ("1.tables", "abc"), ("2", "openai/x"))
    assert "AUC of 0.79" in caution(run(entail=Identity("cascade(embedded, openai/x)", settings)))


@pytest.mark.usefixtures("card")
def test_another_version_has_no_figures() -> None:
    """What was measured of one version is not said of another."""
    said = caution(run(entail=Identity("embedded", (("rules", "8"), ("tables", "abc")))))
    assert said.startswith("This version of the embedded judge has not been measured")


def test_judges_that_are_not_in_the_package_have_no_caution() -> None:
    """An LLM judge is not spoken of; the lexical judge has a sentence of its own."""
    assert caution(run(entail=Identity("openai/x"))) == ""
    assert "compares words" in caution(run(entail=Identity("lexical")))


def test_the_packaged_judge_is_the_one_that_was_measured() -> None:
    """The figures in the package are of the judge in the package; a change of the judge asks for measuring anew."""
    said = caution(run(entail=EmbeddedJudge().identity))
    assert "AUC of" in said, "measure anew: ragauge judges measure embedded --data FOLDER -o measured.json"


def test_terminal_and_page_say_it() -> None:
    """The sentence is the last line in the terminal and in the head of the page."""
    rows: list[dict[str, Any]] = [{"response": "It is red.", "contexts": ["It is red."]}]
    record = rg.evaluate(rows, "faithfulness", "embedded").record
    said = caution(record)
    assert "".join(run_text(record, width=80).split()).endswith("".join(said.split()))
    assert page_head(record)["words"]["caution"] == said
