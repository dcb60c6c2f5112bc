from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from tests.report.judged import measured

import ragauge as rg
from ragauge.report.files import COLUMNS

LISTS = ("metrics", "supported_by", "contradicted_by")


@pytest.fixture(scope="module")
def run() -> rg.Run:
    """Four samples, of which one has no claim."""
    return measured(metrics="faithfulness,hallucination,pooled(faithfulness)")


def _parquet(run: rg.Run, folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pyarrow.parquet.read_table(run.save(folder / "claims.parquet")).to_pylist()
    return rows


def test_a_row_for_each_judged_piece(run: rg.Run, tmp_path: Path) -> None:
    """Every piece of evidence of every sample is one row with its verdict, span and metrics."""
    rows = _parquet(run, tmp_path)
    assert [(row["id"], row["text"], row["label"]) for row in rows] == [
        ("good", "a is b", "entailed"),
        ("good", "a is c", "entailed"),
        ("bad", "d is e", "entailed"),
        ("bad", "d is f 😀", "neutral"),
        ("bad", "d is g", "contradicted"),
        ("both", "h is i", "contradicted"),
    ]
    assert {tuple(row["metrics"]) for row in rows} == {("faithfulness", "hallucination", "pooled(faithfulness)")}
    assert (rows[5]["supported_by"], rows[5]["contradicted_by"]) == (["1"], ["2"])
    samples = {scores.sample.id: scores.sample.response or "" for scores in run.scores}
    assert all(samples[row["id"]][row["start"] : row["end"]] == row["text"] for row in rows)
    assert run.store.find([row["judgment"] for row in rows]).keys() == {row["judgment"] for row in rows}


def test_csv_and_parquet_are_equal(run: rg.Run, tmp_path: Path) -> None:
    """Both have the same rows; in CSV lists are JSON and missing cells are empty."""
    path = run.save(tmp_path / "run.claims.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(COLUMNS)
    for flat, row in zip(rows, _parquet(run, tmp_path), strict=True):
        assert {column: json.loads(flat[column]) for column in LISTS} == {column: row[column] for column in LISTS}
        rest = [column for column in COLUMNS if column not in LISTS]
        assert [flat[column] for column in rest] == ["" if row[column] is None else str(row[column]) for column in rest]


def test_column_types_do_not_depend_on_the_data(run: rg.Run, tmp_path: Path) -> None:
    """A run without evidence gives a table without rows, with the usual types."""
    empty = measured(metrics="exact_match", data=[{"response": "a", "references": ["a"]}])
    tables = [pyarrow.parquet.read_table(one.save(tmp_path / "x.claims.parquet")) for one in (run, empty)]
    assert tables[0].schema == tables[1].schema
    assert [table.num_rows for table in tables] == [6, 0]
    assert pyarrow.types.is_floating(tables[1].schema.field("probability").type)


def test_the_name_decides_which_table(run: rg.Run, tmp_path: Path) -> None:
    """`claims.csv` and `*.claims.csv` are tables of claims; other .csv files are tables of scores."""
    heads = {
        name: run.save(tmp_path / name).read_text(encoding="utf-8").partition("\n")[0].split(",")[1]
        for name in ("claims.csv", "a.claims.csv", "A.CLAIMS.CSV", "insurance_claims.csv", "claims.v2.csv")
    }
    assert heads == {
        "claims.csv": "metrics",
        "a.claims.csv": "metrics",
        "A.CLAIMS.CSV": "metrics",
        "insurance_claims.csv": "query",
        "claims.v2.csv": "query",
    }
    with pytest.raises(rg.errors.UsageError, match="cannot write 'csv': unknown ending"):
        run.save(tmp_path / "csv")
