"""How large the report page is, and how fast it opens and filters: python benchmarks/report_page.py [SAMPLES]

The samples are those of the demo under all metrics, again and again, with the letters of their texts turned by another
number of places each time and values that are not counts moved a little, so that no sample compresses into another.
Opening is measured from the start of the navigation to the overview being there, in Chromium, from disk; filtering from
the change of a control to the drawn list. The yardstick for size is the same run as the JSON document.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path

import msgspec
from playwright.sync_api import Page, sync_playwright

import ragauge as rg
from ragauge.report.files import save
from ragauge.scores import RunRecord, SampleRecord

LOWER = "abcdefghijklmnopqrstuvwxyz"
OPENINGS = 5

#: The fields that hold text.
TEXTS = {"query", "response", "contexts", "references", "text", "title"}

#: Sets a control, and tells how long it takes until the list has another length or order and is drawn.
CHANGE = """async ([selector, kind, value]) => {
  const control = document.querySelector(selector);
  const before = document.querySelector(".rows").firstChild;
  const start = performance.now();
  control.value = value;
  control.dispatchEvent(new Event(kind, { bubbles: true }));
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  do await frame(); while (document.querySelector(".rows").firstChild === before);
  return performance.now() - start;
}"""


def demo_run() -> tuple[RunRecord, list[SampleRecord]]:
    """The record of a run over the demo, and the samples of both systems."""
    runs = []
    for system in ("baseline", "candidate"):
        with as_file(files("ragauge.demo") / f"{system}.jsonl") as path:
            runs.append(rg.evaluate(path, name="benchmark"))
    return runs[0].record, [record for run in runs for record in run.records()]


def copies(records: list[SampleRecord], count: int) -> Iterator[SampleRecord]:
    """Samples made of those of the demo."""
    chance = random.Random(1)
    for number in range(count):
        yield turned(records[number % len(records)], number, chance)


def turned(record: SampleRecord, number: int, chance: random.Random) -> SampleRecord:
    """The sample with other letters and an id of its own; lengths, and with them spans, stay."""
    places = number // 72 % 26
    other = LOWER[places:] + LOWER[:places]
    table = str.maketrans(LOWER + LOWER.upper(), other + other.upper())

    def text(value: object) -> object:
        return value.translate(table) if isinstance(value, str) else value

    def deep(value: object) -> object:
        if isinstance(value, dict):
            return {key: deep(each) if key in TEXTS else each for key, each in value.items()}
        return [deep(each) for each in value] if isinstance(value, list) else text(value)

    plain = msgspec.to_builtins(record)
    plain["sample"] = {**deep(plain["sample"]), "id": f"{number:05}"}
    plain["evidence"] = {need: [deep(piece) for piece in pieces] for need, pieces in plain["evidence"].items()}
    for pieces in plain["evidence"].values():
        for piece in pieces:
            piece["judgment"] = f"{number:08x}{piece.get('judgment', '')[8:]}"
    for score in plain["scores"].values():
        if "value" in score and not score.get("counts"):
            score["value"] = min(1.0, max(0.0, score["value"] + chance.uniform(-0.05, 0.05)))
    return msgspec.convert(plain, SampleRecord)


def milliseconds(page: Page, url: str) -> float:
    """How long the page takes to open."""
    page.goto("about:blank")
    start = time.perf_counter()
    page.goto(url, wait_until="commit")
    page.wait_for_selector("html[data-ready]")
    return (time.perf_counter() - start) * 1000


def measure(path: Path) -> None:
    """Print what a reader waits for."""
    with sync_playwright() as playwright:
        executable = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        times = sorted(milliseconds(page, path.as_uri()) for _ in range(OPENINGS))
        print(f"open, median of {OPENINGS}        {times[OPENINGS // 2]:8.0f} ms, worst {times[-1]:.0f}")
        page.goto(path.as_uri() + "#view=samples&where=faithfulness~~~")
        page.reload()
        page.wait_for_selector(".rows .row")
        for name, *change in (
            ("filter by a metric's range", "[aria-label=to]", "input", "0.5"),
            ("without the range", "[aria-label=to]", "input", ""),
            ("filter by a verdict", "[aria-label=Verdict]", "change", "contradicted"),
            ("any verdict", "[aria-label=Verdict]", "change", ""),
            ("filter by a pattern", "[aria-label=Pattern]", "change", "missed"),
            ("any pattern", "[aria-label=Pattern]", "change", ""),
            ("sort by another metric", '[aria-label="Sort by"]', "change", "bleu"),
            ("search for a word", "#text", "input", "001"),
            ("search for another", "#text", "input", "who 02"),
        ):
            print(f"{name:28} {page.evaluate(CHANGE, list(change)):6.0f} ms")
        start = time.perf_counter()
        page.locator(".rows .row a").first.click()
        page.wait_for_selector(".pieces .piece")
        print(f"{'open a sample':28} {(time.perf_counter() - start) * 1000:6.0f} ms")
        heap = page.evaluate("performance.memory.usedJSHeapSize") / 1e6
        print(f"{'JavaScript heap':28} {heap:6.0f} MB")
        browser.close()


def main() -> None:
    """Write the report and the document, and print sizes and times."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    record, records = demo_run()
    estimates = {
        key: msgspec.structs.replace(estimate, n=count, undefined=0, failed=0)
        for key, estimate in record.estimates.items()
    }
    run = msgspec.structs.replace(record, samples=count, estimates=estimates)
    with tempfile.TemporaryDirectory() as folder:
        sizes = {}
        for ending in (".html", ".json"):
            start = time.perf_counter()
            path = save(run, copies(records, count), Path(folder) / f"report{ending}")
            sizes[ending] = path.stat().st_size
            seconds = time.perf_counter() - start
            print(
                f"{ending}: {sizes[ending] / count:,.0f} bytes a sample, {sizes[ending] / 1e6:.1f} MB, {seconds:.1f} s"
            )
        print(f"the page is {sizes['.json'] / sizes['.html']:.1f} times as small as the document\n")
        measure(Path(folder) / "report.html")


if __name__ == "__main__":
    main()
