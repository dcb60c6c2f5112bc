"""Relevance: how much of what a query asks about a text holds, and whether it has the sort of answer sought."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragauge.judges.embedded.lexical.alignment import Claim, Evidence, find, merged
from ragauge.judges.embedded.lexical.answer_forms import asked, has_form, is_fragment
from ragauge.judges.embedded.lexical.entailment import leaning
from ragauge.judges.embedded.lexical.passages import Passage, Sentence, passage
from ragauge.judges.embedded.lexical.queries import polarity, read_query
from ragauge.judges.embedded.lexical.words import Kind, words
from ragauge.judges.embedded.statements import claims_nothing
from ragauge.text.patterns import any_of
from ragauge.text.refusals import is_refusal_sentence
from ragauge.types import Label, Verdict

_QUERY_ENOUGH, _REFERENCE_ENOUGH = 0.5, 0.6
_SHORT = 60  # words up to which a sentence is read as a statement rather than as a document
_FORM, _SURE = 0.55, 0.8  # probability of a statement that has the form of an answer: at least, and at most
_TOUCH = 0.55  # ... that has a telling word of the query
_EMPTY = 0.1  # ... that says nothing
_TELLING = 0.3  # weight from which one shared word ties a statement to a query
_OPENING = 4  # words in which a sentence names what it is about
_COUNTS = any_of("two three four five six seven eight nine ten")
_PLACES = any_of("second third fourth fifth sixth seventh eighth ninth tenth")
_FIRST = re.compile(rf"\bfirst ({_COUNTS}|\d{{1,3}})\b")
_ORDINAL = re.compile(rf"\b(?:{_PLACES}|\d{{1,3}}(?:nd|rd|th))\b")
_SATURATION, _BY_LENGTH, _USUAL = 1.0, 0.5, 100  # as k1 and b of BM25, and the words of a usual passage


def relevant(query: str, text: str, reference: str | None) -> Verdict:
    """Whether any part of `text` helps to answer `query` or to produce `reference`; `span` is its best sentence."""
    source = passage(text)
    wanted = Claim(read_query(query).words)
    evidence = find(wanted, source)
    told = Claim(words(polarity(reference)[1]), wanted.keys) if reference else None
    best = evidence[0] if evidence else None
    if told is not None and told.items:
        found = find(told, source)
        own, others = reached(told, found), reached(wanted, evidence)
        best = found[0] if found and own > others else best
        probability = leaning(0.6 * own + 0.4 * others, _REFERENCE_ENOUGH)
    else:
        probability = _to_query(query, wanted, source, evidence)
    span = (best.sentence.start, best.sentence.end) if best else None
    return Verdict(Label.YES if probability >= 0.5 else Label.NO, round(probability, 4), span=span)


def reached(claim: Claim, evidence: Sequence[Evidence]) -> float:
    """The share of the claim that a text holds: counted twice in all of the text, once in its best sentence."""
    best = evidence[0].share if evidence else 0.0
    return (2 * claim.share(merged(*(one.credits for one in evidence))) + best) / 3


def _to_query(query: str, wanted: Claim, source: Passage, evidence: Sequence[Evidence]) -> float:
    """The probability that a text helps to answer a query: of a short sentence by its form too, of others by words."""
    matched = _matched(wanted, source, evidence)
    by_words = leaning(matched, _QUERY_ENOUGH)
    alone = source.sentences[0] if len(source.sentences) == 1 else None
    if alone is None or not 0 < len(alone.words) <= _SHORT:
        return by_words
    if _says_nothing(query, alone):
        return min(by_words, _EMPTY)
    shared = sorted({item for one in evidence for item in one.credits})
    told = any(wanted.weights[item] >= _TELLING for item in shared)
    by_form = min(_FORM + matched / 4, _SURE) if has_form(query, alone.text, shares=told) else 0.0
    return max(by_form, by_words) if by_form else _by_share(wanted, alone, shared, by_words)


def _says_nothing(query: str, sentence: Sentence) -> bool:
    """Whether a sentence is a refusal, a filler, or tells of a third where the query asks for the first two.

    A yes or no is no filler where the query asks for one.
    """
    if asked(query).polar and polarity(sentence.text)[0] is not None:
        return False
    return is_refusal_sentence(sentence.text) or claims_nothing(sentence.text) or _beyond(query, sentence.text)


def _by_share(wanted: Claim, sentence: Sentence, shared: Sequence[int], by_words: float) -> float:
    """The probability of a statement without the form of an answer: by the words of the query that it has."""
    names = [item for item in shared if wanted.items[item].kind == Kind.NAME]
    things = len(names) - sum(one in names and two in names for one, two in wanted.surnames)
    asks_more = any(word.kind == Kind.CONTENT for word in wanted.items)
    if shared and asks_more and len(names) == len(shared) and things == 1:
        return by_words / 2  # it speaks of the one that the query names, and not of what is asked
    telling = things > 1 or any(wanted.weights[item] >= _TELLING for item in shared if item not in names)
    return max(by_words, _TOUCH) if telling and not _about_another(wanted, sentence) else by_words


def _beyond(query: str, text: str) -> bool:
    """Whether a query asks for the first so many of something, and the text tells of one after those."""
    first, told = _FIRST.search(query.lower()), _ORDINAL.search(text.lower())
    if first is None or told is None:
        return False
    return _value(told.group()) > _value(first.group(1))


def _value(number: str) -> float:
    return float(words(number)[0].key.removeprefix("#"))


def _matched(wanted: Claim, source: Passage, evidence: Sequence[Evidence]) -> float:
    """How well a text matches a query: half by BM25, half by the best sentence and the best two in a row."""
    if not evidence:
        return 0.0
    at = {one.at: one.credits for one in evidence}
    beside = (wanted.share(merged(credits, at[place + 1])) for place, credits in at.items() if place + 1 in at)
    near = max(evidence[0].share, *beside, 0.0)
    return (evidence[0].share + near + 2 * _bm25(wanted, source, evidence)) / 4


def _bm25(wanted: Claim, source: Passage, evidence: Sequence[Evidence]) -> float:
    """BM25 as a share: 1 where each word of the query stands once in a text of usual length."""
    length = sum(len(sentence.words) for sentence in source.sentences) / _USUAL
    damping = _SATURATION * (1 - _BY_LENGTH + _BY_LENGTH * length)
    counts: dict[int, float] = {}
    for one in evidence:
        for item, credit in one.credits.items():
            counts[item] = counts.get(item, 0.0) + credit
    sums = sum(wanted.weights[item] * count / (count + damping) for item, count in counts.items())
    return (1 + _SATURATION) * sums / wanted.total if wanted.total else 0.0


def _about_another(wanted: Claim, sentence: Sentence) -> bool:
    """A full sentence that opens with a name, where the query has other names."""
    names = {word.key for word in sentence.words[:_OPENING] if word.kind == Kind.NAME}
    sought = {word.key for word in wanted.items if word.kind == Kind.NAME}
    return bool(names and sought) and not names & sought and not is_fragment(sentence.text)
