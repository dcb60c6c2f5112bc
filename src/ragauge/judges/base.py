"""The judge protocol, the router of questions to judges, and the context that a run gives to judges."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from math import isfinite
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, get_type_hints, runtime_checkable
from urllib.parse import unquote

import msgspec

from ragauge.errors import BadParameter, UnknownName, UsageError
from ragauge.kinds.base import BaseQuestion
from ragauge.needs.base import answerable
from ragauge.questions import KIND_TYPES, KINDS, Judgment, Question, invalid_reason
from ragauge.types import Answer, Call, Failure, Identity, Verdict

if TYPE_CHECKING:
    from ragauge.judges.llm.pricing import Price


@runtime_checkable
class Judge(Protocol):
    """Answers questions.

    A judge may be an asynchronous context manager, entered before a run's first question and left after the last. It
    may have `notes()`, sentences on how it worked, and all else that `JudgeBase` has, from which it may be derived.

    Attributes:
        identity: Everything that can change an answer; judgments are stored under it.
        answers: The topics that it can answer: a kind ("decompose", "entail", "relevant", "correct" ...) or part of
            one ("entail:support" for a judge that distinguishes support from its absence but not contradiction from
            neutrality, "classify:toxic", "rate:coherence").
        batch: Optional; how many questions it is given at once. Their answers are stored together, so that a killed
            run asks at most these again.
        by_sample: Optional, instead of `batch`; the number of samples whose questions it is given concurrently, each
            sample's together. Such a judge itself limits how much it does at once.
    """

    @property
    def identity(self) -> Identity:
        """Everything that can change an answer."""

    @property
    def answers(self) -> frozenset[str]:
        """The topics that it can answer."""

    async def answer(self, questions: Sequence[Question]) -> Sequence[Answer | Failure]:
        """One answer, or a Failure that says why there is none, for each question, in order. Does not raise."""


#: How many questions a judge is given at once by default.
DEFAULT_BATCH = 32

#: The most words of a query that may be a fragment, such as "And the second one?".
_FRAGMENT_WORDS = 8

Query = TypeVar("Query", str, str | None)
OptionsT = TypeVar("OptionsT", bound=msgspec.Struct)


def in_context(query: Query, history: Sequence[str]) -> Query:
    """A query, preceded by the user's last request if it is too short to be understood alone."""
    requests = [text.removeprefix("User: ") for text in history if text.startswith("User: ")]
    return f"{requests[-1]} {query}" if query and requests and len(query.split()) <= _FRAGMENT_WORDS else query


def can_answer(judge: Judge, question: Question) -> bool:
    """Whether a judge answers a question, if only two-way."""
    topics = judge.answers
    return answerable(question.topic, topics) or question.support_topic in topics


def checked(question: BaseQuestion, answer: Answer | Failure) -> Answer | Failure:
    """The answer, or a Failure where it does not fit the question; judges, unlike people, have to label each chunk."""
    if isinstance(answer, Failure):
        return answer
    fault = invalid_reason(question, answer, in_full=True)
    return Failure("invalid_answer", fault, raw=repr(answer)[:2000]) if fault else answer


class ExpectedCall(msgspec.Struct, frozen=True):
    """A forecast call. cost: None where its price is not known. seconds: by how much it lengthens a run."""

    questions: Sequence[Question]
    prompt_tokens: float
    completion_tokens: float
    cost: float | None
    seconds: float = 0.0


JudgeAnswers = Sequence[Answer | Failure]

#: The failure of questions once the budget is exhausted, where the run stops.
OVER_BUDGET = Failure("max_cost", "max_cost is reached; raise it and run again, the answers so far are kept")


class RunContext(Protocol):
    """The services of a run for a judge: stored answers of other judges, a record of calls, and a budget."""

    async def ask(self, judge: Judge, questions: Sequence[Question]) -> JudgeAnswers:
        """The answers of another judge, each question asked at most once and stored under that judge's identity.

        An answer that does not fit its question is a Failure.
        """
        answers = await adapted(judge).consult(questions, self)
        return [checked(question, answer) for question, answer in zip(questions, answers, strict=True)]

    async def reserve(self, dollars: float) -> bool:
        """Reserve money for a call; False where that would exceed the budget, and the call must not be made.

        Waits as long as reservations of other calls may still be released. Every reservation is ended by `record`, or
        by `release` where the call was not made after all.
        """
        return True

    def release(self, reserved: float) -> None:
        """End the reservation of a call that was not made."""
        return

    def record(self, call: Call, questions: Sequence[Question], reserved: float) -> None:
        """Record a call with a usable reply to `questions` (none where it failed), and end its reservation."""
        return


class NullContext(RunContext):
    """The context outside a run: nothing is stored, counted or limited."""


class JudgeBase(ABC):
    """A judge with a default for all that is optional in `Judge`, so that no caller has to ask what a judge can do.

    Attributes:
        identity, answers, batch, by_sample: as in `Judge`.
        members: the judges that a composite one asks.
        is_checked: whether its answers need no check: they fit their questions, have the declared types throughout,
            so that a store returns them as they are, and repeat no key of this process.
        unable: topics that it cannot judge, although it answers questions of their kind.
        remedy: what would make it able, for messages; "" where nothing would.
        is_paid: whether its calls may cost money.
        price: of the tokens of its model; None where that is not known, or it has none.
        threshold: the confidence from which a cascade accepts its answers, for all kinds of question or by kind.
    """

    identity: Identity
    batch: int = DEFAULT_BATCH
    by_sample: int = 0
    members: tuple[JudgeBase, ...] = ()
    is_checked: bool = False
    unable: frozenset[str] = frozenset()
    remedy: str = ""
    is_paid: bool = False
    price: Price | None = None
    threshold: Mapping[str, float] | float | None = None

    @property
    @abstractmethod
    def answers(self) -> frozenset[str]:
        """The topics that it can answer."""

    @property
    def ended(self) -> Failure | None:
        """Why no further question can be answered, once that is so."""
        return None

    async def __aenter__(self) -> Self:
        """Open what it needs. Raises UsageError where something is missing, such as a key."""
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Close it."""
        return

    @abstractmethod
    async def answer(self, questions: Sequence[Question]) -> Sequence[Answer | Failure]:
        """As `Judge.answer`."""

    async def consult(self, questions: Sequence[Question], context: RunContext) -> JudgeAnswers:
        """As `answer`, but in a run, whose context it may use; the judge is entered before."""
        return await self.answer(questions)

    def expect(self, questions: Sequence[Question]) -> Sequence[ExpectedCall]:
        """The calls that `questions`, those of one sample in one round, would take; nothing is sent."""
        return ()

    def notes(self) -> Sequence[str]:
        """Sentences on how it worked, for readers of the run."""
        return ()

    def share_tempo(self, processes: int) -> None:
        """Keep, with its members, to one process's share of the limits of requests and tokens per minute."""
        for member in self.members:
            member.share_tempo(processes)

    def shuffled(self, seed: int) -> Judge | None:
        """A judge that is given claims and sources in another order; None where their order means nothing to it."""
        return None


class ContextJudge(JudgeBase):
    """A judge that uses the context of a run in `consult`; `answer` is for use outside a run."""

    @abstractmethod
    async def consult(self, questions: Sequence[Question], context: RunContext) -> JudgeAnswers:
        """As `answer`, but in a run."""

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """As `Judge.answer`."""
        try:
            async with self:
                return list(await self.consult(questions, NullContext()))
        except UsageError as error:
            return [Failure("judge_error", str(error))] * len(questions)


class _AdaptedJudge(JudgeBase):
    """A user's own judge, with defaults for what it does not have."""

    _OPTIONAL = ("batch", "by_sample", "price", "threshold", "consult", "expect", "notes", "share_tempo", "shuffled")

    def __init__(self, judge: Judge) -> None:
        self._judge, self.identity = judge, judge.identity
        for name in self._OPTIONAL:
            if hasattr(judge, name):
                setattr(self, name, getattr(judge, name))
        self.members = tuple(map(adapted, getattr(judge, "members", ())))
        self.is_paid = hasattr(judge, "expect")

    @property
    def answers(self) -> frozenset[str]:
        return self._judge.answers

    @property
    def ended(self) -> Failure | None:
        return getattr(self._judge, "ended", None)

    async def __aenter__(self) -> Self:
        if isinstance(self._judge, AbstractAsyncContextManager):
            await self._judge.__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> None:
        if isinstance(self._judge, AbstractAsyncContextManager):
            await self._judge.__aexit__(*exc)

    async def answer(self, questions: Sequence[Question]) -> Sequence[Answer | Failure]:
        answers = self._judge.answer(questions)
        if not isinstance(answers, Awaitable):
            raise TypeError("answer() is not asynchronous; write it with `async def answer`")
        return await answers


def adapted(judge: Judge) -> JudgeBase:
    """The judge; a user's own one with defaults for what it does not have."""
    return judge if isinstance(judge, JudgeBase) else _AdaptedJudge(judge)


class LookupJudge(JudgeBase):
    """Has the identity of a judge, so that its stored judgments are used, and answers nothing itself."""

    answers = frozenset(KINDS)

    def __init__(self, identity: Identity) -> None:
        self.identity = identity

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """A failure for each question."""
        failure = Failure("not_stored", f"the store holds no answer of {self.identity} to this question")
        return [failure] * len(questions)


class UnloadedJudge(LookupJudge):
    """Takes the place of a judge that is not loaded, so that a run with it can be planned."""

    def __init__(self, spec: str) -> None:
        super().__init__(Identity(spec))

    def notes(self) -> list[str]:
        """What is not known to a plan without the judge."""
        return [f"{self.identity} is not loaded to plan: its stored answers, calls and price are not known"]


class RecordingJudge(JudgeBase):
    """Answers from recorded judgments, the last of each question; one that was not recorded is a Failure."""

    answers: frozenset[str] = frozenset()

    def __init__(self, judgments: Iterable[Judgment]) -> None:
        recorded = {judgment.question: judgment for judgment in judgments}
        self._answers = {question: judgment.answer for question, judgment in recorded.items()}
        topics = set()
        for question, answer in self._answers.items():
            two_way = isinstance(answer, Verdict) and answer.two_way
            topics.add(question.support_topic if two_way else question.topic)
        self.answers = frozenset(topics)
        content = b"\n".join(sorted(map(msgspec.json.encode, recorded.values())))
        names = sorted({judgment.judge.name for judgment in recorded.values()})
        sha256 = hashlib.sha256(content).hexdigest()[:16]
        self.identity = Identity("recording", (("of", ", ".join(names)), ("sha256", sha256)))

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """Look each question up."""
        missing = Failure("not_recorded", "the recording does not hold this question")
        return [self._answers.get(question, missing) for question in questions]


AnyJudge = TypeVar("AnyJudge", bound=Judge | None)


def grouped(
    questions: Iterable[Question], judge_of: Callable[[Question], AnyJudge]
) -> list[tuple[AnyJudge, list[Question]]]:
    """The questions grouped by their judge."""
    groups: dict[int, tuple[AnyJudge, list[Question]]] = {}
    for question in questions:
        judge = judge_of(question)
        groups.setdefault(id(judge), (judge, []))[1].append(question)
    return list(groups.values())


class JudgeRouter:
    """Routes questions to judges by kind or topic.

    by_kind: judges by kind, or by topic such as "classify:toxic", which takes precedence over its kind. "*" stands for
    everything that no other key names. judges: these, adapted. unique: each of them once.

    Raises UnknownName for another key, BadParameter for no key at all.
    """

    def __init__(self, by_kind: Mapping[str, Judge]) -> None:
        for key in by_kind:
            kind, narrowed, _ = key.partition(":")
            if kind not in ([name for name in KINDS if KIND_TYPES[name].has_topics] if narrowed else (*KINDS, "*")):
                raise UnknownName("kind of question", key, [*KINDS, "*"])
        if not by_kind:
            raise BadParameter("a judge by kind needs at least one kind, such as {'entail': ...}")
        judges = {id(judge): adapted(judge) for judge in by_kind.values()}
        self.judges = {kind: judges[id(judge)] for kind, judge in by_kind.items()}
        self.unique = list(judges.values())
        self._by_topic: dict[str, JudgeBase | None] = {}

    def can(self, topic: str) -> bool:
        """Whether a judge answers `topic`, such as "decompose", "entail:contradiction" or "rate:coherence"."""
        judge = self._judge(topic)
        return judge is not None and topic not in judge.unable and answerable(topic, judge.answers)

    def judge_of(self, question: Question) -> JudgeBase | None:
        """The judge of a question; None if no judge is for its kind."""
        return self._judge(question.topic)

    def by_judge(self, questions: Iterable[Question]) -> list[tuple[JudgeBase | None, list[Question]]]:
        """The questions grouped by their judge; None for kinds without a judge."""
        if self.judges.keys() == {"*"}:
            return [(self.judges["*"], list(questions))]
        return grouped(questions, self.judge_of)

    def _judge(self, topic: str) -> JudgeBase | None:
        if topic not in self._by_topic:
            keys = (topic, topic.partition(":")[0], "*")
            self._by_topic[topic] = next((self.judges[key] for key in keys if key in self.judges), None)
        return self._by_topic[topic]


class InvokableModel(Protocol):
    """A model with LangChain's interface."""

    def invoke(self, input: Any, /) -> Any:
        """The reply to messages."""


class ChatModel(Protocol):
    """A model with LlamaIndex's interface."""

    async def achat(self, messages: Any, /) -> Any:
        """The reply to messages."""


class StructuredClient(Protocol):
    """A client of the instructor library."""

    create_fn: Any


class JudgeSpec(msgspec.Struct, frozen=True):
    """The spec of a judge, and what may be done to load it.

    allow_hosts: hosts to which judge files in it may send prompts and keys. imports: whether `python:` is imported, and
    models are looked up on the hub; else an `UnloadedJudge` takes their place. store: of the labels that show a risk.
    """

    spec: str
    allow_hosts: tuple[str, ...] = ()
    imports: bool = True
    store: Any = ".ragauge"


#: What may stand for a judge: its spec, such as "openai/gpt-4o-mini"; a judge; a function from messages to text; or a
#: model or client of another library.
OneJudge = (
    str | JudgeSpec | Judge | Callable[[list[dict[str, str]]], object] | InvokableModel | ChatModel | StructuredClient
)

#: What may stand for judges: one for everything, or several by kind or topic.
JudgeLike = OneJudge | JudgeRouter | Mapping[str, OneJudge]


def must_be(description: str) -> msgspec.Meta:
    """Describes an option for messages: what it must be, ending with an example such as "seed=1"."""
    return msgspec.Meta(description=description)


def split_options(spec: str) -> tuple[str, dict[str, object]]:
    """A spec such as `openai/gpt-4o-mini?seed=1` without its options, and these as written. Raises BadParameter."""
    name, _, query = spec.partition("?")
    written: dict[str, object] = {}
    for pair in filter(None, query.split("&")):
        option, equals, value = pair.partition("=")
        if not equals:
            raise BadParameter(f"option {option!r}: give it a value, as in ?{option}=VALUE")
        if option in written:
            raise BadParameter(f"option {option!r} is given twice; give it once")
        written[option] = unquote(value)
    return name, written


def parsed_options(
    form: type[OptionsT], values: Mapping[str, object], read: Mapping[str, object] | None = None
) -> OptionsT:
    """The options of a judge from names and values; texts are converted to the types of the options.

    read: values that stand for those given, which messages show as they were given.

    Raises UnknownName for another option, and BadParameter for a value that is not what its option must be.
    """
    types = get_type_hints(form, include_extras=True)
    converted = {}
    for option, value in values.items():
        if option not in types:
            raise UnknownName("option", option, types)
        try:
            if isinstance(value, bool) and types[option].__origin__ is not bool:
                raise TypeError
            converted[option] = msgspec.convert((read or {}).get(option, value), types[option], strict=False)
            numbers = converted[option] if isinstance(converted[option], tuple) else [converted[option]]
            if any(isinstance(number, float) and not isfinite(number) for number in numbers):
                raise ValueError
        except (TypeError, ValueError) as error:
            shown = "this" if option == "base_url" else f"{value!r:.60}"  # it may hold a password
            wanted = types[option].__metadata__[-1].description
            raise BadParameter(f"{option}: must be {wanted}; not {shown}") from error
    return form(**converted)
