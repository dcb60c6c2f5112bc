"""Answering questions: from people's labels, then the store, then the judges; every answer is written at once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Container, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from itertools import chain
from typing import Any

import msgspec

from ragauge.judges.base import Judge, JudgeBase, JudgeRouter, adapted, checked
from ragauge.questions import Judgment, Question, judgment_key
from ragauge.redaction import redacted
from ragauge.run.budget import Budget, Stopped
from ragauge.store import Opinions, Store, settled
from ragauge.types import PEOPLE, Answer, Call, Failure, Identity, Verdict


class LazyExitStack(AsyncExitStack):
    """Enters asynchronous context managers on demand, one at a time and each once, and exits them all at the end."""

    def __init__(self) -> None:
        super().__init__()
        self._entered: set[int] = set()
        self._lock = asyncio.Lock()

    async def open(self, manager: AbstractAsyncContextManager[Any]) -> None:
        """Enter a context manager, unless it has been entered. Raises what entering it raises."""
        if id(manager) in self._entered:
            return
        async with self._lock:
            if id(manager) not in self._entered:
                await self.enter_async_context(manager)
                self._entered.add(id(manager))


Judgments = dict[Question, Judgment]

#: Questions with the keys of their judgments; a key takes longer to compute than to pass on.
QuestionKeys = dict[Question, str]


def resolve(future: asyncio.Future[Any], value: object, error: Exception | None) -> None:
    """Complete a future with a value, or with an error if there is one, unless it was cancelled."""
    if future.done():
        return
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)


class _Request:
    """The questions of one sample in one round, each once. answered: done once each of them has a judgment."""

    def __init__(self, questions: Iterable[Question]) -> None:
        self.questions = tuple(dict.fromkeys(questions))
        self.judgments: Judgments = {}
        self.answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()


NOBODY = Identity("nobody")

#: How long an answer is awaited that another process is asking for, and how often the store is read meanwhile.
MAX_WAIT_SECONDS = 120.0
FIRST_PAUSE_SECONDS = 0.05
MAX_PAUSE_SECONDS = 1.0

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Answer).decode


class Dispatcher:
    """Answers the rounds of questions of many concurrent samples, each question once.

    Questions that arrive in the same iteration of the event loop are looked up together. A judge that works sample by
    sample then gets each sample's questions; any other judge gets batches of whatever is waiting.

    labels: of people, passed to the run. asked, reused: numbers of questions that judges answered, and of those with a
    stored answer or a label; labelled: with a label. disputed: keys of questions on which people differ. unable: topics
    that a judge declares, but by its answers cannot decide.
    """

    def __init__(
        self, router: JudgeRouter, store: Store, budget: Budget, labels: Mapping[Question, Opinions] | None = None
    ) -> None:
        self.router, self.budget, self.labels = router, budget, labels or {}
        self.asked = self.reused = self.labelled = 0
        self.disputed: set[str] = set()
        self.unable: set[str] = set()
        self._store = store
        self._write_error: Exception | None = None
        self._unwritten: list[tuple[Sequence[Judgment], Sequence[Call], asyncio.Future[None]]] = []
        self._to_look_up: list[list[Question]] = []  # by sample
        self._in_flight: dict[Question, list[_Request]] = {}  # with the requests that wait for it
        self._queues: dict[int, deque[tuple[Question, str]]] = {}  # with keys, by the id of a judge that takes batches
        self._tasks: set[asyncio.Task[None]] = set()
        self._opened_judges = LazyExitStack()

    def keys(self, questions: Iterable[Question]) -> QuestionKeys:
        """The questions with the keys of their judgments; "" for a question that no judge answers."""
        return _keys_of(self.router.by_judge(questions))

    def labelled_or_stored(self, keys: QuestionKeys) -> Judgments:
        """The judgments that people's labels or the store already hold."""
        said = {question: self.labels[question] for question in keys if question in self.labels}
        said.update(self._store.opinions([question for question in keys if question not in said]))
        if not said:
            return self._stored(keys)
        self.disputed |= {keys[question] for question, people in said.items() if people.disputed}
        return {**self._stored(keys), **settled(said)}

    def _stored(self, keys: QuestionKeys) -> Judgments:
        questions = {key: question for question, key in keys.items() if key}
        return {questions[key]: judgment for key, judgment in self._store.find(list(questions)).items()}

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """While open, judges open their resources, such as connections, at their first question; exit closes them."""
        async with self._opened_judges:
            try:
                yield
            finally:
                if self._tasks:
                    for task in self._tasks:
                        task.cancel()
                    await asyncio.gather(*self._tasks, return_exceptions=True)
                    self._store.release()

    async def answer(self, questions: Sequence[Question]) -> Judgments:
        """A judgment for each question; its answer is a Failure if no judge could answer.

        Raises Stopped where that is because the cost limit is reached or the judge has stopped for good, as with a
        wrong key.
        """
        if not questions:
            return {}
        request = _Request(questions)
        new = [question for question in request.questions if question not in self._in_flight]
        for question in request.questions:
            self._in_flight.setdefault(question, []).append(request)
        if new:
            if not self._to_look_up:
                asyncio.get_running_loop().call_soon(self._look_up)
            self._to_look_up.append(new)
        await request.answered
        if any(isinstance(judgment.answer, Failure) for judgment in request.judgments.values()):
            self._check_running()
        return request.judgments

    def _look_up(self) -> None:
        """Look up the questions that arrived together, and pass on to the judges those without a judgment."""
        requests, self._to_look_up = self._to_look_up, []
        try:
            routed = [group for request in requests for group in self.router.by_judge(request)]
            keys = _keys_of(routed)
            stored = self.labelled_or_stored(keys)
            if self.labels:
                self._store.keep([stored[q] for q in stored if q in self.labels and stored[q].judge.name == PEOPLE])
            granted = self._store.lock([key for question, key in keys.items() if key and question not in stored])
        except Exception as error:
            self._fail(chain.from_iterable(requests), error)
            return
        self.reused += len(stored)
        self.labelled += sum(judgment.judge.name == PEOPLE for judgment in stored.values())
        self._settle(stored)
        for judge, group in routed:
            wanted = {question: keys[question] for question in group if question not in stored}
            if judge is None:
                self._settle({question: _unjudged(question) for question in wanted})
            elif asked_elsewhere := self._pass_on(judge, wanted, granted):
                self._start(self._await_other_processes(judge, asked_elsewhere))

    def _pass_on(self, judge: JudgeBase, keys: QuestionKeys, granted: Container[str]) -> QuestionKeys:
        """Queue for a judge the questions whose keys were granted; returns the others, which another process asks."""
        to_ask = {question: key for question, key in keys.items() if key in granted}
        if to_ask and judge.by_sample:
            self._start(self._ask_for(judge, to_ask))
        elif to_ask and id(judge) in self._queues:
            self._queues[id(judge)].extend(to_ask.items())
        elif to_ask:
            self._queues[id(judge)] = deque(to_ask.items())
            self._start(self._serve(judge))
        return {question: key for question, key in keys.items() if key not in granted}

    async def _await_other_processes(self, judge: JudgeBase, keys: QuestionKeys) -> None:
        """Read the answers that other processes are asking for; ask what they give up, or are late with."""
        try:
            pause, waited = FIRST_PAUSE_SECONDS, 0.0
            while keys:
                await asyncio.sleep(pause)
                waited += pause
                pause = min(2 * pause, MAX_PAUSE_SECONDS)
                stored = self._stored(keys)
                self.reused += len(stored)
                self._settle(stored)
                keys = {question: key for question, key in keys.items() if question not in stored}
                granted = self._store.lock(keys.values()) if waited < MAX_WAIT_SECONDS else keys.values()
                keys = self._pass_on(judge, keys, granted)
        except Exception as error:
            self._fail(keys, error)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, judge: JudgeBase) -> None:
        """Put the questions waiting for one judge to it, batch by batch, across samples, until none is left."""
        size = max(1, judge.batch)
        waiting = self._queues[id(judge)]
        while waiting:
            batch = dict(waiting.popleft() for _ in range(min(size, len(waiting))))
            await self._ask_for(judge, batch)
            await asyncio.sleep(0)
        del self._queues[id(judge)]

    async def _ask_for(self, judge: JudgeBase, keys: QuestionKeys) -> None:
        """Put questions to a judge, and pass its judgments, or the error, to the requests that wait for them."""
        try:
            judgments = await self._ask(judge, keys)
            self._settle(judgments)
            if failed_keys := [judgment.key for judgment in judgments.values() if isinstance(judgment.answer, Failure)]:
                self._store.release(failed_keys)
        except Exception as error:
            self._fail(keys, error)
            self._store.release(keys.values())

    async def _ask(self, judge: JudgeBase, keys: QuestionKeys) -> Judgments:
        """Put questions to a judge, unless writing has failed, and write the answers. Raises UsageError."""
        if self._write_error:
            raise self._write_error
        await self._opened_judges.open(judge)
        context = _DispatchContext(self)
        answers: list[Answer | Failure] = []
        try:
            answers = list(await judge.consult(list(keys), context))
            fault = f"{judge.identity} gave {len(answers)} answers to {len(keys)} questions"
        except Exception as error:
            fault = f"{judge.identity} raised {type(error).__name__}: {error}"
        if len(answers) != len(keys):  # a judge that breaks its contract fails these questions, not the run
            answers = [Failure("judge_error", fault)] * len(keys)
        judgments: Judgments = {}
        for (question, key), answer in zip(keys.items(), answers, strict=True):
            if isinstance(answer, Failure) or not judge.is_checked:
                answer = normalised(question, answer)
            judgments[question] = Judgment(question, answer, judge.identity, key, context.call_of.get(question, ""))
        answered = [judgment for judgment in judgments.values() if not isinstance(judgment.answer, Failure)]
        self.asked += 0 if judge.members else len(answered)
        if answered or context.calls:
            loop = asyncio.get_running_loop()
            if not self._unwritten:
                loop.call_soon(self._commit)
            self._unwritten.append((answered, context.calls, loop.create_future()))
            await self._unwritten[-1][2]
        return judgments

    def _commit(self) -> None:
        """Write the judgments and calls of this loop iteration in one transaction."""
        unwritten, self._unwritten = self._unwritten, []
        judgments, calls, written = zip(*unwritten, strict=True)
        try:
            self._store.keep(list(chain.from_iterable(judgments)), list(chain.from_iterable(calls)))
        except Exception as error:
            self._write_error = error
        for future in written:
            resolve(future, None, self._write_error)

    async def ask_member(self, judge: Judge, questions: Sequence[Question]) -> list[Answer | Failure]:
        """The answers of a member of a composite judge, from the store where it has them."""
        judge = adapted(judge)
        keys = {question: judgment_key(question, judge.identity) for question in questions}
        judgments = self._stored(keys)
        self.reused += len(judgments)
        if to_ask := {question: key for question, key in keys.items() if question not in judgments}:
            judgments.update(await self._ask(judge, to_ask))
        return [judgments[question].answer for question in questions]

    def _settle(self, judgments: Judgments) -> None:
        for question, judgment in judgments.items():
            answer = judgment.answer
            if isinstance(answer, Verdict) and answer.two_way and judgment.judge.name != PEOPLE:
                self.unable.add("entail:contradiction")  # a person's label says nothing about other answers
            for request in self._in_flight.pop(question):
                request.judgments[question] = judgment
                if len(request.judgments) == len(request.questions):
                    resolve(request.answered, None, None)

    def _fail(self, questions: Iterable[Question], error: Exception) -> None:
        for question in questions:
            for request in self._in_flight.pop(question):
                resolve(request.answered, None, error)
                if not request.answered.cancelled():
                    request.answered.exception()  # else asyncio logs that it was never retrieved

    def _check_running(self) -> None:
        """Raise Stopped if a failed question must end the run."""
        if self.budget.exceeded:
            raise Stopped(self.budget.reason)
        for judge in self.router.unique:
            if judge.ended is not None:
                raise Stopped(f"{judge.identity} cannot answer any more: {judge.ended}")


class _DispatchContext:
    """The calls of one round of questions to a judge, by which it spends the budget and asks other judges."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self.calls: list[Call] = []
        self.call_of: dict[Question, str] = {}
        self.ask, self._budget = dispatcher.ask_member, dispatcher.budget
        self.reserve, self.release = dispatcher.budget.reserve, dispatcher.budget.release

    def record(self, call: Call, questions: Sequence[Question], reserved: float) -> None:
        self._budget.record(call, reserved)
        self.calls.append(msgspec.structs.replace(call, fault=redacted(call.fault)) if call.fault else call)
        self.call_of.update(dict.fromkeys(questions, call.id))


def _unjudged(question: Question) -> Judgment:
    failure = Failure("no_judge", f"no judge was given for questions of kind {question.kind!r}")
    return Judgment(question, failure, NOBODY, "")


def _keys_of(routed: Iterable[tuple[JudgeBase | None, Iterable[Question]]]) -> QuestionKeys:
    """The keys of questions that are grouped by their judges; "" for a question without a judge."""
    return {
        question: judgment_key(question, judge.identity) if judge else ""
        for judge, group in routed
        for question in group
    }


def normalised(question: Question, answer: Answer | Failure) -> Answer | Failure:
    """The answer, if it fits the question, as the store would return it, so that a resumed run counts the same.

    Neither an answer nor a failure repeats a key of this process.
    """
    try:
        if isinstance(answer, Answer):
            answer = _decode(redacted(_encode(answer).decode()))
        answer = checked(question, answer)
    except (TypeError, ValueError) as error:
        answer = Failure("invalid_answer", f"it cannot be stored: {error}", raw=repr(answer)[:2000])
    if isinstance(answer, Failure):
        return Failure(answer.reason, redacted(answer.detail), answer.raw and redacted(answer.raw))
    return answer
