"""Places: where a response stands in the JSON Lines file that it was read from, so that a claim can be shown there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import NamedTuple

from ragauge.scores import RunRecord
from ragauge.types import Span

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
#: What stands for one character within a JSON string.
_CHARACTER = re.compile(r"\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|\\u\w{4}|\\.|.")


class Line(NamedTuple):
    """A line of a file. number: counts from 1."""

    number: int
    text: str

    def columns(self, response: str, span: Span | None) -> tuple[int, int] | None:
        """Where the span of the response begins and ends here, counted from 1, the end exclusive.

        Without a span that of the whole response; None where the line does not hold it.
        """
        starts = self._starts(response)
        if starts is None:
            return None
        begin, end = span or (0, len(response))
        return starts[begin] + 1, starts[end] + 1

    def _starts(self, response: str) -> list[int] | None:
        """Where each character of the response begins here, and where the last one ends."""
        for string in _STRING.finditer(self.text):
            begin, end = string.start() + 1, string.end() - 1
            starts = [found.start() for found in _CHARACTER.finditer(self.text, begin, end)]
            if len(starts) == len(response) and _decoded(string[0]) == response:
                return [*starts, end]
        return None


def lines(run: RunRecord) -> Iterator[Line | None]:
    """The line of each sample in the order of the run, endlessly; None where it is not known.

    It is known for JSON Lines that are still where they were read, unless rows were skipped.
    """
    path = Path(run.data)
    if path.suffix.lower() not in (".jsonl", ".ndjson") or run.bad_rows or not is_file(path):
        return repeat(None)
    return chain(_of_file(path), repeat(None))


def is_file(path: Path) -> bool:
    """Whether there is such a file; a text too long or too odd for a path names none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _of_file(path: Path) -> Iterator[Line]:
    with path.open(encoding="utf-8-sig", errors="replace", newline="\n") as file:
        for number, text in enumerate(file, start=1):
            if not text.isspace():
                yield Line(number, text)


def _decoded(string: str) -> str | None:
    try:
        return str(json.loads(string))
    except ValueError:
        return None
