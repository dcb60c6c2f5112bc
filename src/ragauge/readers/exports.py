"""What other tools export, as rows that have columns: values at paths, and logs of Inspect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def value_under(value: Any, path: str) -> Any:
    """The value at a path, of whose points some may be part of names."""
    if not isinstance(value, Mapping) or path in value:
        return value[path] if isinstance(value, Mapping) else None
    name, _, rest = path.partition(".")
    return value_under(value.get(name), rest) if rest else None


def inspect_rows(log: Mapping[str, Any], samples: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The samples of a log of Inspect, without its events; epochs are a group, and one that failed has no answer."""
    repeated = value_under(log, "eval.config.epochs") not in (None, 1)
    for row in samples:
        dropped = {"events", "events_data", "attachments", *(["output", "messages"] if row.get("error") else [])}
        kept = {column: value for column, value in row.items() if column not in dropped}
        epoch = {"id": f"{row.get('id')}, epoch {row.get('epoch')}", "group": str(row.get("id"))} if repeated else {}
        yield {**kept, **epoch}
