"""A run for other tools: JUnit XML, SARIF 2.1.0 with the location of each unsupported claim, OpenTelemetry events."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from ragauge.errors import UsageError
from ragauge.host import optional
from ragauge.report.explain import (
    UnsupportedClaim,
    estimate_numbers,
    explain,
    failing,
    unsupported_claim_words,
    unsupported_claims,
)
from ragauge.report.wording import caution, flat, footnotes, headline, one_line
from ragauge.scores import Estimate, RunRecord, SampleRecord
from ragauge.types import Sample, Span

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider

#: Characters that XML 1.0 cannot hold, escaped or not.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(run: RunRecord, samples: Iterable[SampleRecord], path: Path) -> None:
    """Write a suite with a test for the run itself, and one for each value that was measured or left out.

    A test fails if a gate on its metric does, with the worst samples and their evidence; it is an error if every sample
    failed, and skipped if there is nothing to count. Samples are no tests: without a gate none is right or wrong, and a
    mean that is good enough leaves some below it.
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
    if run.status != "finished":
        _outcome(whole, "error", flat(footnotes(run)[0]))
    SubElement(whole, "system-out").text = _clean(
        "\n".join(map(flat, [headline(run), *footnotes(run), caution(run)])).rstrip()
    )
    faults = {gate.key: text for gate, text in reversed(failing(run, run.gates, samples))}
    estimates = {**run.estimates, **{gate.key: gate.estimate(run) for gate in run.gates}}
    for key in dict.fromkeys([*estimates, *run.left_out]):
        case = SubElement(suite, "testcase", {**named, "name": _clean(key)})
        _measured(run, case, key, estimates.get(key), faults.get(key))
    suite.set("tests", str(len(suite.findall("testcase"))))
    for plural, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(plural, str(len(suite.findall(f"testcase/{kind}"))))
    root = Element("testsuites", {key: suite.get(key, "") for key in ("name", "tests", "failures", "errors", "time")})
    root.append(suite)
    indent(root)
    ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _measured(run: RunRecord, case: Element, metric: str, estimate: Estimate | None, fault: str | None) -> None:
    """The outcome of the test of one value, of all samples or of a slice."""
    gates = ", ".join(str(gate) for gate in run.gates if gate.key == metric)
    _junit_properties(case, {**(estimate_numbers(estimate) if estimate else {}), **({"gates": gates} if gates else {})})
    if fault:
        _outcome(case, "failure", fault)
    elif estimate is None:
        _outcome(case, "skipped", flat(run.left_out[metric]))
    elif not estimate.n and estimate.failed:
        _outcome(case, "error", flat(f"every sample failed, the first because: {run.failures.get(metric, '')}"))
    elif not estimate.n:
        _outcome(case, "skipped", flat(f"nothing to count: {run.undefined.get(metric, 'no sample was measured')}"))


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
        """Where the span of the response begins and ends in the line, counted from 1, the end exclusive.

        Without a span, of the whole response; None if the line does not contain it.
        """
        for string in _STRING.finditer(self.text):
            begin, end = string.start() + 1, string.end() - 1
            starts = [found.start() for found in _CHARACTER.finditer(self.text, begin, end)]
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
    """The line of each sample in the order of the run, endlessly; None if it is not known.

    It is known for JSON Lines that are still in the file that was read, unless rows were skipped.
    """
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
    """Write a log of one run. Columns and offsets count Unicode code points, as spans do.

    A claim is located on its line of the file that was read, if that is known; otherwise in the text of the response,
    which the log then contains.
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


def _results(record: SampleRecord, artifacts: _Artifacts, line: SourceLine | None) -> Iterator[dict[str, Any]]:
    seen: Counter[str] = Counter()
    for fault in unsupported_claims(record):
        mark = _fingerprint(record.sample.id, fault)
        seen[mark] += 1
        yield {
            "ruleId": fault.kind,
            "ruleIndex": _POSITIONS[fault.kind],
            "level": _LEVELS[fault.kind],
            "message": {"text": unsupported_claim_words(fault, record)},
            "locations": [artifacts.location(record.sample, fault, line)],
            "partialFingerprints": {"primaryLocationLineHash": f"{mark}:{seen[mark]}"},
            "properties": _sarif_properties(record.sample, fault),
        }


def _fingerprint(sample: str, fault: UnsupportedClaim) -> str:
    """The same in every run for the same claim of the same sample.

    Code scanning identifies alerts by it; its own fingerprint is of the line alone, so that only one of several claims
    on a line would be shown.
    """
    parts = (sample, fault.kind, fault.piece.text)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _sarif_properties(sample: Sample, fault: UnsupportedClaim) -> dict[str, Any]:
    piece = fault.piece
    known = {"span": piece.span, "probability": piece.probability, "judgment": piece.judgment or None}
    return {"sample": sample.id, "against": piece.against, **{k: v for k, v in known.items() if v is not None}}


class _Artifacts:
    """The texts that results refer to: the file that was read, and responses that are not found in it."""

    def __init__(self, run: RunRecord) -> None:
        self.listed: list[dict[str, Any]] = []
        self._positions: dict[str, int] = {}
        path = Path(run.data)
        self._data = _uri(path) if is_file(path) else None

    def location(self, sample: Sample, fault: UnsupportedClaim, line: SourceLine | None) -> dict[str, Any]:
        """The location of an unsupported claim."""
        response, span = sample.response or "", fault.piece.span
        columns = line.columns(response, span) if line else None
        region: dict[str, Any] = {}
        if self._data and line and columns:
            uri = self._add(self._data)
            places = [(line.number, column) for column in columns]
        else:
            uri = self._add(f"samples/{quote(sample.id, safe='')}/response.txt", response)
            start, end = span or (0, len(response))
            region = {"charOffset": start, "charLength": end - start}
            places = [(response.count("\n", 0, at) + 1, at - response.rfind("\n", 0, at)) for at in (start, end)]
        for side, (row, column) in zip(("start", "end"), places, strict=True):
            region |= {f"{side}Line": row, f"{side}Column": column}
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
    """The URI of a file, relative to the working directory if it is in it, as code scanning requires."""
    whole, here = path.resolve(), Path.cwd()
    return quote(whole.relative_to(here).as_posix()) if whole.is_relative_to(here) else whole.as_uri()


NAME = "gen_ai.evaluation.result"

#: The events between two flushes: a batch processor drops those that exceed its queue of 2048.
AT_ONCE = 500


def emit_events(run: RunRecord, samples: Iterable[SampleRecord], provider: LoggerProvider | None = None) -> int:
    """Emit the scores through a provider, or else the one that is set for the process.

    Events of a sample whose metadata have a `traceparent` (W3C) belong to that span, and have its `response_id`.

    Returns:
        The number of events.

    Raises:
        MissingExtra: OpenTelemetry is not installed.
        UsageError: No provider is set.
    """
    what, extra = "emitting events", "otel"
    chosen = provider or optional(what, extra, "opentelemetry._logs").get_logger_provider()
    propagator = optional(what, extra, "opentelemetry.trace.propagation.tracecontext").TraceContextTextMapPropagator()
    if provider is None and not hasattr(chosen, "force_flush"):  # the default provider drops everything
        raise UsageError("no OpenTelemetry LoggerProvider is set; set one with set_logger_provider(), or give it")
    flush = getattr(chosen, "force_flush", lambda: None)
    logger = chosen.get_logger("ragauge", run.version)
    nanoseconds = int(datetime.fromisoformat(run.finished or run.started).timestamp() * 1e9)
    number = 0
    for record in samples:
        parent = record.sample.metadata.get("traceparent")
        context = propagator.extract({"traceparent": parent}) if isinstance(parent, str) else None
        for key in record.scores:
            attributes = _attributes(run, record, key)
            logger.emit(timestamp=nanoseconds, context=context, event_name=NAME, attributes=attributes)
            number += 1
            if number % AT_ONCE == 0:
                flush()
    flush()
    return number


def _attributes(run: RunRecord, record: SampleRecord, key: str) -> dict[str, Any]:
    score, better = record.score(key), run.estimates[key].better
    response_id = record.sample.metadata.get("response_id")
    # the conventions have `_OTHER` for a failure without a code
    error = next((one.reason for one in record.failures if one.reason in (score.failed or "")), "_OTHER")
    known = {
        "gen_ai.evaluation.score.value": score.value,
        "gen_ai.evaluation.score.label": "undefined" if score.undefined else None,
        "error.type": error if score.failed else None,
        "gen_ai.response.id": None if response_id is None else str(response_id),
    }
    return {
        "gen_ai.evaluation.name": key,
        "gen_ai.evaluation.explanation": explain(score, better),
        **{name: value for name, value in known.items() if value is not None},
        "ragauge.run.id": run.id,
        "ragauge.sample.id": record.sample.id,
    }
