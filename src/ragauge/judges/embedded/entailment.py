"""Entailment of a statement by words alone: a logistic layer over the features of coverage, and clear contradiction."""

from __future__ import annotations

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
from ragauge.judges.embedded.layer import constants, logistic, predict
from ragauge.judges.embedded.passages import Passage
from ragauge.judges.embedded.words import AUXILIARIES, Kind
from ragauge.types import ChunkVerdict, Label, Verdict

VERBATIM = 0.99  # probability of a claim that a text holds word for word
_REFUTED = 0.2  # what is left of a probability where a sentence contradicts the claim
_ABSENT = 0.4  # ... where a number of the claim, or the point of a short one, is absent from the premise, or only asked
_FEW, _POINT = 5, 0.15  # words of a claim that is short, and the share of its weight that a word has which is its point
_SAME, _ALL = 0.8, 0.9  # share of a claim, and of its rest, that a sentence must hold before it can contradict it


class Finding(NamedTuple):
    """The verdict of some texts on a claim. best: the sentence that holds most, None where no word is found."""

    label: Label
    probability: float
    best: Evidence | None = None


class Findings(NamedTuple):
    """The verdicts of sources on a claim: of those that are read as they stand together, and of each alone."""

    joint: Finding
    alone: tuple[Finding, ...]


def compare(claim: Claim, sources: Sequence[Passage], own: Sequence[Finding | None]) -> Findings:
    """The verdicts on a claim of all sources together and of each alone. own: that of a source read in its own way."""
    plain = [source for source, finding in zip(sources, own, strict=True) if finding is None]
    evidence = [find(claim, source) for source in plain]
    alone = [judged(claim, found, [source]) for found, source in zip(evidence, plain, strict=True)]
    joint = alone[0] if len(alone) == 1 else judged(claim, [one for found in evidence for one in found], plain)
    rest = iter(alone)
    return Findings(joint, tuple(finding or next(rest) for finding in own))


def verdict(joint: Finding, alone: Sequence[Finding]) -> Verdict:
    """The verdict of all sources: no less likely than that of any one, and contradicted where a source contradicts."""
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
    """The verdict of the sources together on `claim`, of which they hold `evidence`.

    enough: the share of the claim that makes it likelier than not, in place of the fitted layer.
    """
    chosen = together(claim, evidence)
    best = chosen[0] if chosen else None
    if any(repeats(claim, source) for source in sources):
        return Finding(Label.ENTAILED, VERBATIM, best)
    if not claim.items or not chosen:
        return Finding(Label.NEUTRAL, 0.0, best)
    values = features(claim, evidence, chosen)
    found = merged(*(one.credits for one in chosen))
    layer = constants("lexical")["entailed"]
    probability = predict(layer, values) if enough is None else share_probability(claim.share(found), enough)
    if any(contradicts(claim, one) for one in chosen):
        return Finding(Label.CONTRADICTED, probability * _REFUTED, best)
    missing = (weight for item, weight in enumerate(claim.weights) if item not in found)
    lacks_point = len(claim.items) <= _FEW and max(missing, default=0.0) >= _POINT * claim.total
    if lacks_point or values["numbers_absent"] or all(map(_is_polar_question, chosen)):
        probability *= _ABSENT
    return Finding(Label.ENTAILED if probability >= 0.5 else Label.NEUTRAL, probability, best)


def _is_polar_question(one: Evidence) -> bool:
    return one.sentence.text.endswith("?") and one.sentence.words[0].key in AUXILIARIES


def contradicts(claim: Claim, one: Evidence) -> bool:
    """Whether a sentence is the same as `claim` but for a negation, or for one number with another in its place."""
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


def share_probability(share: float, enough: float) -> float:
    """A probability that passes one half where `share` passes `enough`."""
    return logistic(10 * (share - enough))
