"""Needs about citations: what a sentence cites, whether that supports it, and whether each citation is called for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, cast

from ragauge.needs.base import Need, QuestionFlow, gather
from ragauge.needs.checks import refusal_text
from ragauge.needs.entailment import cited_as, response_of
from ragauge.needs.gold import Variant, labels_of
from ragauge.questions import Entail, Judgment
from ragauge.scores import ChunkEvidence, Evidence
from ragauge.text import trust_eval
from ragauge.text.citations import Citation, CitationStyle, citations_in
from ragauge.text.cited import CitedPiece, cited_items, cited_sentences
from ragauge.text.refusals import is_refusal_sentence
from ragauge.text.sentences import check_installed, punkt_sentences
from ragauge.types import Chunk, ChunkVerdict, Label, Sample, Span, Verdict

#: What must be supported: sentences, or the items of a list, each read behind the query.
Units = Literal["sentences", "items"]


@dataclass(frozen=True)
class Pointer:
    """One citation. text, span: as it is written. chunk: the position it points at, None where it points at nothing.

    counts: whether it is among the citations of which precision is a share.
    """

    text: str
    span: Span
    chunk: int | None
    counts: bool = True


@dataclass(frozen=True)
class CitedSentence:
    """A sentence or an item that must be supported. text: without its citations. span: in the response."""

    text: str
    span: Span
    pointers: tuple[Pointer, ...]

    @property
    def chunks(self) -> tuple[int, ...]:
        """The positions of the chunks that are to support it, in the order cited."""
        return tuple(one.chunk for one in self.pointers if one.chunk is not None)


def cited_by_us(sample: Sample, style: CitationStyle, units: Units) -> list[CitedSentence]:
    """Our own reading: every citation counts, once for each chunk and sentence; refusals need no support.

    A response that says nothing is one piece without words, which nothing supports.
    """
    text = response_of(sample)
    cut = cited_items if units == "items" else cited_sentences
    labels = cited_as(sample)
    pieces = cut(text, labels, style)
    if not pieces:
        nothing = CitedPiece("", (0, len(text)), tuple(citations_in(text, labels, style)))
        return [CitedSentence("", nothing.span, tuple(_pointers(text, nothing)))]
    return [
        CitedSentence(_behind_query(sample, piece.text, units), piece.span, tuple(_pointers(text, piece)))
        for piece in pieces
        if not is_refusal_sentence(piece.text, refusal_text(sample), cited=bool(piece.citations))
    ]


def _pointers(text: str, piece: CitedPiece) -> Iterator[Pointer]:
    first: dict[int | str, Citation] = {}
    for one in piece.citations:
        first.setdefault(one.written if one.chunk is None else one.chunk, one)
    for one in first.values():
        yield Pointer(text[slice(*one.span)], one.span, one.chunk)


def cited_by_them(sample: Sample, variant: Variant, units: Units, at_most: int) -> list[CitedSentence]:
    """The reading of Trust-Eval and of ALCE, which looks at the first line alone and at most `at_most` citations."""
    text = response_of(sample)
    if variant == "alce":
        text = text.replace("<|im_end|>", "").strip().partition("\n")[0]
    spans = trust_eval.listed(text) if units == "items" else punkt_sentences(text)
    count = len(sample.contexts or ())
    return [
        CitedSentence(
            trust_eval.bare(_behind_query(sample, text[slice(*span)], units)).strip(),
            span,
            tuple(_numbered(text, span, count, at_most)),
        )
        for span in spans
    ]


def _numbered(text: str, span: Span, count: int, at_most: int) -> Iterator[Pointer]:
    """The citations of a sentence; a number beyond the last chunk voids them all, and 0 is the last chunk."""
    sentence = text[slice(*span)]
    numbers = trust_eval.citations(sentence)
    void = not count or any(number > count for number in numbers)
    for place, (number, (start, end)) in enumerate(zip(numbers, trust_eval.citation_spans(sentence), strict=True)):
        counts = not void and place < at_most
        chunk = (number - 1) % count if counts else None
        yield Pointer(sentence[start:end], (span[0] + start, span[0] + end), chunk, counts)


def _behind_query(sample: Sample, text: str, units: Units) -> str:
    return f"{sample.query or ''} {text}".strip() if units == "items" else text


def passages(chunks: Sequence[Chunk], variant: Variant) -> list[str]:
    """The texts that are to support a sentence, as the variant puts them to a judge."""
    if variant == "default":
        return [chunk.passage for chunk in chunks]
    return [f"Title: {chunk.title}\n{chunk.metadata.get('sent') or chunk.text}" for chunk in chunks]


_NOTHING = "points at no document"
_UNSUPPORTED = "the sentence is not supported"
_ALONE = "supports the sentence by itself"
_TOGETHER = "needed beside the others"
_REDUNDANT = "redundant: fails by itself, and the others suffice"
_SHARED = "counted, since another document cited holds the same answer"
_LEFT_OUT = "not counted"


@dataclass(frozen=True)
class JudgedCitation:
    """Whether a citation is called for, and why; judgment: what told."""

    pointer: Pointer
    precise: bool
    why: str
    judgment: str = ""


@dataclass(frozen=True)
class JudgedSentence:
    """A sentence with whether its citations gather support it, and what each of them is for."""

    cited: CitedSentence
    supported: bool
    judgment: Judgment | None
    citations: tuple[JudgedCitation, ...]


@dataclass(frozen=True)
class CitationSupport:
    """The sentences of a response that need support, and what their citations give. chunks: the ids of the contexts."""

    sentences: tuple[JudgedSentence, ...]
    chunks: tuple[str, ...]

    @property
    def supported(self) -> tuple[bool, ...]:
        """For each sentence whether its citations gather support it."""
        return tuple(one.supported for one in self.sentences)

    @property
    def precise(self) -> tuple[bool, ...]:
        """For each citation that counts whether it is called for."""
        every = (called for one in self.sentences for called in one.citations)
        return tuple(called.precise for called in every if called.pointer.counts)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Each sentence, followed by its citations."""
        return tuple(piece for one in self.sentences for piece in _evidence(one, self.chunks))


def _evidence(one: JudgedSentence, ids: Sequence[str]) -> Iterator[Evidence]:
    if one.judgment is None:
        why = "says nothing" if not one.cited.text else "cites no document" if one.cited.pointers else "cites nothing"
        yield Evidence(one.cited.text, "response", one.cited.span, "citations", Label.NEUTRAL, rationale=why)
    else:
        said = cast(Verdict, one.judgment.answer)
        cited = zip((ids[i] for i in one.cited.chunks), _by_chunk(one.cited, said), strict=False)
        yield Evidence(
            one.cited.text,
            "response",
            one.cited.span,
            "citations",
            said.label,
            probability=said.probability,
            chunks=tuple(ChunkEvidence(name, chunk.label, chunk.probability, chunk.span) for name, chunk in cited),
            rationale=said.rationale,
            judgment=one.judgment.key,
        )
    for called in one.citations:
        at = called.pointer.chunk
        against = "contexts" if at is None else f"contexts[{at}]"
        label = Label.YES if called.precise else Label.NO
        yield Evidence(
            called.pointer.text,
            "response",
            called.pointer.span,
            against,
            label,
            rationale=called.why,
            judgment=called.judgment,
        )


def _by_chunk(cited: CitedSentence, said: Verdict) -> Sequence[ChunkVerdict]:
    """What a joint verdict says of each chunk; nothing where the chunks were one text, or people gave no labels."""
    return said.chunks if len(said.chunks) == len(cited.chunks) else ()


@cache
def citations(
    variant: Variant = "default", style: CitationStyle = "brackets", units: Units = "sentences", at_most: int = 3
) -> Need[CitationSupport]:
    """The response's sentences (or items) held against what each cites, gather, and where need be without one.

    Raises MissingExtra where a variant's sentences cannot be split for want of a package.
    """
    if variant != "default" and units == "sentences":
        check_installed()

    def flow(sample: Sample) -> QuestionFlow[CitationSupport]:
        own = variant == "default"
        pieces = cited_by_us(sample, style, units) if own else cited_by_them(sample, variant, units, at_most)
        case = _CitationCase(sample, variant)
        backed = yield from gather([case.backed(cited) for cited in pieces])
        return CitationSupport(backed, tuple(chunk.id for chunk in sample.contexts or ()))

    name = f"citations({variant},{style},{units},{at_most})"
    return Need(name, ("response", "contexts"), frozenset({"entail:support"}), flow)


class _CitationCase:
    """How the sentences of one sample are judged."""

    def __init__(self, sample: Sample, variant: Variant) -> None:
        self._chunks: tuple[Chunk, ...] = sample.contexts or ()
        self._passages = passages(self._chunks, variant)
        self._query = sample.query if variant == "default" else None
        self._strict = variant == "default"
        self._forgiving = variant == "trust_eval"

    def backed(self, cited: CitedSentence) -> QuestionFlow[JudgedSentence]:
        """Whether the citations of a sentence support it gather, and what each is for."""
        if not any(map(str.isalnum, cited.text)) or not any(self._passages[i].strip() for i in cited.chunks):
            return JudgedSentence(cited, False, None, tuple(map(_idle, cited.pointers)))
        (joint,) = yield [self._question(cited, cited.chunks)]
        if not self._supports(joint):
            return JudgedSentence(cited, False, joint, tuple(_idle(one, joint.key) for one in cited.pointers))
        alone = yield from self._alone(cited, joint)
        called = yield from gather([self._called(cited, one, alone) for one in cited.pointers])
        return JudgedSentence(cited, True, joint, called)

    def _alone(self, cited: CitedSentence, joint: Judgment) -> QuestionFlow[dict[int, Judgment | None]]:
        """For each chunk cited, what tells that it supports the sentence by itself; None where it does not."""
        if len(cited.chunks) == 1:
            return {cited.chunks[0]: joint}
        labels = [chunk.label for chunk in _by_chunk(cited, cast(Verdict, joint.answer))]
        if labels:
            each = zip(cited.chunks, labels, strict=True)
            return {i: joint if label is Label.ENTAILED else None for i, label in each}
        judgments = yield [self._question(cited, [i]) for i in cited.chunks]
        return {i: one if self._supports(one) else None for i, one in zip(cited.chunks, judgments, strict=True)}

    def _called(
        self, cited: CitedSentence, pointer: Pointer, alone: dict[int, Judgment | None]
    ) -> QuestionFlow[JudgedCitation]:
        if pointer.chunk is None:
            return _idle(pointer)
        if (by_itself := alone[pointer.chunk]) is not None:
            return JudgedCitation(pointer, True, _ALONE, by_itself.key)
        rest = list(cited.chunks)
        rest.remove(pointer.chunk)
        if self._shares_answer(pointer.chunk, rest):
            return JudgedCitation(pointer, True, _SHARED)
        (without,) = yield [self._question(cited, rest)]
        needed = not self._supports(without)
        return JudgedCitation(pointer, needed, _TOGETHER if needed else _REDUNDANT, without.key)

    def _question(self, cited: CitedSentence, chunks: Sequence[int]) -> Entail:
        """Trust-Eval and ALCE put several documents to their model as one text, a line apart."""
        texts = tuple(self._passages[i] for i in chunks)
        return Entail(texts if self._strict else ("\n".join(texts),), cited.text, self._query)

    def _supports(self, judgment: Judgment) -> bool:
        verdict = cast(Verdict, judgment.answer)
        return verdict.entailed if self._strict else verdict.label is Label.ENTAILED

    def _shares_answer(self, chunk: int, rest: Sequence[int]) -> bool:
        """Whether a chunk and one of the rest are labelled with the same gold claim, which Trust-Eval forgives."""
        if not self._forgiving:
            return False
        others = [labels_of(self._chunks[i]) for i in rest]
        own = labels_of(self._chunks[chunk])
        return any(yes and any(other[at : at + 1] == (True,) for other in others) for at, yes in enumerate(own))


def _idle(pointer: Pointer, judgment: str = "") -> JudgedCitation:
    """A citation that supports nothing."""
    why = _LEFT_OUT if not pointer.counts else _NOTHING if pointer.chunk is None else _UNSUPPORTED
    return JudgedCitation(pointer, False, why, judgment)
