"""Faults of transmission: in statuses, headers and bytes of a response, and in the connection that carries it."""

from __future__ import annotations

import asyncio
import gzip
import socket
import struct
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from email.utils import formatdate
from functools import cache
from typing import NamedTuple

import msgspec
from aiohttp import web
from tests.llm.stub.texts import spoil

NEVER = 3600.0
MOST = 64 * 2**20  # bytes of a body without an end, and of one that was packed small
_BLOCK = b" " * 2**16
_JSON = {"Content-Type": "application/json"}
_LATIN = "Trop de requêtes: réessayez plus tard"
_ALLOWANCE = {"x-ratelimit-limit-requests": "1000", "x-ratelimit-remaining-requests": "0"}


class Reply(msgspec.Struct):
    """Status, headers and body of a reply. fault: what is to go wrong with the connection."""

    status: int
    body: bytes
    headers: dict[str, str]
    fault: str = ""
    jitter: float = 0.5


class Dress(NamedTuple):
    """What goes wrong, for people; headers to add (of the server's host); and what becomes of the body."""

    meaning: str
    headers: Callable[[str], dict[str, str]] = lambda host: {}
    body: Callable[[bytes], bytes] = lambda body: body


def _asks(wait: str) -> Callable[[str], dict[str, str]]:
    return lambda host: {"Retry-After": wait}


def _resets(reset: str) -> Callable[[str], dict[str, str]]:
    return lambda host: {**_ALLOWANCE, "x-ratelimit-reset-requests": reset}


@cache
def _bomb() -> bytes:
    return gzip.compress(bytes(MOST))


def _deep(body: bytes) -> bytes:
    return body[:-1] + b',"error":' + b"[" * 100_000 + b"]" * 100_000 + b"}"


def _choices_twice(body: bytes) -> bytes:
    return body[:-1] + b',"choices":[{"message":{"content":"{}"}}]}'


def _elsewhere(host: str) -> dict[str, str]:
    return {"Location": f"http://localhost:{host.rpartition(':')[2]}/elsewhere/chat/completions"}


#: Faults of a response that is whole. A name that begins with a status has that status.
DRESSES = {
    "429-seconds": Dress("status 429, Retry-After in seconds", _asks("0.05")),
    "429-date": Dress("status 429, Retry-After as a date", lambda host: {"Retry-After": formatdate(usegmt=True)}),
    "429-absurd": Dress("status 429, Retry-After of a year", _asks("31536000")),
    "429-negative": Dress("status 429, Retry-After below 0", _asks("-5")),
    "429-overflow": Dress("status 429, Retry-After in a year that no calendar has", _asks(f"1 Jan {10**20} 00:00:00")),
    "429-latin1": Dress(
        "status 429, an error as JSON in Latin-1",
        body=lambda body: f'{{"error": {{"message": "{_LATIN}"}}}}'.encode("latin-1"),
    ),
    "429-page": Dress(
        "status 429, an error page in Latin-1",
        lambda host: {"Content-Type": "text/html; charset=iso-8859-1"},
        lambda body: f"<html>{_LATIN}</html>".encode("latin-1"),
    ),
    "307-same": Dress("status 307 to another path", lambda host: {"Location": "/moved/chat/completions"}),
    "308-elsewhere": Dress("status 308 to another origin", _elsewhere),
    "limits-absurd": Dress("nothing is left of the rate limit for 999999 hours", _resets("999999h")),
    "limits-negative": Dress("the rate limit is full again before now", _resets("-5s")),
    "limits-huge": Dress("the rate limit is full again after a number that is infinite", _resets("9" * 400 + "s")),
    "garbled": Dress("status 200 with a page of HTML", body=lambda body: b"<html>Bad gateway</html>"),
    "blank": Dress("status 200 without a body", body=lambda body: b""),
    "halved": Dress("half of the body, as if it were whole", body=lambda body: body[: len(body) // 2]),
    "gzip": Dress("the body is packed, unasked", lambda host: {"Content-Encoding": "gzip"}, gzip.compress),
    "gzip-broken": Dress(
        "the packed body is damaged", lambda host: {"Content-Encoding": "gzip"}, lambda body: gzip.compress(body)[:-20]
    ),
    "gzip-bomb": Dress(
        "a packed body of 64 MB of NUL bytes", lambda host: {"Content-Encoding": "gzip"}, lambda body: _bomb()
    ),
    "bad-utf8": Dress("the body is not UTF-8", body=lambda body: body.replace(b'"content":"', b'"content":"\xff\xfe')),
    "nul": Dress("NUL bytes stand between the parts of the body", body=lambda body: body.replace(b",", b",\0")),
    "bom": Dress("a byte order mark stands before the body", body=lambda body: b"\xef\xbb\xbf" + body),
    "member-twice": Dress("the body has its choices twice, the second time without a word", body=_choices_twice),
    "deep": Dress("JSON 100,000 levels deep", body=_deep),
}


def dressed(reply: Reply, host: str) -> Reply:
    """A reply with the fault that it is to have. host: of the server, with its port."""
    dress = DRESSES.get(reply.fault)
    if dress is None:
        return reply
    headers = {**reply.headers, **dress.headers(host)}
    return msgspec.structs.replace(reply, headers=headers, body=dress.body(reply.body))


async def _dropped(request: web.BaseRequest, body: bytes) -> None:
    _abort(request)


async def _severed(request: web.BaseRequest, body: bytes) -> None:
    await _written(request, [_head(len(body)), body[: len(body) // 2]])


async def _reset(request: web.BaseRequest, body: bytes) -> None:
    await _written(request, [_head(len(body))])
    await asyncio.sleep(0.01)
    if request.transport:
        _sock(request).setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    _abort(request)


async def _stalled(request: web.BaseRequest, body: bytes) -> None:
    await _written(request, [_head(len(body)), body[: len(body) // 2]])
    await asyncio.sleep(0.3)


async def _silent(request: web.BaseRequest, body: bytes) -> None:
    await asyncio.sleep(NEVER)


async def _dripping(request: web.BaseRequest, body: bytes) -> None:
    step = len(body) // 9 + 1
    await _written(request, [_head(len(body)), *(body[at : at + step] for at in range(0, len(body), step))], 0.02)


async def _trickling(request: web.BaseRequest, body: bytes) -> None:
    await _written(request, [_head(len(body)), *(body[at : at + 1] for at in range(100))], 0.1)


async def _endless(request: web.BaseRequest, body: bytes) -> None:
    response = web.StreamResponse(headers=_JSON)
    response.enable_chunked_encoding()
    await response.prepare(request)
    for _ in range(MOST // len(_BLOCK)):
        await response.write(_BLOCK)


async def _unchunked(request: web.BaseRequest, body: bytes) -> None:
    await _written(request, [_head(None), b"seven\r\n", body])


async def _unended(request: web.BaseRequest, body: bytes) -> None:
    await _written(request, [_head(None), f"{len(body):x}\r\n".encode(), body, b"\r\n"])


async def _no_http(request: web.BaseRequest, body: bytes) -> None:
    await _written(request, [b"220 mail.example.org ESMTP\r\n", body])


async def _long_header(request: web.BaseRequest, body: bytes) -> None:
    long = _head(len(body)).removesuffix(b"\r\n") + b"X-Long: " + b"x" * 100_000 + b"\r\n\r\n"
    await _written(request, [long, body])


async def _continuing(request: web.BaseRequest, body: bytes) -> None:
    await _written(request, [b"HTTP/1.1 100 Continue\r\n\r\n"] * 300, 0.01)


async def _switched(request: web.BaseRequest, body: bytes) -> None:
    await _written(request, [b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", body])


async def _followed(request: web.BaseRequest, body: bytes) -> None:
    completion = msgspec.json.decode(body)
    for choice in completion.get("choices", ()):
        choice["message"]["content"] = spoil(choice["message"]["content"], "opposite")
    wrong = msgspec.json.encode(completion)
    await _written(request, [_head(len(body)) + body + _head(len(wrong)) + wrong])
    await asyncio.sleep(0.3)


#: Replies that are written twice on a connection that stays open, with the seconds between.
COPIES = {
    "doubled": ("the reply is written twice", 0.001),
    "doubled-late": ("the reply is written once more while the next call is under way", 0.03),
}


def write_copy_later(request: web.BaseRequest, reply: Reply) -> None:
    """Write the reply once more, after the seconds of its fault."""
    transport = request.transport
    copy = _head(len(reply.body)) + reply.body
    if transport:
        asyncio.get_running_loop().call_later(COPIES[reply.fault][1], transport.write, copy)


#: Faults of the connection: what each does with it, after which it is closed.
CONNECTIONS: dict[str, tuple[str, Callable[[web.BaseRequest, bytes], Awaitable[None]]]] = {
    "drop": ("the connection ends before anything is said", _dropped),
    "severed": ("the connection ends in the middle of the body", _severed),
    "reset": ("the connection is reset after the headers", _reset),
    "stalled": ("nothing comes after half of the body; then the connection ends", _stalled),
    "stall": ("the connection stays open and nothing comes", _silent),
    "drip": ("the whole body comes in small pieces", _dripping),
    "trickle": ("the body comes a byte at a time, and ends in the middle", _trickling),
    "endless": ("the body does not end, up to 64 MB", _endless),
    "chunk-garbage": ("the size of a chunk is no number", _unchunked),
    "chunk-unended": ("the last chunk does not come", _unended),
    "continues": ("status 100 for 3 s, and nothing else", _continuing),
    "switched": ("status 101, and the body in another protocol", _switched),
    "no-http": ("what comes is no HTTP", _no_http),
    "followed": ("a second, wrong response comes unasked behind the first", _followed),
    "long-header": ("a header of 100,000 characters", _long_header),
}


async def broken(request: web.BaseRequest, reply: Reply) -> web.StreamResponse:
    """Have the connection break as the reply's fault says."""
    with suppress(ConnectionError):
        await CONNECTIONS[reply.fault][1](request, reply.body)
    if request.transport:
        request.transport.close()
    return web.Response()


def _head(length: int | None) -> bytes:
    """The head of a response; chunked where no length is given."""
    size = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    return f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{size}\r\n\r\n".encode()


async def _written(request: web.BaseRequest, pieces: Iterable[bytes], pause: float = 0.0) -> None:
    """Write bytes as they are, for as long as somebody reads them."""
    for piece in pieces:
        if request.transport is None or request.transport.is_closing():
            return
        request.transport.write(piece)
        await asyncio.sleep(pause)


def _sock(request: web.BaseRequest) -> socket.socket:
    assert request.transport
    found: socket.socket = request.transport.get_extra_info("socket")
    return found


def _abort(request: web.BaseRequest) -> None:
    if request.transport:
        request.transport.abort()
