"""Rows of Parquet and Arrow files, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragauge.errors import BadData, MissingExtra

#: Rows held in memory at once.
BATCH = 256

#: What a damaged file raises besides pyarrow's own: its text is no text, its dates are none.
_DAMAGED = (OSError, ValueError, OverflowError)


def rows_of_parquet(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file. Raises MissingExtra without pyarrow, BadData where the file is broken."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("reading Parquet files", "arrow") from None
    try:
        with pyarrow.parquet.ParquetFile(path, pre_buffer=False) as file:
            for batch in file.iter_batches(batch_size=BATCH):
                yield from batch.to_pylist()
    except (pyarrow.ArrowException, *_DAMAGED) as error:
        raise BadData(f"{path}: not a whole Parquet file ({error}); write it again") from None


def rows_of_arrow(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of an Arrow IPC file, as Feather and `datasets` write it. Raises as `rows_of_parquet` does."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtra("reading Arrow files", "arrow") from None
    try:
        with pyarrow.memory_map(str(path)) as source:
            for batch in _batches(source):
                batch.validate(full=True)  # what is damaged would end the process, not raise
                for start in range(0, batch.num_rows, BATCH):
                    yield from batch.slice(start, BATCH).to_pylist()
    except (pyarrow.ArrowException, *_DAMAGED) as error:
        raise BadData(f"{path}: not a whole Arrow file ({error}); write it again") from None


def _batches(source: Any) -> Iterator[Any]:
    import pyarrow

    try:
        file = pyarrow.ipc.open_file(source)
    except pyarrow.ArrowInvalid:
        source.seek(0)
        yield from pyarrow.ipc.open_stream(source)
        return
    for number in range(file.num_record_batches):
        yield file.get_batch(number)
