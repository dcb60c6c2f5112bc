"""Above the run: the scores of other systems beside ours, and why they differ. See docs/migrating/parity.md."""

from __future__ import annotations

from ragauge.peers.comparing import parity
from ragauge.peers.outcome import Parity

__all__ = ["Parity", "parity"]
