"""Take the pictures of the pages in docs, in Chromium: python scripts/screenshots.py"""

from __future__ import annotations

import os
import shutil
import tempfile
from importlib.resources import as_file, files
from pathlib import Path
from threading import Thread

from playwright.sync_api import Browser, sync_playwright

import ragauge as rg
from ragauge.store import Store
from ragauge.view import Server

DOCS = Path(__file__).resolve().parents[1] / "docs"

#: Name of a picture of the report -> its route, and the theme.
REPORT = {
    "report-overview": ("", "light"),
    "report-samples": ("view=samples&where=faithfulness~0~0.5~", "dark"),
    "report-sample": ("sample=q33", "light"),
    "report-sample-dark": ("sample=q33&metric=correctness", "dark"),
}

#: The same for the page of a store.
VIEW = {
    "view-label": ("run=baseline&view=label", "light"),
    "view-compare": ("a=baseline&b=candidate&sample=q33&metric=faithfulness", "light"),
}


def take(browser: Browser, address: str, pictures: dict[str, tuple[str, str]]) -> None:
    """Take every picture, in a window of its own."""
    for name, (route, theme) in pictures.items():
        page = browser.new_page(viewport={"width": 1100, "height": 640}, color_scheme=theme)  # type: ignore[arg-type]
        page.goto(f"{address}#{route}")
        page.wait_for_selector("html[data-ready]")
        page.screenshot(path=DOCS / f"{name}.jpg", type="jpeg", quality=40)
        page.close()


def main() -> None:
    """Measure the systems of the demo, and take the pictures of the baseline's report and of the store."""
    with tempfile.TemporaryDirectory() as made, sync_playwright() as playwright:
        runs = {}
        for system in ("baseline", "candidate"):
            with as_file(files("ragauge.demo") / f"{system}.jsonl") as path:
                runs[system] = rg.evaluate(path, name=system, store=made)
        executable = os.environ.get("CHROMIUM") or shutil.which("chromium")
        chromium = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        take(chromium, runs["baseline"].save(Path(made) / "report.html").as_uri(), REPORT)
        with Store.open(Path(made)) as store:
            server = Server(store, "ann")
            Thread(target=server.serve_forever, daemon=True).start()
            take(chromium, server.address, VIEW)
            server.shutdown()
            server.server_close()
        chromium.close()


if __name__ == "__main__":
    main()
