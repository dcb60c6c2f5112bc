"""Kappa: how far raters agree beyond what their own habits would bring about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from itertools import combinations
from typing import TypeVar

Label = TypeVar("Label", bound=Hashable)


def kappa(patterns: Mapping[tuple[Label, ...], int]) -> float | None:
    """Cohen's kappa of two raters; of more, Conger's (Psychological Bulletin 88, 1980), its mean over pairs.

    patterns: what the raters said of one thing, in the order of the raters -> how many things they said it of. Each
    rater keeps a base rate of its own, as is right for raters that are always the same.

    1: they always agree. 0: no more than their base rates bring about. None where nothing was rated, and where all
    raters gave one and the same label throughout, so that nothing tells agreement from habit.
    """
    total = sum(patterns.values())
    if not total:
        return None
    pairs = list(combinations(range(len(next(iter(patterns)))), 2))
    same = sum(count for said, count in patterns.items() for a, b in pairs if said[a] == said[b])
    habits = [_habit(patterns, rater) for rater in range(len(next(iter(patterns))))]
    chance = sum(count * habits[b][label] for a, b in pairs for label, count in habits[a].items())
    possible = total * total * len(pairs)
    return (total * same - chance) / (possible - chance) if possible != chance else None


def _habit(patterns: Mapping[tuple[Label, ...], int], rater: int) -> Counter[Label]:
    """How often a rater gave each label."""
    habit: Counter[Label] = Counter()
    for said, count in patterns.items():
        habit[said[rater]] += count
    return habit
