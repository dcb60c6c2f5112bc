from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src"

#: Names that say nothing of what they hold.
EMPTY_NAMES = {"one", "found", "known", "at", "given", "each"}

#: Bindings of these names that remain. It may only fall.
MOST = 7


def bindings(tree: ast.AST) -> Iterator[str]:
    """The names that a module binds to variables and parameters."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def test_variables_are_named_for_what_they_hold() -> None:
    """No more variables and parameters than before are called `one`, `found`, `known`, `at`, `given` or `each`."""
    counts = {
        str(path.relative_to(SOURCES)): sum(name in EMPTY_NAMES for name in bindings(ast.parse(path.read_bytes())))
        for path in sorted(SOURCES.rglob("*.py"))
    }
    assert len(counts) > 100
    assert sum(counts.values()) <= MOST, {path: count for path, count in counts.items() if count}
