"""The documentation as a site, and in the wheel."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import pytest

import ragauge

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.slow


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """See HTMLParser."""
        given = dict(attrs)
        self.links |= {link for name in ("href", "src") if (link := given.get(name))}
        self.anchors |= {anchor for name in ("id", "name") if (anchor := given.get(name))}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as an error would fail it, next to an older version."""
    pytest.importorskip("sphinx")
    folder = tmp_path_factory.mktemp("site")
    (folder / "0.0.9").mkdir()
    (folder / "0.0.9" / "index.html").write_text("older", encoding="utf-8")
    source = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    built = subprocess.run(
        [sys.executable, "scripts/site.py", str(folder)], cwd=ROOT, env=source, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    return folder


def test_no_link_of_the_site_is_broken(site: Path) -> None:
    """Every link within the site leads to a file of it, and to an anchor that is there."""
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html") if path.read_bytes() != b"older"}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            url = urlsplit(link)
            if url.scheme or url.netloc or "_static" in url.path:
                continue
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            anchored = target in pages and url.fragment and unquote(url.fragment) not in pages[target].anchors
            if not target.exists() or anchored:
                broken.append(f"{path.relative_to(site)}: {link}")
    assert len(pages) > 40
    assert broken == []


def test_the_site_has_every_page_the_public_names_and_search(site: Path) -> None:
    """Each page of docs, each public name and the index of the search are in the site."""
    pages = site / ragauge.__version__
    assert not [path for path in (ROOT / "docs").rglob("*.md") if not _built(path, pages).exists()]
    reference = (pages / "docs" / "api.html").read_text(encoding="utf-8")
    themes = [name for name in ragauge.__all__ if isinstance(getattr(ragauge, name), ModuleType)]
    names = [name for name in ragauge.__all__ if name not in themes]
    names += [f"{theme}.{name}" for theme in themes for name in getattr(getattr(ragauge, theme), "__all__", [])]
    assert [name for name in names if f'id="ragauge.{name}"' not in reference] == ["__version__"]
    assert "embedded" in (pages / "searchindex.js").read_text(encoding="utf-8")


def _built(page: Path, pages: Path) -> Path:
    return pages / page.relative_to(ROOT).with_suffix(".html")


def test_the_versions_are_listed_newest_first(site: Path) -> None:
    """Every page offers the versions that are in the folder, and the folder opens the newest."""
    versions = (site / "versions.js").read_text(encoding="utf-8")
    assert re.findall(r'"([\d.]+)"', versions) == [ragauge.__version__, "0.0.9"]
    assert f"{ragauge.__version__}/README.html" in (site / "index.html").read_text(encoding="utf-8")
    assert 'src="../../versions.js"' in (site / ragauge.__version__ / "docs" / "ci.html").read_text(encoding="utf-8")


def test_a_wheel_alone_shows_the_pages(tmp_path: Path) -> None:
    """The wheel holds the pages, and `ragauge docs` of what is installed from it shows one."""
    pytest.importorskip("hatchling")
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(tmp_path), "."]
    subprocess.run(build, cwd=ROOT, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(tmp_path / "installed")
    shown = subprocess.run(
        [sys.executable, "-m", "ragauge", "docs", "embedded-judge"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "installed")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout == (ROOT / "docs/embedded-judge.md").read_text(encoding="utf-8")
