"""Chromium, and pages that are watched: whatever a page complains of, or asks of a network, fails the test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.browser.watching import Watched

import ragauge as rg

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium: the one that CHROMIUM names, or one on the PATH.

    It is started for each module: while it runs, so does an event loop, under which tests elsewhere do not pass.
    """
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: pip install -e '.[dev]'")
    names = ("chromium", "chromium-browser", "google-chrome")
    executable = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if executable is None:
        pytest.skip("Chromium is not installed: apt-get install chromium, or name one in CHROMIUM")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        sync_api.expect.set_options(timeout=20_000)
        yield browser
        browser.close()


@pytest.fixture
def watched(browser: Browser) -> Iterator[Watched]:
    """A page in a window of its own that must not complain."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    watched = Watched(context.new_page())
    yield watched
    context.close()
    assert watched.complaints == []


@pytest.fixture(scope="session")
def baseline() -> rg.Run:
    """The demo's baseline under all metrics that the embedded judge can answer."""
    with as_file(files("ragauge.demo") / "baseline.jsonl") as path:
        return rg.evaluate(path, name="demo baseline")


@pytest.fixture(scope="session")
def candidate() -> rg.Run:
    """The demo's candidate, which cites."""
    with as_file(files("ragauge.demo") / "candidate.jsonl") as path:
        return rg.evaluate(path, name="demo candidate")


@pytest.fixture(scope="session")
def report(baseline: rg.Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The baseline's report."""
    return baseline.save(tmp_path_factory.mktemp("report") / "report.html")
