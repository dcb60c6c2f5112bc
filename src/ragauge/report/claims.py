"""The pieces that were judged, as a table: one row for each claim, chunk or text and what it was held against."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragauge.report.writing import write_csv
from ragauge.scores import Evidence, RunRecord, SampleRecord
from ragauge.types import Label

if TYPE_CHECKING:
    import pyarrow

#: The columns; for each the type that it has in Parquet. A span is `start` and `end`, both empty where it is not known.
COLUMNS = {
    "id": "string",
    "metrics": "list<string>",
    "field": "string",
    "start": "int64",
    "end": "int64",
    "text": "string",
    "against": "string",
    "label": "string",
    "value": "double",
    "probability": "double",
    "supported_by": "list<string>",
    "contradicted_by": "list<string>",
    "rationale": "string",
    "judgment": "string",
}

#: How many rows are written to Parquet at a time.
AT_ONCE = 10_000


def write_claims_csv(_: RunRecord, samples: Iterable[SampleRecord], path: Path, raw_csv: bool = False) -> None:
    """The table as CSV; lists are JSON."""
    rows = ({column: _flat(value) for column, value in row.items()} for row in claims(samples))
    write_csv(path, COLUMNS, rows, raw_csv)


def write_claims_parquet(_: RunRecord, samples: Iterable[SampleRecord], path: Path) -> None:
    """The table as Parquet, of the same types whatever the data."""
    import pyarrow
    import pyarrow.parquet

    schema = _schema()
    rows = claims(samples)
    with pyarrow.parquet.ParquetWriter(path, schema) as file:
        while block := list(islice(rows, AT_ONCE)):
            file.write_table(pyarrow.Table.from_pylist(block, schema))


def claims(samples: Iterable[SampleRecord]) -> Iterator[dict[str, Any]]:
    """One row for each judged piece of each sample, in the order of the evidence, with the metrics that go by it."""
    for record in samples:
        for piece, metrics in _judged(record).items():
            yield {
                "id": record.sample.id,
                "metrics": metrics,
                "field": piece.field,
                "start": piece.span[0] if piece.span else None,
                "end": piece.span[1] if piece.span else None,
                "text": piece.text,
                "against": piece.against,
                "label": piece.label.value if piece.label else None,
                "value": piece.value,
                "probability": piece.probability,
                "supported_by": _chunks(piece, Label.ENTAILED),
                "contradicted_by": _chunks(piece, Label.CONTRADICTED),
                "rationale": piece.rationale,
                "judgment": piece.judgment or None,
            }


def _judged(record: SampleRecord) -> dict[Evidence, list[str]]:
    """Each piece once, with the keys of the metrics whose evidence it is."""
    found: dict[Evidence, list[str]] = {}
    for key, score in {**record.scores, **record.counted}.items():
        for piece in dict.fromkeys(piece for need in score.evidence for piece in record.evidence.get(need, ())):
            found.setdefault(piece, []).append(key)
    return found


def _chunks(piece: Evidence, label: Label) -> list[str]:
    return [said.chunk for said in piece.chunks if said.label is label]


def _flat(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value


def _schema() -> pyarrow.Schema:
    import pyarrow

    types = {"list<string>": pyarrow.list_(pyarrow.string())}
    return pyarrow.schema([(column, types.get(kind, kind)) for column, kind in COLUMNS.items()])
