"""Floor 3: readers. Files, frames and Python rows become samples, whatever the ecosystem calls their columns."""

from __future__ import annotations

from ragauge.readers.join import Joined, join
from ragauge.readers.read import SampleReader, read

__all__ = ["Joined", "SampleReader", "join", "read"]
