"""Floor 3: readers. Files, frames and plain Python rows become samples, under the column names of the ecosystem."""

from __future__ import annotations

from ragauge.readers.join import Joined, join
from ragauge.readers.read import SampleReader, read

__all__ = ["Joined", "SampleReader", "join", "read"]
