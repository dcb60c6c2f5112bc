"""Needs about citations: what a sentence cites, whether that supports it, and whether each citation is needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Literal, cast

import msgspec

from ragauge.needs.base import Need, QuestionFlow, gather, with_verdict
from ragauge.needs.checks import instructed_refusal
from ragauge.needs.entailment import response_of
from ragauge.needs.gold import Variant, gold_labels
from ragauge.questions import Entail, Judgment
from ragauge.scores import Evidence
from ragauge.text import trust_eval
from ragauge.text.citations import Citation, CitationStyle, citations_in
from ragauge.text.cited import CitedPiece, cited_items, cited_sentences
from ragauge.text.refusals import QUESTION, claims_nothing, is_refusal_sentence
from ragauge.text.sentences import check_installed, punkt_sentences
from ragauge.types import Label, Sample, Span, Verdict

#: What must be supported: sentences, or the items of a list, each prefixed with the query.
Units = Literal["sentences", "items"]


@dataclass(frozen=True)
class Pointer:
    """One citation of a chunk, at the position `chunk`, if any; a name that several chunks have is one for each.

    text: the whole mark. counts: whether towards precision. written: the number or the name.
    """

    text: str
    span: Span
    chunk: int | None
    counts: bool = True
    written: str = ""


@dataclass(frozen=True)
class CitedSentence:
    """A sentence or an item that must be supported: its text without citations, its span with them."""

    text: str
    span: Span
    pointers: tuple[Pointer, ...]

    @property
    def chunks(self) -> tuple[int, ...]:
        """The positions of the chunks it cites, in the order cited."""
        return tuple(pointer.chunk for pointer in self.pointers if pointer.chunk is not None)


def parse_citations(sample: Sample, style: CitationStyle, units: Units) -> list[CitedSentence]:
    """The sentences with their citations, by our own rules.

    Every citation counts, once per chunk and sentence. Refusing sentences need no support, nor does what claims nothing
    and cites nothing. A response without words is one empty sentence, which nothing supports.
    """
    text, chunks, instructed = response_of(sample), sample.contexts or (), instructed_refusal(sample)
    pieces = (cited_items if units == "items" else cited_sentences)(text, chunks, style)
    if not pieces:
        return [_cited_sentence(text, "", CitedPiece("", (0, len(text)), tuple(citations_in(text, chunks, style))))]
    return [
        _cited_sentence(text, _with_query(sample, piece.text, units), piece)
        for piece in pieces
        if not is_refusal_sentence(piece.text, instructed, cited=bool(piece.citations))
        and (piece.citations or units == "items" or _claims(piece, alone=len(pieces) == 1))
    ]


def _claims(piece: CitedPiece, *, alone: bool) -> bool:
    """Whether a sentence may claim something: no greeting, question, introduction, heading, first row or code."""
    if piece.kind == "code" or (piece.kind in ("heading", "header") and not alone):
        return False
    return not (piece.text.endswith(":") or QUESTION.search(piece.text) or claims_nothing(piece.text))


def _cited_sentence(text: str, bare: str, piece: CitedPiece) -> CitedSentence:
    first: dict[int | str, Citation] = {}
    for citation in piece.citations:
        first.setdefault(citation.written if citation.chunk is None else citation.chunk, citation)
    pointers = (
        Pointer(text[slice(*citation.span)], citation.span, citation.chunk, written=citation.written)
        for citation in first.values()
    )
    return CitedSentence(bare, piece.span, tuple(pointers))


def parse_citations_trust_eval(sample: Sample, variant: Variant, units: Units, at_most: int) -> list[CitedSentence]:
    """The sentences with their citations as in Trust-Eval, or ALCE, which reads one line; `at_most` of each count."""
    text = response_of(sample)
    if variant == "alce":
        text = text.replace("<|im_end|>", "").strip().partition("\n")[0]
    spans = trust_eval.list_items(text) if units == "items" else punkt_sentences(text)
    count = len(sample.contexts or ())
    return [
        CitedSentence(
            trust_eval.without_citations(_with_query(sample, text[slice(*span)], units)).strip(),
            span,
            tuple(_numbered(text, span, count, at_most)),
        )
        for span in spans
    ]


def _numbered(text: str, span: Span, count: int, at_most: int) -> Iterator[Pointer]:
    """The citations of a sentence; a number beyond the last chunk invalidates all, and 0 is the last chunk."""
    sentence = text[slice(*span)]
    citations = trust_eval.citations(sentence)
    invalid = not count or any(number > count for number, _ in citations)
    for place, (number, (start, end)) in enumerate(citations):
        counts = not invalid and place < at_most
        chunk = (number - 1) % count if counts else None
        yield Pointer(sentence[start:end], (span[0] + start, span[0] + end), chunk, counts, str(number))


def _with_query(sample: Sample, text: str, units: Units) -> str:
    return f"{sample.query or ''} {text}".strip() if units == "items" else text


@dataclass(frozen=True)
class JudgedSentence:
    """Whether a sentence is supported by its citations together, and whether each that counts is needed."""

    supported: bool
    precise: tuple[bool, ...]
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class CitationSupport:
    """The sentences of a response that need support, judged."""

    sentences: tuple[JudgedSentence, ...]

    @property
    def supported(self) -> tuple[bool, ...]:
        """Per sentence, whether its citations together support it."""
        return tuple(sentence.supported for sentence in self.sentences)

    @property
    def precise(self) -> tuple[bool, ...]:
        """Per citation that counts, whether it is needed."""
        return tuple(flag for sentence in self.sentences for flag in sentence.precise)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Each sentence, followed by its citations."""
        return tuple(piece for sentence in self.sentences for piece in sentence.evidence)


@cache
def citations(
    variant: Annotated[Variant, "by whose rules texts are read: ragauge's, Trust-Eval's or ALCE's"] = "default",
    style: Annotated[CitationStyle, "how citations are written: brackets or parentheses"] = "brackets",
    units: Annotated[Units, "what cites: sentences, or items of a list, prefixed with the query"] = "sentences",
    at_most: Annotated[int, "how many citations of a sentence trust_eval and alce read"] = 3,
) -> Need[CitationSupport]:
    """Is each sentence (or item) of the response supported by what it cites, and is each citation needed?

    Raises MissingExtra where the package that splits sentences for the variant is not installed.
    """
    if variant != "default" and units == "sentences":
        check_installed()

    def flow(sample: Sample) -> QuestionFlow[CitationSupport]:
        if variant == "default":
            sentences = parse_citations(sample, style, units)
        else:
            sentences = parse_citations_trust_eval(sample, variant, units, at_most)
        judging = _CitationJudging(sample, variant)
        return CitationSupport((yield from gather([judging.judged(cited) for cited in sentences])))

    name = f"citations({variant},{style},{units},{at_most})"
    return Need(name, ("response", "contexts"), frozenset({"entail:support"}), flow)


class _CitationJudging:
    """Judges the sentences of one sample."""

    def __init__(self, sample: Sample, variant: Variant) -> None:
        self._chunks = sample.contexts or ()
        self._variant = variant
        self._query = sample.query if variant == "default" else None
        self._passages = [
            chunk.passage
            if variant == "default"
            else f"Title: {chunk.title}\n{chunk.metadata.get('sent') or chunk.text}"
            for chunk in self._chunks
        ]

    def judged(self, cited: CitedSentence) -> QuestionFlow[JudgedSentence]:
        """Whether the citations of a sentence support it together, and whether each is needed."""
        piece, chunks = Evidence(cited.text, "response", cited.span, "citations", Label.NEUTRAL), cited.chunks
        if not any(map(str.isalnum, cited.text)) or not any(self._passages[i].strip() for i in chunks):
            reason = "cites no document" if cited.pointers else "cites nothing"
            if not cited.text:
                reason = "is empty"
            piece = msgspec.structs.replace(piece, rationale=reason)
            return _judged_sentence(cited, False, piece, map(_unneeded, cited.pointers))
        (joint,) = yield [self._question(cited, chunks)]
        verdict = cast(Verdict, joint.answer)
        # chunks that were judged as one text, or by people, may have no labels of their own
        labels = [chunk.label for chunk in verdict.chunks] if len(verdict.chunks) == len(chunks) else []
        ids = [self._chunks[i].id for i in chunks] if labels else []
        piece = with_verdict(piece, verdict, ids, joint.key)
        if not self._supports(joint):
            return _judged_sentence(cited, False, piece, (_unneeded(pointer, joint.key) for pointer in cited.pointers))
        alone: dict[int, Judgment]  # by chunk that supports the sentence alone, the judgment that says so
        if len(chunks) == 1:
            alone = {chunks[0]: joint}
        elif labels:
            alone = {i: joint for i, label in zip(chunks, labels, strict=True) if label is Label.ENTAILED}
        else:
            judgments = yield [self._question(cited, [i]) for i in chunks]
            alone = {i: judgment for i, judgment in zip(chunks, judgments, strict=True) if self._supports(judgment)}
        citations = yield from gather([self._judged_citation(cited, pointer, alone) for pointer in cited.pointers])
        return _judged_sentence(cited, True, piece, citations)

    def _judged_citation(
        self, cited: CitedSentence, pointer: Pointer, alone: dict[int, Judgment]
    ) -> QuestionFlow[Evidence]:
        if pointer.chunk is None:
            return _unneeded(pointer)
        if pointer.chunk in alone:
            return _citation(pointer, True, "supports the sentence by itself", alone[pointer.chunk].key)
        rest = list(cited.chunks)
        rest.remove(pointer.chunk)
        if self._variant == "trust_eval" and self._shares_answer(pointer.chunk, rest):
            return _citation(pointer, True, "counted, since another document cited holds the same answer")
        (without,) = yield [self._question(cited, rest)]
        if self._supports(without):
            return _citation(pointer, False, "redundant: fails by itself, and the others suffice", without.key)
        return _citation(pointer, True, "needed in addition to the others", without.key)

    def _question(self, cited: CitedSentence, chunks: Sequence[int]) -> Entail:
        """Does each chunk, or for Trust-Eval and ALCE their lines joined into one text, entail the sentence?"""
        texts = tuple(self._passages[i] for i in chunks)
        return Entail(texts if self._variant == "default" else ("\n".join(texts),), cited.text, self._query)

    def _supports(self, judgment: Judgment) -> bool:
        verdict = cast(Verdict, judgment.answer)
        return verdict.entailed if self._variant == "default" else verdict.label is Label.ENTAILED

    def _shares_answer(self, chunk: int, rest: Sequence[int]) -> bool:
        """Whether a chunk and one of the rest are labelled with the same gold claim, which Trust-Eval counts."""
        others = [gold_labels(self._chunks[i]) for i in rest]
        own = gold_labels(self._chunks[chunk])
        # a row may be shorter, or empty where it has no labels
        labelled = {claim for row in others for claim, holds in enumerate(row) if holds}
        return any(holds and claim in labelled for claim, holds in enumerate(own))


def _judged_sentence(
    cited: CitedSentence, supported: bool, piece: Evidence, citations: Iterable[Evidence]
) -> JudgedSentence:
    judged: dict[tuple[Span, str], tuple[Pointer, Evidence]] = {}  # of a name, the chunk that is needed if one is
    for pointer, citation in zip(cited.pointers, citations, strict=True):
        if (pointer.span, pointer.written) not in judged or citation.label is Label.YES:
            judged[pointer.span, pointer.written] = pointer, citation
    precise = tuple(citation.label is Label.YES for pointer, citation in judged.values() if pointer.counts)
    return JudgedSentence(supported, precise, (piece, *(citation for _, citation in judged.values())))


def _unneeded(pointer: Pointer, judgment: str = "") -> Evidence:
    """A citation that supports nothing."""
    missing = "points at no document" if pointer.chunk is None else "the sentence is not supported"
    reason = missing if pointer.counts else "not counted"
    return _citation(pointer, False, reason, judgment)


def _citation(pointer: Pointer, needed: bool, reason: str, judgment: str = "") -> Evidence:
    against = "contexts" if pointer.chunk is None else f"contexts[{pointer.chunk}]"
    label = Label.YES if needed else Label.NO
    return Evidence(pointer.text, "response", pointer.span, against, label, rationale=reason, judgment=judgment)
