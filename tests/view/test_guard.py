from __future__ import annotations

import socket

import pytest
from tests.view.conftest import Client

from ragauge.errors import UsageError
from ragauge.store import Store
from ragauge.view import Server

LABEL = {"position": 0, "metric": "faithfulness", "judgment": "none", "answer": "s"}


def test_whoever_has_the_address_is_served(client: Client) -> None:
    """The printed address gives the page, under either name of the machine."""
    assert client.server.address == f"http://127.0.0.1:{client.server.server_port}/{client.server.token}/"
    reply = client.get("")
    assert (reply.status, reply.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert client.get("api/runs", Host=f"localhost:{client.server.server_port}").status == 200


@pytest.mark.parametrize("path", ["/", "/api/runs", "/wrong/api/runs", "//api/runs", "/?token=x", "/../api/runs"])
def test_without_the_token_nothing_is_served(client: Client, path: str) -> None:
    """No path without the token is served, and the response does not tell whether it exists."""
    reply = client.ask("GET", path)
    assert (reply.status, reply.json()) == (403, {"error": "open the address that `ragauge view` printed"})
    cut = client.ask("GET", f"/{client.server.token[:-1]}/api/runs")
    assert cut.status == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "[::1]:{port}", None]
)
def test_another_host_header_is_refused(client: Client, host: str | None) -> None:
    """A name that resolves to this machine (DNS rebinding) gets nothing, even with the token."""
    named = host.format(port=client.server.server_port) if host else None
    assert client.get("api/runs", Host=named).status == 403
    assert client.post("api/runs/first/labels", LABEL, Host=named).status == 403


def test_two_host_headers_are_refused(client: Client) -> None:
    """A request with two Host headers is refused."""
    with socket.create_connection(("127.0.0.1", client.server.server_port), timeout=20) as line:
        hosts = f"Host: {client.host}\r\nHost: evil.example\r\n"
        line.sendall(f"GET /{client.server.token}/api/runs HTTP/1.1\r\n{hosts}\r\n".encode())
        assert line.recv(64).startswith(b"HTTP/1.1 403")


@pytest.mark.parametrize(
    "headers", [{"Origin": "http://evil.example"}, {"Sec_Fetch_Site": "cross-site"}, {"Origin": "null"}]
)
def test_other_pages_are_refused(client: Client, headers: dict[str, str]) -> None:
    """Requests of another page of the same browser are refused, to read or to write."""
    assert client.get("api/runs", **headers).status == 403
    assert client.post("api/runs/first/labels", LABEL, **headers).status == 403


def test_a_link_to_the_page_may_be_followed(client: Client) -> None:
    """A link elsewhere opens the page in a window, but not in a frame or a script."""
    followed = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    assert client.get("", **followed, Sec_Fetch_Dest="document").status == 200
    assert client.get("", **followed, Sec_Fetch_Dest="iframe").status == 403
    assert (
        client.get("api/runs", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="cors", Sec_Fetch_Dest="empty").status == 403
    )


def test_writes_must_come_from_the_page(client: Client) -> None:
    """A post without an origin, or in a form that any page can send, is refused."""
    assert client.post("api/runs/first/labels", LABEL, Origin=None).status == 403
    assert client.post("api/runs/first/labels", LABEL, Content_Type="text/plain").status == 403
    assert client.ask("OPTIONS", f"/{client.server.token}/api/runs", Origin=client.origin).status == 501


def test_no_other_origin_may_read(client: Client) -> None:
    """All responses have headers that keep other pages from reading, embedding or caching them."""
    for reply in (client.get(""), client.get("api/runs"), client.ask("GET", "/")):
        assert not [name for name in reply.headers if name.lower().startswith("access-control")]
        assert reply.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert reply.headers["X-Frame-Options"] == "DENY"
        assert "frame-ancestors 'none'" in reply.headers["Content-Security-Policy"]
        assert reply.headers["Cache-Control"] == "no-store"
        assert "Set-Cookie" not in reply.headers


def test_long_bodies_are_refused(client: Client) -> None:
    """A body that is too long, or of unknown length, is not read, and the reply says so."""
    reply = client.post("api/runs/first/labels", b"{}", Content_Length="99999999")
    assert (reply.status, "longer than 65,536 bytes" in reply.json()["error"]) == (400, True)
    assert client.post("api/runs/first/labels", b"{}", Content_Length="9" * 5000).status == 400
    assert client.post("api/runs/first/labels", b"", Content_Length="two").status == 400


def test_it_listens_on_this_machine_alone(client: Client, store: Store) -> None:
    """The socket is bound to 127.0.0.1; every server has its own token; a port in use is an error."""
    assert client.server.socket.getsockname()[0] == "127.0.0.1"
    with Server(store, "ann") as other:
        assert other.token != client.server.token
        assert len(other.token) > 40
    with pytest.raises(UsageError, match=r"cannot listen on port \d+: .*; choose another with --port"):
        Server(store, "ann", client.server.server_port)
