from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ragauge.store import Store

WRITER = """
import itertools, sys
from ragauge.types import Label, Verdict
from ragauge.types import Identity
from ragauge.questions import Entail, Judgment, judgment_key
from ragauge.store import Store, database

database.LOG_LIMIT = 100_000
folder, round = sys.argv[1:]
judge = Identity("stub")
store = Store.open(folder)
for n in itertools.count():
    questions = [Entail((f"chunk {n} of round {round}. " * 20,), f"claim {i}") for i in range(4)]
    kept = [Judgment(each, Verdict(Label.NEUTRAL), judge, judgment_key(each, judge)) for each in questions]
    store.keep(kept)
    print(*[each.key for each in kept], flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_nothing_acknowledged_is_lost_by_kill_9(tmp_path: Path, python: Callable[..., subprocess.Popen[str]]) -> None:
    """Two writers at a time are killed at random moments, three times over: every batch they reported is there."""
    chance = random.Random(9)
    acknowledged: list[str] = []
    for round in range(3):
        writers = [python(WRITER, tmp_path, f"{round}{name}") for name in "ab"]
        for writer in writers:
            assert writer.stdout
            acknowledged += writer.stdout.readline().split()
        time.sleep(chance.uniform(0.01, 0.3))
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            acknowledged += writer.communicate()[0].split()
            assert writer.returncode == -signal.SIGKILL
    with Store.open(tmp_path) as store:
        assert set(store.find(acknowledged)) == set(acknowledged)
    with closing(sqlite3.connect(tmp_path / "store.db")) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
