"""Retrievers: from a question to its documents, by BM25 or by anybody's retriever.

Robertson and Zaragoza, "The probabilistic relevance framework: BM25 and beyond", 2009, with the inverse document
frequency of Lucene, which is never negative. What a word adds to a passage depends on these two alone, so that it is
computed when the index is made, and a search only adds up (Lù, "BM25S", 2024).
"""

from __future__ import annotations

import asyncio
import os
import zipfile
from array import array
from collections.abc import Callable, Iterable
from inspect import isawaitable, iscoroutinefunction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from ragauge.datasets.corpus import Corpus
from ragauge.errors import BadParameter
from ragauge.judges.embedded.lexical.lexicon import FUNCTION_WORDS, QUESTION_WORDS
from ragauge.readers.contexts import chunks_in, is_single
from ragauge.readers.values import Malformed
from ragauge.text.tokens import rouge_tokens, stem_tokens, unicode_tokens
from ragauge.types import Chunk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


#: How soon a word that comes again adds nothing more, and how much a long passage is held back; Lucene's values.
K1, B = 1.2, 0.75


class Hit(NamedTuple):
    """A passage that was found: its position in the corpus, from 0, and how well it fits, above 0."""

    position: int
    score: float


class BM25:
    """An index of passages; make one with `BM25.of`, or read one with `BM25.load`.

    terms: stemmed word -> its number. The passages of term t, and what t adds to each, stand between starts[t] and
    starts[t + 1].
    """

    def __init__(
        self,
        size: int,
        terms: dict[str, int],
        starts: NDArray[np.int64],
        passages: NDArray[np.int32],
        weights: NDArray[np.float32],
    ) -> None:
        self._size, self._terms = size, terms
        self._starts, self._passages, self._weights = starts, passages, weights

    def __len__(self) -> int:
        return self._size

    @classmethod
    def of(cls, texts: Iterable[str]) -> BM25:
        """The index of these texts, which are known by their positions."""
        import numpy as np

        numbers: dict[str, int] = {}
        written, lengths = array("i"), array("i")
        for text in texts:
            words = _words(text)
            lengths.append(len(words))
            written.extend([numbers.setdefault(word, len(numbers)) for word in words])
        terms: dict[str, int] = {}
        term_of = np.array([terms.setdefault(term, len(terms)) for term in stem_tokens(numbers)], np.int64)
        sizes = np.array(lengths, np.int64)
        found = term_of[np.array(written, np.int64)] if numbers else np.zeros(0, np.int64)
        return cls(len(sizes), terms, *_postings(found, sizes, len(terms)))

    def search(self, query: str, top: int = 5) -> list[Hit]:
        """The `top` passages that fit best, the better first and of equals the earlier; fewer where no more fit at all.

        Words such as "how", "is" and "the" are passed over, unless the query has no others.
        """
        import numpy as np

        scores = np.zeros(self._size, np.float32)
        for term in dict.fromkeys(stem_tokens(_telling(_words(query)))):
            if (number := self._terms.get(term)) is not None:
                here = slice(self._starts[number], self._starts[number + 1])
                scores[self._passages[here]] += self._weights[here]
        found = np.flatnonzero(scores >= _least(scores, top))
        order = found[np.argsort(-scores[found], kind="stable")][:top]
        return [Hit(int(position), float(scores[position])) for position in order]

    def save(self, path: Path) -> None:
        """Write the index to a file, whole or not at all. Raises OSError."""
        import numpy as np

        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.{os.getpid()}")
        with partial.open("wb") as file:
            np.savez(
                file,
                size=np.array(self._size),
                terms=np.frombuffer("\n".join(self._terms).encode(), np.uint8),
                starts=self._starts,
                passages=self._passages,
                weights=self._weights,
            )
        partial.replace(path)

    @classmethod
    def load(cls, path: Path) -> BM25 | None:
        """The index in a file; None where there is none, or a damaged one."""
        import numpy as np

        try:
            with path.open("rb") as file, np.load(file) as kept:
                terms = bytes(kept["terms"]).decode().split("\n")
                numbers = {term: number for number, term in enumerate(terms)}
                return cls(int(kept["size"]), numbers, kept["starts"], kept["passages"], kept["weights"])
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None


def _words(text: str) -> list[str]:
    """Words in any script, case folded; the two tokenizers agree on ASCII, where the first is faster."""
    return rouge_tokens(text) if text.isascii() else unicode_tokens(text)


def _telling(words: list[str]) -> list[str]:
    """The words that tell what is asked; all where none does."""
    return [word for word in words if word not in FUNCTION_WORDS and word not in QUESTION_WORDS] or words


def _least(scores: NDArray[np.float32], top: int) -> float:
    """The lowest score among the `top` best, above 0."""
    import numpy as np

    smallest = float(np.finfo(np.float32).tiny)
    if len(scores) <= top:
        return smallest
    return max(smallest, float(np.partition(scores, -top)[-top]))


def _postings(
    found: NDArray[np.int64], sizes: NDArray[np.int64], terms: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Starts, passages and weights, from the terms of all passages in a row and how many each passage has."""
    import numpy as np

    count = max(1, len(sizes))
    keys = found * count + np.repeat(np.arange(len(sizes)), sizes)
    keys.sort()
    first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if len(keys) else keys
    times = np.diff(np.append(first, len(keys))).astype(np.float32)
    term, passage = np.divmod(keys[first], count)
    holding = np.bincount(term, minlength=terms)
    rarity = np.log1p((count - holding + 0.5) / (holding + 0.5)).astype(np.float32)
    length = (K1 * (1 - B + B * sizes / max(1.0, sizes.mean() if len(sizes) else 1.0))).astype(np.float32)
    weights = rarity[term] * times * np.float32(K1 + 1) / (times + length[passage])
    return np.concatenate(([0], np.cumsum(holding))), passage.astype(np.int32), weights


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
