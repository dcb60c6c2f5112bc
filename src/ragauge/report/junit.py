"""A run as JUnit XML: one test for each value that was measured, which the gates on it pass or fail."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from ragauge.report.failing import failing, standing
from ragauge.report.wording import flat, footnotes, headline, one_line
from ragauge.scores import RunRecord, SampleRecord

#: Characters that XML 1.0 cannot hold, escaped or not.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(run: RunRecord, samples: Iterable[SampleRecord], path: Path) -> None:
    """A suite with a test for the run itself, and one for each value that was measured or left out.

    A test fails where a gate on its metric does, with the worst samples and their evidence; it is an error where every
    sample failed, and skipped where there is nothing to count. Samples are no tests: without a gate none is right or
    wrong, and a mean that is good enough leaves some below it.
    """
    suite = _suite(run)
    faults = {gate.metric: text for gate, text in reversed(failing(run, run.gates, samples))}
    _ended(run, suite)
    for metric in dict.fromkeys([*run.estimates, *run.left_out, *faults]):
        _measured(run, SubElement(suite, "testcase", _names(run, metric)), metric, faults.get(metric))
    _count(suite)
    root = Element("testsuites", {key: suite.get(key, "") for key in ("name", "tests", "failures", "errors", "time")})
    root.append(suite)
    indent(root)
    ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _suite(run: RunRecord) -> Element:
    suite = Element("testsuite", {"name": _clean(flat(run.name or run.data)), "time": f"{run.seconds:.3f}"})
    if run.started:
        suite.set("timestamp", datetime.fromisoformat(run.started).replace(tzinfo=None).isoformat(timespec="seconds"))
    judges = ", ".join(sorted({str(judge) for judge in run.judges.values()}))
    about = {"run": run.id, "data": run.data, "data_hash": run.data_hash, "judge": judges, "ragauge": run.version}
    _properties(suite, about)
    return suite


def _names(run: RunRecord, test: str) -> dict[str, str]:
    """The names of a test; dashboards take dots in the class for packages."""
    return {"classname": f"ragauge.{_clean(flat(run.name or run.data)).replace('.', '_')}", "name": _clean(test)}


def _ended(run: RunRecord, suite: Element) -> None:
    """The test that the run went to its end."""
    case = SubElement(suite, "testcase", {**_names(run, "run"), "time": f"{run.seconds:.3f}"})
    if run.status != "finished":
        _outcome(case, "error", flat(footnotes(run)[0]))
    SubElement(case, "system-out").text = _clean("\n".join(map(flat, [headline(run), *footnotes(run)])))


def _measured(run: RunRecord, case: Element, metric: str, fault: str | None) -> None:
    """The test of one value."""
    estimate = run.estimates.get(metric)
    gates = ", ".join(str(gate) for gate in run.gates if gate.metric == metric)
    _properties(case, {**(standing(estimate) if estimate else {}), **({"gates": gates} if gates else {})})
    if fault:
        _outcome(case, "failure", fault)
    elif estimate is None:
        _outcome(case, "skipped", flat(run.left_out[metric]))
    elif not estimate.n and estimate.failed:
        _outcome(case, "error", flat(f"every sample failed, the first because: {run.failures.get(metric, '')}"))
    elif not estimate.n:
        _outcome(case, "skipped", flat(f"nothing to count: {run.undefined.get(metric, 'no sample was measured')}"))


def _properties(element: Element, properties: Mapping[str, object]) -> None:
    listed = SubElement(element, "properties")
    for name, value in properties.items():
        SubElement(listed, "property", {"name": name, "value": _clean(flat(str(value)))})


def _outcome(case: Element, kind: str, text: str) -> None:
    """What became of a test: its first line as the message, all of it as the text."""
    first, _, rest = _clean(text).partition("\n")
    SubElement(case, kind, {"message": first, "type": kind}).text = f"{first}\n{rest}" if rest else first


def _count(suite: Element) -> None:
    suite.set("tests", str(len(suite.findall("testcase"))))
    for plural, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(plural, str(len(suite.findall(f"testcase/{kind}"))))


def _clean(text: str) -> str:
    """Lines of text that XML can hold and that steer nothing where a dashboard or a log prints them."""
    return "\n".join(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", one_line(line)) for line in text.split("\n"))
