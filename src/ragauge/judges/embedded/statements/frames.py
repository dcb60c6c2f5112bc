"""Frames: openings that only point at the texts given, or at what follows, and add nothing to a claim.

"According to passage 2, the bridge opened in 1932." claims that the bridge opened in 1932, and so do "The provided text
states that ..." and "It is worth noting that ...". A named source ("According to the Act") is part of a claim.
"""

from __future__ import annotations

import re

from ragauge.text.patterns import any_of, phrases

SOURCE = any_of("context documents? passages? information texts? sources? search_results articles? excerpts? snippets?")
SUPPLIED = any_of("provided given above available supplied")

_NUMBERS = rf"(?: \d+(?:(?:,| and|, and| &) (?:{SOURCE} )?\d+)*)"
_GIVEN = rf"(?:(?:the |your |these |this )?(?:(?:retrieved|following|search|{SUPPLIED}) )+{SOURCE}|{SOURCE}{_NUMBERS})"
_PLAIN = rf"(?:the |your |these |this ){SOURCE}"
_FROM = any_of("based_on according_to as_per as_stated_in from per given in")
_TELL = any_of("""states? says? mentions? notes? explains? indicates? suggests? describes? reports? shows? reveals?
    confirms? specif(?:y|ies) adds?""")
_SEEN = any_of("see seen say said conclude concluded infer inferred note noted observe observed determine determined")
_NOTE = any_of("note mention remember recogni[sz]e point_out keep_in_mind consider understand")
_LINK = rf"(?:(?:{any_of('however additionally also furthermore moreover similarly finally overall in_addition')}),? )?"
_THAT = phrases(
    rf"(?:we|you|one|it) (?:can|could|may) (?:also )?(?:be )?(?:clearly )?{_SEEN} that ",
    r"(?:it is|it's) (?:also )?(?:clear|evident|apparent) that ",
    rf"(?:it is|it's) (?:also )?(?:important|worth|essential|crucial|interesting|useful) "
    rf"(?:to {_NOTE}|{any_of('noting mentioning remembering pointing_out')}) that ",
    r"it should (?:also )?be (?:noted|mentioned|remembered) that ",
    r"(?:please )?(?:note|keep in mind|remember) that ",
)
_FRAME = re.compile(
    phrases(
        rf"{_LINK}(?:{_FROM} (?:{_GIVEN}|{_PLAIN})|(?:based on|given) {SOURCE})"
        rf"(?: (?:information|passages?|documents?))?(?: {SUPPLIED})?[,:]\s+{_THAT}?",
        rf"{_LINK}(?:{_GIVEN}|{_PLAIN})(?: {SUPPLIED})? (?:also )?{_TELL} that ",
        rf"{_LINK}{_THAT}",
        r"the (?:final |short |correct )?answer (?:to (?:the|this|your) question )?(?:[\"“][^\"”]{1,200}[\"”] )?is:\s+",
        r"(?:(?:final |short )?answer|antwort|respuesta|réponse)\s*:\s+",
    ),
    re.IGNORECASE,
)


def frame_length(sentence: str) -> int:
    """The length of the frame that a sentence opens with; 0 where it has none."""
    framed = _FRAME.match(sentence)
    return framed.end() if framed else 0
