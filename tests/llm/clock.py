"""A clock for the tests of what takes time."""

from __future__ import annotations


class Clock:
    """A clock that moves on request."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """The seconds it shows."""
        return self.now
