"""How often a judge is right on pairs written to be told apart by meaning, by phenomenon.

    python benchmarks/probes.py [-j embedded] [--written FOLDER...]

Without --written: benchmarks/probes/pairs.jsonl, written before any verdict was looked at. With it: the rows of the
written training data that are never trained on (those whose sha1(id) begins with f). Balanced accuracy of "entailed"
against the rest, or accuracy where a phenomenon has one label only; "sure": the share of verdicts with a probability
above 0.9 or below 0.1, and how many of these are right.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ragauge.questions import Entail
from ragauge.run.specs import load_judge
from ragauge.types import Failure, Label, Verdict

PAIRS = Path(__file__).parent / "probes/pairs.jsonl"
LEAST = 10  # rows of a phenomenon that is shown by itself


class Probe(NamedTuple):
    """A question, whether the answer is "entailed", and the phenomena it is counted under."""

    question: Entail
    entailed: bool
    under: tuple[str, ...]


def main() -> None:
    """Ask and print."""
    options = argparse.ArgumentParser()
    options.add_argument("-j", "--judge", default="embedded")
    options.add_argument("--written", type=Path, nargs="*")
    given = options.parse_args()
    probes = list(written(given.written) if given.written else packaged())
    found: dict[str, list[tuple[bool, float]]] = defaultdict(list)
    for probe, verdict in zip(probes, asyncio.run(verdicts(given.judge, probes)), strict=True):
        for name in probe.under:
            found[name].append((probe.entailed, verdict.probability or float(verdict.label == Label.ENTAILED)))
    print(f"{'':34}{'rows':>6}{'balanced':>10}{'sure':>8}{'right':>8}")
    for name, pairs in sorted(found.items(), key=lambda item: -len(item[1])):
        if len(pairs) >= LEAST:
            sure = [(chance >= 0.5) == label for label, chance in pairs if not 0.1 <= chance <= 0.9]
            right = f"{sum(sure) / len(sure):8.2f}" if sure else f"{'–':>8}"
            print(f"{name:34}{len(pairs):6}{balanced(pairs):10.2f}{len(sure) / len(pairs):8.2f}{right}")


async def verdicts(spec: str, probes: list[Probe]) -> list[Verdict]:
    """The judge's verdicts in order."""
    judge = load_judge(spec)
    answers = await judge.answer([probe.question for probe in probes])
    failed = [answer for answer in answers if isinstance(answer, Failure)]
    if failed:
        raise SystemExit(f"{len(failed)} questions were not answered: {failed[0].message}")
    return [answer for answer in answers if isinstance(answer, Verdict)]


def packaged() -> Iterator[Probe]:
    """The pairs beside this file."""
    for row in map(json.loads, PAIRS.read_text(encoding="utf-8").splitlines()):
        question = Entail((row["premise"],), row["claim"], row["query"])
        yield Probe(question, row["label"] == "entailed", ("all", row["phenomenon"]))


def written(folders: list[Path]) -> Iterator[Probe]:
    """The written rows that were not trained on."""
    for folder in folders:
        for name in ("documents", "short_premises", "answers"):
            lines = gzip.decompress((folder / f"{name}.jsonl.gz").read_bytes()).decode().splitlines()
            for row in map(json.loads, lines):
                if hashlib.sha1(row["id"].encode()).hexdigest()[0] == "f":
                    yield from _of_row(name, row)


def _of_row(name: str, row: dict[str, object]) -> Iterator[Probe]:
    for one in row["answers" if name == "answers" else "claims"]:  # type: ignore[attr-defined]
        premise = row["references"][0] if name == "answers" else row["text"]  # type: ignore[index]
        question = Entail((premise,), one["text"], row.get("query") if name != "documents" else None)
        under = (name,) if name == "answers" else (name, f"{name}: {one['why']}")
        yield Probe(question, one["label"] in ("entailed", "right"), under)


def balanced(pairs: list[tuple[bool, float]]) -> float:
    """Accuracy at one half, the mean of both labels' where both occur."""
    kinds = [[(chance >= 0.5) == kind for label, chance in pairs if label == kind] for kind in (True, False)]
    shares = [sum(own) / len(own) for own in kinds if own]
    return sum(shares) / len(shares)


if __name__ == "__main__":
    main()
