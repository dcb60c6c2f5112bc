"""Asking: people's labels first, then what the store holds, then the judges; every answer is kept as it arrives."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

import msgspec

from ragauge.errors import BadParameter
from ragauge.judges.base import DEFAULT_BATCH, NO_MONEY, ForecastingJudge, Judge, JudgeRouter, ask_in_context, checked
from ragauge.questions import Judgment, Question, judgment_key, kind
from ragauge.report.wording import dollars as price
from ragauge.store import Store
from ragauge.store.tables import PEOPLE
from ragauge.types import Answer, Call, Failure, Identity, TotalUsage, Verdict


class Stopped(Exception):
    """Raised where a question is not answered because the run is to end; the message is the reason."""


class LazyExitStack(AsyncExitStack):
    """Enters asynchronous context managers, one at a time and each once, and leaves them all when it is left."""

    def __init__(self) -> None:
        super().__init__()
        self._entered: set[int] = set()
        self._turn = asyncio.Lock()

    async def open(self, one: object) -> None:
        """Enter this one, unless it is entered or there is nothing to enter. Raises what entering it raises."""
        if id(one) in self._entered or not isinstance(one, AbstractAsyncContextManager):
            return
        async with self._turn:
            if id(one) not in self._entered:
                await self.enter_async_context(one)
                self._entered.add(id(one))


def check_priced(judges: Iterable[Judge], limit: float | None) -> None:
    """Raise BadParameter where a limit in dollars means nothing, since the price of a judge's model is not known."""
    for judge in judges if limit is not None else ():
        if hasattr(judge, "members"):
            check_priced(judge.members, limit)
        elif isinstance(judge, ForecastingJudge) and getattr(judge, "price", None) is None:
            raise BadParameter(
                f"a limit on the cost needs the price of {judge.identity}, which is not known; give it in dollars per "
                f"million tokens, prompt and completion: {judge.identity}?price=0.15:0.60"
            )


class Budget:
    """Counts the cost of calls against a limit in dollars, None for none.

    Money is set aside before a call is made, so that calls under way side by side do not overrun the limit together,
    and before a sample is begun, so that no more samples are under way than the money is enough for. What calls have
    cost beyond what was expected of them is expected of the next ones too.
    spent: what has been counted. exceeded: whether a call was refused; from then on all are.
    """

    def __init__(self, limit: float | None = None) -> None:
        self.limit = limit
        self.spent = TotalUsage()
        self.exceeded = False
        self._reserved = 0.0
        self._expected = 0.0
        self._begun = self._ended = 0.0  # what is expected of the samples under way, and was of those that are done
        self._door = asyncio.Lock()
        self._freed = asyncio.Event()

    @property
    def reason(self) -> str:
        """Why a run that asks for more is to end."""
        return f"the limit of ${self.limit:g} was reached"

    @property
    def _dearer(self) -> float:
        """How many times as much as expected calls, or samples, have cost so far; at least 1."""
        expected = [some for some in (self._expected, self._begun + self._ended) if some]
        return max([1.0, *(self.spent.cost / some for some in expected)])

    def _holds(self, expected: float) -> bool:
        """Whether there is money for this much more, as it is expected."""
        return self.limit is None or self.spent.cost + self._dearer * expected <= self.limit

    @asynccontextmanager
    async def sample(self, dollars: float) -> AsyncIterator[None]:
        """Begin a sample that is expected to cost this, once there is money for it and all those under way.

        Samples begin in the order in which they ask. The first that costs something is alone, to see what it does cost.
        Raises Stopped where the money will not be enough for a sample.
        """
        async with self._door:
            while self._begun and dollars and not (self._ended and self._holds(self._begun + dollars)):
                self._freed.clear()
                await self._freed.wait()
            if dollars and not self._holds(dollars):
                self.exceeded = True
            if self.exceeded:
                raise Stopped(self._short_of(dollars))
            self._begun += dollars
        try:
            yield
        finally:
            self._begun, self._ended = _less(self._begun, dollars), self._ended + dollars
            self._freed.set()

    def _short_of(self, dollars: float) -> str:
        """Why a sample that is expected to cost this cannot begin."""
        if self.spent.calls:
            return self.reason
        return f"the limit of ${self.limit:g} is less than one sample is expected to cost, about {price(dollars)}"

    async def reserve(self, dollars: float) -> bool:
        """Set money aside for a call, once it is there; False where it will not be any more."""
        if self.limit is None:
            return True
        while not self.exceeded:
            if self._holds(self._reserved + dollars):
                self._reserved += dollars
                return True
            if not self._reserved:
                self.exceeded = True
                self._freed.set()
                return False
            self._freed.clear()
            await self._freed.wait()
        return False

    def release(self, reserved: float) -> None:
        """What was set aside is free again."""
        if self.limit is not None:
            self._reserved = _less(self._reserved, reserved)
            self._freed.set()

    def record(self, call: Call, reserved: float) -> None:
        """A call has ended; what it cost takes the place of what was set aside for it."""
        self.spent.add(call)
        self._expected += reserved if call.cost else 0.0
        self.release(reserved)


def _less(whole: float, part: float) -> float:
    """What is left of a sum without a part of it; 0 where that is all."""
    left = whole - part
    return left if left > 1e-12 else 0.0


KnownJudgments = dict[Question, Judgment]


class JudgmentCache:
    """Looks up what people's labels or the store answer, and keeps judgments.

    labels: those given with the run. fault: why nothing more can be kept, once that is so.
    """

    def __init__(self, bench: JudgeRouter, store: Store, labels: Mapping[Question, Judgment]) -> None:
        self.labels = labels
        self.fault: Exception | None = None
        self._bench, self._store = bench, store
        self._arrived: list[_Arrival] = []

    def known(self, questions: Sequence[Question]) -> KnownJudgments:
        """What people's labels or the store already answer."""
        found = self._labelled(questions) if self.labels else {}
        found.update(self._store.find_labels([question for question in questions if question not in found]))
        keys = {}
        for question in questions:
            judge = self._bench.judge_of(question)
            if question not in found and judge is not None:
                keys[judgment_key(question, judge.identity)] = question
        return {**found, **self._stored(keys)}

    def _labelled(self, questions: Sequence[Question]) -> KnownJudgments:
        return {question: self.labels[question] for question in questions if question in self.labels}

    def known_from(self, judge: Judge, questions: Sequence[Question]) -> KnownJudgments:
        """What the store already holds of one judge's answers."""
        return self._stored({judgment_key(question, judge.identity): question for question in questions})

    def _stored(self, keys: Mapping[str, Question]) -> KnownJudgments:
        return {keys[key]: judgment for key, judgment in self._store.find(list(keys)).items()}

    def keep_labels_of(self, known: KnownJudgments) -> None:
        """Keep those of `known` that the labels given with the run answer."""
        if self.labels:
            self._store.keep(list(self._labelled(list(known)).values()))

    async def keep(self, judgments: Sequence[Judgment], calls: Sequence[Call]) -> None:
        """Keep judgments that have an answer, in one transaction with what arrives in the same turn of the loop."""
        arrival = _Arrival([one for one in judgments if not isinstance(one.answer, Failure)], calls)
        if arrival.judgments or arrival.calls:
            if not self._arrived:
                asyncio.get_running_loop().call_soon(self._commit)
            self._arrived.append(arrival)
            await arrival.kept

    def _commit(self) -> None:
        arrived, self._arrived = self._arrived, []
        try:
            self._store.keep(
                [judgment for arrival in arrived for judgment in arrival.judgments],
                [call for arrival in arrived for call in arrival.calls],
            )
        except Exception as error:
            self.fault = error
        for arrival in arrived:
            resolve(arrival.kept, None, self.fault)


class _Arrival:
    """Judgments, with the calls that brought them."""

    __slots__ = ("calls", "judgments", "kept")

    def __init__(self, judgments: Sequence[Judgment], calls: Sequence[Call]) -> None:
        self.judgments, self.calls = judgments, calls
        self.kept: asyncio.Future[None] = asyncio.get_running_loop().create_future()


def resolve(future: asyncio.Future[Any], value: object, error: Exception | None) -> None:
    """End a future, unless whoever waited for it is gone."""
    if future.done():
        return
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)


NOBODY = Identity("nobody")

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Answer).decode


class Dispatcher:
    """Answers the waves of many samples side by side.

    What samples ask at the same moment is looked up together and put to the judges together: to a judge that works
    sample by sample each sample's questions, to another one batch after the other of whatever waits. A question that
    several samples ask is asked once.

    asked, reused: how many were put to judges, and how many were known; labelled: how many of those from people.
    unable: topics that the answers show to be beyond the judges, whatever these say of themselves.
    """

    def __init__(self, bench: JudgeRouter, keeper: JudgmentCache, budget: Budget) -> None:
        self.bench = bench
        self.keeper = keeper
        self.budget = budget
        self.asked = self.reused = self.labelled = 0
        self.unable: set[str] = set()
        self._piles: list[_PendingRequest] = []
        self._under_way: dict[Question, _PendingRequest] = {}
        self._queues: dict[int, _JudgeQueue] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._openings = LazyExitStack()

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

    async def answer(self, questions: Sequence[Question]) -> KnownJudgments:
        """A judgment for each question; its answer is a Failure where nobody could answer.

        Raises Stopped where a question has no answer because no more money may be spent, or because its judge cannot
        answer any more, for want of a server or a right key.
        """
        loop = asyncio.get_running_loop()
        piles = {id(pile): pile for question in questions if (pile := self._under_way.get(question))}
        mine = [question for question in questions if question not in self._under_way]
        if mine:
            pile = _PendingRequest(mine, loop.create_future())
            piles[id(pile)] = pile
            self._under_way.update(dict.fromkeys(mine, pile))
            if not self._piles:
                loop.call_soon(self._deal)
            self._piles.append(pile)
        judgments: KnownJudgments = {}
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

    def _hand_on(self, pile: _PendingRequest) -> None:
        """Give what a sample still misses to whom it concerns."""
        for judge, group in self.bench.shared(pile.missing):
            if judge is None:
                self._settle(pile, {question: _unanswered(question) for question in group})
            elif getattr(judge, "by_sample", 0):
                self._start(self._ask_for(judge, group, [pile]))
            else:
                self._queue(judge, group, pile)

    def _queue(self, judge: Judge, questions: Sequence[Question], pile: _PendingRequest) -> None:
        queue = self._queues.setdefault(id(judge), _JudgeQueue())
        queue.waiting.extend((question, pile) for question in questions)
        if not queue.served:
            queue.served = True
            self._start(self._serve(judge, queue))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, judge: Judge, queue: _JudgeQueue) -> None:
        """Ask batch after batch of what waits for one judge, from however many samples."""
        size = max(1, getattr(judge, "batch", DEFAULT_BATCH))
        while queue.waiting:
            batch = [queue.waiting.popleft() for _ in range(min(size, len(queue.waiting)))]
            piles = {id(pile): pile for _, pile in batch}
            await self._ask_for(judge, [question for question, _ in batch], list(piles.values()))
            await asyncio.sleep(0)
        queue.served = False

    async def _ask_for(self, judge: Judge, questions: Sequence[Question], piles: Sequence[_PendingRequest]) -> None:
        """Ask, and give each sample what it asked."""
        try:
            judgments = await self._ask(judge, questions)
        except Exception as error:
            for pile in piles:
                self._end(pile, error)
            return
        for pile in piles:
            self._settle(pile, judgments)

    async def _ask(self, judge: Judge, questions: Sequence[Question]) -> KnownJudgments:
        """Put questions to a judge, and keep the answers. What cannot be kept is not asked for.

        Raises UsageError where the judge misses something, such as a key.
        """
        if self.keeper.fault:
            raise self.keeper.fault
        await self._openings.open(judge)
        sitting = _DispatchContext(self)
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

    def _settle(self, pile: _PendingRequest, judgments: Mapping[Question, Judgment]) -> None:
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

    def _end(self, pile: _PendingRequest, error: Exception) -> None:
        for question in pile.missing:
            self._under_way.pop(question, None)
        resolve(pile.done, pile.judgments, error)


class _PendingRequest:
    """What one sample asked at one moment. done: all judgments, once nothing is missing."""

    __slots__ = ("done", "judgments", "missing")

    def __init__(self, questions: Sequence[Question], done: asyncio.Future[KnownJudgments]) -> None:
        self.missing = dict.fromkeys(questions)
        self.judgments: KnownJudgments = {}
        self.done = done


class _JudgeQueue:
    """What waits for a judge that takes the questions of many samples in batches. served: somebody is at it."""

    __slots__ = ("served", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[tuple[Question, _PendingRequest]] = deque()
        self.served = False


class _DispatchContext:
    """The desk for one time that a judge is asked."""

    __slots__ = ("_asker", "call_of", "calls")

    def __init__(self, asker: Dispatcher) -> None:
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


async def _answers(
    judge: Judge, questions: Sequence[Question], sitting: _DispatchContext
) -> Sequence[Answer | Failure]:
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
