from __future__ import annotations

from pathlib import Path

import pytest

import ragauge as rg
from ragauge.store.store import MEMORY_LIMIT, MemoryStore


def _rows(count: int) -> list[dict[str, object]]:
    return [
        {"id": str(n), "response": f"it is {n}", "references": [f"it was {n % 7}"], "page": n} for n in range(count)
    ]


def _kept(run: rg.Run) -> list[object]:
    return [*run.records(), run.values("token_f1"), run.scores[-1].sample, len(run.scores), run.estimates]


@pytest.mark.parametrize("count", [1, MEMORY_LIMIT + 1, pytest.param(2 * MEMORY_LIMIT + 70, marks=pytest.mark.slow)])
def test_a_run_that_nobody_keeps_is_the_run_that_a_store_keeps(tmp_path: Path, count: int) -> None:
    """Samples, values and estimates are equal, whether the run fits in memory or has gone on in a temporary file."""
    in_memory = rg.evaluate(_rows(count), "token_f1,rouge")
    in_file = rg.evaluate(_rows(count), "token_f1,rouge", store=tmp_path)
    assert isinstance(in_memory.store, MemoryStore)
    assert _kept(in_memory) == _kept(in_file)
    assert in_memory.to_dict()["samples"] == in_file.to_dict()["samples"]


def test_small_runs_make_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to the limit nothing is written; beyond it a folder is made, and removed with the store."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    run = rg.evaluate(_rows(MEMORY_LIMIT), "token_f1")
    assert run.store.labels() == []
    assert list(tmp_path.iterdir()) == []
    large = rg.evaluate(_rows(MEMORY_LIMIT + 1), "token_f1")
    assert len(list(tmp_path.iterdir())) == 1
    run.store.close()
    large.store.close()
    assert list(tmp_path.iterdir()) == []


def test_whatever_else_is_asked_of_it_is_answered_as_by_a_file() -> None:
    """A second run, the list of judgments and labels move it to a file, and nothing is lost on the way."""
    judge = rg.judge_from(entail=lambda premise, hypothesis: hypothesis in premise)
    row = {"response": "a b", "contexts": ["a b c"]}
    first = rg.evaluate([row], "faithfulness", judge={"entail": judge, "*": "embedded"})
    judgments = list(first.store.judgments())
    assert len(judgments) == first.record.asked == 2
    second = rg.evaluate([row], "faithfulness", judge={"entail": judge, "*": "embedded"}, store=first.store)
    assert (second.record.asked, second.record.reused) == (0, 2)
    assert [record.id for record in first.store.runs()] == [second.id, first.id]
    assert next(first.records()).scores == next(second.records()).scores


def test_an_unknown_run_and_metric_are_named() -> None:
    """As of any store, with what there is."""
    run = rg.evaluate(_rows(2), "token_f1")
    with pytest.raises(rg.errors.UnknownName, match="token_f1"):
        run.values("bleu")
    with pytest.raises(rg.errors.UnknownName):
        run.store.run("1999")
