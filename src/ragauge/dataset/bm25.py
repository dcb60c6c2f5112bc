"""BM25: which passages of a corpus fit a question best, from an index in memory.

Robertson and Zaragoza, "The probabilistic relevance framework: BM25 and beyond", 2009, with the inverse document
frequency of Lucene, which is never negative. What a word adds to a passage depends on these two alone, so that it is
computed when the index is made, and a search only adds up (Lù, "BM25S", 2024).
"""

from __future__ import annotations

import os
import zipfile
from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ragauge.judges.embedded.lexical.lexicon import FUNCTION_WORDS, QUESTION_WORDS
from ragauge.text.tokens import rouge_tokens, stemmed, unicode_tokens

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
        term_of = np.array([terms.setdefault(term, len(terms)) for term in stemmed(numbers)], np.int64)
        sizes = np.array(lengths, np.int64)
        found = term_of[np.array(written, np.int64)] if numbers else np.zeros(0, np.int64)
        return cls(len(sizes), terms, *_postings(found, sizes, len(terms)))

    def search(self, query: str, top: int = 5) -> list[Hit]:
        """The `top` passages that fit best, the better first and of equals the earlier; fewer where no more fit at all.

        Words such as "how", "is" and "the" are passed over, unless the query has no others.
        """
        import numpy as np

        scores = np.zeros(self._size, np.float32)
        for term in dict.fromkeys(stemmed(_telling(_words(query)))):
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
