"""Retrieval: the documents of a question, by any retriever, or by BM25 over the passages of a corpus.

Robertson and Zaragoza, 2009, with the inverse document frequency of Lucene, by the library bm25s (Lù, "BM25S", 2024).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from inspect import isawaitable, iscoroutinefunction
from itertools import chain, zip_longest
from typing import Any

from ragauge.arrays import np
from ragauge.datasets.corpus import Corpus
from ragauge.datasets.samples import add_metadata
from ragauge.errors import BadParameter
from ragauge.host import optional
from ragauge.judges.embedded.encoder import encoder
from ragauge.readers.values import Malformed, is_single, to_chunks
from ragauge.text.tokens import rouge_tokens, stem_tokens, unicode_tokens
from ragauge.types import Chunk

#: Term frequency saturation and length normalisation; Lucene's values.
K1, B = 1.2, 0.75


def load_bm25s() -> Any:
    """The library that indexes. Raises MissingExtra where it is not installed."""
    return optional("searching a corpus", "retrieval", "bm25s")


class BM25:
    """An index of texts, which are identified by their positions. Raises MissingExtra without bm25s."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._index = load_bm25s().BM25(k1=K1, b=B, method="atire", idf_method="lucene")
        self._stopwords = frozenset(load_bm25s().stopwords.STOPWORDS_EN_PLUS)
        words: dict[str, int] = {}
        passages = [[words.setdefault(word, len(words)) for word in words_of(text)] for text in texts]
        terms: dict[str, int] = {}
        term_of = [terms.setdefault(term, len(terms)) for term in stem_tokens(words)]
        ids = [[term_of[word] for word in passage] for passage in passages]
        with np.errstate(invalid="ignore"):  # the mean length of passages without a word is 0
            self._index.index((ids or [[]], terms), create_empty_token=False, show_progress=False)

    def search(self, query: str, top: int = 5) -> list[tuple[int, float]]:
        """The `top` best passages that share a word, best first, ties in the order of the corpus: position and score.

        English stop words in the query are ignored, unless it has no other words.
        """
        words = words_of(query)
        content = [word for word in words if word not in self._stopwords] or words
        terms = self._index.get_tokens_ids(list(dict.fromkeys(stem_tokens(content))))
        if not terms:
            return []
        scores = self._index.get_scores_from_ids(terms)
        least = np.partition(scores, -top)[-top] if len(scores) > top else 0.0
        matching = np.flatnonzero((scores >= least) & (scores > 0))
        order = matching[np.argsort(-scores[matching], kind="stable")][:top]
        return [(int(position), float(scores[position])) for position in order]


def words_of(text: str) -> list[str]:
    """Words in any script, case folded; the two tokenizers agree on ASCII, where the first is faster."""
    return rouge_tokens(text) if text.isascii() else unicode_tokens(text)


#: Methods of retrievers, the asynchronous one of each library first: LlamaIndex; LangChain, new and old.
_METHODS = ("aretrieve", "retrieve", "ainvoke", "invoke", "get_relevant_documents")

#: The most passages that are embedded, which takes 40 ms for each; and how many at once.
MOST_EMBEDDED, _AT_ONCE = 5_000, 64


class PassageSearch:
    """Finds passages by their words (BM25) and, once it is ready, of not too many also by the packaged encoder."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts, self._index = texts, BM25(texts)
        self._embeddings: Any = None

    async def ready(self) -> None:
        """Embed the passages, unless they are more than MOST_EMBEDDED."""
        if self._embeddings is not None or len(self._texts) > MOST_EMBEDDED:
            return
        embedded = []
        for start in range(0, len(self._texts), _AT_ONCE):
            embedded.append(encoder().embed(self._texts[start : start + _AT_ONCE]))
            await asyncio.sleep(0)  # where a run may be interrupted
        self._embeddings = np.concatenate(embedded)

    def best(self, query: str, top: int) -> list[int]:
        """The positions of the `top` best passages of each way, in turn, each once."""
        by_words = [position for position, _ in self._index.search(query, top)]
        if self._embeddings is None:
            return by_words
        cosines = self._embeddings @ encoder().embed([query])[0]
        by_meaning = (-cosines).argsort(kind="stable")[:top].tolist()
        both = chain.from_iterable(zip_longest(by_words, by_meaning))
        return [position for position in dict.fromkeys(both) if position is not None]


def corpus_search(corpus: Corpus, top: int) -> Callable[[str], Awaitable[list[Chunk]]]:
    """A function that finds the `top` best passages of a corpus by BM25; each has its score in its metadata."""
    passages, index = corpus.passages, BM25(passage.passage for passage in corpus.passages)

    async def search(query: str) -> list[Chunk]:
        best = index.search(query, top)
        return [add_metadata(passages[position], score=round(score, 4)) for position, score in best]

    return search


class RetrieverError(Exception):
    """A retriever of the caller's raised, or returned something other than documents."""


class RetrieverAdapter:
    """Retrieves documents by a function of the question, or by a retriever of LlamaIndex or LangChain.

    Its results are read as contexts are; a single one is one document. A retriever that blocks is called in a thread.
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
            call = self._call
            is_async = iscoroutinefunction(call) or iscoroutinefunction(getattr(call, "__call__", None))  # noqa: B004
            documents = call(query) if is_async else await asyncio.to_thread(call, query)
            documents = await documents if isawaitable(documents) else documents
            return (to_chunks(documents if is_single(documents) else list(documents)) or ())[:top]
        except Malformed as error:
            raise RetrieverError(f"the retriever's {error}") from error
        except Exception as error:
            raise RetrieverError(f"the retriever raised {type(error).__name__}: {error}") from error
