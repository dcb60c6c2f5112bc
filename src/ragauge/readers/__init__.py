"""Floor 3: readers. Files, frames and plain Python rows become samples, under the column names of the ecosystem."""

from __future__ import annotations

from ragauge.readers.joining import Joined, join
from ragauge.readers.reading import Reading, read

__all__ = ["Joined", "Reading", "join", "read"]
