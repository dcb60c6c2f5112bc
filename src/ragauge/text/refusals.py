"""Rule-based detection of refusals, and of other sentences that claim nothing: politeness, announcements, code.

Refusals are sentences that decline to answer, and responses with no other content. Some name the speaker ("I don't
know") or the sources ("the documents do not say"). Others ("not enough information") may equally be an answer, so they
must end the sentence, and apply only to sentences without citations.
"""

from __future__ import annotations

import re
from pkgutil import get_data

from ragauge.text.citations import citation_marks, unmarked
from ragauge.text.patterns import any_of, phrases, regex
from ragauge.text.sentences import sentences
from ragauge.types import Span

_SCRIPTS = r"[\p{Latin}\p{Cyrillic}\p{Han}\p{Hiragana}\p{Katakana}]"
_WORDS, _NAME = re.compile("⟨(.*?)⟩"), re.compile(r"\{([A-Z_]+)\}")


def _read() -> dict[str, str]:
    """The patterns in refusals.txt by name; the pattern of a list matches any of its entries."""
    patterns: dict[str, str] = {}
    listed: dict[str, list[str]] = {}
    section = ""
    for line in (get_data(__name__, "refusals.txt") or b"").decode().splitlines():
        if not line or line.startswith("# "):
            continue
        *names, fragment = line.split(" = ", 1)
        pattern = _WORDS.sub(lambda words: any_of(words[1]), _NAME.sub(lambda name: patterns[name[1]], fragment))
        if line.startswith("["):
            section = line.strip("[]")
        elif names:
            patterns[names[0]] = pattern
        else:
            listed.setdefault(section, []).append(pattern)
    return patterns | {section: phrases(*entries) for section, entries in listed.items()}


_PATTERNS = _read()

#: A cheap pattern that every refusing sentence matches.
_HINT = re.compile(_PATTERNS["HINT"])
_ANYWHERE = re.compile(phrases(_PATTERNS["SPEAKERS"], _PATTERNS["SOURCES"], _PATTERNS["FOREIGN"]))
_UNCITED = re.compile(_PATTERNS["UNNAMED"])
_CONCESSION = re.compile(r"(?:although|though|while|even though|whereas)\b[^,]*, ")
_EXAMINED_CHARS = 400
_ASIDE = re.compile(_PATTERNS["ASIDE"])
_NEGATION = re.compile(_PATTERNS["NEGATION"])
_TURN = re.compile(r"[,;]?\s(?:but|however|though|aber|pero|mais|ma|mas)\s|;\s")
_QUOTED = re.compile(
    r"""\"[^\"]{1,200}\"|“[^”]{1,200}”|„[^“”]{1,200}[“”]|«[^»]{1,200}»
      |(?<!\w)['‘](?:[^'’]|(?<=\w)['’](?=\w)){1,200}['’](?!\w)""",
    re.VERBOSE,
)
_TITLE = re.compile(r"\b[A-Z][\w'’]*(?:\s[A-Z][\w'’]*){2,}")


def is_refusal_sentence(sentence: str, instructed: str = "", *, cited: bool = False) -> bool:
    """Whether a sentence states that the speaker or the sources have no answer, and nothing else.

    "I don't know." and "The documents do not say when." are refusals. A sentence that goes on to give information
    ("Although the text gives no date, it names the place.") is not, nor are quotations and titles. Covers English, and
    the most common forms in German, Spanish, French, Italian, Portuguese, Dutch, Polish, Russian, Japanese, Chinese.

    instructed: the refusal that the speaker was instructed to give; each sentence of it is one. cited: whether the
    sentence has citations besides the marks in it; "There is no mention of slavery" is then content of the source.
    """
    marks = citation_marks(sentence)
    bare = unmarked(sentence, (0, len(sentence)), marks)
    if instructed and _normalised(bare) in {_normalised(instructed[slice(*span)]) for span in sentences(instructed)}:
        return True  # up to case, spaces, citations and the full stop
    if not _HINT.search(_normalised(sentence)):
        return False
    wording = _CONCESSION.sub("", _without_quotations(bare), count=1)
    cited = cited or bool(marks)
    return _refuses(wording, cited) and all(
        _refuses(clause, cited) or _ASIDE.match(clause) or _NEGATION.match(clause) for clause in _TURN.split(wording)
    )


def _refuses(wording: str, cited: bool) -> bool:
    return bool(_ANYWHERE.search(wording) or (not cited and _UNCITED.search(wording)))


def _without_quotations(sentence: str) -> str:
    """The normalised sentence without quotations and titles, unless it has no other words."""
    for pattern in (_QUOTED, _TITLE):
        if any(map(str.isalnum, pattern.sub("", sentence))):
            sentence = pattern.sub("x", sentence)
    return _normalised(sentence)


def refusal(text: str, instructed: str = "") -> list[Span]:
    """The sentences by which a response declines to answer; none if it answers, even in part, or is empty.

    Apologies, advice and descriptions of what the documents are about may accompany them, without citations.
    """
    refuses = {span: is_refusal_sentence(text[slice(*span)], instructed) for span in sentences(text)}
    others = [text[slice(*span)] for span, refusing in refuses.items() if not refusing]
    if any(citation_marks(sentence) or not _ASIDE.match(_normalised(sentence)) for sentence in others):
        return []
    return [span for span, refusing in refuses.items() if refusing]


def has_rules(text: str) -> bool:
    """Whether most letters of a text are of a script of the languages that have rules."""
    letters = sum(map(str.isalpha, text))
    return text.isascii() or 2 * len(regex.findall(_SCRIPTS, text)) >= letters


def _normalised(sentence: str) -> str:
    return " ".join(sentence[:_EXAMINED_CHARS].replace("’", "'").lower().split()).strip(" .!\"'*。")


# Wordings that claim nothing.

QUESTION = re.compile(r"[?？؟][\"'”’»)*_]*\Z")
SOURCE = (
    rf"(?:{any_of('the these both all your provided given above retrieved search')} )*"
    rf"{any_of('contexts? documents? passages? sources? results? excerpts? snippets? texts? articles?')}(?: \d+)?"
)
SAYS = any_of("states? says? mentions? notes? explains? indicates? describes? reports? shows? confirms?")
_ABOUT_SOURCES = (
    rf"(?:this|that|it|the answer|{SOURCE}) (?:\w+ )?(?:is|are|be|comes?|found|given|stated)"
    rf" (?:\w+ )?(?:in|from) {SOURCE}",
    r"(?:the |these |both )?(?:passages|contexts?|excerpts|snippets|search results|provided \w+) (?!of\b|to\b)[^,]*",
)
_POLITE = (
    r"(?:hi|hello|hey|dear|good (?:morning|afternoon|evening|day|luck))\b(?:[ ,]+\w+){0,4}",
    rf"{any_of('sure certainly of_course absolutely definitely okay ok alright great no_problem')}"
    r"(?:\W+(?:here|let me|i can|i'll|i'd|happy|glad)\b.*)?",
    r"(?:that's an? |what an? )?(?:very )?(?:good|great|excellent|interesting) question",
    r"(?:thanks(?! to)|thank you|you're welcome|you are welcome)\b.*",
    r"welcome(?: (?:to|back)\b(?:[ ,]+\w+){0,3})?",
    r"(?:i'm |i am |we're )?(?:so |very |really )?sorry\b(?!.*\bbut\b).*|(?:i apologi[sz]e|my apologies)\b.*",
    r"(?:i|we) (?:really )?hope .*",
    r".*\b(?:let me know|feel free|(?:don't|do not) hesitate|(?:happy|glad) to (?:help|assist))\b.*",
    r"(?:enjoy|have an? (?:safe|good|great|nice|lovely|wonderful)|all the best|cheers|goodbye)\b.*",
    r"(?:get well|take care(?! of))\b.*",
    r"(?:(?:best|kind) )?regards",
)
_ANNOUNCING = (
    r"(?:so,? |now,? )?here(?:'s| is| are) .*",
    r"(?:let me|let's|i'll|i will) (?:explain|summari[sz]e|break|start|begin|walk|see|look|go)\b.*",
    r"(?:in )?(?:summary|conclusion|short|other words|answer|notes?|sources?|references?)",
)
_POINTER = (
    r"(?:[<(]|\[[^\]]*\]\()?https?://\S+",
    r"(?:for (?:more|further|additional) [^,]*, )?(?:please )?(?:see|refer to)\b.*"
    rf"\b(?:{SOURCE}|documentation|docs|manual|page|website|guide|section|chapter|https?:).*",
)
_NO_CLAIM = re.compile(phrases(*_POLITE, *_ANNOUNCING, *_POINTER, *_ABOUT_SOURCES))
_LONGEST_NO_CLAIM = 240  # characters
_CODE = re.compile(
    r"(?:\$|>>>) \S.*|[a-z_][\w.]*\(.*\)[;:]?|[a-z_][\w.]* ?= ?\S*[(\[{'\"].*|import \w+.*|from \w+ import .*"
    r"|(?:SELECT|CREATE|INSERT INTO|DELETE FROM) .*|(?:pip|npm|git|docker|curl) [a-z-]+ \S*[-./=_]\S*.*",
    re.DOTALL,
)


def claims_nothing(wording: str) -> bool:
    """Whether a wording claims nothing: politeness, an announcement, a refusal, a pointer, code."""
    if not any(map(str.isalnum, wording)) or is_refusal_sentence(wording) or _CODE.fullmatch(wording.strip(" `")):
        return True
    plain = wording.lower().replace("’", "'").strip(" ()*_.!,;:")
    return len(wording) <= _LONGEST_NO_CLAIM and bool(_NO_CLAIM.fullmatch(plain))
