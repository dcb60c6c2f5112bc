"""Fixtures of the tests of `ragauge view`: a store with two runs, a server over it, and requests to it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.labelling.conftest import FALSE, TRUE, UNCLEAR, lenient, sample
from tests.serving import serving

import ragauge as rg
from ragauge.store import Store
from ragauge.view import Server


class Reply(NamedTuple):
    """The response of a server."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as plain data."""
        packed = self.headers.get("Content-Encoding") == "gzip"
        return json.loads(gzip.decompress(self.body) if packed else self.body)


class Client:
    """Sends requests as a browser that has the address, or with other headers."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.host = f"127.0.0.1:{server.server_port}"
        self.origin = f"http://{self.host}"

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str | None) -> Reply:
        """Send a request to a literal path; a header of None is left out."""
        sent = {"Host": self.host, **{name.replace("_", "-"): value for name, value in headers.items()}}
        connection = HTTPConnection("127.0.0.1", self.server.server_port, timeout=20)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in sent.items():
            if value is not None:
                connection.putheader(name, value)
        if body is not None and "Content-Length" not in sent:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        response = connection.getresponse()
        reply = Reply(response.status, dict(response.getheaders()), response.read())
        connection.close()
        return reply

    def get(self, path: str, **headers: str | None) -> Reply:
        """Get a path after the token."""
        return self.ask("GET", f"/{self.server.token}/{path}", None, **headers)

    def post(self, path: str, content: Any, **headers: str | None) -> Reply:
        """Send plain data, as the page does."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        usual = {"Origin": self.origin, "Content_Type": "application/json"}
        return self.ask("POST", f"/{self.server.token}/{path}", body, **{**usual, **headers})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store with two runs, "first" and "second", of two judges over sixty samples."""
    kinds = [(UNCLEAR if n % 3 == 0 else TRUE, FALSE if n % 4 == 0 else TRUE) for n in range(60)]
    rows = [sample(n, *claims) for n, claims in enumerate(kinds)]
    with Store.open(tmp_path / "kept") as opened:
        rg.evaluate(rows, "faithfulness,hallucination", lenient(), opened, name="first")
        rg.evaluate(rows, "faithfulness", lenient(0.8), opened, name="second")
        yield opened


@pytest.fixture
def serve() -> Iterator[Callable[[Store], Client]]:
    """Starts servers, which stop at the end of the test."""
    with ExitStack() as servers:
        yield lambda store: Client(servers.enter_context(serving(Server(store, "ann"))))


@pytest.fixture
def client(store: Store, serve: Callable[[Store], Client]) -> Client:
    """A client of a server over that store."""
    return serve(store)
