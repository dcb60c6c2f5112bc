"""What is done with runs: comparing them, parity with other systems, measuring judges, people's labels."""

from __future__ import annotations

from ragauge.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
