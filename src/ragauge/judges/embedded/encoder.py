"""The encoder in the wheel: a small model that reads a text, and classifies claims against it, on the CPU.

A text is encoded once; each claim is then classified against its keys and values, so that ten claims about one passage
cost one passage and ten claims. Texts and claims are run one by one, so that no output depends on a batch.

WordPiece tokens (Wu et al. 2016, arXiv:1609.08144; Devlin et al. 2019, arXiv:1810.04805) are those of Hugging Face's
`tokenizers` (BertNormalizer, BertPreTokenizer, WordPiece) with `encode_special_tokens` set: "[SEP]" in a text is five
characters like any others, so no text can pose as the end of another.
"""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from importlib.resources import as_file, files
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, TypeVar

from ragauge.arrays import Floats, np
from ragauge.host import disable_telemetry, processors
from ragauge.judges.embedded.layer import packaged

Item = TypeVar("Item")
Result = TypeVar("Result")

MODEL = "data/encoder.onnx"
TEXT_TOKENS, CLAIM_TOKENS = 320, 96  # the tokens that are read of a text and of a claim; longer ones are cut
_CACHED_TOKENS = 12_000  # whose keys and values are cached, some 9 kB each
_TEXT, _HYPOTHESIS = 0, 1  # token types
_MAX_LOGIT = 6.0

_MAX_WORD_CHARS = 100  # a longer word is one unknown piece

#: An ASCII text, which folds to lower case; the words of such a text; the words of any folded text.
_PLAIN = re.compile(r"[\t\n\r -~]*")
_PLAIN_WORD = re.compile(r"[a-z0-9]+|[^\sa-z0-9]")
_FOLDED_WORD = re.compile(r"[^ ]+")

#: Chinese characters, each a word of its own; for `tokenizers`, U+2B820-2B91F are none.
_IDEOGRAPH = re.compile(
    r"[\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF\U00020000-\U0002A6DF\U0002A700-\U0002B81F\U0002B920-\U0002CEAF"
    r"\U0002F800-\U0002FA1F]"
)

#: `tokenizers` uses the categories of Unicode 8. These ranges hold every mark, format character, punctuation mark and
#: composite that Unicode 9 to 17 added, and no older one; _CHANGED has the characters whose category has changed.
_LATER = re.compile(
    r"[\u061D\u07FD\u0890-\u08E2\u09FD-\u09FE\u0A76\u0AFA-\u0AFF\u0B55\u0C04-\u0C3C\u0C77\u0C84\u0D00\u0D3B-\u0D3C"
    r"\u0D81\u0EBA\u0ECE\u180F-\u1886\u1ABF-\u1AFF\u1B4D-\u1B4F\u1B7D-\u1B7F\u1DF6-\u1DFB\u2E43-\u2E5D\uA82C\uA8C5"
    r"\uA8FF\uA9BD\U0001057B-\U00010856\U00010B9D-\U00010FFF\U0001104E-\U0001107E\U000110C2-\U000110FF\U000111CF"
    r"\U0001123E-\U0001129E\U0001133B\U00011375-\U0001147F\U00011645-\U0001167F\U000116B9-\U0001171C"
    r"\U00011747-\U0001246F\U00012475-\U00016A6D\U00016B46-\U00016F8E\U00016FA0-\U0001BC9B\U0001BCA4-\U0001D128"
    r"\U0001DAB0-\U0001E8C6\U0001E8D7-\U0001EFFF]"
)
_CHANGED = {"\u166d": "Po", "\u1734": "Mn", "\U000111c9": "Po"}


class Pieces(NamedTuple):
    """The pieces of a text: their ids in the vocabulary, and their spans of characters in the original text."""

    ids: list[int]
    spans: list[tuple[int, int]]


class WordPiece:
    """Cuts texts into the pieces of a vocabulary, where those that continue a word start with ##."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._heads = {piece: id for id, piece in enumerate(vocabulary)}
        self._tails = {piece[2:]: id for piece, id in self._heads.items() if piece.startswith("##")}
        self.cls, self.sep, self.unknown = (self._heads[name] for name in ("[CLS]", "[SEP]", "[UNK]"))
        self._longest = max(map(len, vocabulary))
        self._cached_cut = lru_cache(maxsize=1 << 16)(self._cut)

    def encode(self, text: str) -> Pieces:
        """The pieces of a text, without [CLS] and [SEP]. A word that the pieces cannot spell is one unknown piece."""
        if _PLAIN.fullmatch(text):
            return self._encode_words(_PLAIN_WORD.finditer(text.lower()))
        folded = [_fold(character) for character in text]
        origin = [index for index, characters in enumerate(folded) for _ in characters]
        ids, spans = self._encode_words(_FOLDED_WORD.finditer("".join(folded)))
        return Pieces(ids, [(origin[start], origin[end - 1] + 1) for start, end in spans])

    def _encode_words(self, matches: Iterable[re.Match[str]]) -> Pieces:
        encoded = Pieces([], [])
        for match in matches:
            word, offset = match[0], match.start()
            pieces = self._cached_cut(word) if len(word) <= _MAX_WORD_CHARS else ((self.unknown, 0, len(word)),)
            for id, start, end in pieces:
                encoded.ids.append(id)
                encoded.spans.append((offset + start, offset + end))
        return encoded

    def framed(self, ids: Sequence[int]) -> list[int]:
        """The ids of a text between [CLS] and [SEP], as a model takes them."""
        return [self.cls, *ids, self.sep]

    def _cut(self, word: str) -> tuple[tuple[int, int, int], ...]:
        """The id of each piece of a word, and where in the word it starts and ends."""
        pieces, start, ids = [], 0, self._heads
        while start < len(word):
            ends = range(min(start + self._longest, len(word)), start, -1)
            end = next((end for end in ends if word[start:end] in ids), None)
            if end is None:
                return ((self.unknown, 0, len(word)),)
            pieces.append((ids[word[start:end]], start, end))
            start, ids = end, self._tails
        return tuple(pieces)


@cache
def vocabulary() -> tuple[str, ...]:
    """The 30,522 pieces of Google's uncased English BERT (Apache-2.0), which MiniLM shares, by id."""
    return tuple(packaged("vocabulary.txt").rstrip("\n").split("\n"))


@lru_cache(maxsize=1 << 13)
def _fold(character: str) -> str:
    """A character in lower case without accents, in spaces if it is a word of its own; or a space, or nothing."""
    category = _category(character)
    if character in "\t\n\r" or category[0] == "Z":
        return " "
    if category in {"Cc", "Cf", "Co", "Cs"} or character == "\ufffd":
        return ""
    parts = character if category == "Cn" else unicodedata.normalize("NFD", character)
    kept = [part for part in parts if _category(part) != "Mn"]
    folded = "".join(f" {part} " if _category(part)[0] == "P" or part in "$+<=>^`|~" else part.lower() for part in kept)
    return f" {folded} " if _IDEOGRAPH.match(character) else folded


def _category(character: str) -> str:
    """The general category in Unicode 8, or "Cn" for a character that it lacks."""
    return "Cn" if _LATER.match(character) else _CHANGED.get(character) or unicodedata.category(character)


class Logits(NamedTuple):
    """The logits of a claim given a text."""

    entailed: float
    neutral: float
    contradicted: float


def log_odds(first: float, second: float, third: float) -> float:
    """The logit of the first class against the other two, clipped to -6..6.

    Args:
        first, second, third: the logits of the classes.
    """
    others = max(second, third) + math.log1p(math.exp(-abs(second - third)))
    return max(-_MAX_LOGIT, min(_MAX_LOGIT, first - others))


class Reading(NamedTuple):
    """A sentence to classify given windows of texts; it attends to all of them at once."""

    windows: tuple[str, ...]
    sentence: str


class Encoded(NamedTuple):
    """An encoded text."""

    embedding: Floats  # (width), of length one
    keys: Any  # keys and values: (2 x layers, tokens + 2, width), in half precision


class Encoder:
    """An open model, safe in several threads. workers: the threads of `map`. The latest encoded texts are cached."""

    def __init__(self, session: Any, workers: int | None = None) -> None:
        self._session, self._lock = session, Lock()
        self._workers = workers or processors()
        self._tokenizer = WordPiece(vocabulary())
        self._pasts = [tensor for tensor in session.get_inputs() if tensor.name.startswith("past")]
        self._texts: OrderedDict[str, Encoded] = OrderedDict()

    def embed(self, texts: Sequence[str]) -> Floats:
        """An embedding of length one for each text: (texts, width)."""
        return np.stack([encoded.embedding for encoded in self.map(self.encoded, texts)])

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """The results of `work`, which uses this encoder, in the order of the items, computed in threads."""
        waiting = list(items)
        threads = min(self._workers, len(waiting))
        if threads < 2:
            yield from map(work, waiting)
            return
        with ThreadPoolExecutor(threads) as pool:
            yield from pool.map(work, waiting)

    def classify(self, texts: Sequence[str], claims: Sequence[str]) -> list[Logits]:
        """The logits of each claim, which attends to all texts at once; each text is encoded alone.

        The first TEXT_TOKENS tokens of a text and CLAIM_TOKENS of a claim are read.
        """
        past = np.concatenate([self.encoded(text).keys for text in texts], axis=1)[:, None].astype(np.float32)
        logits = []
        for claim in claims:
            ids = self._tokenizer.framed(self._tokenizer.encode(claim).ids[:CLAIM_TOKENS])
            [[values]] = self._run(["labels"], ids, _HYPOTHESIS, past)
            logits.append(Logits(*values.tolist()))
        return logits

    def _run(self, outputs: Sequence[str], ids: Sequence[int], token_type: int, past: Any) -> list[Any]:
        """The model's outputs for a text or claim, which attends to `past`: (2 x layers, 1, tokens, width)."""
        length = len(ids)
        inputs = {
            "ids": np.array([ids]),
            "positions": np.arange(length)[None],
            "sorts": np.full((1, length), token_type),  # the graph's name for token types
        }
        attended = {tensor.name: keys for tensor, keys in zip(self._pasts, past, strict=True)}
        return list(self._session.run(outputs, inputs | attended))

    def encoded(self, text: str) -> Encoded:
        """The first TEXT_TOKENS tokens of a text, encoded."""
        with self._lock:
            if text in self._texts:
                self._texts.move_to_end(text)
                return self._texts[text]
        encoded = self._encode(text)
        with self._lock:
            self._texts[text] = encoded
            while len(self._texts) > 1 and sum(kept.keys.shape[1] for kept in self._texts.values()) > _CACHED_TOKENS:
                self._texts.popitem(last=False)
        return encoded

    def _encode(self, text: str) -> Encoded:
        ids = self._tokenizer.framed(self._tokenizer.encode(text).ids[:TEXT_TOKENS])
        names = [f"now_{number}" for number in range(len(self._pasts))]
        empty_past = np.zeros((len(names), 1, 0, self._pasts[0].shape[-1]), np.float32)
        [states], *keys = self._run(["states", *names], ids, _TEXT, empty_past)
        mean = states.mean(axis=0)
        return Encoded(mean / np.linalg.norm(mean), np.concatenate(keys).astype(np.float16))


def open_session(path: Path) -> Any:
    """An ONNX model, open on the CPU. Raises what ONNX Runtime raises where the file holds none.

    It runs on one thread each time, several concurrently, which is faster than many threads a text.
    """
    disable_telemetry()  # before onnxruntime is imported, here alone
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


@cache
def encoder() -> Encoder:
    """The encoder in the wheel, opened when first asked for."""
    with as_file(files("ragauge.judges.embedded") / MODEL) as path:
        return Encoder(open_session(path))


@cache
def fingerprint() -> str:
    """Identifies the model: 12 hex digits of its hash."""
    return hashlib.sha256((files("ragauge.judges.embedded") / MODEL).read_bytes()).hexdigest()[:12]
