"""The lexical backend of the embedded judge: entailment and relevance from words alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragauge.judges.embedded.coverage import Claim, Evidence, find, merged
from ragauge.judges.embedded.entailment import Weighed, leaning, verdict, weigh
from ragauge.judges.embedded.layer import text_of
from ragauge.judges.embedded.passages import Passage, passage
from ragauge.judges.embedded.queries import Reading, polarity, read_query
from ragauge.judges.embedded.statements import claims_nothing, is_fragment
from ragauge.judges.embedded.words import table_text, words
from ragauge.questions import Entail, Question, Relevant
from ragauge.types import Label, Verdict

_QUERY_ENOUGH, _STATEMENT_ENOUGH, _REFERENCE_ENOUGH = 0.5, 0.1, 0.6  # _STATEMENT_ENOUGH: of a single sentence
_EMPTY = 0.1  # probability of a statement that says nothing
_FRAGMENT, _SHORT = 0.55, 4  # probability of a bare fragment, and the words that it has at most
_SATURATION, _BY_LENGTH, _USUAL = 1.0, 0.5, 100  # as k1 and b of BM25, and the words of a usual passage


class Hearing(NamedTuple):
    """What words say of a hypothesis.

    claim: what is looked for. told: the hypothesis as it is to be read, sentence by sentence, or where it is a fragment
    as a whole behind its query. given: how many characters of that are the query's. open_to_reading: for each text,
    whether an encoder may say more; not so where the query decides how it is read.
    """

    claim: Claim
    told: tuple[str, ...]
    given: int
    weighed: Weighed
    open_to_reading: tuple[bool, ...]


class Lexical:
    """Entailment and relevance from words alone."""

    answers = frozenset({"entail", "relevant"})

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """A hash of the idf table and of the fitted constants."""
        return (("tables", hashlib.sha256((table_text() + text_of("lexical")).encode()).hexdigest()[:12]),)

    def prepare(self, _questions: Sequence[Question]) -> Iterator[None]:
        """Nothing: each question is answered by itself."""
        yield from ()

    def verdict(self, question: Question) -> Verdict | None:
        """The verdict on a question of entailment or relevance; None for others."""
        match question:
            case Entail(premise, hypothesis, query):
                return self.entail(premise, hypothesis, query)
            case Relevant(query, text, reference):
                return self.relevant(query, text, reference)
        return None

    def entail(self, premise: Sequence[str], hypothesis: str, query: str | None) -> Verdict:
        """Whether `hypothesis`, read as an answer to `query`, follows from the texts of `premise` together."""
        return verdict(*self.weigh(premise, hypothesis, query).weighed)

    def relevant(self, query: str, text: str, reference: str | None) -> Verdict:
        """Whether any part of `text` helps to answer `query`, or to produce `reference`."""
        return relevant(query, text, reference)

    def weigh(self, premise: Sequence[str], hypothesis: str, query: str | None) -> Hearing:
        """What the texts of `premise` together and each alone say about `hypothesis`, read as an answer to `query`."""
        sources = [passage(text) for text in premise]
        if query is None or not query.strip():
            claim = Claim(words(hypothesis))
            weighed = weigh(claim, sources, [None] * len(sources))
            return Hearing(claim, _sentences(hypothesis), 0, weighed, (True,) * len(sources))
        reading = Reading(hypothesis, read_query(query))
        own = [reading.of(text, source) for text, source in zip(premise, sources, strict=True)]
        weighed = weigh(reading.claim, sources, own)
        before = f"{query.strip()} " if reading.fragment else ""
        told = (before + hypothesis,) if before else _sentences(hypothesis)
        return Hearing(reading.claim, told, len(before), weighed, tuple(one is None for one in own))


def _sentences(hypothesis: str) -> tuple[str, ...]:
    """The sentences of a hypothesis; one without a word of content ("She did not.") stays with the one before it."""
    found: list[str] = []
    for sentence in passage(hypothesis).sentences:
        if Claim(sentence.words).items:
            found.append(sentence.text)
        elif found:
            found[-1] = f"{found[-1]} {sentence.text}"
    return tuple(found) or (hypothesis,)


def relevant(query: str, text: str, reference: str | None) -> Verdict:
    """Whether any part of `text` helps to answer `query` or to produce `reference`; `span` is its best sentence."""
    source = passage(text)
    wanted = Claim(read_query(query).words)
    evidence = find(wanted, source)
    told = Claim(words(polarity(reference)[1]), wanted.keys) if reference else None
    if told is not None and told.items:
        found = find(told, source)
        own, others = _reached(told, found), _reached(wanted, evidence)
        evidence = found if own > others else evidence
        probability = leaning(0.6 * own + 0.4 * others, _REFERENCE_ENOUGH)
    else:
        enough = _QUERY_ENOUGH if len(source.sentences) > 1 else _STATEMENT_ENOUGH
        probability = leaning(_matched(wanted, source, evidence), enough) if evidence else 0.0
        if says_nothing(query, source):
            probability = min(probability, _EMPTY)
        elif is_short_answer(source):
            probability = max(probability, _FRAGMENT)
    span = (evidence[0].sentence.start, evidence[0].sentence.end) if evidence else None
    return Verdict(Label.YES if probability >= 0.5 else Label.NO, round(probability, 4), span=span)


def says_nothing(query: str, source: Passage) -> bool:
    """Whether a text is one sentence that claims nothing; a yes or no says something where the query asks for one."""
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
