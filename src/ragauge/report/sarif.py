"""A run as SARIF 2.1.0: one result for each claim of a response that does not hold, with its place."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ragauge.report.faults import Fault, fault_words, faults
from ragauge.report.places import Line, is_file, lines
from ragauge.report.wording import flat, headline
from ragauge.scores import RunRecord, SampleRecord
from ragauge.types import Sample, Span

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

_RULES: list[dict[str, Any]] = [
    {
        "id": "contradicted",
        "name": "ContradictedClaim",
        "shortDescription": {"text": "The response claims what its contexts, or a reference, contradict."},
        "defaultConfiguration": {"level": "error"},
    },
    {
        "id": "unsupported",
        "name": "UnsupportedClaim",
        "shortDescription": {"text": "The response claims what neither its contexts nor what it cites support."},
        "defaultConfiguration": {"level": "warning"},
    },
]
_LEVELS = {rule["id"]: rule["defaultConfiguration"]["level"] for rule in _RULES}
_POSITIONS = {rule["id"]: i for i, rule in enumerate(_RULES)}


def write_sarif(run: RunRecord, samples: Iterable[SampleRecord], path: Path) -> None:
    """A log of one run. Columns and offsets count Unicode code points, as spans do.

    A claim is shown in the file that was read, on its line, where that is known; otherwise in the text of the response,
    which the log then holds.
    """
    with path.open("w", encoding="utf-8") as file:
        json.dump(_log(run, samples), file, ensure_ascii=False, indent=1)


def _log(run: RunRecord, samples: Iterable[SampleRecord]) -> dict[str, Any]:
    artifacts = _Artifacts(run)
    results = [
        result
        for record, line in zip(samples, lines(run), strict=False)
        for result in _results(record, artifacts, line)
    ]
    driver = {"name": "ragauge", "version": run.version, "semanticVersion": run.version, "rules": _RULES}
    about = {
        "tool": {"driver": driver},
        "automationDetails": {
            "id": flat(f"ragauge/{run.name or run.data}/{run.id}"),
            "description": {"text": flat(headline(run))},
        },
        "invocations": [{"executionSuccessful": run.status == "finished"}],
        "columnKind": "unicodeCodePoints",
        "artifacts": artifacts.listed,
        "results": results,
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [about]}


def _results(record: SampleRecord, artifacts: _Artifacts, line: Line | None) -> Iterator[dict[str, Any]]:
    seen: Counter[str] = Counter()
    for fault in faults(record):
        mark = _fingerprint(record.sample.id, fault)
        seen[mark] += 1
        yield {
            "ruleId": fault.kind,
            "ruleIndex": _POSITIONS[fault.kind],
            "level": _LEVELS[fault.kind],
            "message": {"text": fault_words(fault, record)},
            "locations": [artifacts.location(record.sample, fault, line)],
            "partialFingerprints": {"primaryLocationLineHash": f"{mark}:{seen[mark]}"},
            "properties": _properties(record.sample, fault),
        }


def _fingerprint(sample: str, fault: Fault) -> str:
    """The same in every run for the same claim of the same sample.

    It goes under the name by which code scanning knows alerts again, which it would else make of the line alone, so
    that of several claims on a line one would be shown.
    """
    parts = (sample, fault.kind, fault.piece.text)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _properties(sample: Sample, fault: Fault) -> dict[str, Any]:
    piece = fault.piece
    known = {"span": piece.span, "probability": piece.probability, "judgment": piece.judgment or None}
    return {"sample": sample.id, "against": piece.against, **{k: v for k, v in known.items() if v is not None}}


class _Artifacts:
    """The texts that results point at: the file that was read, and responses that have no place in it."""

    def __init__(self, run: RunRecord) -> None:
        self.listed: list[dict[str, Any]] = []
        self._positions: dict[str, int] = {}
        path = Path(run.data)
        self._data = _uri(path) if is_file(path) else None

    def location(self, sample: Sample, fault: Fault, line: Line | None) -> dict[str, Any]:
        """Where the claim of a fault stands."""
        response, span = sample.response or "", fault.piece.span
        columns = line.columns(response, span) if line else None
        if self._data and line and columns:
            region = _region(line.number, columns, line.number)
            uri = self._add(self._data)
        else:
            uri = self._add(f"samples/{quote(sample.id, safe='')}/response.txt", response)
            region = _region_in(response, span or (0, len(response)))
        region["snippet"] = {"text": response[slice(*span)] if span else response}
        name = flat(sample.id)
        return {
            "physicalLocation": {"artifactLocation": uri, "region": region},
            "logicalLocations": [{"name": name, "kind": "sample", "fullyQualifiedName": f"{name}.response"}],
        }

    def _add(self, uri: str, text: str | None = None) -> dict[str, Any]:
        if uri not in self._positions:
            self._positions[uri] = len(self.listed)
            self.listed.append({"location": {"uri": uri}, **({} if text is None else {"contents": {"text": text}})})
        return {"uri": uri, "index": self._positions[uri]}


def _uri(path: Path) -> str:
    """Relative to the folder of the call where the file lies in it, as code scanning wants it."""
    whole, here = path.resolve(), Path.cwd()
    return quote(whole.relative_to(here).as_posix()) if whole.is_relative_to(here) else whole.as_uri()


def _region(first: int, columns: tuple[int, int], last: int) -> dict[str, Any]:
    return {"startLine": first, "startColumn": columns[0], "endLine": last, "endColumn": columns[1]}


def _region_in(text: str, span: Span) -> dict[str, Any]:
    """The region of a span in the lines of a text."""
    first, last = (text.count("\n", 0, at) + 1 for at in span)
    begin, end = (at - text.rfind("\n", 0, at) for at in span)
    return {"charOffset": span[0], "charLength": span[1] - span[0], **_region(first, (begin, end), last)}
