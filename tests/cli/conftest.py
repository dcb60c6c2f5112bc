"""Fixtures of the tests of the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest
from click.testing import CliRunner, Result

import ragauge
from ragauge.cli import main

ROWS: list[dict[str, Any]] = [
    {
        "id": str(n),
        "query": f"Who wrote book {n}?",
        "response": f"Ada Bell wrote book {n} in 19{n}0.",
        "contexts": [f"Book {n} was written by Ada Bell in 19{n}0.", "The library opens at nine."],
        "references": [f"Ada Bell wrote book {n}."],
        "house": f"house {n % 2}",
    }
    for n in range(1, 7)
]


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    """Six rows of data."""
    return [dict(row) for row in ROWS]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of commands, with the rows as data.jsonl; colours and widths as in a pipe."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    return tmp_path


@pytest.fixture
def call(folder: Path) -> Callable[..., Result]:
    """Runs a command in this process, in `folder`."""

    def run(*arguments: object, input: str | None = None) -> Result:
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            result = CliRunner().invoke(main, list(map(str, arguments)), input=input)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture
def start(folder: Path) -> Callable[..., subprocess.Popen[str]]:
    """Starts a command in its own process, in `folder`, with its output piped."""

    def run(
        *arguments: object,
        stdin: IO[str] | None = None,
        preexec_fn: Callable[[], None] | None = None,
        **environment: str,
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "ragauge", *map(str, arguments)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(Path(ragauge.__file__).parents[1]), **environment},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            preexec_fn=preexec_fn,
        )

    return run
