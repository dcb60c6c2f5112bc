from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.run.sync import ordered_map


async def _collected(waits: list[int], width: int) -> tuple[list[int], int]:
    """The results of tasks that yield to others a number of times, and how many were under way at once."""
    under_way = most = 0

    async def work(item: tuple[int, int]) -> int:
        nonlocal under_way, most
        number, turns = item
        under_way += 1
        most = max(most, under_way)
        for _ in range(turns):
            await asyncio.sleep(0)
        under_way -= 1
        return number

    return [number async for number in ordered_map(enumerate(waits), work, width)], most


@given(st.lists(st.integers(0, 20), max_size=60), st.integers(1, 9))
def test_results_come_in_the_order_of_the_items(waits: list[int], width: int) -> None:
    """However long each takes, results come in order, and no more than `width` are under way at once."""
    results, most = asyncio.run(_collected(waits, width))
    assert results == list(range(len(waits)))
    assert most <= width


def test_what_raises_ends_the_rest() -> None:
    """An error comes out at once, though an earlier item is still under way, and that one is cancelled."""
    cancelled = []

    async def work(item: int) -> int:
        if item == 1:
            raise ValueError("no")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(item)
            raise
        return item

    async def collect() -> list[int]:
        return [number async for number in ordered_map(range(3), work, 3)]

    with pytest.raises(ValueError, match="no"):
        asyncio.run(collect())
    assert cancelled == [0, 2]


def test_what_cannot_be_drawn_does_not_lose_what_is_under_way() -> None:
    """An item that cannot be drawn raises only once all items before it are done."""

    def items() -> Iterator[int]:
        yield from range(5)
        raise OSError("torn")

    async def work(item: int) -> int:
        await asyncio.sleep(0)
        return item

    async def collect(found: list[int]) -> None:
        async for number in ordered_map(items(), work, 3):
            found.append(number)

    found: list[int] = []
    with pytest.raises(OSError, match="torn"):
        asyncio.run(collect(found))
    assert found == list(range(5))
