"""N-grams and how many of them two texts share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence


def ngrams(tokens: Sequence[str], order: int) -> Iterable[Hashable]:
    """Each run of `order` neighbouring tokens, as a tuple; for order 1, each token as it is."""
    return tokens if order == 1 else zip(*[tokens[start:] for start in range(order)], strict=False)


def overlap(said: Iterable[Hashable], golden: Iterable[Hashable]) -> int:
    """How many items said are among the golden ones, none more often than it is there."""
    return draw(said, Counter(golden))


def draw(items: Iterable[Hashable], stock: Counter[Hashable]) -> int:
    """How many of the items can be drawn, one after another, from a stock, which loses them."""
    drawn = 0
    for item in items:
        left = stock.get(item)
        if left:
            drawn += 1
            stock[item] = left - 1
    return drawn
