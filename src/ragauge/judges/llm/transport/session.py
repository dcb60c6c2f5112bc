"""HTTP to one server, with replies of bounded size and redirects only within it, and error replies of many forms."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from ipaddress import ip_address
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from ragauge.host import decoded
from ragauge.judges.llm.messages import CallFailed
from ragauge.redaction import redacted
from ragauge.types import Failure

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL

#: Bytes of an error reply that are read; no more than their beginning is ever shown.
MAX_ERROR_BYTES = 64_000

#: Replies beyond this many bytes are collected one at a time, so that all calls together stay within bounds too.
LARGE_REPLY_BYTES = 250_000

#: Statuses that ask for the same request at another address, and how many of them in a row are followed.
REDIRECT_STATUSES = frozenset({307, 308})
MAX_REDIRECTS = 5

#: The body of a request, or a function that makes it for each attempt.
Body = bytes | None | Callable[[], Any]


class Fault(msgspec.Struct, frozen=True):
    """An error reply. code: its code and type, as the server names them. parameter: the field it is about."""

    status: int
    message: str
    code: str = ""
    parameter: str = ""


class ReplyError(Exception):
    """An attempt that may be repeated.

    wait: seconds that the server asks to wait. throttled: whether the server gets too many calls.
    """

    def __init__(self, reason: str, detail: str, wait: float | None = None, *, throttled: bool = False) -> None:
        super().__init__(redacted(detail))
        self.reason, self.detail, self.wait, self.throttled = reason, redacted(detail), wait, throttled


#: Statuses after which the same request cannot succeed. After any other, 204 and 418 included, it may.
_PERMANENT_STATUSES = frozenset({400, 401, 402, 403, 404, 405, 406, 410, 411, 413, 414, 415, 422, 431})
THROTTLED_STATUSES = frozenset({429, 503, 529})

_LENGTH_ERROR = re.compile(
    r"context_length|exceed_context|request_too_large|maximum context length|context (window|size|length)|"
    r"prompt is too long|input is too long|request too large|too many (input )?tokens",
    re.IGNORECASE,
)
_QUOTA_ERROR = re.compile(r"insufficient_(quota|balance)|billing_|credit balance is too low", re.IGNORECASE)
_FILTER_ERROR = re.compile(r"content_filter|content_policy|responsibleai|requires moderation|flagged", re.IGNORECASE)
_MODEL_ERROR = re.compile(r"model_not_found|model_not_exist|not_found_error|invalid_model", re.IGNORECASE)
_KEY_ERROR = re.compile(r"invalid_api_key|api_key_invalid|api key not valid|incorrect api key", re.IGNORECASE)

#: The reason of a reply that is longer than it may be.
TOO_LARGE = "reply_too_large"

_FATAL_REASONS = frozenset({"unauthorized", "no_such_model", "quota", "redirected"})
_FIXES = {
    "unauthorized": "set {key} to a key that may use this model",
    "no_such_model": "check the model's name and the base URL",
    "quota": "the account has no credit left: add some, or use another",
    "too_long": "the prompt is longer than the model's window, or than the account's tokens per minute",
    "content_filter": "the provider's filter stopped it",
    "redirected": "set base_url to the address of the right server",
    "bad_request": "the server does not take this request",
}


_DECODER = msgspec.json.Decoder()
_TITLE = re.compile(r"<title>([^<]+)", re.IGNORECASE)
_TAG = re.compile(r"<[!/a-z][^<>]*>", re.IGNORECASE)

#: Types of content that a server of models never sends, so that another server was asked.
OTHER_CONTENT = frozenset({"text/html", "text/event-stream"})


def read_fault(status: int, body: bytes) -> Fault:
    """Read an error reply: of OpenAI's form, Anthropic's, Google's, FastAPI's, or plain text.

    The beginning of its message is kept, without the keys of this process.
    """
    try:
        error = decoded(body, _DECODER)
    except ValueError:
        return Fault(status, plain(body))
    return fault_of(status, error)


def plain(body: bytes) -> str:
    """The beginning of a body that is no JSON, without the keys of this process; of a page of HTML, its title."""
    text = redacted(body[:MAX_ERROR_BYTES].decode(errors="replace"))
    title = _TITLE.search(text)
    return " ".join((title[1] if title else _TAG.sub(" ", text)).split())[:500]


def fault_of(status: int, error: Any) -> Fault:
    """A Fault from a decoded error reply. One sent with status 200 has the status that it names, else 500."""
    inner = error[0] if isinstance(error, list) and error else error
    inner = (inner.get("error") or inner) if isinstance(inner, dict) else inner
    if not isinstance(inner, dict):
        return Fault(status, redacted(str(inner))[:500])
    code = inner.get("code")
    if status == 200:
        status = code if isinstance(code, int) and 400 <= code < 600 else 500
    codes = " ".join(str(inner[key]) for key in ("code", "type", "status") if inner.get(key))
    message = inner.get("message") or inner.get("detail") or inner
    return Fault(status, redacted(str(message))[:500], redacted(codes), redacted(str(inner.get("param") or "")))


def reason_of(fault: Fault) -> str:
    """Why there is no reply, as a short code."""
    text = f"{fault.code} {fault.message}"
    if 300 <= fault.status < 400:
        return "redirected"
    if fault.status == 413 or _LENGTH_ERROR.search(text):
        return "too_long"
    if fault.status == 402 or _QUOTA_ERROR.search(text):
        return "quota"
    if fault.status in (400, 403, 422) and _FILTER_ERROR.search(text):
        return "content_filter"
    if fault.status in (401, 403) or _KEY_ERROR.search(text):
        return "unauthorized"
    if fault.status in (404, 400) and (fault.status == 404 or _MODEL_ERROR.search(text)):
        return "no_such_model"
    if fault.status == 429:
        return "rate_limited"
    return "bad_request" if fault.status in _PERMANENT_STATUSES else "server_error"


def is_transient(fault: Fault) -> bool:
    """Whether the same request may succeed later."""
    return reason_of(fault) in ("rate_limited", "server_error")


def call_failed(fault: Fault, server: str, key: str) -> CallFailed:
    """The exception for a fault that is not transient. server: its name. key: the environment variable of the key.

    A rejected key is not quoted: servers repeat parts of it.
    """
    reason = reason_of(fault)
    problem = f"HTTP {fault.status}" + ("" if reason == "unauthorized" else f", {fault.message}")
    fix = _FIXES.get(reason, "try again later").format(key=key)
    return CallFailed(Failure(reason, f"{server}: {problem}; {fix}"), fatal=reason in _FATAL_REASONS)


class Reply(NamedTuple):
    """A reply of a server. Where the body of an error reply is not read, it is a note that says why."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Session:
    """Keeps connections to one server open; the caller decides how many requests are made, and when.

    server: its name in messages. base_url, query: the parts around the path of each request. headers: sent with
    each. max_bytes: of a reply, unless a request sets it. n_spoiled: connections that were closed since the server
    wrote more than a reply.
    """

    def __init__(self, server: str, base_url: str, query: str, headers: Mapping[str, str], max_bytes: int) -> None:
        import aiohttp

        self._server, self._base_url, self._query, self._max_bytes = server, base_url, query, max_bytes
        self._urls: dict[str, URL] = {}
        self._large_reply = asyncio.Lock()
        self._errors = (aiohttp.ClientError, OSError)
        self._open = partial(
            aiohttp.ClientSession,
            headers={**headers, "Accept-Encoding": "identity"},
            timeout=aiohttp.ClientTimeout(),
            proxy=proxy_of(base_url),
            auto_decompress=False,
        )
        self.n_spoiled = 0
        self._session = self._open(connector=_connector(self), cookie_jar=aiohttp.DummyCookieJar())
        self._former: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close all connections."""
        for session in filter(None, (self._former, self._session)):
            await session.close()

    def distrust(self) -> None:
        """Give each further request a connection of its own: the server writes replies that nobody asked for."""
        import aiohttp

        if self._former is None:
            connector = aiohttp.TCPConnector(limit=0, ttl_dns_cache=300, force_close=True)
            self._former = self._session
            self._session = self._open(connector=connector, cookie_jar=aiohttp.DummyCookieJar())

    def url(self, path: str) -> URL:
        """The address of a path below the base URL."""
        from yarl import URL

        if path not in self._urls:
            self._urls[path] = URL(self._base_url + path + self._query, encoded=True)
        return self._urls[path]

    async def exchange(
        self,
        method: str,
        path: str,
        data: Body = None,
        headers: Mapping[str, str] | None = None,
        *,
        into: IO[bytes] | None = None,
        max_bytes: int | None = None,
        timeout: aiohttp.ClientTimeout | None = None,
    ) -> Reply:
        """The reply to one request, whatever its status; without limits of rate or concurrency and without retries.

        headers: in addition to those of the session. into: a file to which the body of a good reply is written as it
        arrives; the reply then has none. timeout: without it the caller has to end a request that takes too long.

        Raises ReplyError where no reply comes, or one that cannot be read within the bounds.
        """
        timeout, url = timeout or self._session.timeout, self.url(path)
        try:
            for _ in range(MAX_REDIRECTS + 1):
                body = data() if callable(data) else data
                async with self._session.request(
                    method, url, data=body, headers=headers, allow_redirects=False, timeout=timeout
                ) as response:
                    if response.status not in REDIRECT_STATUSES:
                        content = await self._read(response, into, max_bytes or self._max_bytes)
                        return Reply(response.status, response.headers, content)
                    target = _redirect_target(response)
                    if isinstance(target, str):
                        return Reply(response.status, response.headers, target.encode())
                    url = target
        except self._errors as error:  # a timeout has no words of its own
            detail = f"{type(error).__name__}: {str(error) or 'the reply took too long'}"
            raise ReplyError("unreachable", f"{self._server}: {detail}") from error
        note = f"the server redirects more than {MAX_REDIRECTS} times in a row"
        return Reply(response.status, response.headers, note.encode())

    async def _read(self, response: aiohttp.ClientResponse, into: IO[bytes] | None, max_bytes: int) -> bytes:
        """The body of a reply, where it is not written to `into`."""
        encoding = ", ".join(response.headers.getall("Content-Encoding", ())).strip().lower()[:40]
        if encoding not in ("", "identity"):
            unreadable = f"the reply is in the content encoding {encoding!r}, which was not asked for"
            if response.status != 200:
                return unreadable.encode()
            raise ReplyError("server_error", f"{self._server}: {unreadable}")
        if response.status != 200:
            error = b""
            while chunk := await response.content.read(MAX_ERROR_BYTES - len(error)):
                error += chunk
            return error
        return await self._collect(response, into, max_bytes)

    async def _collect(self, response: aiohttp.ClientResponse, into: IO[bytes] | None, max_bytes: int) -> bytes:
        """The body as it arrives; what a reply that breaks off wrote to `into` is removed again."""
        body, size, start = bytearray(), 0, into.tell() if into else 0
        async with AsyncExitStack() as alone:
            try:
                async for chunk in response.content.iter_any():
                    size += len(chunk)
                    if max(size, response.content_length or 0) > max_bytes:
                        raise ReplyError(TOO_LARGE, f"{self._server}: the reply is larger than {max_bytes} bytes")
                    if into:
                        into.write(chunk)
                        continue
                    if len(body) <= LARGE_REPLY_BYTES < size:
                        await alone.enter_async_context(self._large_reply)
                    body += chunk
                return bytes(body)
            except BaseException:
                body.clear()  # the traceback of an error would keep it
                if into:
                    into.seek(start)
                    into.truncate()
                raise


#: How many idle connections may have bytes left over before one is used as it is.
_MAX_SPOILED = 16


def _connector(session: Session) -> aiohttp.TCPConnector:
    """A pool of connections that closes those on which the server wrote more than a reply."""
    import aiohttp

    class Connector(aiohttp.TCPConnector):
        async def connect(self, *args: Any, **options: Any) -> aiohttp.connector.Connection:
            for _ in range(_MAX_SPOILED):
                connection = await super().connect(*args, **options)
                if connection.protocol is None or not connection.protocol.should_close:
                    break
                session.n_spoiled += 1
                connection.close()
            return connection

    return Connector(limit=0, ttl_dns_cache=300)


def _redirect_target(response: aiohttp.ClientResponse) -> URL | str:
    """The address that a reply redirects to; where that is not on the same server, a note that says so."""
    from yarl import URL

    try:
        target = response.url.join(URL(response.headers["Location"]))
        here, there = response.url.origin(), target.origin()
    except (KeyError, ValueError):
        return f"the server at {response.url.origin()} redirects to an address that cannot be read"
    if here == there:
        return target.with_user(None)
    return f"{here} redirects to {there}, which is another server, so that the request and its key are not sent there"


def is_local(url: str) -> bool:
    """Whether an address is on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def proxy_of(base_url: str) -> str | None:
    """The proxy that the environment names for a server; none for this machine itself."""
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(base_url)
    if is_local(base_url) or proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)
