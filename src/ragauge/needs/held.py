"""Needs about documents: which of them hold which gold claims, and so whether they hold an answer at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import msgspec

from ragauge.needs.findings import NotTold, Statements, Support
from ragauge.needs.gold import Answers, answers_of, by_claim, wordings_asked
from ragauge.needs.need import Flow, Need, NothingToCount
from ragauge.needs.support import support
from ragauge.scores import ChunkEvidence, Evidence
from ragauge.types import Chunk, Label, Sample, Statement, Verdict

#: Where labels come from that the data lacks: a judge is "asked", or only what is "given" counts.
Labels = Literal["asked", "given"]

#: Where the metadata of a document has its labels; Trust-Eval's name for them.
LABELS = "answers_found"

_LABELLED = "labelled in the data"

#: The labels of a document, one for each gold claim: whether it holds the claim.
Row = tuple[bool, ...]


@dataclass(frozen=True)
class Held:
    """What the documents hold.

    claims: for each gold claim whether some document holds it; empty where only the whole is known.
    answerable: whether some document holds some gold claim.
    documents: for each document whether it holds each claim; None where it is not told document by document.
    """

    claims: tuple[bool, ...]
    answerable: bool
    evidence: tuple[Evidence, ...] = ()
    documents: tuple[Row, ...] | None = None


@cache
def answerability(labels: Labels = "asked") -> Need[Held]:
    """Do the documents hold an answer? By the label of the sample, else those of the documents, else a judge."""

    def flow(sample: Sample) -> Flow[Held]:
        if sample.answerable is not None:
            return Held((), sample.answerable, _label(sample.answerable))
        if sample.answers:
            return (yield from held(sample, labels))
        rows = [labels_of(chunk) for chunk in sample.contexts or ()]
        if not rows or not all(rows):
            raise NothingToCount(
                "the sample has neither an 'answerable' label nor a gold claim in 'answers', nor has each document "
                "'answers_found'"
            )
        answerable = any(map(any, rows))
        return Held((), answerable, _label(answerable))

    return Need(f"answerability({labels})", (), _asks(labels), flow)


@cache
def claims_in_documents(labels: Labels = "asked") -> Need[Held]:
    """Which gold claims does some document hold? By the documents' labels `answers_found`, or a judge.

    Where the sample is labelled unanswerable, none.
    """
    return Need(f"claims_in_documents({labels})", (), _asks(labels), lambda sample: held(sample, labels))


def _asks(labels: Labels) -> frozenset[str]:
    return frozenset({"entail:support"} if labels == "asked" else ())


def held(sample: Sample, labels: Labels = "asked") -> Flow[Held]:
    """Which gold claims each document holds. The judge is asked about the documents without labels alone."""
    answers = answers_of(sample)
    if sample.answerable is False:
        return Held((False,) * len(answers), False, _label(False))
    if sample.contexts is None:
        raise NothingToCount("the sample has no contexts, so that nobody can tell whether they hold an answer")
    rows = [_row(chunk, len(answers), place) for place, chunk in enumerate(sample.contexts, 1)]
    unlabelled = [chunk for chunk, row in zip(sample.contexts, rows, strict=True) if row is None]
    if unlabelled and labels == "given":
        raise NothingToCount("a document has no 'answers_found'; labels=asked lets the judge tell")
    found, places = yield from _judged(answers, unlabelled, sample.query)
    judged = by_claim(map(_holds, found.verdicts), places, len(answers))
    claims = tuple(map(any, zip(judged, *filter(None, rows), strict=True)))
    pieces = list(zip(places, found.evidence, strict=True)) or _unasked(sample, answers)
    evidence = tuple(_beside_labels(piece, place, sample.contexts, rows) for place, piece in pieces)
    documents = _documents(found, places, rows, len(answers))
    return Held(claims, any(claims) or sample.answerable is True, evidence, documents)


def _judged(answers: Answers, documents: Sequence[Chunk], query: str | None) -> Flow[tuple[Support, list[int]]]:
    """Wordings of the gold claims held against these documents, and the claim that each is a wording of."""
    asked = wordings_asked(answers, [chunk.passage for chunk in documents]) if documents else []
    statements = Statements("answers", tuple(Statement(wording) for _, wording in asked))
    found = yield from support(statements, "contexts", [(chunk.id, chunk.passage) for chunk in documents], query)
    return found, [place for place, _ in asked]


def _holds(verdict: Verdict) -> bool:
    """Whether some document alone entails the claim; people may have judged all of them together."""
    return any(one.label is Label.ENTAILED for one in verdict.chunks or (verdict,))


def _documents(
    found: Support, places: Sequence[int], rows: Sequence[Row | None], claims: int
) -> tuple[Row, ...] | None:
    """A row for each document, by its labels or by the judge; None where documents were only judged together."""
    try:
        columns = list(zip(*found.table, strict=True))
    except NotTold:
        return None
    judged = iter(columns)
    return tuple(
        by_claim([label is Label.ENTAILED for label in next(judged)], places, claims) if row is None else row
        for row in rows
    )


def labels_of(chunk: Chunk) -> Row:
    """The labels `answers_found` of a document, one for each gold claim; none where it has none, or other values."""
    given: Any = chunk.metadata.get(LABELS)
    labels = given if isinstance(given, list | tuple) else [given]
    return tuple(map(bool, labels)) if all(label in (0, 1) for label in labels) else ()


def _row(chunk: Chunk, claims: int, place: int) -> Row | None:
    """The labels of a document, None where it has none. Raises NothingToCount where they are not one for each claim."""
    given = chunk.metadata.get(LABELS)
    if given is None:
        return None
    labels = labels_of(chunk)
    if len(labels) != claims:
        raise NothingToCount(
            f"'answers_found' of document {place} is {given!r}, not 0 or 1 for each of {claims} answers"
        )
    return labels


def _label(answerable: bool) -> tuple[Evidence, ...]:
    return (Evidence("answerable", "answerable", label=_yes(answerable)),)


def _unasked(sample: Sample, answers: Answers) -> list[tuple[int, Evidence]]:
    """The gold claims that no judge is asked about."""
    why = _LABELLED if sample.contexts else "there is no document"
    return [
        (place, Evidence(wordings[0], "answers", against="contexts", label=Label.NO, rationale=why))
        for place, wordings in enumerate(answers)
    ]


def _beside_labels(piece: Evidence, place: int, contexts: Sequence[Chunk], rows: Sequence[Row | None]) -> Evidence:
    """A piece about a claim, with what the data says of the documents that the judge was not asked about."""
    piece = msgspec.structs.replace(piece, field=f"answers[{place}]")
    if len(piece.chunks) != rows.count(None):
        return piece
    judged = iter(piece.chunks)
    chunks = tuple(
        next(judged) if row is None else ChunkEvidence(chunk.id, _yes(row[place]))
        for chunk, row in zip(contexts, rows, strict=True)
    )
    if any(row[place] for row in rows if row):
        return msgspec.structs.replace(piece, label=Label.YES, chunks=chunks, rationale=_LABELLED, judgment="")
    return msgspec.structs.replace(piece, chunks=chunks)


def _yes(holds: bool) -> Label:
    return Label.YES if holds else Label.NO
