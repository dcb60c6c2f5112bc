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
from ragauge.judges.windows import halves
from ragauge.questions import Question, kind
from ragauge.types import Answer, Failure, Identity

#: How often a typed question is asked before its answer counts as unusable.
MAX_ATTEMPTS = 3

TOO_LONG = "too_long"

#: Failures of a request that one of its questions may cause, and halves may avoid.
_DIVISIBLE = frozenset({TOO_LONG, "bad_request"})

_CANCELLED = Failure("cancelled")

RoundResult = dict[Question, Answer | Failure]


def expected_usage(client: ModelClient, body: str) -> TokenUsage:
    """The tokens that a request is expected to take; its reply takes none."""
    return TokenUsage(round(token_factor(client.transport.name) * estimate(body)))


class DecisionsRound:
    """The requests for the questions of one round, to a model that a server of `dialect` knows as `model`."""

    def __init__(self, client: ModelClient, dialect: Dialect, model: str, context: RunContext) -> None:
        self._client, self._dialect, self._model, self._context = client, dialect, model, context
        self._sheet = QuestionSheet()
        self._answers: dict[TypedQuestion, TypedAnswer | Failure] = {}
        self._originals: dict[Question, Question] = {}

    async def ask(self, questions: Sequence[Question]) -> RoundResult:
        """The answer to each question; those that the server finds too long are asked in parts."""
        asks, size = self._sheet.add(questions), self._dialect.max_questions
        packs = [asks[start : start + size] for start in range(0, len(asks), size)]
        await asyncio.gather(*(self._ask_pack(pack) for pack in packs))
        answers = {question: self._sheet.answer(question, self._answers) for question in questions}
        return answers | await self._ask_parts(
            [question for question, answer in answers.items() if is_too_long(answer)]
        )

    async def _ask_parts(self, questions: Iterable[Question]) -> RoundResult:
        """The answers to questions in halves; the first half of each is asked first, to see whether it fits."""
        splits = {question: split for question in questions if (split := halves(question))}
        if not splits:
            return {}
        for question, split in splits.items():
            self._originals.update(dict.fromkeys(split.parts, self._originals.get(question, question)))
        answers = await self.ask([split.parts[0] for split in splits.values()])
        fitting = [split for split in splits.values() if not isinstance(answers[split.parts[0]], Failure)]
        answers |= await self.ask([part for split in fitting for part in split.parts[1:]])
        return {question: split.answer(answers) for question, split in splits.items()}

    async def _ask_pack(self, asks: Sequence[TypedQuestion], attempts: int = MAX_ATTEMPTS) -> None:
        """Have each typed question answered or failed; unusable answers are asked again, refused requests halved."""
        failure = await self._request(asks)
        if failure is None:
            unusable = [ask for ask in asks if _is_unusable(self._answers[ask])]
            if unusable and attempts > 1:
                await self._ask_pack(unusable, attempts - 1)
        elif failure.reason in _DIVISIBLE and len(asks) > 1:
            middle = len(asks) // 2
            await asyncio.gather(self._ask_pack(asks[:middle], attempts), self._ask_pack(asks[middle:], attempts))
        else:
            self._answers.update(dict.fromkeys(asks, failure))

    async def _request(self, asks: Sequence[TypedQuestion]) -> Failure | None:
        """Make one request, if it may be paid for, keep its answers and record it; why there is no reply."""
        client, context = self._client, self._context
        body = decisions_request(self._dialect, self._model, self._sheet.sources, asks)
        expected = expected_usage(client, body)
        reserved = client.price.of(expected) if client.price else 0.0
        if client.ended is not None or not await context.reserve(reserved):
            return client.ended or NO_MONEY
        outcome: Completion | Failure = _CANCELLED
        sent, start = True, perf_counter()
        try:
            outcome = await client.send(Prompt("", body, {}))
            self._answers.update(zip(asks, read_answers(outcome.text, asks), strict=True))
        except CallFailed as failed:
            outcome, sent = failed.failure, failed.sent
        finally:
            if sent:
                self._record(outcome, expected, asks, perf_counter() - start, reserved)
            else:
                context.release(reserved)
        return outcome if isinstance(outcome, Failure) else None

    def _record(
        self,
        outcome: Completion | Failure,
        estimate: TokenUsage,
        asks: Sequence[TypedQuestion],
        seconds: float,
        reserved: float,
    ) -> None:
        """Record a request, with the questions whose answer it completed."""
        questions = self._sheet.questions_of(asks)
        answered = [one for one in questions if not isinstance(self._sheet.answer(one, self._answers), Failure)]
        results = [outcome] if isinstance(outcome, Failure) else [self._answers[ask] for ask in asks]
        fault = next((str(one) for one in results if isinstance(one, Failure)), "")
        call = self._client.call_record(outcome, estimate, len(questions), seconds, fault)
        self._context.record(call, [self._originals.get(one, one) for one in answered], reserved)


def is_too_long(answer: Answer | Failure) -> bool:
    """Whether a question has no answer because the server finds it too long."""
    return isinstance(answer, Failure) and answer.reason == TOO_LONG


def _is_unusable(answer: TypedAnswer | Failure) -> bool:
    return isinstance(answer, Failure) and answer.reason != "refused"


class DecisionsJudge(ModelJudge):
    """A judge whose answers are the probabilities of a decisions endpoint; it cannot decompose texts.

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

    async def consult(self, questions: Sequence[Question], context: RunContext) -> list[Answer | Failure]:
        """Answers with probabilities, in as few requests as the protocol allows."""
        answers = await DecisionsRound(self._client, self._dialect, self._model, context).ask(questions)
        return [_with_fix(question, answers[question]) for question in questions]

    def expect(self, questions: Sequence[Question]) -> list[ExpectedCall]:
        """The requests that would ask these questions, if every reply were good; nothing is sent."""
        sheet = QuestionSheet()
        asks, size = sheet.add(questions), self._dialect.max_questions
        return [self._expected_call(sheet, asks[start : start + size]) for start in range(0, len(asks), size)]

    def _expected_call(self, sheet: QuestionSheet, asks: Sequence[TypedQuestion]) -> ExpectedCall:
        tokens = expected_usage(self._client, decisions_request(self._dialect, self._model, sheet.sources, asks))
        cost = self.price.of(tokens) if self.price else None
        seconds = CallTempo().seconds(tokens.prompt, tokens.completion)
        return ExpectedCall(sheet.questions_of(asks), tokens.prompt, tokens.completion, cost, seconds)


def _with_fix(question: Question, answer: Answer | Failure) -> Answer | Failure:
    """The answer; a failure for length says how to fix it."""
    if not (isinstance(answer, Failure) and is_too_long(answer)):
        return answer
    return msgspec.structs.replace(
        answer, detail=f"{answer.detail}; {decisions_protocol.TOO_LONG_MESSAGE.format(kind(question))}"
    )


#: The options that apply to an endpoint that writes no text.
_SUPPORTED = frozenset({"base_url", "concurrency", "rpm", "tpm", "timeout", "max_reply_bytes", "price"})


def decisions_judge(spec: str, *, dialect: str | None = None, **options: object) -> DecisionsJudge:
    """The judge that asks a model's decisions endpoint, such as "openai/gpt-6-luna" or "vllm/MODEL?base_url=URL".

    dialect: "decisions" or "systemone", also as an option behind the spec; without it "decisions" for OpenAI and
    "systemone" for all others. options: base_url, concurrency, rpm, tpm, timeout and price, as for any LLM judge.

    Raises UnknownName for a provider, option or dialect that there is not, BadParameter for a value that cannot be.
    """
    spec, own_dialect = _split(spec)
    provider, model, chosen = parse_llm_spec(spec, **options)
    name = dialect or own_dialect or ("decisions" if provider.name == "openai" else "systemone")
    if name not in DIALECTS:
        raise UnknownName("dialect", name, DIALECTS)
    for option in LLMOptions.__struct_fields__:
        if option not in _SUPPORTED and getattr(chosen, option) != getattr(_DEFAULTS, option):
            raise BadParameter(f"{option}: a decisions endpoint takes none; leave it out")
    transport = DecisionsTransport(provider, model, chosen, DIALECTS[name].path)
    return DecisionsJudge(transport, DIALECTS[name], model, price_of(transport.name, chosen.price))


_DEFAULTS = LLMOptions()


def _split(spec: str) -> tuple[str, str | None]:
    """A spec without its dialect, and the dialect."""
    name, _, tail = spec.partition("?")
    pairs = tail.split("&")
    dialects = [pair.removeprefix("dialect=") for pair in pairs if pair.startswith("dialect=")]
    rest = "&".join(pair for pair in pairs if not pair.startswith("dialect="))
    return f"{name}?{rest}" if rest else name, dialects[-1] if dialects else None
