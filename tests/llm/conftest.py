"""What the tests of LLM judges share: a server in the test's own process that does what a script says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, NamedTuple

import pytest


class Request(NamedTuple):
    """What the server was sent."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


#: What the server does: "stall", "drop" the connection, "cut" the reply, or answer with status, headers and body.
Act = str | tuple[int, dict[str, str], bytes]
Script = Callable[[int, Request], Act]


class Scripted:
    """A running server. url: the base URL. requests: all that it was sent. most: how many it had at once."""

    def __init__(self, script: Script, latency: float) -> None:
        self.url = ""
        self.requests: list[Request] = []
        self.most = 0
        self._script, self._latency, self._busy = script, latency, 0

    async def answer(self, request: Any) -> Any:
        """Do what the script says to the request of this number."""
        body = await request.read()
        sent = Request(request.path_qs, dict(request.headers), json.loads(body))
        self.requests.append(sent)
        self._busy += 1
        self.most = max(self.most, self._busy)
        try:
            await asyncio.sleep(self._latency)
            return await _act(request, self._script(len(self.requests) - 1, sent))
        finally:
            self._busy -= 1


async def _act(request: Any, act: Act) -> Any:
    from aiohttp import web

    if isinstance(act, tuple):
        status, headers, body = act
        return web.Response(status=status, headers=headers, body=body, content_type="application/json")
    if act == "stall":
        await asyncio.sleep(3600)
    if act == "cut":
        response = web.StreamResponse(headers={"Content-Length": "5000"})
        await response.prepare(request)
        await response.write(b'{"choices": [{"message": {"content": "so')
    request.transport.abort()
    return web.Response()


def chat_reply(text: str = "{}", **more: Any) -> Act:
    """A chat completion that says `text`."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    return 200, {}, json.dumps({"model": "stub", "choices": [choice], "usage": usage, **more}).encode()


def refusal(status: int, message: str = "no", headers: dict[str, str] | None = None, **error: Any) -> Act:
    """An error reply of OpenAI's form."""
    return status, headers or {}, json.dumps({"error": {"message": message, **error}}).encode()


@asynccontextmanager
async def _serving(script: Script, latency: float = 0.0) -> AsyncIterator[Scripted]:
    from aiohttp import web

    scripted = Scripted(script, latency)
    app = web.Application()
    app.router.add_post("/{path:.*}", scripted.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.01)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    scripted.url = f"http://{host}:{port}/v1"
    try:
        yield scripted
    finally:
        await runner.cleanup()


class Kit(NamedTuple):
    """How a test serves a script, and what a script can answer."""

    serving: Callable[..., AbstractAsyncContextManager[Scripted]] = _serving
    reply: Callable[..., Act] = chat_reply
    refusal: Callable[..., Act] = refusal


@pytest.fixture
def kit() -> Kit:
    """A server that is run in the test's process on 127.0.0.1."""
    return Kit()
