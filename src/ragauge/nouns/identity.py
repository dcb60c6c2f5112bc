"""Identity: who answered."""

from __future__ import annotations

import msgspec


class Identity(msgspec.Struct, frozen=True, gc=False):
    """Everything that can change a judge's answer: its name, and settings such as revision, prompt hash, decoding."""

    name: str
    settings: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.name
