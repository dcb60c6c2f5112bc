"""The LLM judge: all that a sample asks in a round in as few calls as it fits in, each reply checked.

A bad reply is asked for once more, quoting what is wrong with it; what is still unanswered is asked anew in halves;
a question that still fails alone, in the fourth call that asks it, is a failure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Literal, Self

import msgspec

from ragauge.errors import BadParameter
from ragauge.judges.base import NO_MONEY, ContextJudge, ExpectedCall, RunContext
from ragauge.judges.llm import layout, replies
from ragauge.judges.llm.client import ModelClient
from ragauge.judges.llm.messages import CallFailed, CallTempo, Completion, Finish, Prompt, Transport
from ragauge.judges.llm.packing import LearnedLimits, Pack, PackingPolicy, pack_limits
from ragauge.judges.llm.pricing import Price
from ragauge.judges.llm.prompts import PromptStyle
from ragauge.judges.windows import SplitQuestion, halves
from ragauge.questions import KINDS, Question
from ragauge.types import Answer, Failure, Identity


class ModelJudge(ContextJudge):
    """A judge that asks a model. Subclasses say in `consult` what they send it, and what they make of its replies."""

    def __init__(self, transport: Transport, price: Price | None) -> None:
        self._line = ModelClient(transport, price)

    @property
    def price(self) -> Price | None:
        """What its calls cost; None where that is not known."""
        return self._line.price

    @property
    def ended(self) -> Failure | None:
        """Why it cannot answer any more, once that is so; None again when it is opened anew."""
        return self._line.ended

    def notes(self) -> Sequence[str]:
        """What the transport has to say of how its calls went since it was opened; nothing where it says nothing."""
        notes = getattr(self._line.transport, "notes", None)
        return notes() if notes else ()

    async def __aenter__(self) -> Self:
        """Open the line, unless it is open. Raises UsageError where something is missing, such as a key."""
        await self._line.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._line.__aexit__(*exc)


#: Characters of a reply that a failure keeps.
RAW = 4000

#: In how many calls a question is asked before it is a failure, unless larger packs asked it more often.
_CALLS = 4

#: How many replies without form of one wave count towards giving up the model: some samples are refused in prose.
_FORMLESS = 4

#: What one question among several may be the cause of: halves find it, and the others are answered.
_OF_ONE = frozenset({"too_long", "content_filter", "refused"})

#: What another try may mend.
_OF_FORM = frozenset({"invalid_answer", "truncated"})

_ENDINGS: dict[Finish, tuple[str, str]] = {
    "stop": ("invalid_answer", ""),
    "length": (
        "truncated",
        "the reply was cut off at its greatest length, before this answer; be brief, or raise max_tokens",
    ),
    "content_filter": ("content_filter", "the provider's filter stopped the reply"),
    "refusal": ("refused", "the model would not answer"),
}


class _Attempt(msgspec.Struct):
    """What came of a call. failures: of the questions without an answer. faults: what to say of the reply, by place."""

    answered: Sequence[Question]
    failures: dict[Question, Failure]
    faults: Mapping[int, str] = {}
    reply: str = ""
    fault: str = ""


_CANCELLED = Failure("cancelled")
_UNDONE = _Attempt((), {}, fault="cancelled")


class CallRound:
    """Questions of one consultation. answers: what they have come to."""

    def __init__(self, line: ModelClient, fit: LearnedLimits, desk: RunContext) -> None:
        self.answers: dict[Question, Answer | Failure] = {}
        self._line, self._fit, self._desk = line, fit, desk
        self._style = fit.manner.style
        self._wholes: dict[Question, Question] = {}
        self._formless = 0

    async def ask(self, questions: Sequence[Question]) -> None:
        """Ask, so that each question is in `answers`; those too long for a call in parts."""
        await self._make(*self._fit.manner.calls(questions))

    async def _make(self, calls: Sequence[Pack], splits: Mapping[Question, SplitQuestion]) -> None:
        """Make calls, among them those of the parts of split questions, and put the answers to the parts together."""
        for question, parted in splits.items():
            self._name_whole(question, parted)
        await self._settle(calls)
        for question, parted in splits.items():
            self.answers[question] = parted.answer(self.answers)

    def _name_whole(self, question: Question, parted: SplitQuestion) -> None:
        self._wholes.update(dict.fromkeys(parted.parts, self._wholes.get(question, question)))

    async def _settle(self, calls: Sequence[Pack], asked: int = 0) -> None:
        if len(calls) == 1:
            await self._settle_one(calls[0], asked)
        else:
            await asyncio.gather(*[self._settle_one(pack, asked) for pack in calls])

    async def _settle_one(self, pack: Pack, asked: int) -> None:
        """Have each question of a pack answered or failed. asked: in how many calls they were asked before."""
        failures, calls = await self._failures(pack, asked)
        if not failures:
            return
        reason = next(iter(failures.values())).reason
        alone = len(pack.questions) == 1
        if (reason in _OF_FORM and not (alone and asked + calls >= _CALLS)) or (reason in _OF_ONE and not alone):
            await self._settle(_halves(list(failures)), asked + calls)
        elif not (reason == "too_long" and await self._in_parts(pack.questions[0])):
            self.answers.update(failures)

    async def _in_parts(self, question: Question) -> bool:
        """Ask a question that the server finds too long in parts, the first of them first; False where that fails."""
        parted = halves(question)
        if parted is None:
            return False
        self._name_whole(question, parted)
        await self._settle([Pack(parted.parts[:1])])
        if isinstance(self.answers[parted.parts[0]], Failure):
            return False
        calls, splits = self._fit.manner.calls(parted.parts[1:])
        await self._make(calls, {**splits, question: parted})
        return True

    async def _failures(self, pack: Pack, asked: int) -> tuple[dict[Question, Failure], int]:
        """Ask a pack, and ask again for what a reply got wrong; what is still unanswered, and the number of calls."""
        prompt = layout.prompt_of(pack, self._style)
        attempt = await self._call(pack, prompt)
        last = len(pack.questions) == 1 and asked + 1 == _CALLS
        if last or not attempt.failures or not _can_be_mended(attempt.failures, pack):
            return attempt.failures, 1
        attempt = await self._call(pack, layout.repeat_prompt(prompt, attempt.reply, attempt.faults))
        return attempt.failures, 2

    async def _call(self, pack: Pack, prompt: Prompt) -> _Attempt:
        """Make one call, if it may be paid for, and record it."""
        line, desk = self._line, self._desk
        reserved = line.reserve(pack, prompt, self._style)
        if refusal := await self._refusal(reserved):
            return self._failed(pack, refusal)
        outcome: Completion | Failure = _CANCELLED
        attempt, sent = _UNDONE, True
        start = perf_counter()
        try:
            outcome = await line.send(prompt)
            attempt = self._read(pack, prompt, outcome)
        except CallFailed as failed:
            outcome, sent = failed.failure, failed.sent
            attempt = self._failed(pack, outcome)
        finally:
            if sent:
                seconds, asked = perf_counter() - start, len(prompt.schema["properties"])
                call = line.call(outcome, line.estimate(prompt, outcome), asked, seconds, attempt.fault)
                desk.record(call, self._whole(attempt.answered), reserved)
            else:
                desk.release(reserved)
        if attempt.failures and next(iter(attempt.failures.values())).reason == "too_long":
            self._fit.refused(pack, len(prompt.user))
        return attempt

    async def _refusal(self, reserved: float) -> Failure | None:
        """Why a call may not be made; None where it may, and the money is set aside."""
        if self._line.ended is not None:
            return self._line.ended
        if not await self._desk.reserve(reserved):
            return self._line.ended or NO_MONEY
        if self._line.ended is not None:
            self._desk.release(reserved)
        return self._line.ended

    def _whole(self, answered: Sequence[Question]) -> Sequence[Question]:
        """The questions that were asked, in place of the parts of them that were answered."""
        wholes = self._wholes
        return [wholes.get(one, one) for one in answered] if wholes else answered

    def _failed(self, pack: Pack, failure: Failure) -> _Attempt:
        failures = {question: failure for question in pack.questions if question not in self.answers}
        return _Attempt((), failures, fault=str(failure))

    def _read(self, pack: Pack, prompt: Prompt, completion: Completion) -> _Attempt:
        """Keep what a reply answers for the first time; nothing of a reply to a prompt that was cut."""
        if cut := self._line.cut(prompt, completion):
            return self._failed(pack, cut)
        reading = replies.parse_reply(pack, completion.text, self._style)
        self._formless += not reading.in_form
        if reading.in_form or self._formless <= _FORMLESS:
            self._line.heard(completion, in_form=reading.in_form)
        questions, answers = pack.questions, self.answers
        answered = []
        for position, answer in reading.answers.items():
            question = questions[position]
            if answers.setdefault(question, answer) is answer:
                answered.append(question)
        if len(answered) == len(questions):
            return _Attempt(answered, {})
        faults = {at: fault for at, fault in reading.faults.items() if questions[at] not in answers}
        return self._bad(pack, completion, answered, faults)

    def _bad(
        self, pack: Pack, completion: Completion, answered: Sequence[Question], faults: Mapping[int, str]
    ) -> _Attempt:
        """What came of a call with a reply that leaves something unanswered, or answers it badly."""
        failures = {pack.questions[at]: unanswered(completion, fault) for at, fault in faults.items()}
        told = {at: failures[pack.questions[at]].detail for at in faults}
        return _Attempt(answered, failures, told, completion.text, str(next(iter(failures.values()), "")))


def unanswered(completion: Completion, fault: str) -> Failure:
    """Why a question has no answer in a reply, of which `replies.read` says what is wrong."""
    reason, detail = _ENDINGS[completion.finish]
    return Failure(reason, detail or fault, completion.text[:RAW])


def _can_be_mended(failures: Mapping[Question, Failure], pack: Pack) -> bool:
    """Whether to quote to the model what is wrong; of a reply that was cut off, fewer questions are the better cure."""
    reason = next(iter(failures.values())).reason
    return reason == "invalid_answer" or (reason == "truncated" and len(pack.questions) == 1)


def _halves(questions: Sequence[Question]) -> list[Pack]:
    middle = len(questions) // 2
    return [Pack(tuple(half)) for half in (questions[:middle], questions[middle:]) if half]


Packing = Literal["together", "alone"]


class LLMJudge(ModelJudge):
    """Answers questions of every kind with a language model.

    transport: carries prompts to the model. price: for what calls cost; None where it is not known. rationales:
    whether verdicts and grades come with a short reason. quotes: whether verdicts come with the words of the text that
    decide, as a span. pack: "together" puts all questions of a sample's wave into as few calls as they fit in, "alone"
    asks one question a call. context: tokens of the model's window, where it is small; longer texts are judged in
    parts. width: how many samples a run works on at once, to have calls ready whenever the transport has room for one.
    tempo: how fast calls may follow each other, for estimates.

    Use it as an asynchronous context manager to keep connections open from one `answer` to the next; a run does.
    """

    answers = frozenset(KINDS)

    def __init__(
        self,
        transport: Transport,
        *,
        price: Price | None = None,
        rationales: bool = True,
        quotes: bool = False,
        pack: Packing = "together",
        context: int | None = None,
        width: int = 256,
        tempo: CallTempo | None = None,
    ) -> None:
        if pack not in ("together", "alone"):
            raise BadParameter(f"pack={pack!r} must be 'together' or 'alone'")
        super().__init__(transport, price)
        self._manner = PackingPolicy(pack_limits(context), pack == "alone", PromptStyle(rationales, quotes))
        self._fit = LearnedLimits(self._manner)
        self.tempo = tempo or CallTempo()
        self.by_sample = width
        self.identity = Identity(transport.name, (*transport.settings, *self._manner.settings))

    def notes(self) -> list[str]:
        """How often calls were tried again and waited since it was opened, and of how many the tokens are estimated."""
        notes = list(super().notes())
        if self._line.estimated:
            notes.append(
                f"{self.identity.name}: tokens and price of {self._line.estimated} calls are estimates, since the "
                "server counted none or too few; if it cuts long prompts to its window, say how large that is with "
                "context="
            )
        return notes

    async def __aenter__(self) -> Self:
        """As any judge that asks a model; what was learned of the size of its window is forgotten."""
        await super().__aenter__()
        if self._line.entered == 1:
            self._fit.forget()
        return self

    async def consult(self, questions: Sequence[Question], desk: RunContext) -> list[Answer | Failure]:
        """The answers of one wave."""
        wave = CallRound(self._line, self._fit, desk)
        await wave.ask(questions)
        return [wave.answers[question] for question in questions]

    def expect(self, questions: Sequence[Question]) -> list[ExpectedCall]:
        """The calls that would ask these questions, if every reply were good; nothing is sent."""
        calls, splits = self._manner.calls(questions)
        wholes = {part: question for question, parted in splits.items() for part in parted.parts}
        return [self._expected(pack, wholes) for pack in calls]

    def _expected(self, pack: Pack, wholes: Mapping[Question, Question]) -> ExpectedCall:
        tokens = self._line.expected(pack, layout.prompt_of(pack, self._manner.style), self._manner.style)
        cost = self._line.price.of(tokens) if self._line.price else None
        questions = list(dict.fromkeys(wholes.get(question, question) for question in pack.questions))
        seconds = self.tempo.seconds(tokens.prompt, tokens.completion)
        return ExpectedCall(questions, tokens.prompt, tokens.completion, cost, seconds)
