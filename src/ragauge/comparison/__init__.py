"""Above the run: is the difference between two runs over the same samples real? See docs/compare.md."""

from __future__ import annotations

from ragauge.comparison.comparing import compare
from ragauge.comparison.outcome import Comparison, Difference

__all__ = ["Comparison", "Difference", "compare"]
