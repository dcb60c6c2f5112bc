"""Needs about gold claims: which of them the response holds, and which of the documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import msgspec

from ragauge.needs.base import Need, NothingToCount, QuestionFlow
from ragauge.needs.entailment import cited_as, response_of, support
from ragauge.needs.evidence import NotReported, Statements, Support
from ragauge.scores import ChunkEvidence, Evidence
from ragauge.text import trust_eval
from ragauge.text.citations import CitationStyle
from ragauge.text.cited import cited_items, without_citations
from ragauge.text.tokens import squad_normalise
from ragauge.types import Chunk, Label, Sample, Statement, Verdict

#: How gold claims are looked for in a response: by entailment ("cm"), as strings ("em"), as items of a list ("em5").
Correctness = Literal["cm", "em", "em5"]

#: Whose reading of texts: ours, Trust-Eval's, or ALCE's, which differs from Trust-Eval's in citations alone.
Variant = Literal["default", "trust_eval", "alce"]

#: Gold claims, each a tuple of wordings.
GoldAnswers = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class MatchedGold:
    """What the response holds: for each gold claim whether it is there; for a list also its items, right or wrong."""

    claims: tuple[bool, ...]
    evidence: tuple[Evidence, ...]
    items: tuple[str, ...] = ()
    gold: tuple[tuple[str, ...], ...] = ()


def answers_of(sample: Sample) -> GoldAnswers:
    """The gold claims. Raises NothingToCount where there are none, or one without wording."""
    if not sample.answers:
        raise NothingToCount("the sample has no gold claim in 'answers'")
    if not all(sample.answers):
        raise NothingToCount("a gold claim in 'answers' has no wording")
    return sample.answers


def wordings_asked(answers: GoldAnswers, texts: Sequence[str]) -> list[tuple[int, str]]:
    """The wordings of the gold claims that a judge is asked about, each with the position of its claim.

    They are those that stand in some text as whole words; of a claim of which none does, all.
    """
    plain = [_plain(text) for text in texts] if any(len(wordings) > 1 for wordings in answers) else []
    return [(place, wording) for place, wordings in enumerate(answers) for wording in _standing(wordings, plain)]


def _standing(wordings: Sequence[str], plain: Sequence[str]) -> Sequence[str]:
    different = list({squad_normalise(wording) or wording: wording for wording in wordings}.values())
    return [one for one in different if any(_stands(one, text) for text in plain)] or different


def by_claim(flags: Iterable[bool], places: Sequence[int], claims: int) -> tuple[bool, ...]:
    """For each of so many claims whether the flag of some wording is set; places: the claim of each flag."""
    found = {place for place, flag in zip(places, flags, strict=True) if flag}
    return tuple(place in found for place in range(claims))


def _found(yes: bool) -> Label:
    return Label.YES if yes else Label.NO


@cache
def claims_in_response(
    correctness: Correctness = "cm", variant: Variant = "default", style: CitationStyle = "brackets"
) -> Need[MatchedGold]:
    """Which gold claims does the response hold, once its citations are left out? style: how these are written."""
    asks = frozenset({"entail:support"} if correctness == "cm" else ())
    flow = _FLOWS[correctness]
    name = f"claims_in_response({correctness},{variant},{style})"
    return Need(name, ("response", "answers"), asks, lambda sample: flow(sample, variant, style))


def claims_entailed(variant: Variant = "default", style: CitationStyle = "brackets") -> Need[MatchedGold]:
    """Which gold claims does the response entail?"""
    return claims_in_response("cm", variant, style)


def claims_present(variant: Variant = "default", style: CitationStyle = "brackets") -> Need[MatchedGold]:
    """Of which gold claims does some wording stand in the response?"""
    return claims_in_response("em", variant, style)


def claims_listed(variant: Variant = "default", style: CitationStyle = "brackets") -> Need[MatchedGold]:
    """Which gold claims are among the items of the response, which is a list?"""
    return claims_in_response("em5", variant, style)


def _entailed(sample: Sample, variant: Variant, style: CitationStyle) -> QuestionFlow[MatchedGold]:
    """Wordings of each claim held against the response; in the other variants the first alone."""
    answers, text, own = answers_of(sample), _bare(sample, variant, style), variant == "default"
    asked = wordings_asked(answers, [text]) if own else [(i, wordings[0]) for i, wordings in enumerate(answers)]
    statements = Statements("answers", tuple(Statement(wording) for _, wording in asked))
    found: Support = yield from support(statements, "response", [("response", text)], sample.query if own else None)
    entailed = found.entailed if own else tuple(v.label is Label.ENTAILED for v in found.verdicts)
    return MatchedGold(by_claim(entailed, [place for place, _ in asked], len(answers)), found.evidence)


def _present(sample: Sample, variant: Variant, style: CitationStyle) -> QuestionFlow[MatchedGold]:
    """Any wording of each claim as a part of the response."""
    yield from ()
    answers, text = answers_of(sample), _bare(sample, variant, style)
    holds = _holds_words if variant == "default" else trust_eval.holds
    claims = tuple(holds(text, wordings) for wordings in answers)
    return MatchedGold(claims, _matches(answers, claims))


def _listed(sample: Sample, variant: Variant, style: CitationStyle) -> QuestionFlow[MatchedGold]:
    """Any wording of each claim as one of the response's items; both normalised as in SQuAD."""
    yield from ()
    answers = answers_of(sample)
    items = tuple(item for item in map(squad_normalise, _items(sample, variant, style)) if item)
    gold = tuple(tuple(map(squad_normalise, wordings)) for wordings in answers)
    claims = tuple(any(wording in items for wording in wordings) for wordings in gold)
    return MatchedGold(claims, _matches(answers, claims), items, gold)


def _items(sample: Sample, variant: Variant, style: CitationStyle) -> list[str]:
    if variant == "default":
        return [one.text for one in cited_items(response_of(sample), cited_as(sample), style)]
    bare = _bare(sample, variant, style)
    return [bare[slice(*span)] for span in trust_eval.listed(bare)]


_FLOWS: dict[Correctness, Callable[[Sample, Variant, CitationStyle], QuestionFlow[MatchedGold]]] = {
    "cm": _entailed,
    "em": _present,
    "em5": _listed,
}


def _bare(sample: Sample, variant: Variant, style: CitationStyle) -> str:
    if variant == "default":
        return without_citations(response_of(sample), cited_as(sample), style)
    return trust_eval.bare(response_of(sample))


def _holds_words(text: str, wordings: Sequence[str]) -> bool:
    """Whether any wording stands in the text as whole words; one that is nothing but articles stands nowhere."""
    plain = _plain(text)
    return any(_stands(wording, plain) for wording in wordings)


def _plain(text: str) -> str:
    return f" {squad_normalise(text)} "


def _stands(wording: str, plain: str) -> bool:
    words = squad_normalise(wording)
    return bool(words) and f" {words} " in plain


def _matches(answers: Sequence[Sequence[str]], claims: Sequence[bool]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(wordings[0], f"answers[{i}]", against="response", label=_found(yes))
        for i, (wordings, yes) in enumerate(zip(answers, claims, strict=True))
    )


#: Where labels come from that the data lacks: a judge is "asked", or only what is "given" counts.
GoldLabels = Literal["asked", "given"]

#: Where the metadata of a document has its labels; Trust-Eval's name for them.
LABELS = "answers_found"

_LABELLED = "labelled in the data"

#: The labels of a document, one for each gold claim: whether it holds the claim.
GoldRow = tuple[bool, ...]


@dataclass(frozen=True)
class GoldInContexts:
    """What the documents hold.

    claims: for each gold claim whether some document holds it; empty where only the whole is known.
    answerable: whether some document holds some gold claim.
    documents: for each document whether it holds each claim; None where it is not told document by document.
    """

    claims: tuple[bool, ...]
    answerable: bool
    evidence: tuple[Evidence, ...] = ()
    documents: tuple[GoldRow, ...] | None = None


@cache
def answerability(labels: GoldLabels = "asked") -> Need[GoldInContexts]:
    """Do the documents hold an answer? By the label of the sample, else those of the documents, else a judge."""

    def flow(sample: Sample) -> QuestionFlow[GoldInContexts]:
        if sample.answerable is not None:
            return GoldInContexts((), sample.answerable, _label(sample.answerable))
        if sample.answers:
            return (yield from gold_in_contexts(sample, labels))
        rows = [labels_of(chunk) for chunk in sample.contexts or ()]
        if not rows or not all(rows):
            raise NothingToCount(
                "the sample has neither an 'answerable' label nor a gold claim in 'answers', nor has each document "
                "'answers_found'"
            )
        answerable = any(map(any, rows))
        return GoldInContexts((), answerable, _label(answerable))

    return Need(f"answerability({labels})", (), _asks(labels), flow)


@cache
def claims_in_documents(labels: GoldLabels = "asked") -> Need[GoldInContexts]:
    """Which gold claims does some document hold? By the documents' labels `answers_found`, or a judge.

    Where the sample is labelled unanswerable, none.
    """
    return Need(f"claims_in_documents({labels})", (), _asks(labels), lambda sample: gold_in_contexts(sample, labels))


def _asks(labels: GoldLabels) -> frozenset[str]:
    return frozenset({"entail:support"} if labels == "asked" else ())


def gold_in_contexts(sample: Sample, labels: GoldLabels = "asked") -> QuestionFlow[GoldInContexts]:
    """Which gold claims each document holds. The judge is asked about the documents without labels alone."""
    answers = answers_of(sample)
    if sample.answerable is False:
        return GoldInContexts((False,) * len(answers), False, _label(False))
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
    return GoldInContexts(claims, any(claims) or sample.answerable is True, evidence, documents)


def _judged(
    answers: GoldAnswers, documents: Sequence[Chunk], query: str | None
) -> QuestionFlow[tuple[Support, list[int]]]:
    """Wordings of the gold claims held against these documents, and the claim that each is a wording of."""
    asked = wordings_asked(answers, [chunk.passage for chunk in documents]) if documents else []
    statements = Statements("answers", tuple(Statement(wording) for _, wording in asked))
    found = yield from support(statements, "contexts", [(chunk.id, chunk.passage) for chunk in documents], query)
    return found, [place for place, _ in asked]


def _holds(verdict: Verdict) -> bool:
    """Whether some document alone entails the claim; people may have judged all of them together."""
    return any(one.label is Label.ENTAILED for one in verdict.chunks or (verdict,))


def _documents(
    found: Support, places: Sequence[int], rows: Sequence[GoldRow | None], claims: int
) -> tuple[GoldRow, ...] | None:
    """A row for each document, by its labels or by the judge; None where documents were only judged together."""
    try:
        columns = list(zip(*found.table, strict=True))
    except NotReported:
        return None
    judged = iter(columns)
    return tuple(
        by_claim([label is Label.ENTAILED for label in next(judged)], places, claims) if row is None else row
        for row in rows
    )


def labels_of(chunk: Chunk) -> GoldRow:
    """The labels `answers_found` of a document, one for each gold claim; none where it has none, or other values."""
    given: Any = chunk.metadata.get(LABELS)
    labels = given if isinstance(given, list | tuple) else [given]
    return tuple(map(bool, labels)) if all(label in (0, 1) for label in labels) else ()


def _row(chunk: Chunk, claims: int, place: int) -> GoldRow | None:
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


def _unasked(sample: Sample, answers: GoldAnswers) -> list[tuple[int, Evidence]]:
    """The gold claims that no judge is asked about."""
    why = _LABELLED if sample.contexts else "there is no document"
    return [
        (place, Evidence(wordings[0], "answers", against="contexts", label=Label.NO, rationale=why))
        for place, wordings in enumerate(answers)
    ]


def _beside_labels(piece: Evidence, place: int, contexts: Sequence[Chunk], rows: Sequence[GoldRow | None]) -> Evidence:
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
