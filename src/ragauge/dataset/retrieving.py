"""Retrievers: from a question to its documents, by our own index or by anybody's retriever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from inspect import isawaitable, iscoroutinefunction
from pathlib import Path
from typing import Any, Protocol

import msgspec

from ragauge.dataset.bm25 import BM25
from ragauge.dataset.corpus import Corpus
from ragauge.errors import BadParameter
from ragauge.readers.contexts import chunks_in, is_single
from ragauge.readers.values import Malformed
from ragauge.types import Chunk

#: Methods of retrievers, the awaited one of each library before the other: LlamaIndex; LangChain, new and old.
_METHODS = ("aretrieve", "retrieve", "ainvoke", "invoke", "get_relevant_documents")


class Retriever(Protocol):
    """Finds documents."""

    async def find(self, query: str, top: int) -> tuple[Chunk, ...]:
        """The `top` documents that fit a question best, best first; fewer where there are no more."""


class CorpusRetriever:
    """Finds passages of a corpus by BM25. The score of each is in its metadata.

    folder: where the index is kept, under the hash of the corpus, so that it is made once; None keeps none.
    made: whether the index had to be made.
    """

    def __init__(self, corpus: Corpus, folder: Path | None = None) -> None:
        self._passages = corpus.passages
        path = folder / f"bm25-{corpus.digest}.npz" if folder else None
        kept = BM25.load(path) if path else None
        self.made = kept is None or len(kept) != len(corpus.passages)
        self._index = BM25.of(passage.passage for passage in corpus.passages) if kept is None or self.made else kept
        if path and self.made:
            self._index.save(path)

    async def find(self, query: str, top: int) -> tuple[Chunk, ...]:
        """The `top` passages that fit best; none where none shares a word with the question."""
        return tuple(
            _with(self._passages[position], score=round(score, 4)) for position, score in self._index.search(query, top)
        )


class RetrieverFailed(Exception):
    """A retriever of somebody else's raised, or gave what is no list of documents."""


class ForeignRetriever:
    """Finds documents by a function of the question, or a retriever of LlamaIndex or LangChain.

    What it gives is read as contexts are: texts, objects with a text, LangChain's documents, LlamaIndex's nodes; or one
    of these alone, which is one document. A retriever that blocks is called in a thread.
    """

    def __init__(self, retriever: Any) -> None:
        method = next((getattr(retriever, name) for name in _METHODS if hasattr(retriever, name)), retriever)
        if not callable(method):
            raise BadParameter(
                f"{retriever!r} is no retriever; give a function of the question, an object with one, or "
                "python:MODULE:NAME, which names either"
            )
        self._call: Callable[[str], Any] = method

    async def find(self, query: str, top: int) -> tuple[Chunk, ...]:
        """The first `top` documents. Raises RetrieverFailed."""
        try:
            found = await self._found(query)
            return (chunks_in(found if is_single(found) else list(found)) or ())[:top]
        except Malformed as error:
            raise RetrieverFailed(f"the retriever's {error}") from error
        except Exception as error:
            raise RetrieverFailed(f"the retriever raised {type(error).__name__}: {error}") from error

    async def _found(self, query: str) -> Any:
        waits = iscoroutinefunction(self._call) or iscoroutinefunction(getattr(self._call, "__call__", None))  # noqa: B004
        found = self._call(query) if waits else await asyncio.to_thread(self._call, query)
        return await found if isawaitable(found) else found


def _with(chunk: Chunk, **metadata: Any) -> Chunk:
    return msgspec.structs.replace(chunk, metadata={**chunk.metadata, **metadata})
