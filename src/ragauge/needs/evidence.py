"""Evidence tables: what needs return and metrics count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar, cast

import msgspec

from ragauge.needs.base import EvidenceTable
from ragauge.questions import Judgment
from ragauge.scores import ChunkEvidence, Evidence
from ragauge.types import Chunk, ChunkVerdict, Decomposition, Grade, Label, Statement, Verdict


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
        """Those that assert something that can be checked."""
        return Statements(self.field, tuple(piece for piece in self.pieces if piece.claim))

    @property
    def opinions(self) -> Statements:
        """Those that express the author's own belief or judgment."""
        return Statements(self.field, tuple(piece for piece in self.pieces if piece.opinion))

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The judged pieces, in the order of the text."""
        return tuple(Evidence(piece.text, self.field, piece.span) for piece in self.pieces)


@dataclass(frozen=True)
class Support:
    """Verdicts on statements given chunks, all together and each alone.

    Args:
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

    @property
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
    def evidence(self) -> tuple[Evidence, ...]:
        """The judged pieces, in the order of the text."""
        keys = [judgment.key for judgment in self.judgments] or [""] * len(self)
        rows = zip(self.statements.evidence, self.verdicts, keys, strict=True)
        return tuple(with_verdict(piece, self.against, verdict, self.chunks, key) for piece, verdict, key in rows)


def with_verdict(piece: Evidence, against: str, verdict: Verdict, chunks: Iterable[str], judgment: str) -> Evidence:
    """A piece with a verdict of entailment. chunks: the ids of the chunks that the verdict labels."""
    labelled = zip(chunks, verdict.chunks, strict=False)
    return msgspec.structs.replace(
        piece,
        against=against,
        label=verdict.label,
        probability=verdict.probability,
        chunks=tuple(ChunkEvidence(id, chunk.label, chunk.probability, chunk.span) for id, chunk in labelled),
        rationale=verdict.rationale,
        judgment=judgment,
    )


Table = TypeVar("Table", bound=EvidenceTable)


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
    """Pieces not yet judged, and a judgment on each."""

    pieces: tuple[Evidence, ...]
    judgments: tuple[Judgment, ...]

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The judged pieces, in the order of the text."""
        return tuple(map(_judged, self.pieces, self.judgments))


def _judged(piece: Evidence, judgment: Judgment) -> Evidence:
    answer = cast(Verdict | Grade, judgment.answer)
    found: dict[str, Any] = {"rationale": answer.rationale, "judgment": judgment.key}
    if isinstance(answer, Grade):
        return msgspec.structs.replace(piece, value=answer.value, **found)
    span = piece.span or answer.span
    return msgspec.structs.replace(piece, span=span, label=answer.label, probability=answer.probability, **found)


@dataclass(frozen=True)
class Checks(_JudgedPieces):
    """A yes or no per piece: relevance of chunks or statements, traits of opinions."""

    @property
    def passed(self) -> tuple[bool, ...]:
        """Which were answered yes."""
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


def chunk_pieces(contexts: Sequence[Chunk], against: str) -> tuple[Evidence, ...]:
    """Each chunk as a piece not yet judged."""
    return tuple(Evidence(chunk.passage, f"contexts[{i}]", against=against) for i, chunk in enumerate(contexts))


@dataclass(frozen=True)
class Measured:
    """Numbers that a function made of the sample, by part; the one of a function without parts is under ""."""

    values: Mapping[str, float]
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class Ranks:
    """Grades of the retrieved chunks in their order, 0 where not relevant, and of all relevant ones, best first."""

    grades: tuple[float, ...]
    ideal: tuple[float, ...]
    evidence: tuple[Evidence, ...]
