from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import pytest

from ragauge.datasets import build
from ragauge.datasets.corpus import Corpus
from ragauge.datasets.retrieval import RetrieverAdapter, RetrieverError, corpus_search
from ragauge.errors import BadParameter, MissingExtra
from ragauge.types import Chunk

CORPUS = Corpus("c", [Chunk("Tea is hot.", "t", "Tea"), Chunk("Ice is cold.", "i", "Ice", {"year": 1931})], {})


class Document:
    """As LangChain's."""

    def __init__(self, page_content: str) -> None:
        self.page_content, self.metadata, self.id = page_content, {"k": 1}, "d1"


class Node:
    """As LlamaIndex's scored node."""

    def __init__(self, text: str) -> None:
        self.node, self.score = Document(text), 0.5


class LlamaIndex:
    """A retriever of LlamaIndex."""

    def retrieve(self, query: str) -> list[Node]:
        """Three nodes."""
        return [Node(f"{query} {n}") for n in range(3)]


class AsynchronousLlamaIndex(LlamaIndex):
    """One that can be awaited."""

    async def aretrieve(self, query: str) -> list[Node]:
        """Three nodes."""
        return self.retrieve(query)


class LangChain:
    """A retriever of LangChain."""

    def invoke(self, query: str) -> list[Document]:
        """Three documents."""
        return [Document(f"{query} {n}") for n in range(3)]


async def _later(query: str) -> list[str]:
    return [f"{query} {n}" for n in range(3)]


def _find(retriever: Any, top: int = 2) -> tuple[Chunk, ...]:
    return asyncio.run(retriever.retrieve("q", top))


@pytest.mark.parametrize(
    "retriever",
    [
        LlamaIndex(),
        AsynchronousLlamaIndex(),
        LangChain(),
        _later,
        lambda query: [{"text": f"{query} {n}"} for n in "012"],
    ],
    ids=["llama-index", "awaited", "langchain", "coroutine", "function"],
)
def test_anybodys_retriever(retriever: Any) -> None:
    """Functions and the retrievers of two libraries give the first documents, in their order."""
    assert [chunk.text for chunk in _find(RetrieverAdapter(retriever))] == ["q 0", "q 1"]


def test_metadata_of_documents_is_kept() -> None:
    """A LangChain document keeps its id and metadata."""
    (chunk,) = _find(RetrieverAdapter(LangChain()), 1)
    assert (chunk.id, chunk.metadata) == ("d1", {"k": 1})


class Iterable(Document):
    """A document that can be iterated over, as pydantic's models can."""

    def __iter__(self) -> Any:
        """Its fields."""
        return iter(vars(self).items())


@pytest.mark.parametrize(
    "found",
    [
        "The ferry takes 40 minutes.",
        {"text": "The ferry takes 40 minutes."},
        Document("The ferry takes 40 minutes."),
        Iterable("The ferry takes 40 minutes."),
        iter(["The ferry takes 40 minutes."]),
    ],
    ids=["text", "object", "document", "iterable document", "iterator"],
)
def test_one_document_is_one_document(found: Any) -> None:
    """A retriever may give one text or document instead of a list; a text is no list of its letters."""
    assert [chunk.text for chunk in _find(RetrieverAdapter(lambda query: found))] == ["The ferry takes 40 minutes."]


def _raises(query: str) -> list[str]:
    raise OSError("no index")


@pytest.mark.parametrize(
    ("retriever", "message"),
    [
        (_raises, "the retriever raised OSError: no index"),
        (lambda query: [{"name": "x"}], "item 1 has no text among 'name'"),
        (lambda query: 7, "TypeError"),
        (lambda query: None, "TypeError"),
        (lambda query: b"bytes", "a value of type bytes, not text"),
    ],
)
def test_a_retriever_that_fails_is_reported(retriever: Callable[[str], Any], message: str) -> None:
    """What goes wrong in somebody's retriever is one kind of error, which says what."""
    with pytest.raises(RetrieverError, match=message):
        _find(RetrieverAdapter(retriever))


def test_what_is_no_retriever() -> None:
    """A value that cannot be called and has no known method is refused at once."""
    with pytest.raises(BadParameter, match="is not a retriever; give a function of the question"):
        RetrieverAdapter(7)


def test_passages_have_their_scores() -> None:
    """What is found in a corpus keeps id, title and metadata, and says how well it fits."""
    (chunk,) = asyncio.run(RetrieverAdapter(corpus_search(CORPUS, 5)).retrieve("cold ice", 5))
    assert (chunk.id, chunk.title, chunk.metadata["year"]) == ("i", "Ice", 1931)
    assert chunk.metadata["score"] > 0


def test_without_the_library_nothing_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """A corpus needs an optional library; where it is missing, its name is given before any data is read."""
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(MissingExtra, match=r"searching a corpus .* pip install 'ragauge\[retrieval\]'"):
        build("no such file.jsonl", "no such folder")
