"""The lexical heart of the embedded judge: reads a hypothesis with its query, and weighs it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragauge.judges.embedded.layer import text_of
from ragauge.judges.embedded.lexical.alignment import FOUND, Claim, Evidence, find, merged, repeats
from ragauge.judges.embedded.lexical.answer_forms import is_fragment
from ragauge.judges.embedded.lexical.comparison import compare
from ragauge.judges.embedded.lexical.entailment import Finding, Weighed, judged, leaning, verdict, weigh
from ragauge.judges.embedded.lexical.narrowing import narrowed_otherwise, narrowing
from ragauge.judges.embedded.lexical.passages import Passage, passage
from ragauge.judges.embedded.lexical.queries import Query, asks, polarity, read_query
from ragauge.judges.embedded.lexical.rarity import table_text
from ragauge.judges.embedded.lexical.relevance import relevant
from ragauge.judges.embedded.lexical.same_name import is_same_name
from ragauge.judges.embedded.lexical.words import Kind, Word, words
from ragauge.questions import Entail, Question, Relevant
from ragauge.types import Label, Verdict

_FRAGMENT = 6  # content words up to which an answer may be a fragment
_SENTENCE = 3  # ... and a sentence
_SHARED = 1  # ... of which so many may be the query's own
_BARE = 8  # words up to which a lone premise is taken for a bare answer that the query completes
_ANSWER = 40  # words up to which a lone premise is taken for an answer to the query
_ABOUT = 0.7  # share of a query in a sentence that is about it
_SURE, _CERTAIN, _UNSURE = 0.95, 0.9, 0.3


class Hearing(NamedTuple):
    """What words say of a hypothesis.

    claim: what is looked for. told: the hypothesis as it is to be read, sentence by sentence, or where it is short as a
    whole behind its query. given: how many characters of that are the query's. open_to_reading: for each text, whether
    a reader may say more; not so where the query decides how it is read.
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
        """A hash of the table of rarity and of the fitted constants."""
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
            own = [_presupposed(text, claim) for text in premise]
            open_to_reading = tuple(one is None for one in own)
            return Hearing(claim, _sentences(hypothesis), 0, weigh(claim, sources, own), open_to_reading)
        reading = _Reading(hypothesis, read_query(query))
        own = [reading.own(text, source) for text, source in zip(premise, sources, strict=True)]
        open_to_reading = tuple(one is None for one in own)
        if reading.fragment:
            own = [one or reading.near_unless_there(source) for one, source in zip(own, sources, strict=True)]
        weighed = weigh(reading.claim, sources, own, reading.near if reading.short else None)
        if not (reading.fragment or reading.short):
            return Hearing(reading.claim, _sentences(hypothesis), 0, weighed, open_to_reading)
        before = f"{query.strip()} "
        return Hearing(reading.claim, (before + hypothesis,), len(before), weighed, open_to_reading)


def _sentences(hypothesis: str) -> tuple[str, ...]:
    """The sentences of a hypothesis; one without a word of content ("She did not.") stays with the one before it."""
    found: list[str] = []
    for sentence in passage(hypothesis).sentences:
        if Claim(sentence.words).items:
            found.append(sentence.text)
        elif found:
            found[-1] = f"{found[-1]} {sentence.text}"
    return tuple(found) or (hypothesis,)


def _presupposed(text: str, claim: Claim) -> Finding | None:
    """What a question takes for granted: a wh-question its statement, a yes-or-no question nothing of what it asks.

    None for a text that is no question.
    """
    source = passage(text)
    if len(source.sentences) != 1 or not asks(text):
        return None
    query = read_query(text)
    finding = judged(claim, find(claim, source), [source], enough=0.9)
    implied = not query.polar and finding.label == Label.ENTAILED and set(claim.keys) <= query.given
    return Finding(*((Label.ENTAILED, _SURE) if implied else (Label.NEUTRAL, 0.05)), finding.best)


class _Reading:
    """A hypothesis as an answer to a query.

    says: the yes or no it opens with. rest: what follows. claim: that, to be found. new: less what the query gives.
    bare: nothing but a yes or no. fragment: it has no verb, and only the query tells what it says. short: a sentence of
    very few words.
    """

    def __init__(self, hypothesis: str, query: Query) -> None:
        self.query = query
        self.says, self.rest = polarity(hypothesis)
        self.claim = Claim(words(self.rest))
        self.new = Claim(self.claim.words, query.given)
        self.bare = query.polar and not self.claim.items
        open_ended = bool(self.new.items) and len(query.keys & set(self.claim.keys)) <= _SHARED
        verbless = is_fragment(self.rest)
        self.fragment = open_ended and verbless and len(self.claim.items) <= _FRAGMENT
        self.short = open_ended and not verbless and len(self.claim.items) <= _SENTENCE

    def own(self, text: str, source: Passage) -> Finding | None:
        """What a text says where the query decides how to read it; None where the claim is weighed as it stands."""
        presupposed = _presupposed(text, self.claim)
        if presupposed is not None:
            return presupposed
        if self.bare:
            affirms = self.says if self.says is not None else not _denies(self.claim.words)
            return _confirmed(text, source, self.query, affirms)
        is_answer = len(words(text)) <= _ANSWER and (self.fragment or _is_bare(text))
        if is_answer and self._is_named(text):
            whole = dict.fromkeys(range(len(self.claim.items)), 1.0)
            return Finding(Label.ENTAILED, _SURE, Evidence(self.claim, source.sentences[0], 0, whole))
        if is_answer and not repeats(self.claim, source):
            finding = _from_answer(text, source, self.claim, self.query, self.says)
            return self._coarser(text, source) or finding if finding.label == Label.NEUTRAL else finding
        return None

    def _is_named(self, text: str) -> bool:
        """Whether a short text gives the name that the claim is, written otherwise."""
        same = self.fragment and is_same_name(text, self.rest, self.query.text)
        return same and not any(word.negated for word in words(text))

    def _coarser(self, text: str, source: Passage) -> Finding | None:
        """What a short text says of the claim without what only narrows it.

        None where it does not say even that, denies it, or narrows it otherwise.
        """
        needless = [
            word for word in narrowing(self.rest, self.claim.words, self.query.words) if word.key in self.new.keys
        ]
        if not needless:
            return None
        coarse = Claim(self.claim.words, self.query.given | {word.key for word in needless})
        said, affirmed = words(text), {word.key for word in coarse.items if not word.negated}
        denied = polarity(text)[0] is False or any(word.negated and word.key in affirmed for word in said)
        known = {*self.claim.keys, *self.query.keys}
        if denied or narrowed_otherwise(said, needless, known, bare=is_fragment(text)):
            return None
        finding = judged(coarse, find(coarse, source), [source], enough=0.7)
        return finding._replace(probability=finding.probability * _CERTAIN) if finding.label == Label.ENTAILED else None

    def near_unless_there(self, source: Passage) -> Finding | None:
        """What is near in a source that does not say the claim word for word."""
        return None if repeats(self.claim, source) else self.near(source)

    def near(self, source: Passage) -> Finding:
        """Whether a source holds what is new in the claim close to what the query is about."""
        return _near(self.new, source, self.query)


def _denies(found: Sequence[Word]) -> bool:
    return any(word.key in ("not", "none", "no") for word in found)


def _is_bare(text: str) -> bool:
    """Whether a text is an answer that only its query completes."""
    return len(words(text)) <= _BARE and (is_fragment(text) or polarity(text)[0] is not None)


def _confirmed(text: str, source: Passage, query: Query, affirms: bool) -> Finding:
    """Whether a text says yes (affirms) or no to a polar query."""
    says, _ = polarity(text)
    if says is not None and len(words(text)) <= _ANSWER:
        return Finding(*((Label.ENTAILED, _SURE) if says == affirms else (Label.CONTRADICTED, 1 - _SURE)), None)
    claim = Claim(_asserted(query))
    finding = judged(claim, find(claim, source), [source], enough=0.6)
    return finding if affirms or query.negated else _denied(finding)


def _asserted(query: Query) -> tuple[Word, ...]:
    """The words of a polar query as a statement that affirms it."""
    return tuple(word._replace(negated=False) for word in query.words) if query.negated else query.words


def _denied(finding: Finding) -> Finding:
    """The finding on the contrary."""
    if finding.label == Label.CONTRADICTED:
        return Finding(Label.ENTAILED, 0.8, finding.best)
    if finding.label == Label.ENTAILED and finding.probability > _CERTAIN:
        return Finding(Label.CONTRADICTED, 1 - finding.probability, finding.best)
    return Finding(Label.NEUTRAL, min(1 - finding.probability, _UNSURE), finding.best)


def _from_answer(text: str, source: Passage, claim: Claim, query: Query, says: bool | None) -> Finding:
    """Whether a hypothesis follows from a short text that answers the query too."""
    said, rest = polarity(text)
    if said is not None and says is not None:
        return Finding(*((Label.ENTAILED, _SURE) if says == said else (Label.CONTRADICTED, 1 - _SURE)), None)
    if query.polar and said is not None and not Claim(words(rest)).items:
        asked = passage(" ".join(word.key for word in query.words))
        finding = judged(claim, find(claim, asked), [asked], enough=0.55)._replace(best=None)
        return finding if said or query.negated else _denied(finding)
    new = Claim(claim.words, () if query.polar else query.given)
    if not new.items:
        new = claim
    return judged(new, find(new, source), [source], enough=0.7)


def _near(claim: Claim, source: Passage, query: Query) -> Finding:
    """Whether the source holds a fragment close to what the query is about, or another number in its place."""
    asked = find(Claim(query.words), source)
    about = {one.at: one.share for one in asked}
    best, most = None, 0.0
    evidence = find(claim, source)
    for one in evidence:
        places = about if one.at == 0 else range(one.at - 1, one.at + 2)  # the first sentence names the subject of all
        beside = max((about.get(place, 0.0) for place in places), default=0.0)
        likely = leaning(one.share, 0.7) * leaning(0.7 * beside + 0.3 * about.get(one.at, 0.0), 0.3)
        if likely > most:
            best, most = one, likely
    found = merged(*(one.credits for one in evidence))
    absent = [item for item, word in enumerate(claim.items) if word.kind == Kind.NUMBER and item not in found]
    if absent and any(_rivalled(claim, one, evidence) for one in asked):
        return Finding(Label.CONTRADICTED, most * _UNSURE, best)
    if absent:
        most *= _UNSURE
    return Finding(Label.ENTAILED if most >= 0.5 else Label.NEUTRAL, most, best)


def _rivalled(claim: Claim, asked: Evidence, evidence: Sequence[Evidence]) -> bool:
    """Whether a sentence about the query has the claim but for its numbers, and another number in their place."""
    credits = next((one.credits for one in evidence if one.at == asked.at), {})
    rest = [item for item, word in enumerate(claim.items) if word.kind != Kind.NUMBER]
    if asked.share < _ABOUT or any(credits.get(item, 0.0) < FOUND for item in rest):
        return False
    return compare(claim, asked.sentence, credits).rivals > 0
