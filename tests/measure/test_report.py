"""A measurement in a terminal, and as a file."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from ragauge.analysis.measure import (
    BaselineDifference,
    Measurement,
    SetResult,
    measurement_markdown,
    measurement_view,
)
from ragauge.errors import UsageError
from ragauge.statistics.intervals import Interval
from ragauge.types import Identity


def figure(value: float, spread: float = 0.05) -> Interval:
    """A figure with its interval."""
    return Interval(value, value - spread, value + spread, "bootstrap of groups")


def against(by: str = "auc", p: float = 0.2) -> BaselineDifference:
    """A comparison with another judge."""
    return BaselineDifference(400, by, 0.8, 0.7, figure(0.1), p, p)


SETS = (
    SetResult("ans_a", 1000, 0, figure(0.91), figure(0.8), figure(0.7), against=against(p=0.0004)),
    SetResult("claims_a", 43, f1=figure(0.7), sentences=figure(0.5), against=against("f1")),
    SetResult("coh_summeval", 40, 0, figure(0.6), figure(0.6), correlation=figure(0.41)),
    SetResult(
        "ent_summedits", 400, 3, None, figure(0.6), figure(0.5), against=against("balanced_accuracy"), failure="x"
    ),
    SetResult("rag_ragtruth_qa_test", 373, 0, figure(0.78), figure(0.63), figure(0.74), against=against()),
    SetResult("rag_ares_databricks_human", 95, 0, figure(0.71, 0.2), figure(0.62), figure(0.79), against=against()),
    SetResult("tox_hatecheck", note="not answered: classify:toxic"),
)
FOUND = Measurement(judge=Identity("embedded"), baseline=Identity("lexical"), limit=None, sets=SETS)


@pytest.fixture(scope="module")
def shown() -> list[str]:
    """The lines on a terminal of 100 columns."""
    console = Console(width=100, color_system=None, highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        for part in measurement_view(FOUND):
            console.print(part)
    return captured.get().splitlines()


def test_the_tables_fit_a_terminal(shown: list[str]) -> None:
    """At 100 columns no row is broken: each set is on one line of each table."""
    for one, tables in (("ans_a", 2), ("rag_ares_databricks_human", 2), ("coh_summeval", 1)):
        assert len([line for line in shown if line.split()[:1] == [one]]) == tables
    assert any(
        re.search(r"ans_a +1,000 +0\.91 0\.86–0\.96 +0\.80 0\.75–0\.85 +0\.70 0\.65–0\.75$", line.rstrip())
        for line in shown
    )


def test_a_comparison_has_its_verdict(shown: list[str]) -> None:
    """Both judges, the difference with its interval, p, and the verdict."""
    assert "embedded against lexical on the same rows:" in shown
    lines = [" ".join(line.split()) for line in shown]
    assert "ans_a 0.800 0.700 +0.100 [+0.050, +0.150] <0.001 better" in lines
    assert "rag_ragtruth_qa_test 0.800 0.700 +0.100 [+0.050, +0.150] 0.200 not distinguishable" in lines
    assert any(line.startswith("p: two-sided, adjusted for 5 tests (Holm)") for line in lines)


def test_remarks(shown: list[str]) -> None:
    """Rank correlations, comparisons by labels, rows without an answer, and sets that are not answered."""
    for line in (
        "claims_a: F1 of the claims 0.70 0.65–0.75, of whole sentences 0.50 0.45–0.55, the mean of 43 texts",
        "claims_a: compared by the F1 of the claims",
        "coh_summeval: rank correlation (Spearman) with people's grades 0.41 0.36–0.46",
        "ent_summedits: compared by balanced accuracy, as one judge gives no probabilities",
        "ent_summedits: 3 rows without an answer, the first because: x",
        "tox_hatecheck: not answered: classify:toxic",
    ):
        assert line in shown


def test_a_measurement_as_a_file(tmp_path: Path) -> None:
    """JSON is read back unchanged; Markdown has the same tables; other endings are refused."""
    saved = FOUND.save(tmp_path / "new" / "found.json")
    assert msgspec.json.decode(saved.read_bytes(), type=Measurement) == FOUND
    written = FOUND.save(tmp_path / "found.md").read_text(encoding="utf-8")
    assert written == measurement_markdown(FOUND)
    assert "| ans_a | 1,000 | 0.91 0.86–0.96 | 0.80 0.75–0.85 | 0.70 0.65–0.75 |" in written
    with pytest.raises(UsageError, match="unknown ending"):
        FOUND.save(tmp_path / "found.csv")
