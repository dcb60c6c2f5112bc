"""The lexical backend of the embedded judge: entailment and relevance by words alone.

Entailment is a logistic layer over how much of a claim texts hold, and clear contradiction; short answers are read with
the query that they belong to.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

from ragauge.judges.base import in_context
from ragauge.judges.embedded.layer import coefficients, logistic, packaged, predict
from ragauge.judges.embedded.passages import Passage, Sentence, Window, passage, windows
from ragauge.judges.embedded.statements import is_fragment
from ragauge.judges.embedded.words import AUXILIARIES, QUESTION_WORDS, Kind, Word, is_year, rounds_to, weight, words
from ragauge.questions import Classify, Correct, Entail, Question, Relevant
from ragauge.text.refusals import claims_nothing, refusal
from ragauge.text.tokens import squad_normalise
from ragauge.types import ChunkVerdict, Label, Verdict

FOUND = 0.8  # the least credit of a word that counts as found
MOST_WINDOWS = 4  # of one text that are compared with a claim or a query
_FAMILY_CREDIT = 0.5  # credit for a word found only as one that begins alike
_MAX_SUPPORTING = 3  # sentences, or texts, that may support a claim together
_MAX_CANDIDATES = 12
_MIN_GAIN, _MIN_GAIN_OF_TEXT = 0.02, 0.1  # share of a claim that a further sentence, or text, must add
_ITEMS_PER_PART = 5  # items that are looked for together in one sentence
_ALIGNED_WORDS, _ALIKE_SHARE = 200, 0.6  # the most of a sentence that is aligned; the least of a claim that it repeats
_COPIED_SHARE = 0.8  # of a claim that a sentence repeats but for a number, and so contradicts against the encoder
_LONG_ITEMS = 20  # of a long claim
_WIDE_WEIGHT = 3.0  # of a wide gap

TermScores = dict[int, float]  # item of the claim -> how well it is found, in 0..1

#: What `features` measures of a claim.
NAMES = ("whole", "weakest", "gap", "numbers_absent", "names_absent", "heaviest_missing", "negation", "length")

VERBATIM = 0.99  # probability of a claim that a text holds word for word
_REFUTED_FACTOR = 0.2  # on a probability where a sentence contradicts the claim
_ABSENT_FACTOR = 0.4  # ... where a number of the claim, or the point of a short one, is absent, or only asked about
_FEW_WORDS, _POINT_SHARE = 5, 0.15  # of a short claim; of its weight, for a word that is its point
_SAME_SHARE, _REST_SHARE = 0.8, 0.9  # of a claim, and of its rest, that a sentence must hold to contradict it

_QUERY_ENOUGH, _STATEMENT_ENOUGH, _REFERENCE_ENOUGH = 0.5, 0.1, 0.6  # _STATEMENT_ENOUGH: of a single sentence
_EMPTY_PROBABILITY = 0.1  # probability of a statement that claims nothing
_SHORT_ANSWER, _SHORT = 0.55, 4  # probability of a bare fragment; the most words that it has
_SATURATION, _BY_LENGTH, _USUAL_WORDS = 1.0, 0.5, 100  # as k1 and b of BM25, and the words of a usual passage

_POLAR = re.compile(
    r"""\s*(?:(?P<yes>yes|yeah|yep|correct|true|indeed)|(?P<no>no(?!\.?\s?\d)|nope|false|incorrect))
    (?=\s*(?:[.,;:!\-–—]|\Z))[\s.,;:!\-–—]*""",
    re.IGNORECASE | re.VERBOSE,
)
_MODIFIER = re.compile(r",| \(| in |: ")
_FRAGMENT_WORDS = 6  # the most content words of an answer that may be a fragment
_BARE_WORDS = 8  # the most of a lone premise that is read as a bare answer, which the query completes
_ANSWER_WORDS = 40  # the most of a lone premise that is read as an answer to the query
_SURE, _CERTAIN, _COARSER, _UNSURE = 0.95, 0.9, 0.6, 0.3  # probabilities


class Terms:
    """The distinct content words of a text, less some, each with its idf as a weight; in parts of about five."""

    __slots__ = ("items", "keys", "parts", "total", "weights", "words")

    def __init__(self, text_words: tuple[Word, ...], left_out: Collection[str] = ()) -> None:
        self.words = text_words
        distinct: dict[str, Word] = {}
        for word in text_words:
            if word.kind != Kind.FUNCTION and word.key not in left_out:
                distinct.setdefault(word.key, word)
        self.items = list(distinct.values())
        self.keys = {word.key: item for item, word in enumerate(self.items)}
        self.weights = [weight(word) for word in self.items]
        self.total = sum(self.weights)
        count = max(round(len(self.items) / _ITEMS_PER_PART), 1)
        cuts = [len(self.items) * part // count for part in range(count + 1)]
        self.parts = [range(start, end) for start, end in pairwise(cuts)]

    def share(self, credits: TermScores, items: Iterable[int] | None = None) -> float:
        """The weighted share of the items, or of some of them, that is found; 0 for a claim without items."""
        wanted = range(len(self.items)) if items is None else list(items)
        total = sum(self.weights[item] for item in wanted)
        return sum(self.weights[item] * credits.get(item, 0.0) for item in wanted) / total if total else 0.0


class SentenceMatch(NamedTuple):
    """The sentence at a place of its passage, and what it holds of a claim."""

    sentence: Sentence
    place: int
    credits: TermScores
    share: float


def find(claim: Terms, source: Passage) -> list[SentenceMatch]:
    """The sentences of `source` that hold anything of `claim`, best first. A title counts for each sentence."""
    hits: dict[int, TermScores] = {}
    for item, word in enumerate(claim.items):
        forms = [(other, _FAMILY_CREDIT) for other in source.family(word.key)] + [(word.key, 1.0)]
        if word.kind == Kind.NUMBER:
            forms += [(key, 1.0) for key in source.numbers if rounds_to(key, word.key)]
        for key, credit in forms:
            for sentence in source.postings.get(key, ()):
                hits.setdefault(sentence, {})[item] = credit
    if source.titled and 0 in hits:
        hits = {place: merged(hits[0], credits) for place, credits in hits.items()}
    evidence = [
        SentenceMatch(source.sentences[place], place, credits, claim.share(credits)) for place, credits in hits.items()
    ]
    return sorted(evidence, key=lambda match: (-match.share, match.place))


def best_windows(claim: Terms, text: str, most: int = MOST_WINDOWS) -> tuple[str, ...]:
    """The few windows of a text, in its order, whose sentences hold most of a claim, at least half of what any does."""
    if len(windows(text)) == 1:
        return (windows(text)[0].text,)
    shares = {match.place: match.share for match in find(claim, passage(text))}

    def best_share(window: Window) -> float:
        return max(shares.get(place, 0.0) for place in range(window.first, window.last))

    best = sorted(windows(text), key=best_share, reverse=True)[:most]
    return tuple(window.text for window in sorted(best) if best_share(window) >= best_share(best[0]) / 2)


def complementary(claim: Terms, texts: Sequence[str]) -> list[int]:
    """The places of the text that holds most of a claim and of those that add to it; [] where none adds enough."""
    held = [merged(*(match.credits for match in find(claim, passage(text)))) for text in texts]
    chosen: list[int] = []
    credits: TermScores = {}
    while len(chosen) < _MAX_SUPPORTING:
        share, best = max((claim.share(merged(credits, own)), -place) for place, own in enumerate(held))
        if chosen and share - claim.share(credits) < _MIN_GAIN_OF_TEXT:
            break
        chosen.append(-best)
        credits = merged(credits, held[-best])
    return sorted(chosen) if len(chosen) > 1 else []


def merged(*parts: TermScores) -> TermScores:
    """The best credit of each item."""
    best: TermScores = {}
    for part in parts:
        for item, credit in part.items():
            best[item] = max(credit, best.get(item, 0.0))
    return best


def select_sentences(claim: Terms, evidence: Iterable[SentenceMatch]) -> list[SentenceMatch]:
    """The few sentences that hold most of `claim` together: the best, then those that add most.

    Ties are broken by the sentences' own text, so that the order of chunks does not matter.
    """
    pool = sorted(evidence, key=lambda match: (-match.share, match.sentence.text))[:_MAX_CANDIDATES]
    chosen: list[SentenceMatch] = []
    credits: TermScores = {}
    while pool and len(chosen) < _MAX_SUPPORTING:
        best = max(pool, key=lambda match: claim.share(merged(credits, match.credits)))
        if chosen and claim.share(merged(credits, best.credits)) - claim.share(credits) < _MIN_GAIN:
            break
        pool.remove(best)
        chosen.append(best)
        credits = merged(credits, best.credits)
    return chosen


def features(claim: Terms, evidence: Sequence[SentenceMatch], chosen: Sequence[SentenceMatch]) -> dict[str, float]:
    """The values of NAMES, each about 0..1, from all evidence of a claim and the chosen best, best first.

    By name: the share of the claim that all sentences hold; the least share of a part that its best sentence holds; the
    weight of the longest run of missing words; missing numbers and names; the weight of the heaviest missing word;
    whether the best sentence negates what the claim does not, or the reverse; and the claim's length.
    """
    whole, few = merged(*(match.credits for match in evidence)), merged(*(match.credits for match in chosen))
    missing = [word.kind for item, word in enumerate(claim.items) if whole.get(item, 0.0) < FOUND and word.key != "#1"]
    lacks = [own * (1 - few.get(item, 0.0)) for item, own in enumerate(claim.weights)]
    runs = accumulate(enumerate(claim.weights), lambda run, item: 0.0 if item[0] in few else run + item[1], initial=0.0)
    by_part = ([claim.share(match.credits, part) for match in evidence] for part in claim.parts)
    return {
        "whole": claim.share(whole),
        "weakest": min(max(shares, default=0.0) for shares in by_part),
        "gap": min(max(runs) / _WIDE_WEIGHT, 1.0),
        "numbers_absent": min(missing.count(Kind.NUMBER) / 2, 1.0),
        "names_absent": min(missing.count(Kind.NAME) / 3, 1.0),
        "heaviest_missing": max(lacks, default=0.0),
        "negation": float(bool(chosen) and negation_differs(claim, chosen[0].sentence)),
        "length": min(len(claim.items) / _LONG_ITEMS, 2.0),
    }


def negation_differs(claim: Terms, sentence: Sentence) -> bool:
    """Whether a word of both is negated in one and not in the other, and no word is negated in both."""
    mine, theirs = _negated(claim.words), _negated(sentence.words)
    shared = mine.keys() & theirs.keys()
    both = any(True in mine[key] and True in theirs[key] for key in shared)
    return not both and any(mine[key].isdisjoint(theirs[key]) for key in shared)


def _negated(text_words: Sequence[Word]) -> dict[str, set[bool]]:
    """The content words, and whether each stands negated, not negated, or both."""
    negated: dict[str, set[bool]] = {}
    for word in text_words:
        if word.kind != Kind.FUNCTION:
            negated.setdefault(word.key, set()).add(word.negated)
    return negated


def exchanges_number(claim: Terms, sentence: Sentence, alike: float = _ALIKE_SHARE) -> bool:
    """Whether a sentence has another number where the claim has one.

    alike: the least share of the claim that the sentence must repeat in the same order.
    """
    mine, theirs = ([(word.key, word.kind) for word in side] for side in (claim.words, sentence.words))
    if max(len(mine), len(theirs)) > _ALIGNED_WORDS or not any(kind == Kind.NUMBER for _, kind in mine):
        return False
    matcher = SequenceMatcher(None, mine, theirs, autojunk=False)
    if sum(block.size for block in matcher.get_matching_blocks()) < alike * len(mine):
        return False
    for tag, first, last, start, end in matcher.get_opcodes():
        own = {key for key, kind in mine[first:last] if kind == Kind.NUMBER}
        other = {key for key, kind in theirs[start:end] if kind == Kind.NUMBER}
        if tag == "replace" and own and other and any(not _is_among(key, other) for key in own):
            return True
    return False


def _is_among(number: str, others: Collection[str]) -> bool:
    return number in others or any(rounds_to(other, number) for other in others)


def repeats(claim: Terms, source: Passage) -> bool:
    """Whether a sentence of `source`, or several in a row, holds the claim word for word."""
    wanted = _joined(claim.words)
    joined = [_joined(sentence.words) for sentence in source.sentences]
    text, ends = "".join(joined), {0, *accumulate(map(len, joined))}
    return bool(wanted) and any(text.startswith(wanted, start) and start + len(wanted) in ends for start in ends)


def _joined(text_words: Iterable[Word]) -> str:
    return "".join(f"{word.key}\0" for word in text_words)


class Finding(NamedTuple):
    """The verdict of some texts on a claim. best: the sentence that holds most, None where no word is found."""

    label: Label
    probability: float
    best: SentenceMatch | None = None


class Findings(NamedTuple):
    """The verdicts of sources on a claim: of the literally read ones together, and of each source alone."""

    joint: Finding
    alone: tuple[Finding, ...]


def compare(claim: Terms, sources: Sequence[Passage], own: Sequence[Finding | None]) -> Findings:
    """The verdicts on a claim of all sources together and of each alone. own: of a source read in its own way."""
    plain = [source for source, finding in zip(sources, own, strict=True) if finding is None]
    evidence = [find(claim, source) for source in plain]
    alone = [judged(claim, held, [source]) for held, source in zip(evidence, plain, strict=True)]
    joint = alone[0] if len(alone) == 1 else judged(claim, [match for held in evidence for match in held], plain)
    rest = iter(alone)
    return Findings(joint, tuple(finding or next(rest) for finding in own))


def verdict(joint: Finding, alone: Sequence[Finding]) -> Verdict:
    """The verdict of all sources: no less likely than that of any one, and contradicted where a source contradicts."""
    label, probability = joint.label, max([joint.probability, *(finding.probability for finding in alone)])
    if label == Label.CONTRADICTED:
        probability = joint.probability
    elif any(finding.label == Label.CONTRADICTED for finding in alone):
        label, probability = Label.CONTRADICTED, probability * _REFUTED_FACTOR
    elif probability >= 0.5:
        label = Label.ENTAILED
    return Verdict(label, round(probability, 4), tuple(map(chunk_verdict, alone)))


def chunk_verdict(finding: Finding) -> ChunkVerdict:
    """A finding as the verdict of one chunk."""
    sentence = finding.best.sentence if finding.best else None
    span = (sentence.start, sentence.end) if sentence else None
    return ChunkVerdict(finding.label, round(finding.probability, 4), span)


def judged(
    claim: Terms, evidence: list[SentenceMatch], sources: Sequence[Passage], enough: float | None = None
) -> Finding:
    """The verdict of the sources together on a claim.

    evidence: the sentences that hold some of the claim. enough: the share of the claim that makes it likelier than not,
    in place of the fitted layer.
    """
    chosen = select_sentences(claim, evidence)
    best = chosen[0] if chosen else None
    if any(repeats(claim, source) for source in sources):
        return Finding(Label.ENTAILED, VERBATIM, best)
    if not claim.items or not chosen:
        return Finding(Label.NEUTRAL, 0.0, best)
    values = features(claim, evidence, chosen)
    credits = merged(*(match.credits for match in chosen))
    layer = coefficients("lexical")["entailed"]
    probability = predict(layer, values) if enough is None else share_probability(claim.share(credits), enough)
    if any(contradicts(claim, match) for match in chosen):
        return Finding(Label.CONTRADICTED, probability * _REFUTED_FACTOR, best)
    missing = (weight for item, weight in enumerate(claim.weights) if item not in credits)
    lacks_point = len(claim.items) <= _FEW_WORDS and max(missing, default=0.0) >= _POINT_SHARE * claim.total
    if lacks_point or values["numbers_absent"] or all(map(_is_polar_question, chosen)):
        probability *= _ABSENT_FACTOR
    return Finding(Label.ENTAILED if probability >= 0.5 else Label.NEUTRAL, probability, best)


def _is_polar_question(match: SentenceMatch) -> bool:
    return match.sentence.text.endswith("?") and match.sentence.words[0].key in AUXILIARIES


def contradicts(claim: Terms, match: SentenceMatch) -> bool:
    """Whether a sentence is the same as `claim` but for a negation, or for one number with another in its place."""
    if len(match.credits) < 2:
        return False
    if negation_differs(claim, match.sentence):
        return match.share >= _SAME_SHARE
    missing = [item for item in range(len(claim.items)) if match.credits.get(item, 0.0) < FOUND]
    numbers = [item for item in missing if claim.items[item].kind == Kind.NUMBER]
    named = any(claim.items[item].kind == Kind.NAME for item in missing)
    rest = claim.share(match.credits, (item for item in range(len(claim.items)) if item not in numbers))
    if len(numbers) <= 1 and exchanges_number(claim, match.sentence):
        return rest >= _SAME_SHARE
    others = any(word.kind == Kind.NUMBER and word.key not in claim.keys for word in match.sentence.words)
    return others and len(numbers) == 1 and not named and rest >= _REST_SHARE


def share_probability(share: float, enough: float) -> float:
    """A probability that passes one half where `share` passes `enough`."""
    return logistic(10 * (share - enough))


class Query(NamedTuple):
    """The words of a query. keys: of its content. polar: it asks for yes or no."""

    words: tuple[Word, ...]
    keys: frozenset[str]
    polar: bool


@lru_cache(maxsize=256)
def read_query(text: str) -> Query:
    """The query as read from its words."""
    query_words = words(text)
    polar = bool(query_words) and query_words[0].key in AUXILIARIES and all(word.key != "or" for word in query_words)
    content = (word.key for word in query_words if word.kind != Kind.FUNCTION and word.key not in QUESTION_WORDS)
    return Query(query_words, frozenset(content), polar)


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
        self.claim = Terms(words(self.rest))
        self.new = Terms(self.claim.words, query.keys)
        self.bare = self.polarity is not None and query.polar and not self.claim.items
        self.fragment = len(self.new.items) > 0 and len(self.claim.items) <= _FRAGMENT_WORDS and is_fragment(self.rest)

    def finding(self, text: str, source: Passage) -> Finding | None:
        """The verdict of a text where the query decides how to read it; None where the claim is judged as it stands."""
        opening, rest = polarity(text)
        content, short = Terms(words(rest)), len(words(text)) <= _ANSWER_WORDS
        decided = opening != self.polarity or not (content.items and self.new.items)
        if short and opening is not None and self.polarity is not None and decided:
            agrees = opening == self.polarity
            return Finding(Label.ENTAILED, _SURE) if agrees else Finding(Label.CONTRADICTED, 1 - _SURE)
        if self.bare:
            finding = _judged(Terms(self.query.words), source, 0.6)
            return finding if self.polarity else _opposite(finding)
        if repeats(self.claim, source):
            return None
        bare = len(words(text)) <= _BARE_WORDS and (is_fragment(text) or opening is not None)
        if not short or not (self.fragment or bare):
            return self._near(source) if self.fragment else None
        if opening is not None and self.query.polar and not content.items:
            asked = passage(" ".join(word.key for word in self.query.words))
            finding = _judged(self.claim, asked, 0.55)._replace(best=None)
            return finding if opening else _opposite(finding)
        finding = _judged(self.new if self.new.items else self.claim, source, 0.7)
        if self.fragment and finding.label == Label.NEUTRAL and self._is_coarser(text):
            return Finding(Label.ENTAILED, max(_COARSER, finding.probability), finding.best)
        return finding

    def _is_coarser(self, text: str) -> bool:
        """Whether a text gives the claim less finely: "1965" for "1 August 1965", "Madison" for "Madison, Wisconsin".

        It has the year of a date, or the last word before a comma, and nothing else.
        """
        text_words = words(text)
        kinds = (Kind.NAME, Kind.NUMBER, Kind.CONTENT) if is_fragment(text) else (Kind.NAME, Kind.NUMBER)
        keys = {word.key for word in text_words if word.kind != Kind.FUNCTION}
        other = {word.key for word in text_words if word.kind in kinds} - self.query.keys - self.claim.keys.keys()
        if other or any(word.negated for word in text_words):
            return False
        listed = any(word.key in ("and", "or") for word in self.claim.words)
        head = Terms(words(_MODIFIER.split(self.rest)[0]), self.query.keys)
        needed = [word.key for word in self.claim.items if is_year(word.key)] or [word.key for word in head.items]
        return not listed and not keys.isdisjoint(needed[-1:])

    def _near(self, source: Passage) -> Finding:
        """Whether a source holds a fragment close to the words of the query."""
        about = {match.place: match.share for match in find(Terms(self.query.words), source)}
        finding, evidence = Finding(Label.NEUTRAL, 0.0), find(self.new, source)
        for match in evidence:
            # the first sentence names the subject of all others
            places = range(match.place - 1, match.place + 2) if match.place else about
            around = max((about.get(place, 0.0) for place in places), default=0.0)
            topical = share_probability(0.7 * around + 0.3 * about.get(match.place, 0.0), 0.3)
            probability = share_probability(match.share, 0.7) * topical
            if probability > finding.probability:
                finding = Finding(Label.ENTAILED if probability >= 0.5 else Label.NEUTRAL, probability, match)
        credits = merged(*(match.credits for match in evidence))
        if any(word.kind == Kind.NUMBER and item not in credits for item, word in enumerate(self.new.items)):
            return Finding(Label.NEUTRAL, finding.probability * _UNSURE, finding.best)
        return finding


def _judged(claim: Terms, source: Passage, enough: float) -> Finding:
    return judged(claim, find(claim, source), [source], enough)


def _opposite(finding: Finding) -> Finding:
    """The finding on the contrary claim."""
    if finding.label == Label.CONTRADICTED:
        return Finding(Label.ENTAILED, 0.8, finding.best)
    if finding.label == Label.ENTAILED and finding.probability > _CERTAIN:
        return Finding(Label.CONTRADICTED, 1 - finding.probability, finding.best)
    return Finding(Label.NEUTRAL, min(1 - finding.probability, _UNSURE), finding.best)


class Lexical:
    """Entailment, relevance and correctness from words alone."""

    answers = frozenset({"entail", "relevant", "correct"})

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """A hash of the idf table and of the fitted coefficients, for the identity."""
        tables = packaged("idf.txt") + packaged("lexical.json")
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
        """Whether the hypothesis follows from the premise."""
        return entail(question.premise, question.hypothesis, in_context(question.query, question.history))

    def relevance(self, question: Relevant) -> Verdict:
        """Whether the text helps to answer the query."""
        return relevant(in_context(question.query, question.history), question.text, question.reference)

    def correctness(self, question: Correct) -> Verdict:
        """Whether the response holds the words of a reference; never that it is right in part."""
        if settled := decided(question):
            return settled
        probability = max(words_of_reference(question, reference) for reference in question.references)
        return Verdict(Label.RIGHT if probability >= 0.5 else Label.WRONG, probability)

    def toxicity(self, _text: str) -> Verdict | None:
        """None: words alone do not tell."""
        return None


def decided(question: Correct) -> Verdict | None:
    """The verdict on an answer that needs no weighing: a refusal, or a reference word for word; else None."""
    references = [squad_normalise(reference) for reference in question.references]
    if not any(references):
        return Verdict(Label.UNDECIDED, rationale="the references say nothing")
    if squad_normalise(question.response) in references:
        return Verdict(Label.RIGHT, VERBATIM)
    if refusal(question.response) and not any(map(refusal, question.references)):
        return Verdict(Label.WRONG, round(1 - VERBATIM, 4), rationale="it declines to answer")
    return None


def words_of_reference(question: Correct, reference: str) -> float:
    """The probability by words that the response, read as an answer to the query, states a reference."""
    return entail((question.response,), reference, question.query).probability or 0.0


class Analysis(NamedTuple):
    """A hypothesis compared with texts by words.

    claim: its words. sentences: of the hypothesis. plain: for each text, whether it is judged as it stands, and not as
    the query has it. altered: whether it repeats the claim with another number.
    """

    claim: Terms
    sentences: tuple[str, ...]
    findings: Findings
    plain: tuple[bool, ...]
    altered: tuple[bool, ...]


def analyse(premise: Sequence[str], hypothesis: str, query: str | None) -> Analysis:
    """Compare a hypothesis, read as an answer to `query`, with the texts of `premise` together and each alone."""
    sources = [passage(text) for text in premise]
    own: list[Finding | None] = [None] * len(sources)
    if query is None or not query.strip():
        claim = Terms(words(polarity(hypothesis)[1]))
    else:
        answer = QueryAnswer(hypothesis, read_query(query))
        claim = answer.claim
        own = [answer.finding(text, source) for text, source in zip(premise, sources, strict=True)]
    findings = compare(claim, sources, own)
    plain = tuple(finding is None for finding in own)
    best = [finding.best for finding in findings.alone]
    altered = tuple(match is not None and exchanges_number(claim, match.sentence, _COPIED_SHARE) for match in best)
    return Analysis(claim, _sentences(hypothesis), findings, plain, altered)


def _sentences(hypothesis: str) -> tuple[str, ...]:
    """The sentences of a hypothesis; one without a word of content ("She did not.") stays with the one before it."""
    kept: list[str] = []
    for sentence in passage(hypothesis).sentences:
        if Terms(sentence.words).items:
            kept.append(sentence.text)
        elif kept:
            kept[-1] = f"{kept[-1]} {sentence.text}"
    return tuple(kept) or (hypothesis,)


def entail(premise: Sequence[str], hypothesis: str, query: str | None = None) -> Verdict:
    """Whether `hypothesis`, read as an answer to `query`, follows from the texts of `premise` together."""
    return verdict(*analyse(premise, hypothesis, query).findings)


def relevant(query: str, text: str, reference: str | None = None) -> Verdict:
    """Whether any part of `text` helps to answer `query` or to produce `reference`; `span` is its best sentence."""
    source = passage(text)
    wanted = Terms(read_query(query).words)
    evidence = find(wanted, source)
    expected = Terms(words(polarity(reference)[1]), wanted.keys) if reference else None
    if expected is not None and expected.items:
        expected_evidence = find(expected, source)
        own, others = _reached(expected, expected_evidence), _reached(wanted, evidence)
        evidence = expected_evidence if own > others else evidence
        probability = share_probability(0.6 * own + 0.4 * others, _REFERENCE_ENOUGH)
    else:
        enough = _QUERY_ENOUGH if len(source.sentences) > 1 else _STATEMENT_ENOUGH
        probability = share_probability(_matched(wanted, source, evidence), enough) if evidence else 0.0
        if is_empty_answer(query, source):
            probability = min(probability, _EMPTY_PROBABILITY)
        elif is_short_answer(source):
            probability = max(probability, _SHORT_ANSWER)
    span = (evidence[0].sentence.start, evidence[0].sentence.end) if evidence else None
    return yes_no(probability, span)


def yes_no(probability: float, span: tuple[int, int] | None = None) -> Verdict:
    """The verdict of a probability of yes."""
    return Verdict(Label.YES if probability >= 0.5 else Label.NO, round(probability, 4), span=span)


def is_empty_answer(query: str, source: Passage) -> bool:
    """Whether a text is one sentence that claims nothing, nor is the yes or no that a query asks for."""
    text = source.sentences[0].text if len(source.sentences) == 1 else ""
    answers = read_query(query).polar and polarity(text)[0] is not None
    return bool(text) and not answers and claims_nothing(text)


def is_short_answer(source: Passage) -> bool:
    """Whether a text is a bare fragment of a few words, which reads as an answer to whatever was asked."""
    return [len(sentence.words) <= _SHORT and is_fragment(sentence.text) for sentence in source.sentences] == [True]


def _reached(claim: Terms, evidence: Sequence[SentenceMatch]) -> float:
    """The share of the claim that a text holds: counted twice in all of the text, once in its best sentence."""
    best = evidence[0].share if evidence else 0.0
    return (2 * claim.share(merged(*(match.credits for match in evidence))) + best) / 3


def _matched(wanted: Terms, source: Passage, evidence: Sequence[SentenceMatch]) -> float:
    """How well a text matches a query: half by BM25, half by the best sentence and the best two in a row."""
    by_place = {match.place: match.credits for match in evidence}
    in_a_row = ((credits, by_place[place + 1]) for place, credits in by_place.items() if place + 1 in by_place)
    pairs = (wanted.share(merged(*both)) for both in in_a_row)
    near = max(evidence[0].share, *pairs, 0.0)
    return (evidence[0].share + near + 2 * _bm25(wanted, source, evidence)) / 4


def _bm25(wanted: Terms, source: Passage, evidence: Sequence[SentenceMatch]) -> float:
    """BM25 as a share: 1 where each word of the query stands once in a text of usual length."""
    length = sum(len(sentence.words) for sentence in source.sentences) / _USUAL_WORDS
    damping = _SATURATION * (1 - _BY_LENGTH + _BY_LENGTH * length)
    counts: dict[int, float] = {}
    for match in evidence:
        for item, credit in match.credits.items():
            counts[item] = counts.get(item, 0.0) + credit
    sums = sum(wanted.weights[item] * count / (count + damping) for item, count in counts.items())
    return (1 + _SATURATION) * sums / wanted.total if wanted.total else 0.0
