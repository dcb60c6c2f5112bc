from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ragauge as rg
from ragauge.errors import BadData, MissingField
from ragauge.questions import Entail
from ragauge.run.scoring import WRITE_BATCH
from ragauge.store import Store, label
from ragauge.types import Label, Verdict

Make = Callable[..., Any]


def test_a_plan_asks_nobody_and_counts_what_a_run_asks(judge: Any, rows: Make) -> None:
    """The plan asks no judge and keeps nothing; where sentences are claims its counts are those of the run."""
    planned = rg.plan(rows(WRITE_BATCH + 3), "faithfulness,claim_f1,context_precision", judge)
    assert judge.asked == []
    run = rg.evaluate(rows(WRITE_BATCH + 3), "faithfulness,claim_f1,context_precision", judge)
    kinds = ["decompose", "entail", "relevant"]
    counted = {kind: sum(type(question).__name__.lower() == kind for question in judge.asked) for kind in kinds}
    assert {kind: planned.questions[kind] for kind in kinds} == counted
    assert planned.samples == run.record.samples
    assert planned.estimated
    assert planned.known.total() == 0


def test_a_plan_knows_what_is_stored(judge: Any, rows: Make, tmp_path: Path) -> None:
    """After a run the plan of the same run asks nothing, and of more samples only theirs."""
    rg.evaluate(rows(4), "faithfulness", judge, tmp_path)
    same = rg.plan(rows(4), "faithfulness", judge, tmp_path)
    assert (same.questions.total(), same.known.total(), same.estimated) == (0, 4 * 4, False)
    more = rg.plan(rows(5), "faithfulness", judge, tmp_path)
    assert (more.questions.total(), more.known.total()) == (4, 16)


def test_metrics_share_questions(judge: Any, rows: Make) -> None:
    """Each metric is counted on its own, and the total counts shared questions once."""
    planned = rg.plan(rows(2), "faithfulness,hallucination,bleu", judge)
    assert dict(planned.by_metric) == {"faithfulness": 8, "hallucination": 8, "bleu": 0}
    assert planned.questions.total() == 8


def test_a_plan_in_print(judge: Any, rows: Make) -> None:
    """The printed plan says how many questions, by kind and by metric, and what is left out."""
    text = str(rg.plan(rows(2), judge=judge))
    assert text.startswith("2 samples, about ")
    assert "faithfulness" in text
    assert "not measured: summary_coherence (no sample has 'source'" in text


def test_a_plan_refuses_what_a_run_refuses(judge: Any, rows: Make) -> None:
    """Wrong data and unmeasurable metrics are refused as by `evaluate`."""
    with pytest.raises(MissingField, match="summary_coherence"):
        rg.plan(rows(2), "summary_coherence", judge)
    with pytest.raises(BadData, match="no rows"):
        rg.plan([], "faithfulness", judge)


def test_a_plan_makes_no_store(judge: Any, rows: Make, tmp_path: Path) -> None:
    """Planning over a store that is not there makes none."""
    planned = rg.plan(rows(2), "faithfulness", judge, tmp_path / "none")
    assert planned.questions.total() == 8
    assert list(tmp_path.iterdir()) == []


def test_a_plan_tells_its_progress(judge: Any, rows: Make) -> None:
    """The caller hears of every sample."""
    heard: list[int] = []
    rg.plan(rows(3), "faithfulness", judge, progress=heard.append)
    assert heard == [1, 2, 3]


def test_planning_keeps_nothing(tmp_path: Path) -> None:
    """A plan that meets people's labels counts them as known and leaves the store as it was."""
    question = Entail(("The lamp is lit.",), "The lamp is lit.")
    with Store.open(tmp_path) as store:
        rows = [{"response": "The lamp is lit.", "contexts": ["The lamp is lit."]}]
        labels = [label(question, Verdict(Label.ENTAILED), "ann")]
        planned = rg.plan(rows, "faithfulness(units=sentences)", store=store, labels=labels)
        assert planned.known["entail"] == 1
        assert list(store.judgments()) == []
