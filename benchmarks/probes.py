"""How often a judge is right on pairs written to be told apart by meaning, by phenomenon.

    python benchmarks/probes.py [-j embedded] [FILE...]

The files are those of benchmarks/probes, written before any verdict on them was seen: by default `assistants`, ordinary
sentences of assistants about what was retrieved, `pairs`, which are harder, `correctness`, answers held against short
references, and `tempting`, which are harder. Prints AUC and the balanced accuracy of "entailed" or "right" against the
rest, with a 95 % interval by resampling texts, and how many labels are among the expected ones.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ragauge.analysis.measure import figure
from ragauge.questions import Correct, Entail
from ragauge.run.specs import load_judge
from ragauge.statistics.agreement import auc, balanced_accuracy
from ragauge.types import POSITIVE, Failure, Verdict

FOLDER, FILES = Path(__file__).parent / "probes", ("assistants", "pairs", "correctness", "tempting")


class Probe(NamedTuple):
    """A question, the labels that are right, the first of them best, and the phenomenon that decides."""

    question: Entail | Correct
    labels: Sequence[str]
    phenomenon: str

    @property
    def positive(self) -> bool:
        """Whether the answer is "entailed" or "right"."""
        return self.labels[0] in POSITIVE


def main() -> None:
    """Ask and print."""
    options = argparse.ArgumentParser()
    options.add_argument("-j", "--judge", default="embedded")
    options.add_argument("files", type=Path, nargs="*", default=[FOLDER / f"{name}.jsonl" for name in FILES])
    given = options.parse_args()
    for file in given.files:
        probes = list(read(file))
        by_phenomenon: dict[str, list[tuple[Probe, Verdict]]] = defaultdict(list)
        for probe, verdict in zip(probes, asyncio.run(verdicts(given.judge, probes)), strict=True):
            for name in ("all", probe.phenomenon):
                by_phenomenon[name].append((probe, verdict))
        print(f"{file.stem:20}{'claims':>8}{'labels':>8}{'AUC':>8}{'balanced':>10}")
        for name, pairs in sorted(by_phenomenon.items(), key=lambda item: (-len(item[1]), item[0])):
            right = sum(verdict.label in probe.labels for probe, verdict in pairs)
            print(f"{name:20}{len(pairs):8}{right:8}{figures(pairs)}")


def read(file: Path) -> Iterator[Probe]:
    """The probes of a file: texts with several claims, one claim a row, or an answer and its references."""
    for row in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
        if "references" in row:
            question = Correct(row["query"], row["response"], tuple(row["references"]))
            yield Probe(question, row["labels"], row["phenomenon"])
            continue
        texts = tuple(row.get("chunks") or [row["premise"]])
        for one in row.get("claims") or [{**row, "text": row["claim"]}]:
            yield Probe(Entail(texts, one["text"], row["query"]), [one["label"]], one["phenomenon"])


async def verdicts(spec: str, probes: Sequence[Probe]) -> list[Verdict]:
    """The judge's verdicts in order."""
    answers = await load_judge(spec).answer([probe.question for probe in probes])
    failed = [answer for answer in answers if isinstance(answer, Failure)]
    if failed:
        raise SystemExit(f"{len(failed)} questions were not answered, the first because {failed[0]}")
    return [answer for answer in answers if isinstance(answer, Verdict)]


def figures(pairs: Sequence[tuple[Probe, Verdict]]) -> str:
    """AUC, and balanced accuracy with its interval."""
    labels = [float(probe.positive) for probe, _ in pairs]
    positive = [float(verdict.label in POSITIVE) for _, verdict in pairs]
    by_text = [probe.question.subject for probe, _ in pairs]
    area = auc(labels, [verdict.probability or 0.0 for _, verdict in pairs])
    balanced = figure(labels, positive, by_text, balanced_accuracy)
    if area is None or balanced is None or balanced.value is None:
        return f"{'–':>8}"
    return f"{area:8.2f}{balanced.value:10.2f}  {balanced.low:.2f}–{balanced.high:.2f}"


if __name__ == "__main__":
    main()
