"""Floor 3: readers. Files, frames and Python rows become samples, whatever the ecosystem calls their columns."""

from __future__ import annotations

from ragauge.readers.budget import ReadingLimits
from ragauge.readers.read import Joined, SampleReader, join, read

__all__ = ["Joined", "ReadingLimits", "SampleReader", "join", "read"]
