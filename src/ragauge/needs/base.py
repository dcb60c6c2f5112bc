"""Needs, generators that ask questions in rounds, and the evidence tables that they return and metrics count.

A need yields a list of questions and is sent the judgments, in the same order; it may yield again, with questions that
depend on the answers. Needs that build on others delegate with `yield from`. `Rounds` drives them: equal questions of
different needs are asked once, and a failed answer ends the flow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast

import msgspec

from ragauge.errors import MissingExtra
from ragauge.questions import Judgment, Question
from ragauge.scores import ChunkEvidence, Evidence
from ragauge.types import PEOPLE, Chunk, ChunkVerdict, Decomposition, Failure, Grade, Label, Sample, Statement, Verdict


class EvidenceTable(Protocol):
    """The result of a need: what a metric counts, with the evidence to show for it."""

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
    """The score is undefined: there is nothing to count, or the judge `abstained`, for this reason."""

    reason: str
    abstained: bool = False


@dataclass(frozen=True)
class Failed:
    """The score failed: a question has no answer, for this reason."""

    reason: str


#: How a need of one sample ended.
NeedOutcome = EvidenceTable | Undefined | Failed

#: Why a turn has no expected calls.
OF_CONVERSATIONS = "calls are expected of a whole conversation; leave --per turn out"

#: The key of a sample's metadata for the ids of retrieved contexts, whose texts may be missing.
RETRIEVED_IDS_KEY = "retrieved_context_ids"


class NothingToCount(Exception):
    """Raised in a flow when the sample leaves nothing to count; the message is the reason."""


class _Abstained(NothingToCount):
    """Raised for a flow when the judge abstains from all that it waits for."""


@dataclass(frozen=True)
class Need(Generic[TableCo]):
    """What a metric must know about a sample.

    Args:
        name: unique; a need of one name is worked out once for a sample, however many metrics declare it.
        reads: the fields of the sample that must be present (see `present`); without them the metric is undefined.
        asks: the topics of the questions it may ask, such as "decompose", "entail:support" (supported or not),
            "entail:contradiction" (all three labels), "classify:toxic", "rate:coherence".
        flow: from a sample to the generator that asks.
        may_lack: of the fields that it reads, those that single samples may lack.
    """

    name: str
    reads: tuple[str, ...]
    asks: frozenset[str]
    flow: Callable[[Sample], QuestionFlow[TableCo]] = field(repr=False)
    may_lack: tuple[str, ...] = ()

    def also_asking(self, *topics: str) -> Need[TableCo]:
        """The same need with further topics, for a metric that requires more of the answers."""
        return replace(self, asks=self.asks | set(topics))


def need(
    reads: Sequence[str], asks: Iterable[str] = (), may_lack: Sequence[str] = ()
) -> Callable[[Callable[[Sample], QuestionFlow[Table]]], Need[Table]]:
    """Decorate a flow to make it a need, named after the function.

    Args:
        reads: the fields of the sample that must be present.
        asks: the topics of the questions it may ask; see `Need`.
        may_lack: the fields that single samples may lack.
    """

    def declare(flow: Callable[[Sample], QuestionFlow[Table]]) -> Need[Table]:
        return Need(flow.__name__, tuple(reads), frozenset(asks), flow, tuple(may_lack))

    return declare


def gather(flows: Sequence[QuestionFlow[T]]) -> QuestionFlow[tuple[T, ...]]:
    """Run several flows side by side: what they ask at the same step is asked in one round.

    Returns:
        What each flow returns, in the order of the flows.
    """
    if len(flows) == 1:
        return ((yield from flows[0]),)
    results: dict[int, T] = {}
    pending: dict[int, Sequence[Judgment] | None] = dict.fromkeys(range(len(flows)))
    while pending:
        asked: dict[int, Sequence[Question]] = {}
        for i, judgments in pending.items():
            try:
                asked[i] = flows[i].send(judgments)  # type: ignore[arg-type]  # the first send is None
            except StopIteration as stop:
                results[i] = stop.value
        pending = {}
        if asked:
            answers = iter((yield list(chain.from_iterable(asked.values()))))
            pending = {i: list(islice(answers, len(questions))) for i, questions in asked.items()}
    return tuple(results[i] for i in range(len(flows)))


class _Unanswered(Exception):
    """A question that a flow waits for has no answer; the message is the reason."""


def answerable(topic: str, answers: frozenset[str]) -> bool:
    """Whether a judge that lists `answers` can answer `topic`: it lists the topic itself or its whole kind."""
    return topic in answers or topic.partition(":")[0] in answers


def present(sample: Sample, field: str) -> bool:
    """Whether a sample has a field: one of `Sample`, "metadata.KEY", or one of several joined by " or "."""
    for name in field.split(" or "):
        key = name.removeprefix("metadata.")
        value = getattr(sample, name) if key == name else sample.metadata.get(key)
        if value is not None:
            return True
    return False


def failed_by(name: str, error: Exception) -> Failed:
    """The failure of a score because the metric or need of this name raised an error."""
    return Failed(f"{name} raised {type(error).__name__}: {error}")


class Rounds:
    """The needs of a sample, worked out in rounds of questions, each name once.

    `questions` holds the new questions of the current round; `advance` takes their judgments and starts the next. When
    it is empty, every need has ended with an entry in `outcomes`. While texts remain to be decomposed, a round asks for
    that alone, so that a judge that packs questions needs fewer calls.
    """

    def __init__(self, sample: Sample, needs: Iterable[Need[EvidenceTable]]) -> None:
        self.outcomes: dict[str, NeedOutcome] = {}
        self._flows: dict[str, QuestionFlow[EvidenceTable]] = {}
        self._pending: dict[str, Sequence[Question]] = {}
        self._judgments: dict[Question, Judgment] = {}
        for need in {need.name: need for need in needs}.values():
            missing = [field for field in need.reads if not present(sample, field) and field not in need.may_lack]
            if missing:
                has_ids = "contexts" in missing and {"trace_id", RETRIEVED_IDS_KEY} <= sample.metadata.keys()
                why = ": the trace holds ids, not texts (--corpus FILE looks them up)" if has_ids else ""
                if "reference_tool_calls" in missing and sample.is_turn:
                    why = f": {OF_CONVERSATIONS}"
                self.outcomes[need.name] = Undefined(f"the sample has no {' and no '.join(missing)}{why}")
                continue
            self._flows[need.name] = need.flow(sample)
            self._step(need.name, None)
        self.questions = self._next_round()

    def _step(self, need: str, questions: Sequence[Question] | None) -> None:
        """Run one flow, from its start or its pending `questions`, until it asks something unanswered or ends."""
        flow = self._flows[need]
        try:
            while questions is None or all(map(self._judgments.__contains__, questions)):
                questions = next(flow) if questions is None else flow.send(self._judgments_of(questions))
            self._pending[need] = questions
            return
        except StopIteration as stop:
            self.outcomes[need] = stop.value
        except NothingToCount as nothing:
            self.outcomes[need] = Undefined(str(nothing), isinstance(nothing, _Abstained))
        except _Unanswered as failed:
            self.outcomes[need] = Failed(str(failed))
        except MissingExtra:
            raise
        except Exception as error:  # the code of a user's need may raise anything
            self.outcomes[need] = failed_by(need, error)
        self._flows.pop(need).close()

    def _judgments_of(self, questions: Sequence[Question]) -> list[Judgment]:
        """The judgments of answered questions. Raises _Unanswered if a judge failed, _Abstained if it abstained."""
        judgments = [self._judgments[question] for question in questions]
        failures = [judgment.answer for judgment in judgments if isinstance(judgment.answer, Failure)]
        if failures:
            if all(failure.reason == "abstained" for failure in failures):
                raise _Abstained(failures[0].detail)
            ((commonest, _),) = Counter(map(str, failures)).most_common(1)
            several = f" ({len(failures)} of {len(judgments)} questions unanswered)" if len(judgments) > 1 else ""
            raise _Unanswered(commonest + several)
        return judgments

    def _next_round(self) -> list[Question]:
        """The questions of the next round, each once."""
        pending = dict.fromkeys(chain.from_iterable(self._pending.values()))
        unanswered = [question for question in pending if question not in self._judgments]
        return [question for question in unanswered if question.comes_first] or unanswered

    def pending(self) -> Iterator[tuple[str, Question]]:
        """The questions the needs wait for, answered or not, each with the name of a need that asks it."""
        for need, questions in self._pending.items():
            for question in questions:
                yield need, question

    @property
    def failures(self) -> list[Failure]:
        """Why questions have no answer, each distinct failure once."""
        answers = [judgment.answer for judgment in self._judgments.values()]
        return list(dict.fromkeys([answer for answer in answers if isinstance(answer, Failure)]))

    def advance(self, judgments: Mapping[Question, Judgment]) -> None:
        """Answer this round, given the judgments of its questions; a failed answer ends the needs that asked."""
        self._judgments.update({question: judgments[question] for question in self.questions})
        pending, self._pending = self._pending, {}
        for need, questions in pending.items():
            self._step(need, questions)
        self.questions = self._next_round()


def unanswerable(needs: Iterable[Need[EvidenceTable]], can_answer: Callable[[str], bool]) -> list[str]:
    """The topics that `needs` ask and no judge can answer, sorted."""
    return sorted({topic for need in needs for topic in need.asks if not can_answer(topic)})


def missing_fields(needs: Iterable[Need[EvidenceTable]], samples: Sequence[Sample]) -> list[str]:
    """The fields that `needs` read and no sample has, sorted."""
    fields = {field for need in needs for field in need.reads}
    return sorted(field for field in fields if not any(present(sample, field) for sample in samples))


class NotReported(Exception):
    """Raised when a metric counts what the judgments do not report; the message is the reason."""


@dataclass(frozen=True)
class Texts:
    """The response and its references, for metrics that need no judge."""

    response: str
    references: tuple[str, ...]
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class Statements:
    """The statements of one field of a sample."""

    field: str
    pieces: tuple[Statement, ...]

    @staticmethod
    def of(field: str, judgment: Judgment) -> Statements:
        """The statements in the answer to a `Decompose` question."""
        return Statements(field, cast(Decomposition, judgment.answer).statements)

    @property
    def claims(self) -> Statements:
        """The statements that assert something that can be checked."""
        return Statements(self.field, tuple(piece for piece in self.pieces if piece.claim))

    @property
    def opinions(self) -> Statements:
        """The statements that express the author's own belief or judgment."""
        return Statements(self.field, tuple(piece for piece in self.pieces if piece.opinion))

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The judged pieces, in the order of the text."""
        return tuple(Evidence(piece.text, self.field, piece.span) for piece in self.pieces)


@dataclass(frozen=True)
class Support:
    """Verdicts on statements given chunks, all together and each alone.

    Args:
        statements: the hypotheses.
        against: where the chunks come from: "contexts", "references[0]", "query".
        chunks: the ids of the chunks.
        judgments: one per statement; empty where there was no premise.
    """

    statements: Statements
    against: str
    chunks: tuple[str, ...]
    judgments: tuple[Judgment, ...]

    def __len__(self) -> int:
        return len(self.statements.pieces)

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """One per statement; without a premise all are neutral."""
        if not self.judgments:
            neutral = (ChunkVerdict(Label.NEUTRAL),) * len(self.chunks)
            return (Verdict(Label.NEUTRAL, chunks=neutral),) * len(self)
        return tuple(cast(Verdict, judgment.answer) for judgment in self.judgments)

    @property
    def entailed(self) -> tuple[bool, ...]:
        """Per statement, whether the chunks together entail it and none contradicts it."""
        return tuple(verdict.entailed for verdict in self.verdicts)

    @property
    def table(self) -> tuple[tuple[Label, ...], ...]:
        """Per statement, the label of each chunk; a single chunk has the joint label.

        Raises NotReported where several chunks were only judged together, as a person may do.
        """
        count = len(self.chunks)
        if count > 1 and self.judgments and any(len(verdict.chunks) != count for verdict in self.verdicts):
            raise NotReported("several chunks were judged only together, without a label for each")
        return tuple(
            tuple(chunk.label for chunk in verdict.chunks) if len(verdict.chunks) == count else (verdict.label,) * count
            for verdict in self.verdicts
        )

    @property
    def three_way_table(self) -> tuple[tuple[Label, ...], ...]:
        """`table`; raises NotReported also where a verdict does not tell contradicted chunks from neutral ones."""
        table = self.table
        if any(Label.NOT_ENTAILED in row for row in table):
            raise NotReported("a verdict does not distinguish contradicted contexts from neutral ones")
        return table

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The judged pieces, in the order of the text."""
        field, against = self.statements.field, self.against
        pieces = [Evidence(statement.text, field, statement.span, against) for statement in self.statements.pieces]
        keys = [judgment.key for judgment in self.judgments] or [""] * len(self)
        rows = zip(pieces, self.verdicts, keys, strict=True)
        return tuple(with_verdict(piece, verdict, self.chunks, key) for piece, verdict, key in rows)


def with_verdict(piece: Evidence, verdict: Verdict, chunks: Iterable[str], judgment: str) -> Evidence:
    """A piece with a verdict of entailment.

    Args:
        piece: the statement that was judged.
        verdict: the label given all chunks together, and those given each.
        chunks: the ids of the chunks, in the order of the verdict; those without a label are left out.
        judgment: the key of the judgment in the store.
    """
    labelled = zip(chunks, verdict.chunks, strict=False)
    return msgspec.structs.replace(
        piece,
        label=verdict.label,
        probability=verdict.probability,
        chunks=tuple(ChunkEvidence(id, chunk.label, chunk.probability, chunk.span) for id, chunk in labelled),
        rationale=verdict.rationale,
        judgment=judgment,
    )


@dataclass(frozen=True)
class Tables(Generic[Table]):
    """One table of the same kind per reference."""

    tables: tuple[Table, ...]

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The judged pieces, in the order of the text."""
        return tuple(piece for table in self.tables for piece in table.evidence)


#: The verdicts on statements, once per reference.
Supports: TypeAlias = Tables[Support]


@dataclass(frozen=True)
class _JudgedPieces:
    """Pieces without verdicts, and a judgment on each."""

    pieces: tuple[Evidence, ...]
    judgments: tuple[Judgment, ...]

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The judged pieces, in the order of the text."""
        return tuple(self._with_answer(*judged) for judged in zip(self.pieces, self.judgments, strict=False))

    @staticmethod
    def _with_answer(piece: Evidence, judgment: Judgment) -> Evidence:
        answer = cast(Verdict | Grade, judgment.answer)
        source: dict[str, Any] = {"rationale": answer.rationale, "judgment": judgment.key}
        if isinstance(answer, Grade):
            return msgspec.structs.replace(piece, value=answer.value, **source)
        span = piece.span or answer.span
        return msgspec.structs.replace(piece, span=span, label=answer.label, probability=answer.probability, **source)


@dataclass(frozen=True)
class Checks(_JudgedPieces):
    """A yes or no per piece: relevance of chunks or statements, traits of opinions."""

    @property
    def passed(self) -> tuple[bool, ...]:
        """Per piece, whether the answer is yes."""
        return tuple(cast(Verdict, judgment.answer).label is Label.YES for judgment in self.judgments)


#: The checks of the same pieces, once per reference.
CheckSets: TypeAlias = Tables[Checks]


@dataclass(frozen=True)
class Grades(_JudgedPieces):
    """A grade per piece."""

    @property
    def values(self) -> tuple[float, ...]:
        """The grades, in the order of the pieces."""
        return tuple(cast(Grade, judgment.answer).value for judgment in self.judgments)


@dataclass(frozen=True)
class Preferences(Grades):
    """Which of two texts is better, by grades in both orders; without grades the two are the same."""

    @property
    def orders(self) -> tuple[float, ...]:
        """By how much the response is preferred in each order, or only in those that people judged, if any."""
        toward = tuple(sign * grade for sign, grade in zip((1, -1), self.values, strict=False))
        judges = (judgment.judge.name for judgment in self.judgments)
        by_people = tuple(value for value, judge in zip(toward, judges, strict=True) if judge == PEOPLE)
        return by_people or toward

    @property
    def agree(self) -> bool:
        """Whether all orders prefer the same text, or all neither."""
        return len({(value > 0) - (value < 0) for value in self.orders}) <= 1


def chunk_pieces(contexts: Sequence[Chunk], against: str) -> tuple[Evidence, ...]:
    """Each chunk as a piece without a verdict."""
    return tuple(Evidence(chunk.passage, f"contexts[{i}]", against=against) for i, chunk in enumerate(contexts))


@dataclass(frozen=True)
class Measured:
    """Numbers that a function computed from the sample, by part; "" is the key of a single number."""

    values: Mapping[str, float]
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class Ranks:
    """Grades of the retrieved chunks in their order, 0 where not relevant, and of all relevant ones, best first."""

    grades: tuple[float, ...]
    ideal: tuple[float, ...]
    evidence: tuple[Evidence, ...]
