"""Counts where the package branches on a kind of question, outside of the kinds themselves.

    python scripts/branches.py [--list] [FOLDER]

A branch is an `isinstance`, a class pattern of `match`, or a comparison with a kind's class; a comparison or a set
operation with a kind's name; or a dict by kind. Judges and needs that name the kinds which they answer and ask, in a
frozenset or a list, do not branch by it.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from pathlib import Path

from ragauge.questions import KIND_TYPES

#: The kinds themselves, and the module that gives them their public names.
HOMES = ("kinds", "questions.py")

_CLASSES = frozenset(kind.__name__ for kind in KIND_TYPES.values())
_OPERATORS = (ast.BitAnd, ast.BitOr, ast.Sub, ast.BitXor)


def branches(folder: Path) -> Iterator[tuple[str, int]]:
    """The file and line of each branch on a kind in a package."""
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder)
        if name.parts[0] not in HOMES:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            yield from ((str(name), node.lineno) for node in ast.walk(tree) for node in _branches_at(node))


def _branches_at(node: ast.AST) -> Iterator[ast.expr | ast.pattern]:
    match node:
        case ast.Call(func=ast.Name("isinstance"), args=[_, classes]) if _names_class(classes):
            yield node
        case ast.MatchClass(cls=ast.Name(name)) if name in _CLASSES:
            yield node
        case ast.Compare() if any(map(_is_kind, (node.left, *node.comparators))):
            yield node
        case ast.BinOp(op=op) if isinstance(op, _OPERATORS) and any(map(_is_set_of_kinds, (node.left, node.right))):
            yield node
        case ast.Dict() if (keys := [key for key in node.keys if key]) and all(map(_is_kind, keys)):
            yield node


def _is_kind(node: ast.expr) -> bool:
    return _names_kind(node) or _is_class(node)


def _is_class(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in _CLASSES


def _names_class(node: ast.expr) -> bool:
    return any(isinstance(part, ast.expr) and _is_class(part) for part in ast.walk(node))


def _names_kind(node: ast.expr) -> bool:
    """Whether this is the name of a kind or of a topic, or a collection that has one."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return any(map(_names_kind, node.elts))
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.partition(":")[0] in KIND_TYPES


def _is_set_of_kinds(node: ast.expr) -> bool:
    return isinstance(node, ast.Set) and _names_kind(node)


def main() -> None:
    """Print the number of branches, and of the files that they are in."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parents[1] / "src/ragauge")
    parser.add_argument("--list", action="store_true", help="print where they are")
    arguments = parser.parse_args()
    found = list(branches(arguments.folder))
    if arguments.list:
        print("\n".join(f"{name}:{line}" for name, line in found))
    print(f"branches {len(found)}, files {len({name for name, _ in found})}")


if __name__ == "__main__":
    main()
