"""Rows within rows: {"inputs": {"question": ...}} becomes a row with the column "inputs.question"."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from ragauge.readers.aliases import rank, wrapped_fields


def unfolded(
    row: Mapping[str, Any], opened: Collection[str] = (), known_as: Callable[[str], str] = str
) -> Mapping[str, Any]:
    """The row with its wrappers opened, and those columns which the caller's map reaches into.

    A wrapper around one value under an unknown name stands for that value: {"outputs": {"x": "Yes"}} is "Yes".
    known_as: from a column to the name under which the aliases have it.
    """
    if not any(isinstance(value, Mapping) for value in row.values()):
        return row
    flat: dict[str, Any] = {}
    for column, value in row.items():
        fields = wrapped_fields(known_as(column))
        if isinstance(value, Mapping) and (column in opened or fields):
            inner = {f"{column}.{name}": item for name, item in value.items()}
            known = any(rank(field, known_as(name)) is not None for field in fields for name in inner)
            flat |= inner if known or len(inner) != 1 or column in opened else {column: next(iter(value.values()))}
        else:
            flat[column] = value
    return flat
