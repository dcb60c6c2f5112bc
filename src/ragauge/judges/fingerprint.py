"""The fingerprint of functions: what a judge made of them is known by in a store."""

from __future__ import annotations

import hashlib
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

_PLAIN = (str, bytes, int, float, complex, bool, type(None))


class _Opaque(Exception):
    """A value whose content cannot be told."""


def fingerprint(functions: Mapping[str, Callable[..., Any]]) -> tuple[tuple[str, str], ...]:
    """One setting per function: a hash of its code, defaults, and the plain values and functions it uses.

    A function that uses anything else gets a hash that no other process can have.
    """
    return tuple((kind, _hashed(function)) for kind, function in sorted(functions.items()))


def _hashed(function: Callable[..., Any]) -> str:
    digest = hashlib.sha256(".".join(map(str, sys.version_info[:2])).encode())
    try:
        for piece in _function(function, set()):
            digest.update(piece.encode() + b"\0")
    except _Opaque:
        return f"process-{uuid.uuid4().hex}"
    return digest.hexdigest()[:16]


def _function(function: Any, seen: set[int]) -> Iterator[str]:
    if not isinstance(function, FunctionType):
        raise _Opaque
    if id(function) in seen:
        return
    seen.add(id(function))
    yield from _code(function.__code__)
    yield from _value(function.__defaults__, seen)
    yield from _value(function.__kwdefaults__, seen)
    for cell in function.__closure__ or ():
        yield from _value(cell.cell_contents, seen)
    for name in _names(function.__code__):
        if name in function.__globals__:
            yield name
            yield from _value(function.__globals__[name], seen)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _code(code: CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield repr(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant)
        else:
            yield from _value(constant, set())


def _value(value: Any, seen: set[int]) -> Iterator[str]:
    if isinstance(value, _PLAIN):
        yield f"{type(value).__name__}:{value!r}"
    elif isinstance(value, tuple | list):
        yield f"{type(value).__name__}[{len(value)}"
        for item in value:
            yield from _value(item, seen)
    elif isinstance(value, set | frozenset):
        yield from _value(sorted(map(repr, value)), seen)
    elif isinstance(value, dict):
        yield f"dict[{len(value)}"
        for key, item in value.items():
            yield from _value(key, seen)
            yield from _value(item, seen)
    elif isinstance(value, ModuleType):
        yield f"module:{value.__name__}:{getattr(value, '__version__', '')}"
    elif isinstance(value, type):
        yield f"type:{value.__module__}.{value.__qualname__}"
    else:
        yield from _function(value, seen)
