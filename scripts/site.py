"""Build the documentation as a site: site/VERSION with the pages, the API reference and search.

python scripts/site.py [FOLDER]

Each version keeps its folder, and a menu on every page leads to the others; FOLDER/index.html opens the newest. The
extra `docs` is needed. A broken link, or a page that no other lists, is an error.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from sphinx.cmd.build import build_main

from ragauge.version import VERSION

ROOT = Path(__file__).resolve().parents[1]

_TO = (
    '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={to}"><a href="{to}">ragauge</a>\n'
)


def build(site: Path) -> int:
    """Build this version below `site`; returns the exit code of Sphinx."""
    pages = site / VERSION
    arguments = ["--fail-on-warning", "--keep-going", "--quiet", "--conf-dir", str(ROOT / "docs")]
    code: int = build_main([*arguments, "--doctree-dir", str(ROOT / "build" / "doctrees"), str(ROOT), str(pages)])
    if code == 0:
        (pages / "index.html").write_text(_TO.format(to="README.html"), encoding="utf-8")
        versions = sorted((path.parent.name for path in site.glob("*/index.html")), key=_numbers, reverse=True)
        (site / "versions.js").write_text(f"window.versions = {json.dumps(versions)};\n", encoding="utf-8")
        (site / "index.html").write_text(_TO.format(to=f"{versions[0]}/README.html"), encoding="utf-8")
    return code


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"))
