"""Citing afterwards: an answer that cites nothing is given the citations that a judge finds for it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from ragauge.dataset.generation.prompts import AnswerForm
from ragauge.needs.base import Need, NothingToCount, QuestionFlow
from ragauge.needs.checks import refusal_text
from ragauge.needs.entailment import cited_as, support
from ragauge.needs.evidence import Statements, Support
from ragauge.scores import Evidence
from ragauge.text.citations import CitationStyle, citation_marks, citations_in
from ragauge.text.cited import CitedPiece, cited_items, cited_sentences
from ragauge.text.refusals import refusal
from ragauge.types import ChunkVerdict, Label, Sample, Span, Statement, Verdict

_STOP = re.compile(r"[.!?。！？]*[\"'”’)\]]*\Z")


@dataclass(frozen=True)
class Citing:
    """An answer with citations. added: how many of its sentences or items got one."""

    response: str
    added: int
    evidence: tuple[Evidence, ...] = ()


def citing(form: AnswerForm) -> Need[Citing]:
    """Each sentence, or item of a list, with the document that entails it best; none where none entails it.

    An answer that cites something, however citations are written, is left as it is, and so is a refusal.
    """

    def flow(sample: Sample) -> QuestionFlow[Citing]:
        text = sample.response or ""
        cut = cited_items if form == "list" else cited_sentences
        pieces = cut(text, [""] * len(sample.contexts or ()))
        if not pieces or _cites(text, cited_as(sample)) or refusal(text, refusal_text(sample)):
            raise NothingToCount("there is nothing to be cited")
        statements = Statements("response", tuple(Statement(piece.text, piece.span) for piece in pieces))
        chunks = [(chunk.id, chunk.passage) for chunk in sample.contexts or ()]
        found: Support = yield from support(statements, "contexts", chunks, sample.query)
        best = [_best(verdict, len(chunks)) for verdict in found.verdicts]
        return Citing(_marked(text, pieces, best), len(best) - best.count(None))

    return Need(f"citing({form})", ("response", "contexts"), frozenset({"entail:support"}), flow)


def _cites(text: str, chunks: Sequence[str]) -> bool:
    """Whether a text cites: a number in brackets, or in any style a chunk. chunks: what each is cited by."""
    reached = (one.reach for style in get_args(CitationStyle) for one in citations_in(text, chunks, style))
    return bool(citation_marks(text)) or "chunk" in reached


def _best(verdict: Verdict, chunks: int) -> int | None:
    """The position of the chunk that entails best, the first of equals; None where none entails by itself."""
    each: Sequence[Verdict | ChunkVerdict] = verdict.chunks or ((verdict,) if chunks == 1 else ())
    entailing = [i for i, chunk in enumerate(each) if chunk.label is Label.ENTAILED]
    return max(entailing, key=lambda i: (each[i].probability or 0.0, -i), default=None)


def _marked(text: str, pieces: Sequence[CitedPiece], best: Sequence[int | None]) -> str:
    """The text with a mark before the end of each piece that has a document."""
    for piece, chunk in sorted(zip(pieces, best, strict=True), reverse=True, key=lambda pair: pair[0].span):
        if chunk is not None:
            at = _before_stop(text, piece.span)
            text = f"{text[:at]} [{chunk + 1}]{text[at:]}"
    return text


def _before_stop(text: str, span: Span) -> int:
    found = _STOP.search(text[slice(*span)])
    return span[0] + found.start() if found else span[1]
