"""What is written in the canonical form reads back as the same samples."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragauge.readers import read
from ragauge.readers.columns import ALIASES
from ragauge.types import Chunk, Sample, ToolCall, Turn

Rows = list[dict[str, Any]]

texts = st.text(max_size=12)
worded = texts.filter(str.strip)
json_values = (
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | texts
)
metadata = st.dictionaries(texts, json_values | st.lists(json_values, max_size=2), max_size=2)
chunks = st.builds(Chunk, text=texts, id=worded, title=st.just("") | worded, metadata=metadata)

calls = st.builds(
    ToolCall,
    name=worded,
    arguments=metadata,
    id=st.just("") | worded,
    result=st.none() | texts,
    error=st.just("") | worded,
    effect=st.none() | st.booleans(),
)


def absent_or(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A value of the strategy, or None."""
    return st.none() | strategy


def some(strategy: st.SearchStrategy[Any], max_size: int = 2) -> st.SearchStrategy[Any]:
    """A few values of the strategy."""
    return st.lists(strategy, max_size=max_size).map(tuple)


asked = st.builds(Turn, role=st.sampled_from(["user", "system"]), text=texts)
answered = st.builds(Turn, role=st.just("assistant"), text=texts, contexts=absent_or(some(chunks)), calls=some(calls))
tools = st.fixed_dictionaries({"name": worded, "parameters": metadata})


@st.composite
def data_sets(draw: st.DrawFn) -> list[Sample]:
    """Samples with ids of their own; all with a query or all with a source, as one data set has."""
    subject = draw(st.sampled_from(["query", "source"]))
    fields: dict[str, st.SearchStrategy[Any]] = {
        subject: absent_or(worded),
        "response": absent_or(texts),
        "contexts": absent_or(some(chunks, 3)),
        "references": absent_or(st.lists(worded, max_size=3).map(tuple)),
        "reference_contexts": absent_or(some(chunks, 3)),
        "answers": absent_or(st.lists(st.lists(texts, max_size=2).map(tuple), max_size=2).map(tuple)),
        "answerable": absent_or(st.booleans()),
        "turns": absent_or(some(asked | answered, 3)),
        "tool_calls": absent_or(some(calls)),
        "reference_tool_calls": absent_or(some(calls)),
        "tools": absent_or(some(tools)),
        "system": absent_or(worded),
        "group": absent_or(worded),
        "metadata": metadata,
    }
    ids = draw(st.lists(worded, min_size=1, max_size=4, unique=True))
    return [Sample(id=name, **draw(st.fixed_dictionaries(fields))) for name in ids]


def _write_jsonl(rows: Rows, path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _write_json(rows: Rows, path: Path) -> None:
    path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")


def _write_csv(rows: Rows, path: Path) -> None:
    """Every cell as text, what is no text as JSON; a table cannot tell an absent response from an empty one."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        for row in rows:
            writer.writerow({k: v if v is None or isinstance(v, str) else json.dumps(v) for k, v in row.items()})


#: Objects whose keys differ from row to row.
_OBJECTS = ("metadata", "arguments", "parameters")


def _write_parquet(rows: Rows, path: Path) -> None:
    """Lists and objects as Arrow has them, but objects whose keys differ from row to row as JSON."""

    def flat(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: json.dumps(item) if name in _OBJECTS else flat(item) for name, item in value.items()}
        return [flat(item) for item in value] if isinstance(value, list | tuple) else value

    pa.parquet.write_table(pa.Table.from_pylist([flat(row) for row in rows]), path)


WRITERS: dict[str, Callable[[Rows, Path], None]] = {
    "jsonl": _write_jsonl,
    "json": _write_json,
    "csv": _write_csv,
    "parquet": _write_parquet,
}


def _canonical(samples: list[Sample]) -> Rows:
    """One dict a sample with the same keys in each; the subject that no sample has is no column."""
    rows = [{name: getattr(found, name) for name in Sample.__struct_fields__} for found in samples]
    subject = "source" if any(row["source"] for row in rows) else "query"
    columns = [
        name for name in Sample.__struct_fields__ if name in (subject, "response") or name not in ("query", "source")
    ]
    return [{name: msgspec.to_builtins(row[name]) for name in columns} for row in rows]


@pytest.mark.parametrize("extension", WRITERS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(samples=data_sets())
def test_canonical_rows_read_back_the_same(tmp_path: Path, extension: str, samples: list[Sample]) -> None:
    """Samples written as JSON Lines, JSON, CSV and Parquet come back equal; in tables a missing response is empty."""
    path = tmp_path / f"rows.{extension}"
    WRITERS[extension](_canonical(samples), path)
    found = list(read(path))
    if extension == "csv" or (extension == "parquet" and any(s.response is not None for s in samples)):
        samples = [msgspec.structs.replace(s, response=s.response or "") for s in samples]
    assert found == samples


@given(samples=data_sets())
def test_dicts_and_samples_read_alike(samples: list[Sample]) -> None:
    """Samples given as dicts are the samples themselves."""
    assert list(read(_canonical(samples))) == list(read(samples)) == samples


@given(cell=st.text("[]{}\"' ,\\ax1:\n", max_size=30))
def test_no_text_of_contexts_is_lost_or_breaks_the_reader(cell: str) -> None:
    """Whatever a contexts cell spells, it is chunks, absent, or a bad row, never a failure of another kind."""
    reading = read([{"query": "q", "contexts": cell}], skip_bad_rows=True)
    samples = list(reading)
    assert len(samples) + len(reading.bad_rows) == 1
    assert all((sample.contexts is None) == (not cell.strip()) for sample in samples)


anything = st.recursive(
    json_values | st.floats() | worded,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["text", "id", "x"]) | texts, inner),
    max_leaves=6,
)
known_names = st.sampled_from([name for names in ALIASES.values() for name in names])


@given(rows=st.lists(st.dictionaries(known_names | texts, anything, max_size=5), min_size=1, max_size=4))
def test_any_rows_are_samples_or_bad_rows(rows: Rows) -> None:
    """Whatever JSON stands under whatever names, each row is a sample that can be stored, or an error that says why."""
    reading = read([{"prompt": "q"}, *rows], skip_bad_rows=True)
    samples = list(reading)
    assert len(samples) + len(reading.bad_rows) == 1 + len(rows)
    assert msgspec.json.decode(msgspec.json.encode(samples), type=list[Sample]) == samples
