"""Wordings that claim nothing: politeness, announcements, questions, pointers, code."""

from __future__ import annotations

import re

from ragauge.text.patterns import any_of, phrases
from ragauge.text.refusals import is_refusal_sentence

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
    r"(?:hi|hello|hey|dear|welcome|good (?:morning|afternoon|evening|day|luck))\b(?:[ ,]+\w+){0,4}",
    rf"{any_of('sure certainly of_course absolutely definitely okay ok alright great no_problem')}"
    r"(?:\W+(?:here|let me|i can|i'll|i'd|happy|glad)\b.*)?",
    r"(?:that's an? |what an? )?(?:very )?(?:good|great|excellent|interesting) question",
    r"(?:thanks|thank you|you're welcome|you are welcome)\b.*",
    r"(?:i'm |i am |we're )?(?:so |very |really )?sorry\b(?!.*\bbut\b).*|(?:i apologi[sz]e|my apologies)\b.*",
    r"(?:i|we) (?:really )?hope .*",
    r".*\b(?:let me know|feel free|(?:don't|do not) hesitate|(?:happy|glad) to (?:help|assist))\b.*",
    r"(?:enjoy|have an? (?:safe|good|great|nice|lovely|wonderful)|get well|take care|all the best|cheers|goodbye)\b.*",
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
_EXAMINED_CHARS = 240  # the characters of the longest sentence that _NO_CLAIM is tried on
_CODE = re.compile(
    r"(?:\$|>>>) \S.*|[a-z_][\w.]*\(.*\)[;:]?|[a-z_][\w.]* ?= ?\S*[(\[{'\"].*|import \w+.*|from \w+ import .*"
    r"|(?:SELECT|CREATE|INSERT INTO|DELETE FROM) .*|(?:pip|npm|git|docker|curl) [a-z-]+ \S*[-./=_]\S*.*",
    re.DOTALL,
)


def claims_nothing(wording: str) -> bool:
    """Whether a wording claims nothing: politeness, an announcement, a refusal, a pointer, code."""
    if not any(map(str.isalnum, wording)) or is_refusal_sentence(wording) or _CODE.fullmatch(wording.strip(" `")):
        return True
    plain = wording[: _EXAMINED_CHARS + 1].lower().replace("’", "'").strip(" ()*_.!,;:")
    return len(wording) <= _EXAMINED_CHARS and bool(_NO_CLAIM.fullmatch(plain))
