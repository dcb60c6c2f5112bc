"""The embedded judge's answer to Decompose: a text as statements, by rules and word lists, without a model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ragauge.judges.embedded.clauses import clauses
from ragauge.judges.embedded.commands import is_command
from ragauge.judges.embedded.fillers import frame_length, is_filler
from ragauge.judges.embedded.opinions import Voice, is_hostile, voice
from ragauge.nouns.statements import Span, Statement
from ragauge.text.bibliography import bibliography
from ragauge.text.citations import citation_marks, unmarked
from ragauge.text.markdown import Block, Kind, blocks
from ragauge.text.phrases import any_of
from ragauge.text.refusals import is_refusal_sentence
from ragauge.text.sentences import sentences_within

_EMPHASIS = re.compile(r"(?<!\w)\*\*(?=\S)|(?<=\S)\*\*(?!\w)|(?<![\w*])\*(?=[^\s*])([^*]{1,200})(?<=\S)\*(?![\w*])")
_JOINING_WORD = re.compile(r"(?:and|but|while|whereas|yet|so|however,?|though|although)\s+(?=\S)")
_YES_OR_NO = re.compile(
    any_of("yes no yeah yep nope true false correct incorrect right wrong never always ja nein sí si oui non")
    + "[.!]*",
    re.IGNORECASE,
)
_ASSENT = re.compile(
    any_of("certainly of_course absolutely definitely natürlich claro por_supuesto bien_sûr") + "[.!]*", re.IGNORECASE
)
_QUESTION_END = re.compile(r"[?？؟][\"'”’»)*_]*\Z")


class Piece(NamedTuple):
    """A stretch of text that becomes one statement. aside: it labels or announces something and asserts nothing."""

    span: Span
    kind: Kind
    aside: bool


def decompose(text: str, query: str | None = None) -> tuple[Statement, ...]:
    """The statements of a text in its order, read as an answer to the query where there is one; () for a blank text.

    A statement is a sentence, a list item's sentence, a heading, a table row, or a clause that stands by itself. Its
    text is verbatim but for citation marks, emphasis, line breaks, the joining word of a clause, and openings such as
    "Based on the context,"; its span covers all of these. Together the spans hold every character of the text except
    white space, list and heading markers, fenced code and rulers.

    Neither claim nor opinion: greetings and fillers, refusals, questions, headings, header rows, a line that ends in a
    colon before a list, a line of code, a mere link or "See the documentation", and what is listed under "Sources:" or
    "References". A bare "Yes" is a claim where there is a
    query that it answers. A question is an opinion where it is hostile. Advice is both claim and opinion.
    """
    marks = citation_marks(text)
    unmarked_pieces = ((piece, " ".join(unmarked(text, piece.span, marks).split())) for piece in _pieces(text))
    pieces = [(piece, passage) for piece, passage in unmarked_pieces if passage]
    answers = query is not None
    alone = answers and len(pieces) == 1
    return tuple(_statement(piece, passage, answers=answers, alone=alone) for piece, passage in pieces)


def _pieces(text: str) -> Iterator[Piece]:
    laid_out = [block for block in blocks(text) if block.kind != "ruler"]
    followers = [*laid_out[1:], None]
    sources = set(bibliography(text, laid_out))
    for block, following in zip(laid_out, followers, strict=False):
        if block.kind == "code":
            continue
        introduces = following is not None and following.kind != "prose"
        for span in _spans(text, block):
            aside = block.kind in ("heading", "header") or (introduces and _leads_in(text, span, block))
            yield Piece(span, block.kind, aside=len(laid_out) > 1 and (aside or block in sources))


def _spans(text: str, block: Block) -> Iterator[Span]:
    if block.kind not in ("prose", "item"):
        yield block.body, block.end
        return
    for sentence in sentences_within(text, (block.body, block.end)):
        yield from clauses(text, sentence)


def _leads_in(text: str, span: Span, block: Block) -> bool:
    return span[1] == block.end and text[slice(*span)].rstrip("*_ ").endswith(":")


def _statement(piece: Piece, passage: str, *, answers: bool, alone: bool) -> Statement:
    wording = _wording(passage, piece.kind) or passage
    claim, opinion = (False, False) if piece.aside else _flags(wording, answers=answers, alone=alone)
    return Statement(wording.rstrip(",;") or passage, piece.span, claim=claim, opinion=opinion)


def _wording(passage: str, kind: Kind) -> str:
    """The passage as its statement words it; empty where it is markup alone."""
    plain = _EMPHASIS.sub(r"\1", passage)
    if kind in ("row", "header"):
        return " | ".join(cell.strip() for cell in plain.strip("|").split("|"))
    plain = plain[frame_length(plain) :]
    joining = _JOINING_WORD.match(plain)
    return plain[joining.end() :] if joining else plain


def _flags(wording: str, *, answers: bool, alone: bool) -> tuple[bool, bool]:
    """Whether a wording is a claim, and whether it is an opinion."""
    if not any(map(str.isalnum, wording)):
        return False, False
    if _YES_OR_NO.fullmatch(wording) or (alone and _ASSENT.fullmatch(wording)):
        return answers, False
    if is_filler(wording) or is_command(wording) or is_refusal_sentence(wording):
        return False, False
    if _QUESTION_END.search(wording):
        return alone and _is_title(wording), is_hostile(wording)
    spoken = voice(wording)
    return spoken is not Voice.OPINION, spoken is not Voice.ASSERTION


def _is_title(wording: str) -> bool:
    """Does a question read as the name of something, such as "Who Wants to Be a Millionaire?"?"""
    capitals = [word[0].isupper() for word in wording.split()]
    return len(capitals) > 1 and sum(capitals) > len(capitals) / 2
