"""Run the unit tests that other systems publish for their metrics against our doors, and count what passes.

    python benchmarks/peer_tests.py ragas --source CHECKOUT

Each import of the system in its tests finds the door instead. A test that uses what the door has not, such as parts of
the system's own machinery, or that the system itself skips, for lack of a key, is not applicable. Nothing is changed in
the checkout, and no test of it is kept here.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ragauge.compat import NotOffered


@dataclass(frozen=True)
class Peer:
    """A system: the package that its tests import, our door to it, its tests of metrics that we offer, and options."""

    package: str
    door: str
    tests: Sequence[str]
    options: Sequence[str] = ()


PEERS = {
    "valor": Peer(
        "valor_lite",
        "ragauge.compat.valor",
        ["tests/text_generation/metrics", "tests/text_generation/test_evaluator.py"],
    ),
    "ragas": Peer(
        "ragas",
        "ragauge.compat.ragas",
        [
            *(f"tests/unit/test_{name}.py" for name in ("chrf_score", "dataset_schema", "metric", "simple")),
            *(f"tests/unit/test_{name}.py" for name in ("import", "validation", "simple_llm_metric_persistence")),
            "tests/e2e/metrics_migration",
        ],
    ),
    "rag_evals": Peer("rag_evals", "ragauge.compat.rag_evals", ["tests"]),
    "deepeval": Peer(
        "deepeval",
        "ragauge.compat.deepeval",
        [
            *(f"tests/test_metrics/test_{name}_metric.py" for name in ("faithfulness", "answer_relevancy", "bias")),
            *(f"tests/test_metrics/test_contextual_{name}_metric.py" for name in ("precision", "recall", "relevancy")),
            *(f"tests/test_metrics/test_{name}_metric.py" for name in ("hallucination", "toxicity", "summarization")),
            "tests/test_metrics/test_answer_relevancy_metric_empty_output.py",
            "tests/test_metrics/test_g_eval_metric.py",
            "tests/test_metrics/test_g_eval_utils.py",
            "tests/test_core/test_test_case",
            "tests/test_core/test_evaluation/test_metric_success.py",
        ],
        ["--noconftest"],  # its fixtures reset its own settings
    ),
}


class Lacking:
    """A name that the door has not. A test that uses it is skipped; one that only imports it is not."""

    def __init__(self, name: str, why: str = "") -> None:
        self._lacking = f"uses {name}{why}"

    def __new__(cls, *_: Any) -> Lacking:
        """A name that the door has not; a class that the door has not has no instances."""
        return object.__new__(cls) if isinstance(cls, type) else cls()

    def __call__(self, *_: Any, **__: Any) -> Any:
        """Skip the test that runs."""
        pytest.skip(self._lacking, allow_module_level=True)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Lacking(f"{self._lacking.removeprefix('uses ')}.{name}")

    def __mro_entries__(self, _: Any) -> tuple[type, ...]:
        return (object,)


class Alias(ModuleType):
    """A module of the system, with the names of our door."""

    door: str

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        hint = ""
        for module in (self.door + self.__name__.partition(".")[1] + self.__name__.partition(".")[2], self.door):
            try:
                return getattr(import_module(module), name)
            except (AttributeError, ImportError) as error:
                hint = f": {str(error).partition('; ')[2]}" if isinstance(error, NotOffered) else hint
        return Lacking(f"{self.__name__}.{name}", hint)


@dataclass
class Doors(MetaPathFinder, Loader):
    """Finds the door for every module of a package."""

    peer: Peer

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The module, if it is of the package."""
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] == self.peer.package else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """A module that reads our door."""
        module = Alias(spec.name)
        module.door = self.peer.door
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is run."""


@dataclass(eq=False)
class Outcomes:
    """A plugin of pytest that counts outcomes and keeps the causes, and runs asynchronous tests."""

    counts: Counter[str] = field(default_factory=Counter)
    causes: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: {"failed": [], "not applicable": []})

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: Any) -> bool | None:
        """Run a coroutine to its end."""
        if not inspect.iscoroutinefunction(pyfuncitem.obj):
            return None
        wanted = pyfuncitem._fixtureinfo.argnames
        asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in wanted}))
        return True

    def pytest_collectreport(self, report: Any) -> None:
        """A file that cannot be collected is one outcome."""
        if report.outcome != "passed":
            self._keep(report)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """The outcome of a test."""
        if report.when == "call" or report.outcome != "passed":
            self._keep(report)

    def _keep(self, report: Any) -> None:
        outcome = "not applicable" if report.outcome == "skipped" else report.outcome
        self.counts[outcome] += 1
        if outcome in self.causes:
            text = report.longrepr
            crash = getattr(text, "reprcrash", None)
            cause = text[2] if isinstance(text, tuple) else crash.message if crash else str(text).splitlines()[-1]
            self.causes[outcome].append((report.nodeid, " ".join(cause.split())[:160]))


def main() -> None:
    """Run the tests of one system and print a table of the outcomes, then the causes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("system", choices=PEERS)
    parser.add_argument("--source", type=Path, required=True, help="a checkout of the system, or its unpacked sdist")
    given = parser.parse_args()
    peer = PEERS[given.system]
    found = [path for name in peer.tests if (path := given.source.resolve() / name).exists()]
    if not found:
        parser.error(f"{given.source} has none of {', '.join(peer.tests)}; name the folder that holds tests/")
    sys.dont_write_bytecode = True
    sys.meta_path.insert(0, Doors(peer))
    sys.path.insert(0, str(given.source.resolve()))
    outcomes = Outcomes()
    quiet = [
        "-q",
        "--no-header",
        "--no-summary",
        "-p",
        "no:cacheprovider",
        "--import-mode=importlib",
        "-c",
        "/dev/null",
    ]
    pytest.main([*quiet, f"--rootdir={given.source.resolve()}", *peer.options, *map(str, found)], plugins=[outcomes])
    print("\n| system | passed | failed | not applicable |\n|---|---|---|---|")
    cells = (outcomes.counts[outcome] for outcome in ("passed", "failed", "not applicable"))
    print(f"| {given.system} | {' | '.join(map(str, cells))} |")
    for outcome, causes in outcomes.causes.items():
        grouped = Counter(cause for _, cause in causes)
        print(f"\n{outcome}:", *(f"{count} × {cause}" for cause, count in grouped.most_common()), sep="\n  ")


if __name__ == "__main__":
    main()
