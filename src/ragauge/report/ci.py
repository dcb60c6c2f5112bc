"""A run for other tools: JUnit XML, SARIF 2.1.0 with the location of each unsupported claim."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from ragauge.report.explain import estimate_numbers, failing, unsupported_claim_words, unsupported_claims
from ragauge.report.wording import caution, flat, footnotes, gate_words, headline, one_line, printable, shortfalls
from ragauge.scores import Estimate, RunRecord, SampleRecord
from ragauge.types import Sample, Span

#: Characters that XML 1.0 cannot hold, escaped or not.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(run: RunRecord, samples: Iterable[SampleRecord], path: Path) -> None:
    """Write a test for the run itself, and one for each value: failed by its gate, skipped if nothing counts.

    Samples are no tests: without a gate none is right or wrong, and a mean that is good enough leaves some below it.
    """
    name, seconds = _clean(flat(run.name or run.data)), f"{run.seconds:.3f}"
    suite = Element("testsuite", {"name": name, "time": seconds})
    if run.started:
        suite.set("timestamp", datetime.fromisoformat(run.started).replace(tzinfo=None).isoformat(timespec="seconds"))
    judges = ", ".join(sorted({str(judge) for judge in run.judges.values()}))
    about = {"run": run.id, "data": run.data, "data_hash": run.data_hash, "judge": judges, "ragauge": run.version}
    _junit_properties(suite, about)
    named = {"classname": f"ragauge.{name.replace('.', '_')}"}  # dashboards take dots for packages
    whole = SubElement(suite, "testcase", {**named, "name": "run", "time": seconds})
    if faults := shortfalls(run):
        _outcome(whole, "error", "\n".join(map(flat, faults)))
    SubElement(whole, "system-out").text = _clean(
        "\n".join(map(flat, [headline(run), *footnotes(run), caution(run)])).rstrip()
    )
    failures = {gate.key: text for gate, text in reversed(failing(run, run.gates, samples))}
    estimates = {**run.estimates, **{gate.key: gate.estimate(run) for gate in run.gates}}
    for key in dict.fromkeys([*estimates, *run.left_out]):
        case = SubElement(suite, "testcase", {**named, "name": _clean(key)})
        _measured(run, case, key, estimates.get(key), failures.get(key))
    suite.set("tests", str(len(suite.findall("testcase"))))
    for plural, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(plural, str(len(suite.findall(f"testcase/{kind}"))))
    root = Element("testsuites", {key: suite.get(key, "") for key in ("name", "tests", "failures", "errors", "time")})
    root.append(suite)
    indent(root)
    ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _measured(run: RunRecord, case: Element, metric: str, estimate: Estimate | None, fault: str | None) -> None:
    """The outcome of the test of one value, of all samples or of a slice."""
    gates = ", ".join(gate_words(run, gate) for gate in run.gates if gate.key == metric)
    _junit_properties(case, {**(estimate_numbers(estimate) if estimate else {}), **({"gates": gates} if gates else {})})
    if fault:
        _outcome(case, "failure", fault)
    elif estimate is None:
        _outcome(case, "skipped", flat(run.left_out[metric]))
    elif not estimate.n:
        failed = f"every sample failed, the first because: {run.failures.get(metric, '')}"
        nothing = f"nothing to count: {run.undefined.get(metric, 'no sample was measured')}"
        _outcome(case, *(("error", flat(failed)) if estimate.failed else ("skipped", flat(nothing))))


def _junit_properties(element: Element, properties: Mapping[str, object]) -> None:
    listed = SubElement(element, "properties")
    for name, value in properties.items():
        SubElement(listed, "property", {"name": name, "value": _clean(flat(str(value)))})


def _outcome(case: Element, kind: str, text: str) -> None:
    """Add the outcome of a test: its first line as the message, all of it as the text."""
    first, _, rest = _clean(text).partition("\n")
    SubElement(case, kind, {"message": first, "type": kind}).text = f"{first}\n{rest}" if rest else first


def _clean(text: str) -> str:
    """Text that XML can hold, without commands to a dashboard or CI runner that prints it."""
    return "\n".join(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", one_line(line)) for line in text.split("\n"))


_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
#: One character within a JSON string.
_CHARACTER = re.compile(r"\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|\\u\w{4}|\\.|.")


class SourceLine(NamedTuple):
    """A line of a file. number: counts from 1."""

    number: int
    text: str

    def columns(self, response: str, span: Span | None) -> tuple[int, int] | None:
        """Where the span of a response (or all of it) begins and ends in the line, from 1; None if it is not there."""
        for string in _STRING.finditer(self.text):
            begin, end = string.start() + 1, string.end() - 1
            starts = [match.start() for match in _CHARACTER.finditer(self.text, begin, end)]
            if len(starts) == len(response) and _decoded(string[0]) == response:
                first, last = span or (0, len(response))
                return [*starts, end][first] + 1, [*starts, end][last] + 1
        return None


def _decoded(string: str) -> str | None:
    try:
        return str(json.loads(string))
    except ValueError:
        return None


def lines(run: RunRecord) -> Iterator[SourceLine | None]:
    """The line of each sample, endlessly; None if unknown: known for JSON Lines still there, if no row was skipped."""
    path = Path(run.data)
    if path.suffix.lower() in (".jsonl", ".ndjson") and not run.bad_rows and is_file(path):
        with path.open(encoding="utf-8-sig", errors="replace", newline="\n") as file:
            for number, text in enumerate(file, start=1):
                if not text.isspace():
                    yield SourceLine(number, text)
    yield from repeat(None)


def is_file(path: Path) -> bool:
    """Whether there is such a file; False for a text that is too long or not valid as a path."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

#: kind -> its name in code scanning, its meaning and its level.
_RULES = {
    "contradicted": (
        "ContradictedClaim",
        "The response claims what its contexts, its source, calls of tools, or a reference contradict.",
        "error",
    ),
    "unsupported": (
        "UnsupportedClaim",
        "The response claims what its contexts, what it cites, its source, or calls of tools do not support.",
        "warning",
    ),
}


def write_sarif(run: RunRecord, samples: Iterable[SampleRecord], path: Path) -> None:
    """Write a log of one run. Columns and offsets count Unicode code points, as spans do.

    A claim is located on its line of the file that was read, if known, else in the response, which the log then holds.
    """
    with path.open("w", encoding="utf-8") as file:
        json.dump(_log(run, samples), file, ensure_ascii=False, indent=1)


def _log(run: RunRecord, samples: Iterable[SampleRecord]) -> dict[str, Any]:
    path = Path(run.data)
    data = None
    if is_file(path):  # code scanning requires addresses relative to the working directory
        whole, here = path.resolve(), Path.cwd()
        data = quote(whole.relative_to(here).as_posix()) if whole.is_relative_to(here) else whole.as_uri()
    artifacts: dict[str, tuple[int, dict[str, Any]]] = {}
    results = []
    for record, line in zip(samples, lines(run), strict=False):
        sample, seen = record.sample, Counter[str]()
        for kind, piece in unsupported_claims(record):
            # code scanning's own fingerprint is of the line, which several claims share
            parts = f"{sample.id}\0{kind}\0{piece.text}".encode("utf-8", "surrogatepass")
            mark = hashlib.sha256(parts).hexdigest()[:16]
            seen[mark] += 1
            fields = {"span": piece.span, "probability": piece.probability, "judgment": piece.judgment or None}
            filled = {name: value for name, value in fields.items() if value is not None}
            result = {
                "ruleId": kind,
                "ruleIndex": list(_RULES).index(kind),
                "level": _RULES[kind][-1],
                "message": {"text": unsupported_claim_words(kind, piece, record)},
                "locations": [_location(sample, piece.span, data, line, artifacts)],
                "partialFingerprints": {"primaryLocationLineHash": f"{mark}:{seen[mark]}"},
                "properties": {"sample": flat(sample.id), "against": piece.against, **filled},
            }
            results.append(result)
    rules = [
        {"id": id, "name": name, "shortDescription": {"text": text}, "defaultConfiguration": {"level": level}}
        for id, (name, text, level) in _RULES.items()
    ]
    driver = {"name": "ragauge", "version": run.version, "semanticVersion": run.version, "rules": rules}
    about = {
        "tool": {"driver": driver},
        "automationDetails": {
            "id": flat(f"ragauge/{run.name or run.data}/{run.id}"),
            "description": {"text": flat(headline(run))},
        },
        "invocations": [{"executionSuccessful": run.status == "finished"}],
        "columnKind": "unicodeCodePoints",
        "artifacts": [artifact for _, artifact in artifacts.values()],
        "results": results,
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [about]}


def _location(
    sample: Sample,
    span: Span | None,
    data: str | None,
    line: SourceLine | None,
    artifacts: dict[str, tuple[int, dict[str, Any]]],
) -> dict[str, Any]:
    """Where a claim is: in the file at the URI `data`, or in the response, which is then added to the artifacts."""
    response = sample.response or ""
    columns = line.columns(response, span) if line else None
    region: dict[str, Any] = {}
    if data and line and columns:
        uri, contents = data, {}
        places = [(line.number, column) for column in columns]
    else:
        uri, contents = f"samples/{quote(sample.id, safe='')}/response.txt", {"contents": {"text": _shown(response)}}
        start, end = span or (0, len(response))
        region = {"charOffset": start, "charLength": end - start}
        places = [
            (response.count("\n", 0, offset) + 1, offset - response.rfind("\n", 0, offset)) for offset in (start, end)
        ]
    for side, (row, column) in zip(("start", "end"), places, strict=True):
        region |= {f"{side}Line": row, f"{side}Column": column}
    region["snippet"] = {"text": _shown(response[slice(*span)] if span else response)}
    index, _ = artifacts.setdefault(uri, (len(artifacts), {"location": {"uri": uri}, **contents}))
    name = flat(sample.id)
    return {
        "physicalLocation": {"artifactLocation": {"uri": uri, "index": index}, "region": region},
        "logicalLocations": [{"name": name, "kind": "sample", "fullyQualifiedName": f"{name}.response"}],
    }


def _shown(text: str) -> str:
    """A text of the same length and lines without characters that steer what shows it."""
    return "\r\n".join(map(printable, text.split("\r\n")))
