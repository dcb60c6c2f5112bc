"""How far preferences agree with people's: Pearson's correlation with what raters of pairs of answers say.

    python benchmarks/preference.py [--data FILE] [--judge JUDGE --prefer CRITERION]

FILE has RAGChecker's human-labelled pairs (Ru et al., 2024), one a line: query, reference, the answers a and b, the
grades of two raters from -2 to 2, and RAGChecker's own scores. Without --judge nothing but claims is preferred by, as
`ragauge compare --prefer claims` does; the embedded judge compares them with the reference.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import ragauge as rg
from ragauge.analysis.preference import BY_CLAIMS, Contest, preferences

DATA = Path(__file__).resolve().parents[1] / "shared" / "data" / "eval" / "pair_ragchecker.jsonl.gz"
SCORES = ("correctness", "completeness", "overall")


def pearson(one: Sequence[float], other: Sequence[float]) -> float:
    """Pearson's correlation."""
    return float(np.corrcoef(one, other)[0, 1])


def answers(pairs: Sequence[dict[str, Any]], side: str) -> list[dict[str, Any]]:
    """The answers of one side as rows."""
    return [
        {"id": pair["id"], "query": pair["query"], "references": [pair["reference"]], "response": pair[side]}
        for pair in pairs
    ]


def main() -> None:
    """Print the correlations."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--judge")
    parser.add_argument("--prefer", default="more complete, without errors")
    options = parser.parse_args()
    with gzip.open(options.data, "rt", encoding="utf-8") as lines:
        pairs = [json.loads(line) for line in lines]
    a, b = (rg.evaluate(answers(pairs, side), "answer_correctness") for side in "ab")
    contest = Contest(a, b, [(place, place) for place in range(len(pairs))])
    by_claims = preferences([contest], BY_CLAIMS, "embedded", None).values[0]
    lengths = [len(pair["b"].split()) - len(pair["a"].split()) for pair in pairs]
    rows: dict[str, dict[str, Any]] = {
        "claims, embedded judge": dict.fromkeys(SCORES, by_claims),
        "length": dict.fromkeys(SCORES, lengths),
    }
    rows["RAGChecker's own scores"] = {
        name: [pair["ragchecker_b"][name] - pair["ragchecker_a"][name] for pair in pairs] for name in SCORES
    }
    if options.judge:
        asked = preferences([contest], options.prefer, options.judge, None)
        print(asked.about)
        rows[f"“{options.prefer}”, {asked.about.judge}"] = dict.fromkeys(SCORES, asked.values[0])
    print(f"{len(pairs)} pairs\n\n| preferred by | {' | '.join(SCORES)} |\n|---|---|---|---|")
    for name, values in rows.items():
        found = [pearson(values[score], [sum(pair[score]) / 2 for pair in pairs]) for score in SCORES]
        print(f"| {name} | {' | '.join(f'{value:.3f}' for value in found)} |")
    raters = [pearson(*zip(*(pair[score] for pair in pairs), strict=True)) for score in SCORES]
    print(f"| one rater, with the other | {' | '.join(f'{value:.3f}' for value in raters)} |")


if __name__ == "__main__":
    main()
