"""The fingerprint of functions: what a judge made of them is known by in a store."""

from __future__ import annotations

import hashlib
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_VARARGS, CO_VARKEYWORDS
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any

_FORM = CO_VARARGS | CO_VARKEYWORDS | CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
_PLAIN = (str, bytes, int, float, complex, bool, type(None), type(...))


class _Opaque(Exception):
    """A value whose content cannot be told."""


def fingerprint(functions: Mapping[str, Callable[..., Any]]) -> tuple[tuple[str, str], ...]:
    """One setting per function: a hash of its code, defaults, and the plain values and functions it uses.

    What the standard library gives, and modules that state a version, go by name and version. A function that uses
    anything else (an object, a class or module of the caller's own) gets a hash that no other process can have.
    """
    return tuple((kind, _hashed(function)) for kind, function in sorted(functions.items()))


def _hashed(function: Callable[..., Any]) -> str:
    digest = hashlib.sha256(".".join(map(str, sys.version_info[:2])).encode())
    try:
        for piece in _function(function, set()):
            digest.update(piece.encode() + b"\0")
    except (_Opaque, RecursionError):
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
        yield from _cell(cell, seen)
    for name in _names(function.__code__):
        if name in function.__globals__:
            yield name
            yield from _value(function.__globals__[name], seen)


def _cell(cell: CellType, seen: set[int]) -> Iterator[str]:
    try:
        content = cell.cell_contents
    except ValueError:  # not filled yet
        raise _Opaque from None
    yield from _value(content, seen)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _code(code: CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield code.co_exceptiontable.hex()
    yield repr((code.co_names, code.co_varnames, code.co_argcount, code.co_kwonlyargcount, code.co_flags & _FORM))
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
        yield f"module:{value.__name__}:{_version(value)}"
    elif isinstance(value, type | FunctionType | BuiltinFunctionType) and _is_standard(value.__module__):
        yield f"standard:{value.__module__}.{value.__qualname__}"
    else:
        yield from _function(value, seen)


def _is_standard(module: str | None) -> bool:
    """Whether the standard library holds a module; the version of Python stands for what is in it."""
    return module is not None and module.partition(".")[0] in sys.stdlib_module_names


def _version(module: ModuleType) -> str:
    if _is_standard(module.__name__):
        return "standard"
    version = getattr(module, "__version__", None)
    if not isinstance(version, str):
        raise _Opaque
    return version
