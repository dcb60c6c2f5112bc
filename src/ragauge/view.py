"""`ragauge view`: the server of the page, HTTP on 127.0.0.1, and which requests it serves; see docs/view.md.

No other page in the same browser may reach it: the token in every path is a secret, and not a cookie, since browsers
send cookies to every port of a host; the Host header is checked against DNS rebinding; no header allows other origins
to read (CORS); and writes must come from the page itself.
"""

from __future__ import annotations

import hmac
import re
import secrets
import sys
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from email.message import Message
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from ragauge.analysis.compare import compare
from ragauge.analysis.labels import Labelling, LabelPiece, SampleDraw, parse_answer
from ragauge.datasets.edits import latest_edit, row_edit
from ragauge.errors import RagaugeError, StoreError, UnknownName, UsageError
from ragauge.host import decoded
from ragauge.report.document import BLOCK, Index, packed, page, page_head, sample_document, score_document
from ragauge.report.explain import chooser
from ragauge.run.results import Run
from ragauge.scores import RunRecord
from ragauge.store import Store
from ragauge.store.recording import person_of
from ragauge.version import VERSION

T = TypeVar("T")

_BLOCK = re.compile(r"samples-(\d{1,9})")


class GivenLabel(msgspec.Struct, forbid_unknown_fields=True):
    """A label from the page: the answer as typed. draw: how the sample was drawn; None if the verdict was shown."""

    position: int
    metric: str
    judgment: str
    answer: str
    draw: SampleDraw | None = None


class RowChange(msgspec.Struct, forbid_unknown_fields=True):
    """A row of a test set from the page, as it was changed."""

    position: int
    query: str
    references: list[str]
    claims: list[str]


class PageResponse(NamedTuple):
    """A response: the body, its type and further headers."""

    body: bytes
    type: str = "application/json"
    headers: Mapping[str, str] = {}


_GIVEN = msgspec.json.Decoder(GivenLabel)
_CHANGE = msgspec.json.Decoder(RowChange)


class App:
    """Serves everything that the page requests, from one store.

    by: the name of the person who labels. each: whether what others have labelled is labelled too, without sight of it.
    differing: whether only that is labelled on which people differ.
    """

    def __init__(self, store: Store, by: str, each: bool = False, differing: bool = False) -> None:
        self._store, self._by = store, by
        self._own, self._differing = by if each or differing else "", differing
        self._lock = threading.Lock()  # one thread makes what is kept while others wait
        self._ended = lru_cache(8)(lambda run: _parts(Run.open(store, run)))  # of the last ended runs
        self._labellings: dict[str, Labelling] = {}
        served = '<script type="application/json" id="served">{}</script>'  # in place of the data of a single file
        self._page = page("ragauge", "'self'", "view").replace("<!-- data -->", served).encode()

    def get(self, path: Sequence[str], query: Mapping[str, str]) -> PageResponse:
        """The resource at a path, given by its segments. Raises UnknownName if there is none."""
        match path:
            case [""]:
                policy = {"Content-Security-Policy": "frame-ancestors 'none'"}  # what works only in a header
                return PageResponse(self._page, "text/html; charset=utf-8", policy)
            case ["api", "runs"]:
                return _json([self._listed(record) for record in self._store.runs() if not record.archived])
            case ["api", "compare"]:
                return _json(compare(self._run(query.get("a", "")), self._run(query.get("b", ""))).to_dict())
            case ["api", "runs", run, "live"]:
                return _json(self._listed(self._store.run(run)))
            case ["api", "runs", run, "labels"]:
                return _json(self._summaries(self._run(run), query.get("metric")))
            case ["api", "runs", run, "next"]:
                passed = {_whole(position) for position in query.get("passed", "").split(",") if position}
                return _json(self._next(self._run(run), query.get("metric"), passed))
            case ["api", "runs", run, "samples", position]:
                return _json(self._sample(self._run(run), _whole(position), query.get("metric", "")))
            case ["api", "runs", run, "parts", name]:
                return PageResponse(self._part(self._run(run), name), headers={"Content-Encoding": "gzip"})
        raise UnknownName("address", "/".join(path), ["api/runs"])

    def post(self, path: Sequence[str], body: bytes) -> PageResponse:
        """Store a label or an edit. Raises UsageError if the body is no such thing, UnknownName for another path."""
        match path:
            case ["api", "runs", wanted, "edits"]:
                change = _body(body, _CHANGE, "an edit")
                run = self._run(wanted)
                sample = self._store.sample(run.id, change.position).sample
                self._store.keep_row_edit(row_edit(sample, change.query, change.references, change.claims, self._by))
                return _json(self._sample(run, change.position, ""))
            case ["api", "runs", wanted, "labels"]:
                label = _body(body, _GIVEN, "a label")
                run = self._run(wanted)
                labelling = self._labelling(run)
                pieces = labelling.pieces(label.position, labelling.metric(label.metric))
                piece = next((piece for piece in pieces if piece.evidence.judgment == label.judgment), None)
                if piece is None:
                    judgment = f"judgment {label.judgment!r} behind {label.metric}"
                    raise UsageError(f"sample {label.position} has no {judgment}")
                answer = parse_answer(piece.question, label.answer)
                labelling.keep(piece.question, answer, self._by, label.draw, decides=self._differing)
                return _json(self._sample(run, label.position, label.metric))
        raise UnknownName("address to post to", "/".join(path), ["api/runs/RUN/labels"])

    def _run(self, wanted: str) -> Run:
        return Run.open(self._store, wanted)

    def _listed(self, record: RunRecord) -> dict[str, Any]:
        """A run in the list, with the estimate of its main metric and its progress."""
        metric = chooser(record)
        running = record.status == "running"
        return {
            **{
                name: getattr(record, name)
                for name in ("id", "name", "data", "started", "status", "tags", "seconds", "version", "system")
            },
            "samples": self._store.size(record.id) if running else record.samples,
            "judges": sorted({str(judge) for judge in record.judges.values()}),
            "cost": record.spent.cost,
            "metric": metric,
            "estimate": record.estimates[metric] if metric else None,
        }

    def _part(self, run: Run, name: str) -> bytes:
        """The part called "head", "index", "texts" or "samples-N". Raises UnknownName for another."""
        if block := _BLOCK.fullmatch(name):
            first = int(block[1]) * BLOCK
            records = self._store.samples(run.id, first, first + BLOCK)
            return packed([sample_document(record, shared=True) for record in records])
        with self._lock:
            parts = _parts(run) if run.record.status == "running" else self._ended(run.id)
        if name not in parts:
            raise UnknownName("part of a run", name, [*parts, "samples-0"])
        return parts[name]

    def _labelling(self, run: Run) -> Labelling:
        with self._lock:
            if run.id not in self._labellings:
                self._labellings[run.id] = Labelling(run)
            return self._labellings[run.id]

    def _summaries(self, run: Run, metric: str | None) -> dict[str, Any]:
        """The metrics that can be labelled, and the label summaries of those with labels, or of one."""
        labelling = self._labelling(run)
        summaries = labelling.summaries([labelling.metric(metric)] if metric else (), self._own)
        shown = {key: summary for key, summary in summaries.items() if metric or summary.labelled}
        return {"metrics": labelling.metrics, "summaries": shown, "by": self._by}

    def _next(self, run: Run, metric: str | None, skipped: Collection[int]) -> dict[str, Any]:
        """The next sample to label with its unlabelled pieces; {"draw": None} if nothing is left."""
        labelling = self._labelling(run)
        chosen = labelling.metric(metric)
        drawn = labelling.next(chosen, skipped, self._own, self._differing)
        pieces = labelling.open(drawn, chosen, self._own, self._differing) if drawn else []
        id = self._store.sample(run.id, drawn.position).sample.id if drawn else None
        return {"metric": chosen, "draw": drawn, "id": id, "pieces": [_piece(piece) for piece in pieces]}

    def _sample(self, run: Run, position: int, metric: str) -> dict[str, Any]:
        """The pieces of one metric of a sample with their labels, and its scores with these."""
        labelling = self._labelling(run)
        pieces = labelling.pieces(position, metric, self._own, self._by) if metric in labelling.metrics else []
        scores = {key: score_document(score) for key, score in labelling.scores(position).items()}
        edit = latest_edit(self._store, self._store.sample(run.id, position).sample)
        return {"pieces": [_piece(piece) for piece in pieces], "scores": scores, "edit": edit}


def _parts(run: Run) -> dict[str, bytes]:
    """The parts made of all samples, as gzip-compressed JSON."""
    index = Index(run.record)
    for record in run.records():
        index.add(record)
    head = page_head(run.record, run.sections())
    return {"head": packed(head), "index": packed(index.columns()), "texts": packed(index.texts)}


def _piece(piece: LabelPiece) -> dict[str, Any]:
    """A piece as plain data, with its question and the possible answers."""
    question = piece.question
    label = piece.label
    return {
        "judgment": piece.evidence.judgment,
        "evidence": piece.evidence,
        "question": question,
        "kind": question.kind,
        "asked": question.wording,
        "choices": question.choices,
        "scale": question.scale,
        "judge": piece.judge,
        "label": {"answer": label.answer, "by": person_of(label)} if label else None,
    }


def _body(body: bytes, decoder: msgspec.json.Decoder[T], what: str) -> T:
    try:
        return decoded(body, decoder)
    except ValueError as error:
        raise UsageError(f"not {what}: {error}") from error


def _json(content: Any) -> PageResponse:
    return PageResponse(msgspec.json.encode(content))


def _whole(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise UsageError(f"{text!r} is not the position of a sample; give a whole number from 0")
    return int(text)


#: The accepted names of this machine.
NAMES = ("127.0.0.1", "localhost")

#: Headers of every response: no other page may embed or read it, and it is not cached or sent as a referrer.
HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

#: The largest body of a request, in bytes.
MAX_BODY = 65_536


class Server(ThreadingHTTPServer):
    """Serves the runs of a store on this machine at `address`. port: 0 for any free one. by, how: see `App`."""

    daemon_threads = True

    def __init__(self, store: Store, by: str, port: int = 0, **how: bool) -> None:
        """Raises UsageError if the port is in use."""
        self.app = App(store, by, **how)
        self.token = secrets.token_urlsafe(32)
        try:
            super().__init__((NAMES[0], port), Handler)
        except OSError as error:
            raise UsageError(f"cannot listen on port {port}: {error.strerror}; choose another with --port") from error
        self._hosts = {f"{name}:{self.server_port}" for name in NAMES}

    @property
    def address(self) -> str:
        """The URL of the page, with the token."""
        return f"http://{NAMES[0]}:{self.server_port}/{self.token}/"

    def admits(self, method: str, path: str, headers: Message) -> bool:
        """Whether a request may be served, by the token, the host and the origin, which a GET may lack.

        A link elsewhere may be opened as a top-level page, which the linking page cannot read.
        """
        fields = {name.lower(): ", ".join(headers.get_all(name, ())) for name in headers}
        token = path.removeprefix("/").partition("/")[0]
        host, origin = fields.get("host", ""), fields.get("origin")
        trusted = hmac.compare_digest(token.encode(), self.token.encode()) and host in self._hosts
        own = origin in {f"http://{host}" for host in self._hosts}
        foreign = fields.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
        if method == "GET":
            opened = (fields.get("sec-fetch-mode"), fields.get("sec-fetch-dest")) == ("navigate", "document")
            return trusted and (own or origin is None) and (opened or not foreign)
        return trusted and own and not foreign and fields.get("content-type") == "application/json"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a browser that disconnects during a response; print any other error."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: Server
    protocol_version = "HTTP/1.1"
    server_version = f"ragauge/{VERSION}"
    sys_version = ""
    timeout = 30  # seconds after which an idle connection is closed

    def do_GET(self) -> None:
        """Serve a GET request."""
        if self._admitted():
            query = dict(parse_qsl(urlsplit(self.path).query))
            self._answer(lambda path: self.server.app.get(path, query))

    def do_POST(self) -> None:
        """Serve a POST request."""
        if self._admitted():
            self._answer(lambda path: self.server.app.post(path, self._body()))

    def _admitted(self) -> bool:
        """Whether the request may be served. Its body is not read before; a refusal closes the connection."""
        if self.server.admits(self.command, self.path, self.headers):
            return True
        self.close_connection = True
        self._send(403, _fault("open the address that `ragauge view` printed"))
        return False

    def _body(self) -> bytes:
        """The body of the request. If it is too long or of unknown length, the connection is closed: UsageError."""
        size = self.headers.get("Content-Length", "")
        if size.isdecimal() and len(size) <= len(str(MAX_BODY)) and int(size) <= MAX_BODY:
            return self.rfile.read(int(size))
        self.close_connection = True
        raise UsageError(f"what was sent is longer than {MAX_BODY:,} bytes, or of unknown length; shorten it")

    def _answer(self, respond: Callable[[Sequence[str]], PageResponse]) -> None:
        """Send the response to the segments of the path after the token, or its error."""
        try:
            self._send(200, respond([unquote(step) for step in urlsplit(self.path).path.split("/")[2:]]))
        except (UnknownName, IndexError) as error:
            self._send(404, _fault(str(error)))
        except RagaugeError as error:
            self._send(500 if isinstance(error, StoreError) else 400, _fault(str(error)))

    def _send(self, status: int, response: PageResponse) -> None:
        self.send_response(status)
        sent = {"Content-Type": response.type, "Content-Length": str(len(response.body))}
        for name, value in {**HEADERS, **sent, **response.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(response.body)

    def log_message(self, *_: object) -> None:
        """Log nothing, so that no log holds the token."""


def _fault(message: str) -> PageResponse:
    return _json({"error": message})
