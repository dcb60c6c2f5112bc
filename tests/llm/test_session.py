"""What a hostile or broken server can do to a client: endless, packed and dripping bodies, redirects, odd JSON."""

from __future__ import annotations

import asyncio
import gzip
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

import ragauge as rg
from ragauge.judges.llm.messages import CallFailed, Completion, Prompt
from ragauge.judges.llm.providers import parse_llm_spec
from ragauge.judges.llm.transport.batches import BatchFailed, batches
from ragauge.judges.llm.transport.client import HttpTransport

if TYPE_CHECKING:
    from pathlib import Path

    from tests.llm.conftest import Act, Kit, Request

SCHEMA = {"type": "object", "properties": {"1": {"type": "string"}}, "required": ["1"]}
PROMPT = Prompt("Judge.", '{"sources": {}}', SCHEMA)
KEY = "sk-secret-0123456789"
KEYS = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
CHAT = b'{"choices": [{"message": {"content": "%s"}}]}'
MESSAGE = b'{"content": [{"type": "tool_use", "input": {"1": "%s"}}]}'

#: Writes a reply to the n-th request.
Reply = Callable[[asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries come quickly."""
    monkeypatch.setattr("ragauge.judges.llm.transport.scheduler.MIN_BACKOFF", 0.001)
    monkeypatch.setattr("ragauge.judges.llm.transport.batches.PAUSE_SECONDS", 0.001)


@asynccontextmanager
async def _raw(*replies: Reply) -> AsyncIterator[tuple[str, list[str]]]:
    """A server that writes what it is given, the last reply for ever; its base URL, and the heads of its requests."""
    heads: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = next((line for line in head.split("\r\n") if line.lower().startswith("content-length")), ":0")
            await reader.readexactly(int(length.partition(":")[2]))
            heads.append(head)
            await replies[min(len(heads), len(replies)) - 1](writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield "http://127.0.0.1:{1}/v1".format(*server.sockets[0].getsockname()), heads
    finally:
        server.close()


def _reply(body: bytes, status: int = 200, *headers: str) -> Reply:
    async def write(writer: asyncio.StreamWriter) -> None:
        head = [f"HTTP/1.1 {status} So", f"Content-Length: {len(body)}", "Connection: close", *headers, "", ""]
        writer.write("\r\n".join(head).encode() + body)

    return write


def _endless(status: int = 200, piece: bytes = b" " * 50_000, pause: float = 0.0) -> Reply:
    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 {status} So\r\nConnection: close\r\n\r\n".encode())
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)

    return write


GOOD = _reply(CHAT % b"fine")


def _complete(*replies: Reply, spec: str = "openai/m", **options: Any) -> tuple[Any, HttpTransport]:
    """What one call comes to, and the transport that made it."""

    async def main() -> tuple[Any, HttpTransport]:
        async with _raw(*replies) as (url, _):
            transport = HttpTransport(*parse_llm_spec(spec, base_url=url, **options), KEYS)
            async with transport, asyncio.timeout(20):
                try:
                    return await transport.send(PROMPT), transport
                except CallFailed as failed:
                    return failed, transport

    return asyncio.run(main())


def test_an_endless_reply_is_not_read() -> None:
    """A reply without an end is left at max_reply_bytes and asked for again; the failure names the bound."""
    reply, transport = _complete(_endless(), GOOD, max_reply_bytes=200_000)
    assert (reply.text, transport.retries) == ("fine", {"reply_too_large": 1})
    failed, _ = _complete(_endless(), max_reply_bytes=200_000)
    assert failed.failure.reason == "reply_too_large"
    assert "the reply is larger than 200000 bytes (tried 7 times)" in failed.failure.detail


def test_a_reply_that_says_it_is_too_large_is_not_read() -> None:
    """A Content-Length beyond max_reply_bytes is enough to refuse a reply, and one at the bound is taken."""
    large = CHAT % (b"x" * 3_000_000)
    reply, transport = _complete(_reply(large), GOOD, max_reply_bytes=len(large) - 1)
    assert (reply.text, transport.retries) == ("fine", {"reply_too_large": 1})
    reply, transport = _complete(_reply(large), max_reply_bytes=len(large))
    assert (len(reply.text), transport.retries) == (3_000_000, {})


def test_a_reply_in_another_encoding_is_not_unpacked() -> None:
    """A packed reply, which may be a bomb, is asked for again; a packed error page keeps its status."""
    packed = gzip.compress(CHAT % b"packed")
    reply, transport = _complete(
        _reply(packed, 200, "Content-Encoding: gzip"), _reply(packed, 429, "Content-Encoding: gzip"), GOOD
    )
    assert (reply.text, transport.retries) == ("fine", {"server_error": 1, "rate_limited": 1})
    failed, _ = _complete(_reply(packed, 200, "Content-Encoding: br"))
    assert "the reply is in the content encoding 'br', which was not asked for" in failed.failure.detail


PAGE = b"<!DOCTYPE html><html><head><title>\nSign in </title></head><body>%s</body></html>" % (b"x" * 900)


@pytest.mark.parametrize(
    ("kind", "body", "shown"),
    [
        ("text/html; charset=utf-8", PAGE, "the server sent text/html, 'Sign in'; check base_url"),
        ("text/event-stream", b'data: {"choices": []}\n\n', "the server sent text/event-stream, 'data: {"),
    ],
)
def test_another_server_is_not_asked_again(kind: str, body: bytes, shown: str) -> None:
    """A page of HTML or a stream in place of the first reply ends all calls at once."""
    failed, transport = _complete(_reply(body, 200, f"Content-Type: {kind}"))
    assert failed.fatal
    assert shown in failed.failure.detail
    assert transport.retries == {}


def test_of_a_page_of_html_its_title_is_shown() -> None:
    """A gateway's error page is reported by its title, or by its text, without tags."""
    pages = (b"<html><head><title>502 Bad Gateway</title></head></html>", b"<html><h1>502 Bad\n Gateway</h1></html>")
    for page in pages:
        failed, _ = _complete(_reply(page, 502, "Content-Type: text/html"))
        assert "HTTP 502, 502 Bad Gateway (tried" in failed.failure.detail


def test_an_error_reply_without_an_end_is_what_its_status_says() -> None:
    """Of an error reply no more than the beginning is read, so that its status counts even where it never ends."""
    reply, transport = _complete(_endless(429), GOOD)
    assert (reply.text, transport.retries) == ("fine", {"rate_limited": 1})


@pytest.mark.parametrize(("spec", "form"), [("openai/m", CHAT), ("anthropic/m", MESSAGE)])
@pytest.mark.parametrize("status", [200, 429, 500])
def test_what_cannot_be_decoded_is_asked_for_again(spec: str, form: bytes, status: int) -> None:
    """Replies and error pages of invalid UTF-8, or nested beyond any decoder, are faults that pass."""
    deep = b'{"error": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    bad = [form % b"\xff\xfe", b"Zu viele Anfragen f\xfcr heute", deep]
    reply, transport = _complete(*(_reply(body, status) for body in bad), _reply(form % b"fine"), spec=spec)
    assert isinstance(reply, Completion)
    assert "fine" in reply.text
    assert sum(transport.retries.values()) == 3


def test_redirects_on_the_same_server_are_followed(kit: Kit) -> None:
    """A 307 or 308 to another path of the same server is followed with the request and its key, five times at most."""

    def script(number: int, request: Request) -> Act:
        hop = int(request.path.partition("hop=")[2] or 0)
        moved = ((307, 308)[hop % 2], {"Location": f"/v1/elsewhere?hop={hop + 1}"}, b"")
        return moved if hop < hops else kit.reply("moved")

    async def main() -> tuple[Any, list[Request]]:
        async with (
            kit.serving(script) as server,
            HttpTransport(*parse_llm_spec("openai/m", base_url=server.url), KEYS) as transport,
        ):
            return await transport.send(PROMPT), server.requests

    hops = 5
    reply, requests = asyncio.run(main())
    assert reply.text == "moved"
    assert requests[-1].path == "/v1/elsewhere?hop=5"
    assert requests[-1].headers["Authorization"] == f"Bearer {KEY}"
    assert requests[-1].body == requests[0].body
    hops = 6
    with pytest.raises(CallFailed, match="redirects more than 5 times in a row") as failed:
        asyncio.run(main())
    assert failed.value.fatal


def test_redirects_to_another_server_are_refused(kit: Kit) -> None:
    """A redirect to another port, host or scheme ends all calls with both addresses; nothing is sent there."""

    async def main(target: Callable[[str], str]) -> tuple[CallFailed, str, str]:
        async with (
            kit.serving(lambda number, request: kit.reply()) as other,
            kit.serving(lambda number, request: (308, {"Location": target(other.url)}, b"")) as server,
            HttpTransport(*parse_llm_spec("openai/m", base_url=server.url), KEYS) as transport,
        ):
            with pytest.raises(CallFailed) as failed:
                await transport.send(PROMPT)
            assert (len(server.requests), other.requests) == (1, [])
            return failed.value, server.url.removesuffix("/v1"), other.url.removesuffix("/v1")

    failed, here, there = asyncio.run(main(lambda url: f"{url}/chat/completions"))
    assert (failed.failure.reason, failed.fatal) == ("redirected", True)
    assert f"{here} redirects to {there}, which is another server" in failed.failure.detail
    assert "set base_url" in failed.failure.detail
    assert KEY not in failed.failure.detail
    for target in ("https://127.0.0.1/v1", "mailto:me", "//[", "http://user:secret@localhost/"):

        def elsewhere(_: str, target: str = target) -> str:
            return target

        failed, _, _ = asyncio.run(main(elsewhere))
        assert failed.failure.reason == "redirected"
        assert "secret" not in failed.failure.detail


@pytest.mark.parametrize(
    ("base_url", "key", "warned"),
    [
        ("http://judge.example/v1", KEY, True),
        ("http://127.judge.example/v1", KEY, True),
        ("http://judge.example/v1", "", False),
        ("https://judge.example/v1", KEY, False),
        ("http://127.0.0.1:8000/v1", KEY, False),
        ("http://[::1]:8000/v1", KEY, False),
        ("http://localhost:8000/v1", KEY, False),
    ],
)
def test_a_key_over_plain_http_is_warned_of(
    base_url: str, key: str, warned: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key for another machine over http is warned of once, and in the notes of each run; the key is not shown."""
    monkeypatch.setenv("OPENAI_API_KEY", key)
    judge = rg.llm("openai/m", base_url=base_url)

    async def main() -> None:
        for _ in range(2):
            async with judge:
                pass

    asyncio.run(main())
    output = [record.getMessage() for record in caplog.records]
    assert output == list(judge.notes())
    assert [one.partition("/")[0] for one in output] == ["openai"] * warned
    assert all("the key is sent unencrypted over http" in one and KEY not in one for one in output)


def test_calls_that_wait_end_with_the_run(kit: Kit) -> None:
    """A call that waits for its retry fails as soon as another finds that no call can succeed."""
    script: list[Act] = [kit.refusal(500, headers={"Retry-After": "500"}), kit.refusal(401)]

    async def main() -> list[Any]:
        async with (
            kit.serving(lambda number, request: script[number]) as server,
            HttpTransport(*parse_llm_spec("openai/m?concurrency=1", base_url=server.url), KEYS) as transport,
            asyncio.timeout(20),
        ):
            calls = (transport.send(PROMPT) for _ in script)
            return await asyncio.gather(*calls, return_exceptions=True)

    assert [one.failure.reason for one in asyncio.run(main())] == ["unauthorized"] * 2


def test_a_long_wait_is_announced(kit: Kit, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a run waits for is reported when the wait begins, and in the notes of the run."""
    monkeypatch.setattr("ragauge.judges.llm.transport.scheduler.QUIET_WAIT", 0.01)
    script: list[Act] = [kit.refusal(429, headers={"Retry-After": "0.05"}), kit.reply()]

    async def main() -> list[str]:
        async with (
            kit.serving(lambda number, request: script[number]) as server,
            HttpTransport(*parse_llm_spec("openai/m", base_url=server.url), KEYS) as transport,
        ):
            await transport.send(PROMPT)
            return transport.notes()

    notes = asyncio.run(main())
    assert notes[-1].startswith("openai/m at 127.0.0.1:")
    assert "calls waited up to 0 s for their turn" in notes[-1]
    assert [(one.levelno, one.getMessage()[:29]) for one in caplog.records] == [
        (logging.WARNING, "waiting 0 s for openai/m at 1")
    ]


def _batch(*replies: Reply, into: Path | None = None) -> Any:
    """How far a batch is, or its results; what is raised where that cannot be had."""

    async def main() -> Any:
        async with (
            _raw(*replies) as (url, _),
            batches(parse_llm_spec("openai/m", base_url=url), KEYS) as endpoints,
            asyncio.timeout(20),
        ):
            progress = await endpoints.progress("b")
            if into:
                await endpoints.download(progress, into)
            return progress

    return asyncio.run(main())


DONE = _reply(b'{"id": "b", "status": "completed", "output_file_id": "f"}')


def test_results_are_written_within_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results may be larger than a reply, and are written as they arrive; without an end they are left at a bound."""
    _batch(DONE, _reply(b"x" * 17_000_000), into=tmp_path / "results")
    assert (tmp_path / "results").stat().st_size == 17_000_000
    monkeypatch.setattr("ragauge.judges.llm.transport.batches.MAX_RESULT_BYTES", 300_000)
    with pytest.raises(BatchFailed, match=r"GET /files/f/content: .* is larger than 300000 bytes"):
        _batch(DONE, _endless(), into=tmp_path / "endless")
    assert not (tmp_path / "endless").exists()


def test_what_is_reported_of_a_batch_is_read_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Endless, dripping and odd replies fail with the reason; a packed one and a Latin-1 error page are retried."""
    with pytest.raises(BatchFailed, match="is larger than 16000000 bytes"):
        _batch(_endless())
    assert _batch(_reply(gzip.compress(b"{}"), 200, "Content-Encoding: gzip"), DONE).ended
    for body in (b'{"id": "\xff"}', b"[" * 100_000, b'{"status": "completed"}', b'{"id": 1, "status": "completed"}'):
        with pytest.raises(BatchFailed, match="is not the JSON expected"):
            _batch(_reply(body))
    assert _batch(_reply(b"f\xfcr heute", 429), DONE).ended
    monkeypatch.setattr("ragauge.judges.llm.transport.batches.TIMEOUT", 0.2)
    with pytest.raises(BatchFailed, match="the reply took too long"):
        _batch(_endless(piece=b" ", pause=0.01))


def test_a_batch_does_not_wait_for_hours() -> None:
    """Where a provider of batches asks for more than ten minutes, the command ends and says so."""
    with pytest.raises(BatchFailed, match="it asks to wait 3600 s: call again then"):
        _batch(_reply(b"{}", 429, "Retry-After: 3600"))
