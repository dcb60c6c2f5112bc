"""Above the run: making data sets, and having language models answer their questions."""

from __future__ import annotations

from ragauge.dataset.building import Built, build, build_async
from ragauge.dataset.generation.generating import Generated, generate, generate_async

__all__ = ["Built", "Generated", "build", "build_async", "generate", "generate_async"]
