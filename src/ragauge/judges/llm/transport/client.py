"""The HTTP client: one session to one model, for any of the protocols."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import IO, TYPE_CHECKING, NamedTuple
from urllib.parse import quote, urlsplit

from ragauge.errors import UsageError
from ragauge.judges.llm.messages import CallFailed, Completion, Prompt
from ragauge.judges.llm.providers import LLMOptions, Provider
from ragauge.judges.llm.transport import protocols
from ragauge.judges.llm.transport.faults import THROTTLED, Fault, ReplyError, call_failed, passes, read_fault, reason_of
from ragauge.judges.llm.transport.protocols import ServerFeatures, downgraded, initial_features, is_reasoning_model
from ragauge.judges.llm.transport.scheduler import (
    FIRST,
    LOG,
    ConcurrencyLimiter,
    RateLimiter,
    RetryScheduler,
    StallDetector,
    retry_after,
)
from ragauge.judges.llm.transport.session import Body, Reply, Session, is_local
from ragauge.types import Failure
from ragauge.version import VERSION

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL


class _WireProtocol(NamedTuple):
    path: str
    body: Callable[[Prompt, str, LLMOptions, ServerFeatures], bytes]
    read: Callable[[bytes], Completion | Fault]


_PROTOCOLS = {
    "chat": _WireProtocol(protocols.CHAT_PATH, protocols.chat_body, protocols.read_chat),
    "anthropic": _WireProtocol(protocols.ANTHROPIC_PATH, protocols.anthropic_body, protocols.read_anthropic),
}


class HttpTransport:
    """Carries prompts to a model over HTTP.

    name: "provider/model". settings: what else can change a reply. retries: how often calls were tried again since it
    was opened, by reason.
    """

    def __init__(
        self, provider: Provider, model: str, options: LLMOptions, environment: Mapping[str, str] = os.environ
    ) -> None:
        self._provider, self._model, self._options, self._environment = provider, model, options, environment
        self._protocol = _PROTOCOLS[provider.protocol]
        self._form = initial_features(provider, model, options)
        self._base = options.base_url or provider.found_base_url(environment)
        slow = provider.local or is_reasoning_model(model) or options.reasoning_effort is not None
        self._flow = RetryScheduler(
            ConcurrencyLimiter(options.concurrency, provider.most),
            RateLimiter(options.rpm, options.tpm),
            StallDetector(options.timeout, options.timeout if slow else FIRST),
            self._server,
        )
        self._entered = 0
        self._key = self._exposed = ""
        self._session: Session | None = None
        self._watch: asyncio.Task[None] | None = None
        self._urls: dict[str, URL] = {}

    def __repr__(self) -> str:
        return f"HttpTransport({self.name!r})"

    @property
    def name(self) -> str:
        """The model, as "provider/model"."""
        return f"{self._provider.name}/{self._model}"

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """What else can change a reply: options of the sampling, and a server that is not the provider's own."""
        options = self._options
        chosen = {
            "base_url": self._base if self._base != self._provider.base_url else None,
            "max_tokens": options.max_tokens,
            "reasoning_effort": options.reasoning_effort,
            "seed": options.seed,
            "structured": options.structured,
            "temperature": options.temperature,
        }
        return tuple((name, f"{value}") for name, value in chosen.items() if value is not None)

    def notes(self) -> list[str]:
        """What whoever reads a run should know of how its calls went since the transport was opened."""
        notes = [self._exposed] if self._exposed else []
        if self.retries:
            most = sorted(self.retries.items(), key=lambda one: (-one[1], one[0]))
            listed = ", ".join(f"{reason} {count}" for reason, count in most)
            notes.append(f"{self.name}: calls were tried again {sum(self.retries.values())} times: {listed}")
        return notes + self._flow.notes()

    @property
    def retries(self) -> dict[str, int]:
        """How often calls were tried again since it was opened, by reason."""
        return dict(self._flow.retries)

    async def __aenter__(self) -> HttpTransport:
        """Open the session. Raises UsageError where the key or the address is missing; nothing is sent."""
        if not self._entered:
            self._key = self._provider.key(self._environment)
            self._check()
            self._warn()
            base = self._base or ""
            self._session = Session(self._server, base, self._headers(), self._options.max_reply_bytes)
            self._flow.resume()
            self._watch = asyncio.create_task(self._flow.patience.watch())
        self._entered += 1
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Close the session where this was the first to enter."""
        self._entered -= 1
        if self._entered or self._session is None or self._watch is None:
            return
        session, watch, self._session, self._watch = self._session, self._watch, None, None
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)
        await session.close()

    def _check(self) -> None:
        provider = self._provider
        if self._base is None:
            raise UsageError(f"{self.name}: set {provider.bases[0]} to the address of your {provider.name} resource")
        elsewhere = provider.base_url is not None and self._base != provider.base_url
        if not self._key and not provider.local and not elsewhere:
            raise UsageError(f"{self.name}: set {provider.keys[0]} to your key of {provider.name}")

    def _warn(self) -> None:
        """Say once that the key and the texts can be read on their way, where that is so."""
        base = self._base or ""
        if self._key and not self._exposed and urlsplit(base).scheme == "http" and not is_local(base):
            self._exposed = f"{self._server}: the key is sent unencrypted over http; use an https address"
            LOG.warning(self._exposed)

    def _headers(self) -> dict[str, str]:
        provider = self._provider
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "User-Agent": f"ragauge/{VERSION}",
            **dict(provider.headers),
        }
        for header, variable in provider.variable_headers:
            if self._environment.get(variable):
                headers[header] = self._environment[variable]
        if self._key:
            headers[provider.key_header] = provider.key_prefix + self._key
        return headers

    async def complete(self, prompt: Prompt) -> Completion:
        """The reply to a prompt. Raises CallFailed.

        A field that the server does not know is left out from then on; see `ragauge.judges.llm.transport.protocols`.
        """
        tokens = (len(prompt.system) + len(prompt.user)) // 4
        done = await self._flow.run(partial(self._ask, prompt), tokens)
        if isinstance(done, Fault):
            raise self.failed(done)
        if done.usage is not None:
            self._flow.pace.used(tokens, done.usage.prompt + done.usage.completion)
        return done

    async def post(self, path: str, body: bytes, headers: Mapping[str, str] | None = None) -> Reply:
        """Post to a path below the base URL, such as "/decisions", with the same care as a prompt.

        Returns the reply with whatever status it has, once it is none that passes by itself; `failed` makes of an
        error what is to be raised. Raises CallFailed where tries and patience are at an end.
        """
        return await self._flow.run(partial(self._posted, path, body, headers), len(body) // 4)

    async def exchange(
        self,
        method: str,
        path: str,
        data: Body = None,
        headers: Mapping[str, str] | None = None,
        *,
        into: IO[bytes] | None = None,
        most: int | None = None,
        timeout: aiohttp.ClientTimeout | None = None,
    ) -> Reply:
        """One request to a path below the base URL, as it is: not held back, not watched, not tried again.

        Arguments, result and Trouble are those of `Session.exchange`.
        """
        if self._session is None:
            raise UsageError(f"{self.name} is not open; use it as in: async with transport: ...")
        url = self._urls.get(path) or self._url(path)
        return await self._session.exchange(method, url, data, headers, into=into, most=most, timeout=timeout)

    def stop(self, failure: Failure) -> None:
        """Calls that were not sent yet fail with this, until it is entered anew."""
        self._flow.stop(failure)

    def failed(self, fault: Fault | Reply) -> CallFailed:
        """What to raise for an error reply; after a fatal one all further calls fail at once."""
        fault = read_fault(fault.status, fault.body) if isinstance(fault, Reply) else fault
        failed = call_failed(self._masked(fault), self._server, self._provider.keys[0])
        if failed.fatal:
            self._flow.stop(failed.failure)
        return failed

    @property
    def _server(self) -> str:
        return f"{self.name} at {urlsplit(self._base or '').netloc}"

    def _masked(self, fault: Fault) -> Fault:
        if not self._key:
            return fault
        return Fault(fault.status, fault.message.replace(self._key, "..."), fault.code, fault.parameter)

    async def _ask(self, prompt: Prompt) -> Completion | Fault:
        """One attempt at a completion, in ever simpler forms while the server refuses them."""
        while True:
            form = self._form
            body = self._protocol.body(prompt, self._model, self._options, form)
            reply = await self._exchange(self._protocol.path, body, None)
            done = self._read(reply)
            if not isinstance(done, Fault):
                return done
            simpler = downgraded(form, done)
            if simpler is None:
                return self._kept(done, reply)
            if self._form == form:
                self._form = simpler

    def _read(self, reply: Reply) -> Completion | Fault:
        if reply.status != 200:
            return read_fault(reply.status, reply.body)
        try:
            return self._protocol.read(reply.body)
        except ReplyError as trouble:
            raise ReplyError(trouble.reason, f"{self._server}: {trouble.detail}") from trouble

    async def _posted(self, path: str, body: bytes, headers: Mapping[str, str] | None) -> Reply:
        """One attempt at a post."""
        reply = await self._exchange(path, body, headers)
        if reply.status >= 400:
            self._kept(read_fault(reply.status, reply.body), reply)
        return reply

    async def _exchange(self, path: str, body: bytes, headers: Mapping[str, str] | None) -> Reply:
        reply = await self.exchange("POST", path, body, headers)
        self._flow.pace.told(reply.headers)
        return reply

    def _kept(self, fault: Fault, reply: Reply) -> Fault:
        """A fault that does not pass; raises Trouble for one that does."""
        if passes(fault):
            raise self._trouble(fault, reply)
        return fault

    def _trouble(self, fault: Fault, reply: Reply) -> ReplyError:
        wait = retry_after(reply.headers, reply.body, datetime.now(UTC))
        said = f"{self._server}: HTTP {fault.status}, {self._masked(fault).message}"
        return ReplyError(reason_of(fault), said, wait, throttled=fault.status in THROTTLED)

    def _url(self, path: str) -> URL:
        from yarl import URL

        base, version = self._base or "", self._environment.get("OPENAI_API_VERSION", "")
        if self._provider.name == "azure" and version:
            base = f"{base.removesuffix('/v1')}/deployments/{quote(self._model, safe='')}"
            path += f"?api-version={quote(version)}"
        return self._urls.setdefault(path, URL(base + path))
