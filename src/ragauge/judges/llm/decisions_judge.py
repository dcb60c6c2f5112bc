"""The judge that puts typed questions to a decisions endpoint, which answers with probabilities and no text."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from time import perf_counter

import msgspec

from ragauge.errors import BadParameter, UnknownName
from ragauge.judges.base import NO_MONEY, ExpectedCall, RunContext
from ragauge.judges.llm import decisions_protocol
from ragauge.judges.llm.client import ModelClient
from ragauge.judges.llm.decisions_protocol import (
    DIALECTS,
    DecisionsTransport,
    Dialect,
    QuestionSheet,
    TypedAnswer,
    TypedQuestion,
    decisions_request,
    digest,
    read_answers,
)
from ragauge.judges.llm.judge import ModelJudge
from ragauge.judges.llm.messages import CallFailed, CallTempo, Completion, Prompt, TokenUsage, Transport
from ragauge.judges.llm.pricing import Price, estimate, price_of, token_factor
from ragauge.judges.llm.providers import LLMOptions, parse_llm_spec
from ragauge.judges.llm.transport.client import HttpTransport
from ragauge.judges.windows import halves
from ragauge.questions import Question, kind
from ragauge.types import Answer, Failure, Identity

#: How often an ask is put to the model before its answer counts as unusable.
TRIES = 3

TOO_LONG = "too_long"

#: What is wrong with a request may be wrong with one ask of it, and halves are shorter.
_DIVISIBLE = frozenset({TOO_LONG, "bad_request"})

_CANCELLED = Failure("cancelled")

RoundResult = dict[Question, Answer | Failure]


def usage_of(line: ModelClient, body: str) -> TokenUsage:
    """The tokens that a request is expected to take; its reply takes none."""
    return TokenUsage(round(token_factor(line.transport.name) * estimate(body)))


class DecisionsRound:
    """One consultation with a model that a server of `dialect` knows as `model`."""

    def __init__(self, line: ModelClient, dialect: Dialect, model: str, desk: RunContext) -> None:
        self._line, self._dialect, self._model, self._desk = line, dialect, model, desk
        self._sheet = QuestionSheet()
        self._said: dict[TypedQuestion, TypedAnswer | Failure] = {}
        self._wholes: dict[Question, Question] = {}

    async def ask(self, questions: Sequence[Question]) -> RoundResult:
        """What each question is answered; those that the server finds too long are asked in parts."""
        asks, most = self._sheet.take(questions), self._dialect.most
        packs = [asks[start : start + most] for start in range(0, len(asks), most)]
        await asyncio.gather(*(self._put(pack) for pack in packs))
        heard = {question: self._sheet.answer(question, self._said) for question in questions}
        return heard | await self._in_parts([question for question, answer in heard.items() if is_too_long(answer)])

    async def _in_parts(self, questions: Iterable[Question]) -> RoundResult:
        """What questions are answered by halves; the first half of each is asked first, to see whether it fits."""
        splits = {question: parted for question in questions if (parted := halves(question))}
        if not splits:
            return {}
        for question, parted in splits.items():
            self._wholes.update(dict.fromkeys(parted.parts, self._wholes.get(question, question)))
        heard = await self.ask([parted.parts[0] for parted in splits.values()])
        fitting = [parted for parted in splits.values() if not isinstance(heard[parted.parts[0]], Failure)]
        heard |= await self.ask([part for parted in fitting for part in parted.parts[1:]])
        return {question: parted.answer(heard) for question, parted in splits.items()}

    async def _put(self, asks: Sequence[TypedQuestion], tries: int = TRIES) -> None:
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

    async def _request(self, asks: Sequence[TypedQuestion]) -> Failure | None:
        """Make one request, if it may be paid for, keep what it says and record it; why there is no reply."""
        line, desk = self._line, self._desk
        body = decisions_request(self._dialect, self._model, self._sheet.sources, asks)
        expected = usage_of(line, body)
        reserved = line.price.of(expected) if line.price else 0.0
        if line.ended is not None or not await desk.reserve(reserved):
            return line.ended or NO_MONEY
        outcome: Completion | Failure = _CANCELLED
        sent, start = True, perf_counter()
        try:
            outcome = await line.send(Prompt("", body, {}))
            self._said.update(zip(asks, read_answers(outcome.text, asks), strict=True))
        except CallFailed as failed:
            outcome, sent = failed.failure, failed.sent
        finally:
            if sent:
                self._record(outcome, expected, asks, perf_counter() - start, reserved)
            else:
                desk.release(reserved)
        return outcome if isinstance(outcome, Failure) else None

    def _record(
        self,
        outcome: Completion | Failure,
        estimate: TokenUsage,
        asks: Sequence[TypedQuestion],
        seconds: float,
        reserved: float,
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


def _is_unusable(said: TypedAnswer | Failure) -> bool:
    return isinstance(said, Failure) and said.reason != "refused"


class DecisionsJudge(ModelJudge):
    """A judge whose answers are the probabilities of a decisions endpoint; it cannot take texts apart.

    transport: to the endpoint, as `DecisionsTransport`. dialect: the protocol that the server speaks. model: as the
    server knows it. price: for what requests cost; None where it is not known.
    """

    answers = frozenset({"entail", "relevant", "classify", "rate"})
    by_sample = 256

    def __init__(self, transport: Transport, dialect: Dialect, model: str, price: Price | None = None) -> None:
        super().__init__(transport, price)
        self._dialect, self._model = dialect, model
        settings = (("dialect", dialect.name), ("wording", digest(dialect)), *transport.settings)
        self.identity = Identity(f"decisions:{transport.name}", settings)

    async def consult(self, questions: Sequence[Question], desk: RunContext) -> list[Answer | Failure]:
        """Answers with probabilities, in as few requests as the protocol allows."""
        heard = await DecisionsRound(self._line, self._dialect, self._model, desk).ask(questions)
        return [_mended(question, heard[question]) for question in questions]

    def expect(self, questions: Sequence[Question]) -> list[ExpectedCall]:
        """The requests that would ask these questions, if every reply were good; nothing is sent."""
        sheet = QuestionSheet()
        asks, most = sheet.take(questions), self._dialect.most
        return [self._expected(sheet, asks[start : start + most]) for start in range(0, len(asks), most)]

    def _expected(self, sheet: QuestionSheet, asks: Sequence[TypedQuestion]) -> ExpectedCall:
        tokens = usage_of(self._line, decisions_request(self._dialect, self._model, sheet.sources, asks))
        cost = self.price.of(tokens) if self.price else None
        seconds = CallTempo().seconds(tokens.prompt, tokens.completion)
        return ExpectedCall(sheet.askers(asks), tokens.prompt, tokens.completion, cost, seconds)


def _mended(question: Question, answer: Answer | Failure) -> Answer | Failure:
    """The answer; where it is a failure for length, that says how to mend it."""
    if not (isinstance(answer, Failure) and is_too_long(answer)):
        return answer
    return msgspec.structs.replace(
        answer, detail=f"{answer.detail}; {decisions_protocol.TOO_LONG_MESSAGE.format(kind(question))}"
    )


#: The options that mean something to an endpoint that writes no text.
_TAKEN = frozenset({"base_url", "concurrency", "rpm", "tpm", "timeout", "max_reply_bytes", "price"})


def decisions_judge(spec: str, *, dialect: str | None = None, **options: object) -> DecisionsJudge:
    """The judge that asks a model's decisions endpoint, such as "openai/gpt-6-luna" or "vllm/MODEL?base_url=URL".

    dialect: "decisions" or "systemone", also as an option behind the spec; without it "decisions" for OpenAI and
    "systemone" for all others. options: base_url, concurrency, rpm, tpm, timeout and price, as for any LLM judge.

    Raises UnknownName for a provider, option or dialect that there is not, BadParameter for a value that cannot be.
    """
    spec, said = _split(spec)
    provider, model, chosen = parse_llm_spec(spec, **options)
    name = dialect or said or ("decisions" if provider.name == "openai" else "systemone")
    if name not in DIALECTS:
        raise UnknownName("dialect", name, DIALECTS)
    for option in LLMOptions.__struct_fields__:
        if option not in _TAKEN and getattr(chosen, option) != getattr(_PLAIN, option):
            raise BadParameter(f"{option}: a decisions endpoint takes none; leave it out")
    transport = DecisionsTransport(HttpTransport(provider, model, chosen), DIALECTS[name].path)
    return DecisionsJudge(transport, DIALECTS[name], model, price_of(transport.name, chosen.price))


_PLAIN = LLMOptions()


def _split(spec: str) -> tuple[str, str | None]:
    """A spec without its dialect, and the dialect."""
    name, _, tail = spec.partition("?")
    pairs = tail.split("&")
    said = [pair.removeprefix("dialect=") for pair in pairs if pair.startswith("dialect=")]
    rest = "&".join(pair for pair in pairs if not pair.startswith("dialect="))
    return f"{name}?{rest}" if rest else name, said[-1] if said else None
