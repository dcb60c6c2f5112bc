"""Needs about citations: does what a sentence cites support it, and is each citation called for?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import cast

from ragauge.needs.cited import Cited, Pointer, Units, cited_by_them, cited_by_us, passages
from ragauge.needs.gold import Variant
from ragauge.needs.held import labels_of
from ragauge.needs.need import Flow, Need, together
from ragauge.questions import Entail, Judgment
from ragauge.scores import ChunkEvidence, Evidence
from ragauge.text.citations import CitationStyle
from ragauge.text.sentences import check_installed
from ragauge.types import Chunk, ChunkVerdict, Label, Sample, Verdict

_NOTHING = "points at no document"
_UNSUPPORTED = "the sentence is not supported"
_ALONE = "supports the sentence by itself"
_TOGETHER = "needed beside the others"
_REDUNDANT = "redundant: fails by itself, and the others suffice"
_SHARED = "counted, since another document cited holds the same answer"
_LEFT_OUT = "not counted"


@dataclass(frozen=True)
class Called:
    """Whether a citation is called for, and why; judgment: what told."""

    pointer: Pointer
    precise: bool
    why: str
    judgment: str = ""


@dataclass(frozen=True)
class Backed:
    """A sentence with whether its citations together support it, and what each of them is for."""

    cited: Cited
    supported: bool
    judgment: Judgment | None
    citations: tuple[Called, ...]


@dataclass(frozen=True)
class Citing:
    """The sentences of a response that need support, and what their citations give. chunks: the ids of the contexts."""

    sentences: tuple[Backed, ...]
    chunks: tuple[str, ...]

    @property
    def supported(self) -> tuple[bool, ...]:
        """For each sentence whether its citations together support it."""
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


def _evidence(one: Backed, ids: Sequence[str]) -> Iterator[Evidence]:
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


def _by_chunk(cited: Cited, said: Verdict) -> Sequence[ChunkVerdict]:
    """What a joint verdict says of each chunk; nothing where the chunks were one text, or people gave no labels."""
    return said.chunks if len(said.chunks) == len(cited.chunks) else ()


@cache
def citations(
    variant: Variant = "default", style: CitationStyle = "brackets", units: Units = "sentences", at_most: int = 3
) -> Need[Citing]:
    """The response's sentences (or items) held against what each cites, together, and where need be without one.

    Raises MissingExtra where a variant's sentences cannot be split for want of a package.
    """
    if variant != "default" and units == "sentences":
        check_installed()

    def flow(sample: Sample) -> Flow[Citing]:
        own = variant == "default"
        pieces = cited_by_us(sample, style, units) if own else cited_by_them(sample, variant, units, at_most)
        case = _Case(sample, variant)
        backed = yield from together([case.backed(cited) for cited in pieces])
        return Citing(backed, tuple(chunk.id for chunk in sample.contexts or ()))

    name = f"citations({variant},{style},{units},{at_most})"
    return Need(name, ("response", "contexts"), frozenset({"entail:support"}), flow)


class _Case:
    """How the sentences of one sample are judged."""

    def __init__(self, sample: Sample, variant: Variant) -> None:
        self._chunks: tuple[Chunk, ...] = sample.contexts or ()
        self._passages = passages(self._chunks, variant)
        self._query = sample.query if variant == "default" else None
        self._strict = variant == "default"
        self._forgiving = variant == "trust_eval"

    def backed(self, cited: Cited) -> Flow[Backed]:
        """Whether the citations of a sentence support it together, and what each is for."""
        if not any(map(str.isalnum, cited.text)) or not any(self._passages[i].strip() for i in cited.chunks):
            return Backed(cited, False, None, tuple(map(_idle, cited.pointers)))
        (joint,) = yield [self._question(cited, cited.chunks)]
        if not self._supports(joint):
            return Backed(cited, False, joint, tuple(_idle(one, joint.key) for one in cited.pointers))
        alone = yield from self._alone(cited, joint)
        called = yield from together([self._called(cited, one, alone) for one in cited.pointers])
        return Backed(cited, True, joint, called)

    def _alone(self, cited: Cited, joint: Judgment) -> Flow[dict[int, Judgment | None]]:
        """For each chunk cited, what tells that it supports the sentence by itself; None where it does not."""
        if len(cited.chunks) == 1:
            return {cited.chunks[0]: joint}
        labels = [chunk.label for chunk in _by_chunk(cited, cast(Verdict, joint.answer))]
        if labels:
            each = zip(cited.chunks, labels, strict=True)
            return {i: joint if label is Label.ENTAILED else None for i, label in each}
        judgments = yield [self._question(cited, [i]) for i in cited.chunks]
        return {i: one if self._supports(one) else None for i, one in zip(cited.chunks, judgments, strict=True)}

    def _called(self, cited: Cited, pointer: Pointer, alone: dict[int, Judgment | None]) -> Flow[Called]:
        if pointer.chunk is None:
            return _idle(pointer)
        if (by_itself := alone[pointer.chunk]) is not None:
            return Called(pointer, True, _ALONE, by_itself.key)
        rest = list(cited.chunks)
        rest.remove(pointer.chunk)
        if self._shares_answer(pointer.chunk, rest):
            return Called(pointer, True, _SHARED)
        (without,) = yield [self._question(cited, rest)]
        needed = not self._supports(without)
        return Called(pointer, needed, _TOGETHER if needed else _REDUNDANT, without.key)

    def _question(self, cited: Cited, chunks: Sequence[int]) -> Entail:
        """Trust-Eval and ALCE put several documents to their model as one text, a line apart."""
        texts = tuple(self._passages[i] for i in chunks)
        return Entail(texts if self._strict else ("\n".join(texts),), cited.text, self._query)

    def _supports(self, judgment: Judgment) -> bool:
        said = cast(Verdict, judgment.answer)
        contested = self._strict and any(chunk.label is Label.CONTRADICTED for chunk in said.chunks)
        return said.label is Label.ENTAILED and not contested

    def _shares_answer(self, chunk: int, rest: Sequence[int]) -> bool:
        """Whether a chunk and one of the rest are labelled with the same gold claim, which Trust-Eval forgives."""
        if not self._forgiving:
            return False
        others = [labels_of(self._chunks[i]) for i in rest]
        own = labels_of(self._chunks[chunk])
        return any(yes and any(other[at : at + 1] == (True,) for other in others) for at, yes in enumerate(own))


def _idle(pointer: Pointer, judgment: str = "") -> Called:
    """A citation that supports nothing."""
    why = _LEFT_OUT if not pointer.counts else _NOTHING if pointer.chunk is None else _UNSUPPORTED
    return Called(pointer, False, why, judgment)
