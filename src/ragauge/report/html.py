"""A run as one HTML file with its style, script and data; it needs no network."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path

from ragauge.report.document import parts
from ragauge.report.sections import Section
from ragauge.scores import RunRecord, SampleRecord

#: The names that a module imports, and the other module.
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";$', re.MULTILINE)
#: A name that a module exports, and the keywords before it.
_EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const) )(\w+)", re.MULTILINE)


def write_html(run: RunRecord, samples: Iterable[SampleRecord], path: Path, sections: Sequence[Section] = ()) -> None:
    """Write the page with all data of the run; samples are written as they are read."""
    before, after = page(f"{run.name or run.data} – ragauge").split("<!-- data -->")
    with path.open("w", encoding="utf-8") as file:
        file.write(before)
        for name, part in parts(run, samples, sections):
            encoded = b64encode(part).decode("ascii")
            file.write(f'<script type="application/gzip" id="data-{name}">{encoded}</script>\n')
        file.write(after)


def page(title: str, connect: str = "'none'", entry: str = "main") -> str:
    """The page without data, which replaces `<!-- data -->`.

    Its Content-Security-Policy allows this style and this script only, so that no text of a sample can become code.
    connect: the policy's source that the script may fetch from. entry: the first module.
    """
    style, script = _read("style.css"), "\n".join(["const modules = {};", *_scopes(entry, set())])
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; img-src data:; "
        f"connect-src {connect}; base-uri 'none'; form-action 'none'"
    )
    filled = {"title": escape(title), "policy": policy, "style": style, "script": script}
    return re.sub(r"<!-- (title|policy|style|script) -->", lambda mark: filled[mark[1]], _read("index.html"))


def _scopes(name: str, made: set[str]) -> Iterator[str]:
    """A module after those that it imports, each as a function that returns what the module exports."""
    if name in made:
        return
    made.add(name)
    source = _read(f"{name}.js")
    for _, imported in _IMPORT.findall(source):
        yield from _scopes(imported, made)
    exported = ", ".join(each for _, each in _EXPORT.findall(source))
    body = _EXPORT.sub(r"\1\2", _IMPORT.sub(r"const {\1} = modules.\2;", source))
    yield f"modules.{name} = (() => {{\n{body}return {{ {exported} }};\n}})();"


def _read(name: str) -> str:
    return (files("ragauge") / "page" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode("ascii")
