"""Where sentences end inside a passage of running text.

The library sentencex proposes the ends (Unicode-aware, with lists of abbreviations); where it has no wheel, a pattern
proposes every full stop. Both kinds of proposal pass the same corrections: what belongs to the sentence before (closing
brackets, emoji) is given back to it, stops that end no sentence are dropped, missed ends are added. Citation marks are
passed over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from ragauge.text.abbreviations import is_abbreviated
from ragauge.text.rest import Rest
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
    rest = Rest(passage, marks)
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
