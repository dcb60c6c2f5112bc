"""The server of `ragauge view`: HTTP on 127.0.0.1, and which requests it serves; see docs/view.md.

The page may show confidential data, and takes labels, so no other page in the same browser may reach it. The token in
every path is a secret of the printed address: other pages cannot name an existing path. It is not in a cookie, since
browsers send cookies to every port of a host. The Host header is checked, so that names that an attacker resolves to
127.0.0.1 (DNS rebinding) are refused. No header allows other origins to read (CORS), and writes must come from the page
itself.
"""

from __future__ import annotations

import hmac
import secrets
import sys
import threading
from collections.abc import Callable, Mapping
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from ragauge.errors import RagaugeError, StoreError, UnknownName, UsageError
from ragauge.store import Store
from ragauge.version import VERSION
from ragauge.view.app import App, PageResponse

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


class Guard:
    """Decides which requests are served, by the token, the host and the origin."""

    def __init__(self, token: str, port: int) -> None:
        self._token = token
        self._hosts = {f"{name}:{port}" for name in NAMES}
        self._origins = {f"http://{host}" for host in self._hosts}

    def admits(self, method: str, path: str, headers: Mapping[str, str]) -> bool:
        """Whether a request may be served. headers: by name in lower case."""
        given = path.removeprefix("/").partition("/")[0]
        known = hmac.compare_digest(given.encode(), self._token.encode())
        return known and headers.get("host", "") in self._hosts and self._is_own(method, headers)

    def _is_own(self, method: str, headers: Mapping[str, str]) -> bool:
        """Whether the request comes from the page, or from opening its address; a GET may lack an origin."""
        origin = headers.get("origin")
        foreign = headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
        if method == "GET":
            return (origin is None or origin in self._origins) and (not foreign or _is_opened(headers))
        own = origin in self._origins and not foreign
        return own and headers.get("content-type", "") == "application/json"


def _is_opened(headers: Mapping[str, str]) -> bool:
    """Whether a link is opened as a top-level page, which the linking page cannot read."""
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"


#: The largest body of a request, in bytes.
MAX_BODY = 65_536

#: Seconds after which an idle connection is closed.
TIMEOUT = 30


class Server(ThreadingHTTPServer):
    """Serves the runs of a store on this machine at `address`. by: the name of the person. port: 0 for any free one."""

    daemon_threads = True

    def __init__(self, store: Store, by: str, port: int = 0) -> None:
        """Raises UsageError if the port is in use."""
        self.app = App(store, by)
        self.token = secrets.token_urlsafe(32)
        try:
            super().__init__((NAMES[0], port), Handler)
        except OSError as error:
            raise UsageError(f"cannot listen on port {port}: {error.strerror}; choose another with --port") from error
        self.guard = Guard(self.token, self.server_port)

    @property
    def address(self) -> str:
        """The URL of the page, with the token."""
        return f"http://{NAMES[0]}:{self.server_port}/{self.token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a browser that disconnects during a response; print any other error."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    def start(self) -> None:
        """Serve in another thread until `close`."""
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop serving; call it from another thread than the one that serves."""
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: Server
    protocol_version = "HTTP/1.1"
    server_version = f"ragauge/{VERSION}"
    sys_version = ""
    timeout = TIMEOUT

    def do_GET(self) -> None:
        """Serve a GET request."""
        if self._admitted():
            url = urlsplit(self.path)
            self._answer(lambda: self.server.app.get(_segments(url.path), dict(parse_qsl(url.query))))

    def do_POST(self) -> None:
        """Serve a POST request."""
        if self._admitted():
            body = self._body()
            self._answer(lambda: self.server.app.post(_segments(urlsplit(self.path).path), body))

    def _admitted(self) -> bool:
        """Whether the request may be served. Its body is not read before; a refusal closes the connection."""
        if self.server.guard.admits(self.command, self.path, _by_name(self.headers)):
            return True
        self.close_connection = True
        self._send(403, _fault("open the address that `ragauge view` printed"))
        return False

    def _body(self) -> bytes:
        """The body of the request. If it is too long or of unknown length, it is empty and the connection is closed."""
        size = self.headers.get("Content-Length", "")
        if size.isdecimal() and len(size) <= len(str(MAX_BODY)) and int(size) <= MAX_BODY:
            return self.rfile.read(int(size))
        self.close_connection = True
        return b""

    def _answer(self, respond: Callable[[], PageResponse]) -> None:
        """Send the result of `respond`, or its error."""
        try:
            self._send(200, respond())
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


def _by_name(headers: Message) -> dict[str, str]:
    """The headers by name in lower case. A repeated header has both values, which no check accepts."""
    found: dict[str, str] = {}
    for name, value in headers.items():
        key = name.lower()
        found[key] = f"{found[key]}, {value}" if key in found else value
    return found


def _segments(path: str) -> list[str]:
    """The segments of a path after the token."""
    return [unquote(step) for step in path.split("/")[2:]]


def _fault(message: str) -> PageResponse:
    return PageResponse(msgspec.json.encode({"error": message}))
