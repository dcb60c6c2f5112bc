"""The encoder in the wheel: a small model that reads a text, and classifies claims against it, on the CPU.

A text is encoded once; each claim is then classified against its keys and values, so that ten claims about one passage
cost one passage and ten claims. Texts and claims are run one by one, so that no output depends on a batch.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.resources import as_file, files
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ragauge.host import LazyModule
from ragauge.judges.embedded.wordpiece import WordPiece, vocabulary
from ragauge.judges.onnx import open_session, processors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
else:
    np, Floats = LazyModule("numpy"), Any

Item = TypeVar("Item")
Result = TypeVar("Result")

MODEL = "data/encoder.onnx"
LONGEST = 320  # tokens of a text that are read; what is longer is cut
_CLAIM = 96  # ... of a claim
_CACHED = 12_000  # tokens whose keys and values are cached, some 9 kB each
_TEXT, _HYPOTHESIS = 0, 1  # token types


class Logits(NamedTuple):
    """The logits of a claim given a text."""

    entailed: float
    neutral: float
    contradicted: float


class Encoded(NamedTuple):
    """An encoded text.

    tokens: (tokens, width), each of length one, in half precision. ids: their word pieces. spans: their characters.
    embedding: (width), of length one. keys: (2 x layers, tokens + 2, width), half precision: keys and values.
    """

    tokens: Any
    ids: Any
    spans: Sequence[tuple[int, int]]
    embedding: Floats
    keys: Any


class Encoder:
    """An open model, which threads may use concurrently. Texts that were encoded lately are cached.

    workers: the threads of `map`; by default the number of processors.
    """

    def __init__(self, session: Any, workers: int | None = None) -> None:
        self._session, self._workers, self._lock = session, workers or processors(), Lock()
        self._pieces = WordPiece(vocabulary())
        self._pasts = [one for one in session.get_inputs() if one.name.startswith("past")]
        self._texts: OrderedDict[str, Encoded] = OrderedDict()

    def embed(self, texts: Sequence[str]) -> Floats:
        """An embedding of length one for each text: (texts, width)."""
        return np.stack([one.embedding for one in self.map(self.encoded, texts)])

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """The results of `work`, which uses this encoder, for items in their order, computed in threads."""
        waiting = list(items)
        threads = min(self._workers, len(waiting))
        if threads < 2:
            yield from map(work, waiting)
            return
        with ThreadPoolExecutor(threads) as pool:
            yield from pool.map(work, waiting)

    def classify(self, text: str, claims: Sequence[str]) -> list[Logits]:
        """The logits of each claim given `text`; the first LONGEST tokens of the text and 96 of a claim are read."""
        past = self.encoded(text).keys[:, None].astype(np.float32)
        found = []
        for claim in claims:
            ids = self._pieces.framed(self._pieces.encode(claim).ids[:_CLAIM])
            [[labels]] = self._run(["labels"], ids, _HYPOTHESIS, past)
            found.append(Logits(*labels.tolist()))
        return found

    def _run(self, outputs: Sequence[str], ids: Sequence[int], token_type: int, past: Any) -> list[Any]:
        """Outputs of the model for one text or claim. past: (2 x layers, 1, tokens, width), what it attends to."""
        length = len(ids)
        inputs = {
            "ids": np.array([ids]),
            "positions": np.arange(length)[None],
            "sorts": np.full((1, length), token_type),  # the graph's name for token types
        }
        attended = {one.name: keys for one, keys in zip(self._pasts, past, strict=True)}
        return list(self._session.run(outputs, inputs | attended))

    def encoded(self, text: str) -> Encoded:
        """The first LONGEST tokens of a text, encoded."""
        with self._lock:
            if text in self._texts:
                self._texts.move_to_end(text)
                return self._texts[text]
        encoded = self._encode(text)
        with self._lock:
            self._texts[text] = encoded
            while len(self._texts) > 1 and sum(one.keys.shape[1] for one in self._texts.values()) > _CACHED:
                self._texts.popitem(last=False)
        return encoded

    def _encode(self, text: str) -> Encoded:
        pieces = self._pieces.encode(text)
        ids = self._pieces.framed(pieces.ids[:LONGEST])
        names = [f"now_{number}" for number in range(len(self._pasts))]
        nothing = np.zeros((len(names), 1, 0, self._pasts[0].shape[-1]), np.float32)
        [states], *keys = self._run(["states", *names], ids, _TEXT, nothing)
        tokens, mean = states / np.linalg.norm(states, axis=1, keepdims=True), states.mean(axis=0)
        return Encoded(
            tokens[1:-1].astype(np.float16),
            np.array(ids[1:-1], np.int32),
            tuple(pieces.spans[:LONGEST]),
            mean / np.linalg.norm(mean),
            np.concatenate(keys).astype(np.float16),
        )


@cache
def encoder() -> Encoder:
    """The encoder in the wheel, opened when first asked for."""
    with as_file(files("ragauge.judges.embedded") / MODEL) as path:
        return Encoder(open_session(path))


@cache
def fingerprint() -> str:
    """Identifies the model: 12 hex digits of its hash."""
    return hashlib.sha256((files("ragauge.judges.embedded") / MODEL).read_bytes()).hexdigest()[:12]
