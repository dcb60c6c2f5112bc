"""Floor 3: the store keeps judgments, runs and people's labels in one SQLite file. See docs/store.md."""

from ragauge.store.labels import label
from ragauge.store.recording import read_judgments, read_labels, write_judgments
from ragauge.store.sqlite import Store

__all__ = ["Store", "label", "read_judgments", "read_labels", "write_judgments"]
