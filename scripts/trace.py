"""What one sample crosses on its way from the reader to the report: files, functions and depth of ragauge's own code.

    python scripts/trace.py [--judge function|embedded|llm] [--list]

Runs one sample through `ragauge run` with one metric, keeping nothing, and counts which functions of the package are
entered, apart from those that run while modules are imported, which are counted by themselves. Lambdas and
comprehensions belong to the function they stand in. The judge is one of two functions, the embedded one, or a model
behind the stub server of the tests. "changes": how often a function is entered after one of another file.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import ragauge

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = str(Path(ragauge.__file__).parent) + os.sep

JUDGE = """
import ragauge as rg


def decompose(text):
    return [piece.strip() for piece in text.split(".") if piece.strip()]


def entail(premise, hypothesis):
    return hypothesis in premise


judge = rg.judge_from(decompose=decompose, entail=entail)
"""
SAMPLE = {
    "query": "How long is the warranty?",
    "response": "It lasts two years. It is free.",
    "contexts": ["The warranty: It lasts two years"],
}


class Trace(NamedTuple):
    """What was entered.

    functions: pairs of file and name. deepest: the calls of the deepest stack, innermost first. entered: the file of
    each call, without repetitions in a row.
    """

    functions: set[tuple[str, str]]
    imported: set[tuple[str, str]]
    deepest: list[str]
    entered: list[str]

    @property
    def files(self) -> set[str]:
        """The files that the functions are defined in."""
        return {file for file, _ in self.functions}


class _Tracer:
    def __init__(self) -> None:
        self.trace = Trace(set(), set(), [], [])

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not _is_function(frame):
            return
        stack, importing, caller = [], False, frame
        while caller is not None:
            importing = importing or (caller.f_code.co_name == "<module>" and _is_ours(caller))
            if _is_function(caller):
                stack.append(f"{_file(caller)}:{caller.f_code.co_name}")
            caller = caller.f_back  # type: ignore[assignment]
        entered = self.trace.imported if importing else self.trace.functions
        entered.add((_file(frame), frame.f_code.co_qualname))
        if importing:
            return
        if len(stack) > len(self.trace.deepest):
            self.trace.deepest[:] = stack
        if self.trace.entered[-1:] != [_file(frame)]:
            self.trace.entered.append(_file(frame))


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(PACKAGE)


def _is_function(frame: FrameType) -> bool:
    return _is_ours(frame) and not frame.f_code.co_name.startswith("<")


def _file(frame: FrameType) -> str:
    return frame.f_code.co_filename.removeprefix(PACKAGE)


@contextmanager
def spec_of(judge: str) -> Iterator[str]:
    """The spec of a judge by its name; that of a model while its server runs."""
    if judge != "llm":
        yield {"function": "python:traced_judge:judge"}.get(judge, judge)
        return
    sys.path.insert(0, str(ROOT))
    from tests.llm.stub.process import StubServer

    os.environ["OPENAI_API_KEY"] = "none"
    with StubServer() as stub:
        yield f"openai/gpt-4o-mini?base_url={stub.url}"


def traced(spec: str) -> Trace:
    """One sample through the command."""
    from ragauge.cli import main

    tracer, home = _Tracer(), Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "traced_judge.py").write_text(JUDGE, encoding="utf-8")
        (Path(folder) / "one.jsonl").write_text(json.dumps(SAMPLE) + "\n", encoding="utf-8")
        os.chdir(folder)
        sys.path.insert(0, folder)
        threading.setprofile(tracer)
        sys.setprofile(tracer)
        try:
            main(["run", "one.jsonl", "-j", spec, "-m", "faithfulness", "--no-store"])
        except SystemExit as end:
            if end.code:
                raise
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            sys.path.remove(folder)
            os.chdir(home)
    return tracer.trace


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What one sample crosses.")
    parser.add_argument("--list", action="store_true", help="List the functions by file, and the deepest stack.")
    parser.add_argument("--judge", choices=["function", "embedded", "llm"], default="function", help="What is asked.")
    given = parser.parse_args()
    with spec_of(given.judge) as spec:
        trace = traced(spec)
    counts = f"files {len(trace.files)}, functions {len(trace.functions)}, depth {len(trace.deepest)}"
    print(f"{counts}, changes {len(trace.entered)}")
    print(f"while importing: functions {len(trace.imported)}")
    if given.list:
        for file, count in Counter(file for file, _ in trace.functions).most_common():
            print(f"{count:4} {file}: {', '.join(sorted(name for each, name in trace.functions if each == file))}")
        print("\n".join(trace.deepest))
