"""Floor 3: judges. A judge answers questions; it never sees a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragauge.lazy import public_names

if TYPE_CHECKING:
    from ragauge.judges.base import Judge as Judge

__getattr__, __dir__, __all__ = public_names(
    __name__,
    {
        "judges.base": "Judge",
    },
)
