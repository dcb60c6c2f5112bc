"""Decoding JSON from outside."""

from __future__ import annotations

from typing import TypeVar

import msgspec

T = TypeVar("T")


def decoded(json: bytes | str | msgspec.Raw, decoder: msgspec.json.Decoder[T]) -> T:
    """The value of a JSON text.

    Raises ValueError, with a readable message, for invalid syntax, type, encoding or depth.
    """
    try:
        return decoder.decode(json)
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8: {error.reason}") from error
    except RecursionError as error:
        raise ValueError("its arrays and objects are nested too deeply") from error
