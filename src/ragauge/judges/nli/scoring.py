"""Scores of many pairs: each pair once, those of like length together, as many as a budget of tokens allows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol

from ragauge.judges.nli.card import Card
from ragauge.judges.nli.forms import Pair
from ragauge.judges.nli.reading import Reader, Tokens
from ragauge.judges.nli.windows import Windows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: The probability of each class.
Chances = tuple[float, ...]

#: The chances in each window of a premise, or why there are none.
Scored = Sequence[Chances] | str

_DIGITS = 4  # beyond them lies what else is in a batch
_SLACK = 8  # tokens that a text may have more where it is cut out of another
_KEPT = 1 << 16  # pairs remembered from batch to batch


class Model(Protocol):
    """What runs a model. card: what it is. device: where. workers: how many batches it does side by side.

    batch_tokens: how many tokens, with padding, it is best given at once; 0 for one pair at a time.
    """

    card: Card
    device: str
    workers: int
    batch_tokens: int
    reader: Reader

    def logits(self, ids: NDArray[np.int64], mask: NDArray[np.int64], type_ids: NDArray[np.int64]) -> NDArray[Any]:
        """A row for each input, a number for each class. mask: 1 for tokens, 0 for padding."""
        ...


class Scorer:
    """Scores pairs with a model, in threads of its own.

    asked: pairs that were wanted. scored: texts that the model read. windowed: pairs too long for one text.
    seconds: the model's time.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._windows = Windows(model.reader.starts)
        self._memory: dict[Pair, Chances] = {}
        self.asked = self.scored = self.windowed = 0
        self.seconds = 0.0

    def scores(self, pairs: Sequence[Pair], stopped: Callable[[], bool]) -> dict[Pair, Scored]:
        """What the model says of each pair. stopped: whether nobody waits for it any more."""
        self.asked += len(pairs)
        wanted = list(dict.fromkeys(pairs))
        texts, tokens = self._laid_out(wanted)
        new = [text for text in tokens if text not in self._memory]
        faults = self._run({text: tokens[text] for text in new}, stopped)
        found = {pair: self._found(texts[pair], faults) for pair in wanted}
        while len(self._memory) > _KEPT:
            del self._memory[next(iter(self._memory))]
        return found

    def _found(self, texts: Sequence[Pair] | str, faults: dict[Pair, str]) -> Scored:
        if isinstance(texts, str):
            return texts
        fault = next((faults[text] for text in texts if text in faults), None)
        return fault or [self._memory[text] for text in texts]

    def _laid_out(self, pairs: Sequence[Pair]) -> tuple[dict[Pair, Sequence[Pair] | str], dict[Pair, Tokens]]:
        """The texts that each pair is put as, or why it cannot be; and the tokens of all texts."""
        limit = self._model.card.window
        tokens = dict(zip(pairs, self._model.reader.read(pairs), strict=True))
        texts: dict[Pair, Sequence[Pair] | str] = {pair: [pair] for pair in pairs}
        long = [pair for pair in pairs if len(tokens[pair].ids) > limit]
        for pair in long:
            del tokens[pair]
            texts[pair] = self._cut(pair)
        parts = [part for pair in long for part in texts[pair] if isinstance(part, tuple)]
        tokens.update(zip(parts, self._model.reader.read(parts), strict=True))
        self.windowed += len(long)
        return texts, tokens

    def _cut(self, pair: Pair) -> list[Pair] | str:
        premise, hypothesis = pair
        limit = self._model.card.window
        (without,) = self._model.reader.read([("", hypothesis)])
        room = limit - len(without.ids) - _SLACK
        if room < limit // 4:
            return (
                f"the hypothesis takes {len(without.ids)} of the {limit} tokens that {self._model.card.source} reads "
                "at once, and leaves no room for a premise; take it apart first, or use a model with a longer window"
            )
        return [(text, hypothesis) for text in self._windows.of(premise, hypothesis, room)]

    def _run(self, tokens: dict[Pair, Tokens], stopped: Callable[[], bool]) -> dict[Pair, str]:
        """Put texts to the model, remember its answers, and tell which batches it failed at, and why."""
        faults: dict[Pair, str] = {}
        begun = time.perf_counter()
        batches = list(_batches(tokens, self._model.batch_tokens))
        with ThreadPoolExecutor(self._model.workers) as pool:
            work = [(batch, pool.submit(self._batch, [tokens[text] for text in batch], stopped)) for batch in batches]
            for batch, future in work:
                fault = future.exception()
                if fault is not None:
                    faults.update(dict.fromkeys(batch, f"{type(fault).__name__}: {fault}"))
                else:
                    self._memory.update(zip(batch, future.result(), strict=True))
        self.scored += len(tokens)
        self.seconds += time.perf_counter() - begun
        return faults

    def _batch(self, batch: Sequence[Tokens], stopped: Callable[[], bool]) -> list[Chances]:
        import numpy as np

        if stopped():
            raise InterruptedError("nobody waits for the answers any more")
        longest = max(len(tokens.ids) for tokens in batch)
        ids = np.full((len(batch), longest), self._model.card.pad, dtype=np.int64)
        mask, type_ids = np.zeros_like(ids), np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            size = len(tokens.ids)
            ids[row, :size], mask[row, :size], type_ids[row, :size] = tokens.ids, 1, tokens.type_ids
        return _chances(self._model.logits(ids, mask, type_ids))


def _batches(tokens: dict[Pair, Tokens], budget: int) -> Iterator[list[Pair]]:
    """Texts of like length together, the longest first; their number times the longest of them within the budget."""
    batch: list[Pair] = []
    longest = 0
    for text in sorted(tokens, key=lambda text: -len(tokens[text].ids)):
        if batch and longest * (len(batch) + 1) > budget:
            yield batch
            batch = []
        longest = longest if batch else len(tokens[text].ids)
        batch.append(text)
    if batch:
        yield batch


def _chances(logits: NDArray[Any]) -> list[Chances]:
    import numpy as np

    shifted = np.asarray(logits, dtype=np.float64)
    if not np.isfinite(shifted).all():
        raise ArithmeticError("the model gave no finite number; with dtype=float32 it may")
    powers = np.exp(shifted - shifted.max(axis=-1, keepdims=True))
    return [tuple(row) for row in (powers / powers.sum(axis=-1, keepdims=True)).round(_DIGITS).tolist()]
