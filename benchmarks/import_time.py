"""What `import ragauge` costs: the median time of a fresh interpreter with and without it.

python benchmarks/import_time.py [--rounds 30] [STATEMENT ...]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

STATEMENTS = ("import ragauge", "from ragauge.cli import main", "from ragauge import evaluate")


def main() -> None:
    """Print the medians in milliseconds and the difference to an interpreter that does nothing."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=30, help="interpreters started per statement")
    arguments.add_argument("statements", nargs="*", default=STATEMENTS, metavar="STATEMENT")
    given = arguments.parse_args()
    statements = ["pass", *given.statements]
    times: dict[str, list[float]] = {statement: [] for statement in statements}
    for _ in range(given.rounds):
        for statement in statements:  # in turn, so that a busy machine is busy for all
            times[statement].append(_milliseconds(statement))
    idle = statistics.median(times["pass"])
    for statement, taken in times.items():
        median = statistics.median(taken)
        print(f"{median:8.1f} ms  {median - idle:+8.1f} ms  python -c {statement!r}")


def _milliseconds(statement: str) -> float:
    source = str(Path(__file__).resolve().parents[1] / "src")
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True, env={**os.environ, "PYTHONPATH": source})
    return 1000 * (time.perf_counter() - start)


if __name__ == "__main__":
    main()
