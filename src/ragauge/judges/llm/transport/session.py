"""The session: HTTP to one server, whose replies are read within bounds and whose redirects stay on that server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from ipaddress import ip_address
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from ragauge.judges.llm.transport.faults import TOO_LARGE, ReplyError

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL

#: Bytes of an error reply that are read: they explain the status, and no more than their beginning is ever shown.
ERROR_BYTES = 64_000

#: Replies beyond this many bytes are collected one at a time, so that all calls together stay within bounds too.
LARGE = 250_000

#: Statuses that ask for the same request at another address, and how many of them in a row are followed.
REDIRECTS = frozenset({307, 308})
MOST_REDIRECTS = 5

#: The body of a request, or what makes it anew for each attempt.
Body = bytes | None | Callable[[], Any]


class Reply(NamedTuple):
    """A reply of a server. Where the body of an error reply is not read, it is a note that says why."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Session:
    """Keeps connections to one server open, and leaves it to the caller how many requests are made, and when.

    server: as it is named to people. headers: sent with each request. most: bytes of a reply, unless a request says
    otherwise.
    """

    def __init__(self, server: str, base_url: str, headers: Mapping[str, str], most: int) -> None:
        import aiohttp

        self._server, self._most = server, most
        self._large = asyncio.Lock()
        self._broken = (aiohttp.ClientError, OSError)
        self._session = aiohttp.ClientSession(
            headers={**headers, "Accept-Encoding": "identity"},
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(),
            proxy=_proxy(base_url),
            auto_decompress=False,
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def exchange(
        self,
        method: str,
        url: URL,
        data: Body = None,
        headers: Mapping[str, str] | None = None,
        *,
        into: IO[bytes] | None = None,
        most: int | None = None,
        timeout: aiohttp.ClientTimeout | None = None,
    ) -> Reply:
        """The reply to one request, whatever its status.

        into: where the body of a good reply is written as it arrives; the reply then has none. most: bytes of it.
        timeout: without it the caller has to end a request that takes too long.

        Raises Trouble where no reply comes, or one that cannot be read within the bounds.
        """
        timeout = timeout or self._session.timeout
        try:
            for _ in range(MOST_REDIRECTS + 1):
                body = data() if callable(data) else data
                async with self._session.request(
                    method, url, data=body, headers=headers, allow_redirects=False, timeout=timeout
                ) as response:
                    if response.status not in REDIRECTS:
                        return await self._read(response, into, most or self._most)
                    found = _redirected(response)
                    if isinstance(found, str):
                        return Reply(response.status, response.headers, found.encode())
                    url = found
        except self._broken as error:
            raise ReplyError("unreachable", f"{self._server}: {_named(error)}") from error
        note = f"the server redirects more than {MOST_REDIRECTS} times in a row"
        return Reply(response.status, response.headers, note.encode())

    async def _read(self, response: aiohttp.ClientResponse, into: IO[bytes] | None, most: int) -> Reply:
        coding = _coding(response)
        foreign = f"the reply is in the content encoding {coding!r}, which was not asked for" if coding else ""
        if response.status != 200:
            body = foreign.encode() or await _beginning(response)
        elif foreign:
            raise ReplyError("server_error", f"{self._server}: {foreign}")
        elif into is not None:
            body = b""
            await self._write(response, into, most)
        else:
            body = await self._collect(response, most)
        return Reply(response.status, response.headers, body)

    async def _collect(self, response: aiohttp.ClientResponse, most: int) -> bytes:
        body = bytearray()
        try:
            async with AsyncExitStack() as alone:
                async for piece in self._pieces(response, most):
                    if len(body) <= LARGE < len(body) + len(piece):
                        await alone.enter_async_context(self._large)
                    body += piece
                return bytes(body)
        finally:
            body.clear()  # the traceback of an error would keep it

    async def _write(self, response: aiohttp.ClientResponse, into: IO[bytes], most: int) -> None:
        """Write a body; what was written of one that breaks off is taken back."""
        start = into.tell()
        try:
            async for piece in self._pieces(response, most):
                into.write(piece)
        except BaseException:
            into.seek(start)
            into.truncate()
            raise

    async def _pieces(self, response: aiohttp.ClientResponse, most: int) -> AsyncIterator[bytes]:
        """The body as it arrives. Raises Trouble once it is longer than `most`, or says that it will be."""
        size = response.content_length or 0
        if size <= most:
            size = 0
            async for piece in response.content.iter_any():
                size += len(piece)
                if size > most:
                    break
                yield piece
        if size > most:
            raise ReplyError(TOO_LARGE, f"{self._server}: the reply is larger than {most} bytes")


def _coding(response: aiohttp.ClientResponse) -> str:
    """The content encoding of a body, "" where it is sent as it is."""
    said = ", ".join(response.headers.getall("Content-Encoding", ())).strip().lower()
    return "" if said == "identity" else said[:40]


async def _beginning(response: aiohttp.ClientResponse) -> bytes:
    """The first bytes of an error reply."""
    body = b""
    while len(body) < ERROR_BYTES and (piece := await response.content.read(ERROR_BYTES - len(body))):
        body += piece
    return body


def _redirected(response: aiohttp.ClientResponse) -> URL | str:
    """Where a reply redirects to; a note on what is wrong with it where that is not the same server."""
    from yarl import URL

    try:
        target = response.url.join(URL(response.headers["Location"]))
        here, there = response.url.origin(), target.origin()
    except (KeyError, ValueError):
        return f"the server at {response.url.origin()} redirects to no address that can be read"
    if here == there:
        return target.with_user(None)
    return f"{here} redirects to {there}, which is another server, so that the request and its key are not sent there"


def _named(error: Exception) -> str:
    """An error of the connection in words; that of a deadline has none of its own."""
    return f"{type(error).__name__}: {str(error) or 'the reply took too long'}"


def is_local(url: str) -> bool:
    """Whether an address is that of this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _proxy(base_url: str) -> str | None:
    """The proxy that the environment names for a server, looked up once; none for this machine itself."""
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(base_url)
    if is_local(base_url) or proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)
