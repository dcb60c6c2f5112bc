"""Rows within rows: {"inputs": {"question": ...}} becomes a row with the column "inputs.question"."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ragauge.readers.aliases import rank, wrapped_fields


def unfolded(row: Mapping[str, Any], opened: Collection[str] = ()) -> Mapping[str, Any]:
    """The row with its wrappers opened, and those columns which the caller's map reaches into.

    A wrapper around one value under an unknown name stands for that value: {"outputs": {"x": "Yes"}} is "Yes".
    """
    if not any(isinstance(value, Mapping) for value in row.values()):
        return row
    flat: dict[str, Any] = {}
    for column, value in row.items():
        if isinstance(value, Mapping) and (column in opened or wrapped_fields(column)):
            flat |= _opened(column, value, keep_names=column in opened)
        else:
            flat[column] = value
    return flat


def _opened(column: str, value: Mapping[str, Any], keep_names: bool) -> dict[str, Any]:
    inner = {f"{column}.{name}": item for name, item in value.items()}
    if len(inner) == 1 and not keep_names and not _is_known(column, *inner):
        return {column: next(iter(value.values()))}
    return inner


def _is_known(wrapper: str, column: str) -> bool:
    return any(rank(field, column) is not None for field in wrapped_fields(wrapper))
