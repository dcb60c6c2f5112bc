"""Evidence tables: what needs return, ready to be counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from ragauge.questions import Judgment
from ragauge.scores import ChunkEvidence, Evidence
from ragauge.types import Chunk, ChunkVerdict, Decomposition, Grade, Label, Span, Statement, Verdict


class NotReported(Exception):
    """Raised when a metric counts what the judgments do not tell; the message is the reason."""


@dataclass(frozen=True)
class Texts:
    """Texts as they stand, for measures that need no judge."""

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
        """The statements in the answer to a question of decomposition."""
        return Statements(field, cast(Decomposition, judgment.answer).statements)

    @property
    def claims(self) -> Statements:
        """Those that assert something that can be checked."""
        return Statements(self.field, tuple(piece for piece in self.pieces if piece.claim))

    @property
    def opinions(self) -> Statements:
        """Those that carry the author's own belief or judgment."""
        return Statements(self.field, tuple(piece for piece in self.pieces if piece.opinion))

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The judged pieces, in the order of the text."""
        return tuple(Evidence(piece.text, self.field, piece.span) for piece in self.pieces)


@dataclass(frozen=True)
class Support:
    """A table of verdicts: statements held against chunks, together and one by one.

    judgments: one per statement; empty where there was no premise to hold them against.
    """

    statements: Statements
    against: str
    chunks: tuple[str, ...]
    judgments: tuple[Judgment, ...]

    def __len__(self) -> int:
        return len(self.statements.pieces)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """One per statement; with no premise nothing is entailed, and nothing contradicted."""
        if not self.judgments:
            silent = (ChunkVerdict(Label.NEUTRAL),) * len(self.chunks)
            return (Verdict(Label.NEUTRAL, chunks=silent),) * len(self)
        return tuple(cast(Verdict, judgment.answer) for judgment in self.judgments)

    @property
    def entailed(self) -> tuple[bool, ...]:
        """Per statement: the chunks together entail it and none contradicts it."""
        return tuple(verdict.entailed for verdict in self.verdicts)

    @property
    def table(self) -> tuple[tuple[Label, ...], ...]:
        """Per statement, the label of each chunk.

        A lone chunk's label is the joint one. Raises NotTold where several chunks were given no label each, as by a
        person who judged them together.
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
                    ChunkEvidence(chunk, said.label, said.probability, said.span)
                    for chunk, said in zip(self.chunks, verdict.chunks, strict=False)
                ),
                rationale=verdict.rationale,
                judgment=key,
            )
            for piece, verdict, key in zip(self.statements.pieces, self.verdicts, keys, strict=True)
        )


@dataclass(frozen=True)
class Supports:
    """One table for each of several references."""

    tables: tuple[Support, ...]

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The judged pieces, in the order of the text."""
        return tuple(piece for table in self.tables for piece in table.evidence)


@dataclass(frozen=True)
class Checks:
    """Yes or no for each of several pieces: relevance of chunks or statements, traits of opinions."""

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
    """The checks of the same pieces once for each reference."""

    sets: tuple[Checks, ...]

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The judged pieces, in the order of the text."""
        return tuple(piece for checks in self.sets for piece in checks.evidence)


@dataclass(frozen=True)
class Grades:
    """A grade for each of several pieces."""

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
    """One piece to be judged, before it is: a statement with its span, or a whole field."""
    return Evidence(text, field, span, against)


def chunk_pieces(contexts: Sequence[Chunk], against: str) -> tuple[Evidence, ...]:
    """Each chunk as one piece to be judged."""
    return tuple(piece_of(f"contexts[{i}]", chunk.passage, against) for i, chunk in enumerate(contexts))
