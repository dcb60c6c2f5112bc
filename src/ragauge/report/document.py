"""The document of a run: versioned plain data, whole, in the parts that the page reads, or as one HTML file.

Each part is JSON, gzip-compressed. `head`: the document without samples, and a description in words. `index`: columns
over all samples, for charts, filters and sorting. `texts`: the texts to search. `samples-N`: the N-th block of samples.
"""

from __future__ import annotations

import gzip
import heapq
import random
import re
import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from hashlib import sha256
from html import escape
from importlib.resources import files
from operator import ge, gt, lt, or_
from pathlib import Path
from typing import Any, Literal

import msgspec

from ragauge.needs.checks import instructed_refusal
from ragauge.needs.gold import gold_labels
from ragauge.report.explain import certainty, chooser, deciding, headline_metrics
from ragauge.report.sections import Section, cell_text
from ragauge.report.wording import caution, claims_line, footnotes, headline, shortened, usage_words
from ragauge.scores import Better, RunRecord, SampleRecord, Score, ScoreRecord
from ragauge.text.refusals import refusal
from ragauge.types import Label

SCHEMA = "ragauge.run/1"


_COMPARED = {"below": lt, "at_least": ge, "above": gt}


class Condition(msgspec.Struct, frozen=True):
    """A condition on the first of the signals (metrics or signs) that a sample has, at its cut."""

    level: Literal["below", "at_least", "above"]
    signals: tuple[str, ...]

    def holds(self, signals: Mapping[str, float]) -> bool:
        """Whether the condition holds; False if the sample has none of the signals."""
        signal = next((signal for signal in self.signals if signal in signals), None)
        return signal is not None and _COMPARED[self.level](signals[signal], CUTS[signal])


class Pattern(msgspec.Struct, frozen=True):
    """A likely cause of failure, matched if all conditions of `when` hold and none of `unless`."""

    name: str
    title: str
    advice: str
    when: tuple[Condition, ...]
    unless: tuple[Condition, ...] = ()

    def shows(self, signals: Mapping[str, float]) -> bool:
        """Whether a sample with these signals matches the pattern."""
        held = all(condition.holds(signals) for condition in self.when)
        return held and not any(condition.holds(signals) for condition in self.unless)


class _Patterns(msgspec.Struct):
    cuts: dict[str, float]
    patterns: tuple[Pattern, ...]


_PATTERNS = msgspec.json.decode((files("ragauge.report") / "patterns.json").read_bytes(), type=_Patterns)

#: The default cuts between low and high values of each signal: conventions, not fitted to data.
CUTS: Mapping[str, float] = _PATTERNS.cuts

#: Some names are those of the documentation of RAG Evals, which combines chunk precision (here context_relevance) and
#: faithfulness, and of the modules that RAGChecker (Ru et al., 2024) distinguishes.
PATTERNS = _PATTERNS.patterns


def patterns_of(record: SampleRecord, signs: Mapping[str, float]) -> list[str]:
    """The names of the patterns that a sample matches at the default cuts; `signs` are those of `signs_of`."""
    signals = {key: score.value for key, score in record.scores.items() if score.value is not None} | dict(signs)
    return [pattern.name for pattern in PATTERNS if pattern.shows(signals)]


def signs_of(record: SampleRecord) -> dict[str, float]:
    """The known signals of a sample other than metrics, 1 for yes, 0 for no: whether refused, and answerable."""
    sample, signs = record.sample, dict[str, float]()
    measured = record.scores.get("refusal")
    if sample.response and sample.response.strip():
        if measured is not None and measured.value is not None:
            signs["refused"] = measured.value
        else:
            signs["refused"] = float(bool(refusal(sample.response, instructed_refusal(sample))))
    labels = [gold_labels(chunk) for chunk in sample.contexts or ()]
    if sample.answerable is not None:
        signs["answerable"] = float(sample.answerable)
    elif labels and all(labels):
        signs["answerable"] = float(any(map(any, labels)))
    return signs


def run_document(run: RunRecord, samples: Iterable[SampleRecord], sections: Sequence[Section] = ()) -> dict[str, Any]:
    """The whole run: {"schema", "run", "estimates", "patterns", "cuts", "samples"}; see docs/output.md."""
    return {**head_document(run, sections), "samples": [sample_document(record) for record in samples]}


def head_document(run: RunRecord, sections: Sequence[Section] = ()) -> dict[str, Any]:
    """The document without its samples. Every field of the run is included, even if empty; "sections" only if any."""
    about = msgspec.to_builtins(msgspec.structs.asdict(run))
    document = {"schema": SCHEMA, "run": about, "estimates": about.pop("estimates")}
    document |= {"patterns": list(msgspec.to_builtins(PATTERNS)), "cuts": dict(CUTS)}
    return document | ({"sections": msgspec.json.decode(msgspec.json.encode(sections))} if sections else {})


def sample_document(record: SampleRecord, shared: bool = False) -> dict[str, Any]:
    """One sample: its fields, scores with evidence, failure patterns, and why questions have no answer.

    shared: whether evidence is in a table of its own that scores refer to.
    """
    fields, signs = msgspec.to_builtins(record.sample), signs_of(record)
    entry = {"id": fields.pop("id"), "sample": fields, "signs": signs, "patterns": patterns_of(record, signs)}
    entry["failures"] = list(msgspec.to_builtins(record.failures))
    for name, scores in {"scores": record.scores, "counted": record.counted}.items():
        entry[name] = {key: score_document(score if shared else record.score(key)) for key, score in scores.items()}
    return {**entry, "evidence": msgspec.to_builtins(record.evidence)} if shared else entry


def score_document(score: Score | ScoreRecord) -> dict[str, Any]:
    """{"value"} or {"undefined"} or {"failed"}, with "evidence", and "counts" if the value is made of counts."""
    states = {state: getattr(score, state) for state in ("value", "undefined", "failed")}
    filled = {state: value for state, value in states.items() if value is not None}
    document = {**filled, "evidence": msgspec.to_builtins(score.evidence)}
    return {**document, "counts": list(score.counts)} if score.counts else document


BLOCK = 50

#: The most samples of a run of which the page holds all; and of a larger one the worst, some at random, some of each
#: pattern.
MOST_SAMPLES = 30_000
WORST, RANDOM, OF_PATTERN = 10_000, 10_000, 1_000

#: The bit of each label in the columns of the index.
BITS = {label: 1 << i for i, label in enumerate(Label)}

#: Decimals of values in the index; the blocks have all of them.
DIGITS = 6


def parts(
    run: RunRecord, samples: Iterable[SampleRecord], sections: Sequence[Section] = ()
) -> Iterator[tuple[str, bytes]]:
    """Every part with its name; samples are read once, a block at a time.

    Of a run of many samples the page holds some, and says which.
    """
    note = ""
    if run.samples > MOST_SAMPLES:
        samples, note = chosen_samples(run, samples)
    yield "head", packed(page_head(run, sections, note))
    index = Index(run)
    block: list[dict[str, Any]] = []
    for record in samples:
        index.add(record)
        block.append(sample_document(record, shared=True))
        if len(block) == BLOCK:
            yield f"samples-{index.last_block}", packed(block)
            block = []
    if block:
        yield f"samples-{index.last_block}", packed(block)
    yield "index", packed(index.columns())
    yield "texts", packed(index.texts)


def chosen_samples(run: RunRecord, samples: Iterable[SampleRecord]) -> tuple[Iterable[SampleRecord], str]:
    """Some of the samples of a large run, in order, and what they are; no more of them is held at a time."""
    key, drawn = chooser(run), random.Random(0)
    sign = 1 if key is None or run.estimates[key].better == "higher" else -1
    sizes = {"worst": WORST, "random": RANDOM}
    heaps: dict[str, list[tuple[float, int, bytes]]] = {}  # of each group, the lowest ranks; the highest leaves first
    for position, record in enumerate(samples):
        value = record.scores[key].value if key in record.scores else None
        ranks = {"random": drawn.random(), **({} if value is None else {"worst": sign * value})}
        ranks |= dict.fromkeys(patterns_of(record, signs_of(record)), ranks["random"])
        encoded = b""
        for name, rank in ranks.items():
            heap = heaps.setdefault(name, [])
            is_full = len(heap) == sizes.get(name, OF_PATTERN)
            if is_full and (-rank, position) < heap[0][:2]:
                continue
            encoded = encoded or zlib.compress(msgspec.msgpack.encode(record), 1)
            heapq.heappush(heap, (-rank, position, encoded))
            if is_full:
                heapq.heappop(heap)
    held = {position: encoded for heap in heaps.values() for _, position, encoded in heap}
    note = (
        f"This page holds {len(held):,} of {run.samples:,} samples: the {WORST:,} worst by {key or 'no metric'}, "
        f"{RANDOM:,} at random, and at most {OF_PATTERN:,} of each pattern, drawn at random. Estimates are of all."
    )
    decoder = msgspec.msgpack.Decoder(SampleRecord)
    return (decoder.decode(zlib.decompress(held[position])) for position in sorted(held)), note


def packed(part: Any) -> bytes:
    """A part as bytes, which depend on its content alone."""
    return gzip.compress(msgspec.json.encode(part), compresslevel=6, mtime=0)


def page_head(run: RunRecord, sections: Sequence[Section] = (), note: str = "") -> dict[str, Any]:
    """The document without samples, with the run in words, and the constants of the other parts.

    The cells of sections are texts; `numeric` says of each column whether it has numbers alone.
    """
    spent = usage_words(run.spent) if run.spent.calls else ""
    words: dict[str, Any] = {"headline": headline(run), "caution": caution(run), "spent": spent}
    words |= {"footnotes": [*footnotes(run), *filter(None, [note])], "claims": claims_line(run)}
    added: dict[str, Any] = {"sections": []} if sections else {}
    for section in sections:
        rows = [[cell_text(cell) for cell in row] for row in section.rows]
        numeric = [not any(isinstance(cell, str) for cell in column) for column in zip(*section.rows, strict=True)]
        added["sections"].append({**msgspec.structs.asdict(section), "rows": rows, "numeric": numeric})
    shown = {"words": words, "chooser": chooser(run), "headline": headline_metrics(run)}
    return {**head_document(run), **added, **shown, "block": BLOCK, "bits": BITS}


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
        self.sure.append(round(certainty(chosen), 4))
        masks = {
            need: reduce(or_, (BITS[piece.label] for piece in pieces if piece.label is not None), 0)
            for need, pieces in record.evidence.items()
        }
        before = len(self.ids) - 1
        for key, score in record.scores.items():
            if key not in self.values:
                self.values[key], self.labels[key] = [None] * before, [0] * before
            values, labels = self.values[key], self.labels[key]
            values.append(None if score.value is None else round(score.value, DIGITS))
            labels.append(reduce(or_, (masks.get(need, 0) for need in score.evidence), 0))
            if score.failed is not None:
                self.failed.setdefault(key, []).append(before)

    def columns(self) -> dict[str, Any]:
        """Everything but the texts; signs and groups that no sample has are left out."""
        signs = {sign: column for sign, column in self.signs.items() if any(value is not None for value in column)}
        shared = {"values": self.values, "failed": self.failed, "labels": self.labels}
        filled = {name: column for name, column in (("groups", self.groups), ("sure", self.sure)) if any(column)}
        return {"ids": self.ids, "titles": self.titles, "signs": signs, **shared, **filled}


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
    exported = ", ".join(export for _, export in _EXPORT.findall(source))
    body = _EXPORT.sub(r"\1\2", _IMPORT.sub(r"const {\1} = modules.\2;", source))
    yield f"modules.{name} = (() => {{\n{body}return {{ {exported} }};\n}})();"


def _read(name: str) -> str:
    return (files("ragauge") / "page" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode("ascii")
