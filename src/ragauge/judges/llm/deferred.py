"""The deferring judge: the prompts that an LLM judge would send are written as requests, to be answered in a batch.

It has the identity of that judge, so that a store treats answers from a batch and live ones alike.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from ragauge.judges.base import NullContext, RunContext, checked
from ragauge.judges.llm import pricing, prompts, replies
from ragauge.judges.llm.judge import LLMJudge, PackingPolicy, prompt_style, unanswered
from ragauge.judges.llm.messages import Completion, Prompt, TokenUsage
from ragauge.judges.llm.packing import Pack, PackLimits, PromptStyle, pack_limits
from ragauge.judges.llm.pricing import Price, batch_factor, price_of
from ragauge.judges.llm.providers import LLMSpec
from ragauge.judges.llm.transport.batches import batch_body
from ragauge.judges.llm.transport.protocols import ServerFeatures, reasoning_tokens
from ragauge.judges.windows import SplitQuestion, halves, split
from ragauge.questions import Question, judgment_key
from ragauge.types import Answer, Failure, Identity

#: The answer to a question while its batch is not done.
PENDING = Failure("pending", "its answer is still to come from a batch")

#: How often a question is asked before it is given up.
MAX_ROUNDS = 3

#: Failures that are final where a question was asked alone.
_FINAL = frozenset({"too_long", "content_filter", "refused"})

#: Failures that are quoted where a question was asked alone and is asked again.
_QUOTED = frozenset({"invalid_answer", "truncated"})


class QuestionStatus(msgspec.Struct, frozen=True):
    """The status of a question that was asked in a batch.

    waiting: no result has come yet. tries: how many replies did not answer it. failure: why the last did not. alone:
    whether that reply was to this question alone.
    """

    waiting: bool
    tries: int = 0
    failure: Failure | None = None
    alone: bool = False

    @property
    def given_up(self) -> bool:
        """Whether it is not worth asking again as it is."""
        final = self.alone and self.failure is not None and self.failure.reason in _FINAL
        return not self.waiting and (final or self.tries >= MAX_ROUNDS)


class DeferredRequest(NamedTuple):
    """A request to be made. id: its name in the batch, a hash of it. expected: the tokens it will take."""

    id: str
    body: bytes
    questions: tuple[Question, ...]
    expected: TokenUsage


class RequestBook(Protocol):
    """Where a deferring judge writes its requests, and looks up the status of earlier ones."""

    def status(self, key: str) -> QuestionStatus | None:
        """The status of the question whose judgment has this key; None where it was not asked yet."""

    def features(self, judge: Identity) -> ServerFeatures:
        """The features that the judge's server is known to support."""

    def add(self, judge: Identity, request: DeferredRequest) -> None:
        """Add a request; its questions are waiting from then on."""


class DeferredJudge:
    """Answers no question: each is written into a request, and is PENDING until the result is in the store.

    A question that came back without an answer is asked again in a smaller call, then alone, and then is given up with
    the failure of its last reply.

    identity: of the LLM judge that it stands in for. spec: the model and its options.
    """

    answers = LLMJudge.answers
    by_sample = 32

    def __init__(self, identity: Identity, spec: LLMSpec, book: RequestBook) -> None:
        self.identity = identity
        self._spec = spec
        self._book = book
        self._policy = policy_of(spec)
        self._reasoning = reasoning_tokens(spec.model, spec.options.reasoning_effort)

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """PENDING for each question, or the failure with which it was given up."""
        return await self.consult(questions, NullContext())

    async def consult(self, questions: Sequence[Question], context: RunContext) -> list[Answer | Failure]:
        """As `answer`. What is too long for a call is asked in parts, whose answers the context knows later."""
        splits = {question: found for question in questions if (found := self._split(question))}
        parts = list(dict.fromkeys(part for found in splits.values() for part in found.parts))
        answers = dict(zip(parts, await context.ask(self, parts), strict=True)) if parts else {}
        self._write([question for question in questions if question not in splits])
        return [
            _merged(splits[question], answers) if question in splits else self._failure(question)
            for question in questions
        ]

    def _split(self, question: Question) -> SplitQuestion | None:
        """The parts of a question that is too long for a call, or that the server found too long by itself."""
        if found := split(question, self._policy.limits.limit(question)):
            return found
        status = self._status(question)
        if status is None or not status.alone or status.failure is None or status.failure.reason != "too_long":
            return None
        return halves(question)

    def _status(self, question: Question) -> QuestionStatus | None:
        return self._book.status(judgment_key(question, self.identity))

    def _failure(self, question: Question) -> Failure:
        status = self._status(question)
        return status.failure or PENDING if status and status.given_up else PENDING

    def _write(self, questions: Iterable[Question]) -> None:
        """Write requests for what is neither waiting nor given up; questions asked equally often share requests."""
        by_tries: dict[int, list[Question]] = {}
        for question in questions:
            status = self._status(question)
            if status is None or not (status.waiting or status.given_up):
                by_tries.setdefault(status.tries if status else 0, []).append(question)
        for tries, group in by_tries.items():
            for pack in _smaller(self._policy, tries).packs(group):
                self._book.add(self.identity, self._request(pack, tries))

    def _request(self, pack: Pack, tries: int) -> DeferredRequest:
        prompt, style = self._prompt(pack), self._policy.style
        body = batch_body(self._spec, prompt, self._book.features(self.identity))
        prefix = msgspec.json.encode((self.identity, tries, pack.questions))
        id = hashlib.sha256(prefix + body).hexdigest()[:32]
        expected = TokenUsage(pricing.prompt_tokens(prompt), pricing.completion_tokens(pack, style) + self._reasoning)
        return DeferredRequest(id, body, pack.questions, expected)

    def _prompt(self, pack: Pack) -> Prompt:
        """The prompt of a pack; for a question that failed alone it quotes what was wrong."""
        prompt = prompts.prompt_of(pack, self._policy.style)
        status = self._status(pack.questions[0]) if len(pack.questions) == 1 else None
        failure = status.failure if status and status.alone else None
        if failure is None or failure.reason not in _QUOTED:
            return prompt
        return prompts.repeat_prompt(prompt, failure.raw or "", {0: failure.detail})


def policy_of(spec: LLMSpec) -> PackingPolicy:
    """The packing policy of the judge of a spec."""
    options = spec.options
    return PackingPolicy(pack_limits(options.context), options.pack == "alone", prompt_style(options))


def batch_price(spec: LLMSpec) -> Price | None:
    """The price of a model's tokens in a batch; None where it, or what a batch costs, is not known."""
    name = f"{spec.provider.name}/{spec.model}"
    price = price_of(name, spec.options.price)
    factor = 1.0 if spec.provider.local else batch_factor(name)
    return None if price is None or factor is None else price.times(factor)


def read_deferred_reply(
    questions: Sequence[Question], completion: Completion, style: PromptStyle
) -> tuple[dict[Question, Answer], dict[Question, Failure]]:
    """The answers in a reply, and why the other questions of its request have none."""
    reply = replies.parse_reply(Pack(tuple(questions), style.shuffle), completion.text, style)
    answers: dict[Question, Answer] = {}
    failures = {questions[position]: unanswered(completion, fault) for position, fault in reply.faults.items()}
    for position, found in reply.answers.items():
        answer = checked(questions[position], found)
        if isinstance(answer, Failure):
            failures[questions[position]] = answer
        else:
            answers[questions[position]] = answer
    return answers, failures


def _smaller(policy: PackingPolicy, tries: int) -> PackingPolicy:
    """The policy by the number of tries: unchanged, a quarter as much in a call, one question a call."""
    full = policy.limits
    quarter = PackLimits(full.prompt_chars, max(1, full.verdicts // 4), full.decompose_chars // 4)
    return msgspec.structs.replace(policy, limits=quarter if tries == 1 else full, alone=policy.alone or tries > 1)


def _merged(split: SplitQuestion, answers: Mapping[Question, Answer | Failure]) -> Answer | Failure:
    """The answer to a whole; a part that was given up decides, whatever others are still waited for."""
    failures = (answer for part in split.parts if isinstance(answer := answers[part], Failure))
    given_up = next((failure for failure in failures if failure != PENDING), None)
    return given_up or split.answer(answers)
