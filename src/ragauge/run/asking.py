"""Asking: people's labels first, then what the store holds, then the judges; every answer is kept as it arrives."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from ragauge.judges.base import DEFAULT_BATCH, NO_MONEY, Judge, JudgeRouter, ask_in_context, checked
from ragauge.questions import Judgment, Question, judgment_key, kind
from ragauge.run.budget import Budget
from ragauge.run.keeping import Keeper, Known, resolve
from ragauge.run.opening import Openings
from ragauge.run.stopping import Stopped
from ragauge.store.tables import PEOPLE
from ragauge.types import Answer, Call, Failure, Identity, Verdict

NOBODY = Identity("nobody")

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Answer).decode


class Asker:
    """Answers the waves of many samples side by side.

    What samples ask at the same moment is looked up together and put to the judges together: to a judge that works
    sample by sample each sample's questions, to another one batch after the other of whatever waits. A question that
    several samples ask is asked once.

    asked, reused: how many were put to judges, and how many were known; labelled: how many of those from people.
    unable: topics that the answers show to be beyond the judges, whatever these say of themselves.
    """

    def __init__(self, bench: JudgeRouter, keeper: Keeper, budget: Budget) -> None:
        self.bench = bench
        self.keeper = keeper
        self.budget = budget
        self.asked = self.reused = self.labelled = 0
        self.unable: set[str] = set()
        self._piles: list[_Pile] = []
        self._under_way: dict[Question, _Pile] = {}
        self._queues: dict[int, _Queue] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._openings = Openings()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Judges that hold something open, such as connections, do so from their first question to the end of this."""
        async with self._openings:
            try:
                yield
            finally:
                for task in self._tasks:
                    task.cancel()
                await asyncio.gather(*self._tasks, return_exceptions=True)

    async def answer(self, questions: Sequence[Question]) -> Known:
        """A judgment for each question; its answer is a Failure where nobody could answer.

        Raises Stopped where a question has no answer because no more money may be spent, or because its judge cannot
        answer any more, for want of a server or a right key.
        """
        loop = asyncio.get_running_loop()
        piles = {id(pile): pile for question in questions if (pile := self._under_way.get(question))}
        mine = [question for question in questions if question not in self._under_way]
        if mine:
            pile = _Pile(mine, loop.create_future())
            piles[id(pile)] = pile
            self._under_way.update(dict.fromkeys(mine, pile))
            if not self._piles:
                loop.call_soon(self._deal)
            self._piles.append(pile)
        judgments: Known = {}
        for pile in piles.values():
            judgments.update(await pile.done)
        return judgments

    def _deal(self) -> None:
        """Look up what came together, and give the rest to the judges."""
        piles, self._piles = self._piles, []
        try:
            known = self.keeper.known([question for pile in piles for question in pile.missing])
            self.keeper.keep_labels_of(known)
        except Exception as error:
            for pile in piles:
                self._end(pile, error)
            return
        self.reused += len(known)
        self.labelled += sum(judgment.judge.name == PEOPLE for judgment in known.values())
        for pile in piles:
            self._settle(pile, known)
            self._hand_on(pile)

    def _hand_on(self, pile: _Pile) -> None:
        """Give what a sample still misses to whom it concerns."""
        for judge, group in self.bench.shared(pile.missing):
            if judge is None:
                self._settle(pile, {question: _unanswered(question) for question in group})
            elif getattr(judge, "by_sample", 0):
                self._start(self._ask_for(judge, group, [pile]))
            else:
                self._queue(judge, group, pile)

    def _queue(self, judge: Judge, questions: Sequence[Question], pile: _Pile) -> None:
        queue = self._queues.setdefault(id(judge), _Queue())
        queue.waiting.extend((question, pile) for question in questions)
        if not queue.served:
            queue.served = True
            self._start(self._serve(judge, queue))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, judge: Judge, queue: _Queue) -> None:
        """Ask batch after batch of what waits for one judge, from however many samples."""
        size = max(1, getattr(judge, "batch", DEFAULT_BATCH))
        while queue.waiting:
            batch = [queue.waiting.popleft() for _ in range(min(size, len(queue.waiting)))]
            piles = {id(pile): pile for _, pile in batch}
            await self._ask_for(judge, [question for question, _ in batch], list(piles.values()))
            await asyncio.sleep(0)
        queue.served = False

    async def _ask_for(self, judge: Judge, questions: Sequence[Question], piles: Sequence[_Pile]) -> None:
        """Ask, and give each sample what it asked."""
        try:
            judgments = await self._ask(judge, questions)
        except Exception as error:
            for pile in piles:
                self._end(pile, error)
            return
        for pile in piles:
            self._settle(pile, judgments)

    async def _ask(self, judge: Judge, questions: Sequence[Question]) -> Known:
        """Put questions to a judge, and keep the answers. What cannot be kept is not asked for.

        Raises UsageError where the judge misses something, such as a key.
        """
        if self.keeper.fault:
            raise self.keeper.fault
        await self._openings.open(judge)
        sitting = _Sitting(self)
        answers = await _answers(judge, questions, sitting)
        if not hasattr(judge, "members"):
            self.asked += sum(answer is not NO_MONEY for answer in answers)
        identity, call = judge.identity, sitting.call_of.get
        judgments = [
            Judgment(question, _taken(question, answer), identity, judgment_key(question, identity), call(question, ""))
            for question, answer in zip(questions, answers, strict=True)
        ]
        await self.keeper.keep(judgments, sitting.calls)
        return {judgment.question: judgment for judgment in judgments}

    async def ask_member(self, judge: Judge, questions: Sequence[Question]) -> list[Answer | Failure]:
        """What a member of a judge made of judges answers, from the store where it is there."""
        known = self.keeper.known_from(judge, questions)
        self.reused += len(known)
        fresh = [question for question in questions if question not in known]
        known.update(await self._ask(judge, fresh) if fresh else {})
        return [known[question].answer for question in questions]

    def _settle(self, pile: _Pile, judgments: Mapping[Question, Judgment]) -> None:
        """Give a sample judgments, among them some that it waits for."""
        for question in [question for question in pile.missing if question in judgments]:
            judgment = pile.judgments[question] = judgments[question]
            del pile.missing[question]
            del self._under_way[question]
            if _is_two_way(judgment):
                self.unable.add("entail:contradiction")
        if not pile.missing:
            failed = any(isinstance(judgment.answer, Failure) for judgment in pile.judgments.values())
            resolve(pile.done, pile.judgments, self._stopped() if failed else None)

    def _stopped(self) -> Stopped | None:
        """Why a question that has failed is to end the run, None where it is not."""
        if self.budget.exceeded:
            return Stopped(self.budget.reason)
        for judge in self.bench.unique():
            ended: Failure | None = getattr(judge, "ended", None)
            if ended is not None:
                return Stopped(f"{judge.identity} cannot answer any more: {ended}")
        return None

    def _end(self, pile: _Pile, error: Exception) -> None:
        for question in pile.missing:
            self._under_way.pop(question, None)
        resolve(pile.done, pile.judgments, error)


class _Pile:
    """What one sample asked at one moment. done: all judgments, once nothing is missing."""

    __slots__ = ("done", "judgments", "missing")

    def __init__(self, questions: Sequence[Question], done: asyncio.Future[Known]) -> None:
        self.missing = dict.fromkeys(questions)
        self.judgments: Known = {}
        self.done = done


class _Queue:
    """What waits for a judge that takes the questions of many samples in batches. served: somebody is at it."""

    __slots__ = ("served", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[tuple[Question, _Pile]] = deque()
        self.served = False


class _Sitting:
    """The desk for one time that a judge is asked."""

    __slots__ = ("_asker", "call_of", "calls")

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self.calls: list[Call] = []
        self.call_of: dict[Question, str] = {}

    async def ask(self, judge: Judge, questions: Sequence[Question]) -> Sequence[Answer | Failure]:
        return await self._asker.ask_member(judge, questions)

    async def reserve(self, dollars: float) -> bool:
        return await self._asker.budget.reserve(dollars)

    def release(self, reserved: float) -> None:
        self._asker.budget.release(reserved)

    def record(self, call: Call, questions: Sequence[Question], reserved: float) -> None:
        self._asker.budget.record(call, reserved)
        self.calls.append(call)
        self.call_of.update(dict.fromkeys(questions, call.id))


async def _answers(judge: Judge, questions: Sequence[Question], sitting: _Sitting) -> Sequence[Answer | Failure]:
    """What the judge says; a judge that breaks its contract costs its batch, not the run."""
    try:
        answers = list(await ask_in_context(judge, questions, sitting))
    except Exception as error:
        return [Failure("judge_error", f"{judge.identity} raised {type(error).__name__}: {error}")] * len(questions)
    if len(answers) != len(questions):
        fault = f"{judge.identity} gave {len(answers)} answers to {len(questions)} questions"
        return [Failure("judge_error", fault)] * len(questions)
    return answers


def _taken(question: Question, answer: Answer | Failure) -> Answer | Failure:
    """The answer as the store would give it back, so that a run and the run that resumes it count the same."""
    if isinstance(answer, Failure):
        return answer
    if not isinstance(answer, Answer):
        return checked(question, answer)
    try:
        return checked(question, _decode(_encode(answer)))
    except (TypeError, ValueError) as error:
        return Failure("invalid_answer", f"it cannot be kept: {error}", raw=repr(answer)[:2000])


def _is_two_way(judgment: Judgment) -> bool:
    """Whether a judge told support from its absence, and no more. A person's label speaks for itself alone."""
    return isinstance(judgment.answer, Verdict) and judgment.judge.name != PEOPLE and judgment.answer.two_way


def _unanswered(question: Question) -> Judgment:
    failure = Failure("no_judge", f"no judge was named for questions of kind {kind(question)!r}")
    return Judgment(question, failure, NOBODY, "")
