"""One cell of a table or JSON object: missing, text, boolean, a list, or anything JSON can hold."""

from __future__ import annotations

import ast
import io
import json
import math
import re
import tokenize
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from typing import Any
from uuid import UUID

#: How deep objects and lists may be nested, since encoders and decoders recurse.
MAX_DEPTH = 100


class Malformed(Exception):
    """A value or row cannot be read. The caller that knows its place adds it."""

    def __init__(self, problem: str, fix: str) -> None:
        self.problem, self.fix = problem, fix
        super().__init__(f"{problem}; {fix}")


def native(value: Any) -> Any:
    """The value as plain Python: numpy and series to numbers or lists; NaN, NaT and pandas.NA to None."""
    if type(value) is str:
        return value
    unboxed = getattr(value, "tolist", None) or getattr(value, "to_list", None)
    value = unboxed() if callable(unboxed) else value
    missing = (isinstance(value, float) and math.isnan(value)) or type(value).__name__ in ("NAType", "NaTType")
    return None if missing else value


def text(value: Any) -> str:
    """The text of a cell that is not missing; whole numbers lose their decimal point (411.0 is "411")."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            problem = f"character {error.start + 1} is half of a surrogate pair, which is not text"
            raise Malformed(problem, "write the whole character, or leave it out") from None
        return str(value)
    if isinstance(value, bool):
        raise Malformed("a boolean, not text", 'write it as text, such as "yes" or "no"')
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, int | Decimal | date | time | UUID) or (isinstance(value, float) and math.isfinite(value)):
        return str(value)
    raise Malformed(f"{describe(value)}, not text", "give it as one string")


def text_or_none(value: Any) -> str | None:
    """The text of a cell, or None where the cell is missing or blank."""
    value = native(value)
    return None if is_blank(value) else text(value)


def is_blank(value: Any) -> bool:
    """Whether a value is None or a text without anything but white space."""
    return value is None or (isinstance(value, str) and not value.strip())


def boolean(value: Any) -> bool | None:
    """True or false, from booleans, 1 and 0, or the words true, false, yes and no; None where missing or blank."""
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


def jsonable(value: Any, depth: int = 0) -> Any:
    """The value as JSON can hold it: dates and unknown objects as text, missing values as None.

    Raises Malformed for values nested more than MAX_DEPTH levels deep, counted from `depth`.
    """
    value = native(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): jsonable(item, _deeper(depth)) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(item, _deeper(depth)) for item in value]
    return str(value).encode("utf-8", "replace").decode()


def _deeper(depth: int) -> int:
    if depth >= MAX_DEPTH:
        raise Malformed(f"objects or lists nested more than {MAX_DEPTH} levels deep", "keep only the needed parts")
    return depth + 1


def without_missing(items: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs whose value is not missing, each value as JSON can hold it."""
    return {name: jsonable(value) for name, value in items if native(value) is not None}


def describe(value: Any) -> str:
    """The type of a value in words, for messages."""
    if isinstance(value, Mapping):
        return "an object"
    words = {"NoneType": "null", "list": "a list", "bool": "a boolean", "str": "a text", "int": "a number"}
    name = type(value).__name__
    return words.get(name, f"a value of type {name}")


#: A list of strings or objects starts like this. "[1] A footnote" and "[[wiki link]]" do not.
_LIST = re.compile(r"""\s*\[\s*(["'{]|\[\s*["'{\]]|(null|None|nan)\s*[,\]]|\]\s*$)""")
_OBJECT = re.compile(r"""\s*\{\s*["'}]""")

_UNREADABLE = (ValueError, SyntaxError, tokenize.TokenError, RecursionError, MemoryError)


def parse_list(text: str) -> list[Any] | None:
    """The list that is written in a text as JSON, Python or NumPy print it; None where it is another text.

    Raises Malformed where the text starts as a list of strings or objects does but cannot be parsed.
    """
    if not _LIST.match(text):
        return None
    found = _parsed(text.strip())
    if isinstance(found, list):
        return found
    raise Malformed("a broken list", 'write it as JSON: ["first", "second"]')


def parse_object(text: str) -> dict[str, Any] | None:
    """The object that is written in a text; None where it is another text."""
    found = _parsed(text.strip()) if _OBJECT.match(text) else None
    return found if isinstance(found, dict) else None


def list_items(value: Any, written: bool = True) -> Sequence[Any] | None:
    """The items of a list, or with `written` of a list that is written in a text; None for other values.

    Raises Malformed as `parse_list` does.
    """
    found = parse_list(value) if written and isinstance(value, str) else value
    return found if isinstance(found, list | tuple) else None


def _parsed(text: str) -> Any:
    for parse in (json.loads, _parse_numpy, ast.literal_eval):
        try:
            return parse(text)
        except _UNREADABLE:
            continue
    return None


def _parse_numpy(text: str) -> list[Any]:
    """Parse "['a' 'b']", which to Python is a list of one item, 'ab', and so must be tried before Python's parser."""
    layout = (tokenize.NEWLINE, tokenize.NL, tokenize.ENDMARKER)
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in layout]
    first, *items, last = tokens
    if (first.string, last.string) != ("[", "]") or any(token.type != tokenize.STRING for token in items):
        raise ValueError(text)
    return [ast.literal_eval(token.string) for token in items]
