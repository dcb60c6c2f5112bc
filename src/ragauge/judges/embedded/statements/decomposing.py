"""The embedded judge's answer to Decompose: a text as statements, by rules and word lists, without a model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragauge.judges.embedded.lexical.lexicon import FUNCTION_WORDS
from ragauge.judges.embedded.statements.claims import claims
from ragauge.judges.embedded.statements.clauses import clauses, stripped
from ragauge.judges.embedded.statements.commands import is_command
from ragauge.judges.embedded.statements.drafts import Draft, Token, tokens, worded
from ragauge.judges.embedded.statements.fillers import is_filler
from ragauge.judges.embedded.statements.frames import frame_length
from ragauge.judges.embedded.statements.opinions import Voice, is_hostile, voice
from ragauge.judges.embedded.statements.pronouns import resolved
from ragauge.text.citations import citation_marks, unmarked
from ragauge.text.cited import bibliography
from ragauge.text.markdown import Block, Kind, blocks
from ragauge.text.patterns import any_of
from ragauge.text.refusals import is_refusal_sentence
from ragauge.text.sentences import sentences_within
from ragauge.types import Span, Statement

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
    """What becomes one statement. text: as it stands in its span, or completed. aside: it labels or announces something
    and asserts nothing."""

    span: Span
    text: str
    kind: Kind
    aside: bool


def decompose(text: str, query: str | None = None) -> tuple[Statement, ...]:
    """The statements of a text in its order, read as an answer to the query where there is one; () for a blank text.

    A statement is a sentence, a list item's sentence, a heading, a table row, or a part of a sentence that can be told
    by itself: a clause, a verb phrase ("moved to Paris" and "became a doctor"), what a subject is said to be, a
    relative clause or an apposition behind a comma, the place and the time of an event.

    Its text is verbatim but for citation marks, emphasis, line breaks, the joining word of a clause, and openings such
    as "Based on the context,". A part is completed: by the subject and the auxiliary of its sentence, by "is" or "was"
    before an apposition, by the full stop of its sentence; a pronoun that begins it by the name it must mean.

    Spans are in order. Two are apart, or the later one lies within the earlier: that of a clause covers its relative
    clauses and appositions, which have their own. A part has the span of its own words, not of what completes it, so
    that the place of an event may be one span and its time the next. Spans cover all that the text leaves out, and
    together hold every character except white space, list and heading markers, fenced code and rulers.

    Neither claim nor opinion: greetings and fillers, refusals, questions, headings, header rows, a line that ends in a
    colon before a list, a line of code, a mere link or "See the documentation", and what is listed under "Sources:" or
    "References". A bare "Yes" is a claim where there is a
    query that it answers. A question is an opinion where it is hostile. Advice is both claim and opinion.
    """
    marks = citation_marks(text)
    pieces = [piece for piece in _pieces(text, marks) if piece.text]
    answers = query is not None
    alone = answers and len(pieces) == 1
    return tuple(_statement(piece, answers=answers, alone=alone) for piece in pieces)


def _pieces(text: str, marks: Sequence[Span]) -> Iterator[Piece]:
    laid_out = [block for block in blocks(text) if block.kind != "ruler"]
    followers = [*laid_out[1:], None]
    sources = set(bibliography(text, laid_out))
    for block, following in zip(laid_out, followers, strict=False):
        if block.kind == "code":
            continue
        introduces = following is not None and following.kind != "prose"
        for span, passage in _passages(text, block, marks):
            aside = block.kind in ("heading", "header") or (introduces and _leads_in(text, span, block))
            yield Piece(span, passage, block.kind, aside=len(laid_out) > 1 and (aside or block in sources))


def _passages(text: str, block: Block, marks: Sequence[Span]) -> Iterator[tuple[Span, str]]:
    """The spans of a block's statements with their texts."""
    if block.kind not in ("prose", "item"):
        span = block.body, block.end
        yield span, _plain(unmarked(text, span, marks))
        return
    yield from _drafts(text, (block.body, block.end), marks)


def _drafts(text: str, passage: Span, marks: Sequence[Span]) -> Iterator[tuple[Span, str]]:
    """The spans of the statements of running text with their texts."""
    previous: list[tuple[Token, ...]] = []
    for sentence in sentences_within(text, passage):
        stopped = unmarked(text, sentence, marks).endswith(".")
        for clause in clauses(text, sentence):
            written = tokens(text, clause, marks)
            drafts = claims(Draft(clause, resolved(written, previous)))
            previous = [draft.words for draft in drafts]
            for draft in drafts:
                said = _said(text, draft, written, marks)
                yield stripped(text, draft.span), _closed(said) if stopped else said


def _said(text: str, draft: Draft, written: Sequence[Token], marks: Sequence[Span]) -> str:
    """The text of a draft; one that is completed begins with a capital where its clause does."""
    if draft.words is written:
        return _plain(unmarked(text, draft.span, marks))
    said, first = _plain(worded(text, draft.words, marks)), draft.words[0]
    completed = first is not written[0] and first.lower in FUNCTION_WORDS and written[0].raw[0].isupper()
    return said[0].upper() + said[1:] if completed else said


def _plain(said: str) -> str:
    return " ".join(said.split())


def _closed(said: str) -> str:
    """What is said with a full stop."""
    bare = said.rstrip(",;: ")
    return f"{bare}." if bare and bare[-1] not in ".!?…。" else said


def _leads_in(text: str, span: Span, block: Block) -> bool:
    return span[1] == block.end and text[slice(*span)].rstrip("*_ ").endswith(":")


def _statement(piece: Piece, *, answers: bool, alone: bool) -> Statement:
    wording = _wording(piece.text, piece.kind) or piece.text
    claim, opinion = (False, False) if piece.aside else _flags(wording, answers=answers, alone=alone)
    return Statement(wording.rstrip(",;") or piece.text, piece.span, claim=claim, opinion=opinion)


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
