"""Samples and chunks: what is measured."""

from __future__ import annotations

from typing import Any

import msgspec


class Chunk(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One retrieved context.

    `id` is whatever the retriever calls it, or its 1-based position as text where it has no name.
    """

    text: str
    id: str = ""
    title: str = ""
    metadata: dict[str, Any] = {}

    @property
    def passage(self) -> str:
        """The text a judge reads: the title on a line of its own, then the text."""
        return f"{self.title}\n{self.text}" if self.title else self.text


class Sample(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One row of a data set: what was asked, what was retrieved, what was answered, what is right.

    A field that is None is absent from the data; an empty tuple or string is present and empty ("nothing was
    retrieved"), which is a different thing: a metric is undefined on the first and counts the second.

    id: unique within the data set; the 1-based row number as text where the data has none.
    query: what was asked.
    response: what the system answered.
    contexts: the retrieved chunks in the retriever's order.
    references: correct answers written by people; each is complete, they are alternatives.
    source: the text that was summarised.
    reference_contexts: the chunks that ought to have been retrieved.
    answers: gold claims of a long answer, each a tuple of equivalent wordings (Trust-Eval, ALCE).
    answerable: whether the documents hold an answer at all.
    system: the name of what produced the response.
    group: samples of one group (a document, a user) are not independent; see docs/statistics.md.
    """

    id: str
    query: str | None = None
    response: str | None = None
    contexts: tuple[Chunk, ...] | None = None
    references: tuple[str, ...] | None = None
    source: str | None = None
    reference_contexts: tuple[Chunk, ...] | None = None
    answers: tuple[tuple[str, ...], ...] | None = None
    answerable: bool | None = None
    system: str | None = None
    group: str | None = None
    metadata: dict[str, Any] = {}


#: The fields that carry content, which a need may read.
FIELDS = (
    "query",
    "response",
    "contexts",
    "references",
    "source",
    "reference_contexts",
    "answers",
    "answerable",
)
