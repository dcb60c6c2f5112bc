"""Data in memory: lists, dicts of columns, frames and data sets of other libraries."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ragauge
from ragauge.errors import BadData, BadRow
from ragauge.readers import read
from ragauge.types import Chunk, Sample

COLUMNS: dict[str, list[Any]] = {
    "question": ["q1", "q2"],
    "answer": ["a1", ""],
    "contexts": [["c1", "c2"], []],
    "ground_truth": ["r1", "r2"],
    "label": [1, 2],
}
ROWS = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]
SAMPLES = [
    Sample(
        "1",
        "q1",
        "a1",
        (Chunk("c1", "1"), Chunk("c2", "2")),
        ("r1",),
        metadata={"label": 1},
    ),
    Sample("2", "q2", "", (), ("r2",), metadata={"label": 2}),
]


class OnlyStream:
    """As an object of DuckDB or another library that speaks the Arrow stream protocol alone."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return pa.table(COLUMNS).__arrow_c_stream__(requested_schema)


@dataclass
class SingleTurnSample:
    """As ragas's, which is a pydantic model."""

    row: dict[str, Any]

    def model_dump(self) -> dict[str, Any]:
        """As pydantic's."""
        return self.row


@dataclass
class EvaluationDataset:
    """As ragas's."""

    samples: list[SingleTurnSample]


@dataclass
class LLMTestCase:
    """As DeepEval's."""

    input: str
    actual_output: str | None
    retrieval_context: list[str]
    expected_output: str
    label: int


@dataclass
class DeepEvalDataset:
    """As DeepEval's data set."""

    test_cases: list[LLMTestCase] = field(default_factory=list)


OBJECTS: dict[str, Callable[[], Any]] = {
    "list of 2 rows": lambda: ROWS,
    "dict of 2 rows": lambda: COLUMNS,
    "wrapped": lambda: {"results": ROWS},
    "DataFrame of 2 rows": lambda: pd.DataFrame(COLUMNS),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "LazyFrame": lambda: pl.LazyFrame(COLUMNS),
    "Table of 2 rows": lambda: pa.table(COLUMNS),
    "RecordBatch": lambda: pa.record_batch(COLUMNS),
    "RecordBatchReader": lambda: pa.table(COLUMNS).to_reader(),
    "OnlyStream": OnlyStream,
    "datasets.Dataset": lambda: datasets.Dataset.from_dict(COLUMNS),
    "datasets.IterableDataset": lambda: datasets.Dataset.from_dict(COLUMNS).to_iterable_dataset(),
    "EvaluationDataset of 2 rows": lambda: EvaluationDataset([SingleTurnSample(row) for row in ROWS]),
    "DeepEvalDataset of 2 rows": lambda: DeepEvalDataset([LLMTestCase(*row.values()) for row in ROWS]),
    "tuple": lambda: tuple(ROWS),
    "numpy": lambda: {name: np.array([*values, None], dtype=object)[:2] for name, values in COLUMNS.items()},
    "generator": lambda: (row for row in ROWS),
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_each_kind_of_object_reads_alike(kind: str) -> None:
    """Lists, columns, frames and data sets of every library give the same samples."""
    assert list(read(OBJECTS[kind]())) == SAMPLES


@pytest.mark.parametrize("kind", [kind for kind in OBJECTS if " " in kind or "." in kind or kind == "OnlyStream"])
def test_the_name_says_what_was_read(kind: str) -> None:
    """The name of a reading is made for people: the kind of object and its size where that is known."""
    assert read(OBJECTS[kind]()).name == kind


@pytest.mark.parametrize("kind", [kind for kind in OBJECTS if kind not in ("generator", "RecordBatchReader")])
def test_what_is_in_memory_can_be_read_again(kind: str) -> None:
    """Everything but a stream can be gone through twice."""
    reading = read(OBJECTS[kind]())
    assert list(reading) == list(reading)


@pytest.mark.parametrize("kind", ["generator", "RecordBatchReader"])
def test_a_stream_is_read_once_and_says_so(kind: str) -> None:
    """A second pass over a stream is an error, never an empty result."""
    reading = read(OBJECTS[kind]())
    assert len(list(reading)) == 2
    with pytest.raises(BadData, match="can be read only once; put its rows in a list to read them again"):
        list(reading)


def test_samples_pass_through() -> None:
    """Samples are given on as they are, and their ids are checked."""
    samples = [Sample("a", "q"), Sample("b", response="r")]
    assert list(read(samples)) == samples
    with pytest.raises(BadRow, match="row 2: id 'a' was given to row 1 already"):
        list(read([samples[0], samples[0]]))


def test_one_row_alone_is_a_data_set() -> None:
    """A dict that holds single values is one row."""
    assert list(read({"query": "q", "contexts": ["c"]})) == [Sample("1", "q", None, (Chunk("c", "1"),))]


def test_columns_of_different_lengths_are_refused() -> None:
    """A dict of columns must have one value for each row in each column."""
    with pytest.raises(BadData, match="columns of different lengths: query 2, response 1; give each column one value"):
        read({"query": ["q", "r"], "response": ["a"]})


def test_missing_values_of_a_frame_are_absent() -> None:
    """What pandas calls missing is absent, and whole numbers that it turned to floats keep their look."""
    frame = pd.DataFrame({"query": ["q", "r"], "reference": [411, None], "response": ["a", None], "n": [1, pd.NA]})
    first, second = read(frame)
    assert first == Sample("1", "q", "a", None, ("411",), metadata={"n": 1})
    assert second == Sample("2", "r", "")


def test_an_empty_cell_among_responses_is_an_empty_answer_in_every_table(tmp_path: Path) -> None:
    """A frame, Parquet, a workbook and a data set read as the same sheet in CSV; a column without text is absent."""
    frame = pd.DataFrame({"query": ["q", "r", "s"], "response": [None, "a", None]})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_excel(tmp_path / "rows.xlsx", index=False)
    files = [tmp_path / f"rows{ending}" for ending in (".csv", ".parquet", ".xlsx")]
    for table in [*files, frame, pl.from_pandas(frame), datasets.Dataset.from_pandas(frame)]:
        assert [sample.response for sample in read(table)] == ["", "a", ""]
    assert [sample.response for sample in read(frame.drop(index=1))] == [None, None]
    numbers = pd.DataFrame({"query": ["q", "r"], "response": [42, None]})
    assert [sample.response for sample in read(numbers)] == ["42", ""]


def test_contexts_of_a_table_read_by_pandas() -> None:
    """Lists that became text in a CSV file are lists again."""
    frame = pd.DataFrame({"query": ["q"], "contexts": ["['c1' 'c2']"]})
    assert next(iter(read(frame))).contexts == (Chunk("c1", "1"), Chunk("c2", "2"))


def test_a_frame_with_two_columns_of_one_name_is_refused() -> None:
    """Which of two equal names is meant cannot be determined."""
    with pytest.raises(BadData, match=r"DataFrame: not a frame of rows .*give each column its own name"):
        list(read(pd.DataFrame([["q", "r"]], columns=["query", "query"])))


def test_a_data_set_of_splits_asks_for_one() -> None:
    """A DatasetDict is refused with the names of its splits."""
    splits = datasets.DatasetDict(test=datasets.Dataset.from_dict(COLUMNS))
    with pytest.raises(BadData, match=r"holds the splits 'test'; give one of them, such as data\['test'\]"):
        read(splits)


@pytest.mark.parametrize("data", [3, None, b"rows"])
def test_what_holds_no_rows_is_refused(data: Any) -> None:
    """A number, nothing, or bytes are no data."""
    with pytest.raises(BadData, match=f"{type(data).__name__}: not rows; give a path, a list of dicts, a frame"):
        read(data)


@pytest.mark.parametrize("data", [[], {}, {"query": []}, iter(()), pd.DataFrame({"query": []})])
def test_no_rows_at_all_are_refused(data: Any) -> None:
    """Empty data is an error, since nothing can be measured on it."""
    with pytest.raises(BadData, match=r"no rows|no column of a known name; found: none"):
        read(data)


def test_a_generator_is_not_read_ahead_of_need() -> None:
    """Only the first hundred rows are looked at before the first sample."""
    taken = 0

    def rows() -> Iterator[dict[str, str]]:
        nonlocal taken
        for taken in range(1, 1001):
            yield {"query": f"q{taken}"}

    reading = read(rows())
    assert next(iter(reading)).query == "q1"
    assert taken == 100


def test_reading_plain_rows_loads_no_library() -> None:
    """Importing the readers and reading a list loads neither numpy, narwhals, pandas, Polars, PyArrow nor datasets."""
    code = (
        "import sys; from ragauge.readers import read; list(read([{'query': 'q'}]))\n"
        "print(sorted({'numpy','narwhals','pandas','polars','pyarrow','datasets'} & set(sys.modules)))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(ragauge.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "[]"
