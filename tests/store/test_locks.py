"""Locks: what one process is asking a judge for, others that share its PostgreSQL store do not ask."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.postgres import PostgresServer

from ragauge.questions import Judgment
from ragauge.store import Store

Make = Callable[..., Judgment]
Python = Callable[..., subprocess.Popen[str]]

RUN = """
import json, random, sys, time
import ragauge as rg

store, log, seed, fails = sys.argv[1:]
rows = [{"query": "q", "response": f"{n} is a.", "contexts": [f"{n} is b."]} for n in range(80)]
random.Random(seed).shuffle(rows)

def entail(premise, hypothesis):
    with open(log, "a") as file:
        file.write(hypothesis + "\\n")
    time.sleep(0.02)
    return None if fails == "yes" else False

judge = rg.judge_from(decompose=lambda text: [text], entail=entail, name="slow")
run = rg.evaluate(rows, "faithfulness", judge, store)
print(json.dumps(run.estimates["faithfulness"].value))
"""


def keys(make: Make, *numbers: int) -> list[str]:
    """The keys of the judgments with these numbers."""
    return [make(number).key for number in numbers]


def test_a_key_is_locked_by_one_store(postgres: PostgresServer, judgment: Make) -> None:
    """A key that another store has locked is not granted until it is released, or that store is closed."""
    place = postgres.new()
    with Store.open(place) as one, Store.open(place) as two:
        assert one.lock(keys(judgment, 1, 2, 3)) == {*keys(judgment, 1, 2, 3)}
        assert two.lock(keys(judgment, 2, 3, 4)) == {*keys(judgment, 4)}
        assert one.lock(keys(judgment, 3, 4, 5)) == {*keys(judgment, 5)}
        one.release(keys(judgment, 2, 4))
        assert two.lock(keys(judgment, 2, 3)) == {*keys(judgment, 2)}
        one.close()
        granted = two.lock(keys(judgment, 1, 3))
        while len(granted) < 2:  # the server ends a session after its client has left
            time.sleep(0.01)
            granted |= two.lock(keys(judgment, 1, 3))
        two.release()
        assert two.lock(keys(judgment, 1)) == {*keys(judgment, 1)}


def test_locks_hold_in_one_schema(postgres: PostgresServer, judgment: Make) -> None:
    """What is locked in one schema of a database is free in another, and in any file."""
    with Store.open(postgres.new()) as one, Store.open(postgres.new()) as two, Store.temporary() as file:
        for store in (one, two, file, file):
            assert store.lock(keys(judgment, 1)) == {*keys(judgment, 1)}


def test_a_process_locks_few_keys(postgres: PostgresServer, judgment: Make) -> None:
    """Beyond a hundredth of the server's lock table keys are granted without a lock."""
    place = postgres.new()
    many = keys(judgment, *range(400))
    with Store.open(place) as one, Store.open(place) as two:
        assert one.lock(many) == {*many}
        ((locks,),) = postgres.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
        assert locks == 6400 // 100
        assert two.lock(many) == {*many[64:]}
        one.release(many)
        assert two.lock(many[:1]) == {many[0]}
        assert one.lock(many[:1]) == set()


def test_locks_end_with_the_connection(postgres: PostgresServer, judgment: Make) -> None:
    """After the server has restarted a store goes on to lock; what it had locked is free for others."""
    place = postgres.new()
    with Store.open(place) as one, Store.open(place) as two:
        one.lock(keys(judgment, 1))
        postgres.stop()
        postgres.start()
        one.release(keys(judgment, 1))
        assert two.find(keys(judgment, 1)) == {}
        assert two.lock(keys(judgment, 1, 2)) == {*keys(judgment, 1, 2)}
        one.keep([judgment(3)])
        assert one.lock(keys(judgment, 1, 4)) == {*keys(judgment, 4)}


def test_processes_share_the_questions_of_a_run(postgres: PostgresServer, python: Python, tmp_path: Path) -> None:
    """Of three processes that score the same samples at once each question is asked by one, but for a few."""
    place, log = postgres.new(), tmp_path / "log"
    runs = [python(RUN, place, log, seed, "no") for seed in range(3)]
    assert [json.loads(run.communicate(timeout=120)[0]) for run in runs] == [0.0] * 3
    asked = log.read_text().splitlines()
    assert len(set(asked)) == 80
    assert len(asked) <= 84


@pytest.mark.slow
def test_the_questions_of_a_killed_process_are_asked_by_others(
    postgres: PostgresServer, python: Python, tmp_path: Path
) -> None:
    """A process that waits for what a killed one was asking asks itself."""
    place, log = postgres.new(), tmp_path / "log"
    runs = [python(RUN, place, log, 1, "no") for _ in range(2)]
    while not log.exists() or len(log.read_text().splitlines()) < 20:
        assert runs[0].poll() is None
    runs[0].send_signal(signal.SIGKILL)
    runs[0].communicate(timeout=60)
    assert json.loads(runs[1].communicate(timeout=120)[0]) == 0.0
    assert len(set(log.read_text().splitlines())) == 80


@pytest.mark.slow
def test_failed_questions_are_free_again(postgres: PostgresServer, python: Python, tmp_path: Path) -> None:
    """A question whose judge failed in one process is asked by the other, which does not wait for an answer."""
    place, log = postgres.new(), tmp_path / "log"
    for run in [python(RUN, place, log, seed, "yes") for seed in range(2)]:
        assert json.loads(run.communicate(timeout=60)[0]) is None
    assert len(log.read_text().splitlines()) == 160
