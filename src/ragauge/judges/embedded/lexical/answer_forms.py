"""The form of an answer: whether a short text, by its shape alone, could answer what a query asks.

"Port 7440" shares no word with "Where does it listen?", yet has the shape of an answer to it; so has an instruction to
"What should I do?", a reason to "Why?", and a sentence that goes on from the last with "It" or "After that".
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from ragauge.judges.embedded.lexical.lexicon import AUXILIARIES, FUNCTION_WORDS
from ragauge.judges.embedded.lexical.queries import polarity
from ragauge.text.patterns import any_of, phrases

_FRAGMENT = 8  # words a fragment has at most
_FINITE = frozenset(
    """is are was were has have had does did will would can could may might must shall should cannot isn't aren't
    wasn't weren't hasn't haven't hadn't doesn't didn't won't wouldn't can't couldn't shouldn't became began broke
    came chose drew drove fell flew gave went grew knew ran rose saw sang spoke swam took threw wore wrote ate drank
    hid rode shook stole swore woke""".split()
)
_LIKELY_FINITE = _FINITE | frozenset(
    """made said left lost won sold told found held led met paid built bought brought caught felt fought kept sent
    spent taught thought stood cut put set hit let read spread cost contains includes remains makes produces means
    requires provides offers uses shows refers consists begins ends lives lies serves supports covers allows causes
    leads becomes plays takes gives holds owns employs sells""".split()
)
_GERMAN_POLAR = any_of("ist sind war hat haben kann können darf dürfen muss müssen soll sollen gibt wird werden")
_POLAR = re.compile(rf"(?:and |or |und )?(?:{any_of(' '.join(sorted(AUXILIARIES)))}|{_GERMAN_POLAR})\b")
_NAMED = re.compile(
    r"\b(?:who|whom|whose|which|what|where|name|list|wer|wem|wen|welche[rsnm]?|was|wo)\b"
    r"(?! (?:should|must|can|do|happens)\b)"
)
_SCALE = any_of("long old far tall big often high large deep fast quickly soon heavy wide late hot cold")
_MEASURED = re.compile(
    phrases(
        rf"\bhow (?:much|{_SCALE})\b",
        r"\b(?:what|which) (?:percentage|share|number|year|date|temperature|size|amount|price|time)\b",
        r"\b(?:what|how much) (?:\w+ )*(?:costs?|weighs?)\b",
        r"\bwhen\b",
        rf"\b{any_of('wann wie_viele? wie_lange wie_oft')}\b",
    )
)
_COUNTED = re.compile(r"\bhow many (\w+)")
_WHY = re.compile(r"\b(?:why|what causes|what caused|for what reason|how come|warum|wieso|weshalb)\b")
_ADVICE = re.compile(
    phrases(
        rf"\b(?:how|what|which|where|when) (?:[\w ]+ )?{any_of('do can could should must may')} (?:i|we|you|one)\b",
        r"\bhow to\b",
        r"\bwhat to do\b",
        r"\b(?:wie|womit|was) (?:\w+ ){1,3}(?:ich|wir|man)\b",
    )
)
_PERSONAL = re.compile(r"\b(?:i|my|we|our|me|ich|mein\w*|wir)\b")

_REASON = re.compile(rf"\b{any_of('because due_to owing_to since so_that in_order_to thanks_to weil denn damit')}\b")
_LINKS = any_of(
    """it they he she this these its their his her such that_is that_was after_that before_that then if_so if_not
    otherwise instead in_that_case in_this_case from_then until_then for_this to_do_so later_ones afterwards finally
    first second next er sie es das dies diese dazu danach dann sonst"""
)
_REFERRING = re.compile(
    phrases(
        rf"(?:{any_of('also and so but however as because')},? )?{_LINKS}\b(?!-)",
        rf"{any_of('as if because when since once although while for')} [^,]*, (?:it|they|this|you)\b",
    )
)
_MAY = any_of("can may must should need will could have are get do cannot")
_ADDRESSED = re.compile(rf"(?:\w+ly )?you(?:'ll| {_MAY})\b")
_PLEA = any_of("please do_not don't never always make_sure be_sure try just simply first then next bitte")
_PLEADED = re.compile(rf"(?:{_PLEA},? \w+|to \w+)")
_OBJECT = "the a an it them this that these those your its their all each any every both some no up off out sie es"
_IMPERATIVE_SECOND = frozenset(_OBJECT.split())
_DIRECTIVES = frozenset(
    """add allow announce apply ask avoid bake boil book bring build buy call carry change check choose clean clear
    click close connect contact cook cool copy create cut delete download drain dry eat empty ensure enter fill find
    follow get give go heat install keep leave let look make mix move open pass pay pick pour press pull push put read
    refill remove replace report rest restart return review rinse run save see select send serve set show sign start
    stay stir stop store submit switch take tell thaw think try turn update use visit wait wash whisk wipe
    write""".split()
)
_NOT_BASE = ("ing", "tion", "ness", "ment", "ity", "ly", "ism", "ance", "ence")
_OBJECT_OPENS = any_of(
    "the its their his her my your our this that it them only not no all each two three about nearly"
)
_CLAUSE = re.compile(
    phrases(  # what looks like a verb: "raises two bulges"; "Taylor Swift likes chicken"
        rf"\b[a-z]+(?:s|ed) (?:{_OBJECT_OPENS}|an?(?! (?:day|week|month|year|hour|minute|night|person)\b))\b",
        rf"\A(?:[A-Z][\w'’-]* )+[a-z]+(?:s|ed) (?!{any_of('of and or for with without per as')}\b)\w",
    )
)
_WORD = re.compile(r"[^\W_]+(?:['’.,:-][^\W_]+)*%?|[%$€£]")
_AMOUNT = re.compile(
    r"\d|\b"
    + any_of("""one two three four five six seven eight nine ten twelve twenty hundred thousand never none once twice
        always every daily weekly monthly yearly annually immediately""")
    + r"\b"
)
_BOUND = re.compile(any_of("no_more_than no_less_than at_least at_most up_to about around between less_than more_than"))
_MARKER = re.compile(r"(?<!\s)\s*(?:[-*•]|(?<!\d)\d++[.)])\s+")


class Asked(NamedTuple):
    """What kinds of answer a query takes. counted: the word after "how many", in lower case, or ""."""

    polar: bool
    named: bool
    measured: bool
    counted: str
    why: bool
    advice: bool
    personal: bool


@lru_cache(maxsize=256)
def asked(query: str) -> Asked:
    """The kinds of answer that any part of `query` takes: "How long is it, and does it have locks?" takes two."""
    lower = " ".join(query.lower().split())
    starts = re.split(r"(?<=[?.!;,:])\s+", lower)
    counted = _COUNTED.search(lower)
    return Asked(
        any(_POLAR.match(start) for start in starts),
        bool(_NAMED.search(lower)),
        bool(_MEASURED.search(lower)),
        counted.group(1) if counted else "",
        bool(_WHY.search(lower)),
        bool(_ADVICE.search(lower)),
        bool(_PERSONAL.search(lower)),
    )


def has_form(query: str, sentence: str, shares: bool = False) -> bool:
    """Whether `sentence`, a single one, has the form of an answer to `query`, whatever its words.

    shares: it has a word of the query that says something; a full sentence with a number must, to answer "how much".
    """
    wanted = asked(query)
    plain = _MARKER.sub("", sentence, count=1).replace("’", "'").strip(" *_\"'“”")
    lower = plain.lower()
    if polarity(plain)[0] is not None:
        return wanted.polar
    if _REFERRING.match(lower) or (wanted.personal and _ADDRESSED.match(lower)):
        return True
    if wanted.why and _REASON.search(lower):
        return True
    measures = bool(wanted.measured or wanted.counted in lower.split()) and bool(_AMOUNT.search(lower))
    if instructs(plain):
        return wanted.advice or wanted.personal or measures
    if is_fragment(plain):
        return measures or (bool(wanted.counted) and bool(_AMOUNT.search(lower))) or _names(wanted)
    return measures and (shares or bool(_BOUND.match(lower)))


def _names(wanted: Asked) -> bool:
    """A name or phrase without a number is sought."""
    return wanted.named and not (wanted.measured or wanted.counted)


def instructs(text: str) -> bool:
    """Whether a sentence tells the reader to do something: "Press the door", "Do not tip it", "Spülen Sie"."""
    lower = text.lower()
    if _PLEADED.match(lower):
        return True
    found = _WORD.findall(lower)
    if len(found) < 2 or found[0] in FUNCTION_WORDS or not found[0].isalpha() or _AMOUNT.match(lower):
        return False
    if found[1] == "sie" or found[0] in _DIRECTIVES:
        return found[1] not in _FINITE
    base = not found[0].endswith(_NOT_BASE) and not found[0].endswith(("s", "ed"))
    return base and found[1] in _IMPERATIVE_SECOND


def is_fragment(text: str) -> bool:
    """Whether a text is a name, number or phrase without a verb, as far as words without a parser tell."""
    found = _WORD.findall(text)
    if not found or len(found) > _FRAGMENT or text.rstrip().endswith("?") or _CLAUSE.search(text):
        return False
    return _LIKELY_FINITE.isdisjoint(word.lower() for word in found[:-1] if word != "May") and found[-1] not in _FINITE
