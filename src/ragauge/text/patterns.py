"""Regular expressions shared by several modules, and the rule for full stops that end no sentence."""

from __future__ import annotations

import re
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING
from unicodedata import category

from ragauge.host import LazyModule

if TYPE_CHECKING:
    import regex
else:
    regex = LazyModule("regex")

_ASSIGNED = ((0, 0x34000), (0xE0100, 0xE01F0))  # beyond these lie only private, unassigned and format characters


@cache
def category_class(*categories: str) -> str:
    """The characters whose Unicode category starts with one of these, as ranges for use inside a character class."""
    ranges: list[list[str]] = []
    for char in map(chr, chain.from_iterable(range(*block) for block in _ASSIGNED)):
        if not category(char).startswith(categories):
            continue
        if ranges and ord(char) == ord(ranges[-1][1]) + 1:
            ranges[-1][1] = char
        else:
            ranges.append([char, char])
    return "".join(f"{re.escape(first)}-{re.escape(last)}" for first, last in ranges)


def any_of(listed: str) -> str:
    """A pattern for any of the whitespace-separated words; an underscore stands for a space within a word."""
    return "(?:" + "|".join(word.replace("_", " ") for word in listed.split()) + ")"


def phrases(*patterns: str) -> str:
    """A pattern for any of the patterns."""
    return "(?:" + "|".join(patterns) + ")"


#: A fenced block or a span in backticks; to be compiled with re.DOTALL.
CODE = r"```.*?```|`[^`\n]*`"


#: The months, as `any_of` takes them.
GERMAN_MONTHS = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember"
#: Abbreviated English months, without their full stop.
SHORT_MONTHS = "Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec"

_TITLES = (
    "[DM]rs?|Ms|Mx|Profs?|Sr[as]?|St|Mt|Ft|Gen|Col|Capt|Lt|Sgt|Adm|Gov|Sen|Rep|Hon|Rev|Pres|Msgr|Hr|Fr|Mme|Mlle|[Ss]ig"
    "|[Dd]hr"
)
_ADVERBIALS = r"e\.g|i\.e|cf|vs|viz|approx|ca|al|incl|esp|resp|z|z\.\s?B|d\.\s?h|u\.\s?a|bzw|p\.\s?ej|c\.-à-d"
_NUMBERED = (
    r"Eqs?|Figs?|Secs?|Sects?|Nos?|Nr|Vols?|Ch|Chap|pp?|Arts?|Tab|Refs?|App|Pts?|Par|Cl|§|Ex|Ed|Ver|v|c|"
    rf"{any_of(SHORT_MONTHS)}"
)
_BEFORE_ANYTHING = re.compile(rf"(?:^|[\s(\[\"“'‘/])(?:{_TITLES}|{_ADVERBIALS})\.\Z")
_BEFORE_NUMBER = re.compile(rf"(?:^|[\s(\[])(?:{_NUMBERED})\.\Z", re.IGNORECASE)
_BEFORE_SMALL_LETTER = re.compile(
    r"(?:^|[\s(])(?:etc|Inc|Co|Corp|Ltd|Jr|Sr|Bros|dept|est|max|min|avg|no|[A-Z][a-z]+!)[.)]*\Z"
)
_SPEECH_OR_PAUSE = re.compile(r"[!?][\"'”’»]+\Z|\.\.\Z|…\Z")
_INITIAL = re.compile(r"(?:^|[\s(.\"“])[A-Z]\.\Z")
_LETTERED = re.compile(
    r"""\b(?:vitamins?|plan|hepatitis|type|group|class|appendix|part|grade|option|answer|team|exhibit|schedule|table|phase
    |category|influenza|protein|point|step|series|and|or)\s[A-Z]\.\Z""",
    re.VERBOSE | re.IGNORECASE,
)
_ACRONYM = re.compile(r"(?:^|[\s(\"“])(?:[A-Za-z]\.){2,}\Z|(?:^|[\s(])(?:Ph\.D|Inc|Ltd|Co|Corp|Jr|Sr)\.\Z")
_DAY = re.compile(r"\b\d{1,2}\.\Z")
_MONTH = re.compile(rf"{any_of(GERMAN_MONTHS)}\b")
OPENER = re.compile(
    r"""["“'‘(\[*]*(?:The|A|An|He|She|It|They|We|I|You|His|Her|Its|Their|Our|My|This|That|These|Those|There|Then|In|On|At
    |But|And|However|When|While|After|Before|If|As|By|For|Some|Many|Most|What|Who|How|Why|Where|Yes|No|So|Since|Next
    |Although|Though|Because|During|Today|Later|Also|Both|Each|Is|Was|Are|Did|Do|Does|To|From|With|Under)\b""",
    re.VERBOSE,
)


def is_abbreviated(left: str, right: str) -> bool:
    """Whether `left`, which does not end in whitespace, ends in a full stop that ends no sentence before `right`.

    Titles and "e.g." never end one; "Fig." not before a number; "U.S." not before a word that rarely opens a sentence.
    """
    first = right[:1]
    last_words = max(0, left.rfind(" ", 0, max(0, left.rfind(" "))))  # the patterns bear on two at most
    if first.islower() and _SPEECH_OR_PAUSE.search(left, last_words):
        return True
    if left[-1] not in ".)!":
        return False
    if first.islower() and _BEFORE_SMALL_LETTER.search(left, last_words):
        return True
    if first.isdigit() and _BEFORE_NUMBER.search(left, last_words):
        return True
    if _DAY.search(left, last_words) and _MONTH.match(right):
        return True
    if _BEFORE_ANYTHING.search(left, last_words):
        return True
    initial = _INITIAL.search(left, last_words) and not _LETTERED.search(left, last_words)
    return bool((initial or _ACRONYM.search(left, last_words)) and first.isalpha() and not OPENER.match(right))


#: Seconds that a regular expression may take on a text.
SEARCH_SECONDS = 2.0


def bounded_search(pattern: str, text: str) -> regex.Match[str] | None:
    """The first match of a regular expression in a text. Raises ValueError where looking for it takes too long."""
    try:
        return regex.search(pattern, text, timeout=SEARCH_SECONDS)
    except TimeoutError as error:
        seconds = f"{SEARCH_SECONDS:g} s on {len(text)} characters"
        raise ValueError(f"{pattern!r} takes more than {seconds}; repeat nothing that is repeated within") from error


def check_pattern(pattern: str) -> None:
    """Raise ValueError for a text that is no regular expression."""
    try:
        regex.compile(pattern)
    except regex.error as error:
        raise ValueError(
            f"{pattern!r} is no regular expression: {error}; a backslash before a sign takes it as it is"
        ) from error
