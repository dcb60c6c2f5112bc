"""Needs about citations: what a sentence cites, whether that supports it, and whether each citation is needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, cast

import msgspec

from ragauge.needs.base import Need, QuestionFlow, gather
from ragauge.needs.checks import instructed_refusal
from ragauge.needs.entailment import citation_labels, response_of
from ragauge.needs.evidence import with_verdict
from ragauge.needs.gold import Variant, gold_labels
from ragauge.questions import Entail, Judgment
from ragauge.scores import Evidence
from ragauge.text import trust_eval
from ragauge.text.citations import Citation, CitationStyle, citations_in
from ragauge.text.cited import CitedPiece, cited_items, cited_sentences
from ragauge.text.refusals import is_refusal_sentence
from ragauge.text.sentences import check_installed, punkt_sentences
from ragauge.types import Chunk, ChunkVerdict, Label, Sample, Span, Verdict

#: What must be supported: sentences, or the items of a list, each prefixed with the query.
Units = Literal["sentences", "items"]


@dataclass(frozen=True)
class Pointer:
    """One citation as written in the response.

    chunk: the position of the cited chunk; None where there is no such chunk. counts: whether it counts towards
    precision.
    """

    text: str
    span: Span
    chunk: int | None
    counts: bool = True


@dataclass(frozen=True)
class CitedSentence:
    """A sentence or an item that must be supported: its text without citations, its span with them."""

    text: str
    span: Span
    pointers: tuple[Pointer, ...]

    @property
    def chunks(self) -> tuple[int, ...]:
        """The positions of the chunks it cites, in the order cited."""
        return tuple(one.chunk for one in self.pointers if one.chunk is not None)


def parse_citations(sample: Sample, style: CitationStyle, units: Units) -> list[CitedSentence]:
    """The sentences with their citations, by our own rules.

    Every citation counts, once per chunk and sentence; refusing sentences need no support. A response without words is
    one empty sentence, which nothing supports.
    """
    text = response_of(sample)
    split = cited_items if units == "items" else cited_sentences
    labels = citation_labels(sample)
    pieces = split(text, labels, style)
    if not pieces:
        empty = CitedPiece("", (0, len(text)), tuple(citations_in(text, labels, style)))
        return [CitedSentence("", empty.span, tuple(_pointers(text, empty)))]
    return [
        CitedSentence(_with_query(sample, piece.text, units), piece.span, tuple(_pointers(text, piece)))
        for piece in pieces
        if not is_refusal_sentence(piece.text, instructed_refusal(sample), cited=bool(piece.citations))
    ]


def _pointers(text: str, piece: CitedPiece) -> Iterator[Pointer]:
    first: dict[int | str, Citation] = {}
    for one in piece.citations:
        first.setdefault(one.written if one.chunk is None else one.chunk, one)
    for one in first.values():
        yield Pointer(text[slice(*one.span)], one.span, one.chunk)


def parse_citations_trust_eval(sample: Sample, variant: Variant, units: Units, at_most: int) -> list[CitedSentence]:
    """The sentences with their citations, by the rules of Trust-Eval and ALCE; `at_most` citations of each count.

    ALCE reads only the first line.
    """
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
    numbers = trust_eval.citations(sentence)
    invalid = not count or any(number > count for number in numbers)
    for place, (number, (start, end)) in enumerate(zip(numbers, trust_eval.citation_spans(sentence), strict=True)):
        counts = not invalid and place < at_most
        chunk = (number - 1) % count if counts else None
        yield Pointer(sentence[start:end], (span[0] + start, span[0] + end), chunk, counts)


def _with_query(sample: Sample, text: str, units: Units) -> str:
    return f"{sample.query or ''} {text}".strip() if units == "items" else text


def passages(chunks: Sequence[Chunk], variant: Variant) -> list[str]:
    """The premise texts, as the variant presents chunks to a judge."""
    if variant == "default":
        return [chunk.passage for chunk in chunks]
    return [f"Title: {chunk.title}\n{chunk.metadata.get('sent') or chunk.text}" for chunk in chunks]


_NOTHING = "points at no document"
_UNSUPPORTED = "the sentence is not supported"
_ALONE = "supports the sentence by itself"
_NEEDED = "needed in addition to the others"
_REDUNDANT = "redundant: fails by itself, and the others suffice"
_SHARED = "counted, since another document cited holds the same answer"
_NOT_COUNTED = "not counted"


@dataclass(frozen=True)
class JudgedCitation:
    """Whether a citation is needed, and why or why not. judgment: the key of the judgment that decided."""

    pointer: Pointer
    precise: bool
    reason: str
    judgment: str = ""


@dataclass(frozen=True)
class JudgedSentence:
    """A sentence, whether its citations together support it, and whether each is needed."""

    cited: CitedSentence
    supported: bool
    judgment: Judgment | None
    citations: tuple[JudgedCitation, ...]


@dataclass(frozen=True)
class CitationSupport:
    """The sentences of a response that need support, judged. chunks: the ids of the contexts."""

    sentences: tuple[JudgedSentence, ...]
    chunks: tuple[str, ...]

    @property
    def supported(self) -> tuple[bool, ...]:
        """Per sentence, whether its citations together support it."""
        return tuple(one.supported for one in self.sentences)

    @property
    def precise(self) -> tuple[bool, ...]:
        """Per citation that counts, whether it is needed."""
        citations = (citation for one in self.sentences for citation in one.citations)
        return tuple(citation.precise for citation in citations if citation.pointer.counts)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Each sentence, followed by its citations."""
        return tuple(piece for one in self.sentences for piece in _evidence(one, self.chunks))


def _evidence(one: JudgedSentence, ids: Sequence[str]) -> Iterator[Evidence]:
    cited = one.cited
    if one.judgment is None:
        reason = "is empty" if not cited.text else "cites no document" if cited.pointers else "cites nothing"
        yield Evidence(cited.text, "response", cited.span, "citations", Label.NEUTRAL, rationale=reason)
    else:
        verdict = cast(Verdict, one.judgment.answer)
        labelled = [ids[i] for i in cited.chunks] if _chunk_verdicts(cited, verdict) else []
        piece = Evidence(cited.text, "response", cited.span)
        yield with_verdict(piece, "citations", verdict, labelled, one.judgment.key)
    for citation in one.citations:
        pointer = citation.pointer
        against = "contexts" if pointer.chunk is None else f"contexts[{pointer.chunk}]"
        label = Label.YES if citation.precise else Label.NO
        piece = Evidence(pointer.text, "response", pointer.span, against, label, rationale=citation.reason)
        yield msgspec.structs.replace(piece, judgment=citation.judgment)


def _chunk_verdicts(cited: CitedSentence, verdict: Verdict) -> Sequence[ChunkVerdict]:
    """The verdict on each chunk; none where the chunks were judged as one text, or people gave no labels."""
    return verdict.chunks if len(verdict.chunks) == len(cited.chunks) else ()


@cache
def citations(
    variant: Variant = "default", style: CitationStyle = "brackets", units: Units = "sentences", at_most: int = 3
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
        judged = yield from gather([judging.judged(cited) for cited in sentences])
        return CitationSupport(judged, tuple(chunk.id for chunk in sample.contexts or ()))

    name = f"citations({variant},{style},{units},{at_most})"
    return Need(name, ("response", "contexts"), frozenset({"entail:support"}), flow)


class _CitationJudging:
    """How the sentences of one sample are judged."""

    def __init__(self, sample: Sample, variant: Variant) -> None:
        self._chunks: tuple[Chunk, ...] = sample.contexts or ()
        self._passages = passages(self._chunks, variant)
        self._query = sample.query if variant == "default" else None
        self._strict = variant == "default"
        self._shared_answers_count = variant == "trust_eval"

    def judged(self, cited: CitedSentence) -> QuestionFlow[JudgedSentence]:
        """Whether the citations of a sentence support it together, and whether each is needed."""
        if not any(map(str.isalnum, cited.text)) or not any(self._passages[i].strip() for i in cited.chunks):
            return JudgedSentence(cited, False, None, tuple(map(_unneeded, cited.pointers)))
        (joint,) = yield [self._question(cited, cited.chunks)]
        if not self._supports(joint):
            return JudgedSentence(cited, False, joint, tuple(_unneeded(one, joint.key) for one in cited.pointers))
        alone = yield from self._alone(cited, joint)
        citations = yield from gather([self._judged_citation(cited, one, alone) for one in cited.pointers])
        return JudgedSentence(cited, True, joint, citations)

    def _alone(self, cited: CitedSentence, joint: Judgment) -> QuestionFlow[dict[int, Judgment | None]]:
        """Per cited chunk, the judgment that it supports the sentence by itself; None where it does not."""
        if len(cited.chunks) == 1:
            return {cited.chunks[0]: joint}
        labels = [chunk.label for chunk in _chunk_verdicts(cited, cast(Verdict, joint.answer))]
        if labels:
            labelled = zip(cited.chunks, labels, strict=True)
            return {i: joint if label is Label.ENTAILED else None for i, label in labelled}
        judgments = yield [self._question(cited, [i]) for i in cited.chunks]
        return {i: one if self._supports(one) else None for i, one in zip(cited.chunks, judgments, strict=True)}

    def _judged_citation(
        self, cited: CitedSentence, pointer: Pointer, alone: dict[int, Judgment | None]
    ) -> QuestionFlow[JudgedCitation]:
        if pointer.chunk is None:
            return _unneeded(pointer)
        if (by_itself := alone[pointer.chunk]) is not None:
            return JudgedCitation(pointer, True, _ALONE, by_itself.key)
        rest = list(cited.chunks)
        rest.remove(pointer.chunk)
        if self._shares_answer(pointer.chunk, rest):
            return JudgedCitation(pointer, True, _SHARED)
        (without,) = yield [self._question(cited, rest)]
        needed = not self._supports(without)
        return JudgedCitation(pointer, needed, _NEEDED if needed else _REDUNDANT, without.key)

    def _question(self, cited: CitedSentence, chunks: Sequence[int]) -> Entail:
        """Does each chunk, or for Trust-Eval and ALCE their lines joined into one text, entail the sentence?"""
        texts = tuple(self._passages[i] for i in chunks)
        return Entail(texts if self._strict else ("\n".join(texts),), cited.text, self._query)

    def _supports(self, judgment: Judgment) -> bool:
        verdict = cast(Verdict, judgment.answer)
        return verdict.entailed if self._strict else verdict.label is Label.ENTAILED

    def _shares_answer(self, chunk: int, rest: Sequence[int]) -> bool:
        """Whether a chunk and one of the rest are labelled with the same gold claim, which Trust-Eval counts."""
        if not self._shared_answers_count:
            return False
        others = [gold_labels(self._chunks[i]) for i in rest]
        own = gold_labels(self._chunks[chunk])
        return any(yes and any(other[at : at + 1] == (True,) for other in others) for at, yes in enumerate(own))


def _unneeded(pointer: Pointer, judgment: str = "") -> JudgedCitation:
    """A citation that supports nothing."""
    reason = _NOT_COUNTED if not pointer.counts else _NOTHING if pointer.chunk is None else _UNSUPPORTED
    return JudgedCitation(pointer, False, reason, judgment)
