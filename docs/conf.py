"""The site: the Markdown of this folder and of the root, and the docstrings; `python scripts/site.py` builds it."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

from ragauge.version import VERSION

project = "ragauge"
author = "The ragauge authors"
version = release = VERSION
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "README"
include_patterns = ["*.md", "docs/**"]
exclude_patterns = ["docs/_templates"]
templates_path = ["_templates"]
default_role = "code"
napoleon_use_ivar = True
myst_heading_anchors = 4
autodoc_typehints = "none"
autodoc_member_order = "alphabetical"
html_theme = "pydata_sphinx_theme"
html_title = "ragauge"
html_show_sourcelink = False
html_sidebars = {"**": ["globaltoc.html"]}
html_theme_options = {
    "navbar_center": [],
    "navbar_end": ["versions", "theme-switcher"],
    "show_prev_next": False,
}

#: A link to a page, relative to the page that it is on; a link to a text of the repository that is not on the site.
_LINK, _OTHER = re.compile(r"\]\(([\w/.-]+)\.md\)"), re.compile(r"\]\(((?:\.\./)*(?:tests|training)/[\w/.-]+)\)")


def _arranged(_: Any, page: str, source: list[str]) -> None:
    """Give each README the contents of the site: in the root by the topics of its table, else all that it links to."""
    source[0] = _OTHER.sub(r"](path:\1)", source[0])
    if PurePosixPath(page).name != "README":
        return
    topics = re.findall(r"^\| ([\w ]+) \| (\[.*) \|$", source[0], re.MULTILINE)
    for topic, links in topics if page == "README" else [("pages", source[0])]:
        pages = [*dict.fromkeys(_LINK.findall(links)), *(["docs/api"] if topic == "reference" else [])]
        source[0] += "\n".join(["\n\n```{toctree}", ":hidden:", f":caption: {topic}", "", *pages, "```\n"])


def _as_rst(_: Any, __: str, ___: str, ____: Any, _____: Any, lines: list[str]) -> None:
    """Make a literal block of each indented paragraph outside sections such as Args, and keep asterisks."""
    before, found = "", []
    for line in lines:
        found += ["::", ""] if line.startswith("    ") and not before else []
        found.append(line.replace("**", r"\*\*"))
        before = line
    lines[:] = found


def setup(app: Any) -> None:
    """Connect what the pages need to be read by Sphinx."""
    app.connect("source-read", _arranged)
    app.connect("autodoc-process-docstring", _as_rst, priority=100)
