"""Large data is read row by row."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from ragauge.readers import read

TEXT = "a context of some length, as retrievers return them. " * 10


def _row(number: int) -> dict[str, object]:
    return {"question": f"q{number}", "answer": "a", "contexts": [f"{number} {TEXT}", TEXT]}


def _write_jsonl(path: Path, rows: int) -> None:
    with path.open("w") as file:
        file.writelines(json.dumps(_row(number)) + "\n" for number in range(rows))


def _write_csv(path: Path, rows: int) -> None:
    with path.open("w") as file:
        file.write("question,answer,contexts\n")
        file.writelines(f"q{number},a,{number} {TEXT.replace(',', ';')}\n" for number in range(rows))


def _write_parquet(path: Path, rows: int) -> None:
    with pa.parquet.ParquetWriter(path, pa.Table.from_pylist([_row(0)]).schema) as writer:
        for start in range(0, rows, 5000):
            writer.write_table(pa.Table.from_pylist([_row(start + number) for number in range(min(5000, rows))]))


WRITERS: dict[str, Callable[[Path, int], None]] = {
    "jsonl": _write_jsonl,
    "csv": _write_csv,
    "parquet": _write_parquet,
}


def _peak(source: object, rows: int) -> tuple[int, int]:
    """The most bytes held while going through the data, by Python and by Arrow."""
    arrow = pa.default_memory_pool()
    most = 0
    tracemalloc.start()
    for number, _ in enumerate(read(source), start=1):
        if number % 500 == 0:
            most = max(most, arrow.bytes_allocated())
    python = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert number == rows
    return python, most


@pytest.mark.slow
@pytest.mark.parametrize("extension", WRITERS)
def test_memory_does_not_grow_with_the_file(tmp_path: Path, extension: str) -> None:
    """Eight times the rows, 80 MB more, need at most half a megabyte more."""
    peaks = []
    for rows in (10_000, 80_000):
        path = tmp_path / f"{rows}.{extension}"
        WRITERS[extension](path, rows)
        peaks.append(_peak(path, rows))
    (small, small_arrow), (large, large_arrow) = peaks
    assert large < small + 500_000
    assert large_arrow <= 1.5 * small_arrow


@pytest.mark.slow
def test_a_lazy_frame_is_collected_in_batches(tmp_path: Path) -> None:
    """Python holds no more of a lazy Polars frame of eight times the rows."""
    peaks = []
    for rows in (10_000, 80_000):
        path = tmp_path / f"{rows}.parquet"
        _write_parquet(path, rows)
        peaks.append(_peak(pl.scan_parquet(path), rows)[0])
    assert peaks[1] < 1.5 * peaks[0]
