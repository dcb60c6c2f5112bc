"""Evaluation: words that praise or blame, and whether a sentence's whole point is to do so."""

from __future__ import annotations

import re
from typing import NamedTuple

from ragauge.judges.embedded.statements.phrases import in_name
from ragauge.text.patterns import any_of

_TASTE = frozenset(
    """amazing awesome wonderful fantastic brilliant superb magnificent gorgeous beautiful lovely adorable
    delightful charming marvelous marvellous incredible stunning terrific fabulous splendid breathtaking hilarious
    funny cute unforgettable awful terrible terribly horrible horribly horrendous dreadful ridiculous ridiculously
    absurd laughable nonsense foolish ignorant useless shameful disgraceful despicable vile nasty repulsive
    revolting hideous ugly outrageous appalling atrocious abysmal lousy lame overrated underrated boring annoying
    irritating insufferable unbearable interesting schrecklich furchtbar wunderbar großartig dumm hässlich
    maravilloso estúpido magnifique affreux stupide""".split()
)
_LEANING = frozenset(
    """impressive excellent inspiring fascinating exciting tedious dull admirable heroic genius masterpiece
    masterful elegant clever smart wise pleasant enjoyable delicious tasty perfect flawless incompetent inept
    shameless evil wicked lazy greedy corrupt crooked dishonest arrogant selfish hateful unfair unjust immoral
    insane crazy disappointing disappointment inferior barbaric uncivilized backward filthy sleazy creepy mediocre
    catastrophic sinister ruthless reckless irresponsible unacceptable inexcusable unforgivable scandalous senseless
    pointless childish weak-minded hysterical bossy nagging incredibly disgustingly""".split()
)
_EVALUATIVE = _TASTE | _LEANING

_COPULA = any_of("""is are was were am be been being seems? looks? sounds? feels? remains? isn't aren't wasn't
    weren't it's he's she's that's this's what's who's you're they're we're i'm""")
_DEGREE = any_of("an? the not so such very really truly pretty quite just too always much far")
_PRAISE = "good bad great better worse nice fun sad"
_NO_PRAISE = any_of("deal number many majority extent variety amount distance known suited off as condition")
_BEST = """best worst greatest finest nicest coolest smartest dumbest ugliest laziest funniest scariest"""
_NO_BEST = any_of("known selling common practices? case of_three of_five of_seven actor actress picture director")
_GRADED = re.compile(
    rf"\b(?:{_COPULA}|so|such|really|truly) (?:{_DEGREE} )*{any_of(_PRAISE)}\b(?! {_NO_PRAISE}\b)"
    rf"|\b(?:the|my|our|your|world's) (?:\w+ )?{any_of(_BEST)}\b(?!-)(?! {_NO_BEST}\b)"
)
_GRADED_WORDS = frozenset(f"{_PRAISE} {_BEST}".split())

_BETWEEN = any_of(r"""\w+ly not so such very too just quite rather pretty an? the one of all nothing but more most
    both also still bunch and or always oh what""")
_PREDICATE = re.compile(rf"(?:\b{_COPULA}|\b(?:you|what|how|such)|\A\W*|[,!] *) ?(?:{_BETWEEN} +)*\Z")
_NOTED = re.compile(r" (?:to note|fact|enough)\b")
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_SIGHT = 48


class Evaluation(NamedTuple):
    """An evaluation: its span, and whether it is a matter of taste that the sentence makes its point ("is awful")."""

    start: int
    end: int
    pointed: bool


def evaluations(own: str, lowered: str, present: frozenset[str]) -> list[Evaluation]:
    """The evaluations in a sentence, which is given as it is, in lower case, and as its words.

    Words that are part of a name ("Beautiful Mind", "Great Britain") are none.
    """
    found: list[Evaluation] = []
    if not _EVALUATIVE.isdisjoint(present):
        candidates = (word for word in _WORD.finditer(own) if word[0].lower() in _EVALUATIVE)
        found += [_evaluation(lowered, word) for word in candidates if not _is_plain(own, word)]
    if not _GRADED_WORDS.isdisjoint(present):
        found += [Evaluation(*graded.span(), pointed=False) for graded in _GRADED.finditer(lowered)]
    return found


def _is_plain(own: str, word: re.Match[str]) -> bool:
    return in_name(own, word) or bool(_NOTED.match(own, word.end()))


def _evaluation(lowered: str, word: re.Match[str]) -> Evaluation:
    before = lowered[max(0, word.start() - _SIGHT) : word.start()]
    pointed = lowered[slice(*word.span())] in _TASTE and bool(_PREDICATE.search(before))
    return Evaluation(*word.span(), pointed=pointed)
