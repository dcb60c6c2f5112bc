"""Where rows come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Source:
    """A supply of rows under a name for people.

    rows: opens the supply anew. An item is a mapping, a Sample, an object with fields, or a Malformed in the place
    of a row that cannot be read.
    once: the supply can be opened only once (a generator, standard input).
    """

    name: str
    rows: Callable[[], Iterator[Any]]
    once: bool = False


def sized(kind: str, rows: int) -> str:
    """The name of a supply whose size is known: "list of 3 rows"."""
    return f"{kind} of {rows} row{'' if rows == 1 else 's'}"
