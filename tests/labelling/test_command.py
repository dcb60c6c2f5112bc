from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
from click.testing import CliRunner
from tests.interrupts import hear_ctrl_c

import ragauge
import ragauge as rg
from ragauge.analysis.labels import Labelling, summary_lines
from ragauge.cli.main import main
from ragauge.store import Store

Answered = Callable[[Labelling, int], list[int]]


def test_it_opens_the_page_and_ends_with_a_summary(
    store: Store, measured: Callable[..., rg.Run], answered: Answered
) -> None:
    """The page opens where the run is labelled; on Ctrl-C both scores and the agreement are printed."""
    run = measured(12)
    answered(Labelling(run), 12)
    command = [sys.executable, "-m", "ragauge", "label", "--store", str(store.path), "--no-open"]
    environment = {**os.environ, "PYTHONPATH": str(Path(ragauge.__file__).parents[1]), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, preexec_fn=hear_ctrl_c
    ) as served:
        try:
            assert served.stdout is not None
            address = served.stdout.readline()
            assert address.strip().endswith(f"#run={run.id}&view=label&metric=faithfulness")
            served.send_signal(signal.SIGINT)
            words, _ = served.communicate(timeout=20)
        finally:
            served.kill()
    assert "faithfulness: judge 0.938 [" in words
    assert "corrected by people: " in words


def test_the_summary_has_both_scores_and_the_agreement(measured: Callable[..., rg.Run], answered: Answered) -> None:
    """The summary has the judge's score, the corrected one, and the raw agreement with kappa."""
    labelling = Labelling(measured(12))
    answered(labelling, 12)
    first, corrected, agreement = summary_lines(labelling.summaries(["faithfulness"]))
    assert first.startswith("faithfulness: judge 0.938 [")
    assert corrected.startswith("  corrected by people: 0.854 [")
    assert "on 48 questions (entail), kappa " in agreement


def test_wrong_calls_end_with_2(store: Store, measured: Callable[..., rg.Run], tmp_path: Path) -> None:
    """A metric without judgments and a missing store end with exit code 2."""
    measured(12)
    result = CliRunner().invoke(main, ["label", "--store", str(store.path), "-m", "bleu"])
    assert (result.exit_code, "unknown metric" in result.output) == (2, True)
    missing = CliRunner().invoke(main, ["label", "--store", str(tmp_path / "none")])
    assert (missing.exit_code, "there is no store" in missing.output) == (2, True)


def test_labels_take_precedence_in_the_next_run(
    store: Store, measured: Callable[..., rg.Run], answered: Answered
) -> None:
    """A later run over the same store takes human labels before the judge's answers."""
    before = measured(12)
    answered(Labelling(before), 12)
    again = rg.rescore(rg.Run.open(store))
    assert again.record.labelled == 48
    assert again.values("faithfulness")[0] == 0.5
    assert store.values(before.id, "faithfulness")[0] == 0.75


def test_a_watch_names_its_newest_complete_window(
    store: Store, measured: Callable[..., rg.Run], answered: Answered, tmp_path: Path
) -> None:
    """`ragauge label NAME` of a watch is about the last window that is complete, not the one under way."""
    run = measured(12)
    run.record.name, run.record.to_label = "logs", 3
    store.finish(run.record)
    store.begin(msgspec.structs.replace(run.record, id="next", status="running", samples=0, data_hash=""))
    answered(Labelling(rg.Run.open(store, run.id)), 3)
    words = [
        "label",
        "logs",
        "--store",
        str(store.path),
        "-m",
        "faithfulness",
        "--write",
        str(tmp_path / "labels.jsonl"),
    ]
    result = CliRunner().invoke(main, words)
    assert (result.exit_code, "corrected by people: " in result.output) == (0, True)
    named = CliRunner().invoke(
        main, ["label", "next", "--store", str(store.path), "--write", str(tmp_path / "l.jsonl")]
    )
    assert "next has not ended" in named.output
    store.begin(msgspec.structs.replace(run.record, id="other"))
    by_id = CliRunner().invoke(main, ["label", run.id[:-1], *words[2:]])
    assert "corrected by people: " in by_id.output
