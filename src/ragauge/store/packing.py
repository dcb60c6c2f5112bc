"""How the store writes a text: plain where it is short, else compressed with the phrases that our JSON shares."""

from __future__ import annotations

import hashlib
import zlib

Cell = str | bytes

#: Shorter texts stay as they are: to press them costs a run more time than all else that the store does with them.
_WORTHWHILE = 1024

#: Part of the file format: to change it is a migration. zlib refuses to read with a dictionary it did not write with.
_PHRASES = (
    b'{"id":"latest","started":"20","data":"","metrics":["judges":{"version":"status":"finished","samples":'
    b'{"sample":{"id":"1","query":"","response":"","contexts":[{"text":"","id":"1","title":"","metadata":{"references":["'
    b'"source":"","reference_contexts":[{"text":"answers":[["answerable":true,"system":"","group":"scores":{"'
    b'{"undefined":"no {"failed":"judge_error":{"value":1.0,"counts":[1.0,1.0],"evidence":["},"evidence":{"'
    b'[{"text":"","field":"response","span":[0,"against":"contexts","label":"entailed","probability":0.9,"chunks":['
    b'{"chunk":"1","label":"neutral","probability":0.0},{"chunk":"2","label":"entailed","rationale":"judgment":"'
    b'{"type":"decomposition","statements":[{"text":"","span":[,"claim":false,"opinion":true},{"text":"'
    b'{"type":"grade","value":0.{"kind":"rate","rubric":{"$":"texts":[["{"kind":"classify","text":"","trait":"biasedtoxic"}'
    b'{"kind":"relevant","query":"","text":"","reference":"{"kind":"decompose","text":"{"$":1},"query":"'
    b'{"kind":"entail","premise":[{"$":1},{"$":2}],"hypothesis":"","query":"{"type":"verdict","label":"not_entailed",'
    b'"yes"no","probability":0.9,"chunks":[{"label":"contradicted","probability":0.0},{"label":"neutral","probability":0.'
)


def pack(data: bytes) -> Cell:
    """`data`, which is UTF-8, as a cell of the store."""
    if len(data) < _WORTHWHILE:
        return data.decode()
    # A window of 8 KB spans a typical row, and sets up ten times faster than the usual 32 KB. Level 1 is three times as
    # fast as the usual 6.
    press = zlib.compressobj(1, zlib.DEFLATED, 13, 6, zlib.Z_DEFAULT_STRATEGY, _PHRASES)
    return press.compress(data) + press.flush()


def unpack(cell: Cell) -> bytes:
    """The data that was packed. Raises zlib.error where the cell is damaged."""
    if isinstance(cell, str):
        return cell.encode()
    press = zlib.decompressobj(zdict=_PHRASES)
    return press.decompress(cell) + press.flush()


def digest(data: bytes) -> bytes:
    """16 bytes that stand for `data`."""
    return hashlib.blake2b(data, digest_size=16).digest()
