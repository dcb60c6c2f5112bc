"""A page of a report, as a reader uses it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


class Watched:
    """A page that keeps what it complains of, and each address it asks for."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        page.on("request", lambda request: self.asked.append(request.url))

    def open(self, report: Path | str, **route: str) -> Page:
        """Open a report, a file or an address, at what the route asks for."""
        address = report.as_uri() if isinstance(report, Path) else report
        self.page.goto("about:blank")
        self.page.goto(f"{address}#{urlencode(route)}")
        self.ready()
        return self.page

    def ready(self) -> None:
        """Wait until the page shows what was asked for."""
        self.page.wait_for_selector("html[data-ready]")

    def follow(self, link: Locator, view: str) -> None:
        """Click a link and wait for the view it leads to."""
        link.click()
        self.page.wait_for_selector(f"html[data-ready={view}]")

    def shown(self) -> list[str]:
        """The ids of the samples that the list draws, in order."""
        return self.page.locator(".rows .row .id").all_inner_texts()

    def count(self) -> str:
        """What the list says of its length."""
        return self.page.locator("[role=status]").inner_text()
