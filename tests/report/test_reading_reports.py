from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.report.judged import decompose, entail

import ragauge as rg
from ragauge.metrics.registry import select_metrics
from ragauge.report.explain import worst
from ragauge.report.wording import arrow, interval, number, score_words, shortened

ODD = "[/b] :smile: <script> | **x** [1] [red]"
ROWS = [
    {"id": f"row {n}", "query": f"what is {n}? {ODD}", "response": f"{n} is a. {n} is b.", "contexts": contexts}
    for n, contexts in enumerate([["0 is a. 0 is b."], ["1 is a.", "not: 1 is b."], ["nothing"], []])
]


@pytest.fixture
def run() -> rg.Run:
    """Four samples, of which the last two have nothing for them."""
    judge = rg.judge_from(decompose=decompose, entail=entail)
    return rg.evaluate(ROWS, "faithfulness,hallucination", judge, name=f"named {ODD}")


def test_a_report_shows_the_worst_samples_with_their_evidence(run: rg.Run, tmp_path: Path) -> None:
    """The Markdown report lists the worst samples first, each claim with its verdict and the deciding chunks."""
    report = run.save(tmp_path / "report.md").read_text(encoding="utf-8")
    assert report.startswith("# named [/b] :smile: &lt;script> | \\*\\*x\\*\\* [1] [red]\n")
    order = [report.index(f"### row {n}: ") for n in (2, 3, 1)]
    assert order == sorted(order)
    assert "### row 0: " not in report  # it is perfect
    assert "- contradicted: 1 is b" in report or "- neutral: 1 is b" in report
    assert "  - contradicted by 2" in report
    assert "| hallucination | ↓ | " in report


def test_samples_without_a_value_are_not_the_worst(run: rg.Run) -> None:
    """Samples without a value and perfect ones are left out, and equal values keep the order of the data."""
    records, estimates = list(run.records()), run.estimates

    def ids(key: str, count: int) -> list[str]:
        return [record.sample.id for record in worst(records, key, estimates[key], count)]

    assert ids("faithfulness", 3) == ["row 2", "row 3", "row 1"]
    assert ids("hallucination", 9) == ["row 1"]
    assert worst(records, "bleu", estimates["faithfulness"], 3) == []


def test_markup_in_data_is_shown_literally(run: rg.Run) -> None:
    """Brackets, emoji names and HTML in the data are shown literally, wherever a run is shown."""
    run.record.data = f"{ODD}.jsonl"
    run.record.bad_rows = (f"row 3, column '{ODD}': no text",)
    assert ODD in str(run)
    assert ODD in " ".join(str(run).split())
    assert "<script>" not in run._repr_markdown_()
    assert "&lt;script>" in run._repr_markdown_()


def test_the_arrow_shows_the_better_direction() -> None:
    """A metric states which way is better and the arrow shows it, also for parts, variants, pooled and mixed values."""
    keys = "hallucination,pooled(hallucination),noise_sensitivity,rouge(types=rougeL),composite(faithfulness=1,bleu=1)"
    measures = {key: measure for measure in select_metrics(keys) for key in measure.values}
    shown = {key: arrow(measure.better) for key, measure in measures.items()}
    assert shown == {
        "hallucination": "↓",
        "pooled(hallucination)": "↓",
        "noise_sensitivity.relevant": "↓",
        "noise_sensitivity.irrelevant": "↓",
        "rouge.rougeL": "↑",
        "composite": "↑",
    }


def test_numbers_for_people() -> None:
    """Values have three decimals, or are a dash if missing; a missing interval is empty."""
    none = rg.scores.Estimate(None, None, None, 0, 1, 2, "none")
    some = rg.scores.Estimate(0.5, 0.25, 1.0, 4, 0, 0, "some")
    assert (number(none.value), interval(none)) == ("–", "")
    assert (number(some.value), interval(some)) == ("0.500", "[0.250, 1.000]")
    assert score_words(rg.scores.Score(undefined="nothing")) == "undefined (nothing)"
    assert score_words(rg.scores.Score(failed="down")) == "failed (down)"
    assert shortened("a  b\nc" * 100, 10) == "a b ca b " + "…"


def test_an_empty_response_is_shown_as_such(tmp_path: Path) -> None:
    """A sample with an empty response is quoted as empty, with its score."""
    judge = rg.judge_from(decompose=decompose, entail=entail, relevant=lambda query, text: True)
    rows: list[dict[str, Any]] = [{"query": "q", "response": "", "contexts": ["a"], "references": ["a"]}]
    run = rg.evaluate(rows, "answer_correctness", judge)
    report = run.save(tmp_path / "report.md").read_text(encoding="utf-8")
    assert "**answer_correctness 0.000**" in report
    assert "> (empty)" in report
