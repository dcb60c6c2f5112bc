"""How long reports of large runs take, and how much memory, against the run itself.

    python benchmarks/reports.py [--sizes 10000 100000 1000000] [--forms html xml sarif json csv]

Each run measures rows of a file by six cheap metrics into a store on disk; then each report is written, in a process of
its own. Printed are seconds of CPU, their ratio to the run, the peak of memory and the size of the file.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import ragauge as rg

METRICS = "token_f1,exact_match,rouge(types=rougeL),bleu,max_words(20),json_valid"


def main() -> None:
    """Print the table, or write one report."""
    options = argparse.ArgumentParser()
    options.add_argument("--sizes", nargs="+", type=int, default=[10_000, 100_000, 1_000_000])
    options.add_argument("--forms", nargs="+", default=["html", "xml", "sarif", "json", "csv"])
    options.add_argument("--work", help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.work:
        print(json.dumps(worked(Path(asked.work), asked.sizes[0], asked.forms[0])))
        return
    print(f"{'':8}{'rows':>10}{'CPU s':>9}{'of run':>8}{'peak MB':>9}{'file MB':>9}")
    for rows in asked.sizes:
        with TemporaryDirectory() as folder:
            whole = None
            for form in ("run", *asked.forms):
                command = [sys.executable, __file__, f"--sizes={rows}", f"--forms={form}", f"--work={folder}"]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                seconds, peak, size = json.loads(done.stdout)
                whole = whole or seconds
                print(f"{form:8}{rows:10,}{seconds:9.1f}{seconds / whole:8.2f}{peak:9.0f}{size:9.1f}", flush=True)


def worked(folder: Path, rows: int, form: str) -> tuple[float, float, float]:
    """Make the run, or write one report of it: seconds of CPU, peak megabytes, and megabytes of the file."""
    started, path = time.process_time(), folder / f"report.{form}"
    if form == "run":
        with (folder / "rows.jsonl").open("w") as file:
            for n in range(rows):
                row = {"query": f"Who built tower {n}?", "response": f"Ada built {n % 97} towers in {n}."}
                file.write(json.dumps({**row, "references": [f"Ada built tower {n}."]}) + "\n")
        rg.evaluate(folder / "rows.jsonl", METRICS, store=folder / "store")
    else:
        rg.Run.open(folder / "store").save(path)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return time.process_time() - started, peak, path.stat().st_size / 1e6 if path.exists() else 0.0


if __name__ == "__main__":
    main()
