"""Rows of text in blocks, as Dataworkz exports the answers of its systems."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ragauge.errors import BadData

_TAG = re.compile(r"\s*(question|answer|links|systemid) :(.*)", re.IGNORECASE | re.DOTALL)


def rows_of_blocks(lines: Iterable[str], name: str) -> Iterator[dict[str, Any]]:
    """One mapping a block, with its question and answer: lines that begin "question :", "answer :", "links :".

    Tags are in any case. Question and answer may go on over lines, which are joined by spaces; what stands between the
    links, or the systemId, and the next question is passed over. Raises BadData where there is no block.
    """
    block: dict[str, list[str]] | None = None
    part: list[str] = []
    for line in lines:
        tag = _TAG.match(line)
        if tag and tag[1].lower() == "question":
            if block is not None:
                yield _row(block)
            block = {}
        if tag and block is not None:
            part = block.setdefault(tag[1].lower(), [])
        part.append((tag[2] if tag else line).strip())
    if block is None:
        raise BadData(f"{name}: no block of lines that begin 'question :', 'answer :' and 'links :'; write them so")
    yield _row(block)


def _row(block: dict[str, list[str]]) -> dict[str, str]:
    return {part: " ".join(lines).strip() for part, lines in block.items() if part in ("question", "answer")}
