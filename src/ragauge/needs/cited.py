"""What a response cites, sentence by sentence, as each variant reads it; no judge is asked yet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ragauge.needs.gold import Variant
from ragauge.needs.refusals import told
from ragauge.needs.statements import cited_as, response_of
from ragauge.text import trust_eval
from ragauge.text.citations import Citation, CitationStyle, citations_in
from ragauge.text.cited import CitedPiece, cited_items, cited_sentences
from ragauge.text.refusals import is_refusal_sentence
from ragauge.text.sentences import punkt_sentences
from ragauge.types import Chunk, Sample, Span

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
class Cited:
    """A sentence or an item that must be supported. text: without its citations. span: in the response."""

    text: str
    span: Span
    pointers: tuple[Pointer, ...]

    @property
    def chunks(self) -> tuple[int, ...]:
        """The positions of the chunks that are to support it, in the order cited."""
        return tuple(one.chunk for one in self.pointers if one.chunk is not None)


def cited_by_us(sample: Sample, style: CitationStyle, units: Units) -> list[Cited]:
    """Our own reading: every citation counts, once for each chunk and sentence; refusals need no support.

    A response that says nothing is one piece without words, which nothing supports.
    """
    text = response_of(sample)
    cut = cited_items if units == "items" else cited_sentences
    labels = cited_as(sample)
    pieces = cut(text, labels, style)
    if not pieces:
        nothing = CitedPiece("", (0, len(text)), tuple(citations_in(text, labels, style)))
        return [Cited("", nothing.span, tuple(_pointers(text, nothing)))]
    return [
        Cited(_behind_query(sample, piece.text, units), piece.span, tuple(_pointers(text, piece)))
        for piece in pieces
        if not is_refusal_sentence(piece.text, told(sample), cited=bool(piece.citations))
    ]


def _pointers(text: str, piece: CitedPiece) -> Iterator[Pointer]:
    first: dict[int | str, Citation] = {}
    for one in piece.citations:
        first.setdefault(one.written if one.chunk is None else one.chunk, one)
    for one in first.values():
        yield Pointer(text[slice(*one.span)], one.span, one.chunk)


def cited_by_them(sample: Sample, variant: Variant, units: Units, at_most: int) -> list[Cited]:
    """The reading of Trust-Eval and of ALCE, which looks at the first line alone and at most `at_most` citations."""
    text = response_of(sample)
    if variant == "alce":
        text = text.replace("<|im_end|>", "").strip().partition("\n")[0]
    spans = trust_eval.listed(text) if units == "items" else punkt_sentences(text)
    count = len(sample.contexts or ())
    return [
        Cited(
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
