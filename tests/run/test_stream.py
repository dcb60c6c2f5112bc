"""Rows that are scored as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

import pytest

import ragauge as rg
from ragauge.run import stream
from ragauge.types import Answer, Failure, Identity

ADA: dict[str, Any] = {"query": "Who wrote it?", "response": "Ada wrote it.", "contexts": ["Ada wrote it."]}
BOB = {**ADA, "response": "Bob wrote it. Ada sang.", "references": ["Ada wrote it."]}


def scored(rows: Any, *given: Any, **options: Any) -> list[Any]:
    """The scores or errors of a whole stream."""

    async def all_of_it() -> list[Any]:
        return [one async for one in rg.score_stream(rows, *given, **options)]

    return asyncio.run(all_of_it())


class Gate:
    """The embedded judge, which answers about `held` no sooner than `opened`. ended: why it answers nothing more."""

    identity = Identity("gate")
    answers = frozenset({"decompose", "entail", "relevant"})
    by_sample = 4

    def __init__(self, held: str, ended: Failure | None = None) -> None:
        self._held, self._judge, self.ended = held, rg.load_judge("embedded"), ended
        self.opened = asyncio.Event()

    async def answer(self, questions: Any) -> list[Answer | Failure]:
        """Its answers."""
        if any(self._held in str(question) for question in questions):
            if self.ended:
                return [self.ended] * len(questions)
            await self.opened.wait()
        return list(await self._judge.answer(questions))


def test_a_stream_has_the_scores_of_a_run() -> None:
    """Each row has the scores and the evidence that `evaluate` gives it, and explains them."""
    rows, metrics = [ADA, BOB, ADA], "faithfulness,bleu"
    run = rg.evaluate(rows, metrics)
    found = scored(iter(rows), metrics)
    assert [one["faithfulness"] for one in found] == [one["faithfulness"] for one in run.scores]
    assert found[1]["bleu"] == run.scores[1]["bleu"]
    assert found[1].explain("faithfulness") == run.scores[1].explain("faithfulness")
    assert [one.sample.id for one in found] == ["1", "2", "3"]


def test_each_row_has_the_metrics_that_it_has_the_fields_for() -> None:
    """Without metrics, and with more than a row allows, a row is scored by those that it allows."""
    first, second = scored([ADA, BOB])
    assert {"faithfulness", "answer_relevance"} <= set(first)
    assert "correctness" in second
    assert "correctness" not in first
    assert [list(one) for one in scored([ADA, BOB], "faithfulness,bleu")] == [
        ["faithfulness"],
        ["faithfulness", "bleu"],
    ]


@pytest.mark.parametrize(
    ("row", "metrics", "message"),
    [
        ({"query": 5, "says": "x"}, None, "no metric can be measured .*; columns in no field: 'says'"),
        ({"name": "x"}, None, "no column of a known name"),
        ([], None, "stream, row 2: a list, not an object; give each row as a dict"),
        ({**ADA, "contexts": [{"a": 1}]}, None, "stream, row 2, column 'contexts'"),
        (ADA, "bleu", r"'references' .*; name the column with --map references=COLUMN"),
    ],
)
def test_a_bad_row_is_an_error_in_its_place(row: Any, metrics: str | None, message: str) -> None:
    """A row that cannot be read or measured gives an error with what, where and how to fix it; others go on."""
    first, error, last = scored([BOB, row, BOB], metrics)
    assert isinstance(error, rg.errors.UsageError)
    with pytest.raises(rg.errors.UsageError, match=message):
        raise error
    assert dict(first) == dict(last)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": "faithfulnes"}, "did you mean 'faithfulness'"),
        ({"judge": "embeded"}, "did you mean 'embedded'"),
        ({"map": {"respons": "x"}}, "did you mean 'response'"),
    ],
)
def test_a_wrong_argument_ends_the_stream_before_a_row(options: dict[str, Any], message: str) -> None:
    """An unknown metric, judge or field is an error of the stream, not of each row."""
    with pytest.raises(rg.errors.UsageError, match=message):
        scored([ADA], **options)


def test_scores_come_while_the_next_row_is_awaited() -> None:
    """The scores of a row are there before the next one comes."""

    async def one_by_one() -> list[float | None]:
        found: asyncio.Queue[Any] = asyncio.Queue()

        async def rows() -> AsyncIterator[Any]:
            for row in (ADA, BOB):
                yield row
                await found.join()  # until its scores were taken

        values = []
        async for scores in rg.score_stream(rows(), "faithfulness"):
            found.put_nowait(scores)
            values.append(found.get_nowait()["faithfulness"].value)
            found.task_done()
        return values

    assert asyncio.run(one_by_one()) == [1.0, 0.0]


def test_scores_come_in_order_and_no_more_rows_are_taken_than_are_judged() -> None:
    """Rows behind a slow one wait for it, and about as many are taken as are judged at once."""
    taken = 0

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal taken
        for number in range(500):
            taken += 1
            yield {**ADA, "id": f"row {number}", "response": f"Ada wrote it {number} times."}

    async def first_two() -> list[str]:
        judge, ids = Gate("Ada wrote it 0 times"), list[str]()
        async with aclosing(rg.score_stream(rows(), "faithfulness", judge)) as found:
            asyncio.get_running_loop().call_later(0.3, judge.opened.set)
            async for scores in found:
                if not ids:
                    assert taken <= 40
                ids.append(scores.sample.id)  # type: ignore[union-attr]
                if len(ids) == 2:
                    break
        return ids

    assert asyncio.run(first_two()) == ["row 0", "row 1"]


def test_a_judge_that_gives_up_ends_the_stream() -> None:
    """Where no further row can be scored those without scores have an error, and the stream ends with the reason."""
    found: list[Any] = []

    async def until_it_ends() -> None:
        async for one in rg.score_stream(iter([BOB] + [ADA] * 100), "faithfulness", Gate("Ada wrote it.", DEAD)):
            found.append(one)

    with pytest.raises(rg.errors.RunFailed, match="gate cannot answer any more: unauthorized"):
        asyncio.run(until_it_ends())
    assert 1 <= len(found) < 101
    assert isinstance(found[-1], rg.errors.UsageError)
    assert "not scored: gate cannot answer any more" in str(found[-1])


DEAD = Failure("unauthorized", "the key is wrong")


def test_a_cancelled_stream_gives_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cancelled, a stream gives the scores of rows that are done, an error for the others, and takes no more rows."""
    monkeypatch.setattr(stream, "PATIENCE", 0.2)
    found: list[Any] = []

    async def cancelled() -> None:
        async def rows() -> AsyncIterator[Any]:
            for response in ("Bob sang.", "Ada waits.", "Cleo sang."):
                yield {**ADA, "response": response}
            await asyncio.Event().wait()

        async for one in rg.score_stream(rows(), "faithfulness", Gate("Ada waits")):
            found.append(one)

    async def main() -> None:
        task = asyncio.ensure_future(cancelled())
        while not found:
            await asyncio.sleep(0.05)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
    assert [isinstance(one, rg.errors.UsageError) for one in found] == [False, True, False]
    assert str(found[1]) == "stream, row 2: not scored: the stream was ended; send it again"


def test_judgments_are_kept_and_runs_are_not(tmp_path: Any) -> None:
    """A stream with a store asks nothing twice, and adds no run to it."""
    judge = Gate("-")
    with rg.Store.open(tmp_path / "store") as store:
        scored([ADA, BOB], "faithfulness", judge, store)
        kept = len(list(store.judgments()))
        scored([ADA, BOB], "faithfulness", f"recording:{tmp_path / 'store'}")
        assert (kept > 0, store.runs()) == (True, [])
