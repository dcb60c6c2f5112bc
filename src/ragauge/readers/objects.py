"""Rows that are in memory already: lists, dicts of columns, frames, Hugging Face and ragas data sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from ragauge.errors import BadData
from ragauge.readers.frames import frame
from ragauge.readers.json_files import rows_of_mapping
from ragauge.readers.sources import Source, sized


def in_memory(data: Any) -> Source:
    """The rows of an object. Raises BadData for one that holds no rows."""
    if type(data).__module__.partition(".")[0] == "datasets":
        return _hugging_face(data)
    if isinstance(data, Mapping):
        return _sequence(rows_of_mapping(data, "dict"), "dict")
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return _sequence(data, "list")
    if (rows := _rows_of_data_set(data)) is not None:
        return _sequence(rows, type(data).__name__)
    if (source := frame(data)) is not None:
        return source
    if not isinstance(data, Iterable) or isinstance(data, str | bytes):
        raise BadData(f"{type(data).__name__}: not rows; give a path, a list of dicts, a frame or a data set")
    return Source(type(data).__name__, partial(iter, data), once=isinstance(data, Iterator))


def _sequence(rows: Sequence[Any], kind: str) -> Source:
    return Source(sized(kind, len(rows)), partial(iter, rows))


def _hugging_face(data: Any) -> Source:
    """A Dataset or IterableDataset, known by its module so that `datasets` is never imported here."""
    name = f"datasets.{type(data).__name__}"
    if isinstance(data, Mapping):
        splits = ", ".join(map(repr, data))
        raise BadData(f"{name}: holds the splits {splits}; give one of them, such as data[{next(iter(data), '')!r}]")
    return Source(name, partial(iter, data))


def _rows_of_data_set(data: Any) -> Sequence[Any] | None:
    """The rows of an evaluation data set of ragas (`samples`) or DeepEval (`test_cases`)."""
    for attribute in ("samples", "test_cases"):
        rows = getattr(data, attribute, None)
        if isinstance(rows, list | tuple):
            return rows
    return None
