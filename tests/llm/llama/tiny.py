"""Writes a model for llama.cpp: one layer of random weights over single bytes, half a megabyte in all.

One dimension of the embeddings is the same for every token and is read by the output layer alone, as a bias: it keeps
the model to printable ASCII, since bytes that are no UTF-8 make a server fail, and it favours what ends strings and
lists, since a random model would else go on for ever.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Tensor = NDArray[np.float32]

_MAGIC, _VERSION, _ALIGNMENT, _F32 = b"GGUF", 3, 32, 0
_U32, _FLOAT, _STRING, _ARRAY, _I32 = 4, 6, 8, 9, 5
_NORMAL, _CONTROL = 1, 3
_WIDTH, _HIDDEN, _HEADS, _CONTEXT = 64, 128, 2, 65536
_SPECIAL, _END = ("<s>", "</s>"), 1
_BIAS, _ENDING = 12.0, 3.0
_TEXT, _ENDS = range(0x20, 0x7F), frozenset(b'"]}')


def write(path: Path, seed: int = 0) -> Path:
    """Write the model; the same file for the same seed."""
    tensors = _tensors(np.random.default_rng(seed))
    entries = _entries()
    head = _MAGIC + struct.pack("<IQQ", _VERSION, len(tensors), len(entries))
    head += b"".join(_string(key) + _value(value) for key, value in entries.items())
    offset = 0
    for name, tensor in tensors.items():
        shape = tensor.shape[::-1]
        head += _string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, _F32, offset)
        offset += len(_padded(tensor.tobytes()))
    path.write_bytes(_padded(head) + b"".join(_padded(tensor.tobytes()) for tensor in tensors.values()))
    return path


def _entries() -> dict[str, Any]:
    tokens = [*_SPECIAL, *map(_sign, range(256))]
    return {
        "general.architecture": "llama",
        "general.name": "random",
        "llama.context_length": _CONTEXT,
        "llama.embedding_length": _WIDTH,
        "llama.block_count": 1,
        "llama.feed_forward_length": _HIDDEN,
        "llama.attention.head_count": _HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.merges": [],
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [_CONTROL] * len(_SPECIAL) + [_NORMAL] * 256,
        "tokenizer.ggml.bos_token_id": 0,
        "tokenizer.ggml.eos_token_id": _END,
    }


def _tensors(random: np.random.Generator) -> dict[str, Tensor]:
    vocabulary = len(_SPECIAL) + 256

    def drawn(rows: int, columns: int) -> Tensor:
        return np.asarray(random.standard_normal((rows, columns)) / np.sqrt(columns), dtype=np.float32)

    embeddings, output = drawn(vocabulary, _WIDTH), drawn(vocabulary, _WIDTH)
    embeddings[:, 0] = 1
    output[:, 0] = [_bias(token) for token in range(vocabulary)]
    square = {f"blk.0.attn_{name}.weight": drawn(_WIDTH, _WIDTH) for name in ("q", "k", "v", "output")}
    fed = {f"blk.0.ffn_{name}.weight": drawn(_HIDDEN, _WIDTH) for name in ("gate", "up")}
    fed["blk.0.ffn_down.weight"] = drawn(_WIDTH, _HIDDEN)
    for name in ("blk.0.attn_output.weight", "blk.0.ffn_down.weight"):
        (square | fed)[name][0] = 0  # nothing is added to the constant dimension
    norms = ("output_norm.weight", "blk.0.attn_norm.weight", "blk.0.ffn_norm.weight")
    ones = {name: np.ones(_WIDTH, dtype=np.float32) for name in norms}
    return {"token_embd.weight": embeddings, "output.weight": output, **square, **fed, **ones}


def _bias(token: int) -> float:
    byte = token - len(_SPECIAL)
    return _ENDING if byte in _ENDS or token == _END else 0.0 if byte in _TEXT else -_BIAS


def _sign(byte: int) -> str:
    """The character that stands for a byte in vocabularies of the kind of GPT-2: itself where it can be seen."""
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    return chr(byte) if byte in seen else chr(0x100 + byte - sum(other < byte for other in seen))


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value: Any) -> bytes:
    if isinstance(value, list):
        kind = _I32 if value and isinstance(value[0], int) else _STRING
        return struct.pack("<IIQ", _ARRAY, kind, len(value)) + b"".join(map(_plain, value))
    kind = _STRING if isinstance(value, str) else _FLOAT if isinstance(value, float) else _U32
    return struct.pack("<I", kind) + _plain(value)


def _plain(value: str | float) -> bytes:
    if isinstance(value, str):
        return _string(value)
    return struct.pack("<f" if isinstance(value, float) else "<i", value)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % _ALIGNMENT)
