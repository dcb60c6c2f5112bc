"""What a model says of the windows of a premise, as one verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ragauge.judges.nli.card import Card
from ragauge.judges.nli.scoring import Chances
from ragauge.types import ChunkVerdict, Label

_WEIGHTS = {Label.CONTRADICTED: 2, Label.ENTAILED: 1}


class _Window(NamedTuple):
    """What one window says. chance: of its label. support: the probability that it entails the hypothesis."""

    label: Label
    chance: float
    support: float

    @property
    def weight(self) -> tuple[bool, float, bool]:
        """What asserts something weighs more, then what is more probable; support where both are alike."""
        asserts = self.label in _WEIGHTS
        return asserts, self.chance if asserts else self.support, self.label is Label.ENTAILED


def said(card: Card, windows: Sequence[Chances]) -> ChunkVerdict:
    """The most probable support or contradiction of any window; neither, where none asserts anything or there is none.

    So a window that has nothing to do with the hypothesis, and looks to the model as if it might contradict it, does
    not outweigh one that surely supports it.
    """
    deciding = max((_said(card, chances) for chances in windows), key=lambda window: window.weight, default=None)
    return ChunkVerdict(deciding.label, deciding.support) if deciding else ChunkVerdict(_neither(card), 0.0)


def dispute(card: Card, windows: Sequence[Chances]) -> str | None:
    """That some windows support the hypothesis and others contradict it, and how surely; None where they do not."""
    each = [_said(card, chances) for chances in windows]
    surest = {label: max((one.chance for one in each if one.label is label), default=0.0) for label in _WEIGHTS}
    if not all(surest.values()):
        return None
    return (
        f"of {len(each)} windows of the premise, one supports it with {surest[Label.ENTAILED]:.2f} and one contradicts "
        f"it with {surest[Label.CONTRADICTED]:.2f}"
    )


def _said(card: Card, chances: Chances) -> _Window:
    """The likeliest class; where two are as likely, the one that asserts less."""
    by_label = dict(zip(card.labels, chances, strict=True))
    label = max(by_label, key=lambda label: (by_label[label], -_WEIGHTS.get(label, 0)))
    return _Window(label, by_label[label], by_label[Label.ENTAILED])


def _neither(card: Card) -> Label:
    return Label.NEUTRAL if card.three_way else Label.NOT_ENTAILED
