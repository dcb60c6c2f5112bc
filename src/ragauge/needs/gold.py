"""Needs about gold claims: which of them the response contains, and which the documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal

import msgspec

from ragauge.needs.base import Need, NothingToCount, NotReported, QuestionFlow, Statements, Support
from ragauge.needs.entailment import response_of, support
from ragauge.scores import ChunkEvidence, Evidence
from ragauge.text import trust_eval
from ragauge.text.citations import CitationStyle
from ragauge.text.cited import cited_items, without_citations
from ragauge.text.tokens import squad_normalise
from ragauge.types import Chunk, Label, Sample, Statement

#: How gold claims are matched in a response: by entailment ("cm"), as strings ("em"), as items of a list ("em5").
Correctness = Literal["cm", "em", "em5"]

#: By whose rules texts are read: ours, Trust-Eval's, or ALCE's, which differ from Trust-Eval's in citations only.
Variant = Literal["default", "trust_eval", "alce"]

_ReadBy = Annotated[Variant, "by whose rules texts are read: ragauge's, Trust-Eval's or ALCE's"]
_CitedIn = Annotated[CitationStyle, "how citations are written: brackets or parentheses"]

#: Gold claims, each a tuple of wordings.
GoldAnswers = tuple[tuple[str, ...], ...]

#: Per gold claim, whether a document contains it.
GoldRow = tuple[bool, ...]


@dataclass(frozen=True)
class MatchedGold:
    """Whether the response matches each gold claim. items, gold: for a list, its items and the claims, normalised."""

    claims: tuple[bool, ...]
    evidence: tuple[Evidence, ...]
    items: tuple[str, ...] = ()
    gold: tuple[tuple[str, ...], ...] = ()


def gold_answers(sample: Sample) -> GoldAnswers:
    """The gold claims. Raises NothingToCount where there is none, or one has no wording."""
    if not sample.answers:
        raise NothingToCount("the sample has no gold claim in 'answers'")
    if not all(sample.answers):
        raise NothingToCount("a gold claim in 'answers' has no wording")
    return sample.answers


def _wordings_to_judge(answers: GoldAnswers, texts: Sequence[str]) -> list[tuple[int, str]]:
    """The wordings of each gold claim, by its index, that occur in some text as whole words, or else all of them."""
    normalised = [_padded(text) for text in texts] if any(len(wordings) > 1 for wordings in answers) else []
    asked = []
    for i, wordings in enumerate(answers):
        distinct = list({squad_normalise(wording) or wording: wording for wording in wordings}.values())
        occurring = [wording for wording in distinct if any(_occurs(wording, text) for text in normalised)]
        asked += [(i, wording) for wording in occurring or distinct]
    return asked


def _any_by_claim(flags: Iterable[bool], claim_of: Sequence[int], n: int) -> GoldRow:
    """For each of n claims, whether the flag of any of its wordings is set. claim_of: the claim of each flag."""
    matched = {claim for claim, flag in zip(claim_of, flags, strict=True) if flag}
    return tuple(claim in matched for claim in range(n))


def _yes_no(yes: bool) -> Label:
    return Label.YES if yes else Label.NO


@cache
def claims_in_response(
    correctness: Annotated[Correctness, "cm by entailment, em as strings, em5 as items of a list"] = "cm",
    variant: _ReadBy = "default",
    style: _CitedIn = "brackets",
) -> Need[MatchedGold]:
    """Which gold claims does the response without its citations contain? style: how citations are written."""
    asks = frozenset({"entail:support"} if correctness == "cm" else ())
    flow = _FLOWS[correctness]
    name = f"claims_in_response({correctness},{variant},{style})"
    return Need(name, ("response", "answers"), asks, lambda sample: flow(sample, variant, style))


def _claims_by(correctness: Correctness) -> Callable[..., Need[MatchedGold]]:
    def matched(variant: _ReadBy = "default", style: _CitedIn = "brackets") -> Need[MatchedGold]:
        return claims_in_response(correctness, variant, style)

    return matched


claims_entailed, claims_present, claims_listed = _claims_by("cm"), _claims_by("em"), _claims_by("em5")


def _entailed(sample: Sample, variant: Variant, style: CitationStyle) -> QuestionFlow[MatchedGold]:
    """Does the response entail some wording of each claim? The other variants ask about the first wording only."""
    answers, text, default = gold_answers(sample), _without_citations(sample, variant, style), variant == "default"
    asked = _wordings_to_judge(answers, [text]) if default else [(i, wordings[0]) for i, wordings in enumerate(answers)]
    statements = Statements("answers", tuple(Statement(wording) for _, wording in asked))
    query = sample.query if default else None
    judged: Support = yield from support(statements, "response", [("response", text)], query)
    entailed = judged.entailed if default else tuple(verdict.label is Label.ENTAILED for verdict in judged.verdicts)
    return MatchedGold(_any_by_claim(entailed, [claim for claim, _ in asked], len(answers)), judged.evidence)


def _present(sample: Sample, variant: Variant, style: CitationStyle) -> QuestionFlow[MatchedGold]:
    """Does some wording of each claim occur in the response?"""
    yield from ()
    answers, text = gold_answers(sample), _without_citations(sample, variant, style)
    if variant == "default":  # whole words; a wording of articles only never occurs
        padded = _padded(text)
        claims = tuple(any(_occurs(wording, padded) for wording in wordings) for wordings in answers)
    else:
        claims = tuple(trust_eval.contains(text, wordings) for wordings in answers)
    return MatchedGold(claims, _matches(answers, claims))


def _listed(sample: Sample, variant: Variant, style: CitationStyle) -> QuestionFlow[MatchedGold]:
    """Is some wording of each claim an item of the response? Both are SQuAD-normalised."""
    yield from ()
    answers = gold_answers(sample)
    if variant == "default":
        pieces = [item.text for item in cited_items(response_of(sample), sample.contexts or (), style)]
    else:
        bare = _without_citations(sample, variant, style)
        pieces = [bare[slice(*span)] for span in trust_eval.list_items(bare)]
    items = tuple(item for item in map(squad_normalise, pieces) if item)
    gold = tuple(tuple(map(squad_normalise, wordings)) for wordings in answers)
    claims = tuple(any(wording in items for wording in wordings) for wordings in gold)
    return MatchedGold(claims, _matches(answers, claims), items, gold)


_FLOWS = {"cm": _entailed, "em": _present, "em5": _listed}


def _without_citations(sample: Sample, variant: Variant, style: CitationStyle) -> str:
    if variant == "default":
        return without_citations(response_of(sample), sample.contexts or (), style)
    return trust_eval.without_citations(response_of(sample))


def _padded(text: str) -> str:
    return f" {squad_normalise(text)} "


def _occurs(wording: str, padded: str) -> bool:
    words = squad_normalise(wording)
    return bool(words) and f" {words} " in padded


def _matches(answers: Sequence[Sequence[str]], claims: Sequence[bool]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(wordings[0], f"answers[{i}]", against="response", label=_yes_no(yes))
        for i, (wordings, yes) in enumerate(zip(answers, claims, strict=True))
    )


#: Whether a judge is "asked" for labels that the data lacks, or only those "given" count.
GoldLabels = Literal["asked", "given"]

_LabelsFrom = Annotated[GoldLabels, "where the data has no labels: asked of the judge, or given ones alone count"]

_ASKS: dict[GoldLabels, frozenset[str]] = {"asked": frozenset({"entail:support"}), "given": frozenset()}

#: The key of a document's metadata for its gold labels; Trust-Eval's name.
GOLD_LABELS_KEY = "answers_found"

_LABELLED = "labelled in the data"


@dataclass(frozen=True)
class GoldInContexts:
    """The gold claims contained in the documents.

    claims: per gold claim, whether some document contains it; empty where only `answerable` is known.
    documents: per document, whether it contains each claim; None where documents were only judged together.
    """

    claims: tuple[bool, ...]
    answerable: bool
    evidence: tuple[Evidence, ...] = ()
    documents: tuple[GoldRow, ...] | None = None


@cache
def answerability(labels: _LabelsFrom = "asked") -> Need[GoldInContexts]:
    """Do the documents contain an answer? By the label of the sample, else of the documents, else by a judge."""

    def flow(sample: Sample) -> QuestionFlow[GoldInContexts]:
        if sample.answerable is not None:
            return GoldInContexts((), sample.answerable, _label(sample.answerable))
        if sample.answers:
            return (yield from gold_in_contexts(sample, labels))
        rows = [gold_labels(chunk) for chunk in sample.contexts or ()]
        if not rows or not all(rows):
            raise NothingToCount(
                "the sample has neither an 'answerable' label nor a gold claim in 'answers', nor has each document "
                "'answers_found'"
            )
        answerable = any(map(any, rows))
        return GoldInContexts((), answerable, _label(answerable))

    return Need(f"answerability({labels})", (), _ASKS[labels], flow)


@cache
def claims_in_documents(labels: _LabelsFrom = "asked") -> Need[GoldInContexts]:
    """Which gold claims does some document contain? By its label `answers_found`, or by a judge."""
    return Need(f"claims_in_documents({labels})", (), _ASKS[labels], lambda sample: gold_in_contexts(sample, labels))


def gold_in_contexts(sample: Sample, labels: GoldLabels = "asked") -> QuestionFlow[GoldInContexts]:
    """Which gold claims each document contains. The judge is asked about unlabelled documents only."""
    answers = gold_answers(sample)
    if sample.answerable is False:
        return GoldInContexts((False,) * len(answers), False, _label(False))
    if sample.contexts is None:
        raise NothingToCount("the sample has no contexts, so whether they hold an answer is unknown")
    rows = [_label_row(chunk, len(answers), position) for position, chunk in enumerate(sample.contexts, 1)]
    unlabelled = [chunk for chunk, row in zip(sample.contexts, rows, strict=True) if row is None]
    if unlabelled and labels == "given":
        raise NothingToCount("a document has no 'answers_found'; labels=asked lets the judge decide")
    passages = [(chunk.id, chunk.passage) for chunk in unlabelled]
    asked = _wordings_to_judge(answers, [passage for _, passage in passages]) if passages else []
    claim_of = [claim for claim, _ in asked]
    statements = Statements("answers", tuple(Statement(wording) for _, wording in asked))
    judged_support = yield from support(statements, "contexts", passages, sample.query)

    def by_claim(flags: Iterable[bool]) -> GoldRow:
        return _any_by_claim(flags, claim_of, len(answers))

    # by some document alone, or all together where only that was judged
    parts = (verdict.chunks or (verdict,) for verdict in judged_support.verdicts)
    judged = by_claim(any(part.label is Label.ENTAILED for part in verdicts) for verdicts in parts)
    claims = tuple(map(any, zip(judged, *filter(None, rows), strict=True)))
    pieces = list(zip(claim_of, judged_support.evidence, strict=True)) or _unasked(sample, answers)
    evidence = tuple(_with_labels(piece, claim, sample.contexts, rows) for claim, piece in pieces)
    documents: tuple[GoldRow, ...] | None = None
    with suppress(NotReported):  # raised where documents were only judged together
        columns = iter(list(zip(*judged_support.table, strict=True)))
        documents = tuple(row or by_claim(label is Label.ENTAILED for label in next(columns)) for row in rows)
    return GoldInContexts(claims, any(claims) or sample.answerable is True, evidence, documents)


def gold_labels(chunk: Chunk) -> GoldRow:
    """The labels `answers_found` of a document, one per gold claim; empty where it has none, or invalid ones."""
    value: Any = chunk.metadata.get(GOLD_LABELS_KEY)
    labels = value if isinstance(value, list | tuple) else [value]
    return tuple(map(bool, labels)) if all(label in (0, 1) for label in labels) else ()


def _label_row(chunk: Chunk, claims: int, position: int) -> GoldRow | None:
    """The labels of a document, None where it has none. Raises NothingToCount unless there is one per claim."""
    value = chunk.metadata.get(GOLD_LABELS_KEY)
    if value is None:
        return None
    labels = gold_labels(chunk)
    if len(labels) != claims:
        raise NothingToCount(
            f"'answers_found' of document {position} is {value!r}, not 0 or 1 for each of {claims} answers"
        )
    return labels


def _label(answerable: bool) -> tuple[Evidence, ...]:
    return (Evidence("answerable", "answerable", label=_yes_no(answerable)),)


def _unasked(sample: Sample, answers: GoldAnswers) -> list[tuple[int, Evidence]]:
    """The evidence on gold claims where no judge was asked."""
    why = _LABELLED if sample.contexts else "there is no document"
    return [
        (i, Evidence(wordings[0], "answers", against="contexts", label=Label.NO, rationale=why))
        for i, wordings in enumerate(answers)
    ]


def _with_labels(piece: Evidence, claim: int, contexts: Sequence[Chunk], rows: Sequence[GoldRow | None]) -> Evidence:
    """The evidence on a claim, completed by the labels of the documents that the judge was not asked about."""
    piece = msgspec.structs.replace(piece, field=f"answers[{claim}]")
    if len(piece.chunks) != rows.count(None):
        return piece
    judged = iter(piece.chunks)
    chunks = tuple(
        next(judged) if row is None else ChunkEvidence(chunk.id, _yes_no(row[claim]))
        for chunk, row in zip(contexts, rows, strict=True)
    )
    if any(row[claim] for row in rows if row):
        return msgspec.structs.replace(piece, label=Label.YES, chunks=chunks, rationale=_LABELLED, judgment="")
    return msgspec.structs.replace(piece, chunks=chunks)
