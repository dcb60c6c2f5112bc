"""What a model says of the windows of a premise, as one verdict."""

from __future__ import annotations

from collections.abc import Sequence

from ragauge.judges.nli.card import Card
from ragauge.judges.nli.scoring import Chances
from ragauge.nouns.answers import ChunkVerdict, Label

_WEIGHTS = {Label.CONTRADICTED: 2, Label.ENTAILED: 1}


def said(card: Card, windows: Sequence[Chances]) -> ChunkVerdict:
    """Of all windows what asserts most: a contradiction, else support, else the most probable; no text: neither."""
    verdicts = [_said(card, chances) for chances in windows]
    return max(verdicts, key=_weight, default=ChunkVerdict(_neither(card), 0.0))


def _said(card: Card, chances: Chances) -> ChunkVerdict:
    """The likeliest class; where two are as likely, the one that asserts less."""
    by_label = dict(zip(card.labels, chances, strict=True))
    label = max(by_label, key=lambda label: (by_label[label], -_WEIGHTS.get(label, 0)))
    return ChunkVerdict(label, by_label[Label.ENTAILED])


def _weight(verdict: ChunkVerdict) -> tuple[int, float]:
    return _WEIGHTS.get(verdict.label, 0), verdict.probability or 0.0


def _neither(card: Card) -> Label:
    return Label.NEUTRAL if card.three_way else Label.NOT_ENTAILED
