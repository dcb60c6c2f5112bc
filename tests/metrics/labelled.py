"""Samples with gold claims, whose documents say which of the claims they hold."""

from __future__ import annotations

from typing import Any

from ragauge.types import Chunk, Sample

NO = "I don't know."
FLAG = "I apologize, but I couldn't find an answer to your question in the search results."


def doc(text: str, *found: int) -> Chunk:
    """A document with its labels."""
    return Chunk(text, metadata={"answers_found": list(found)} if found else {})


def row(response: str, contexts: Any, answers: Any, **fields: Any) -> Sample:
    """A sample with gold claims."""
    return Sample("1", response=response, contexts=contexts, answers=answers, **fields)
