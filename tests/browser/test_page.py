from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from tests.browser.watching import Watched

import ragauge as rg

if TYPE_CHECKING:
    from playwright.sync_api import Browser

expect = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed").expect

pytestmark = pytest.mark.slow

ROUTES = [
    {},
    {"view": "samples", "where": "faithfulness~0~0.9~"},
    {"sample": "q16"},
    {"sample": "q16", "metric": "claim_recall"},
]


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that says nothing."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def served(report: Path) -> Iterator[str]:
    """The address of the report on a server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=report.parent))
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/{report.name}"
    server.shutdown()
    server.server_close()


def test_a_report_asks_for_nothing_else(watched: Watched, report: Path) -> None:
    """From disk, whatever is looked at, no other address is asked for."""
    for route in ROUTES:
        watched.open(report, **route)
    assert {address.partition("#")[0] for address in watched.asked} <= {report.as_uri(), "about:blank", "data:,"}


def test_a_report_can_be_served(watched: Watched, served: str) -> None:
    """From a server it shows the same, and asks for nothing but itself."""
    page = watched.open(served)
    expect(page.locator("h1")).to_have_text("demo baseline")
    watched.follow(page.locator(".examples a").first, "sample")
    assert page.locator(".piece").count() > 0
    assert {address.partition("#")[0] for address in watched.asked} <= {served, "about:blank", "data:,"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("route", ROUTES, ids=["overview", "samples", "sample", "reference"])
def test_the_page_is_accessible(route: dict[str, str], scheme: str, watched: Watched, report: Path) -> None:
    """axe finds nothing to object to, contrast in both themes included."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    watched.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    found = axe.Axe().run(watched.open(report, **route))
    violations = [(one["id"], node["html"]) for one in found.response["violations"] for node in one["nodes"]]
    assert violations == []
    assert len(found.response["passes"]) > 10


def test_themes(watched: Watched, report: Path) -> None:
    """The theme follows the system until it is chosen; what is chosen holds after a reload."""
    page = watched.open(report)
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(ground)
    assert dark != light
    button = page.locator("#theme")
    button.click()
    assert (button.inner_text(), page.evaluate(ground)) == ("Theme: light", light)
    page.reload()
    watched.ready()
    assert (button.inner_text(), page.evaluate(ground)) == ("Theme: light", light)
    button.click()
    assert (button.inner_text(), page.evaluate(ground)) == ("Theme: dark", dark)


def test_everything_can_be_reached_by_keyboard(watched: Watched, report: Path) -> None:
    """Tab goes from the first link through theme, examples, patterns and metrics; Enter on an example opens it."""
    page = watched.open(report)
    seen = []
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.textContent.trim().slice(0, 40)"))
    assert seen[:4] == ["Skip to content", "Overview", "Samples", "Theme: auto"]
    assert any("Retrieval missed it" in text for text in seen)
    page.locator(".examples a").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("html[data-ready=sample]")
    assert "piece-" in page.evaluate("document.activeElement.id")


def test_narrow_windows_scroll_one_way(watched: Watched, report: Path) -> None:
    """On a telephone nothing is cut off: overview and sample are no wider than the window."""
    watched.page.set_viewport_size({"width": 390, "height": 800})
    for route in ({}, {"sample": "q16"}):
        page = watched.open(report, **route)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_printed_report_is_whole(watched: Watched, report: Path) -> None:
    """Overview and sample make a PDF of some pages, in light colours whatever the theme."""
    watched.page.emulate_media(color_scheme="dark")
    for route in ({}, {"sample": "q16"}):
        page = watched.open(report, **route)
        pdf = page.pdf(format="A4")
        assert pdf.startswith(b"%PDF")
        page.emulate_media(media="print")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        page.emulate_media(media="screen")


@pytest.mark.parametrize("part", ["index", "samples-0"])
def test_a_damaged_report_says_so(part: str, watched: Watched, report: Path, tmp_path: Path) -> None:
    """A file that was cut off tells the reader instead of showing nothing."""
    whole = report.read_text(encoding="utf-8")
    damaged = tmp_path / "damaged.html"
    damaged.write_text(re.sub(rf'<script [^>]*id="data-{part}".*?</script>', "", whole), encoding="utf-8")
    watched.page.goto(f"{damaged.as_uri()}#sample=q16")
    reply = watched.page.get_by_role("alert").inner_text()
    assert f"cannot be read: the page has no data called {part}" in reply


def test_the_last_of_many_steps_is_shown(watched: Watched, report: Path) -> None:
    """Who steps through samples faster than they are drawn ends at the last one."""
    page = watched.open(report, sample="q16")
    page.evaluate("for (const id of ['q01', 'q02', 'q33']) location.hash = `#sample=${id}`")
    page.get_by_role("heading", name="Sample q33").wait_for()
    page.wait_for_timeout(100)
    expect(page.locator("h1")).to_have_text("Sample q33")


def test_no_other_script_runs(browser: Browser, report: Path, tmp_path: Path) -> None:
    """A script that somebody put into the file, or that a text might smuggle in, is refused by the page's policy."""
    whole = report.read_text(encoding="utf-8")
    altered = tmp_path / "altered.html"
    more = "<script>window.smuggled = 1</script><img src=x onerror='window.smuggled = 2'>"
    altered.write_text(whole.replace("<noscript>", f"{more}<noscript>"), encoding="utf-8")
    page = browser.new_page()
    page.goto(altered.as_uri())
    page.wait_for_selector("html[data-ready]")
    assert page.evaluate("window.smuggled") is None
    page.close()


def test_a_run_of_nothing(watched: Watched, tmp_path: Path) -> None:
    """A run of which no sample has a value, and one whose metrics are over the data set, show what there is."""
    run = rg.evaluate([{"query": "q", "response": "", "contexts": []}], "faithfulness,pooled(faithfulness)")
    page = watched.open(run.save(tmp_path / "report.html"))
    expect(page.locator(".estimates tbody tr")).to_have_count(2)
    expect(page.locator(".histogram")).to_have_count(0)
    over = rg.evaluate([{"query": "q", "response": "a", "answerable": True}], "reject_f1")
    page = watched.open(over.save(tmp_path / "report.html"), sample="1")
    expect(page.locator(".response .passage")).to_have_text("a")
    assert "this sample adds 0, 0, 0 to its counts" in page.locator(".explanation").inner_text()
