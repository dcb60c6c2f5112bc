"""Floor 3: judges. A judge answers questions; it never sees a metric."""

from __future__ import annotations

from ragauge.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
