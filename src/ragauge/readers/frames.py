"""Rows of data frames: pandas, Polars, PyArrow and whatever narwhals or the Arrow stream protocol understands."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from ragauge.errors import BadData, MissingExtra
from ragauge.readers.arrow_files import BATCH
from ragauge.readers.sources import Source, sized


def frame(data: Any) -> Source | None:
    """The rows of a frame, or None for what is none. A lazy Polars frame is collected batch by batch."""
    import narwhals as nw

    name = type(data).__name__
    try:
        found = nw.from_native(data, pass_through=True)
    except (TypeError, ValueError, nw.exceptions.NarwhalsError) as error:
        problem = " ".join(str(error).split())
        raise BadData(f"{name}: not a frame of rows ({problem}); give each column its own name") from None
    if isinstance(found, nw.DataFrame):
        return Source(sized(name, len(found)), partial(_eager, found))
    if isinstance(found, nw.LazyFrame):
        return Source(name, partial(_lazy, found))
    if hasattr(data, "__arrow_c_stream__"):
        return Source(name, partial(_stream, data), once=hasattr(data, "read_next_batch"))
    return Source(name, partial(_exchanged, data)) if hasattr(data, "__dataframe__") else None


def _eager(found: Any) -> Iterator[dict[str, Any]]:
    yield from found.iter_rows(named=True, buffer_size=BATCH)


def _lazy(found: Any) -> Iterator[dict[str, Any]]:
    native = found.to_native()
    if not hasattr(native, "collect_batches"):
        yield from _eager(found.collect())
        return
    for batch in native.collect_batches(chunk_size=BATCH, maintain_order=True):
        yield from batch.iter_rows(named=True)


def _stream(data: Any) -> Iterator[dict[str, Any]]:
    try:
        import pyarrow
    except ImportError:
        raise MissingExtra("reading an Arrow stream", "arrow") from None
    for batch in pyarrow.RecordBatchReader.from_stream(data):
        for start in range(0, batch.num_rows, BATCH):
            yield from batch.slice(start, BATCH).to_pylist()


def _exchanged(data: Any) -> Iterator[dict[str, Any]]:
    try:
        from pyarrow.interchange import from_dataframe
    except ImportError:
        raise MissingExtra("reading a frame through the interchange protocol", "arrow") from None
    yield from from_dataframe(data).to_pylist()
