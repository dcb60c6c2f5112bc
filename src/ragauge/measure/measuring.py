"""How well a judge's answers agree with people's labels, set by set."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec

from ragauge.errors import BadData, RunFailed
from ragauge.judges.base import Judge
from ragauge.measure.asking import Answering, Asking, asking
from ragauge.measure.claims import measure_claims
from ragauge.measure.figures import Against, Measured, against, measured
from ragauge.measure.outcomes import Outcome, outcomes, unanswerable
from ragauge.measure.sets import Case, labelled_files, read_cases


async def measure(
    judge: Judge,
    folder: Path,
    limit: int | None = None,
    seed: int = 0,
    answer: Answering | None = None,
    beside: Judge | None = None,
) -> AsyncIterator[Measured]:
    """`judge` on every labelled set in `folder` (*.jsonl, *.jsonl.gz), in the order of their names.

    limit: at most so many rows of a set, drawn with `seed`. answer: answers in the name of a judge, from a store for
    example; without it the judge is asked, and is open until the last set. beside: another judge, which is asked about
    the same rows and compared. Each row is asked as a sample of its own, many side by side where the judge works by
    samples. A file that cannot be read, or a row of it, has no figures, and its note says why.

    The p-values of comparisons are of each set by itself; `adjusted` takes all together.

    Raises BadData where the folder holds no set, UsageError where a judge misses something, such as a key, and, after
    the last set, RunFailed with the first reason where no row of a set had an answer.
    """
    files = labelled_files(folder)
    unanswered: list[Measured] = []
    async with AsyncExitStack() as stack:
        asked = await stack.enter_async_context(asking(judge, answer))
        other = None if beside is None else await stack.enter_async_context(asking(beside, answer))
        for file in files:
            try:
                one = await _measure_set(asked, other, file, limit, seed)
            except BadData as bad:
                one = Measured(_name(file), note=f"not measured: {bad}")
            unanswered += [one] if one.failed and not one.rows else []
            yield one
    if unanswered:
        names = ", ".join(one.name for one in unanswered)
        raise RunFailed(f"{names}: {judge.identity} answered no row, the first because: {unanswered[0].failure}")


async def _measure_set(asked: Asking, other: Asking | None, file: Path, limit: int | None, seed: int) -> Measured:
    name = _name(file)
    if name.startswith("claims_"):
        return await measure_claims(asked, other, file, limit, seed)
    cases = read_cases(file, limit, seed)
    if cases is None:
        return Measured(name, note="no question fits this kind of set")
    beyond = unanswerable(asked.judge, cases)
    if beyond is not None:
        return Measured(name, note=f"not answered: {beyond}")
    begun = time.perf_counter()
    found, failure = await outcomes(asked, cases)
    seconds = time.perf_counter() - begun
    if failure and not any(found):
        return Measured(name, failed=len(cases), failure=str(failure))
    beside = await _beside(other, cases, found)
    one = measured(name, cases, found)
    return msgspec.structs.replace(one, against=beside, seconds=seconds, failure=str(failure or ""))


def _name(file: Path) -> str:
    return file.name.partition(".jsonl")[0]


async def _beside(other: Asking | None, cases: list[Case], found: list[Outcome | None]) -> Against | None:
    """The other judge on the same cases; None where there is none, or it does not answer such questions."""
    if other is None or unanswerable(other.judge, cases) is not None:
        return None
    theirs, _ = await outcomes(other, cases)
    return against(cases, found, theirs)
