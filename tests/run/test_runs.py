from __future__ import annotations

import copy
import csv
import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet
import pytest

import ragauge as rg
from ragauge.errors import UnknownName, UsageError
from ragauge.run.scoring import WRITE_BATCH
from ragauge.types import Sample

Make = Callable[..., Any]


@pytest.fixture
def run(judge: Any, rows: Make) -> rg.Run:
    """A run of one window and three samples; the second last has no claim, the last fails."""
    samples = rows(WRITE_BATCH + 1)
    return rg.evaluate(
        [*samples, Sample("none", "q", "", (), ("a",)), Sample("fails", "q", "Ada!", (), ("a",))],
        "faithfulness,bleu,rouge(types=rouge1+rougeL)",
        judge,
    )


@pytest.mark.parametrize("copied", [pickle.dumps, copy.deepcopy])
def test_a_run_is_not_copied_with_its_store(run: rg.Run, copied: Callable[[rg.Run], Any]) -> None:
    """A run is not pickled or copied in depth, and says how it is kept instead."""
    with pytest.raises(TypeError, match=r"use Run.open\(PATH, run.id\), or keep what run.to_dict\(\) or run.save"):
        copied(run)


def test_scores_are_read_by_position(run: rg.Run) -> None:
    """Positions count from both ends, slices are lists, and a position beyond the end is an IndexError."""
    scores = run.scores
    assert len(scores) == WRITE_BATCH + 3
    assert (scores[0].sample.id, scores[-1].sample.id) == ("1", "fails")
    assert [one.sample.id for one in scores[1:4]] == ["2", "3", "4"]
    assert [one.sample.id for one in scores[::-17]] == ["fails", "18", "1"]
    assert scores[5:5] == []
    with pytest.raises(TypeError, match=r"scores have positions, as in run.scores\[0\], not '1'"):
        scores["1"]  # type: ignore[call-overload]
    for beyond in (WRITE_BATCH + 3, -WRITE_BATCH - 4):
        with pytest.raises(IndexError, match=f"position {beyond} in a run of {len(scores)} samples"):
            scores[beyond]


def test_scores_are_iterated_in_order(run: rg.Run) -> None:
    """Iteration gives every sample once, in the order of the data, and can be repeated."""
    ids = [scores.sample.id for scores in run.scores]
    assert ids == [*map(str, range(1, WRITE_BATCH + 2)), "none", "fails"]
    assert [scores.sample.id for scores in run.scores] == ids
    assert [scores.sample.id for scores in reversed(run.scores)] == ids[::-1]


def test_scores_are_read_when_they_are_looked_at(run: rg.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a run nor its scores hold samples: one position reads one sample."""
    read: list[int] = []
    sample = run.store.sample

    def reading(run_id: str, position: int) -> Any:
        read.append(position)
        return sample(run_id, position)

    monkeypatch.setattr(run.store, "sample", reading)
    scores = run.scores
    assert (len(scores), read) == (WRITE_BATCH + 3, [])
    assert scores[2]["bleu"].value is not None
    assert read == [2]


def test_values_are_a_column(run: rg.Run) -> None:
    """One metric's values by position, None without a value; an unknown metric is refused with a suggestion."""
    values = run.values("faithfulness")
    assert values == [scores["faithfulness"].value for scores in run.scores]
    assert values[-2:] == [None, None]
    with pytest.raises(UnknownName, match="did you mean 'faithfulness'"):
        run.values("faithfulnes")


def test_a_missing_score_says_why(run: rg.Run) -> None:
    """Undefined and failed scores have a reason and no value."""
    none, fails = run.scores[-2]["faithfulness"], run.scores[-1]["faithfulness"]
    assert (none.value, none.undefined, none.failed) == (None, "the response makes no claim", None)
    assert (fails.value, fails.undefined, fails.failed) == (None, None, "stub: no")


def test_runs_are_opened_from_the_store(judge: Any, rows: Make, tmp_path: Path) -> None:
    """A run is found again as the latest, by its id and by the beginning of it, from the store or its path."""
    made = rg.evaluate(rows(2), "faithfulness", judge, tmp_path)
    for found in (rg.Run.open(tmp_path), rg.Run.open(str(tmp_path), made.id), rg.Run.open(made.store, made.id[:-2])):
        assert found.record == made.record
        assert [dict(one) for one in found.scores] == [dict(one) for one in made.scores]
    with pytest.raises(UnknownName, match="unknown run '1999'"):
        rg.Run.open(tmp_path, "1999")


def test_frames_hold_nan_where_there_is_no_value(run: rg.Run) -> None:
    """The frame has a row per sample and a number per metric; what is missing is NaN, and `remarks` says why."""
    frame = run.to_pandas()
    assert list(frame.columns) == [
        "id", "query", "response", "faithfulness", "bleu", "rouge.rouge1", "rouge.rougeL", "remarks",
    ]  # fmt: skip
    assert len(frame) == WRITE_BATCH + 3
    assert all(frame[metric].dtype == float for metric in frame.columns[3:-1])
    assert [value is None for value in run.values("faithfulness")] == frame["faithfulness"].isna().tolist()
    assert frame["faithfulness"].mean() == pytest.approx(run.estimates["faithfulness"].value)
    assert frame["remarks"].tolist()[-2:] == [
        "faithfulness: the response makes no claim",
        "faithfulness: stub: no",
    ]


def test_a_run_stopped_before_a_sample_was_done_says_so(judge: Any, rows: Make) -> None:
    """The report of a run without samples says that the judgments are kept, instead of an empty table alone."""
    run = rg.evaluate(rows(1), "faithfulness", judge)
    run.record.status, run.record.samples = "interrupted", 0
    assert "The run is interrupted: no sample is done yet, and the same command goes on" in " ".join(str(run).split())


def test_scores_join_the_pandas_frame_that_was_evaluated() -> None:
    """Scores keep the labels of the rows of a filtered frame, with a row skipped and several answers in another."""
    said = [{"role": role, "content": text} for text in ("a", "b") for role in ("user", "assistant")]
    columns = {"messages": [said[:2], said[:2], said[:2], said], "reference_contexts": ["", "", '["cut off', ""]}
    frame = pd.DataFrame(columns, index=["left out", "x", "bad", "y"])[1:]
    run = rg.evaluate(frame, "max_words(1)", skip_bad_rows=True, per="turn")
    assert len(run.record.bad_rows) == 1
    for scored in (run, rg.rescore(run)):
        assert scored.to_pandas().index.tolist() == ["x", "y", "y"]


def test_a_run_is_written_and_read_back(run: rg.Run, tmp_path: Path) -> None:
    """Every form holds the values of the run, and the JSON document is the one that `to_dict` gives."""
    document = json.loads(run.save(tmp_path / "out.json").read_text(encoding="utf-8"))
    assert document == json.loads(json.dumps(run.to_dict()))
    lines = run.save(str(tmp_path / "out.jsonl")).read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == document["samples"]
    with run.save(tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    columns = pyarrow.parquet.read_table(run.save(tmp_path / "new" / "out.parquet")).to_pydict()
    for metric in ("faithfulness", "bleu", "rouge.rougeL"):
        assert [float(row[metric]) if row[metric] else None for row in table] == run.values(metric)
        assert columns[metric] == run.values(metric)
    report = run.save(tmp_path / "out.MD").read_text(encoding="utf-8")
    assert "| faithfulness | ↑ | 0.333 | [" in report
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "out.MD", "out.csv", "out.json", "out.jsonl"]


def test_a_file_that_cannot_be_written(run: rg.Run, tmp_path: Path) -> None:
    """An unknown ending is refused with the known ones; so is a place that is no folder. Nothing is left behind."""
    with pytest.raises(UsageError, match=r"unknown ending; use one of \.json \.jsonl \.csv \.parquet \.md"):
        run.save(tmp_path / "out.xlsx")
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"cannot write .*; choose another place"):
        run.save(tmp_path / "file" / "out.json")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_saving_that_fails_leaves_the_old_file(run: rg.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is replaced only when the new one is whole."""
    path = tmp_path / "out.json"
    path.write_text("old")

    records = list(run.records())

    def broken(*_: Any) -> Any:
        yield from records[:3]
        raise RuntimeError("interrupted")

    monkeypatch.setattr(rg.Run, "records", broken)
    with pytest.raises(RuntimeError, match="interrupted"):
        run.save(path)
    assert [each.name for each in tmp_path.iterdir()] == ["out.json"]
    assert path.read_text() == "old"


def test_a_run_in_print(run: rg.Run) -> None:
    """Text, HTML and Markdown show each estimate, and the short form how many samples and estimates there are."""
    assert repr(run) == f"<Run {run.id}: {WRITE_BATCH + 3} samples, 4 estimates, finished>"
    for shown in (str(run), run._repr_markdown_()):
        for key, estimate in run.estimates.items():
            assert key in shown
            assert f"{estimate.value:.3f}" in shown


def test_no_value_is_ever_nan(run: rg.Run) -> None:
    """Estimates and scores are numbers or None."""
    numbers = [value for one in run.estimates.values() for value in (one.value, one.low, one.high)]
    numbers += [score.value for scores in run.scores for score in scores.values()]
    assert all(value is None or math.isfinite(value) for value in numbers)
