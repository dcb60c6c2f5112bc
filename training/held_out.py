"""Which premises have no part in training the encoder: one in fifty, by their first words."""

from __future__ import annotations

import zlib


def held_out(premise: str) -> bool:
    """Whether what is said of a premise is kept for looking at what was learnt."""
    return zlib.crc32(premise[:60].encode()) % 50 == 0
