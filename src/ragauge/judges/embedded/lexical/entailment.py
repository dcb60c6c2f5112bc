"""Entailment of a full statement: a logistic layer over the features, and clear signs of contradiction."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from ragauge.judges.embedded.layer import logistic, text_of
from ragauge.judges.embedded.lexical.alignment import FOUND, Claim, Evidence, find, merged, repeats, together
from ragauge.judges.embedded.lexical.comparison import Comparison
from ragauge.judges.embedded.lexical.features import NAMES, features
from ragauge.judges.embedded.lexical.numbers import is_year
from ragauge.judges.embedded.lexical.passages import Passage, passage
from ragauge.judges.embedded.lexical.words import Kind, Word, words
from ragauge.types import ChunkVerdict, Label, Verdict

SAID = 0.99  # the claim stands there word for word
CONTRADICTED = 0.2  # what is left of a probability where a sentence speaks against the claim
_ABSENT = 0.4  # ... where a number of the claim, or the point of a short one, is nowhere in the premise
_FEW, _POINT = 5, 0.15  # words of a claim that is short, and the share of its weight that a word has which is its point
_CLEAR = 0.8  # share of the rest of a claim that a sentence must hold before a contrary in it can contradict
_SAME = 0.9  # ... before another year or name can: it must be about the same event
_LIKE, _MANY = 0.7, 4  # ... before another number can, which is no year, where so many words are found


class Finding(NamedTuple):
    """What some texts say about a claim. best: the sentence that says most, None where no word is found."""

    label: Label
    probability: float
    best: Evidence | None


class Weighed(NamedTuple):
    """What sources say about a claim. joint: those that were weighed together. alone: each, in their order."""

    joint: Finding
    alone: tuple[Finding, ...]


def weigh(
    claim: Claim,
    sources: Sequence[Passage],
    own: Sequence[Finding | None],
    near: Callable[[Passage], Finding] | None = None,
) -> Weighed:
    """What all sources together and each alone say about `claim`.

    own: for each source that is read in a way of its own what it says; None for one that is weighed, alone and with the
    others. near: another reading of a source that is weighed; the stronger counts, unless the source contradicts.
    """
    weighed = [source for source, finding in zip(sources, own, strict=True) if finding is None]
    evidence = [find(claim, source) for source in weighed]
    plain = [judged(claim, found, [source]) for found, source in zip(evidence, weighed, strict=True)]
    joint = plain[0] if len(plain) == 1 else Finding(Label.NEUTRAL, 0.0, None)
    if len(plain) > 1:
        joint = judged(claim, [one for found in evidence for one in found], weighed)
    if near is not None:
        plain = [_stronger(one, near(source)) for one, source in zip(plain, weighed, strict=True)]
    rest = iter(plain)
    return Weighed(joint, tuple(finding if finding is not None else next(rest) for finding in own))


def _stronger(plain: Finding, near: Finding) -> Finding:
    return plain if plain.label == Label.CONTRADICTED or plain.probability >= near.probability else near


def verdict(joint: Finding, alone: Sequence[Finding]) -> Verdict:
    """What each source says alone, and what all say together: no less than the one that says most, and a source that
    contradicts is heard."""
    label, probability = joint.label, max([joint.probability, *(one.probability for one in alone)])
    if any(one.label == Label.CONTRADICTED for one in alone) and label != Label.CONTRADICTED:
        label, probability = Label.CONTRADICTED, probability * CONTRADICTED
    elif label == Label.CONTRADICTED:
        probability = joint.probability
    elif probability >= 0.5:
        label = Label.ENTAILED
    return Verdict(label, round(probability, 4), tuple(map(chunk_verdict, alone)))


def chunk_verdict(finding: Finding) -> ChunkVerdict:
    """A finding as the verdict of one chunk."""
    sentence = finding.best.sentence if finding.best else None
    span = (sentence.start, sentence.end) if sentence else None
    return ChunkVerdict(finding.label, round(finding.probability, 4), span)


def judged(claim: Claim, evidence: list[Evidence], sources: Sequence[Passage], enough: float | None = None) -> Finding:
    """What the sources together say about `claim`, of which they hold `evidence`.

    enough: the share of the claim that makes it likelier than not, in place of the fitted layer.
    """
    chosen = together(claim, evidence)
    best = chosen[0] if chosen else None
    if any(repeats(claim, source) for source in sources):
        return Finding(Label.ENTAILED, SAID, best)
    if not claim.items:
        return Finding(Label.NEUTRAL, 0.0, best)
    values, comparisons = features(claim, evidence, chosen)
    share = claim.share(merged(*(one.credits for one in chosen)))
    probability = chance(values) if enough is None else leaning(share, enough)
    if any(contradicts(claim, one, how) for one, how in zip(chosen, comparisons, strict=True)):
        return Finding(Label.CONTRADICTED, probability * CONTRADICTED, best)
    if values[NAMES.index("numbers_absent")] or (enough is None and _lacks_its_point(claim, chosen)):
        probability *= _ABSENT
    return Finding(Label.ENTAILED if probability >= 0.5 else Label.NEUTRAL, probability, best)


def _lacks_its_point(claim: Claim, chosen: Sequence[Evidence]) -> bool:
    """Whether a claim of few words has one of weight that is found in no form."""
    found = merged(*(one.credits for one in chosen))
    missing = (claim.weights[item] for item in range(len(claim.items)) if item not in found)
    return len(claim.items) <= _FEW and max(missing, default=0.0) >= _POINT * claim.total


def contradicts(claim: Claim, one: Evidence, how: Comparison) -> bool:
    """Whether a sentence speaks clearly against `claim`.

    It says the same but for a negation, a contrary, or one number, date or name with another in its place.
    """
    missing = [item for item in range(len(claim.items)) if one.credits.get(item, 0.0) < FOUND]
    if how.negation:
        return one.share >= _CLEAR and len(claim.items) > 1
    if not (how.opposite or how.rivals) or len(claim.items) - len(missing) < 2:
        return False
    decisive = [item for item in missing if claim.items[item].kind in (Kind.NUMBER, Kind.NAME)] or missing[:1]
    left = claim.total - sum(claim.weights[item] for item in decisive)
    if len(decisive) != 1 or _is_pronoun(claim.items[decisive[0]]):
        return False
    needed = _needed(claim.items[decisive[0]], len(claim.items) - len(missing), how)
    return one.share * claim.total >= needed * left


def _is_pronoun(word: Word) -> bool:
    """Whether a number may be none: "one" in letters."""
    return word.key == "#1" and word.end - word.start > len("1")


def _needed(missing: Word, found: int, how: Comparison) -> float:
    """The share of the rest of a claim that makes a sentence with something else for `missing` contradict it."""
    if missing.kind == Kind.NUMBER and not is_year(missing.key) and found >= _MANY:
        return _LIKE
    return _CLEAR if how.opposite else _SAME


def leaning(share: float, enough: float) -> float:
    """A probability that passes one half where `share` passes `enough`."""
    return 1 / (1 + math.exp(-10 * (share - enough)))


def measured(premise: Sequence[str], hypothesis: str) -> list[float]:
    """The features of `hypothesis` against the texts of `premise` together: what the layer is fitted on."""
    claim = Claim(words(hypothesis))
    evidence = [one for text in premise for one in find(claim, passage(text))]
    return features(claim, evidence, together(claim, evidence))[0]


def chance(values: Sequence[float]) -> float:
    """The fitted probability of entailment."""
    return logistic(math.fsum(constant * value for constant, value in zip(_constants(), values, strict=True)))


@cache
def _constants() -> tuple[float, ...]:
    """The constants of data/lexical.json in the order of NAMES. Made by training/fit_lexical.py."""
    table = json.loads(text_of("lexical"))
    return tuple(float(table[name]) for name in NAMES)
