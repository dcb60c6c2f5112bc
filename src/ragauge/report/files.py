"""Writing runs and tables to files, in the format that the ending of the name says."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from stat import S_IMODE
from typing import TYPE_CHECKING, Any

from ragauge.errors import MissingExtra, UsageError
from ragauge.host import make_file, make_folder, optional
from ragauge.report.ci import write_junit, write_sarif
from ragauge.report.document import head_document, sample_document, write_html
from ragauge.report.otlp import write_otlp
from ragauge.report.sections import Section
from ragauge.report.text import run_markdown
from ragauge.report.wording import by_reason
from ragauge.scores import Evidence, RunRecord, SampleRecord
from ragauge.types import Label

if TYPE_CHECKING:
    import pandas
    import pyarrow

Samples = Iterable[SampleRecord]

#: The beginning of a cell that a spreadsheet takes for a formula.
_FORMULA = re.compile("[=+@\t\r\n-]")

#: The columns of judged pieces, with their types in Parquet. `start` and `end` are the span; empty if unknown.
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

#: The rows that are converted to Parquet at a time.
_BLOCK_ROWS = 10_000

#: The columns of the flat table that hold a sample's own fields.
_TEXTS = ("id", "query", "response")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path; its file then replaces `path`. Only the owner can read a new file. Raises UsageError."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        make_folder(path.parent)
        try:
            make_file(part)
            yield part
            if path.exists():
                part.chmod(S_IMODE(path.stat().st_mode))
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}; choose another place") from error


def write_csv(path: Path, columns: Iterable[str], rows: Iterable[Mapping[str, Any]], raw: bool = False) -> None:
    """Write rows, each with its values by column, with a header as CSV; lists and dicts are JSON.

    raw: whether texts that a spreadsheet takes for formulas go without an apostrophe before them.
    """
    names = list(columns)

    def shown(cell: Any) -> Any:
        if isinstance(cell, list | dict):
            return json.dumps(cell, ensure_ascii=False)
        is_formula = isinstance(cell, str) and _FORMULA.match(cell)
        return f"'{cell}" if is_formula and not raw else cell

    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(map(shown, names))
        table.writerows([shown(row[name]) for name in names] for row in rows)


def save_text(path: Path, forms: Mapping[str, Callable[[], str]]) -> Path:
    """Write a text to `path`, made by the function for its ending. Raises UsageError for an ending not in `forms`."""
    check_ending(path, forms)
    text = forms[path.suffix.lower()]()
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")
    return path


def check_place(path: Path, inputs: Iterable[str | Path | None] = ()) -> None:
    """Raise UsageError if `path` cannot be written, or is one of the `inputs`, which are still to be read."""
    if any(path.resolve() == Path(name).resolve() for name in inputs if name):
        raise UsageError(f"{path} is read by this command; choose another file to write")
    folder = next(parent for parent in path.resolve().parents if parent.exists())
    if path.is_dir() or not os.access(folder, os.W_OK) or not folder.is_dir():
        raise UsageError(f"cannot write {path}: choose another place")


def check_ending(path: Path, endings: Iterable[str]) -> None:
    """Raise UsageError unless the name of a file ends in one of the `endings`."""
    if path.suffix.lower() not in endings:
        raise UsageError(f"cannot write {path.name!r}: unknown ending; use one of {' '.join(endings)}")


def _claims_csv(_: RunRecord, samples: Samples, path: Path, raw_csv: bool = False) -> None:
    write_csv(path, COLUMNS, claims(samples), raw_csv)


def _claims_parquet(_: RunRecord, samples: Samples, path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    schema, claim_rows = claims_schema(), claims(samples)
    with pyarrow.parquet.ParquetWriter(path, schema) as file:
        while block := list(islice(claim_rows, _BLOCK_ROWS)):
            file.write_table(pyarrow.Table.from_pylist(block, schema))


def claims_schema() -> pyarrow.Schema:
    """The columns of judged pieces in Arrow."""
    import pyarrow

    types = {"list<string>": pyarrow.list_(pyarrow.string())}
    return pyarrow.schema([(column, types.get(name, name)) for column, name in COLUMNS.items()])


def claims(samples: Samples) -> Iterator[dict[str, Any]]:
    """One row for each judged piece of each sample, in the order of the evidence, with the metrics that count it."""
    for record in samples:
        metrics_of: dict[Evidence, list[str]] = {}
        for key, score in {**record.scores, **record.counted}.items():
            for piece in dict.fromkeys(piece for need in score.evidence for piece in record.evidence.get(need, ())):
                metrics_of.setdefault(piece, []).append(key)
        for piece, metrics in metrics_of.items():
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
                "supported_by": [chunk.chunk for chunk in piece.chunks if chunk.label is Label.ENTAILED],
                "contradicted_by": [chunk.chunk for chunk in piece.chunks if chunk.label is Label.CONTRADICTED],
                "rationale": piece.rationale,
                "judgment": piece.judgment or None,
            }


def save(
    run: RunRecord,
    samples: Samples,
    path: Path,
    raw_csv: bool = False,
    sections: Callable[[], Sequence[Section]] = tuple,
) -> Path:
    """Write a run to a file in the format of its ending; an existing file is replaced at the end.

    raw_csv: leave texts in CSV unchanged. sections: returns the sections of a .json, .md or .html file. Raises
    UsageError where the file cannot be written or has an ending not in WRITERS, MissingExtra for .parquet without
    pyarrow.
    """
    write = writer_of(path)
    if raw_csv and path.suffix.lower() == ".csv":
        write = partial(write, raw_csv=True)
    if write in (_json, _markdown, write_html):
        write = partial(write, sections=sections())
    with replacing(path) as part:
        write(run, samples, part)
    return path


def check_output(path: Path, inputs: Iterable[str | Path | None] = ()) -> None:
    """Raise UsageError if `path` cannot be written, has an unknown ending, or is one of the `inputs`."""
    writer_of(path)
    check_place(path, inputs)


def writer_of(path: Path) -> Callable[..., None]:
    """The writer for the longest known ending of `path`; "claims.csv" ends in ".claims.csv". Raises as `save`."""
    check_ending(path, WRITERS)
    ending = max((ending for ending in WRITERS if f".{path.name.lower()}".endswith(ending)), key=len)
    if ending.endswith(".parquet") and find_spec("pyarrow") is None:
        raise MissingExtra("writing parquet", "arrow")
    return WRITERS[ending]


def _json(run: RunRecord, samples: Samples, path: Path, sections: Sequence[Section] = ()) -> None:
    head = json.dumps(head_document(run, sections), ensure_ascii=False).removesuffix("}")
    with path.open("w", encoding="utf-8") as file:
        file.write(head + ', "samples": [')
        for i, record in enumerate(samples):
            separator = ",\n" if i else "\n"
            file.write(separator + json.dumps(sample_document(record), ensure_ascii=False))
        file.write("\n]}\n")


def _jsonl(_: RunRecord, samples: Samples, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for record in samples:
            file.write(json.dumps(sample_document(record), ensure_ascii=False) + "\n")


def _markdown(run: RunRecord, samples: Samples, path: Path, sections: Sequence[Section] = ()) -> None:
    path.write_text(run_markdown(run, samples, sections), encoding="utf-8")


def _csv(run: RunRecord, samples: Samples, path: Path, raw_csv: bool = False) -> None:
    write_csv(path, columns(run), rows(run, samples), raw_csv)


def _parquet(run: RunRecord, samples: Samples, path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    records = list(rows(run, samples))
    for column in _metadata(run):
        types = {type(row[column]) for row in records} - {type(None)}
        if not any(types <= allowed for allowed in ({bool}, {str}, {int, float})):  # a column of Parquet has one type
            for row in records:
                row[column] = None if row[column] is None else json.dumps(row[column], ensure_ascii=False)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(records), path)


WRITERS: dict[str, Callable[..., None]] = {
    ".json": _json,
    ".jsonl": _jsonl,
    ".csv": _csv,
    ".parquet": _parquet,
    ".md": _markdown,
    ".html": write_html,
    ".xml": write_junit,
    ".sarif": write_sarif,
    ".otlp.jsonl": write_otlp,
    ".claims.csv": _claims_csv,
    ".claims.parquet": _claims_parquet,
}


def columns(run: RunRecord) -> list[str]:
    """The columns of the flat table; `remarks` says why values are missing."""
    return [*_TEXTS, *_group(run), *_metadata(run), *_metrics(run), "remarks"]


def rows(run: RunRecord, samples: Samples) -> Iterator[dict[str, Any]]:
    """One flat row per sample: its values by metric, None if undefined or failed."""
    for record in samples:
        scores = {**record.scores, **record.counted}
        reasons = {key: scores[key].undefined or scores[key].failed for key in run.estimates if key in scores}
        missing = {key: reason for key, reason in reasons.items() if reason}
        yield {
            "id": record.sample.id,
            "query": record.sample.query,
            "response": record.sample.response,
            **dict.fromkeys(_group(run), record.sample.group),
            **{name: record.sample.metadata.get(column) for name, column in _metadata(run).items()},
            **{key: record.scores[key].value if key in record.scores else None for key in _metrics(run)},
            "remarks": "; ".join(by_reason(missing)),
        }


def _metadata(run: RunRecord) -> dict[str, str]:
    """The data's other columns, by their names in the table; "metadata." is put before names that it already has."""
    own = {*_TEXTS, *_group(run), *run.estimates, "remarks"}
    return {f"metadata.{column}" if column in own else column: column for column in run.columns}


def _group(run: RunRecord) -> list[str]:
    """The name of the column that groups samples, if they have groups and the table has no such column anyway."""
    return [run.group_column] if run.groups and run.group_column not in {*_TEXTS, *run.estimates} else []


def _metrics(run: RunRecord) -> list[str]:
    """The keys of the metrics that have a value for each sample."""
    return [key for key, estimate in run.estimates.items() if estimate.over == "samples"]


def run_frame(run: RunRecord, samples: Samples) -> pandas.DataFrame:
    """One row per sample, as `rows` gives them. Raises MissingExtra if pandas is not installed."""
    frame = optional("to_pandas()", "pandas", "pandas").DataFrame(list(rows(run, samples)), columns=columns(run))
    return frame.astype(dict.fromkeys(_metrics(run), float))
