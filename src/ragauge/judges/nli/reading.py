"""Pairs as a model's tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ragauge.errors import BadData
from ragauge.judges.nli.card import Card
from ragauge.judges.nli.forms import Pair, written


class Tokens(NamedTuple):
    """A pair as the model reads it: its tokens, and which of the two texts each is of."""

    ids: Sequence[int]
    type_ids: Sequence[int]


class Reader:
    """Reads pairs. tokenizer: one of the `tokenizers` library."""

    def __init__(self, tokenizer: Any, card: Card) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer, self._card = tokenizer, card

    def read(self, pairs: Iterable[Pair]) -> list[Tokens]:
        """The tokens of each pair, however many they are."""
        texts = [written(self._card, pair) for pair in pairs]
        return [Tokens(read.ids, read.type_ids) for read in self._tokenizer.encode_batch(texts)]

    def starts(self, text: str) -> list[int]:
        """Where in a text each of its tokens begins."""
        return [start for start, _ in self._tokenizer.encode(text, add_special_tokens=False).offsets]


def first_token(tokenizer: Any, text: str) -> int:
    """The first token of a text as a model writes it."""
    return int(tokenizer.encode(text, add_special_tokens=False).ids[0])


def open_tokenizer(path: Path) -> Any:
    """The tokenizer in a `tokenizer.json`. Raises BadData where it cannot be read."""
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        raise BadData(f"{path}: {error}; it must be a tokenizer.json of the tokenizers library") from error
