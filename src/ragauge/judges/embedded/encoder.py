"""The trained encoder: what a passage says about claims, read by a small model on the CPU.

A passage is encoded once; each claim is then read against its keys and values, so that ten claims about one passage
cost one passage and ten claims. Passages and claims are run one by one: an answer does not depend, to the last bit, on
what else is asked.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ragauge.judges.embedded.wordpiece import WordPiece, vocabulary
from ragauge.judges.onnx import open_session, processors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

Item = TypeVar("Item")
Result = TypeVar("Result")

MODEL = "data/encoder.onnx"
LONGEST = 320  # tokens of a passage that are read; windows are shorter than that
_CLAIM = 96  # ... of a claim
_CACHED = 12_000  # tokens whose keys and values are kept, 9 kB each
_PASSAGE, _CLAIM_TYPE = 0, 1  # token types


class Logits(NamedTuple):
    """What a passage says about a claim."""

    entailed: float
    neutral: float
    contradicted: float


class Encoded(NamedTuple):
    """An encoded text.

    Args:
        tokens: (tokens, width), each of length 1, in half precision.
        spans: the characters each token stands for.
        embedding: (width), of length 1: the mean of all tokens.
        keys: (2 x layers, tokens + 2, width), half precision: what claims are read against.
    """

    tokens: Any
    spans: Sequence[tuple[int, int]]
    embedding: Floats
    keys: Any


class Encoder:
    """An open model. Recently encoded texts are kept. Threads may use it at the same time.

    Args:
        session: the session of onnxruntime.
        workers: threads that `parallel` uses; by default one for each processor.
    """

    def __init__(self, session: Any, workers: int | None = None) -> None:
        self._session, self._workers, self._lock = session, workers or processors(), Lock()
        self._pieces = WordPiece(vocabulary())
        self._pasts = [given for given in session.get_inputs() if given.name.startswith("past")]
        self._texts: OrderedDict[str, Encoded] = OrderedDict()
        self._cached = 0

    def embed(self, texts: Sequence[str]) -> Floats:
        """The meaning of each text as a vector of length 1: (texts, width)."""
        import numpy as np

        return np.stack([one.embedding for one in self.parallel(self.encoded, texts)])

    def parallel(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """The results of `work`, a function that uses this encoder, in the order of the items."""
        waiting = list(items)
        threads = min(self._workers, len(waiting))
        if threads < 2:
            yield from map(work, waiting)
            return
        with ThreadPoolExecutor(threads) as pool:
            yield from pool.map(work, waiting)

    def read(self, passage: str, claims: Sequence[str]) -> list[Logits]:
        """What `passage` says about each claim: of the passage LONGEST tokens are read, of a claim 96."""
        import numpy as np

        past = self.encoded(passage).keys[:, None].astype(np.float32)
        found = []
        for claim in claims:
            ids = self._pieces.framed(self._pieces.encode(claim).ids[:_CLAIM])
            [[labels]] = self._run(["labels"], ids, _CLAIM_TYPE, past)
            found.append(Logits(*labels.tolist()))
        return found

    def encoded(self, text: str) -> Encoded:
        """The first LONGEST tokens of a text, encoded."""
        with self._lock:
            if text in self._texts:
                self._texts.move_to_end(text)
                return self._texts[text]
        encoded = self._encode(text)
        with self._lock:
            self._keep(text, encoded)
        return encoded

    def _run(self, outputs: Sequence[str], ids: Sequence[int], token_type: int, past: Any) -> list[Any]:
        import numpy as np

        length = len(ids)
        inputs = {
            "ids": np.array([ids]),
            "positions": np.arange(length)[None],
            "sorts": np.full((1, length), token_type),
        }
        given = {one.name: keys for one, keys in zip(self._pasts, past, strict=True)}
        return list(self._session.run(outputs, inputs | given))

    def _keep(self, text: str, encoded: Encoded) -> None:
        if text in self._texts:
            return
        self._texts[text] = encoded
        self._cached += encoded.keys.shape[1]
        while self._cached > _CACHED and len(self._texts) > 1:
            self._cached -= self._texts.popitem(last=False)[1].keys.shape[1]

    def _encode(self, text: str) -> Encoded:
        import numpy as np

        pieces = self._pieces.encode(text)
        ids = self._pieces.framed(pieces.ids[:LONGEST])
        outputs = [f"now_{number}" for number in range(len(self._pasts))]
        nothing = np.zeros((len(outputs), 1, 0, self._pasts[0].shape[-1]), np.float32)
        states, *keys = self._run(["states", *outputs], ids, _PASSAGE, nothing)
        tokens = states[0] / np.linalg.norm(states[0], axis=1, keepdims=True)
        mean = states[0].mean(axis=0)
        half = np.float16
        return Encoded(
            tokens[1:-1].astype(half),
            tuple(pieces.spans[:LONGEST]),
            mean / np.linalg.norm(mean),
            np.concatenate(keys).astype(half),
        )


@cache
def encoder() -> Encoder:
    """The packaged encoder, loaded on the first call."""
    with as_file(files("ragauge.judges.embedded") / MODEL) as path:
        return open_encoder(path)


def open_encoder(path: Path) -> Encoder:
    """An encoder that training/export_encoder.py wrote."""
    return Encoder(open_session(path))


@cache
def fingerprint() -> str:
    """The first 12 hex digits of the packaged model's hash."""
    return hashlib.sha256((files("ragauge.judges.embedded") / MODEL).read_bytes()).hexdigest()[:12]
