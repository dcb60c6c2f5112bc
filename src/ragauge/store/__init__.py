"""Floor 3: judgments, runs and people's labels in one SQLite file. See docs/store.md."""

from ragauge.store.recording import read_judgments, read_labels, write_judgments
from ragauge.store.store import Store
from ragauge.store.tables import label

__all__ = ["Store", "label", "read_judgments", "read_labels", "write_judgments"]
