"""Evidence tables: what needs return and metrics count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from ragauge.questions import Judgment
from ragauge.scores import ChunkEvidence, Evidence
from ragauge.types import Chunk, ChunkVerdict, Decomposition, Grade, Label, Span, Statement, Verdict


class NotReported(Exception):
    """Raised when a metric counts what the judgments do not report; the message is the reason."""


@dataclass(frozen=True)
class Texts:
    """The response and its references, for metrics that need no judge."""

    response: str
    references: tuple[str, ...]

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The judged pieces, in the order of the text."""
        return ()


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
        return tuple(self._row(verdict) for verdict in self.verdicts)

    def _row(self, verdict: Verdict) -> tuple[Label, ...]:
        if len(verdict.chunks) == len(self.chunks):
            return tuple(chunk.label for chunk in verdict.chunks)
        if len(self.chunks) > 1 and self.judgments:
            raise NotReported("several chunks were judged only together, without a label for each")
        return (verdict.label,) * len(self.chunks)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The judged pieces, in the order of the text."""
        keys = [judgment.key for judgment in self.judgments] or [""] * len(self)
        return tuple(
            Evidence(
                piece.text,
                self.statements.field,
                piece.span,
                self.against,
                verdict.label,
                probability=verdict.probability,
                chunks=tuple(
                    ChunkEvidence(id, chunk.label, chunk.probability, chunk.span)
                    for id, chunk in zip(self.chunks, verdict.chunks, strict=False)
                ),
                rationale=verdict.rationale,
                judgment=key,
            )
            for piece, verdict, key in zip(self.statements.pieces, self.verdicts, keys, strict=True)
        )


@dataclass(frozen=True)
class Supports:
    """One table per reference."""

    tables: tuple[Support, ...]

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The judged pieces, in the order of the text."""
        return tuple(piece for table in self.tables for piece in table.evidence)


@dataclass(frozen=True)
class Checks:
    """A yes or no per piece: relevance of chunks or statements, traits of opinions."""

    pieces: tuple[Evidence, ...]
    judgments: tuple[Judgment, ...]

    @property
    def passed(self) -> tuple[bool, ...]:
        """Which were answered yes."""
        return tuple(cast(Verdict, judgment.answer).label is Label.YES for judgment in self.judgments)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The judged pieces, in the order of the text."""
        return tuple(_checked(piece, judgment) for piece, judgment in zip(self.pieces, self.judgments, strict=True))


def _checked(piece: Evidence, judgment: Judgment) -> Evidence:
    verdict = cast(Verdict, judgment.answer)
    return Evidence(
        piece.text,
        piece.field,
        piece.span or verdict.span,
        piece.against,
        verdict.label,
        probability=verdict.probability,
        rationale=verdict.rationale,
        judgment=judgment.key,
    )


@dataclass(frozen=True)
class CheckSets:
    """The checks of the same pieces, once per reference."""

    sets: tuple[Checks, ...]

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The judged pieces, in the order of the text."""
        return tuple(piece for checks in self.sets for piece in checks.evidence)


@dataclass(frozen=True)
class Grades:
    """A grade per piece."""

    pieces: tuple[Evidence, ...]
    judgments: tuple[Judgment, ...]

    @property
    def values(self) -> tuple[float, ...]:
        """The grades, in the order of the pieces."""
        return tuple(cast(Grade, judgment.answer).value for judgment in self.judgments)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The judged pieces, in the order of the text."""
        return tuple(
            Evidence(
                piece.text,
                piece.field,
                against=piece.against,
                value=cast(Grade, judgment.answer).value,
                rationale=cast(Grade, judgment.answer).rationale,
                judgment=judgment.key,
            )
            for piece, judgment in zip(self.pieces, self.judgments, strict=True)
        )


def piece_of(field: str, text: str, against: str = "", span: Span | None = None) -> Evidence:
    """A piece not yet judged: a statement with its span, or a whole field."""
    return Evidence(text, field, span, against)


def chunk_pieces(contexts: Sequence[Chunk], against: str) -> tuple[Evidence, ...]:
    """Each chunk as a piece not yet judged."""
    return tuple(piece_of(f"contexts[{i}]", chunk.passage, against) for i, chunk in enumerate(contexts))
