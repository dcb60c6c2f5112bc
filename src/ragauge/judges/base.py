"""What a judge is, which judge answers which kind of question, and what a run offers to judges."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, Self, runtime_checkable

import msgspec

from ragauge.errors import BadParameter, UnknownName, UsageError
from ragauge.needs.base import answerable
from ragauge.questions import KINDS, Entail, Judgment, Question, invalid_reason, topic
from ragauge.types import Answer, Call, Failure, Identity, Verdict


@runtime_checkable
class Judge(Protocol):
    """Answers questions.

    identity: everything that can change an answer; judgments are stored under it.
    answers: topics it can honestly answer: a kind ("decompose", "entail", "relevant", "classify", "rate") or part of
    one ("entail:support" for a judge that tells support from its absence but not contradiction from neutrality,
    "classify:toxic", "rate:coherence").

    A judge may also have `batch`, how many questions it is best given at once: what it is given at once is kept at
    once, so that is what a killed run asks again. Or `by_sample`, of how many samples it is given questions side by
    side, each sample's together; such a judge limits by itself how much it does at once.
    It may be an asynchronous context manager, entered before a run's first question and left after the last. What else
    it may do, `ragauge.judges.base` says.
    """

    @property
    def identity(self) -> Identity:
        """Everything that can change an answer."""

    @property
    def answers(self) -> frozenset[str]:
        """The topics it can honestly answer."""

    async def answer(self, questions: Sequence[Question]) -> Sequence[Answer | Failure]:
        """One answer, or a Failure that says why there is none, for each question, in order. Does not raise."""


#: How many questions a judge is given at once unless it says otherwise.
DEFAULT_BATCH = 32


def can_answer(judge: Judge, question: Question) -> bool:
    """Whether a judge answers a question, be it two-way."""
    own = judge.answers
    return answerable(topic(question), own) or (isinstance(question, Entail) and "entail:support" in own)


def checked(question: Question, answer: Answer | Failure) -> Answer | Failure:
    """The answer if it fits the question, otherwise a Failure that says what is wrong with it.

    A judge owes a label for each chunk, which a person need not give.
    """
    if isinstance(answer, Failure):
        return answer
    fault = invalid_reason(question, answer) or _missing_chunks(question, answer)
    return Failure("invalid_answer", fault, raw=repr(answer)[:2000]) if fault else answer


def _missing_chunks(question: Question, answer: Answer) -> str | None:
    if isinstance(question, Entail) and isinstance(answer, Verdict) and len(question.premise) > 1 and not answer.chunks:
        return f"no labels for {len(question.premise)} chunks"
    return None


JudgeAnswers = Sequence[Answer | Failure]

#: Why a question has no answer when the money is spent. Nobody else is asked either: the run stops there.
NO_MONEY = Failure("max_cost", "no more may be spent; raise max_cost and run again, what is answered is kept")


class RunContext(Protocol):
    """At a run's desk answers of other judges are kept and reused, calls are recorded, and the money is counted."""

    async def ask(self, judge: Judge, questions: Sequence[Question]) -> JudgeAnswers:
        """What another judge answers, each question asked at most once and kept under that judge's identity."""

    async def reserve(self, dollars: float) -> bool:
        """Set money aside for a call; False where it would go beyond what may be spent, and the call is not to be made.

        Waits as long as money set aside for calls under way may yet come free. Every reservation is ended by `record`,
        or by `release` where the call was not made after all.
        """

    def release(self, reserved: float) -> None:
        """A call was not made."""

    def record(self, call: Call, questions: Sequence[Question], reserved: float) -> None:
        """A call has ended, with a usable reply to `questions` (none where it failed)."""


class ContextJudge(ABC):
    """A judge that makes use of a desk; whoever consults it has entered it. `answer` is for those who have no desk."""

    @abstractmethod
    async def __aenter__(self) -> Self:
        """Open what it needs. Raises UsageError where something is missing, such as a key."""

    @abstractmethod
    async def __aexit__(self, *exc: object) -> None:
        """Close it."""

    @abstractmethod
    async def consult(self, questions: Sequence[Question], desk: RunContext) -> JudgeAnswers:
        """As `answer`, inside of a run."""

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """An answer to each question, or a Failure that says why there is none. Does not raise."""
        try:
            async with self:
                return list(await self.consult(questions, NullContext()))
        except UsageError as error:
            return [Failure("judge_error", str(error))] * len(questions)


@runtime_checkable
class ForecastingJudge(Protocol):
    """A judge that can say beforehand what its calls will be."""

    def expect(self, questions: Sequence[Question]) -> Sequence[ExpectedCall]:
        """The calls that `questions`, the wave of one sample, would take."""


def notes_of(judge: Judge) -> Sequence[str]:
    """What a judge has to say of how it worked, for those who read the run: its `notes()`, where it has that."""
    notes = getattr(judge, "notes", None)
    return notes() if notes else ()


class ExpectedCall:
    """A call that would be made.

    questions: what it asks. cost: its price, None where that is not known. seconds: by how much it lengthens a run.
    """

    __slots__ = ("completion_tokens", "cost", "prompt_tokens", "questions", "seconds")

    def __init__(
        self,
        questions: Sequence[Question],
        prompt_tokens: float,
        completion_tokens: float,
        cost: float | None,
        seconds: float = 0.0,
    ) -> None:
        self.questions = questions
        self.prompt_tokens = prompt_tokens
        self.completion_tokens = completion_tokens
        self.cost = cost
        self.seconds = seconds


async def ask_in_context(judge: Judge, questions: Sequence[Question], desk: RunContext) -> JudgeAnswers:
    """The judge's answers; it is given the desk where it can use one."""
    consult = getattr(judge, "consult", None)
    return await (consult(questions, desk) if consult else judge.answer(questions))


class NullContext:
    """For judges asked outside of a run: nothing is kept, counted or limited."""

    async def ask(self, judge: Judge, questions: Sequence[Question]) -> JudgeAnswers:
        """Ask the judge itself."""
        return await ask_in_context(judge, questions, self)

    async def reserve(self, dollars: float) -> bool:
        """Anything may be spent."""
        return True

    def release(self, reserved: float) -> None:
        """Nothing was set aside."""

    def record(self, call: Call, questions: Sequence[Question], reserved: float) -> None:
        """Nothing is kept."""


class LookupJudge:
    """Has the identity of a judge, so that its judgments are found in a store, and answers nothing new."""

    answers = frozenset(KINDS)

    def __init__(self, identity: Identity) -> None:
        self.identity = identity

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """A failure for each question."""
        return [Failure("not_stored", f"the store holds no answer of {self.identity} to this question")] * len(
            questions
        )


class RecordingJudge:
    """Answers from recorded judgments; a question that is not among them is a Failure.

    Where a question was recorded more than once, the last answer counts.
    """

    def __init__(self, judgments: Iterable[Judgment]) -> None:
        recorded = {judgment.question: judgment for judgment in judgments}
        self._answers = {question: judgment.answer for question, judgment in recorded.items()}
        self.answers = frozenset(map(_topic, recorded.values()))
        content = b"\n".join(sorted(map(msgspec.json.encode, recorded.values())))
        names = sorted({judgment.judge.name for judgment in recorded.values()})
        sha256 = hashlib.sha256(content).hexdigest()[:16]
        self.identity = Identity("recording", (("of", ", ".join(names)), ("sha256", sha256)))

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """Look each question up."""
        missing = Failure("not_recorded", "the recording does not hold this question")
        return [self._answers.get(question, missing) for question in questions]


def _topic(judgment: Judgment) -> str:
    """What a recorded answer shows the recording to answer; a two-way verdict tells support, not contradiction."""
    two_way = isinstance(judgment.answer, Verdict) and judgment.answer.two_way
    return "entail:support" if two_way else topic(judgment.question)


#: The kinds of which one topic can go to a judge of its own.
NARROWED = ("classify", "rate")


class JudgeRouter:
    """One judge for everything, or several that share the work by kind.

    Keys of `by_kind` are kinds, or topics such as "classify:toxic", which go before their kind. "*" is everything
    that no other key names.
    """

    def __init__(self, by_kind: Mapping[str, Judge]) -> None:
        for key in by_kind:
            kind, narrowed, _ = key.partition(":")
            if kind not in (NARROWED if narrowed else (*KINDS, "*")):
                raise UnknownName("kind of question", key, [*KINDS, "*"])
        if not by_kind:
            raise BadParameter("a judge by kind needs at least one kind, such as {'entail': ...}")
        self._by_kind = dict(by_kind)
        self._by_topic: dict[str, Judge | None] = {}

    def can(self, topic: str) -> bool:
        """Whether somebody answers `topic`, such as "decompose", "entail:contradiction" or "rate:coherence"."""
        judge = self._judge(topic)
        return judge is not None and answerable(topic, judge.answers)

    @property
    def judges(self) -> dict[str, Judge]:
        """The judges by what they were named for."""
        return dict(self._by_kind)

    def unique(self) -> list[Judge]:
        """Each judge once."""
        return list({id(judge): judge for judge in self._by_kind.values()}.values())

    def judge_of(self, question: Question) -> Judge | None:
        """Who answers a question; None where nobody was named for its kind."""
        return self._judge(topic(question))

    def shared(self, questions: Iterable[Question]) -> list[tuple[Judge | None, list[Question]]]:
        """The questions by who answers them; None for those of kinds that nobody was named for."""
        groups: dict[int, tuple[Judge | None, list[Question]]] = {}
        for question in questions:
            judge = self.judge_of(question)
            groups.setdefault(id(judge), (judge, []))[1].append(question)
        return list(groups.values())

    def _judge(self, topic: str) -> Judge | None:
        if topic not in self._by_topic:
            keys = (topic, topic.partition(":")[0], "*")
            self._by_topic[topic] = next((self._by_kind[key] for key in keys if key in self._by_kind), None)
        return self._by_topic[topic]
