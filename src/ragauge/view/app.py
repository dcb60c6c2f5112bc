"""The application: from the address of a request to what is sent back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from ragauge.analysis.compare import compare
from ragauge.errors import UnknownName, UsageError
from ragauge.report.explain import chooser
from ragauge.report.html import page
from ragauge.run.results import Run
from ragauge.scores import RunRecord
from ragauge.store import Store
from ragauge.text.decoding import decoded
from ragauge.view.labels import Given, Labels
from ragauge.view.parts import Parts

Query = Mapping[str, str]

#: Stands in the page where a single file has its data.
SERVED = '<script type="application/json" id="served">{}</script>'


class Response(NamedTuple):
    """What is sent back: the body, its type and further headers."""

    body: bytes
    type: str = "application/json"
    headers: Mapping[str, str] = {}


class App:
    """Everything that the page asks for, from one store. by: whose labels they are that the page gives."""

    def __init__(self, store: Store, by: str) -> None:
        self._store = store
        self._parts = Parts(store)
        self._labels = Labels(by)
        self._page = page("ragauge", "'self'", "view").replace("<!-- data -->", SERVED).encode()

    def get(self, path: Sequence[str], query: Query) -> Response:
        """What stands at a path, by its steps. Raises UnknownName where nothing does."""
        match path:
            case [""]:
                return Response(self._page, "text/html; charset=utf-8", {"Content-Security-Policy": _PAGE_POLICY})
            case ["api", "runs"]:
                return _json([self._listed(record) for record in self._store.runs()])
            case ["api", "compare"]:
                return _json(compare(self._run(query.get("a", "")), self._run(query.get("b", ""))).to_dict())
            case ["api", "runs", run, "live"]:
                return _json(self._listed(self._store.run(run)))
            case ["api", "runs", run, "labels"]:
                return _json(self._labels.standings(self._run(run), query.get("metric")))
            case ["api", "runs", run, "next"]:
                passed = {_whole(each) for each in query.get("passed", "").split(",") if each}
                return _json(self._labels.next(self._run(run), query.get("metric"), passed))
            case ["api", "runs", run, "samples", position]:
                return _json(self._labels.sample(self._run(run), _whole(position), query.get("metric", "")))
            case ["api", "runs", run, "parts", name]:
                return Response(self._parts.part(self._run(run), name), headers={"Content-Encoding": "gzip"})
        raise UnknownName("address", "/".join(path), ["api/runs"])

    def post(self, path: Sequence[str], body: bytes) -> Response:
        """Take a label. Raises UsageError where it is none, UnknownName where nothing is taken."""
        match path:
            case ["api", "runs", run, "labels"]:
                try:
                    given = decoded(body, _GIVEN)
                except ValueError as error:
                    raise UsageError(f"this is no label: {error}") from error
                return _json(self._labels.keep(self._run(run), given))
        raise UnknownName("address to post to", "/".join(path), ["api/runs/RUN/labels"])

    def _run(self, wanted: str) -> Run:
        return Run.open(self._store, wanted)

    def _listed(self, record: RunRecord) -> dict[str, Any]:
        """A run in the list, with the metric that says most and how far it is."""
        metric = chooser(record)
        estimate = record.estimates[metric] if metric else None
        running = record.status == "running"
        return {
            "id": record.id,
            "name": record.name,
            "data": record.data,
            "started": record.started,
            "status": record.status,
            "samples": self._store.size(record.id) if running else record.samples,
            "judges": sorted({str(judge) for judge in record.judges.values()}),
            "metric": metric,
            "estimate": msgspec.to_builtins(estimate),
        }


#: The page says by itself what may run in it; this is what only a header can say.
_PAGE_POLICY = "frame-ancestors 'none'"

_GIVEN = msgspec.json.Decoder(Given)


def _json(content: Any) -> Response:
    return Response(msgspec.json.encode(content))


def _whole(given: str) -> int:
    if not given.isdecimal() or len(given) > 9:
        raise UsageError(f"{given!r} is no position of a sample; give a whole number from 0")
    return int(given)
