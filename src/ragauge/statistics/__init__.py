"""Floor 2: statistics, pure functions from scores, counts or labels to estimates with intervals."""

from __future__ import annotations

from ragauge.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
