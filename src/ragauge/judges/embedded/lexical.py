"""The lexical backend of the embedded judge: entailment, relevance and correctness by shares of words.

Each share is made a probability by a logistic layer of two parameters, fitted by training/fit_layer.py.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragauge.judges.base import in_context
from ragauge.judges.embedded.layer import coefficients, logistic, packaged, predict
from ragauge.judges.embedded.matching import Held, SentenceMatch, Terms, find, held, merged
from ragauge.judges.embedded.passages import Passage, passage
from ragauge.judges.embedded.statements import is_fragment
from ragauge.judges.embedded.words import words
from ragauge.questions import Classify, Correct, Entail, Question, Relevant
from ragauge.text.refusals import claims_nothing, refusal
from ragauge.text.tokens import squad_normalise
from ragauge.types import ChunkVerdict, Label, Verdict

VERBATIM = 0.99  # probability of a claim that a text holds word for word
_SURE = 0.95  # ... of a yes where the text opens with one
_EMPTY_PROBABILITY = 0.1  # probability of a statement that claims nothing
_SHORT_ANSWER, _SHORT = 0.55, 4  # probability of a bare fragment; the most words that it has
_OF_REFERENCE, _ENOUGH = 0.6, 0.6  # the weight of the reference's words next to the query's; the sum that is relevant

_POLAR = re.compile(
    r"""\s*(?:(?P<yes>yes|yeah|yep|correct|true|indeed)|(?P<no>no(?!\.?\s?\d)|nope|false|incorrect))
    (?=\s*(?:[.,;:!\-–—]|\Z))[\s.,;:!\-–—]*""",
    re.IGNORECASE | re.VERBOSE,
)


class Finding(NamedTuple):
    """The verdict of some texts on a claim. best: the sentence that holds most of its words."""

    label: Label
    probability: float
    best: SentenceMatch | None = None


def entail(premise: Sequence[str], hypothesis: str) -> Verdict:
    """Whether a hypothesis follows from the texts of a premise together, by the share of its words that they hold."""
    claim = Terms(words(polarity(hypothesis)[1]))
    texts = [held(claim, text) for text in premise]
    alone = [_by_share(claim, [text]) for text in texts]
    return combined(_by_share(claim, texts), alone, texts)


def _by_share(claim: Terms, texts: Sequence[Held]) -> Finding:
    credits = merged(*(text.credits for text in texts))
    layer = coefficients("trained")["entailed_by_words"]
    probability = predict(layer, {"share": claim.share(credits)}) if credits else 0.0
    if any(text.verbatim for text in texts):
        probability = VERBATIM
    best = texts[0].best if len(texts) == 1 else None
    return Finding(Label.ENTAILED if probability >= 0.5 else Label.NEUTRAL, probability, best)


def combined(joint: Finding, alone: Sequence[Finding], texts: Sequence[Held]) -> Verdict:
    """All chunks together: no less likely than any one; contradicted where a chunk does and none supports the claim.

    A chunk that repeats the claim with another number contradicts it, unless a chunk has its words.
    """
    alone = [_contradicted(finding) if text.altered else finding for finding, text in zip(alone, texts, strict=True)]
    whole = joint._replace(probability=max([joint.probability, *(finding.probability for finding in alone)]))
    if any(text.altered for text in texts) and whole.probability < VERBATIM:
        whole = _contradicted(whole)
    label = Label.ENTAILED if whole.probability >= 0.5 else whole.label
    if label == Label.NEUTRAL and any(finding.label == Label.CONTRADICTED for finding in alone):
        label = Label.CONTRADICTED
    return Verdict(label, round(whole.probability, 4), tuple(map(_chunk_verdict, alone)))


def _contradicted(finding: Finding) -> Finding:
    """The finding as a contradiction, at a probability of one half at most, in the same order."""
    return Finding(Label.CONTRADICTED, finding.probability / (1 + finding.probability), finding.best)


def _chunk_verdict(finding: Finding) -> ChunkVerdict:
    return ChunkVerdict(finding.label, round(finding.probability, 4), _span(finding.best))


def _span(match: SentenceMatch | None) -> tuple[int, int] | None:
    return (match.sentence.start, match.sentence.end) if match else None


def polarity(text: str) -> tuple[bool | None, str]:
    """True for a text that opens with a yes, False for a no, None for neither; and the text after it."""
    match = _POLAR.match(text)
    if match is None:
        return None, text
    return match.group("yes") is not None, text[match.end() :]


class Relatedness(NamedTuple):
    """A text compared with a query by words.

    layer: for passages "relevant", for single sentences "answers". share: of the query's words that the best sentence
    holds. settled: the probability where words or the form of the text decide alone. best: the sentence.
    """

    layer: str
    share: float
    settled: float | None
    best: SentenceMatch | None

    def verdict(self, probability: float) -> Verdict:
        """The verdict of a probability of yes."""
        return yes_no(probability, _span(self.best))


def related(query: str, text: str, reference: str | None = None) -> Relatedness:
    """Compare a text with a query, and with the reference that it should help to produce."""
    source, wanted = passage(text), Terms(words(query))
    evidence = find(wanted, source)
    best = evidence[0] if evidence else None
    single = len(source.sentences) == 1
    settled = None
    expected = Terms(words(reference), wanted.keys) if reference else None
    if expected is not None and expected.items:
        evidence_of_reference = find(expected, source)
        own, asked = _share(expected, evidence_of_reference), _share(wanted, evidence)
        best = evidence_of_reference[0] if own > asked else best
        settled = logistic(10 * (_OF_REFERENCE * own + (1 - _OF_REFERENCE) * asked - _ENOUGH))
    elif not source.sentences:
        settled = 0.0
    elif single and polarity(text)[0] is None and claims_nothing(source.sentences[0].text):
        settled = _EMPTY_PROBABILITY
    elif single and _is_short_answer(source):
        settled = _SHORT_ANSWER
    return Relatedness("answers" if single else "relevant", best.share if best else 0.0, settled, best)


def _share(claim: Terms, evidence: Sequence[SentenceMatch]) -> float:
    return claim.share(merged(*(match.credits for match in evidence)))


def _is_short_answer(source: Passage) -> bool:
    """Whether a sentence is a bare fragment of a few words, which reads as an answer to whatever was asked."""
    return len(source.sentences[0].words) <= _SHORT and is_fragment(source.sentences[0].text)


def yes_no(probability: float, span: tuple[int, int] | None = None) -> Verdict:
    """The verdict of a probability of yes."""
    return Verdict(Label.YES if probability >= 0.5 else Label.NO, round(probability, 4), span=span)


class Lexical:
    """Entailment, relevance and correctness from words alone."""

    answers = frozenset({"entail", "relevant", "correct"})

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """A hash of the idf table and of the fitted coefficients, for the identity."""
        tables = packaged("idf.txt") + packaged("trained.json")
        return (("tables", hashlib.sha256(tables.encode()).hexdigest()[:12]),)

    def prepare(self, _questions: Sequence[Question]) -> Iterator[None]:
        """Do what is faster for several questions at once, in steps; here nothing."""
        yield from ()

    def verdict(self, question: Question) -> Verdict | None:
        """The verdict on a question; None for one that it does not answer."""
        match question:
            case Entail():
                return self.entailment(question)
            case Relevant():
                return self.relevance(question)
            case Correct():
                return self.correctness(question)
            case Classify(text, "toxic"):
                return self.toxicity(text)
        return None

    def entailment(self, question: Entail) -> Verdict:
        """Whether the texts hold enough words of the hypothesis."""
        return entail(question.premise, question.hypothesis)

    def relevance(self, question: Relevant) -> Verdict:
        """Whether a sentence of the text holds enough words of the query."""
        return relevant(in_context(question.query, question.history), question.text, question.reference)

    def correctness(self, question: Correct) -> Verdict:
        """Whether the response holds the words of a reference; never that it is right in part."""
        if settled := decided(question):
            return settled
        probability = max(_states(question.response, reference) for reference in question.references)
        return Verdict(Label.RIGHT if probability >= 0.5 else Label.WRONG, probability)

    def toxicity(self, _text: str) -> Verdict | None:
        """None: words alone do not tell."""
        return None


def _states(response: str, reference: str) -> float:
    """The probability that a response states a reference; of a bare yes or no, whether it opens with the same."""
    opening, rest = polarity(reference)
    if opening is not None and not Terms(words(rest)).items:
        return agreement(polarity(response)[0] == opening)
    return entail((response,), reference).probability or 0.0


def agreement(agrees: bool) -> float:
    """The probability of a yes or no by another."""
    return _SURE if agrees else 1 - _SURE


def relevant(query: str, text: str, reference: str | None = None) -> Verdict:
    """Whether a text helps to answer `query` or to produce `reference`, by words; `span` is its best sentence."""
    by_words = related(query, text, reference)
    layer = coefficients("trained")[f"{by_words.layer}_by_words"]
    settled = by_words.settled
    return by_words.verdict(predict(layer, {"share": by_words.share}) if settled is None else settled)


def decided(question: Correct) -> Verdict | None:
    """The verdict on an answer that needs no weighing: an empty one, a refusal, or a reference itself; else None."""
    references = [squad_normalise(reference) for reference in question.references]
    if not any(references):
        return Verdict(Label.UNDECIDED, rationale="the references say nothing")
    if squad_normalise(question.response) in references:
        return Verdict(Label.RIGHT, VERBATIM)
    if not question.response.strip():
        return Verdict(Label.WRONG, round(1 - VERBATIM, 4), rationale="it is empty")
    if refusal(question.response) and not any(map(refusal, question.references)):
        return Verdict(Label.WRONG, round(1 - VERBATIM, 4), rationale="it declines to answer")
    return None
