"""The lexical heart of the embedded judge: reads a hypothesis with its query, and weighs it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from ragauge.judges.embedded.alignment import Claim, find
from ragauge.judges.embedded.answer_forms import is_fragment
from ragauge.judges.embedded.entailment import Finding, constants_text, judged, leaning, verdict, weigh
from ragauge.judges.embedded.passages import Passage, passage
from ragauge.judges.embedded.queries import Query, asks, polarity, read_query
from ragauge.judges.embedded.rarity import table_text
from ragauge.judges.embedded.relevance import relevant
from ragauge.judges.embedded.words import Word, words
from ragauge.nouns.answers import Label, Verdict

_FRAGMENT = 6  # content words up to which an answer may be a fragment
_SENTENCE = 3  # ... and a sentence
_SHARED = 1  # ... of which so many may be the query's own
_BARE = 8  # words up to which a lone premise is taken for a bare answer that the query completes
_ANSWER = 40  # words up to which a lone premise is taken for an answer to the query
_SURE, _CERTAIN, _UNSURE = 0.95, 0.9, 0.3


class Lexical:
    """Entailment and relevance from words alone."""

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """A hash of the table of rarity and of the fitted constants."""
        return (("tables", hashlib.sha256((table_text() + constants_text()).encode()).hexdigest()[:12]),)

    def entail(self, premise: Sequence[str], hypothesis: str, query: str | None) -> Verdict:
        """Whether `hypothesis`, read as an answer to `query`, follows from the texts of `premise` together."""
        sources = [passage(text) for text in premise]
        if premise and all(asks(text) for text in premise):
            return _presupposed(premise, hypothesis)
        if query is None or not query.strip():
            return weigh(Claim(words(hypothesis)), sources)
        return _answering(premise, sources, hypothesis, read_query(query))

    def relevant(self, query: str, text: str, reference: str | None) -> Verdict:
        """Whether any part of `text` helps to answer `query`, or to produce `reference`."""
        return relevant(query, text, reference)


def _presupposed(premise: Sequence[str], hypothesis: str) -> Verdict:
    """What questions take for granted: a wh-question its statement, a yes-or-no question nothing of what it asks."""
    claim = Claim(words(hypothesis))
    alone = []
    for text in premise:
        query, source = read_query(text), passage(text)
        finding = judged(claim, find(claim, source), [source], enough=0.9)
        implied = not query.polar and finding.label == Label.ENTAILED and set(claim.keys) <= query.given
        label, probability = (Label.ENTAILED, _SURE) if implied else (Label.NEUTRAL, 0.05)
        alone.append(Finding(label, probability, finding.best))
    return verdict(alone[0], alone)


def _answering(premise: Sequence[str], sources: Sequence[Passage], hypothesis: str, query: Query) -> Verdict:
    says, rest = polarity(hypothesis)
    claim = Claim(words(rest))
    if query.polar and not claim.items:
        affirms = says if says is not None else not any(word.key in ("not", "none", "no") for word in claim.words)
        return _best([_confirmed(text, source, query, affirms) for text, source in zip(premise, sources, strict=True)])
    new = Claim(claim.words, query.given)
    fragment = bool(new.items) and _may_complete(rest, claim) and len(query.keys & set(claim.keys)) <= _SHARED
    if len(premise) == 1 and len(words(premise[0])) <= (_ANSWER if fragment else _BARE):
        return _best([_from_answer(premise[0], sources[0], claim, query, says)])
    if fragment:
        return _best([_near(new, source, query) for source in sources])
    return weigh(claim, sources)


def _may_complete(text: str, claim: Claim) -> bool:
    """Whether a text is so short that only its query tells what it says; a full sentence must be shorter still."""
    return len(claim.items) <= (_FRAGMENT if is_fragment(text) else _SENTENCE)


def _best(alone: Sequence[Finding]) -> Verdict:
    return verdict(max(alone, key=lambda one: one.probability, default=Finding(Label.NEUTRAL, 0.0, None)), alone)


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
    """Whether the source holds a fragment close to what the query is about."""
    asked = Claim(query.words)
    about = {one.at: one.share for one in find(asked, source)}
    best, most = None, 0.0
    for one in find(claim, source):
        beside = max(about.get(one.at + step, 0.0) for step in (-1, 0, 1))
        likely = leaning(one.share, 0.7) * leaning(0.7 * beside + 0.3 * about.get(one.at, 0.0), 0.3)
        if likely > most:
            best, most = one, likely
    return Finding(Label.ENTAILED if most >= 0.5 else Label.NEUTRAL, most, best)
