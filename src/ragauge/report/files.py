"""Writing a run to a file, in the form its ending asks for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ragauge.errors import MissingExtra
from ragauge.report.claims import write_claims_csv, write_claims_parquet
from ragauge.report.document import head_document, sample_document
from ragauge.report.html import write_html
from ragauge.report.junit import write_junit
from ragauge.report.markdown import run_markdown
from ragauge.report.sarif import write_sarif
from ragauge.report.wording import by_reason
from ragauge.report.writing import check_ending, check_place, replacing, write_csv
from ragauge.scores import RunRecord, SampleRecord

Samples = Iterable[SampleRecord]


def save(run: RunRecord, samples: Samples, path: Path, raw_csv: bool = False) -> Path:
    """Write the run to `path`; an existing file is replaced once all is written.

    .json: the whole document. .jsonl: a line per sample. .csv, .parquet: a row per sample, a column per metric.
    .claims.csv, .claims.parquet: a row per judged piece. .md: a report to read. .html: a page to look at.
    .xml: JUnit, a test per value, which gates pass or fail. .sarif: a result per claim that does not hold.
    raw_csv: leave texts in CSV as they are, though a spreadsheet would take some for formulas.
    Raises UsageError for another ending, or where the file cannot be written.
    """
    write = writer_of(path)
    if raw_csv and path.suffix.lower() == ".csv":
        write = partial(write, raw_csv=True)
    with replacing(path) as part:
        write(run, samples, part)
    return path


def check_output(path: Path, inputs: Iterable[str | Path] = ()) -> None:
    """Raise UsageError where `path` cannot be written, has an unknown ending, or is one of the `inputs`."""
    writer_of(path)
    check_place(path, inputs)


def writer_of(path: Path) -> Callable[..., None]:
    """What writes files with the ending of `path`, the longest that it has; a file called claims.csv is one of claims.

    Raises UsageError where there is no such form.
    """
    check_ending(path, WRITERS)
    ending = max((ending for ending in WRITERS if f".{path.name.lower()}".endswith(ending)), key=len)
    if ending.endswith(".parquet") and find_spec("pyarrow") is None:
        raise MissingExtra("writing parquet", "arrow")
    return WRITERS[ending]


def _json(run: RunRecord, samples: Samples, path: Path) -> None:
    head = json.dumps(head_document(run), ensure_ascii=False)[:-1]
    with path.open("w", encoding="utf-8") as file:
        file.write(head + ', "samples": [')
        for i, record in enumerate(samples):
            file.write(("," if i else "") + "\n" + json.dumps(sample_document(record), ensure_ascii=False))
        file.write("\n]}\n")


def _jsonl(_: RunRecord, samples: Samples, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for record in samples:
            file.write(json.dumps(sample_document(record), ensure_ascii=False) + "\n")


def _csv(run: RunRecord, samples: Samples, path: Path, raw_csv: bool = False) -> None:
    write_csv(path, columns(run), rows(run, samples), raw_csv)


def _parquet(run: RunRecord, samples: Samples, path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows(run, samples))), path)


def _markdown(run: RunRecord, samples: Samples, path: Path) -> None:
    path.write_text(run_markdown(run, samples), encoding="utf-8")


WRITERS: dict[str, Callable[..., None]] = {
    ".json": _json,
    ".jsonl": _jsonl,
    ".csv": _csv,
    ".parquet": _parquet,
    ".md": _markdown,
    ".html": write_html,
    ".xml": write_junit,
    ".sarif": write_sarif,
    ".claims.csv": write_claims_csv,
    ".claims.parquet": write_claims_parquet,
}


def columns(run: RunRecord) -> list[str]:
    """The columns of the flat table; `remarks` says why a value is missing."""
    return ["id", "query", "response", *_metrics(run), "remarks"]


def rows(run: RunRecord, samples: Samples) -> Iterator[dict[str, Any]]:
    """One flat row per sample: its values by metric, None where undefined or failed."""
    for record in samples:
        scores = {key: record.scores[key] for key in _metrics(run) if key in record.scores}
        yield {
            "id": record.sample.id,
            "query": record.sample.query,
            "response": record.sample.response,
            **{key: scores[key].value if key in scores else None for key in _metrics(run)},
            "remarks": "; ".join(by_reason(_missing(run, record))),
        }


def _missing(run: RunRecord, record: SampleRecord) -> dict[str, str]:
    """Why the sample has no value of a metric, or adds nothing to one over the data set."""
    scores = {**record.scores, **record.counted}
    reasons = {key: scores[key].undefined or scores[key].failed for key in run.estimates if key in scores}
    return {key: reason for key, reason in reasons.items() if reason}


def _metrics(run: RunRecord) -> list[str]:
    return [key for key, estimate in run.estimates.items() if estimate.over == "samples"]
