"""Retrieval: the documents of a question, by BM25 over a corpus or by any retriever.

Robertson and Zaragoza, "The probabilistic relevance framework: BM25 and beyond", 2009, with the inverse document
frequency of Lucene, which is never negative. The index is that of the library bm25s (Lù, "BM25S", 2024).
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterable
from inspect import isawaitable, iscoroutinefunction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Protocol

from ragauge.datasets.corpus import Corpus
from ragauge.datasets.samples import add_metadata
from ragauge.errors import BadData, BadParameter, MissingExtra
from ragauge.readers.values import Malformed, is_single, to_chunks
from ragauge.text.tokens import rouge_tokens, stem_tokens, unicode_tokens
from ragauge.types import Chunk

#: Term frequency saturation and length normalisation; Lucene's values.
K1, B = 1.2, 0.75


def load_bm25s() -> Any:
    """The library that indexes. Raises MissingExtra where it is not installed."""
    try:
        import bm25s
    except ImportError:
        raise MissingExtra("searching a corpus", "retrieval") from None
    return bm25s


class Hit(NamedTuple):
    """A passage that was found: its position in the corpus, from 0, and its BM25 score, above 0."""

    position: int
    score: float


class BM25:
    """An index of passages; build one with `BM25.build`, or read one with `BM25.load`."""

    def __init__(self, index: Any) -> None:
        self._index = index
        self._stopwords = frozenset(load_bm25s().stopwords.STOPWORDS_EN_PLUS)

    def __len__(self) -> int:
        return int(self._index.scores["num_docs"])

    @classmethod
    def build(cls, texts: Iterable[str]) -> BM25:
        """Index texts, which are identified by their positions. Raises MissingExtra without bm25s."""
        import numpy as np

        index = load_bm25s().BM25(k1=K1, b=B, method="atire", idf_method="lucene")
        words: dict[str, int] = {}
        passages = [[words.setdefault(word, len(words)) for word in _words(text)] for text in texts]
        terms: dict[str, int] = {}
        term_of = [terms.setdefault(term, len(terms)) for term in stem_tokens(words)]
        ids = [[term_of[word] for word in passage] for passage in passages]
        with np.errstate(invalid="ignore"):  # the mean length of passages without a word is 0
            index.index((ids or [[]], terms), create_empty_token=False, show_progress=False)
        return cls(index)

    def search(self, query: str, top: int = 5) -> list[Hit]:
        """The `top` best passages, best first, ties in the order of the corpus; only those that share a word.

        English stop words in the query are ignored, unless it has no other words.
        """
        import numpy as np

        words = _words(query)
        content = [word for word in words if word not in self._stopwords] or words
        terms = self._index.get_tokens_ids(list(dict.fromkeys(stem_tokens(content))))
        if not terms:
            return []
        scores = self._index.get_scores_from_ids(terms)
        least = np.partition(scores, -top)[-top] if len(scores) > top else 0.0
        found = np.flatnonzero((scores >= least) & (scores > 0))
        order = found[np.argsort(-scores[found], kind="stable")][:top]
        return [Hit(int(position), float(scores[position])) for position in order]

    def save(self, folder: Path) -> None:
        """Write the index as a folder of files, whole or not at all; one that is there is replaced. Raises OSError."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as scratch:
            whole = Path(scratch, "index")
            self._index.save(whole, show_progress=False)
            shutil.rmtree(folder, ignore_errors=True)
            try:
                whole.rename(folder)
            except OSError:
                if not folder.is_dir():  # else another process has just put its index there
                    raise

    @classmethod
    def load(cls, folder: Path) -> BM25:
        """Read an index that `save` wrote. Raises BadData where it is missing, damaged or of an earlier version."""
        if folder.is_file():
            raise BadData(
                f"{folder}: an index file of an earlier version of ragauge; delete it and build the index again"
            )
        try:
            return cls(load_bm25s().BM25.load(folder, show_progress=False))
        except Exception as error:  # a damaged file may raise anything in the library
            raise BadData(f"{folder}: not a whole index ({error}); delete it and build the index again") from None


def _words(text: str) -> list[str]:
    """Words in any script, case folded; the two tokenizers agree on ASCII, where the first is faster."""
    return rouge_tokens(text) if text.isascii() else unicode_tokens(text)


#: Methods of retrievers, the asynchronous one of each library first: LlamaIndex; LangChain, new and old.
_METHODS = ("aretrieve", "retrieve", "ainvoke", "invoke", "get_relevant_documents")


class Retriever(Protocol):
    """Finds the documents of a question."""

    async def retrieve(self, query: str, top: int) -> tuple[Chunk, ...]:
        """The `top` most relevant documents, best first; fewer where there are no more."""


class CorpusRetriever:
    """Retrieves passages of a corpus by BM25; each has its score in its metadata.

    folder: where the index is kept, under the hash of the corpus, so that it is built once; None keeps none.
    built: whether the index had to be built.
    """

    def __init__(self, corpus: Corpus, folder: Path | None = None) -> None:
        self._passages = corpus.passages
        path = folder / f"bm25-{corpus.digest}" if folder else None
        kept = _kept_index(path, len(corpus.passages)) if path else None
        self.built = kept is None
        self._index = kept or BM25.build(passage.passage for passage in corpus.passages)
        if path and self.built:
            self._index.save(path)
            path.with_suffix(".npz").unlink(missing_ok=True)  # the same index in the form of earlier versions

    async def retrieve(self, query: str, top: int) -> tuple[Chunk, ...]:
        """The `top` best passages; none where none shares a word with the question."""
        return tuple(
            add_metadata(self._passages[position], score=round(score, 4))
            for position, score in self._index.search(query, top)
        )


def _kept_index(path: Path, size: int) -> BM25 | None:
    """The index that is kept at `path`; None where there is none, or one that is damaged or of another size."""
    try:
        index = BM25.load(path)
    except BadData:
        return None
    return index if len(index) == size else None


class RetrieverError(Exception):
    """A retriever of the caller's raised, or returned something other than documents."""


class RetrieverAdapter:
    """Retrieves documents by a function of the question, or by a retriever of LlamaIndex or LangChain.

    Its results are read as contexts are: texts, objects with a text, LangChain's documents, LlamaIndex's nodes; or one
    of these alone, which is one document. A retriever that blocks is called in a thread.
    """

    def __init__(self, retriever: Any) -> None:
        method = next((getattr(retriever, name) for name in _METHODS if hasattr(retriever, name)), retriever)
        if not callable(method):
            raise BadParameter(
                f"{retriever!r} is not a retriever; give a function of the question, an object with one, or "
                "python:MODULE:NAME, which names either"
            )
        self._call: Callable[[str], Any] = method

    async def retrieve(self, query: str, top: int) -> tuple[Chunk, ...]:
        """The first `top` documents. Raises RetrieverError."""
        try:
            found = await self._results(query)
            return (to_chunks(found if is_single(found) else list(found)) or ())[:top]
        except Malformed as error:
            raise RetrieverError(f"the retriever's {error}") from error
        except Exception as error:
            raise RetrieverError(f"the retriever raised {type(error).__name__}: {error}") from error

    async def _results(self, query: str) -> Any:
        is_async = iscoroutinefunction(self._call) or iscoroutinefunction(getattr(self._call, "__call__", None))  # noqa: B004
        found = self._call(query) if is_async else await asyncio.to_thread(self._call, query)
        return await found if isawaitable(found) else found
