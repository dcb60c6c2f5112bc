"""Floor 3: judgments, runs and people's labels in SQLite or PostgreSQL. See docs/store.md."""

from __future__ import annotations

from ragauge.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
