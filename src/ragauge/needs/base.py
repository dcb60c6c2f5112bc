"""The form of a need: a generator that asks questions in rounds and returns an evidence table.

A need is independent of judges. It yields a list of questions and is sent the judgments, in the same order; it may
yield again, with questions that depend on the answers, and finally returns its evidence table. Needs that build on
others delegate with `yield from`. The driver of the flow (`ragauge.rounds`) ensures that equal questions of different
needs are asked once, that the sample has the fields the need reads, and that a failed answer ends the flow.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

from ragauge.questions import Judgment, Question
from ragauge.scores import Evidence
from ragauge.types import Sample


class EvidenceTable(Protocol):
    """What a need returns: what a metric counts, with the evidence to show for it."""

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The judged pieces, in the order of the text."""


T = TypeVar("T")
Table = TypeVar("Table", bound=EvidenceTable)
TableCo = TypeVar("TableCo", bound=EvidenceTable, covariant=True)

#: A generator that yields questions, is sent their judgments in the same order, and returns a T.
QuestionFlow = Generator[Sequence[Question], Sequence[Judgment], T]


@dataclass(frozen=True)
class Undefined:
    """The score is undefined: there is nothing to count, for this reason."""

    reason: str


@dataclass(frozen=True)
class Failed:
    """The score failed: a question has no answer, for this reason."""

    reason: str


#: How a need of one sample ended.
NeedOutcome = EvidenceTable | Undefined | Failed


class NothingToCount(Exception):
    """Raised in a flow when the sample leaves nothing to count; the message is the reason."""


@dataclass(frozen=True)
class Need(Generic[TableCo]):
    """What a metric must know about a sample.

    Args:
        name: unique; per sample a need of one name is worked out once, however many metrics declare it.
        reads: the fields of the sample that must be present; without them the metric is undefined.
        asks: the topics of the questions it may ask, such as "decompose", "entail:support" (supported or not),
            "entail:contradiction" (all three labels), "classify:toxic", "rate:coherence".
        flow: from a sample to the generator that asks.
    """

    name: str
    reads: tuple[str, ...]
    asks: frozenset[str]
    flow: Callable[[Sample], QuestionFlow[TableCo]] = field(repr=False)

    def also_asking(self, *topics: str) -> Need[TableCo]:
        """The same need with further topics, for a metric that requires more of the answers."""
        return replace(self, asks=self.asks | set(topics))


def need(
    reads: Sequence[str], asks: Sequence[str] = ()
) -> Callable[[Callable[[Sample], QuestionFlow[Table]]], Need[Table]]:
    """Decorate a flow to make it a need, named after the function.

    Args:
        reads: the fields of the sample that must be present.
        asks: the topics of the questions it may ask; see `Need`.
    """

    def declare(flow: Callable[[Sample], QuestionFlow[Table]]) -> Need[Table]:
        return Need(flow.__name__, tuple(reads), frozenset(asks), flow)

    return declare


def gather(flows: Sequence[QuestionFlow[T]]) -> QuestionFlow[tuple[T, ...]]:
    """Run several flows side by side: what they ask at the same step is asked in one round.

    Returns:
        What each flow returns, in the order of the flows.
    """
    results: dict[int, T] = {}
    pending: dict[int, Sequence[Judgment] | None] = dict.fromkeys(range(len(flows)))
    while pending:
        asked: dict[int, Sequence[Question]] = {}
        for i, judgments in pending.items():
            try:
                asked[i] = flows[i].send(judgments)  # type: ignore[arg-type]  # the first send is None
            except StopIteration as stop:
                results[i] = stop.value
        answers = iter((yield [question for questions in asked.values() for question in questions]) if asked else ())
        pending = {i: [next(answers) for _ in questions] for i, questions in asked.items()}
    return tuple(results[i] for i in range(len(flows)))


def answerable(topic: str, answers: frozenset[str]) -> bool:
    """Whether a judge that lists `answers` can answer `topic`: it lists the topic itself or its whole kind."""
    return topic in answers or topic.partition(":")[0] in answers
