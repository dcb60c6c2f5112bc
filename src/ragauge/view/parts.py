"""The parts of runs as the page asks for them: the same as stand in a single file, read from the store when needed."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict

from ragauge.errors import UnknownName
from ragauge.report.document import BLOCK, Index, packed, page_head, shared_document
from ragauge.run.results import Run
from ragauge.store import Store

#: How many runs are held, without their samples.
HELD = 8

_BLOCK = re.compile(r"samples-(\d{1,9})")


class Parts:
    """Parts by run and name, gzip-compressed JSON; what needs all samples is made once for a run that has ended."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._held: OrderedDict[str, dict[str, bytes]] = OrderedDict()

    def part(self, run: Run, name: str) -> bytes:
        """The part called "head", "index", "texts" or "samples-N". Raises UnknownName for another."""
        block = _BLOCK.fullmatch(name)
        if block:
            return self._block(run, int(block[1]))
        parts = self._whole(run)
        if name not in parts:
            raise UnknownName("part of a run", name, [*parts, "samples-0"])
        return parts[name]

    def _block(self, run: Run, number: int) -> bytes:
        records = self._store.samples(run.id, number * BLOCK, (number + 1) * BLOCK)
        return packed([shared_document(record) for record in records])

    def _whole(self, run: Run) -> dict[str, bytes]:
        """The parts that are made of all samples; one thread makes them, others wait."""
        with self._lock:
            parts = self._held.pop(run.id, None) or _made(run)
            if run.record.status != "running":
                self._held[run.id] = parts
            if len(self._held) > HELD:
                self._held.popitem(last=False)
            return parts


def _made(run: Run) -> dict[str, bytes]:
    index = Index()
    for record in run.records():
        index.add(record)
    return {"head": packed(page_head(run.record)), "index": packed(index.columns()), "texts": packed(index.texts)}
