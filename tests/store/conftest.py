"""What the tests of the store share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import ragauge
from ragauge.questions import Entail, Judgment, judgment_key
from ragauge.store import Store
from ragauge.types import ChunkVerdict, Identity, Label, Verdict

JUDGE = Identity("stub", (("revision", "1"),))


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store can be made, of each kind."""
    return request.getfixturevalue("postgres").new() if request.param == "postgres" else str(tmp_path / "kept")


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def fresh(request: pytest.FixtureRequest) -> Callable[[], Store]:
    """Makes empty stores of each kind, for tests that try many examples."""
    if request.param == "sqlite":
        return Store.temporary
    server = request.getfixturevalue("postgres")
    return lambda: Store.open(server.new())


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    """An empty store."""
    with Store.open(place) as opened:
        yield opened


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Store]:
    """An empty store in a file."""
    with Store.open(tmp_path / "kept") as opened:
        yield opened


@pytest.fixture
def judgment() -> Callable[..., Judgment]:
    """Makes the judgment number `n` of a judge: a claim held against two chunks."""

    def make(n: int = 0, probability: float = 0.5, judge: Identity = JUDGE) -> Judgment:
        question = Entail((f"chunk {n}. " * 20, "a chunk that all share. " * 10), f"claim {n}", "what?")
        chunks = (ChunkVerdict(Label.ENTAILED, probability), ChunkVerdict(Label.NEUTRAL))
        return Judgment(question, Verdict(Label.ENTAILED, probability, chunks), judge, judgment_key(question, judge))

    return make


@pytest.fixture
def python() -> Callable[..., subprocess.Popen[str]]:
    """Starts a Python process that runs `script` with `arguments`; its output can be read as text."""

    def start(script: str, *arguments: object, preexec_fn: Callable[[], None] | None = None) -> subprocess.Popen[str]:
        source = str(Path(ragauge.__file__).parents[1])
        return subprocess.Popen(
            [sys.executable, "-c", script, *map(str, arguments)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": source},
            preexec_fn=preexec_fn,
        )

    return start
