"""The labelled claims that no encoder is trained on: part "e" for fitting layers, "f" for choosing and reporting.

DATA is the folder with natural/, bots/ and written/, whose READMEs say which rows these are.
"""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rows import Row, read
from statements import statements

from ragauge.questions import Entail

WRITTEN = Path(__file__).parent / "written"
SENTENCES = {"supported": "entailed", "unsupported": "neutral", "contradicted": "contradicted"}
ANSWERS = {"right": "entailed", "wrong": "not_entailed", "partly": "not_entailed"}


class Kept(NamedTuple):
    """A labelled question. part: "e" or "f". kind: "natural", "bots", "written" or "answers". source: its set."""

    question: Entail
    label: str
    part: str
    kind: str
    source: str


def kept(data: Path, each: int) -> list[Kept]:
    """At most `each` rows of a source and part, drawn by a fixed seed."""
    found: dict[tuple[str, str], list[Kept]] = defaultdict(list)
    rows = (*natural(data / "natural"), *bots(data / "bots/bots.jsonl.gz"), *written(data / "written"), *stated(data))
    for one in rows:
        found[one.source, one.part].append(one)
    chance = random.Random(5)
    return [one for own in found.values() for one in chance.sample(own, min(each, len(own)))]


def part_of(group: str) -> str:
    """ "e", "f", or "" for what encoders are trained on."""
    digit = hashlib.sha1(group.encode()).hexdigest()[0]
    return digit if digit in "ef" else ""


def natural(folder: Path) -> Iterator[Kept]:
    """Claims that people labelled."""
    for file in sorted(folder.glob("*.jsonl.gz")):
        for row in read(file):
            if part := part_of(str(row["group"])):
                premise = (row["premise"],) if isinstance(row["premise"], str) else tuple(row["premise"])
                question = Entail(premise, row["claim"], row.get("query"))
                yield Kept(question, row["label"], part, "natural", file.name.partition(".")[0])


def bots(file: Path) -> Iterator[Kept]:
    """Sentences of assistants."""
    for row in read(file):
        if part := part_of(row["id"]):
            for one in row["claims"]:
                yield Kept(Entail(tuple(row["chunks"]), one["text"], row["query"]), one["label"], part, "bots", "bots")


def written(shared: Path) -> Iterator[Kept]:
    """Written claims about texts, sentences of written responses, and answers held against references."""
    for name in ("documents", "short_premises", "long_claims", "responses", "answers"):
        for file in (folder / f"{name}.jsonl.gz" for folder in (shared, WRITTEN)):
            for row in read(file) if file.exists() else ():
                if part := part_of(row["id"]):
                    kind = "answers" if name == "answers" else "written"
                    yield from (Kept(*asked, part, kind, name) for asked in questions(name, row))


def stated(data: Path) -> Iterator[Kept]:
    """Statements written about real and invented texts, by their styles."""
    for row in statements(data):
        if part := part_of(row["group"]):
            for one in row["claims"]:
                question = Entail(tuple(row["contexts"]), one["text"], row.get("query"))
                yield Kept(question, one["label"], part, "written", f"statements, {row['style']}")


def questions(name: str, row: Row) -> Iterator[tuple[Entail, str]]:
    """The questions of a written row with their labels."""
    if name == "answers":
        for one in row["answers"]:
            yield Entail((one["text"],), row["references"][0], row["query"]), ANSWERS[one["label"]]
    elif name == "responses":
        for one in row["sentences"]:
            if one["label"] in SENTENCES:
                yield Entail(tuple(row["contexts"]), one["text"], row["query"]), SENTENCES[one["label"]]
    else:
        yield from ((Entail((row["text"],), one["text"]), one["label"]) for one in row["claims"])


def with_both(rows: Sequence[Kept], least: int) -> list[str]:
    """The sources with at least `least` rows of each side."""
    sides: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for one in rows:
        sides[one.source][one.label == "entailed"] += 1
    return sorted(source for source, counts in sides.items() if min(counts) >= least)
