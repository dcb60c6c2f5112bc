"""One cell of a table or JSON object: absent, text, yes or no, or anything JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import date, time
from decimal import Decimal
from typing import Any
from uuid import UUID

#: How deep objects and lists may be nested: what reads and writes them goes one call deeper with each level.
DEEPEST = 100


class Malformed(Exception):
    """A value or row cannot be read. Its place is added by whoever knows it."""

    def __init__(self, problem: str, fix: str) -> None:
        self.problem, self.fix = problem, fix
        super().__init__(f"{problem}; {fix}")


def native(value: Any) -> Any:
    """The value as plain Python: numpy and series to numbers or lists; NaN, NaT and pandas.NA to None."""
    if type(value) is str:
        return value
    unboxed = getattr(value, "tolist", None) or getattr(value, "to_list", None)
    value = unboxed() if callable(unboxed) else value
    return None if _is_missing(value) else value


def _is_missing(value: Any) -> bool:
    return (isinstance(value, float) and math.isnan(value)) or type(value).__name__ in ("NAType", "NaTType")


def text(value: Any) -> str:
    """The text of a cell that is not absent; a number is written as people write it (411.0 is "411")."""
    if isinstance(value, str):
        return _encodable(value)
    if isinstance(value, bool):
        raise Malformed("a boolean, not text", 'write the words that are meant, such as "yes" and "no"')
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, int | Decimal | date | time | UUID) or (isinstance(value, float) and math.isfinite(value)):
        return str(value)
    raise Malformed(f"{describe(value)}, not text", "give it as one string")


def _encodable(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        problem = f"character {error.start + 1} is half of a surrogate pair, which is no text"
        raise Malformed(problem, "write the character whole, or leave it out") from None
    return str(value)


def text_or_none(value: Any) -> str | None:
    """The text of a cell, or None where the cell is absent or blank."""
    value = native(value)
    if value is None:
        return None
    written = text(value)
    return written if written.strip() else None


def truth(value: Any) -> bool | None:
    """Yes or no: true and false, 1 and 0, or the words true, false, yes, no; None where absent or blank."""
    value = native(value)
    if isinstance(value, bool):
        return value
    word = text_or_none(value)
    if word is None:
        return None
    known = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if (answer := known.get(word.strip().casefold())) is None:
        raise Malformed(f"{word!r} is neither yes nor no", "write true or false")
    return answer


def plain(value: Any, depth: int = 0) -> Any:
    """The value as JSON can hold it: dates and unknown objects as text, whatever is not a number as None.

    Raises Malformed for what is nested more than DEEPEST levels deep, `depth` levels above it counted.
    """
    value = native(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item, _below(depth)) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item, _below(depth)) for item in value]
    return str(value).encode("utf-8", "replace").decode()


def _below(depth: int) -> int:
    if depth >= DEEPEST:
        raise Malformed(f"objects or lists nested more than {DEEPEST} levels deep", "keep only what is needed of them")
    return depth + 1


def without_missing(items: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs whose value is not absent, each value as JSON can hold it."""
    return {name: plain(value) for name, value in items if native(value) is not None}


def describe(value: Any) -> str:
    """What a value is, in words, for messages."""
    if isinstance(value, Mapping):
        return "an object"
    words = {"NoneType": "null", "list": "a list", "bool": "a boolean", "str": "a text", "int": "a number"}
    name = type(value).__name__
    return words.get(name, f"a value of type {name}")
