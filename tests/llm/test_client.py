from __future__ import annotations

import asyncio
import json
import random
import re
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

from ragauge.errors import UsageError
from ragauge.judges.llm.messages import CallFailed, Completion, Prompt, TokenUsage
from ragauge.judges.llm.providers import parse_llm_spec
from ragauge.judges.llm.transport.client import HttpTransport

if TYPE_CHECKING:
    from tests.llm.conftest import Act, Kit, Request, Script

SCHEMA = {"type": "object", "properties": {"1": {"type": "string"}}, "required": ["1"]}
PROMPT = Prompt("Judge.", '{"sources": {}}', SCHEMA)
KEY = "sk-secret-0123456789"
KEYS = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY, "AZURE_OPENAI_API_KEY": KEY}


def _transport(spec: str, url: str = "", environment: Mapping[str, str] = KEYS, **more: Any) -> HttpTransport:
    where = {"base_url": url} if url else {}
    return HttpTransport(*parse_llm_spec(spec, **where, **more), environment)


def _complete(
    kit: Kit, script: Script, spec: str = "openai/m", calls: int = 1, latency: float = 0.0, **more: Any
) -> tuple[list[Any], list[Request], HttpTransport]:
    """The results of several concurrent calls: replies and failures; and what the server was sent."""

    async def main() -> tuple[list[Any], list[Request], HttpTransport]:
        async with kit.serving(script, latency) as server, _transport(spec, server.url, **more) as transport:
            ended = await asyncio.gather(*(transport.send(PROMPT) for _ in range(calls)), return_exceptions=True)
            return ended, server.requests, transport

    return asyncio.run(main())


def test_a_call_to_a_chat_server(kit: Kit) -> None:
    """A prompt is posted to /chat/completions with the key, and the reply comes back with its tokens."""
    [reply], [request], _ = _complete(kit, lambda number, request: kit.reply('{"1": "yes"}'))
    assert reply == Completion('{"1": "yes"}', "stop", TokenUsage(10, 2), "stub")
    assert request.path == "/v1/chat/completions"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.headers["Content-Type"] == "application/json"
    assert request.body["messages"][0]["content"] == "Judge."


def test_a_call_to_anthropic(kit: Kit) -> None:
    """A prompt is posted to /messages with the key and the version in headers of their own."""
    output = {"content": [{"type": "text", "text": "{}"}], "stop_reason": "end_turn", "model": "c"}
    [reply], [request], _ = _complete(
        kit, lambda number, request: (200, {}, json.dumps(output).encode()), "anthropic/c"
    )
    assert reply == Completion("{}", "stop", None, "c")
    assert request.path == "/v1/messages"
    assert request.headers["x-api-key"] == KEY
    assert request.headers["anthropic-version"] == "2023-06-01"


@pytest.mark.parametrize(
    ("version", "path"),
    [
        ("", "/openai/v1/chat/completions"),
        ("2024-10-21", "/openai/deployments/my%20model/chat/completions?api-version=2024-10-21"),
    ],
)
def test_a_call_to_azure(kit: Kit, version: str, path: str) -> None:
    """Azure is asked through its v1 path, or that of a dated version where OPENAI_API_VERSION names one."""

    async def main() -> tuple[str, str]:
        async with kit.serving(lambda number, request: kit.reply()) as server:
            environment = {"AZURE_OPENAI_ENDPOINT": server.url.removesuffix("/v1"), "OPENAI_API_VERSION": version}
            async with _transport("azure/my model", environment={**KEYS, **environment}) as transport:
                await transport.send(PROMPT)
            return server.requests[0].path, server.requests[0].headers["api-key"]

    assert asyncio.run(main()) == (path, KEY)


def test_headers_of_the_environment(kit: Kit) -> None:
    """An organisation that the environment names is sent along."""
    script: Script = lambda number, request: kit.reply()  # noqa: E731
    _, [request], _ = _complete(kit, script, environment={**KEYS, "OPENAI_ORG_ID": "org-1"})
    assert request.headers["OpenAI-Organization"] == "org-1"


def _faulty(kit: Kit, seed: int, retry_after: str | None = None) -> Script:
    """10 % 429, 5 % 500, 3 % stalls, 3 % dropped connections, 3 % cut replies, 3 % that are no JSON."""
    chance = random.Random(seed)
    headers = {"Retry-After": retry_after} if retry_after else {}
    faults: list[tuple[float, Act]] = [
        (0.10, kit.refusal(429, "slow down", headers, code="rate_limit_exceeded")),
        (0.05, kit.refusal(500, "oops")),
        (0.03, "stall"),
        (0.03, "drop"),
        (0.03, "cut"),
        (0.03, (200, {}, b'{"choices": [')),
    ]

    def script(number: int, request: Request) -> Act:
        drawn = chance.random()
        for share, act in faults:
            if drawn < share:
                return act
            drawn -= share
        return kit.reply()

    return script


@pytest.mark.parametrize("retry_after", [None, "0.02"])
def test_no_answer_is_lost(kit: Kit, retry_after: str | None) -> None:
    """Through rate limits, server errors, stalls, dropped connections and cut replies every call ends with a reply."""
    script = _faulty(kit, 7, retry_after)
    ended, _, transport = _complete(kit, script, calls=200, latency=0.005, timeout=2)
    assert [one for one in ended if not isinstance(one, Completion)] == []
    assert transport.retries.keys() == {"rate_limited", "server_error", "timeout", "unreachable"}


def _side_by_side(kit: Kit, spec: str, calls: int) -> int:
    """The most requests that a server has at once."""

    async def main() -> int:
        async with kit.serving(lambda number, request: kit.reply(), 0.01) as server:
            async with _transport(spec, server.url) as transport:
                await asyncio.gather(*(transport.send(PROMPT) for _ in range(calls)))
            return server.most

    return asyncio.run(main())


def test_concurrency_is_kept(kit: Kit) -> None:
    """With concurrency=5 the server has five requests at once, and never more."""
    assert _side_by_side(kit, "openai/m?concurrency=5", 60) == 5


def test_concurrency_grows_with_the_server(kit: Kit) -> None:
    """Without a fixed number more and more calls are sent side by side."""
    assert 16 < _side_by_side(kit, "openai/m", 200) <= 256


def test_a_server_is_learned(kit: Kit) -> None:
    """A server that knows neither schema, temperature nor max_tokens is asked otherwise, and that is remembered."""

    def script(number: int, request: Request) -> Act:
        body = request.body
        if "max_tokens" in body:
            return kit.refusal(400, "'max_tokens' is not supported. Use 'max_completion_tokens'.", param="max_tokens")
        if "temperature" in body:
            return kit.refusal(400, "Unsupported value", param="temperature", code="unsupported_value")
        if body.get("response_format", {}).get("type") == "json_schema":
            return kit.refusal(400, "This response_format type is unavailable now")
        return kit.reply()

    ended, requests, transport = _complete(kit, script, "openai/m?max_tokens=9&concurrency=4", calls=8)
    assert all(isinstance(one, Completion) for one in ended)
    assert len(requests) <= 4 * 3 + 8
    assert requests[-1].body["response_format"] == {"type": "json_object"}
    assert requests[-1].body["max_completion_tokens"] == 9
    assert transport.retries == {}


def test_a_server_without_any_structure(kit: Kit) -> None:
    """A server that refuses every response format is asked in words alone."""

    def script(number: int, request: Request) -> Act:
        return kit.refusal(400, "unknown field response_format") if "response_format" in request.body else kit.reply()

    ended, requests, _ = _complete(kit, script, calls=3)
    assert all(isinstance(one, Completion) for one in ended)
    assert "JSON schema" in requests[-1].body["messages"][0]["content"]


@pytest.mark.parametrize(
    ("status", "error", "reason"),
    [
        (401, {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}, "unauthorized"),
        (403, {"message": f"{KEY} has no access"}, "unauthorized"),
        (404, {"message": "The model `m` does not exist", "code": "model_not_found"}, "no_such_model"),
        (429, {"message": "no quota", "code": "insufficient_quota"}, "quota"),
    ],
)
def test_what_no_call_can_mend_ends_all_calls(kit: Kit, status: int, error: dict[str, str], reason: str) -> None:
    """A refused key, an unknown model and a spent quota fail every call, after one request, without the key."""
    script: Script = lambda number, request: kit.refusal(status, **error)  # noqa: E731
    ended, requests, _ = _complete(kit, script, "openai/m?concurrency=1", calls=6)
    assert len(requests) == 1
    assert {one.failure for one in ended} == {ended[0].failure}
    assert all(one.fatal and one.failure.reason == reason for one in ended)
    assert KEY not in str(ended[0].failure)
    assert "openai/m at 127.0.0.1" in ended[0].failure.detail


def test_what_one_call_alone_is_guilty_of(kit: Kit) -> None:
    """A prompt that is too long, filtered or refused fails alone; the next call is sent."""
    script: list[Act] = [
        kit.refusal(400, "maximum context length is 9", code="context_length_exceeded"),
        kit.refusal(400, "filtered", code="content_filter"),
        kit.refusal(400, f"what is this, {KEY}?"),
        kit.reply(),
    ]
    ended, _, _ = _complete(kit, lambda number, request: script[number], "openai/m?concurrency=1", calls=4)
    assert [one.failure.reason for one in ended[:3]] == ["too_long", "content_filter", "bad_request"]
    assert not any(one.fatal for one in ended[:3])
    assert KEY not in str(ended[2])
    assert isinstance(ended[3], Completion)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries come quickly."""
    monkeypatch.setattr("ragauge.judges.llm.transport.scheduler.MIN_BACKOFF", 0.001)


@pytest.mark.usefixtures("hasty")
def test_an_error_that_does_not_pass(kit: Kit) -> None:
    """A server error is tried again, and reported with the server's message."""
    [failed], requests, transport = _complete(kit, lambda number, request: kit.refusal(500, "disk full"))
    assert isinstance(failed, CallFailed)
    assert failed.failure.reason == "server_error"
    assert "HTTP 500, disk full (tried 7 times)" in failed.failure.detail
    assert len(requests) == 7
    assert transport.retries == {"server_error": 6}


@pytest.fixture
def short_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    """The waits of an outage are short."""
    monkeypatch.setattr("ragauge.judges.llm.transport.scheduler.OUTAGE_WAITS", (0.1,) * 6)


@pytest.mark.usefixtures("hasty", "short_outage")
@pytest.mark.parametrize("status", [502, 503])
def test_an_outage_is_waited_out(kit: Kit, status: int, caplog: pytest.LogCaptureFixture) -> None:
    """While a server fails all calls they wait together, which is announced, and none is given up."""

    def script(number: int, request: Request) -> Act:
        return kit.refusal(status, "down") if 4 <= number < 24 else kit.reply()

    ended, requests, transport = _complete(kit, script, "openai/m?concurrency=4", calls=40)
    assert all(isinstance(one, Completion) for one in ended)
    assert len(requests) == 40 + 20
    assert transport.retries == {"server_error": 20}
    assert f"HTTP {status}, down; all calls wait" in caplog.text


@pytest.mark.usefixtures("hasty", "short_outage")
def test_an_outage_that_lasts_ends_all_calls(kit: Kit) -> None:
    """A gateway without a server behind it is asked a few times in about a minute, then all calls fail and say so."""
    ended, requests, _ = _complete(
        kit, lambda number, request: kit.refusal(502, "down"), "openai/m?concurrency=4", calls=40
    )
    assert len(requests) <= 8 + 4 * 7 + 16
    fatal = [one for one in ended if one.fatal]
    assert len(ended) - len(fatal) < 16
    words = r"HTTP 502, down \(no reply to any call for about a minute\); it stopped answering"
    assert all(re.search(words, one.failure.detail) for one in fatal)


@pytest.mark.usefixtures("hasty", "short_outage")
@pytest.mark.parametrize(("calls", "waits"), [(2, 0), (12, 6)])
def test_prompts_that_a_server_never_answers_fail_alone(
    kit: Kit, calls: int, waits: int, caplog: pytest.LogCaptureFixture
) -> None:
    """A few prompts that crash a server are no outage; where they are many they are waited for, then fail alone."""
    ended, _, _ = _complete(kit, lambda number, request: kit.refusal(500, "crashed"), "openai/m", calls=calls)
    assert not any(one.fatal for one in ended)
    assert caplog.text.count("all calls wait") == waits


@pytest.mark.usefixtures("hasty", "short_outage")
def test_an_outage_lasts_as_long_as_the_server_says(kit: Kit, caplog: pytest.LogCaptureFixture) -> None:
    """In an outage all calls wait as long as Retry-After asks."""

    def script(number: int, request: Request) -> Act:
        return kit.refusal(503, "maintenance", headers={"Retry-After": "1"}) if number < 16 else kit.reply()

    ended, requests, _ = _complete(kit, script, "openai/m?concurrency=8", calls=16)
    assert all(isinstance(one, Completion) for one in ended)
    assert len(requests) == 32
    assert "all calls wait 1 s" in caplog.text


@pytest.mark.parametrize("no_proxy", ["", "inside.example,judge.example"])
@pytest.mark.usefixtures("hasty")
def test_a_proxy_is_used_and_named(kit: Kit, monkeypatch: pytest.MonkeyPatch, no_proxy: str) -> None:
    """Calls go through the proxy of the environment, which messages name, unless NO_PROXY has the server's host."""

    async def main() -> list[str]:
        async with kit.serving(lambda number, request: kit.refusal(403, "blocked")) as proxy:
            monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
            monkeypatch.setenv("NO_PROXY", no_proxy)
            async with _transport("openai/m", "http://judge.example/v1") as transport:
                with pytest.raises(CallFailed) as failed:
                    await transport.send(PROMPT)
            return [*(request.path for request in proxy.requests), failed.value.failure.detail]

    *paths, detail = asyncio.run(main())
    assert len(paths) == (not no_proxy)
    assert ("openai/m at judge.example through the proxy of HTTP_PROXY: HTTP 403" in detail) == (not no_proxy)


@pytest.mark.usefixtures("hasty")
def test_a_server_that_is_not_there() -> None:
    """Where nothing listens, the calls fail as unreachable, and say where."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    async def main() -> None:
        async with _transport("openai/m", f"http://127.0.0.1:{port}/v1") as transport:
            await transport.send(PROMPT)

    with pytest.raises(CallFailed, match=f"unreachable: openai/m at 127.0.0.1:{port}: ClientConnector") as failed:
        asyncio.run(main())
    assert failed.value.fatal


@pytest.mark.parametrize(
    ("spec", "variable"),
    [("openai/m", "OPENAI_API_KEY"), ("anthropic/c", "ANTHROPIC_API_KEY"), ("gemini/g", "GEMINI_API_KEY"),
     ("azure/m", "AZURE_OPENAI_ENDPOINT")],
)  # fmt: skip
def test_what_is_missing_is_reported_before_anything_is_sent(spec: str, variable: str) -> None:
    """Without a key, or the address that Azure needs, entering is a usage error that names the variable."""

    async def main() -> None:
        async with _transport(spec, environment={}):
            pass

    with pytest.raises(UsageError, match=f"set {variable} "):
        asyncio.run(main())


def test_a_server_of_ones_own_needs_no_key(kit: Kit) -> None:
    """Local servers, and any other than the provider's own, may do without a key; none is then sent."""
    for spec in ("ollama/qwen3:8b", "openai/m"):
        [reply], [request], _ = _complete(kit, lambda number, request: kit.reply(), spec, environment={})
        assert isinstance(reply, Completion)
        assert "Authorization" not in request.headers


def test_it_can_be_opened_again(kit: Kit) -> None:
    """The session lives until it is left; it can be opened again, in another event loop too."""

    async def main(transport: HttpTransport) -> int:
        async with transport:
            await transport.send(PROMPT)
        with pytest.raises(UsageError, match="is not open"):
            await transport.send(PROMPT)
        return len(asyncio.all_tasks())

    async def served() -> None:
        async with kit.serving(lambda number, request: kit.reply()) as server:
            transport = _transport("openai/m", server.url)
            assert await asyncio.to_thread(asyncio.run, main(transport)) == 1
            assert await asyncio.to_thread(asyncio.run, main(transport)) == 1

    asyncio.run(served())


def test_after_leaving_a_refused_key_may_be_another(kit: Kit) -> None:
    """What ended all calls is forgotten when it is entered anew."""
    script: list[Act] = [kit.refusal(401), kit.reply()]

    async def main() -> Completion:
        async with kit.serving(lambda number, request: script[number]) as server:
            transport = _transport("openai/m", server.url)
            async with transport:
                with pytest.raises(CallFailed):
                    await transport.send(PROMPT)
            async with transport:
                return await transport.send(PROMPT)

    assert isinstance(asyncio.run(main()), Completion)


def test_cancelled_calls_end_at_once(kit: Kit) -> None:
    """Calls that are cancelled end as such, in flight and waiting alike, and leave no slot taken."""

    async def main() -> None:
        serving = kit.serving(lambda number, request: "stall")
        async with serving as server, _transport("openai/m?concurrency=2", server.url) as transport:
            calls = [asyncio.create_task(transport.send(PROMPT)) for _ in range(5)]
            await asyncio.sleep(0.05)
            for call in calls:
                call.cancel()
            ended = await asyncio.gather(*calls, return_exceptions=True)
            assert all(isinstance(one, asyncio.CancelledError) for one in ended)
            assert transport._scheduler.concurrency.busy == 0

    asyncio.run(main())


def test_what_names_a_judge() -> None:
    """Name and settings hold what can change a reply, and never the key; plain settings are left out."""
    transport = _transport(
        "openrouter/meta/llama:free?temperature=0.5&seed=1&rpm=9", environment={"OPENROUTER_API_KEY": KEY}
    )
    assert transport.name == "openrouter/meta/llama:free"
    assert transport.settings == (("seed", "1"), ("temperature", "0.5"))
    assert _transport("openai/m").settings == ()
    assert _transport("openai/m", "http://127.0.0.1:1").settings == (("base_url", "http://127.0.0.1:1/v1"),)
    assert KEY not in repr(transport)
