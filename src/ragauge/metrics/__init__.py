"""Floor 2: metrics, pure functions from evidence tables to scores; one file per family, and the registry."""

from __future__ import annotations

from ragauge.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
