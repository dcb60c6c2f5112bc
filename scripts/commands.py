"""Run the commands that README and docs show, as they stand there, and print what each answered.

    python scripts/commands.py [PAGE ...]

Those are the lines of blocks marked `sh`, and those of `console` blocks that begin with `$`. Each page has a
folder of its own with the files that its commands name, and language models are the stub server of the tests. A command
is not run if it needs what is not here, or if `NOT_RUN` says why, which the table repeats. Exit code 1: one failed.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.llm.stub.process import StubServer

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    *(page for folder in ("", "migrating", "measured") for page in sorted((ROOT / "docs" / folder).glob("*.md"))),
]
LIMIT = 300  # seconds

NOT_RUN = {
    r"pip install|scripts/test\.sh": "run by .ci/run",
    r"python benchmarks/": "takes minutes; the page quotes what it prints",
    r"hf/": "a model of the Hub; tests/nli runs small ones",
    r"--from mlflow:": "needs an experiment with traces; tests/compat/test_mlflow.py has one",
}
MODULES = {  # a command that has this: what the extra that its page names installs
    r"--engine ray|--workers": "ray",
    r"--corpus|-m trust|--kinds .*unanswerable|dataset questions .*--from|-m retrieval_recall": "bm25s",
    r"valid_calls": "jsonschema",
    r"postgresql://": "psycopg",
    r"mlflow:": "mlflow",
    r"wandb:": "wandb",
}
SERVERS = {
    "http://localhost:4318": "a collector; tests/report/test_otlp.py has a receiver",
    "ray:10.0.0.1:6379": "a cluster and a bucket; tests/run/test_ray.py has them",
    "postgresql://writer@db.example.org/evals": "PostgreSQL; tests/docs has one",
}
ENDLESS = re.compile(r"--watch|ragauge view|ragauge label(?!.*--(read|write))")  # stopped after some seconds


@dataclass
class Outcome:
    """A command of a page: its exit code, None if it was not run, and what it printed, or why it was not run."""

    page: str
    command: str
    code: int | None
    printed: str

    def __str__(self) -> str:
        state = {None: "not run", 0: "ok"}.get(self.code, f"exit {self.code}")
        lines = [line.strip() for line in self.printed.splitlines() if line.strip()]
        return f"{self.page} | {self.command} | {state} | {lines[-1][:100] if lines else ''}"


def commands(page: Path) -> list[str]:
    """The commands of a page; a line that ends with a backslash goes on."""
    text = page.read_text(encoding="utf-8")
    lines: list[str] = []
    for language, block in re.findall(r"^```(sh|console)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        block = re.sub(r"\\\n\s*", "", block)
        lines += [line for line in block.splitlines() if language == "sh" or line.startswith("$ ")]
    return [line.removeprefix("$ ") for line in lines]


def outcomes(
    page: Path, folder: Path, environment: Mapping[str, str], replaced: Mapping[str, str]
) -> Iterator[Outcome]:
    """Run the commands of a page one after the other in a folder.

    replaced: what stands in a command -> what is run in its place, such as the addresses of servers.
    """
    name = str(page.relative_to(ROOT))
    write_files(folder)
    for command in commands(page):
        reason = why_not(command, replaced)
        if reason:
            yield Outcome(name, command, None, reason)
            continue
        line = command
        for text, other in replaced.items():
            line = line.replace(text, other)
        if ENDLESS.search(line):
            line = f"timeout 10 {line}\ntest $? = 124"
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", line],
            cwd=folder,
            env={**os.environ, **environment, "HOME": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT,
        )
        yield Outcome(name, command, done.returncode, done.stdout)


def why_not(command: str, replaced: Mapping[str, str]) -> str | None:
    """Why a command is not run here, None where it is."""
    reasons = [reason for pattern, reason in NOT_RUN.items() if re.search(pattern, command)]
    reasons += [f"needs {server}" for text, server in SERVERS.items() if text in command and text not in replaced]
    modules = [module for pattern, module in MODULES.items() if re.search(pattern, command)]
    reasons += [f"needs {module}; the tests have it" for module in modules if not importlib.util.find_spec(module)]
    return reasons[0] if reasons else None


def stubs(server: StubServer) -> tuple[dict[str, str], dict[str, str]]:
    """The environment in which commands meet the stub server in place of providers, and what is replaced in them."""
    environment = {
        "PATH": f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}",
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": server.url,
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_BASE_URL": server.url,
        "OLLAMA_HOST": server.root,
        "BROWSER": "true",
    }
    replaced = {
        "http://host:8000/v1": server.url,
        "base_url=...": f"base_url={server.url}",
        "export OPENAI_API_KEY=...": "export OPENAI_API_KEY=none",
        "tail -n +1 -f": "tail -n +1",
    }
    return environment, replaced


def write_files(folder: Path) -> None:
    """The files that commands name: rows of the demo, and people's labels and other systems' scores of them."""
    lines = (ROOT / "src/ragauge/demo/candidate.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)[:12]
    rows = [json.loads(line) for line in lines]
    for name in ("labelled", "logs", "answers", "ours", ".config/fish/completions"):
        (folder / name).mkdir(parents=True)
    (folder / "ours/entail.md").write_text("A claim is entailed if the texts say so.\n", encoding="utf-8")
    for name in ("answers", "old", "new", "main", "branch", "data", "samples", "logs/today"):
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")

    shutil.copy(ROOT / "tests/readers/exports/otlp.jsonl", folder / "traces.jsonl")
    pairs = [{"query": row["query"], "response": row["response"], "answer_2": "I do not know."} for row in rows]
    write_lines(folder / "pairs.jsonl", pairs)
    said = [
        [
            {"role": "user", "content": row["query"]},
            {"role": "assistant", "content": row["response"], "contexts": row["contexts"]},
        ]
        for row in rows
    ]
    write_lines(folder / "chats.jsonl", [{"id": "c", "messages": [message for pair in said[:3] for message in pair]}])

    if importlib.util.find_spec("pyarrow"):
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), folder / "answers/part.parquet")

    claims = [
        (f"The bridge of town {n} is red.", f"The {thing} of town {n} is red.", thing)
        for n in range(80)
        for thing in ("bridge", "harbour tunnel")
    ]
    labelled = [
        {"premise": premise, "claim": claim, "label": int(thing == "bridge")} for premise, claim, thing in claims
    ]
    write_lines(folder / "labelled/ent_bridges.jsonl", labelled)
    labels = [
        {
            "question": {"kind": "entail", "premise": [row["premise"]], "hypothesis": row["claim"]},
            "answer": "entailed" if row["label"] else "neutral",
            "by": "ann",
        }
        for row in labelled
    ]
    write_lines(folder / "labels.jsonl", labels)

    right, wrong = ({"name": "cancel_order", "arguments": {"id": id}, "result": "ok"} for id in (7, 8))
    for name, made in (("trials", (right, wrong)), ("new_trials", (right, right))):
        trial = {"query": "Cancel order 7.", "response": "I have cancelled it.", "reference_tool_calls": [right]}
        calls = [[{"name": "get_order", "arguments": {"id": 7}, "result": "open"}, call] for call in made * 4]
        trials = [{**trial, "tool_calls": call, "group": str(task // 4)} for task, call in enumerate(calls)]
        write_lines(folder / f"{name}.jsonl", [{**one, "outcome": one["tool_calls"][1] == right} for one in trials])

    area = {"name": "area", "parameters": {"type": "dict", "properties": {"side": {"type": "integer"}}}}
    asked = {"question": [[{"role": "user", "content": "How large is a square of 4 m?"}]], "function": [area]}
    (folder / "possible_answer").mkdir()
    benchmark: dict[str, dict[str, object]] = {
        "BFCL_v4_multiple.json": asked,
        "possible_answer/BFCL_v4_multiple.json": {"ground_truth": [{"area": {"side": [4]}}]},
        "BFCL_v4_multiple_result.json": {"result": [{"area": '{"side": 4}'}], "input_token_count": 90},
    }
    for name, row in benchmark.items():
        write_lines(folder / name, [{"id": "multiple_0", **row}])

    with (folder / "scores.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["user_input", "response", "retrieved_contexts", "faithfulness"])
        table.writerows([row["query"], row["response"], json.dumps(row["contexts"]), 1.0] for row in rows)
    write_lines(folder / "scores.jsonl", [{"query": row["query"], "Faithfulness": 1.0} for row in rows])
    measured = [{"name": "Faithfulness", "score": 1.0}]
    write_lines(folder / "results.json", [{"input": row["query"], "metrics_data": measured} for row in rows])


def write_lines(path: Path, rows: Iterable[object]) -> None:
    """Rows as lines of JSON."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def main(pages: list[Path]) -> int:
    """Print the table; the exit code is 1 if a command failed, whose whole output is printed too."""
    failed = False
    with StubServer() as server:
        for page in filter(commands, pages):
            with tempfile.TemporaryDirectory() as folder:
                for outcome in outcomes(page, Path(folder), *stubs(server)):
                    print(outcome, flush=True)
                    if outcome.code:
                        failed = True
                        print(outcome.printed)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main([Path(name).resolve() for name in sys.argv[1:]] or PAGES))
