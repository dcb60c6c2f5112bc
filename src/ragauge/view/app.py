"""The application: from the path of a request to the response."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from ragauge.analysis.compare import compare
from ragauge.analysis.labels import Labelling, LabelPiece, SampleDraw, choices, parse_answer, question_text
from ragauge.errors import UnknownName, UsageError
from ragauge.host import decoded
from ragauge.questions import Rate, kind
from ragauge.report.document import BLOCK, Index, packed, page, page_head, score_document, shared_document
from ragauge.report.explain import chooser
from ragauge.run.results import Run
from ragauge.scores import RunRecord
from ragauge.store import Store

#: The number of runs whose parts are cached.
HELD = 8

_BLOCK = re.compile(r"samples-(\d{1,9})")


class Parts:
    """Parts by run and name, as gzip-compressed JSON. Parts made of all samples are cached for runs that have ended."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._held: OrderedDict[str, dict[str, bytes]] = OrderedDict()

    def part(self, run: Run, name: str) -> bytes:
        """The part called "head", "index", "texts" or "samples-N". Raises UnknownName for another."""
        if block := _BLOCK.fullmatch(name):
            first = int(block[1]) * BLOCK
            return packed([shared_document(record) for record in self._store.samples(run.id, first, first + BLOCK)])
        with self._lock:  # one thread makes the parts while others wait
            parts = self._held.pop(run.id, None) or _made(run)
            if run.record.status != "running":
                self._held[run.id] = parts
            if len(self._held) > HELD:
                self._held.popitem(last=False)
        if name not in parts:
            raise UnknownName("part of a run", name, [*parts, "samples-0"])
        return parts[name]


def _made(run: Run) -> dict[str, bytes]:
    """The parts made of all samples."""
    index = Index()
    for record in run.records():
        index.add(record)
    head = page_head(run.record, run.sections())
    return {"head": packed(head), "index": packed(index.columns()), "texts": packed(index.texts)}


class GivenLabel(msgspec.Struct, forbid_unknown_fields=True):
    """A label from the page.

    position: of the sample in the run. judgment: of the piece, in the evidence of `metric`. answer: as typed, see
    `parse_answer`. draw: how the sample was drawn; None if the judge's verdict was shown.
    """

    position: int
    metric: str
    judgment: str
    answer: str
    draw: SampleDraw | None = None


class PageLabels:
    """The labelling of runs; each run is read once. by: the name of the person."""

    def __init__(self, by: str) -> None:
        self._by = by
        self._lock = threading.Lock()
        self._opened: dict[str, Labelling] = {}

    def summaries(self, run: Run, metric: str | None = None) -> dict[str, Any]:
        """The metrics that can be labelled, and the label summaries of those with labels, or of one."""
        labelling = self._labelling(run)
        wanted = [labelling.metric(metric)] if metric else labelling.labelled()
        found = labelling.summaries(wanted) if wanted else {}
        return {"metrics": labelling.metrics, "summaries": msgspec.to_builtins(found), "by": self._by}

    def next(self, run: Run, metric: str | None, skipped: Collection[int]) -> dict[str, Any]:
        """The next sample to label with its unlabelled pieces; {"draw": None} if nothing is left."""
        labelling = self._labelling(run)
        chosen = labelling.metric(metric)
        drawn = labelling.next(chosen, skipped)
        pieces = labelling.open(drawn, chosen) if drawn else []
        id = run.store.sample(run.id, drawn.position).sample.id if drawn else None
        shown = {"metric": chosen, "draw": msgspec.to_builtins(drawn), "id": id}
        return {**shown, "pieces": [_piece(piece) for piece in pieces]}

    def sample(self, run: Run, position: int, metric: str) -> dict[str, Any]:
        """The pieces of one metric of a sample with their labels, and its scores with these."""
        labelling = self._labelling(run)
        pieces = labelling.pieces(position, metric) if metric in labelling.metrics else []
        scores = {key: score_document(score) for key, score in labelling.scores(position).items()}
        return {"pieces": [_piece(piece) for piece in pieces], "scores": scores}

    def keep(self, run: Run, given: GivenLabel) -> dict[str, Any]:
        """Store a label, and return the sample with it. Raises UsageError if it fits no piece."""
        labelling = self._labelling(run)
        pieces = labelling.pieces(given.position, labelling.metric(given.metric))
        piece = next((one for one in pieces if one.evidence.judgment == given.judgment), None)
        if piece is None:
            raise UsageError(f"sample {given.position} has no judgment {given.judgment!r} behind {given.metric}")
        labelling.keep(piece.question, parse_answer(piece.question, given.answer), self._by, given.draw)
        return self.sample(run, given.position, given.metric)

    def _labelling(self, run: Run) -> Labelling:
        with self._lock:
            if run.id not in self._opened:
                self._opened[run.id] = Labelling(run)
            return self._opened[run.id]


def _piece(piece: LabelPiece) -> dict[str, Any]:
    """A piece as plain data, with its question and the possible answers."""
    question = piece.question
    rubric = question.rubric if isinstance(question, Rate) else None
    label = piece.label
    return {
        "judgment": piece.evidence.judgment,
        "evidence": msgspec.to_builtins(piece.evidence),
        "question": msgspec.to_builtins(question),
        "kind": kind(question),
        "asked": question_text(question),
        "choices": msgspec.to_builtins(choices(question)),
        "scale": [rubric.low, rubric.high] if rubric else None,
        "judge": msgspec.to_builtins(piece.judge),
        "label": {"answer": msgspec.to_builtins(label.answer), "by": dict(label.judge.settings)["by"]}
        if label
        else None,
    }


UrlQuery = Mapping[str, str]

#: Replaces the data that a single file contains.
SERVED = '<script type="application/json" id="served">{}</script>'


class PageResponse(NamedTuple):
    """A response: the body, its type and further headers."""

    body: bytes
    type: str = "application/json"
    headers: Mapping[str, str] = {}


class App:
    """Serves everything that the page requests, from one store. by: the name of the person who labels."""

    def __init__(self, store: Store, by: str) -> None:
        self._store = store
        self._parts = Parts(store)
        self._labels = PageLabels(by)
        self._page = page("ragauge", "'self'", "view").replace("<!-- data -->", SERVED).encode()

    def get(self, path: Sequence[str], query: UrlQuery) -> PageResponse:
        """The resource at a path, given by its segments. Raises UnknownName if there is none."""
        match path:
            case [""]:
                return PageResponse(self._page, "text/html; charset=utf-8", {"Content-Security-Policy": _PAGE_POLICY})
            case ["api", "runs"]:
                return _json([self._listed(record) for record in self._store.runs()])
            case ["api", "compare"]:
                return _json(compare(self._run(query.get("a", "")), self._run(query.get("b", ""))).to_dict())
            case ["api", "runs", run, "live"]:
                return _json(self._listed(self._store.run(run)))
            case ["api", "runs", run, "labels"]:
                return _json(self._labels.summaries(self._run(run), query.get("metric")))
            case ["api", "runs", run, "next"]:
                passed = {_whole(each) for each in query.get("passed", "").split(",") if each}
                return _json(self._labels.next(self._run(run), query.get("metric"), passed))
            case ["api", "runs", run, "samples", position]:
                return _json(self._labels.sample(self._run(run), _whole(position), query.get("metric", "")))
            case ["api", "runs", run, "parts", name]:
                return PageResponse(self._parts.part(self._run(run), name), headers={"Content-Encoding": "gzip"})
        raise UnknownName("address", "/".join(path), ["api/runs"])

    def post(self, path: Sequence[str], body: bytes) -> PageResponse:
        """Store a label. Raises UsageError if the body is not a label, UnknownName for another path."""
        match path:
            case ["api", "runs", run, "labels"]:
                try:
                    given = decoded(body, _GIVEN)
                except ValueError as error:
                    raise UsageError(f"not a label: {error}") from error
                return _json(self._labels.keep(self._run(run), given))
        raise UnknownName("address to post to", "/".join(path), ["api/runs/RUN/labels"])

    def _run(self, wanted: str) -> Run:
        return Run.open(self._store, wanted)

    def _listed(self, record: RunRecord) -> dict[str, Any]:
        """A run in the list, with the estimate of its main metric and its progress."""
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


#: The page has its own policy; this directive works only in a header.
_PAGE_POLICY = "frame-ancestors 'none'"

_GIVEN = msgspec.json.Decoder(GivenLabel)


def _json(content: Any) -> PageResponse:
    return PageResponse(msgspec.json.encode(content))


def _whole(given: str) -> int:
    if not given.isdecimal() or len(given) > 9:
        raise UsageError(f"{given!r} is not the position of a sample; give a whole number from 0")
    return int(given)
