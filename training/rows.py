"""The rows of a file of JSON, one a line, compressed: the training pairs, and groups."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def read(path: Path) -> Iterator[Row]:
    """The rows in their order."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def by_source(path: Path) -> dict[str, list[Row]]:
    """The training pairs by source; an empty list for a source that there is none of."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in read(path):
        found[row["source"]].append(row)
    return found
