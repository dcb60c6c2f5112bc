"""`ragauge history` and `ragauge store`: runs over time, and what a store keeps."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import Result

import ragauge as rg
from ragauge.errors import StoreError
from ragauge.store import Store
from ragauge.store.pruning import prune

Call = Callable[..., Result]


def keep_run(name: str, right: int, started: str = "", data: str = "answers", tags: tuple[str, ...] = ()) -> str:
    """Keep a run of 40 answers, of which so many are right; its id."""
    rows = [{"response": "yes" if place < right else "no", "references": ["yes"]} for place in range(40)]
    with Store.open(".ragauge") as store:
        run = rg.evaluate(rows, "exact_match", store=store, name=name)
        run.record.data, run.record.tags = data, tags
        run.record.started = started or run.record.started
        store.finish(run.record)
        return run.id


def test_a_metric_over_time(call: Call) -> None:
    """Runs of one name are listed from the oldest, a change is marked where the intervals have nothing in common."""
    ids = [keep_run("main", right) for right in (38, 37, 10)]
    keep_run("other", 5, data="others")
    result = call("history", "main")
    assert result.exit_code == 0
    lines = [line for line in result.stdout.splitlines() if line.strip().startswith("2")]
    assert [line.split()[0] for line in lines] == ids
    assert ["*" in line for line in lines] == [False, False, True]
    assert "-0.675 *" in lines[2]
    assert f"ragauge compare {ids[1]} {ids[2]}" in result.stdout
    assert "exact_match of other, 1 run" in call("history").stdout
    assert "exact_match of answers, 3 runs" in call("history", "answers", "-m", "exact_match").stdout


def test_another_parameter_is_no_change(call: Call) -> None:
    """Runs of one metric with two parameters have no difference: history and compare say how each was measured."""
    rows = [{"retrieved_context_ids": ["b", "a"], "reference_context_ids": ["a"]}] * 3
    with Store.open(".ragauge") as store:
        first, second = (rg.evaluate(rows, spec, store=store, name="r").id for spec in ("ndcg(k=1)", "ndcg(k=10)"))
        assert store.run(second).captions["ndcg"].endswith(": ndcg(k=10)")
    result = call("history", "r")
    assert "now ndcg(k=10)" in " ".join(result.stdout.split())
    assert "ragauge compare" not in result.stdout
    compared = call("compare", first, second)
    assert "ndcg: it was measured as ndcg(k=1) in the first run and as ndcg(k=10) in the second" in compared.stderr


def test_a_judge_with_other_settings_is_named(call: Call) -> None:
    """Where a judge of the same name has another setting, history says which."""
    rows = [{"response": "Ann built it.", "contexts": ["Ann built it."]}] * 3
    with Store.open(".ragauge") as store:
        for level in (0.9, 0.8):
            judge = rg.cascade("lexical", "embedded", threshold={"entail": level})
            rg.evaluate(rows, "faithfulness", judge, store=store, name="r")
    text = "".join(call("history", "r").stdout.split())  # as cells wrap
    assert text.count("nowotherthreshold") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["history", "mian"], "did you mean 'main'"),
        (["history", "exact_match"], "ragauge history [NAME] -m exact_match"),
        (["history", "main", "-m", "bleu"], "exact_match"),
        (["history", "main", "--tag", "none"], "main"),
        (["store", "prune"], "--keep"),
        (["store", "prune", "--keep", "soon"], "write it as 30s, 15m, 1h or 7d"),
        (["store", "edit", "nothing"], "nothing"),
    ],
)
def test_a_wrong_call_is_told(call: Call, arguments: list[str], message: str) -> None:
    """A wrong name, metric or time exits with 2 and says what there is."""
    keep_run("main", 20)
    result = call(*arguments)
    assert (result.exit_code, message in result.stderr) == (2, True)


def test_runs_are_renamed_tagged_and_archived(call: Call) -> None:
    """A name, tags and the archive change the record and the lists, and nothing of the scores."""
    first, second = keep_run("main", 30), keep_run("main", 31)
    before = Store.open(".ragauge").run(first)
    assert (
        "name base, tags release, listed" in call("store", "edit", first, "--name", "base", "--tag", "release").stdout
    )
    assert "1 run" in call("history", "base", "--tag", "release").stdout
    call("store", "edit", first, "--untag", "release", "--archive")
    record = Store.open(".ragauge").run(first)
    assert (record.name, record.tags, record.archived) == ("base", (), True)
    assert record.estimates == before.estimates
    assert call("history", "base").exit_code == 2
    assert "1 run" in call("history", "base", "--archived").stdout
    call("store", "edit", first, "--restore", "--name", "main")
    assert first in call("history", "main").stdout
    assert second in call("history", "main").stdout


def judged(name: str, started: str, *claims: str) -> str:
    """Keep a run of the embedded judge over one answer a claim; its id."""
    premise = "The bridge was opened in 1931 by the mayor of the town, after nine years of work on both of its towers. "
    rows = [{"query": "?", "response": claim, "contexts": [premise + claim]} for claim in claims]
    with Store.open(".ragauge") as store:
        run = rg.evaluate(rows, "faithfulness", store=store, name=name)
        run.record.started = started
        store.finish(run.record)
        return run.id


OLD, NEW = "2020-01-01T00:00:00+00:00", "2126-01-01T00:00:00+00:00"


def test_a_window_that_has_not_ended_is_not_pruned(call: Call) -> None:
    """A watch that goes on adds to the run of its open window, however long ago the traces of it began."""
    window = judged("window", OLD, "Ada came first.")
    with Store.open(".ragauge") as store:
        store.finish(msgspec.structs.replace(store.run(window), to_label=3, status="running"))
    assert "would remove: 0 runs" in call("store", "prune", "--keep", "90d").stdout


def test_old_runs_are_pruned_and_what_others_need_stays(call: Call) -> None:
    """A dry run removes nothing; then old runs go with what they alone show, and the others are as before."""
    old, new = judged("old", OLD, "Ada came first.", "Bob came last."), judged("new", NEW, "Bob came last.")
    kept = judged("tagged", OLD, "Cy came second.")
    call("store", "edit", kept, "--tag", "release")
    with Store.open(".ragauge") as store:
        before, judgments = list(store.samples(new)), list(store.judgments())
    shown = call("store", "prune", "--keep", "90d")
    assert f"{old}  2020-01-01" in shown.stdout
    assert "would remove: 1 run, 2 samples, 1 judgment, " in shown.stdout
    with Store.open(".ragauge") as store:
        assert list(store.judgments()) == judgments
        assert {run.id for run in store.runs()} == {old, new, kept}
    removed = call("store", "prune", "--keep", "90d", "--yes")
    assert "removed: 1 run, 2 samples, 1 judgment, " in removed.stdout
    with Store.open(".ragauge") as store:
        assert {run.id for run in store.runs()} == {new, kept}
        assert list(store.samples(new)) == before
        assert len(list(store.judgments())) == len(judgments) - 1
        again = rg.evaluate([record.sample for record in before], "faithfulness", store=store)
        assert again.record.asked == 0
    stats = call("store", "stats").stdout
    assert "runs" in stats
    assert "MiB in .ragauge/store.db" in stats


def test_a_store_that_is_open_elsewhere_is_not_pruned(call: Call, folder: Path) -> None:
    """While another process has the store open nothing is removed, and the message says so."""
    old = judged("old", OLD, "Ada came first.")
    code = "from ragauge.store import Store; s = Store.open('.ragauge'); s.runs(); print(1, flush=True); input()"
    source = str(Path(rg.__file__).parents[1])
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=folder,
        env={"PYTHONPATH": source},
    ) as other:
        assert other.stdout
        other.stdout.readline()
        with Store.open(".ragauge") as store, pytest.raises(StoreError, match="another process has it open"):
            prune(store, {old}, dry=False)
        other.communicate(b"\n")
    with Store.open(".ragauge") as store:
        assert [run.id for run in store.runs()] == [old]
        assert prune(store, {old}, dry=False).runs == 1


def test_a_backup_is_a_store(call: Call, folder: Path) -> None:
    """A copy made by SQLite's own backup while a run is in the store has all runs, and goes on as a store."""
    id = keep_run("main", 20)
    with Store.open(".ragauge") as store:
        code = "import sqlite3; s = sqlite3.connect('.ragauge/store.db'); s.execute(\"VACUUM INTO 'backup.db'\")"
        subprocess.run([sys.executable, "-c", code], cwd=folder, check=True)
        expected: list[Any] = list(store.samples(id))
    shutil.rmtree(folder / ".ragauge")
    with Store.open("backup.db") as store:
        assert list(store.samples(id)) == expected
    assert call("report", id, "--store", "backup.db", "-o", "run.json").exit_code == 0


def test_the_measured_system_is_beside_the_judge(call: Call) -> None:
    """Model, mean latency and cost of the measured system are columns only where the data has them; ids are whole."""
    rows: list[dict[str, Any]] = [{"response": "yes", "references": ["yes"]} for _ in range(4)]
    facts: list[dict[str, Any]] = [
        {"model": "m1", "latency": 1.5, "cost": 0.25},
        {"model": "m2", "latency": "0.5"},
        {"latency": "fast"},
        {},
    ]
    with Store.open(".ragauge") as store:
        rg.evaluate(rows, "exact_match", store=store, name="bare")
        run = rg.evaluate(
            [row | fact for row, fact in zip(rows, facts, strict=True)], "exact_match", store=store, name="full"
        )
    line = next(line for line in call("history", "full").stdout.splitlines() if "m1" in line)
    assert [part for part in ("m1, m2", "1 s", "$0.2500", "$0.00") if part not in line] == []
    assert line.split()[0] == run.id
    with Store.open(".ragauge") as store:
        rg.evaluate([{**rows[0], "cost": -1}], "exact_match", store=store, name="refund")
    assert "$-1.00" in call("history", "refund").stdout
    bare = call("history", "bare").stdout
    assert ("latency" in bare, "judge cost" in bare) == (False, True)
