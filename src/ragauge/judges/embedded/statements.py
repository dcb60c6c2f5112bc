"""Texts as statements: sentences, clauses, list items and table rows, and whether each of them claims something."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragauge.judges.embedded.toxicity import attacks, stance
from ragauge.text.citations import citation_marks, unmarked
from ragauge.text.cited import bibliography
from ragauge.text.language import foreign
from ragauge.text.markdown import Block, blocks
from ragauge.text.patterns import any_of, phrases
from ragauge.text.refusals import QUESTION, SAYS, SOURCE, claims_nothing, is_refusal_sentence
from ragauge.text.sentences import sentences_within
from ragauge.types import Span, Statement

_EMPHASIS = re.compile(r"(?<!\w)\*\*(?=\S)|(?<=\S)\*\*(?!\w)|(?<![\w*])\*(?=[^\s*])([^*]{1,200})(?<=\S)\*(?![\w*])")

_YES_OR_NO = re.compile(
    any_of("yes no true false correct incorrect right wrong never always ja nein sí oui non") + r"[.!]*", re.IGNORECASE
)

#: Openings that only point at the sources or announce what follows, and are no part of a claim.
_OPENING = re.compile(
    phrases(
        rf"(?:according to|based on|as (?:stated|mentioned|noted) in|as per|per|from|in) {SOURCE}(?: provided)?,\s+",
        rf"{SOURCE}(?: also)? {SAYS} that\s+",
        r"(?:it is|it's) (?:important|worth) (?:to note|noting|to remember) that\s+|(?:please )?note that\s+",
        r"(?:the )?(?:short |final )?answer(?: is)?:\s+",
    ),
    re.IGNORECASE,
)

# Clauses.

#: Words that are nearly always finite verbs.
FINITE = frozenset(
    """is are was were am has have had does do did will would can could may might must shall should cannot isn't aren't
    wasn't weren't hasn't haven't hadn't doesn't don't didn't won't wouldn't can't couldn't shouldn't became began
    came chose drew fell gave went grew knew ran rose saw spoke took wore wrote made said left lost won sold told found
    held led met paid built bought brought kept sent taught stood cost contains includes remains makes means requires
    provides uses shows consists begins ends lives lies leads becomes takes gives holds""".split()
)
_VERB_AND_OBJECT = re.compile(
    r"\b[a-z]+(?:s|ed) (?:the|its|their|his|her|my|your|this|that|it|them|an?|only|not|no|all|each)\b"
    r"|\A(?:[A-Z][\w'’-]* )+[a-z]+(?:s|ed) (?!of\b|and\b|or\b|for\b|with|per\b|as\b)\w"
)
_SUBORDINATE = frozenset(
    """that whether if because although though when who which whose where either neither between unless since until
    whereas what how why as both not""".split()
)
_PREPOSITIONS = frozenset("in on at by for from with after before during under since despite unlike like to".split())
_DEPENDENT = frozenset("him her them his hers its their theirs one such so also then therefore thus to not".split())
_WORD = re.compile(r"[^\W_]+(?:['’.&-][^\W_]+)*|[,;:()]")
_JOINING = any_of("and but while whereas yet so though although")
_JOIN = re.compile(rf"(?:;|,(?=\s+{_JOINING}\s))\s+(?P<word>(?:{_JOINING}\s+)?)(?=\S)")
_INNER_RELATIVE = re.compile(r"(?P<subject>[^,;:]{2,80}), (?P<relative>(?:which|who) (?P<verb>[^,;:]+)),")
_LAST_RELATIVE = re.compile(r"(?<=\w), (?P<relative>(?:which|(?P<person>who)) (?P<verb>[^,;:]+))\Z")
_NAME = re.compile(r"\b(?:[A-Z][\w'’.-]* ){0,5}[A-Z][\w'’-]*\Z")
_FRAGMENT_WORDS, _SUBJECT_WORDS, _LEFT_CHARS, _RIGHT_CHARS, _NAME_CHARS = 8, 8, 400, 120, 80  # at most


class _Piece(NamedTuple):
    """A future statement. claims: False where its place in the layout shows that it claims nothing."""

    span: Span
    text: str
    claims: bool = True


def decompose(text: str, query: str | None = None) -> tuple[Statement, ...]:
    """The statements of a text, possibly Markdown, in its order, read as an answer to `query`.

    A statement is a sentence or one of its clauses, a heading, or a table row ("Name: Ada, Year: 1815"). The first
    sentence of a list item that has no verb is completed by the line that introduces the list ("The kit contains: two
    screws"). Otherwise its text is verbatim but for citation marks, emphasis, line breaks, a clause's joining word, and
    openings such as "According to passage 2,".

    Neither claim nor opinion: greetings and announcements, questions, refusals, sentences about the sources, headings,
    the line that introduces a list or table, code, links, and what is listed under "Sources:". A bare "Yes" is a claim
    only in answer to a query. What stands in another language than English is an opinion too, since it may be one.

    Spans are apart, or the later lies within the earlier: a clause's span covers its relative clause. Together they
    cover all but white space, list markers, fenced code and rulers.
    """
    marks = citation_marks(text)
    pieces = (piece for piece in _pieces(text, marks) if piece.text)
    is_foreign = foreign(text) is not None
    return tuple(_statement(piece, answers=query is not None, is_foreign=is_foreign) for piece in pieces)


def is_fragment(text: str) -> bool:
    """Whether a short text has no finite verb, as far as a list of verbs shows: "Six days", "the second act"."""
    words = _words(text)
    if not 0 < len(words) <= _FRAGMENT_WORDS or text.rstrip().endswith("?"):
        return False
    return FINITE.isdisjoint(words) and not _VERB_AND_OBJECT.search(text)


def _pieces(text: str, marks: Sequence[Span]) -> Iterator[_Piece]:
    layout = [block for block in blocks(text) if block.kind != "ruler"]
    sources = set(bibliography(text, layout)) if len(layout) > 1 else set()
    header: list[str] = []
    lead_in = ""
    for block, following in zip(layout, [*layout[1:], None], strict=False):
        if block.kind in ("prose", "item"):
            lead_in = lead_in if block.kind == "item" else ""
            for piece in _of_passage(text, block, marks, lead_in):
                introduces = piece.span[1] == block.end and following is not None and following.kind != "prose"
                leads_in = introduces and piece.text.endswith(":")
                lead_in = piece.text if leads_in and block.kind == "prose" else lead_in
                yield piece._replace(claims=not leads_in and block not in sources)
        elif block.kind != "code":
            span = block.body, block.end
            wording = _plain(unmarked(text, span, marks))
            lead_in = wording if block.kind == "heading" else ""
            if block.kind != "heading":
                cells = [cell.strip() for cell in wording.strip("|").split("|")]
                header = cells if block.kind == "header" else header
                wording = _row(cells, header if block.kind == "row" else [])
            yield _Piece(span, wording, claims=block.kind == "row" or len(layout) == 1)


def _of_passage(text: str, block: Block, marks: Sequence[Span], lead_in: str) -> Iterator[_Piece]:
    """The clauses of a paragraph or item, whose fragment is completed by what introduces the list."""
    completes = lead_in and not claims_nothing(lead_in)
    for sentence in sentences_within(text, (block.body, block.end)):
        for piece in _clauses(text, sentence, marks):
            fragment = completes and sentence[0] <= block.body and is_fragment(piece.text)
            yield piece._replace(text=f"{lead_in.rstrip(':')}: {piece.text}") if fragment else piece


def _row(cells: Sequence[str], header: Sequence[str]) -> str:
    if len(header) != len(cells):
        return " | ".join(cells)
    return ", ".join(f"{name}: {cell}" if name else cell for name, cell in zip(header, cells, strict=True) if cell)


def _plain(wording: str) -> str:
    return " ".join(_EMPHASIS.sub(r"\1", wording).split())


def _clauses(text: str, sentence: Span, marks: Sequence[Span]) -> Iterator[_Piece]:
    """A sentence, or its independent clauses, each as a sentence of its own."""
    start, end = begin, _ = sentence  # `begin`: where the words of a clause begin, after the one that joins it
    joins = [] if QUESTION.search(text, *sentence) else [*_JOIN.finditer(text, *sentence)]
    for join in joins:
        left, right = (begin, join.start()), (join.end(), min(end, join.end() + _RIGHT_CHARS))
        if left[1] - left[0] <= _LEFT_CHARS and _are_clauses(text[slice(*left)], join["word"], text[slice(*right)]):
            yield from _relatives(text, (start, join.start() + 1), begin, marks, whole=False)
            start, begin = join.start("word"), join.end()
    yield from _relatives(text, (start, end), begin, marks, whole=(start, end) == sentence)


def _are_clauses(left: str, word: str, right: str) -> bool:
    """Whether both sides of a join have a subject and a verb, or the left only states what is not known."""
    if left.count('"') % 2 or left.count("(") != left.count(")"):
        return False
    before, after = _words(left), _words(right)
    if is_refusal_sentence(left):
        return word.startswith(("but", "though", "although")) and _verb_at(after) is not None
    own = _verb_at(after)
    complete = any(map(_is_verb, before[1:-1])) and _SUBORDINATE.isdisjoint(before)
    return complete and own is not None and own <= _SUBJECT_WORDS and after[0] not in _DEPENDENT


def _relatives(text: str, span: Span, begin: int, marks: Sequence[Span], *, whole: bool) -> Iterator[_Piece]:
    """A clause, and its relative clause as a sentence about the subject, about a name at the end, or about "this"."""

    def sentence(*stretches: Span, subject: str = "") -> str:
        return _sentence(" ".join([subject, *(unmarked(text, stretch, marks) for stretch in stretches)]))

    end = span[1]
    inner, last = _INNER_RELATIVE.match(text, begin, end), _LAST_RELATIVE.search(text, begin, end)
    name = _NAME.search(text, max(begin, last.start() - _NAME_CHARS), last.start()) if last else None
    if inner and _is_subject(inner["subject"]):
        rest, relative = inner.end("relative") + 1, inner.span("relative")
        yield _Piece(span, sentence(inner.span("subject"), (rest, end)))
        yield _Piece(relative, sentence(inner.span("subject"), inner.span("verb")))
    elif last and any(map(_is_verb, _words(text[begin : last.start()]))) and (name or not last["person"]):
        yield _Piece((span[0], last.start() + 1), sentence((begin, last.start())))
        yield _Piece(last.span("relative"), sentence(last.span("verb"), subject=name[0] if name else "This"))
    elif whole:
        yield _Piece(span, _plain(unmarked(text, span, marks)))
    else:
        yield _Piece(span, sentence((begin, end)))


def _sentence(wording: str) -> str:
    wording = _plain(wording).strip(",;: ")
    return wording[:1].upper() + wording[1:] + ("" if wording[-1:] in ".!?…。" else ".")


def _words(text: str) -> list[str]:
    return [word.lower().replace("’", "'") for word in _WORD.findall(text)]


def _is_verb(word: str) -> bool:
    return word in FINITE or (word.endswith("ed") and len(word) > 4)


def _verb_at(words: Sequence[str]) -> int | None:
    """The place of the first verb that follows a subject."""
    for place, word in enumerate(words):
        if word in _SUBORDINATE or word in ",;:()":
            return None
        if place and _is_verb(word):
            return place
    return None


def _is_subject(phrase: str) -> bool:
    words = _words(phrase)
    return not any(_is_verb(word) or word in _SUBORDINATE for word in words) and words[0] not in _PREPOSITIONS


def _statement(piece: _Piece, *, answers: bool, is_foreign: bool) -> Statement:
    opening = _OPENING.match(piece.text)
    wording = piece.text[opening.end() :] if opening else ""
    wording = (wording[:1].upper() + wording[1:] if wording else piece.text).rstrip(",;") or piece.text
    claim = opinion = False
    if piece.claims and _YES_OR_NO.fullmatch(wording):
        claim = answers
    elif piece.claims and not claims_nothing(wording):
        claim, opinion = (False, attacks(wording)) if QUESTION.search(wording) else stance(wording)
        opinion = opinion or is_foreign or foreign(wording) is not None
    return Statement(wording, piece.span, claim=claim, opinion=opinion)
