"""A query as what it asks, and short answers read with the query that they belong to."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from ragauge.judges.embedded.coverage import Claim, find, merged, repeats
from ragauge.judges.embedded.entailment import Finding, judged, share_probability
from ragauge.judges.embedded.numbers import is_year
from ragauge.judges.embedded.passages import Passage, passage
from ragauge.judges.embedded.statements import is_fragment
from ragauge.judges.embedded.words import AUXILIARIES, QUESTION_WORDS, Kind, Word, words
from ragauge.types import Label

_POLAR = re.compile(
    r"""\s*(?:(?P<yes>yes|yeah|yep|correct|true|indeed)|(?P<no>no(?!\.?\s?\d)|nope|false|incorrect))
    (?=\s*(?:[.,;:!\-–—]|\Z))[\s.,;:!\-–—]*""",
    re.IGNORECASE | re.VERBOSE,
)
_MODIFIER = re.compile(r",| \(| in |: ")
_FRAGMENT = 6  # content words up to which an answer may be a fragment
_BARE = 8  # words up to which a lone premise is taken for a bare answer that the query completes
_ANSWER = 40  # words up to which a lone premise is taken for an answer to the query
_SURE, _CERTAIN, _COARSER, _UNSURE = 0.95, 0.9, 0.6, 0.3


class Query(NamedTuple):
    """The words of a query. keys: of its content. polar: it asks for yes or no."""

    words: tuple[Word, ...]
    keys: frozenset[str]
    polar: bool


@lru_cache(maxsize=256)
def read_query(text: str) -> Query:
    """The query as read from its words."""
    found = words(text)
    polar = bool(found) and found[0].key in AUXILIARIES and all(word.key != "or" for word in found)
    content = (word.key for word in found if word.kind != Kind.FUNCTION and word.key not in QUESTION_WORDS)
    return Query(found, frozenset(content), polar)


def polarity(text: str) -> tuple[bool | None, str]:
    """True for a text that opens with a yes, False for a no, None for neither; and the text after it."""
    match = _POLAR.match(text)
    if match is None:
        return None, text
    return match.group("yes") is not None, text[match.end() :]


class QueryAnswer:
    """A hypothesis as an answer to a query.

    polarity: the yes or no it opens with. rest: what follows. claim: the words of that. new: less those of the query.
    bare: nothing but a yes or no. fragment: it has no verb, so that only the query completes it.
    """

    def __init__(self, hypothesis: str, query: Query) -> None:
        self.query = query
        self.polarity, self.rest = polarity(hypothesis)
        self.claim = Claim(words(self.rest))
        self.new = Claim(self.claim.words, query.keys)
        self.bare = self.polarity is not None and query.polar and not self.claim.items
        self.fragment = len(self.new.items) > 0 and len(self.claim.items) <= _FRAGMENT and is_fragment(self.rest)

    def finding(self, text: str, source: Passage) -> Finding | None:
        """The verdict of a text where the query decides how to read it; None where the claim is judged as it stands."""
        opening, rest = polarity(text)
        content, short = Claim(words(rest)), len(words(text)) <= _ANSWER
        decided = opening != self.polarity or not (content.items and self.new.items)
        if short and opening is not None and self.polarity is not None and decided:
            agrees = opening == self.polarity
            return Finding(Label.ENTAILED, _SURE) if agrees else Finding(Label.CONTRADICTED, 1 - _SURE)
        if self.bare:
            found = _judged(Claim(self.query.words), source, 0.6)
            return found if self.polarity else _opposite(found)
        if repeats(self.claim, source):
            return None
        bare = len(words(text)) <= _BARE and (is_fragment(text) or opening is not None)
        if not short or not (self.fragment or bare):
            return self._near(source) if self.fragment else None
        if opening is not None and self.query.polar and not content.items:
            asked = passage(" ".join(word.key for word in self.query.words))
            found = _judged(self.claim, asked, 0.55)._replace(best=None)
            return found if opening else _opposite(found)
        found = _judged(self.new if self.new.items else self.claim, source, 0.7)
        if self.fragment and found.label == Label.NEUTRAL and self._is_coarser(text):
            return Finding(Label.ENTAILED, max(_COARSER, found.probability), found.best)
        return found

    def _is_coarser(self, text: str) -> bool:
        """Whether a text gives the claim less finely: "1965" for "1 August 1965", "Madison" for "Madison, Wisconsin".

        It has the year of a date, or the last word before a comma, and nothing else.
        """
        found = words(text)
        kinds = (Kind.NAME, Kind.NUMBER, Kind.CONTENT) if is_fragment(text) else (Kind.NAME, Kind.NUMBER)
        keys = {word.key for word in found if word.kind != Kind.FUNCTION}
        other = {word.key for word in found if word.kind in kinds} - self.query.keys - self.claim.keys.keys()
        if other or any(word.negated for word in found):
            return False
        listed = any(word.key in ("and", "or") for word in self.claim.words)
        head = Claim(words(_MODIFIER.split(self.rest)[0]), self.query.keys)
        needed = [word.key for word in self.claim.items if is_year(word.key)] or [word.key for word in head.items]
        return not listed and not keys.isdisjoint(needed[-1:])

    def _near(self, source: Passage) -> Finding:
        """Whether a source holds a fragment close to the words of the query."""
        about = {one.at: one.share for one in find(Claim(self.query.words), source)}
        finding, evidence = Finding(Label.NEUTRAL, 0.0), find(self.new, source)
        for one in evidence:
            places = about if one.at == 0 else range(one.at - 1, one.at + 2)  # the first sentence names the subject
            around = max((about.get(place, 0.0) for place in places), default=0.0)
            topical = share_probability(0.7 * around + 0.3 * about.get(one.at, 0.0), 0.3)
            probability = share_probability(one.share, 0.7) * topical
            if probability > finding.probability:
                finding = Finding(Label.ENTAILED if probability >= 0.5 else Label.NEUTRAL, probability, one)
        found = merged(*(one.credits for one in evidence))
        if any(word.kind == Kind.NUMBER and item not in found for item, word in enumerate(self.new.items)):
            return Finding(Label.NEUTRAL, finding.probability * _UNSURE, finding.best)
        return finding


def _judged(claim: Claim, source: Passage, enough: float) -> Finding:
    return judged(claim, find(claim, source), [source], enough)


def _opposite(finding: Finding) -> Finding:
    """The finding on the contrary claim."""
    if finding.label == Label.CONTRADICTED:
        return Finding(Label.ENTAILED, 0.8, finding.best)
    if finding.label == Label.ENTAILED and finding.probability > _CERTAIN:
        return Finding(Label.CONTRADICTED, 1 - finding.probability, finding.best)
    return Finding(Label.NEUTRAL, min(1 - finding.probability, _UNSURE), finding.best)
