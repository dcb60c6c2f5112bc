"""The lexical backend of the embedded judge: entailment and relevance from words alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragauge.judges.embedded.coverage import Claim, Evidence, find, merged
from ragauge.judges.embedded.entailment import Finding, Findings, compare, share_probability, verdict
from ragauge.judges.embedded.layer import packaged
from ragauge.judges.embedded.passages import Passage, passage
from ragauge.judges.embedded.queries import QueryAnswer, polarity, read_query
from ragauge.judges.embedded.statements import claims_nothing, is_fragment
from ragauge.judges.embedded.words import words
from ragauge.questions import Entail, Question, Relevant
from ragauge.types import Label, Verdict

_QUERY_ENOUGH, _STATEMENT_ENOUGH, _REFERENCE_ENOUGH = 0.5, 0.1, 0.6  # _STATEMENT_ENOUGH: of a single sentence
_EMPTY = 0.1  # probability of a statement that claims nothing
_FRAGMENT, _SHORT = 0.55, 4  # probability of a bare fragment, and the words that it has at most
_SATURATION, _BY_LENGTH, _USUAL = 1.0, 0.5, 100  # as k1 and b of BM25, and the words of a usual passage


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
            probability = max(probability, _FRAGMENT)
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
