"""The rows of a file of JSON, one a line, compressed: the training pairs, and groups."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
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


def write_groups(path: Path, groups: Sequence[Row]) -> None:
    """Write groups of claims; print how many claims there are of each source, part ("" for training) and label."""
    with gzip.open(path, "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(group) + "\n" for group in groups)
    claims = [(one["source"], group.get("held", ""), one["label"]) for group in groups for one in group["claims"]]
    counts = Counter(claims)
    for (source, part, label), count in sorted(counts.items()):
        print(f"{source:34}{part:6}{label:16}{count:8}")
    print(f"{len(groups)} groups, {len(claims)} claims")
