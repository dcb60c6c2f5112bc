"""ROUGE: how much of the references' wording a response shares, as F-measures.

Lin, "ROUGE: a package for automatic evaluation of summaries", 2004, as computed by Google's rouge-score 0.1.2, the
library behind Hugging Face `evaluate` and Valor. Every value equals that library's to the last digit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from ragauge.text.lcs import Columns, columns, lcs_length, union_lcs
from ragauge.text.ngrams import ngrams, overlap
from ragauge.text.references import checked
from ragauge.text.tokens import stemmed, tokenizer_named

DEFAULT_TYPES = ("rouge1", "rouge2", "rougeL", "rougeLsum")


def rouge(
    response: str,
    references: Sequence[str],
    types: Sequence[str] = DEFAULT_TYPES,
    stemmer: bool = False,
    tokenizer: str = "rouge",
) -> dict[str, float]:
    """The F-measure in 0..1 of each ROUGE type; with several references, the maximum over them, type by type.

    `types` are any of rouge1 to rouge9 (clipped n-gram overlap), rougeL (longest common subsequence of the whole texts)
    and rougeLsum (union of the common subsequences of their lines, parted by newlines). A text without tokens scores 0.
    `stemmer` applies the English Porter stemmer to tokens longer than three characters. `tokenizer` is a name from
    `ragauge.text.tokens.TOKENIZERS`; "rouge", the reference implementation's, knows only a-z and 0-9, so that other
    scripts score 0: use "unicode" for them. Raises ValueError for an unknown type or tokenizer and for no references.
    """
    for name in types:
        _check_type(name)
    said = _Text.read(response, tokenizer, stemmer)
    pairs = [_Pair(said, _Text.read(reference, tokenizer, stemmer)) for reference in checked(references)]
    return {name: max(pair.f_measure(name) for pair in pairs) for name in types}


def _check_type(name: str) -> None:
    if not re.fullmatch("rouge([1-9]|L|Lsum)", name):
        raise ValueError(f"unknown ROUGE type {name!r}; use rouge1 to rouge9, rougeL or rougeLsum")


@dataclass
class _Text:
    """A text in tokens; what several types need of it is made once."""

    lines: list[list[str]]

    @classmethod
    def read(cls, text: str, tokenizer: str, stemmer: bool) -> _Text:
        tokenize = tokenizer_named(tokenizer)
        lines = [tokens for line in text.split("\n") if (tokens := tokenize(line))]
        return cls([stemmed(line) for line in lines] if stemmer else lines)

    @cached_property
    def tokens(self) -> list[str]:
        return self.lines[0] if len(self.lines) == 1 else list(chain.from_iterable(self.lines))

    @cached_property
    def as_one_line(self) -> Columns:
        return columns([self.tokens])

    @cached_property
    def as_lines(self) -> Columns:
        return columns(self.lines)


@dataclass
class _Pair:
    """A response beside one reference."""

    response: _Text
    reference: _Text

    def f_measure(self, name: str) -> float:
        order = int(name[-1]) if name[-1].isdigit() else 1
        hits = self._hits(name, order)
        if not hits:
            return 0.0
        precision = hits / (len(self.response.tokens) - order + 1)
        recall = hits / (len(self.reference.tokens) - order + 1)
        return 2 * precision * recall / (precision + recall)

    def _hits(self, name: str, order: int) -> int:
        if name == "rougeL":
            return self._common
        if name == "rougeLsum":
            return self._common_by_line
        return overlap(ngrams(self.response.tokens, order), ngrams(self.reference.tokens, order))

    @cached_property
    def _common(self) -> int:
        return lcs_length(self.reference.tokens, self.response.as_one_line)

    @cached_property
    def _common_by_line(self) -> int:
        """Reference tokens in the union of common subsequences, no token more often than the response has it."""
        if len(self.response.lines) <= 1 and len(self.reference.lines) <= 1:
            return self._common
        used = chain.from_iterable(union_lcs(line, self.response.as_lines) for line in self.reference.lines)
        return overlap(used, self.response.tokens)
