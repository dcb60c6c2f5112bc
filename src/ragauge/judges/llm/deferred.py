"""The deferring judge: what an LLM judge would ask is written down as requests, to be answered in a batch.

It stands under the identity of that judge, so that answers from a batch and live ones are the same to a store.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from ragauge.judges.base import NullContext, RunContext, checked
from ragauge.judges.llm import layout, pricing, replies
from ragauge.judges.llm.judge import LLMJudge, unanswered
from ragauge.judges.llm.messages import Completion, Prompt, TokenUsage
from ragauge.judges.llm.packing import Pack, PackingPolicy, PackLimits, pack_limits
from ragauge.judges.llm.pricing import Price, batch_factor, price_of
from ragauge.judges.llm.prompts import PromptStyle
from ragauge.judges.llm.providers import LLMSpec
from ragauge.judges.llm.transport.batches import batch_body
from ragauge.judges.llm.transport.protocols import ServerFeatures, without_reasoning
from ragauge.judges.windows import SplitQuestion, halves, split
from ragauge.questions import Question, judgment_key
from ragauge.types import Answer, Failure, Identity

#: What a question is answered while its answer is still to come.
PENDING = Failure("pending", "its answer is still to come from a batch")

#: How often a question is asked before it is given up.
ROUNDS = 3

#: What can be no better when the same is asked again, alone as it was.
_FINAL = frozenset({"too_long", "content_filter", "refused"})

#: What a question is asked again for with what was wrong, where it stood alone.
_QUOTED = frozenset({"invalid_answer", "truncated"})


class QuestionStatus(msgspec.Struct, frozen=True):
    """How a question stands that was asked in a batch.

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
        return not self.waiting and (final or self.tries >= ROUNDS)


class DeferredRequest(NamedTuple):
    """A request to be made. id: what it is known by in the batch, a hash of it. expected: the tokens it will take."""

    id: str
    body: bytes
    questions: tuple[Question, ...]
    expected: TokenUsage


class RequestBook(Protocol):
    """Where a deferring judge writes its requests, and looks up what became of earlier ones."""

    def standing(self, key: str) -> QuestionStatus | None:
        """How the question stands whose judgment has this key; None where it was not asked yet."""

    def form(self, judge: Identity) -> ServerFeatures:
        """The form of requests that the judge's server is known to understand."""

    def enter(self, judge: Identity, request: DeferredRequest) -> None:
        """Add a request; its questions are waiting from then on."""


class DeferredJudge:
    """Answers no question: each is written into a request, and is PENDING until the result is in the store.

    identity: of the LLM judge in whose place it stands. asked: the model. A question that came back without an answer
    is asked again in a smaller call, then alone, and then is given up with the failure of its last reply.
    """

    answers = LLMJudge.answers
    by_sample = 32

    def __init__(self, identity: Identity, asked: LLMSpec, book: RequestBook) -> None:
        self.identity = identity
        self._asked = asked
        self._book = book
        self._manner = policy_of(asked)
        self._thought = without_reasoning(asked.model, asked.options.reasoning_effort)

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """PENDING for each question, or the failure with which it was given up."""
        return await self.consult(questions, NullContext())

    async def consult(self, questions: Sequence[Question], desk: RunContext) -> list[Answer | Failure]:
        """As `answer`. What is too long for a call is asked in parts, which the desk knows once they are answered."""
        splits = {question: parted for question in questions if (parted := self._split(question))}
        parts = list(dict.fromkeys(part for parted in splits.values() for part in parted.parts))
        said = dict(zip(parts, await desk.ask(self, parts), strict=True)) if parts else {}
        self._write([question for question in questions if question not in splits])
        return [
            _merged(splits[question], said) if question in splits else self._failure(question) for question in questions
        ]

    def _split(self, question: Question) -> SplitQuestion | None:
        """The parts of a question that is too long for a call, or that the server found too long by itself."""
        if parted := split(question, self._manner.room.limit(question)):
            return parted
        standing = self._standing(question)
        if standing is None or not standing.alone or standing.failure is None or standing.failure.reason != "too_long":
            return None
        return halves(question)

    def _standing(self, question: Question) -> QuestionStatus | None:
        return self._book.standing(judgment_key(question, self.identity))

    def _failure(self, question: Question) -> Failure:
        standing = self._standing(question)
        return standing.failure or PENDING if standing and standing.given_up else PENDING

    def _write(self, questions: Iterable[Question]) -> None:
        """Put into requests what is neither waiting nor given up; what was asked as often goes together."""
        rounds: dict[int, list[Question]] = {}
        for question in questions:
            standing = self._standing(question)
            if standing is None or not (standing.waiting or standing.given_up):
                rounds.setdefault(standing.tries if standing else 0, []).append(question)
        for tries, group in rounds.items():
            for pack in _narrower(self._manner, tries).packs(group):
                self._book.enter(self.identity, self._request(pack, tries))

    def _request(self, pack: Pack, tries: int) -> DeferredRequest:
        prompt, style = self._prompt(pack), self._manner.style
        said = batch_body(self._asked, prompt, self._book.form(self.identity))
        stated = msgspec.json.encode((self.identity, tries, pack.questions))
        id = hashlib.sha256(stated + said).hexdigest()[:32]
        expected = TokenUsage(pricing.prompt_tokens(prompt), pricing.completion_tokens(pack, style) + self._thought)
        return DeferredRequest(id, said, pack.questions, expected)

    def _prompt(self, pack: Pack) -> Prompt:
        """The prompt of a pack; a question that failed alone is told what was wrong."""
        prompt = layout.prompt_of(pack, self._manner.style)
        standing = self._standing(pack.questions[0]) if len(pack.questions) == 1 else None
        failure = standing.failure if standing and standing.alone else None
        if failure is None or failure.reason not in _QUOTED:
            return prompt
        return layout.repeat_prompt(prompt, failure.raw or "", {0: failure.detail})


def policy_of(asked: LLMSpec) -> PackingPolicy:
    """The manner in which the judge of a spec asks."""
    options = asked.options
    return PackingPolicy(
        pack_limits(options.context), options.pack == "alone", PromptStyle(options.rationales, options.quotes)
    )


def batch_price(asked: LLMSpec) -> Price | None:
    """The price of a model's tokens in a batch; None where it, or what a batch costs, is not known."""
    name = f"{asked.provider.name}/{asked.model}"
    price = price_of(name, asked.options.price)
    factor = 1.0 if asked.provider.local else batch_factor(name)
    return None if price is None or factor is None else price.times(factor)


def read_deferred_reply(
    questions: Sequence[Question], completion: Completion, style: PromptStyle
) -> tuple[dict[Question, Answer], dict[Question, Failure]]:
    """What a reply answers, and why the other questions of its request have no answer."""
    reading = replies.parse_reply(Pack(tuple(questions)), completion.text, style)
    answers: dict[Question, Answer] = {}
    failures = {questions[at]: unanswered(completion, fault) for at, fault in reading.faults.items()}
    for at, answer in reading.answers.items():
        said = checked(questions[at], answer)
        if isinstance(said, Failure):
            failures[questions[at]] = said
        else:
            answers[questions[at]] = said
    return answers, failures


def _narrower(manner: PackingPolicy, tries: int) -> PackingPolicy:
    """The manner for questions that were asked so often: as ever, a quarter as much in a call, one question a call."""
    whole = manner.room
    quarter = PackLimits(whole.prompt_chars, max(1, whole.verdicts // 4), whole.decompose_chars // 4)
    return msgspec.structs.replace(manner, room=quarter if tries == 1 else whole, alone=manner.alone or tries > 1)


def _merged(parted: SplitQuestion, said: Mapping[Question, Answer | Failure]) -> Answer | Failure:
    """The answer to a whole; a part that was given up counts, whatever others are still waited for."""
    failures = (one for part in parted.parts if isinstance(one := said[part], Failure))
    lost = next((failure for failure in failures if failure != PENDING), None)
    return lost or parted.answer(said)
