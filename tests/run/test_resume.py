from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ragauge as rg
from ragauge.run.scoring import WRITE_BATCH
from ragauge.store import write_judgments

Make = Callable[..., Any]


def _told(run: rg.Run) -> list[dict[str, rg.scores.Score]]:
    return [dict(scores) for scores in run.scores]


def test_a_second_run_asks_nothing(judge: Any, stub: Make, rows: Make, tmp_path: Path) -> None:
    """Over the same store nothing is asked again, and estimates, scores and evidence are equal."""
    first = rg.evaluate(rows(WRITE_BATCH + 5), judge=judge, store=tmp_path)
    again = stub()
    second = rg.evaluate(rows(WRITE_BATCH + 5), judge=again, store=tmp_path)
    assert (second.record.asked, again.asked) == (0, [])
    assert second.record.reused == first.record.asked + first.record.reused
    assert second.estimates == first.estimates
    assert _told(second) == _told(first)
    assert second.id != first.id


def test_the_newest_run_is_the_latest(judge: Any, rows: Make, tmp_path: Path) -> None:
    """Of runs that follow each other at once, "latest" is the last one, and the list is newest first."""
    store = rg.Store.open(tmp_path)
    ids = [rg.evaluate(rows(1), "bleu", judge, store).id for _ in range(20)]
    assert rg.Run.open(store, "latest").id == ids[-1]
    assert [record.id for record in store.runs()] == ids[::-1]


def test_only_new_metrics_are_asked_for(judge: Any, rows: Make, tmp_path: Path) -> None:
    """A second set of metrics asks only what the first did not; one that shares all its questions asks nothing."""
    rg.evaluate(rows(3), "faithfulness", judge, tmp_path)
    judge.asked.clear()
    rg.evaluate(rows(3), "hallucination,pooled(faithfulness),bleu", judge, tmp_path)
    assert judge.asked == []
    rg.evaluate(rows(3), "faithfulness,context_relevance", judge, tmp_path)
    assert judge.kinds == {"relevant"}
    assert len(judge.asked) == 3 * 3


def test_new_samples_alone_are_asked(judge: Any, rows: Make, tmp_path: Path) -> None:
    """Data that grew by a row asks what the new row needs."""
    rg.evaluate(rows(4), "faithfulness", judge, tmp_path)
    judge.asked.clear()
    run = rg.evaluate(rows(5), "faithfulness", judge, tmp_path)
    assert len(judge.asked) == run.record.asked == 1 + 3
    assert all("5 is" in repr(question) for question in judge.asked)


def test_the_order_of_the_samples_does_not_matter(judge: Any, rows: Make, tmp_path: Path) -> None:
    """Rows in another order ask nothing, and give the same estimates but for rounding."""
    first = rg.evaluate(rows(40), "faithfulness,claim_f1", judge, tmp_path)
    second = rg.evaluate(rows(40)[::-1], "faithfulness,claim_f1", judge, tmp_path)
    assert second.record.asked == 0
    for key, one in first.estimates.items():
        other = second.estimates[key]
        assert (other.value, other.low, other.high) == pytest.approx((one.value, one.low, one.high))


def test_another_judge_asks_for_itself(judge: Any, stub: Make, rows: Make, tmp_path: Path) -> None:
    """Judgments of one judge are not another's."""
    rg.evaluate(rows(2), "faithfulness", judge, tmp_path)
    other = stub(name="other")
    run = rg.evaluate(rows(2), "faithfulness", other, tmp_path)
    assert run.record.reused == 0
    assert set(other.asked) == set(judge.asked)


def test_a_recording_replays_a_run(judge: Any, rows: Make, tmp_path: Path) -> None:
    """The judgments of a store, and a file of them, give the same scores again without the judge."""
    first = rg.evaluate(rows(3), "faithfulness,hallucination,context_relevance", judge, tmp_path / "store")
    write_judgments(tmp_path / "all.jsonl", first.store.judgments())
    judge.asked.clear()
    for place in ("store", "all.jsonl"):
        replayed = rg.evaluate(rows(3), "faithfulness,hallucination,context_relevance", f"recording:{tmp_path / place}")
        assert replayed.estimates == first.estimates
    assert judge.asked == []


def test_a_recording_says_what_it_does_not_hold(judge: Any, rows: Make, tmp_path: Path) -> None:
    """A sample that was never recorded fails with the reason."""
    rg.evaluate(rows(3), "faithfulness", judge, tmp_path)
    replayed = rg.evaluate(rows(4), "faithfulness", f"recording:{tmp_path}")
    assert [bool(scores["faithfulness"].failed) for scores in replayed.scores] == [False, False, False, True]
    assert "not_recorded" in str(replayed.scores[3]["faithfulness"].failed)


def test_runs_share_a_temporary_store(judge: Any, rows: Make) -> None:
    """A run without a store lives as long as it is held, and its store serves further runs."""
    first = rg.evaluate(rows(3), "faithfulness", judge)
    asked = len(judge.asked)
    before = _told(first)
    second = rg.evaluate(rows(3), "faithfulness", judge, first.store)
    third = rg.evaluate(rows(2), "faithfulness", judge)
    assert second.record.asked == 0
    assert third.record.asked > 0
    assert len(judge.asked) == asked + third.record.asked
    store = first.store
    del first
    assert [dict(scores) for scores in second.scores] == before
    assert len(store.runs()) == 2


def test_evidence_points_at_judgments_of_the_store(judge: Any, rows: Make, tmp_path: Path) -> None:
    """Each piece of evidence that was judged names a judgment that the store holds, about that very piece."""
    run = rg.evaluate(rows(3), judge=judge, store=tmp_path)
    pieces = [piece for scores in run.scores for score in scores.values() for piece in score.evidence]
    judged = [piece for piece in pieces if piece.judgment]
    found = run.store.find([piece.judgment for piece in judged])
    assert len(judged) > 50
    assert all(piece.text in repr(found[piece.judgment].question) for piece in judged)
