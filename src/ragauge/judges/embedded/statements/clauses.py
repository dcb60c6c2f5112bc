"""Compound sentences: where two main clauses are joined that each could stand as a sentence.

Without a parser, a join is cut only where both sides plainly have a subject and a finite verb and the right side does
not lean on the left through a pronoun, unless that is plainly the left's subject. Everything doubtful stays whole.
"""

from __future__ import annotations

import re
from itertools import pairwise

from ragauge.judges.embedded.statements.drafts import tokens
from ragauge.judges.embedded.statements.grammar import is_adverb, is_past
from ragauge.judges.embedded.statements.predicates import predicate
from ragauge.judges.embedded.statements.pronouns import resolved
from ragauge.text.refusals import is_refusal_sentence
from ragauge.types import Span

FINITE = frozenset(
    """is are was were has have had does did will would can could may might must shall should cannot isn't aren't
    wasn't weren't hasn't haven't hadn't doesn't didn't won't wouldn't can't couldn't shouldn't became began broke
    came chose drew drove fell flew gave went grew knew ran rose saw sang spoke swam took threw wore wrote ate drank
    hid rode shook stole swore woke""".split()
)
LIKELY_FINITE = FINITE | frozenset(
    """made said left lost won sold told found held led met paid built bought brought caught felt fought kept sent
    spent taught thought stood cut put set hit let read spread cost contains includes remains makes produces means
    requires provides offers uses shows refers consists begins ends lives lies serves supports covers allows causes
    leads becomes plays takes gives holds owns employs sells""".split()
)

_JOIN = re.compile(r";\s+(?:and\s+|but\s+|however,?\s+)?(?=\S)|,\s+(?:and|but|while|whereas|yet|so)\s+(?=\S)")
_BUT = re.compile(r"[,;]\s+(?:but|however,?|though|although)\s+(?=\S)")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[,;:()]")
_SUBORDINATE = frozenset(
    """that whether if because although though when while who which whose where both either neither between unless
    since until not whereas what how why whoever as""".split()
)
_LEANING = frozenset(
    """he she it they him her them his hers its their theirs this that these those one both such so it's he's she's
    they're that's also then therefore thus to not""".split()
)
_DETERMINERS = frozenset("the a an all some many most each every another no our my your there we i you".split())
_BREAKS = frozenset(",;:()") | _SUBORDINATE | {"to"}
_ELLIPTIC = frozenset("others other please half two three four five six seven eight nine ten dozens hundreds".split())
_ECHOING = frozenset("he she it they i we".split())
_SUBJECT_WORDS = 8
_LEFT_SIGHT = 400
_RIGHT_SIGHT = 120
_LONG_SENTENCE = 60
_LONG_PART = 12


def clauses(text: str, sentence: Span) -> list[Span]:
    """The clauses of a sentence that stand by themselves, as spans that together hold all of it but white space.

    The joining word ("and", "but") begins the later clause. A sentence of more than 60 words parts at each semicolon
    that is followed by a finite verb or by twelve words or more before the next; a mere list stays together.
    """
    start, end = sentence
    long = end - start > _LONG_SENTENCE and len(text[start:end].split()) > _LONG_SENTENCE
    cuts = [start]
    for join in _joins(text, sentence):
        if (long and _opens_part(text, join, end)) or _parts(text, cuts[-1], join, end):
            cuts.append(join.start() + 1)
    return [stripped(text, span) for span in pairwise([*cuts, end])]


def _joins(text: str, sentence: Span) -> list[re.Match[str]]:
    if text.find(",", *sentence) < 0 and text.find(";", *sentence) < 0:
        return []
    return [*_JOIN.finditer(text, *sentence)]


def stripped(text: str, span: Span) -> Span:
    """The span without white space at its ends."""
    start, end = span
    while text[start].isspace():
        start += 1
    while text[end - 1].isspace():
        end -= 1
    return start, end


def _opens_part(text: str, join: re.Match[str], end: int) -> bool:
    """Does enough follow a semicolon to be a part of a long sentence?"""
    if text[join.start()] != ";":
        return False
    following = text.find(";", join.end(), end)
    part = _words(text[join.end() : end if following < 0 else following])
    return len(part) >= _LONG_PART or not LIKELY_FINITE.isdisjoint(part)


def _parts(text: str, start: int, join: re.Match[str], end: int) -> bool:
    """Do the two sides of a join stand by themselves?"""
    if join.start() - start > _LEFT_SIGHT:
        return False
    left = text[start : join.start()]
    right = text[join.end() : min(end, join.end() + _RIGHT_SIGHT)]
    if _BUT.match(text, join.start()) and is_refusal_sentence(left):
        return not LIKELY_FINITE.isdisjoint(_words(right))
    if not (_balanced(left) and _is_main(left)):
        return False
    listed = "," in left
    return _stands_alone(right, listed=listed) or _echoes(left, right) or (not listed and _both_plain(left, right))


def _balanced(left: str) -> bool:
    return left.count('"') % 2 == 0 and left.count("(") == left.count(")") and left.count("“") == left.count("”")


def _words(clause: str) -> list[str]:
    return [word.replace("’", "'").lower() for word in _WORD.findall(clause)]


def _is_main(left: str) -> bool:
    words = _words(left)
    return _SUBORDINATE.isdisjoint(words) and not LIKELY_FINITE.isdisjoint(words[1:])


def _stands_alone(right: str, *, listed: bool) -> bool:
    """Does the right side open with a subject of its own and reach a finite verb before anything else intervenes?

    listed: the left holds a comma, so the right may be the last member of a list; then only a sure verb counts.
    """
    originals = _WORD.findall(right)
    words = [word.replace("’", "'").lower() for word in originals]
    if len(words) < 3 or words[0] in _LEANING:
        return False
    if words[0] not in _DETERMINERS and not originals[0][0].isupper():
        return False
    verbs = FINITE if listed else LIKELY_FINITE
    for place, word in enumerate(words[: _SUBJECT_WORDS + 1]):
        if word in verbs:
            return place > 0 and len(words) > place + 1
        if word in _BREAKS:
            return False
    return False


def _echoes(left: str, right: str) -> bool:
    """Does the right side open with a pronoun that is the left's subject, or must mean it, and a finite verb?"""
    words = _words(right)[:3]
    if len(words) < 3 or words[0] not in _ECHOING or not (words[1] in LIKELY_FINITE or words[1].endswith("ed")):
        return False
    if words[0] == _words(left)[0]:
        return True
    here = tokens(right, (0, len(right)))
    return resolved(here, [tokens(left, (0, len(left)))]) != here


def _both_plain(left: str, right: str) -> bool:
    """Has each side a plain subject, by whatever noun it opens, and a verb that is nothing else?"""
    first = _words(right)[:1]
    if not first or first[0] in _LEANING | _ELLIPTIC or is_past(first[0]) or is_adverb(first[0]):
        return False
    found = [predicate(tokens(side, (0, len(side)))) for side in (right, left)]
    return all(one is not None and not one.begin and one.verb.sure for one in found) and not first[0].isdecimal()
