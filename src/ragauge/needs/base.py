"""The form of a need: a generator that asks questions in waves and returns what it found.

A need knows nothing of judges. It yields a list of questions and is sent the judgments, in the same order; it may
yield again, with questions that depend on what it learned, and at last returns its finding. Needs that build on
others delegate with `yield from`. Whoever drives the flow (`ragauge.rounds`) sees to it that equal questions of
different needs are asked once, that a sample lacks none of the fields, and that a failed answer ends the flow.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

from ragauge.questions import Judgment, Question
from ragauge.scores import Evidence
from ragauge.types import Sample


class EvidenceTable(Protocol):
    """What a need returns: something a metric counts, with its evidence."""

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The judged pieces, in the order of the text."""


T = TypeVar("T")
Found = TypeVar("Found", bound=EvidenceTable)
FoundCo = TypeVar("FoundCo", bound=EvidenceTable, covariant=True)

QuestionFlow = Generator[Sequence[Question], Sequence[Judgment], T]


@dataclass(frozen=True)
class Undefined:
    """There is nothing to count, and why."""

    reason: str


@dataclass(frozen=True)
class Failed:
    """There is no answer, and why."""

    reason: str


#: How a need of one sample ended.
NeedOutcome = EvidenceTable | Undefined | Failed


class NothingToCount(Exception):
    """Raised in a flow when the sample leaves nothing to count; the message is the reason."""


@dataclass(frozen=True)
class Need(Generic[FoundCo]):
    """What a metric must know.

    name: unique; one sample's need of one name is worked out once, however many metrics declare it.
    reads: the sample's fields that must be there. asks: topics of questions it may put, such as "decompose",
    "entail:support" (supported or not), "entail:contradiction" (all three ways), "classify:toxic", "rate:coherence".
    """

    name: str
    reads: tuple[str, ...]
    asks: frozenset[str]
    flow: Callable[[Sample], QuestionFlow[FoundCo]] = field(repr=False)

    def also_asking(self, *topics: str) -> Need[FoundCo]:
        """The same need, for a metric that asks more of the answers than this one does."""
        return replace(self, asks=self.asks | set(topics))


def need(
    reads: Sequence[str], asks: Sequence[str] = ()
) -> Callable[[Callable[[Sample], QuestionFlow[Found]]], Need[Found]]:
    """Make a need of a flow; its name is the function's."""

    def declare(flow: Callable[[Sample], QuestionFlow[Found]]) -> Need[Found]:
        return Need(flow.__name__, tuple(reads), frozenset(asks), flow)

    return declare


def together(flows: Sequence[QuestionFlow[T]]) -> QuestionFlow[tuple[T, ...]]:
    """Run several flows side by side: what they ask at the same step goes into one wave."""
    found: dict[int, T] = {}
    inbox: dict[int, Sequence[Judgment] | None] = dict.fromkeys(range(len(flows)))
    while inbox:
        asked: dict[int, Sequence[Question]] = {}
        for i, judgments in inbox.items():
            try:
                asked[i] = flows[i].send(judgments)  # type: ignore[arg-type]  # the first send is None
            except StopIteration as stop:
                found[i] = stop.value
        replies = iter((yield [question for questions in asked.values() for question in questions]) if asked else ())
        inbox = {i: [next(replies) for _ in questions] for i, questions in asked.items()}
    return tuple(found[i] for i in range(len(flows)))


def answerable(topic: str, answers: frozenset[str]) -> bool:
    """Whether a judge with `answers` can answer `topic`: it names the topic itself or the whole kind."""
    return topic in answers or topic.partition(":")[0] in answers
