"""Lists and objects written as text inside a cell: JSON, a Python literal, or what numpy prints."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from typing import Any

from ragauge.readers.values import Malformed

#: A list of strings or objects starts like this. "[1] A footnote" and "[[wiki link]]" do not.
_LIST = re.compile(r"""\s*\[\s*(["'{]|\[\s*["'{\]]|(null|None|nan)\s*[,\]]|\]\s*$)""")
_OBJECT = re.compile(r"""\s*\{\s*["'}]""")

_UNREADABLE = (ValueError, SyntaxError, tokenize.TokenError, RecursionError, MemoryError)


def list_in(text: str) -> list[Any] | None:
    """The list that `text` spells, or None where the text is just text.

    Raises Malformed where the text starts as a list of strings or objects does but cannot be read as one.
    """
    if not _LIST.match(text):
        return None
    found = _parsed(text.strip())
    if isinstance(found, list):
        return found
    raise Malformed("a broken list", 'write it as JSON: ["first", "second"]')


def object_in(text: str) -> dict[str, Any] | None:
    """The object that `text` spells, or None where the text is just text."""
    found = _parsed(text.strip()) if _OBJECT.match(text) else None
    return found if isinstance(found, dict) else None


def _parsed(text: str) -> Any:
    for parse in (json.loads, _printed_by_numpy, ast.literal_eval):
        try:
            return parse(text)
        except _UNREADABLE:
            continue
    return None


def _printed_by_numpy(text: str) -> list[Any]:
    """Reads "['a' 'b']". To Python that is one item, 'ab', so it has to be ruled out before Python reads the text."""
    layout = (tokenize.NEWLINE, tokenize.NL, tokenize.ENDMARKER)
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in layout]
    first, *items, last = tokens
    if (first.string, last.string) != ("[", "]") or any(token.type != tokenize.STRING for token in items):
        raise ValueError(text)
    return [ast.literal_eval(token.string) for token in items]
