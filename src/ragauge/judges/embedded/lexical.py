"""The lexical backend of the embedded judge: entailment, read as an answer to a query, and relevance by words."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from ragauge.judges.embedded.entailment import (
    Claim,
    Evidence,
    Finding,
    Findings,
    compare,
    find,
    judged,
    merged,
    repeats,
    share_probability,
    verdict,
)  # fmt: skip
from ragauge.judges.embedded.layer import packaged
from ragauge.judges.embedded.passages import Passage, passage
from ragauge.judges.embedded.statements import claims_nothing, is_fragment
from ragauge.judges.embedded.words import AUXILIARIES, QUESTION_WORDS, Kind, Word, is_year, words
from ragauge.questions import Entail, Question, Relevant
from ragauge.types import Label, Verdict

_QUERY_ENOUGH, _STATEMENT_ENOUGH, _REFERENCE_ENOUGH = 0.5, 0.1, 0.6  # _STATEMENT_ENOUGH: of a single sentence
_EMPTY = 0.1  # probability of a statement that claims nothing
_SHORT_ANSWER, _SHORT = 0.55, 4  # probability of a bare fragment, and the words that it has at most
_SATURATION, _BY_LENGTH, _USUAL = 1.0, 0.5, 100  # as k1 and b of BM25, and the words of a usual passage

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


class Lexical:
    """Entailment and relevance from words alone."""

    answers = frozenset({"entail", "relevant"})

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """A hash of the idf table and of the fitted constants, for the identity."""
        tables = packaged("idf.txt") + packaged("lexical.json")
        return (("tables", hashlib.sha256(tables.encode()).hexdigest()[:12]),)

    def prepare(self, _questions: Sequence[Question]) -> Iterator[None]:
        """Do what is faster for several questions at once, in steps; here nothing."""
        yield from ()

    def verdict(self, question: Question) -> Verdict | None:
        """The verdict on a question of entailment or relevance; None for others."""
        match question:
            case Entail(premise, hypothesis, query):
                return entail(premise, hypothesis, query)
            case Relevant(query, text, reference):
                return relevant(query, text, reference)
        return None


class Analysis(NamedTuple):
    """A hypothesis compared with texts by words.

    claim: its words. sentences: of the hypothesis, for the encoder; a fragment is one sentence behind its query.
    query_length: the characters of that query. plain: for each text, whether it is judged as it stands, so that the
    encoder may refine its verdict; not so where the query decides how it is read.
    """

    claim: Claim
    sentences: tuple[str, ...]
    query_length: int
    findings: Findings
    plain: tuple[bool, ...]


def analyse(premise: Sequence[str], hypothesis: str, query: str | None) -> Analysis:
    """Compare a hypothesis, read as an answer to `query`, with the texts of `premise` together and each alone."""
    sources = [passage(text) for text in premise]
    own: list[Finding | None] = [None] * len(sources)
    claim, prefix = Claim(words(hypothesis)), ""
    if query is not None and query.strip():
        answer = QueryAnswer(hypothesis, read_query(query))
        claim, prefix = answer.claim, f"{query.strip()} " if answer.fragment else ""
        own = [answer.finding(text, source) for text, source in zip(premise, sources, strict=True)]
    sentences = (prefix + hypothesis,) if prefix else _sentences(hypothesis)
    plain = tuple(finding is None for finding in own)
    return Analysis(claim, sentences, len(prefix), compare(claim, sources, own), plain)


def _sentences(hypothesis: str) -> tuple[str, ...]:
    """The sentences of a hypothesis; one without a word of content ("She did not.") stays with the one before it."""
    found: list[str] = []
    for sentence in passage(hypothesis).sentences:
        if Claim(sentence.words).items:
            found.append(sentence.text)
        elif found:
            found[-1] = f"{found[-1]} {sentence.text}"
    return tuple(found) or (hypothesis,)


def entail(premise: Sequence[str], hypothesis: str, query: str | None = None) -> Verdict:
    """Whether `hypothesis`, read as an answer to `query`, follows from the texts of `premise` together."""
    return verdict(*analyse(premise, hypothesis, query).findings)


def relevant(query: str, text: str, reference: str | None = None) -> Verdict:
    """Whether any part of `text` helps to answer `query` or to produce `reference`; `span` is its best sentence."""
    source = passage(text)
    wanted = Claim(read_query(query).words)
    evidence = find(wanted, source)
    expected = Claim(words(polarity(reference)[1]), wanted.keys) if reference else None
    if expected is not None and expected.items:
        found = find(expected, source)
        own, others = _reached(expected, found), _reached(wanted, evidence)
        evidence = found if own > others else evidence
        probability = share_probability(0.6 * own + 0.4 * others, _REFERENCE_ENOUGH)
    else:
        enough = _QUERY_ENOUGH if len(source.sentences) > 1 else _STATEMENT_ENOUGH
        probability = share_probability(_matched(wanted, source, evidence), enough) if evidence else 0.0
        if is_empty_answer(query, source):
            probability = min(probability, _EMPTY)
        elif is_short_answer(source):
            probability = max(probability, _SHORT_ANSWER)
    span = (evidence[0].sentence.start, evidence[0].sentence.end) if evidence else None
    return yes_no(probability, span)


def yes_no(probability: float, span: tuple[int, int] | None = None) -> Verdict:
    """The verdict of a probability of yes."""
    return Verdict(Label.YES if probability >= 0.5 else Label.NO, round(probability, 4), span=span)


def is_empty_answer(query: str, source: Passage) -> bool:
    """Whether a text is one sentence that claims nothing, nor is the yes or no that a query asks for."""
    if len(source.sentences) != 1:
        return False
    [sentence] = source.sentences
    answers = read_query(query).polar and polarity(sentence.text)[0] is not None
    return not answers and claims_nothing(sentence.text)


def is_short_answer(source: Passage) -> bool:
    """Whether a text is a bare fragment of a few words, which reads as an answer to whatever was asked."""
    return [len(one.words) <= _SHORT and is_fragment(one.text) for one in source.sentences] == [True]


def _reached(claim: Claim, evidence: Sequence[Evidence]) -> float:
    """The share of the claim that a text holds: counted twice in all of the text, once in its best sentence."""
    best = evidence[0].share if evidence else 0.0
    return (2 * claim.share(merged(*(one.credits for one in evidence))) + best) / 3


def _matched(wanted: Claim, source: Passage, evidence: Sequence[Evidence]) -> float:
    """How well a text matches a query: half by BM25, half by the best sentence and the best two in a row."""
    at = {one.at: one.credits for one in evidence}
    pairs = (wanted.share(merged(credits, at[place + 1])) for place, credits in at.items() if place + 1 in at)
    near = max(evidence[0].share, *pairs, 0.0)
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
