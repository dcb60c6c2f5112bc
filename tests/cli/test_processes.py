from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import ragauge

Start = Callable[..., subprocess.Popen[str]]

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
#: A judge that says what it waits for, as the LLM judges do.
WAITING = """
import logging, time
from ragauge.judges.embedded.judge import EmbeddedJudge

class Waiting(EmbeddedJudge):
    async def answer(self, questions):
        logging.getLogger("ragauge").warning("waiting 90 s for a server")
        time.sleep(0.3)
        return await super().answer(questions)

judge = Waiting()
"""

COLOUR = re.compile(r"\x1b\[[0-9;]*(?:3[0-8]|4[0-8]|9[0-7])[0-9;]*m")


def test_piped_output_is_plain(start: Start) -> None:
    """Piped, a run prints no escape sequence and no progress, and nothing on standard error."""
    output, complaint = (child := start("run", "data.jsonl", "--show", "2")).communicate(timeout=60)
    assert (child.returncode, complaint) == (0, "")
    assert "faithfulness ↑" in output
    assert not ESCAPE.search(output)
    assert "\r" not in output


@pytest.mark.slow
def test_piped_tables_are_whole(start: Start) -> None:
    """Where output is piped a table is as wide as it needs to be: no name and no number is cut."""
    output, _ = start("run", "data.jsonl", "-m", "all", COLUMNS="40").communicate(timeout=60)
    assert "claim_recall@contexts ↑" in output
    assert "noise_sensitivity.irrelevant ↓" in output
    assert "…" not in output


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [["run", "data.jsonl", "--show", "6"], ["metrics"], pytest.param(["demo"], marks=pytest.mark.slow), ["judges"]],
)
def test_a_reader_that_leaves_early_is_no_error(start: Start, command: list[str]) -> None:
    """When the pipe is closed after the first line (`| head -1`) the command ends quietly, with 0."""
    with start(*command) as child:
        assert child.stdout
        assert child.stderr
        child.stdout.readline()
        child.stdout.close()
        complaint = child.stderr.read()
    assert (child.returncode, complaint) == (0, "")


def test_a_gate_fails_whether_or_not_anybody_reads(start: Start) -> None:
    """When the pipe is closed early, a gate that fails ends the command with 3 all the same."""
    with start("run", "data.jsonl", "-m", "bleu", "--fail-under", "bleu=1") as child:
        assert child.stdout
        assert child.stderr
        child.stdout.close()
        complaint = child.stderr.read()
    assert child.returncode == 3
    assert complaint.startswith("gate failed: ")


def test_nobody_reads_at_all(start: Start, folder: Path) -> None:
    """Where nobody reads the output from the start, the files that were asked for are written all the same."""
    with start("run", "data.jsonl", "-m", "bleu", "-o", "out.json") as child:
        assert child.stdout
        assert child.stderr
        child.stdout.close()
        complaint = child.stderr.read()
    assert (child.returncode, complaint) == (0, "")
    assert json.loads((folder / "out.json").read_text())["run"]["status"] == "finished"


def _on_a_terminal(arguments: list[str], folder: Path, **environment: str) -> str:
    """What a command prints on a terminal of 120 columns."""
    import pty

    main, child = pty.openpty()
    variables = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "CI")}
    source = str(Path(ragauge.__file__).parents[1])
    process = subprocess.Popen(
        [sys.executable, "-m", "ragauge", *arguments],
        cwd=folder,
        env={**variables, "PYTHONPATH": source, "TERM": "xterm-256color", "COLUMNS": "120", **environment},
        stdin=child,
        stdout=child,
        stderr=child,
    )
    os.close(child)
    printed = b""
    while True:
        try:
            piece = os.read(main, 65536)
        except OSError:  # the terminal is gone with its last process
            break
        if not piece:
            break
        printed += piece
    os.close(main)
    assert process.wait(timeout=60) == 0
    return printed.decode()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
def test_on_a_terminal_there_are_progress_and_colours(folder: Path) -> None:
    """On a terminal a run shows how far it is, and verdicts in colour."""
    printed = _on_a_terminal(["run", "data.jsonl", "--show", "2"], folder)
    assert "judging" in printed
    assert COLOUR.search(printed)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
def test_a_wait_is_shown_next_to_the_bar(folder: Path) -> None:
    """What a judge waits for is in the line of the progress bar, and stays above it on the terminal."""
    (folder / "waiting.py").write_text(WAITING, encoding="utf-8")
    printed = _on_a_terminal(["run", "data.jsonl", "-m", "faithfulness", "-j", "python:waiting:judge"], folder)
    assert "judging, waiting 90 s for a server" in printed
    assert re.search(r"(?<!, )waiting 90 s for a server", printed)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
def test_no_color_is_honoured(folder: Path) -> None:
    """With NO_COLOR set no colour is printed, even on a terminal."""
    printed = _on_a_terminal(["run", "data.jsonl", "--show", "2"], folder, NO_COLOR="1")
    assert "faithfulness" in printed
    assert not COLOUR.search(printed)


def test_the_module_is_the_command(start: Start) -> None:
    """`python -m ragauge` is the `ragauge` command."""
    output, _ = start("--version").communicate(timeout=60)
    assert output.startswith("ragauge, version ")


def test_output_in_an_encoding_without_arrows(start: Start) -> None:
    """If standard output cannot encode an arrow the run is shown nevertheless."""
    child = start("run", "data.jsonl", "-m", "bleu", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    output, complaint = child.communicate(timeout=60)
    assert child.returncode == 0, complaint
    assert "bleu" in output
