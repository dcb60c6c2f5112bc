"""The trained reader: what a stretch of text says about claims, read by a small model on the CPU.

A text is encoded once; each claim is then read against its keys and values, so that ten claims about one passage cost
one passage and ten claims. Texts and claims are run one by one: what else is asked does not move an answer by a bit.
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

MODEL = "data/reader.onnx"
LONGEST = 320  # tokens of a text that is read at once; what is longer is cut
_CLAIM = 96  # ... of a claim
_KEPT = 12_000  # tokens whose keys and values are kept, some 9 kB each
_TEXT, _OF_A_CLAIM = 0, 1  # the sorts of tokens


class Said(NamedTuple):
    """What a text says about a claim: logits of entailed, neutral and contradicted."""

    entailed: float
    neutral: float
    contradicted: float


class Encoded(NamedTuple):
    """A text as the model has it. tokens: (tokens, width), each of length one, in half precision. ids: their word
    pieces. spans: the characters each stands for. embedding: (width), of length one. keys: (2 x layers, tokens + 2,
    width), half precision: what claims are read against."""

    tokens: Any
    ids: Any
    spans: Sequence[tuple[int, int]]
    embedding: Floats
    keys: Any


class Reader:
    """An open model. Texts that were encoded lately are kept. Threads may read side by side.

    workers: how many threads `side_by_side` takes; as many as there are processors unless told.
    """

    def __init__(self, session: Any, workers: int | None = None) -> None:
        self._session, self._workers, self._lock = session, workers or processors(), Lock()
        self._pieces = WordPiece(vocabulary())
        self._pasts = [given for given in session.get_inputs() if given.name.startswith("past")]
        self._texts: OrderedDict[str, Encoded] = OrderedDict()
        self._held = 0

    def embed(self, texts: Sequence[str]) -> Floats:
        """The meaning of each text as a vector of length one: (texts, width)."""
        import numpy as np

        return np.stack([one.embedding for one in self.side_by_side(self.encoded, texts)])

    def side_by_side(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """What `work`, which asks this reader, gives for each item, in their order."""
        waiting = list(items)
        threads = min(self._workers, len(waiting))
        if threads < 2:
            yield from map(work, waiting)
            return
        with ThreadPoolExecutor(threads) as pool:
            yield from pool.map(work, waiting)

    def read(self, text: str, claims: Sequence[str]) -> list[Said]:
        """What `text` says about each claim. The first LONGEST tokens of the text and 96 of a claim are read."""
        import numpy as np

        past = self.encoded(text).keys[:, None].astype(np.float32)
        said = []
        for claim in claims:
            ids = self._pieces.framed(self._pieces.encode(claim).ids[:_CLAIM])
            [[labels]] = self._run(["labels"], ids, _OF_A_CLAIM, past)
            said.append(Said(*labels.tolist()))
        return said

    def _run(self, outputs: Sequence[str], ids: Sequence[int], sort: int, past: Any) -> list[Any]:
        """Outputs of the model for one text or claim. past: (2 x layers, 1, tokens, width), what it is read against."""
        import numpy as np

        length = len(ids)
        asked = {
            "ids": np.array([ids]),
            "positions": np.arange(length)[None],
            "sorts": np.full((1, length), sort),
        }
        given = {one.name: keys for one, keys in zip(self._pasts, past, strict=True)}
        return list(self._session.run(outputs, asked | given))

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

    def _keep(self, text: str, encoded: Encoded) -> None:
        if text in self._texts:
            return
        self._texts[text] = encoded
        self._held += encoded.keys.shape[1]
        while self._held > _KEPT and len(self._texts) > 1:
            self._held -= self._texts.popitem(last=False)[1].keys.shape[1]

    def _encode(self, text: str) -> Encoded:
        import numpy as np

        pieces = self._pieces.encode(text)
        ids = self._pieces.framed(pieces.ids[:LONGEST])
        kept = [f"now_{number}" for number in range(len(self._pasts))]
        nothing = np.zeros((len(kept), 1, 0, self._pasts[0].shape[-1]), np.float32)
        states, *keys = self._run(["states", *kept], ids, _TEXT, nothing)
        tokens = states[0] / np.linalg.norm(states[0], axis=1, keepdims=True)
        mean = states[0].mean(axis=0)
        half = np.float16
        return Encoded(
            tokens[1:-1].astype(half),
            np.array(ids[1:-1], np.int32),
            tuple(pieces.spans[:LONGEST]),
            mean / np.linalg.norm(mean),
            np.concatenate(keys).astype(half),
        )


@cache
def reader() -> Reader:
    """The reader in the wheel, loaded when first asked for."""
    with as_file(files("ragauge.judges.embedded") / MODEL) as path:
        return open_reader(path)


def open_reader(path: Path) -> Reader:
    """A reader of the kind that training/export_reader.py writes."""
    return Reader(open_session(path))


@cache
def fingerprint() -> str:
    """What tells this model from any other: 12 hex digits of its hash."""
    return hashlib.sha256((files("ragauge.judges.embedded") / MODEL).read_bytes()).hexdigest()[:12]
