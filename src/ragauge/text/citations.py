"""Citations: how a text refers to its contexts, by number or by author and year."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from ragauge.text.patterns import CODE, ENGLISH_MONTHS, GERMAN_MONTHS, OPENER, SHORT_MONTHS, any_of
from ragauge.types import Span

_LOOKBEHIND = 200  # characters before a year in parentheses that may be names
_MAX_LENGTH = 300

_YEAR = r"(?:1[0-9]|20)\d\d"
_CITED_YEARS = rf"{_YEAR}[a-z]?(?:(?:,\s?|,?\s(?:and|&)\s)(?:{_YEAR}[a-z]?|[a-z]\b))*"
_ONE_YEAR = re.compile(rf"({_YEAR})([a-z]?)|\b([a-z])\b")
_PLACE = rf"(?:,\s?(?i:{any_of('pp? paras? ch chap sec fig table')})\.?\s?[\d–-]+|:\s?[\d–-]+)?"
_WORK = re.compile(rf"(?:(?P<names>\D+?),?\s)?(?P<years>{_CITED_YEARS}){_PLACE}")
_SHORT_FORM = r"\s\[[^()\[\]]{1,20}\]"  # World Health Organization [WHO]
_ENCLOSED = re.compile(rf"{CODE}|[(\[](?P<works>(?:[^()\[\]]|{_SHORT_FORM}){{4,{_MAX_LENGTH}}})[)\]]", re.DOTALL)

_TOKEN = re.compile(r"\S+")
_WORD = re.compile(r"[^\W\d_]+")
_NAME = re.compile(r"[^\W\d_](?:[^\W\d_]|['’.-])*,?")
_PARTICLE = any_of("van der den de la le du di da dos del della von zu zur ten ter bin ibn al")
_AND = any_of("and & und et y")
_JOINING = re.compile(rf"{_AND}|al\.?,?")
_UNNAMED = re.compile(rf"{_JOINING.pattern}|of|for|the")
_PARTICLES = re.compile(rf"{_UNNAMED.pattern}|{_PARTICLE}")
_BETWEEN_AUTHORS = re.compile(rf",|\s{_AND}\s")
_OTHERS = re.compile(r",?\s+et\s+al\b")
_INITIALS = re.compile(r"(?:[^\W\d_]\.-?)+,?")
_ABBREVIATED = re.compile(any_of(r"al\. Jr\. Sr\. Dr\. St\."))
_OPENING = re.compile(
    any_of("""see however moreover furthermore additionally similarly likewise finally recently conversely nevertheless
    unlike like per earlier"""),
    re.IGNORECASE,
)
_CITING = any_of(r"but also see compare following e\.g\. i\.e\. cf\. for_example for_instance adapted_from")
_CITING_IN = any_of("cited_in quoted_in reviewed_in discussed_in reported_by cited_by quoted_by")
_AUTHORS_SIGNAL = re.compile(rf"(?:.*\s)?(?:{_CITING}|{_CITING_IN}),?", re.IGNORECASE)
_DATES = frozenset(
    f"{ENGLISH_MONTHS} {SHORT_MONTHS} {GERMAN_MONTHS} spring summer autumn fall winter".casefold().split()
)


class CitedWork(NamedTuple):
    """A cited work.

    Args:
        names: of its authors, as written.
        year: with its letter, if any: 2020a.
        span: of the whole mark, which may cite several works.
        sure: whether it is a citation even if no chunk matches; a date (March 2020) or an aside (filmed by Smith, 2020)
            is not.
    """

    names: str
    year: str
    span: Span
    sure: bool


def cited_works(text: str) -> Iterator[CitedWork]:
    """The works that a text cites, in order, and years alone in parentheses.

    Within parentheses or brackets, names precede the year and works are separated by semicolons; before a year in
    parentheses, names are capitalised words of the sentence.
    """
    for found in _ENCLOSED.finditer(text):
        if found["works"]:
            yield from _works_in(text, found)


def _works_in(text: str, found: re.Match[str]) -> Iterator[CitedWork]:
    names, start, sure = "", found.start(), False
    for i, piece in enumerate(re.sub(_SHORT_FORM, "", found["works"]).split(";")):
        work = _WORK.fullmatch(" ".join(piece.split()))
        if not work:
            continue
        if work["names"]:
            names, sure = _names_at_end(work["names"].split())
            if not names:
                continue
        elif i == 0:
            names, start = _names_before(text, start)
            sure = not _is_date(names)
        for year in _years(work["years"]):
            yield CitedWork(names, year, (start, found.end()), sure)


def _names_at_end(words: Sequence[str]) -> tuple[str, bool]:
    """The names at the end of some words, and whether the words before them mark a citation."""
    first = len(words)  # the names begin after the last word that is neither name nor particle
    while first and (_is_name(words[first - 1]) or _is_particle(words[first - 1])):
        first -= 1
    first = first if any(map(_is_name, words[first:])) else len(words)
    cited = first == 0 or _AUTHORS_SIGNAL.fullmatch(" ".join(words[:first])) is not None
    names = " ".join(words[first + _opening_length(words[first:]) :])
    return names, cited and not _is_date(names)


def _years(written: str) -> Iterator[str]:
    """The years of "2020a, b, 2021": 2020a, 2020b, 2021."""
    last = ""
    for year, letter, further in _ONE_YEAR.findall(written):
        last = year or last
        yield last + (letter or further)


def _names_before(text: str, at: int) -> tuple[str, int]:
    """The names before a year in parentheses, and where they start."""
    run: list[re.Match[str]] = []
    for token in reversed(list(_TOKEN.finditer(text, max(0, at - _LOOKBEHIND), at))):
        if not _may_be_name(token[0], last=not run):
            break
        run.insert(0, token)
    words = [token[0] for token in run]
    first = _aside_length(words)
    first += _opening_length(words[first:])
    return " ".join(words[first:]).rstrip(","), run[first].start() if first < len(run) else at


def _may_be_name(word: str, *, last: bool) -> bool:
    """Whether a word may be part of a run of names."""
    if word.endswith(".") and not last and not (_INITIALS.fullmatch(word) or _ABBREVIATED.fullmatch(word)):
        return False
    return _is_name(word) or _is_particle(word)


def _aside_length(words: Sequence[str]) -> int:
    """The number of leading words up to a comma that does not separate authors: "In Paris, Smith"."""
    if any(map(_JOINING.fullmatch, words)):
        return 0
    last = max((i for i, word in enumerate(words) if not _INITIALS.fullmatch(word)), default=0)
    return max((i for i in range(1, last + 1) if words[i - 1].endswith(",")), default=0)


def _opening_length(words: Sequence[str]) -> int:
    """The number of leading words that are not names: "The", "However,"."""
    return next((i for i, word in enumerate(words) if not (_UNNAMED.fullmatch(word) or _opens(word))), len(words))


def _opens(word: str) -> bool:
    bare = word.rstrip(",")
    return bool(_OPENING.fullmatch(bare) or OPENER.fullmatch(bare))


def _is_name(word: str) -> bool:
    """Whether a word is capitalised, or of a script without capitals."""
    return bool(_NAME.fullmatch(word)) and not word[:4].islower()


def _is_particle(word: str) -> bool:
    """Whether a word is a lower-case particle or conjunction between names."""
    return bool(_PARTICLES.fullmatch(word))


def _is_date(names: str) -> bool:
    return all(word in _DATES for word in _WORD.findall(names.casefold()))


class ChunkAuthors:
    """Matches cited works with chunks.

    Args:
        labels: one per chunk, a text with its authors and its year.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        self._words = [frozenset(_WORD.findall(label.casefold())) for label in labels]
        self._initials = ["".join(re.findall(r"\b[A-Z](?=[a-z])", label)) for label in labels]
        self._years = [frozenset(re.findall(rf"(?<!\d){_YEAR}[a-z]?(?![^\W_])", label)) for label in labels]

    def position(self, work: CitedWork) -> int | None:
        """The first chunk whose label contains the authors (or the name they abbreviate) and the year of a work.

        None if there is none. Of several works of one year that labels do not distinguish, 2020a is the first, 2020b
        the second.
        """
        authors = _authors(work.names)
        by_author = [i for i, words in enumerate(self._words) if _matches(authors, words)]
        if not by_author and work.names.isupper() and len(work.names) > 2:
            by_author = [i for i, initials in enumerate(self._initials) if work.names in initials]
        matching = [i for i in by_author if work.year in self._years[i]]
        letter = work.year[4:]
        if not matching and letter:
            matching = [i for i in by_author if work.year[:4] in self._years[i]][ord(letter) - ord("a") :]
        elif not matching:
            matching = [i for i in by_author if any(year.startswith(work.year) for year in self._years[i])]
        return matching[0] if matching else None


def _authors(names: str) -> list[list[str]]:
    """Per author, the capitalised words without initials."""
    authors = _BETWEEN_AUTHORS.split(_OTHERS.sub("", names))
    words = [[word for word in _WORD.findall(author) if not word.islower()] for author in authors]
    return [[word.casefold() for word in each if len(word) > 1 or not word.isupper()] for each in words if each]


def _matches(authors: Sequence[Sequence[str]], label: frozenset[str]) -> bool:
    """Whether a label contains each author's last name, and the first names or initials; with "et al.", the first's."""
    expected = [author for author in (authors[:1] if {"et", "al"} <= label else authors) if author]
    last_names = all(author[-1] in label for author in expected)
    return bool(expected) and last_names and all(label & {word, word[0]} for author in expected for word in author[:-1])


_NOUN = any_of(r"""docs?\.? documents? dokumente? sources? quellen? passages? refs?\.? references? contexts? chunks?
    (?:search_)?results?""")
_NUMBER = rf"(?:(?i:{_NOUN})\s?)?[#^]?\d{{1,3}}"
_TO = r"(?:\s?[–—-]\s?|\s(?:to|bis)\s)"
_BETWEEN = rf"(?:\s?[,;&]\s?(?:(?:and|&|und)\s)?|\s(?:and|und|et|y)\s|{_TO})"
_NUMBERS = rf"\s?{_NUMBER}(?:{_BETWEEN}{_NUMBER})*\s?"
_ADDRESS = r"\(https?://[^\s()]*\)"
_BRACKETS = rf"(?:\[{_NUMBERS}\](?:{_ADDRESS})?|【\d[^】\n]{{0,30}}】)"
_NUMBER_SIGNAL = r"(?i:see(?: also)?|cf\.|e\.g\.,?|from|sources?:?|refs?\.?)"

#: One citation mark: brackets with numbers, or several together in parentheses.
MARK = rf"(?:{_BRACKETS}|\((?:{_NUMBER_SIGNAL}\s)?{_BRACKETS}(?:[\s,;]*{_BRACKETS})*\))"
_MARK_OR_CODE = re.compile(rf"{CODE}|(?P<mark>{MARK})", re.DOTALL)

#: How citations are written: [1], [1, 2], [1-3], [Doc 1], 【1】; (1), (1, 2), (1-3); or (Smith, 2020), Smith (2020).
CitationStyle = Literal["brackets", "parentheses", "authors"]

#: What a citation refers to: a chunk, a chunk that does not exist, or nothing since it is a year.
Reach = Literal["chunk", "nothing", "year"]

_YEAR_LIST = rf"{_YEAR}(?:\s?[,;–—-]\s?{_YEAR})*"
_BRACKETED = re.compile(rf"{CODE}|(?P<mark>{MARK}|\[(?P<year>{_YEAR_LIST})\])", re.DOTALL)
_PARENTHESISED = re.compile(
    rf"{CODE}|(?P<line>^\s*\(\d{{1,3}}\)(?=\s+\S))|(?P<mark>\({_NUMBERS}\)|\((?P<year>{_YEAR_LIST})\))",
    re.DOTALL | re.MULTILINE,
)
_UNNUMBERED = re.compile(rf"{_ADDRESS}|†[^】]*")
_RANGE = re.compile(rf"(\d+)(?:{_TO}[#^]?(\d+))?")


class Citation(NamedTuple):
    """One number or name in a citation mark.

    Args:
        written: the number or name.
        span: of the whole mark, which may contain several.
        reach: whether there is such a chunk.
        chunk: its position from 0, None where there is none.
    """

    written: str
    span: Span
    reach: Reach
    chunk: int | None = None


def citation_marks(text: str) -> list[Span]:
    """The citation marks of a text, in order: [1], each of [1][2], [1, 2], [1-3], [1 and 2], [Doc 1], [^1], 【1】.

    A number linked to a URL, [1](https://...), is one mark with its URL, and so is ([1]) with its parentheses. Numbers
    of four digits are years, and brackets inside code are indices; neither is a mark.
    """
    return [found.span() for found in _MARK_OR_CODE.finditer(text) if found["mark"]]


def citations_in(text: str, labels: Sequence[str], style: CitationStyle = "brackets") -> list[Citation]:
    """The citations of a text, in order.

    [0] and numbers beyond the last chunk refer to nothing, as do authors that match no label; of a range beyond the
    last chunk only its end does. A year alone in brackets is a year, unless there are that many chunks; so is the year
    after a month, or after names that match no label and are not marked as cited.

    Args:
        labels: one per chunk, with authors and year for the style "authors"; for numbers only their count matters.
    """
    return list(_by_author(text, labels) if style == "authors" else _by_number(text, len(labels), style))


def _by_author(text: str, labels: Sequence[str]) -> Iterator[Citation]:
    authors = ChunkAuthors(labels)
    for work in cited_works(text):
        chunk = authors.position(work)
        reach: Reach = "chunk" if chunk is not None else "nothing" if work.sure else "year"
        yield Citation(f"{work.names} {work.year}".strip(), work.span, reach, chunk)


def _by_number(text: str, chunks: int, style: Literal["brackets", "parentheses"]) -> Iterator[Citation]:
    for found in (_BRACKETED if style == "brackets" else _PARENTHESISED).finditer(text):
        if found["year"] and chunks < int(found["year"][:4]):
            yield Citation(found["year"], found.span(), "year")
        elif found["mark"]:
            yield from _numbered(found, chunks)


def _numbered(found: re.Match[str], chunks: int) -> Iterator[Citation]:
    for first, last in _RANGE.findall(_UNNUMBERED.sub("", found["mark"])):
        low, high = int(first), int(last or first)
        numbers = range(low, min(high, chunks) + 1) if low < high else (low, *([high] if high < low else []))
        beyond = [high] if high > max(low, chunks) else []
        for number in dict.fromkeys([*numbers, *beyond]):
            exists = 1 <= number <= chunks
            yield Citation(str(number), found.span(), "chunk" if exists else "nothing", number - 1 if exists else None)


def unmarked(text: str, span: Span, marks: Sequence[Span]) -> str:
    """A span of text without its marks and the spaces before each; `marks` are all marks of the text, in order."""
    position, end = span
    kept: list[str] = []
    for i in range(max(0, bisect_left(marks, span) - 1), len(marks)):
        start, stop = marks[i]
        if start >= end:
            break
        if stop > position:
            kept.append(text[position : max(position, start)].rstrip(" "))
            position = min(stop, end)
    kept.append(text[position:end])
    return "".join(kept)


class TextWithoutSpans:
    """A text without some disjoint spans, in order, and the spaces before each. text: the remaining text."""

    def __init__(self, text: str, spans: Sequence[Span]) -> None:
        self._starts, self._origins = [0], [0]
        kept: list[str] = []
        position = size = 0
        for start, stop in spans:
            kept.append(text[position:start].rstrip(" "))
            size, position = size + len(kept[-1]), stop
            self._starts.append(size)
            self._origins.append(position)
        self.text = "".join([*kept, text[position:]])

    @property
    def seams(self) -> Sequence[int]:
        """The offsets in the remaining text at which spans were removed."""
        return self._starts[1:]

    def origin(self, at: int) -> int:
        """The offset in the whole text of the character at `at` in the remaining text."""
        kept = bisect_right(self._starts, at) - 1
        return self._origins[kept] + at - self._starts[kept]
