"""A hearing: questions on their way through requests, until each has an answer or a failure that says why not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from time import perf_counter

from ragauge.judges.desk import NO_MONEY, Desk
from ragauge.judges.llm.calls import CallFailed, Completion, Prompt, Usage
from ragauge.judges.llm.decisions.asks import Ask, Said, Sheet
from ragauge.judges.llm.decisions.dialects import Dialect
from ragauge.judges.llm.decisions.messages import read, request
from ragauge.judges.llm.line import Line
from ragauge.judges.llm.prices import token_factor
from ragauge.judges.llm.tokens import estimate
from ragauge.judges.splitting import halved
from ragauge.questions import Question
from ragauge.types import Answer, Failure

#: How often an ask is put to the model before its answer counts as unusable.
TRIES = 3

TOO_LONG = "too_long"

#: What is wrong with a request may be wrong with one ask of it, and halves are shorter.
_DIVISIBLE = frozenset({TOO_LONG, "bad_request"})

_CANCELLED = Failure("cancelled")

Heard = dict[Question, Answer | Failure]


def usage_of(line: Line, body: str) -> Usage:
    """The tokens that a request is expected to take; its reply takes none."""
    return Usage(round(token_factor(line.transport.name) * estimate(body)))


class Hearing:
    """One consultation with a model that a server of `dialect` knows as `model`."""

    def __init__(self, line: Line, dialect: Dialect, model: str, desk: Desk) -> None:
        self._line, self._dialect, self._model, self._desk = line, dialect, model, desk
        self._sheet = Sheet()
        self._said: dict[Ask, Said | Failure] = {}
        self._wholes: dict[Question, Question] = {}

    async def ask(self, questions: Sequence[Question]) -> Heard:
        """What each question is answered; those that the server finds too long are asked in parts."""
        asks, most = self._sheet.take(questions), self._dialect.most
        packs = [asks[start : start + most] for start in range(0, len(asks), most)]
        await asyncio.gather(*(self._put(pack) for pack in packs))
        heard = {question: self._sheet.answer(question, self._said) for question in questions}
        return heard | await self._in_parts([question for question, answer in heard.items() if is_too_long(answer)])

    async def _in_parts(self, questions: Iterable[Question]) -> Heard:
        """What questions are answered by halves; the first half of each is asked first, to see whether it fits."""
        splits = {question: parted for question in questions if (parted := halved(question))}
        if not splits:
            return {}
        for question, parted in splits.items():
            self._wholes.update(dict.fromkeys(parted.parts, self._wholes.get(question, question)))
        heard = await self.ask([parted.parts[0] for parted in splits.values()])
        fitting = [parted for parted in splits.values() if not isinstance(heard[parted.parts[0]], Failure)]
        heard |= await self.ask([part for parted in fitting for part in parted.parts[1:]])
        return {question: parted.answer(heard) for question, parted in splits.items()}

    async def _put(self, asks: Sequence[Ask], tries: int = TRIES) -> None:
        """Have each ask answered or failed: without a usable answer it is put again, a refused request in halves."""
        failure = await self._request(asks)
        if failure is None:
            unusable = [ask for ask in asks if _is_unusable(self._said[ask])]
            if unusable and tries > 1:
                await self._put(unusable, tries - 1)
        elif failure.reason in _DIVISIBLE and len(asks) > 1:
            middle = len(asks) // 2
            await asyncio.gather(self._put(asks[:middle], tries), self._put(asks[middle:], tries))
        else:
            self._said.update(dict.fromkeys(asks, failure))

    async def _request(self, asks: Sequence[Ask]) -> Failure | None:
        """Make one request, if it may be paid for, keep what it says and record it; why there is no reply."""
        line, desk = self._line, self._desk
        body = request(self._dialect, self._model, self._sheet.sources, asks)
        expected = usage_of(line, body)
        reserved = line.price.of(expected) if line.price else 0.0
        if line.ended is not None or not await desk.reserve(reserved):
            return line.ended or NO_MONEY
        outcome: Completion | Failure = _CANCELLED
        sent, start = True, perf_counter()
        try:
            outcome = await line.send(Prompt("", body, {}))
            self._said.update(zip(asks, read(outcome.text, asks), strict=True))
        except CallFailed as failed:
            outcome, sent = failed.failure, failed.sent
        finally:
            if sent:
                self._record(outcome, expected, asks, perf_counter() - start, reserved)
            else:
                desk.release(reserved)
        return outcome if isinstance(outcome, Failure) else None

    def _record(
        self, outcome: Completion | Failure, estimate: Usage, asks: Sequence[Ask], seconds: float, reserved: float
    ) -> None:
        """Record a request, with the questions to which it brought the last thing missing."""
        askers = self._sheet.askers(asks)
        answered = [one for one in askers if not isinstance(self._sheet.answer(one, self._said), Failure)]
        said = [outcome] if isinstance(outcome, Failure) else [self._said[ask] for ask in asks]
        fault = next((str(one) for one in said if isinstance(one, Failure)), "")
        call = self._line.call(outcome, estimate, len(askers), seconds, fault)
        self._desk.record(call, [self._wholes.get(one, one) for one in answered], reserved)


def is_too_long(answer: Answer | Failure) -> bool:
    """Whether a question has no answer because the server finds it too long."""
    return isinstance(answer, Failure) and answer.reason == TOO_LONG


def _is_unusable(said: Said | Failure) -> bool:
    return isinstance(said, Failure) and said.reason != "refused"
