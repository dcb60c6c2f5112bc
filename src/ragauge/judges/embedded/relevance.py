"""Relevance: how much of what a query asks about a text holds, and whether it has the sort of answer sought."""

from __future__ import annotations

import re

from ragauge.judges.embedded.alignment import Claim, Evidence, find, merged
from ragauge.judges.embedded.entailment import leaning
from ragauge.judges.embedded.passages import Passage, passage
from ragauge.judges.embedded.queries import polarity, read_query
from ragauge.judges.embedded.words import Kind, words
from ragauge.nouns.answers import Label, Verdict

_QUERY_ENOUGH, _REFERENCE_ENOUGH = 0.5, 0.6
_SHORT = 60  # words up to which a text is read as a statement rather than as a document
_QUANTITY = re.compile(
    r"\b(?:how (?:many|much|long|old|far|tall|big|often|high|large)|what (?:percentage|number|year|date)|when)\b"
)


def relevant(query: str, text: str, reference: str | None) -> Verdict:
    """Whether any part of `text`, whose characters `span` gives, helps to answer `query` or to produce `reference`."""
    source = passage(text)
    asked = Claim(read_query(query).words)
    share, best = _reached(asked, source)
    probability = leaning(share, _QUERY_ENOUGH)
    told = Claim(words(polarity(reference)[1]), asked.keys) if reference else None
    if told is not None and told.items:
        told_share, told_best = _reached(told, source)
        best = told_best if told_share > share else best
        probability = leaning(0.6 * told_share + 0.4 * share, _REFERENCE_ENOUGH)
    elif _fits(query, text, source):
        probability = max(probability, 0.6)
    span = (best.sentence.start, best.sentence.end) if best else None
    return Verdict(Label.YES if probability >= 0.5 else Label.NO, round(probability, 4), span=span)


def _reached(claim: Claim, source: Passage) -> tuple[float, Evidence | None]:
    """Share of the claim in all of the text, two parts, and in its best sentence, one part; and that sentence."""
    evidence = find(claim, source)
    whole = claim.share(merged(*(one.credits for one in evidence)))
    best = evidence[0] if evidence else None
    return (2 * whole + (best.share if best else 0.0)) / 3, best


def _fits(query: str, text: str, source: Passage) -> bool:
    """A short text that is an answer by its form: a yes or no where that is asked, a number where a quantity is."""
    found = [word for sentence in source.sentences for word in sentence.words]
    if not found or len(found) > _SHORT:
        return False
    if read_query(query).polar and polarity(text)[0] is not None:
        return True
    return bool(_QUANTITY.search(query.lower())) and any(word.kind == Kind.NUMBER for word in found)
