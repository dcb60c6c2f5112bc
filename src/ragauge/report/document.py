"""The document of a run: versioned plain data, whole, in the parts that the page reads, or as one HTML file.

Each part is JSON, gzip-compressed. `head`: the document without samples, and a description in words. `index`: columns
over all samples, for charts, filters and sorting. `texts`: the texts to search. `samples-N`: the N-th block of samples.
"""

from __future__ import annotations

import gzip
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from hashlib import sha256
from html import escape
from importlib.resources import files
from operator import or_
from pathlib import Path
from typing import Any

import msgspec

from ragauge.report.explain import certainty, chooser, deciding, headline_metrics
from ragauge.report.patterns import CUTS, PATTERNS, patterns_of, signs_of
from ragauge.report.sections import Section, cell_text
from ragauge.report.wording import caution, footnotes, headline, shortened, usage_words
from ragauge.scores import Better, RunRecord, SampleRecord, Score, ScoreRecord
from ragauge.types import Label

SCHEMA = "ragauge.run/1"


def run_document(run: RunRecord, samples: Iterable[SampleRecord], sections: Sequence[Section] = ()) -> dict[str, Any]:
    """The whole run: {"schema", "run", "estimates", "patterns", "cuts", "samples"}; see docs/output.md."""
    return {**head_document(run, sections), "samples": [sample_document(record) for record in samples]}


def head_document(run: RunRecord, sections: Sequence[Section] = ()) -> dict[str, Any]:
    """The document without its samples. Every field of the run is included, even if empty; "sections" only if any."""
    about = msgspec.to_builtins(msgspec.structs.asdict(run))
    document = {"schema": SCHEMA, "run": about, "estimates": about.pop("estimates")}
    document |= {"patterns": list(msgspec.to_builtins(PATTERNS)), "cuts": dict(CUTS)}
    return document | ({"sections": msgspec.json.decode(msgspec.json.encode(sections))} if sections else {})


def sample_document(record: SampleRecord) -> dict[str, Any]:
    """One sample: its fields, scores with evidence, failure patterns, and why questions have no answer."""
    scores, counted = (
        {key: score_document(record.score(key)) for key in keys} for keys in (record.scores, record.counted)
    )
    return {**_about(record), "scores": scores, "counted": counted}


def shared_document(record: SampleRecord) -> dict[str, Any]:
    """The same with each piece of evidence once, in a table that scores refer to."""
    scores, counted = (
        {key: score_document(score) for key, score in scores.items()} for scores in (record.scores, record.counted)
    )
    return {**_about(record), "scores": scores, "counted": counted, "evidence": msgspec.to_builtins(record.evidence)}


def _about(record: SampleRecord) -> dict[str, Any]:
    fields, signs = msgspec.to_builtins(record.sample), signs_of(record)
    found = {"id": fields.pop("id"), "sample": fields, "signs": signs, "patterns": patterns_of(record, signs)}
    return {**found, "failures": list(msgspec.to_builtins(record.failures))}


def score_document(score: Score | ScoreRecord) -> dict[str, Any]:
    """{"value"} or {"undefined"} or {"failed"}, with "evidence", and "counts" if the value is made of counts."""
    states = {state: getattr(score, state) for state in ("value", "undefined", "failed")}
    known = {state: found for state, found in states.items() if found is not None}
    document = {**known, "evidence": msgspec.to_builtins(score.evidence)}
    return {**document, "counts": list(score.counts)} if score.counts else document


#: The number of samples in a block.
BLOCK = 50

#: The bit of each label in the columns of the index.
BITS = {label: 1 << i for i, label in enumerate(Label)}

#: Decimals of values in the index; the blocks have all of them.
DIGITS = 6


def parts(
    run: RunRecord, samples: Iterable[SampleRecord], sections: Sequence[Section] = ()
) -> Iterator[tuple[str, bytes]]:
    """Every part with its name; samples are read once, a block at a time."""
    yield "head", packed(page_head(run, sections))
    index = Index(run)
    block: list[dict[str, Any]] = []
    for record in samples:
        index.add(record)
        block.append(shared_document(record))
        if len(block) == BLOCK:
            yield f"samples-{index.last_block}", packed(block)
            block = []
    if block:
        yield f"samples-{index.last_block}", packed(block)
    yield "index", packed(index.columns())
    yield "texts", packed(index.texts)


def packed(part: Any) -> bytes:
    """A part as bytes, which depend on its content alone."""
    return gzip.compress(msgspec.json.encode(part), compresslevel=6, mtime=0)


def page_head(run: RunRecord, sections: Sequence[Section] = ()) -> dict[str, Any]:
    """The document without samples, with the run in words, and the constants of the other parts."""
    spent = usage_words(run.spent) if run.spent.calls else ""
    words = {"headline": headline(run), "footnotes": footnotes(run), "caution": caution(run), "spent": spent}
    added = {"sections": [_page_section(section) for section in sections]} if sections else {}
    constants = {"block": BLOCK, "bits": BITS}
    shown = {"words": words, "chooser": chooser(run), "headline": headline_metrics(run)}
    return {**head_document(run), **added, **shown, **constants}


def _page_section(section: Section) -> dict[str, Any]:
    """A section with its cells as text, and whether each column is numeric."""
    numeric = [not any(isinstance(cell, str) for cell in column) for column in zip(*section.rows, strict=True)]
    rows = [[cell_text(cell) for cell in row] for row in section.rows]
    return {**msgspec.structs.asdict(section), "rows": rows, "numeric": numeric}


class Index:
    """Columns over samples. values: None if undefined, or the row is in `failed`. sure: of the deciding piece."""

    def __init__(self, run: RunRecord) -> None:
        self._chooser = chooser(run)
        self._better: Better = run.estimates[self._chooser].better if self._chooser else "higher"
        self.sure: list[float] = []
        self.ids: list[str] = []
        self.titles: list[str] = []
        self.groups: list[str | None] = []
        self.values: dict[str, list[float | None]] = {}
        self.failed: dict[str, list[int]] = {}
        self.labels: dict[str, list[int]] = {}
        self.signs: dict[str, list[float | None]] = {"refused": [], "answerable": []}
        self.texts: list[str] = []

    @property
    def last_block(self) -> int:
        """The number of the block of the last sample."""
        return (len(self.ids) - 1) // BLOCK

    def add(self, record: SampleRecord) -> None:
        """Add a sample."""
        sample, signs = record.sample, signs_of(record)
        self.ids.append(sample.id)
        self.titles.append(shortened(sample.query or sample.response or sample.source or ""))
        self.groups.append(sample.group)
        self.texts.append("\n".join(filter(None, (sample.id, sample.query, sample.response))))
        for sign, column in self.signs.items():
            column.append(signs.get(sign))
        chosen = deciding(record.score(self._chooser), self._better) if self._chooser in record.scores else None
        self.sure.append(round(certainty(chosen), 2))
        masks = {
            need: reduce(or_, (BITS[piece.label] for piece in pieces if piece.label is not None), 0)
            for need, pieces in record.evidence.items()
        }
        before = len(self.ids) - 1
        for key, score in record.scores.items():
            values = self.values.setdefault(key, [None] * before)
            labels = self.labels.setdefault(key, [0] * before)
            values.append(None if score.value is None else round(score.value, DIGITS))
            labels.append(reduce(or_, (masks.get(need, 0) for need in score.evidence), 0))
            if score.failed is not None:
                self.failed.setdefault(key, []).append(before)

    def columns(self) -> dict[str, Any]:
        """Everything but the texts; signs and groups that no sample has are left out."""
        signs = {sign: column for sign, column in self.signs.items() if any(one is not None for one in column)}
        shared = {"values": self.values, "failed": self.failed, "labels": self.labels}
        known = {name: column for name, column in (("groups", self.groups), ("sure", self.sure)) if any(column)}
        return {"ids": self.ids, "titles": self.titles, "signs": signs, **shared, **known}


#: The names that a module imports, and the other module.
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";$', re.MULTILINE)
#: A name that a module exports, and the keywords before it.
_EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const) )(\w+)", re.MULTILINE)


def write_html(run: RunRecord, samples: Iterable[SampleRecord], path: Path, sections: Sequence[Section] = ()) -> None:
    """Write the page with all data of the run; samples are written as they are read."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(page_with(f"{run.name or run.data} – ragauge", parts(run, samples, sections)))


def page_with(title: str, data: Iterable[tuple[str, bytes]]) -> Iterator[str]:
    """The page with parts of data under their names, piece by piece."""
    before, after = page(title).split("<!-- data -->")
    yield before
    for name, part in data:
        yield f'<script type="application/gzip" id="data-{name}">{b64encode(part).decode("ascii")}</script>\n'
    yield after


def page(title: str, connect: str = "'none'", entry: str = "main") -> str:
    """The page without data, which replaces `<!-- data -->`. connect: what the script may fetch from.

    Its Content-Security-Policy allows this style and this script only, so that no text of a sample can become code.
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
