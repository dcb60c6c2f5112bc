from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FILES = sorted(TESTS.rglob("test_*.py"))
SPEAKING = {"raises", "fail", "warns"}


def _tests(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node


def _asserts(test: ast.AST, checks: set[str]) -> bool:
    """Whether a test asserts, expects an exception, or calls something in its file or in ours that does."""
    for node in ast.walk(test):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in SPEAKING or name in checks or name.startswith(("assert_", "check_", "to_have_", "to_be_")):
                return True
    return False


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_every_test_says_what_it_proves_and_proves_it(path: Path) -> None:
    """Each test function has a docstring that is a sentence, and at least one assertion."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    checks = {function.name for function in functions if _asserts(function, set())}
    for test in _tests(tree):
        reply = ast.get_docstring(test) or ""
        assert reply.strip(), f"{path.name}: {test.name} has no docstring"
        assert reply.rstrip().endswith((".", "?", '."')), f"{path.name}: the docstring of {test.name} is no sentence"
        assert _asserts(test, checks), f"{path.name}: {test.name} asserts nothing"


def test_tests_have_names_of_their_own() -> None:
    """No file defines two tests of one name, of which only the last would run."""
    for path in FILES:
        names = [
            test.name for test in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(test, ast.FunctionDef)
        ]
        assert len(names) == len(set(names)), path.name
