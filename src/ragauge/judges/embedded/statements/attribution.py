"""Attribution: which words of a sentence are the author's own, and which are put into somebody else's mouth."""

from __future__ import annotations

import re

from ragauge.text.patterns import any_of, phrases
from ragauge.types import Span

_REPORTING = any_of("""say says said claims? claimed argues? argued believes? believed thinks? thought states stated
    contends? contended insists? insisted maintains? maintained suggests? suggested reports reported writes wrote
    calls called describes? described considers? considered regards? regarded labels labell?ed dubs dubbed alleges?
    alleged accuses? accused criticizes? criticized criticises? criticised praises? praised complains complained
    declares? declared asserts? asserted notes noted warns? warned opines? opined tweets tweeted remarks remarked
    hails hailed deems? deemed feels? felt finds? found views viewed sees_as seen_as""")
_REPORTED = any_of("""considered regarded seen described known hailed praised viewed called voted named ranked rated
    believed thought said held criticized criticised cited remembered lauded acclaimed recognized dubbed labell?ed
    deemed reported perceived""")
_BETWEEN = any_of(r"\w+ly has have had also once still often never even been")
_NOT_SAYING = any_of("is are were was of about made from")
_SCOPE = re.compile(
    phrases(
        rf"\b(?P<before>[\w']+) (?:{_BETWEEN} ){{0,2}}(?P<verb>{_REPORTING})\b(?! {_NOT_SAYING}\b)",
        rf", (?:{any_of('asserting claiming saying arguing calling stating')})\b",
        rf"\b(?:is|are|was|were|be|been|being) (?:\w+ ){{0,2}}{_REPORTED}\b",
        rf"\b(?:widely|often|sometimes|generally) {_REPORTED}\b",
        r"\bwhether\b",
    ),
    re.IGNORECASE,
)
_SAID = any_of("said says claimed argued wrote added noted believes? argues")
_WHOLE = re.compile(
    phrases(
        r"\b[Aa]ccording to\b(?! (?:me|us)\b)",
        r"\b[Ii]n (?:the|his|her|their|[A-Z]\w+'s) (?:own )?(?:words|view|opinion|eyes)\b",
        rf",[\"'”]? (?:he|she|they|critics|[A-Z]\w+(?: [A-Z]\w+)*) {_SAID}[.!]?\s*\Z",
        rf",[\"'”]? {_SAID} [\w ]+[.!]?\s*\Z",
    )
)
_QUOTED = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»|(?<!\w)'[^'\n]{2,}'(?!\w)|(?<!\w)‘[^’\n]{2,}’(?!\w)")
_NOT_A_SOURCE = frozenset(
    """i we i'd i'll i've we've i'm to not just you you'd you're do don't did didn't would will could can may might
    personally honestly the a an his her its their these those my your our such any some no of this that's""".split()
)
_TURN = re.compile(r";|[,.]? but (?:I|we)\b|, and (?:I|we)\b")
_MOST = 0.8


def own_words(sentence: str) -> str:
    """The sentence with everything that is quoted from, or attributed to, somebody else blanked out.

    Characters keep their places. "Fox News claimed that the president is an idiot." keeps "Fox News" alone. What the
    author or the reader ("I think", "you say") is made to say is the author's own.
    """
    if _WHOLE.search(sentence):
        return " " * len(sentence)
    own = sentence
    for quote in _QUOTED.finditer(sentence):
        if len(quote[0]) < _MOST * len(sentence):
            own = _blanked(own, *quote.span())
    for begin, end in _reported(sentence):
        own = _blanked(own, begin, end)
    return own


def reports(sentence: str) -> bool:
    """Does the sentence tell what somebody else says or believes?"""
    return bool(_WHOLE.search(sentence) or _reported(sentence))


def _reported(sentence: str) -> list[Span]:
    """The reach of each reporting verb: to the end, or to where the author speaks again."""
    reach: list[Span] = []
    for scope in _SCOPE.finditer(sentence):
        if (scope["before"] or "").lower() not in _NOT_A_SOURCE:
            turn = _TURN.search(sentence, scope.end())
            start = scope.start("verb") if scope["verb"] else scope.start()
            reach.append((start, turn.start() if turn else len(sentence)))
    return reach


def _blanked(text: str, start: int, end: int) -> str:
    return text[:start] + " " * (end - start) + text[end:]
