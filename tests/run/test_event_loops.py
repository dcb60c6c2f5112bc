from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import ragauge as rg
from ragauge.judges.embedded.judge import EmbeddedJudge
from ragauge.judges.embedded.lexical import Lexical
from ragauge.questions import Entail, Question
from ragauge.run.scoring import WRITE_BATCH
from ragauge.types import Answer, Failure, Verdict

Make = Callable[..., Any]


def test_evaluate_under_a_running_loop(judge: Any, rows: Make) -> None:
    """Where an event loop runs already, as in a notebook, `evaluate` gives what it gives elsewhere."""

    async def notebook() -> rg.Run:
        return rg.evaluate(rows(3), "faithfulness", judge)

    inside, outside = asyncio.run(notebook()), rg.evaluate(rows(3), "faithfulness", judge)
    assert inside.estimates == outside.estimates
    assert [dict(scores) for scores in inside.scores] == [dict(scores) for scores in outside.scores]


def test_two_runs_at_once(stub: Make, rows: Make, tmp_path: Path) -> None:
    """`evaluate_async` lets others go on; two runs over one store at the same time both finish, and agree."""

    async def together() -> list[rg.Run]:
        store = rg.Store.open(tmp_path)
        return await asyncio.gather(
            *(rg.evaluate_async(rows(2 * WRITE_BATCH), "faithfulness", stub(), store) for _ in range(2))
        )

    one, other = asyncio.run(together())
    assert one.id != other.id
    assert one.estimates == other.estimates
    assert len(list(one.store.judgments())) == 2 * WRITE_BATCH * 4


def test_a_cancelled_run_is_marked_and_can_be_reported(judge: Any, rows: Make, tmp_path: Path) -> None:
    """Cancelling the task ends the run as interrupted, with the estimates of what was done."""

    async def cancelled() -> None:
        def cancel(done: int) -> None:
            if done == 40:
                task.cancel()

        task = asyncio.ensure_future(
            rg.evaluate_async(rows(3 * WRITE_BATCH), "faithfulness", judge, tmp_path, progress=cancel)
        )
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    run = rg.Run.open(tmp_path)
    assert run.record.status == "interrupted"
    assert run.record.samples == len(run.scores) == run.estimates["faithfulness"].n >= 40
    assert f"The run is interrupted: these are the first {len(run.scores)} samples." in str(run)
    assert run.save(tmp_path / "part.md").is_file()


@contextmanager
def _interrupted_by_hand() -> Iterator[Callable[[], None]]:
    """Python's own answer to Ctrl-C, whatever else was set; gives a function that presses it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield lambda: os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


class Waiting:
    """A judge that answers as another does until it has been asked enough, then calls `then` and waits."""

    def __init__(self, judge: Any, then: Callable[[], None]) -> None:
        self._judge, self._then = judge, then
        self.identity, self.answers = judge.identity, judge.answers

    async def answer(self, questions: Sequence[Question]) -> Sequence[Answer | Failure]:
        """The other's answers, or none ever."""
        if len(self._judge.asked) > 5 * WRITE_BATCH:
            self._then()
            await asyncio.sleep(60)
        answers: Sequence[Answer | Failure] = await self._judge.answer(questions)
        return answers


@pytest.mark.skipif(sys.platform == "win32", reason="os.kill does not send Ctrl-C there")
@pytest.mark.parametrize("under_a_loop", [False, True])
def test_ctrl_c_ends_the_run_at_once(judge: Any, rows: Make, tmp_path: Path, under_a_loop: bool) -> None:
    """Ctrl-C, in a script and under a running loop, raises KeyboardInterrupt and leaves an interrupted run."""

    def measure(press: Callable[[], None]) -> rg.Run:
        return rg.evaluate(rows(4 * WRITE_BATCH), "faithfulness", Waiting(judge, press), tmp_path)

    async def notebook(press: Callable[[], None]) -> rg.Run:
        return measure(press)

    others = set(threading.enumerate())
    with _interrupted_by_hand() as press, closing(asyncio.new_event_loop()) as loop, pytest.raises(KeyboardInterrupt):
        loop.run_until_complete(notebook(press)) if under_a_loop else measure(press)
    run = rg.Run.open(tmp_path)
    assert run.record.status == "interrupted"
    assert run.record.samples == run.estimates["faithfulness"].n >= WRITE_BATCH
    assert not [thread for thread in set(threading.enumerate()) - others if "ThreadPool" in thread.name]


class _Waiting(Lexical):
    """A backend that answers once something else has gone on."""

    def __init__(self) -> None:
        self.others_went_on = threading.Event()

    def verdict(self, question: Question) -> Verdict | None:
        assert self.others_went_on.wait(5)
        return super().verdict(question)


def test_the_embedded_judge_lets_others_go_on() -> None:
    """While the embedded judge works, the event loop that awaits it is free."""

    async def awaited() -> Sequence[Answer | Failure]:
        backend = _Waiting()
        asyncio.get_running_loop().call_later(0.01, backend.others_went_on.set)
        return await EmbeddedJudge(backend).answer([Entail(("It is red.",), "It is red.")])

    assert [answer.label for answer in asyncio.run(awaited()) if isinstance(answer, Verdict)] == [rg.Label.ENTAILED]
