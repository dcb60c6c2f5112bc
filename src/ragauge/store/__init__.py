"""Floor 3: judgments, runs and people's labels in SQLite or PostgreSQL. See docs/store.md."""

from ragauge.store.recording import RowEdit, label, read_judgments, read_labels, write_judgments, write_labels
from ragauge.store.store import Place, Store, is_url

__all__ = [
    "Place",
    "RowEdit",
    "Store",
    "is_url",
    "label",
    "read_judgments",
    "read_labels",
    "write_judgments",
    "write_labels",
]
