"""Which premises of the natural pairs the encoder is not trained on, by their first words."""

from __future__ import annotations

import zlib


def held_out(premise: str) -> str:
    """What a premise is kept aside for: "dev" (one in a hundred), "fit" (as many), or "" for training."""
    number, rest = divmod(zlib.crc32(premise[:60].encode()), 50)
    return "" if rest else ("dev", "fit")[number % 2]
