"""Entailment of a statement by words alone: a logistic layer over the features of coverage, and clear contradiction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ragauge.judges.embedded.coverage import (
    FOUND,
    Claim,
    Evidence,
    exchanges_number,
    features,
    find,
    merged,
    negation_differs,
    repeats,
    together,
)  # fmt: skip
from ragauge.judges.embedded.layer import chance, constants
from ragauge.judges.embedded.passages import Passage
from ragauge.judges.embedded.words import AUXILIARIES, Kind
from ragauge.types import ChunkVerdict, Label, Verdict

VERBATIM = 0.99  # probability of a claim that stands there word for word
_REFUTED = 0.2  # what is left of a probability where a sentence speaks against the claim
_ABSENT = (
    0.4  # ... where a number of the claim, or the point of a short one, is nowhere in the premise, or only asked for
)
_FEW, _POINT = 5, 0.15  # words of a claim that is short, and the share of its weight that a word has which is its point
_SAME, _ALL = 0.8, 0.9  # share of a claim, and of its rest, that a sentence must hold before it can contradict it


class Finding(NamedTuple):
    """What some texts say about a claim. best: the sentence that says most, None where no word is found."""

    label: Label
    probability: float
    best: Evidence | None = None


class Weighed(NamedTuple):
    """What sources say about a claim: those that were weighed together, and each alone in their order."""

    joint: Finding
    alone: tuple[Finding, ...]


def weigh(claim: Claim, sources: Sequence[Passage], own: Sequence[Finding | None]) -> Weighed:
    """What all sources together and each alone say about `claim`.

    own: for each source that is read in a way of its own what it says; None for one that is weighed, alone and with the
    others.
    """
    weighed = [source for source, finding in zip(sources, own, strict=True) if finding is None]
    evidence = [find(claim, source) for source in weighed]
    plain = [judged(claim, found, [source]) for found, source in zip(evidence, weighed, strict=True)]
    joint = plain[0] if len(plain) == 1 else judged(claim, [one for found in evidence for one in found], weighed)
    rest = iter(plain)
    return Weighed(joint, tuple(finding or next(rest) for finding in own))


def verdict(joint: Finding, alone: Sequence[Finding]) -> Verdict:
    """What each source says alone, and what all say together: no less than the one that says most, and a source that
    contradicts is heard."""
    label, probability = joint.label, max([joint.probability, *(one.probability for one in alone)])
    if label == Label.CONTRADICTED:
        probability = joint.probability
    elif any(one.label == Label.CONTRADICTED for one in alone):
        label, probability = Label.CONTRADICTED, probability * _REFUTED
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
        return Finding(Label.ENTAILED, VERBATIM, best)
    if not claim.items or not chosen:
        return Finding(Label.NEUTRAL, 0.0, best)
    values = features(claim, evidence, chosen)
    share = claim.share(merged(*(one.credits for one in chosen)))
    probability = chance(constants("lexical")["entailed"], values) if enough is None else leaning(share, enough)
    if any(contradicts(claim, one) for one in chosen):
        return Finding(Label.CONTRADICTED, probability * _REFUTED, best)
    if all(map(_asks, chosen)) or values["numbers_absent"] or _lacks_its_point(claim, chosen):
        probability *= _ABSENT
    return Finding(Label.ENTAILED if probability >= 0.5 else Label.NEUTRAL, probability, best)


def _asks(one: Evidence) -> bool:
    """Whether a sentence asks for yes or no, and so says neither."""
    return one.sentence.text.endswith("?") and one.sentence.words[0].key in AUXILIARIES


def _lacks_its_point(claim: Claim, chosen: Sequence[Evidence]) -> bool:
    """Whether a claim of few words has one of weight that is found in no form."""
    found = merged(*(one.credits for one in chosen))
    missing = (weight for item, weight in enumerate(claim.weights) if item not in found)
    return len(claim.items) <= _FEW and max(missing, default=0.0) >= _POINT * claim.total


def contradicts(claim: Claim, one: Evidence) -> bool:
    """Whether a sentence says the same as `claim` but for a negation, or for one number with another in its place."""
    if len(one.credits) < 2:
        return False
    if negation_differs(claim, one.sentence):
        return one.share >= _SAME
    missing = [item for item in range(len(claim.items)) if one.credits.get(item, 0.0) < FOUND]
    numbers = [item for item in missing if claim.items[item].kind == Kind.NUMBER]
    named = any(claim.items[item].kind == Kind.NAME for item in missing)
    rest = claim.share(one.credits, (item for item in range(len(claim.items)) if item not in numbers))
    if len(numbers) <= 1 and exchanges_number(claim, one.sentence):
        return rest >= _SAME
    others = any(word.kind == Kind.NUMBER and word.key not in claim.keys for word in one.sentence.words)
    return others and len(numbers) == 1 and not named and rest >= _ALL


def leaning(share: float, enough: float) -> float:
    """A probability that passes one half where `share` passes `enough`."""
    return 1 / (1 + math.exp(-10 * (share - enough)))
