from __future__ import annotations

import sqlite3
import subprocess
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from statistics import median

import pytest

from ragauge.questions import Judgment
from ragauge.store import Store, database

Start = Callable[..., "subprocess.Popen[str]"]
Make = Callable[..., Judgment]

WRITER = """
import sys
from ragauge.types import Label, Verdict
from ragauge.questions import Entail, Identity, Judgment, judgment_key
from ragauge.store import Store, database

database.LOG_LIMIT = 200_000
folder, first, last, mark = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
judge = Identity("stub")

def judgment(n):
    question = Entail((f"chunk {n // 6}. " * 40,), f"claim {n}")
    return Judgment(question, Verdict(Label.ENTAILED, rationale=mark), judge, judgment_key(question, judge))

with Store.open(folder) as store:
    for n in range(first, last, 8):
        store.keep([judgment(i) for i in range(n, min(n + 8, last))])
        assert store.find([judgment(n).key])
        log = store.path.with_name("store.db-wal")
        print(log.stat().st_size)
"""

#: Answers the same questions as others, in batches of its own in an order of its own.
SAME_KEYS = """
import random, sys
from ragauge.types import Label, Verdict
from ragauge.questions import Entail, Identity, Judgment, judgment_key
from ragauge.store import Store

place, mark = sys.argv[1:]
judge, chance = Identity("stub"), random.Random(mark)

def judgment(n):
    question = Entail((f"chunk {n // 6}. " * 40,), f"claim {n}")
    return Judgment(question, Verdict(Label.ENTAILED, rationale=mark), judge, judgment_key(question, judge))

numbers = chance.sample(range(400), 400)
with Store.open(place) as store:
    while numbers:
        batch = [numbers.pop() for _ in range(min(len(numbers), chance.randint(1, 20)))]
        store.keep([judgment(n) for n in batch])
        assert store.find([judgment(batch[0]).key])
"""


def integrity(path: Path) -> str:
    """What SQLite says of the file as a whole."""
    with closing(sqlite3.connect(path)) as db:
        (reply,) = db.execute("PRAGMA integrity_check").fetchone()
    return str(reply)


def ended_well(*children: subprocess.Popen[str]) -> list[str]:
    """The outputs of the processes, all of which must end without an error."""
    outputs = [child.communicate(timeout=120)[0] for child in children]
    assert [child.returncode for child in children] == [0] * len(children)
    return outputs


def test_processes_may_make_the_same_store_at_once(place: str, python: Start) -> None:
    """Four processes that open a store which is not there yet all get it."""
    script = "import sys; from ragauge.store import Store; print(Store.open(sys.argv[1]).runs())"
    assert ended_well(*[python(script, place) for _ in range(4)]) == ["[]\n"] * 4


def test_processes_that_write_the_same_keys(place: str, python: Start) -> None:
    """Two processes that answer the same questions leave one row each, and each row is one process's answer."""
    ended_well(*[python(SAME_KEYS, place, mark) for mark in ("one", "two")])
    with Store.open(place) as store:
        kept = list(store.judgments())
    assert len(kept) == len({each.key for each in kept}) == 400
    assert {each.answer.rationale for each in kept} <= {"one", "two"}  # type: ignore[union-attr]


@pytest.mark.slow
def test_the_log_is_emptied_while_processes_write(tmp_path: Path, python: Start) -> None:
    """Three processes write five times what the log may hold: it is emptied on the way and nothing is lost."""
    writers = [python(WRITER, tmp_path, first, first + 2400, "x") for first in (0, 2400, 4800)]
    sizes = [int(size) for output in ended_well(*writers) for size in output.split()]
    assert (tmp_path / "store.db").stat().st_size > 5 * 200_000
    assert median(sizes) < 200_000
    with Store.open(tmp_path) as store:
        assert sum(1 for _ in store.judgments()) == 7200
    assert integrity(tmp_path / "store.db") == "ok"


def test_a_checkpoint_waits_for_nobody(file: Store, judgment: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another connection reads an old state the log grows past its limit; afterwards it is emptied."""
    monkeypatch.setattr(database, "LOG_LIMIT", 50_000)
    log = file.path.with_name("store.db-wal")
    with closing(sqlite3.connect(file.path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM judgments").fetchone()
        for n in range(200):
            file.keep([judgment(n)])
        assert log.stat().st_size > 50_000
    for n in range(200, 203):
        file.keep([judgment(n)])
    assert log.stat().st_size < 50_000
    assert len(list(file.judgments())) == 203


def test_no_checkpoint_while_somebody_writes(file: Store, judgment: Make) -> None:
    """While another connection holds the write lock a checkpoint is left out, not waited for; then it is made."""
    file.keep([judgment(n) for n in range(50)])
    before = file.path.stat().st_size
    with closing(sqlite3.connect(file.path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        file._database._checkpoint()  # type: ignore[union-attr]
        assert file.path.stat().st_size == before
        writer.execute("ROLLBACK")
    file._database._checkpoint()  # type: ignore[union-attr]
    assert file.path.stat().st_size > before


def test_threads_may_share_a_store(store: Store, judgment: Make) -> None:
    """Eight threads keep and find through one store without losing a judgment."""
    faults: list[BaseException] = []

    def work(thread: int) -> None:
        try:
            for n in range(thread * 40, thread * 40 + 40):
                store.keep([judgment(n)])
                assert store.find([judgment(n).key])
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert faults == []
    assert len(list(store.judgments())) == 320
