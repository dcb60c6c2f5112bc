"""Take the pictures of the report page in docs, in Chromium: python scripts/screenshots.py"""

from __future__ import annotations

import os
import shutil
import tempfile
from importlib.resources import as_file, files
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

import ragauge as rg

DOCS = Path(__file__).resolve().parents[1] / "docs"

#: Name of the picture -> what the page is asked for, and the theme.
PICTURES = {
    "report-overview": ("", "light"),
    "report-samples": ("view=samples&where=faithfulness~0~0.5~", "dark"),
    "report-sample": ("sample=q16", "light"),
    "report-sample-dark": ("sample=q16&metric=answer_correctness", "dark"),
}


def report(folder: Path) -> Path:
    """The report of the demo's baseline."""
    with as_file(files("ragauge.demo") / "baseline.jsonl") as path:
        return rg.evaluate(path, name="demo baseline").save(folder / "report.html")


def take(browser: Browser, page_file: Path) -> None:
    """Every picture, in a window of its own."""
    for name, (route, theme) in PICTURES.items():
        page = browser.new_page(viewport={"width": 1100, "height": 640}, color_scheme=theme)  # type: ignore[arg-type]
        page.goto(f"{page_file.as_uri()}#{route}")
        page.wait_for_selector("html[data-ready]")
        page.screenshot(path=DOCS / f"{name}.jpg", type="jpeg", quality=40)
        page.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made, sync_playwright() as playwright:
        executable = os.environ.get("CHROMIUM") or shutil.which("chromium")
        chromium = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        take(chromium, report(Path(made)))
        chromium.close()
