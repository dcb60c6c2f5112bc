from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from stat import S_IMODE

import pytest
from click.testing import Result
from tests.interrupts import heed_modes

import ragauge as rg
from ragauge.cli.main import COMMANDS
from ragauge.metrics.registry import ALIASES, CATALOGUE, parse_metric
from ragauge.scores import RunRecord

Call = Callable[..., Result]
Start = Callable[..., subprocess.Popen[str]]


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS), ["judges", "measure"]])
def test_every_command_explains_itself(call: Call, command: list[str]) -> None:
    """--help and -h of every command give its usage and a description."""
    long, short = call(*command, "--help"), call(*command, "-h")
    assert (long.exit_code, short.exit_code) == (0, 0)
    assert long.stdout == short.stdout
    assert long.stdout.startswith("Usage: ")
    assert len(long.stdout.splitlines()) > 4


def test_the_help_names_every_command_and_exit_code(call: Call) -> None:
    """The main help lists the commands and the exit codes."""
    text = " ".join(call("--help").stdout.split())
    assert all(f" {name} " in text for name in COMMANDS)
    assert "0 fine, 1 the run failed, 2 the call or the data is wrong, 3 a gate failed, 4 stopped early" in text


def test_version_and_unknown_commands(call: Call) -> None:
    """--version prints the version of the package; an unknown command ends with 2."""
    assert call("--version").stdout == f"ragauge, version {rg.__version__}\n"
    unknown = call("rum")
    assert unknown.exit_code == 2
    assert "unknown command 'rum'; did you mean 'run'?" in unknown.stderr


@pytest.mark.slow
def test_the_demo(call: Call, folder: Path) -> None:
    """The demo measures both systems, shows them side by side with evidence, and keeps both runs."""
    result = call("demo", "-o", "demo.json")
    assert (result.exit_code, result.stderr) == (0, "")
    for expected in (
        "36 questions each",
        "baseline",
        "candidate",
        "faithfulness ↑",
        "contradicted_claims ↓",
        "wrote demo.json",
    ):
        assert expected in result.stdout
    assert "Behind the numbers: the baseline's worst answers by faithfulness" in result.stdout
    assert "The baseline's report, to open in a browser: .ragauge/demo.html" in result.stdout
    assert "<title>demo baseline – ragauge</title>" in (folder / ".ragauge/demo.html").read_text(encoding="utf-8")
    runs = rg.Store.open(folder / ".ragauge").runs()
    assert [(run.name, run.samples, run.status) for run in runs] == [
        ("demo candidate", 36, "finished"),
        ("demo baseline", 36, "finished"),
    ]
    assert json.loads((folder / "demo.json").read_text(encoding="utf-8"))["run"]["name"] == "demo candidate"


@pytest.mark.slow
def test_the_demo_without_store(call: Call, folder: Path) -> None:
    """--no-store leaves no file."""
    result = call("demo", "--no-store")
    assert result.exit_code == 0
    assert "To look at it in a browser: ragauge demo -o demo.html" in result.stdout
    assert [path.name for path in folder.iterdir()] == ["data.jsonl"]


def test_a_plan_counts_and_keeps_nothing(call: Call, folder: Path) -> None:
    """`ragauge plan` counts the questions of a run, writes no file, and after the run knows all answers."""
    planned = call("plan", "data.jsonl", "-m", "faithfulness,bleu")
    assert planned.exit_code == 0
    assert planned.stdout.startswith("6 samples, about 12 questions to ask, 0 already answered")
    assert [path.name for path in folder.iterdir()] == ["data.jsonl"]
    call("run", "data.jsonl", "-m", "faithfulness,bleu")
    assert call("plan", "data.jsonl", "-m", "faithfulness,bleu").stdout.startswith(
        "6 samples, 0 questions to ask, 12 already answered"
    )
    assert call("plan", "data.jsonl", "-m", "faithfulness", "--no-store", "--limit", "2").stdout.startswith("2 samples")


def test_a_plan_refuses_what_a_run_refuses(call: Call) -> None:
    """A wrong call of `plan` ends with 2 and the message of `run`."""
    result = call("plan", "data.jsonl", "-m", "bias")
    assert result.exit_code == 2
    assert "embedded does not answer classify" in result.stderr


def test_ctrl_c_anywhere_ends_with_130(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands with nothing to continue also end with 130 on Ctrl-C, without a traceback."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ragauge.cli.run.plan", interrupted)
    result = call("plan", "data.jsonl")
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "Stopped.\n")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="modes are of other kinds elsewhere")
def test_a_read_only_store_is_read(call: Call, start: Start, folder: Path) -> None:
    """`report` and `compare` show a store in a read-only folder; `label`, which has to write, ends with 1."""
    for name in ("one", "two"):
        call("run", "data.jsonl", "-m", "bleu", "--name", name)
    (folder / ".ragauge" / "store.db").chmod(0o400)
    (folder / ".ragauge").chmod(0o500)
    try:
        for command in (("report",), ("report", "--list"), ("report", "-o", "page.html"), ("compare", "one", "two")):
            child = start(*command, preexec_fn=heed_modes)
            _, complaint = child.communicate(timeout=60)
            assert (child.returncode, complaint) == (0, "")
        child = start("label", preexec_fn=heed_modes)
        _, complaint = child.communicate(timeout=60)
        assert (child.returncode, "choose a folder that can be written" in complaint) == (1, True)
    finally:
        (folder / ".ragauge").chmod(0o700)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no modes")
def test_reports_are_private(call: Call, folder: Path) -> None:
    """Files and folders that a command creates are private to their owner; an existing file keeps its mode."""
    (folder / "shared.md").write_text("old")
    (folder / "shared.md").chmod(0o644)
    names = ("shared.md", "new/out.html", "new/out.csv", "out.parquet", "out.json")
    result = call("run", "data.jsonl", "-m", "bleu", *(part for name in names for part in ("-o", name)))
    assert result.exit_code == 0, result.output
    modes = [S_IMODE((folder / name).stat().st_mode) for name in (*names, "new", ".ragauge")]
    assert modes == [0o644, 0o600, 0o600, 0o600, 0o600, 0o700, 0o700]


def test_a_report_of_the_latest_run(call: Call, folder: Path) -> None:
    """`ragauge report` shows the newest run with its worst samples, and judges nothing."""
    call("run", "data.jsonl", "-m", "bleu", "--name", "first")
    ran = call("run", "data.jsonl", "-m", "token_f1", "--name", "second")
    shown = call("report")
    assert shown.exit_code == 0
    assert shown.stdout.splitlines()[:5] == ran.stdout.splitlines()[:5]
    assert shown.stdout.count("Who wrote book") == 3
    assert "Who wrote book" not in call("report", "--show", "0").stdout
    assert len(rg.Store.open(folder / ".ragauge").runs()) == 2


def test_a_report_without_a_sample_names_no_other_metrics(call: Call, folder: Path) -> None:
    """A run that ended before its first sample is reported as that, not by metrics that are not shown."""
    with rg.Store.open(folder / ".ragauge") as store:
        store.begin(RunRecord("1", "2026-01-01T00:00:00+00:00", "data", ("bleu",), {}, "0", left_out={"bleu": "none"}))
    shown = " ".join(call("report").stdout.split())
    assert "no sample is done yet" in shown
    assert "Not shown" not in shown


def test_a_report_by_the_beginning_of_an_id(call: Call, folder: Path) -> None:
    """A run is found by its id and by any unique beginning of it; an ambiguous one is refused."""
    for name in ("first", "second"):
        call("run", "data.jsonl", "-m", "bleu", "--name", name, "--store", "kept")
    newest, oldest = (run.id for run in rg.Store.open(folder / "kept").runs())
    shared = oldest[:4]
    assert call("report", oldest, "--store", "kept", "-o", "old.json").exit_code == 0
    assert json.loads((folder / "old.json").read_text())["run"]["name"] == "first"
    unique = next(newest[:n] for n in range(4, 30) if not oldest.startswith(newest[:n]))
    assert call("report", unique, "--store", "kept").exit_code == 0
    several = call("report", shared, "--store", "kept")
    assert several.exit_code == 2
    assert "is the beginning of 2 runs" in several.stderr


def test_the_runs_of_a_store(call: Call) -> None:
    """--list shows the runs, newest first, with status, size and name."""
    call("run", "data.jsonl", "-m", "bleu")
    call("run", "data.jsonl", "-m", "bleu", "--limit", "2", "--name", "small")
    first, second = call("report", "--list").stdout.splitlines()
    assert first.split()[1:] == ["finished", "2", "samples", "small"]
    assert second.split()[1:] == ["finished", "6", "samples", "data.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["1999"], "unknown run '1999'"),
        (["v1"], "no run here has a name: `ragauge run DATA --name NAME` gives one"),
        (["--store", "none"], "there is no store at none; `ragauge run` makes one, --store names another"),
        (["-o", "out.xlsx"], "unknown ending"),
    ],
)
def test_reports_that_cannot_be_made(call: Call, arguments: list[str], message: str) -> None:
    """An unknown run, a missing store, and an unknown ending end with 2."""
    call("run", "data.jsonl", "-m", "bleu")
    result = call("report", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_the_list_of_metrics(call: Call) -> None:
    """`ragauge metrics` names every metric, alias and form."""
    text = call("metrics").stdout
    assert all(metric.name in text for metric in CATALOGUE)
    assert all(alias in text for alias in (*ALIASES, "composite(", "pooled("))
    assert text.count("↓") == sum(metric.better == "lower" for metric in CATALOGUE)


@pytest.mark.parametrize("name", [*(metric.name for metric in CATALOGUE), *ALIASES])
def test_every_metric_in_full(call: Call, name: str) -> None:
    """`ragauge metrics NAME` gives scale, direction, definition, fields, questions, parameters and values."""
    result = call("metrics", name)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"{name}  ")
    assert "is better" in lines[0]
    assert lines[2].endswith(".")
    assert [line.partition(":")[0] for line in lines[-4:]] == ["reads", "asks", "parameters", "values"]


@pytest.mark.parametrize("name", [one.name for one in CATALOGUE if one.defaults.keys() == one.parameters.keys()])
def test_parameters_are_shown_as_they_are_written(call: Call, name: str) -> None:
    """The defaults that `ragauge metrics` shows can be typed into --metrics, and change nothing."""
    shown = call("metrics", name).stdout.splitlines()[-2].removeprefix("parameters: ")
    spec = name if shown == "none" else f"{name}({shown.replace(', ', ',')})"
    assert parse_metric(spec).spec == name


@pytest.mark.parametrize("name", ["composite", "pooled"])
def test_metrics_made_of_others_in_full(call: Call, name: str) -> None:
    """The two forms that combine metrics are explained."""
    result = call("metrics", name)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{name}(")
    assert "Raises" not in result.stdout
    assert name == "pooled" or "Without weights it is" in result.stdout


def test_a_misspelled_metric(call: Call) -> None:
    """`ragauge metrics` with a misspelled name ends with 2 and a suggestion."""
    result = call("metrics", "faithfullness")
    assert result.exit_code == 2
    assert "did you mean 'faithfulness'?" in result.stderr


def test_a_misspelled_command(call: Call) -> None:
    """A misspelled command ends with 2 and a suggestion."""
    result = call("mtrics")
    assert result.exit_code == 2
    assert "unknown command 'mtrics'; did you mean 'metrics'" in result.stderr


def test_a_judge_is_measured_against_labels(call: Call, folder: Path) -> None:
    """`ragauge judges measure` shows how well a judge agrees with people, compared with words alone."""
    rows = [
        {
            "premise": f"The bridge of {n} is red.",
            "claim": f"The {thing} of {n} is red.",
            "label": int(thing == "bridge"),
        }
        for n in range(20)
        for thing in ("bridge", "castle")
    ]
    (folder / "sets").mkdir()
    assert call("judges", "measure", "--data", "sets").exit_code == 2
    (folder / "sets" / "ent_bridges.jsonl").write_text("\n".join(map(json.dumps, rows)))
    result = call("judges", "measure", "--data", "sets")
    assert result.exit_code == 0
    figures, verdicts, calibrated, compared = (
        line.split() for line in result.stdout.splitlines() if "ent_bridges" in line
    )
    assert figures[1] == "40"
    assert verdicts.count("of") == 2
    assert len(calibrated) > 3
    assert len(compared) > 3


def test_the_list_of_judges(call: Call) -> None:
    """`ragauge judges` names the judges and what the embedded one answers."""
    text = call("judges").stdout
    for expected in ("embedded", "recording:PATH", "embedded answers: classify:toxic, correct, decompose, entail"):
        assert expected in text
