"""The HTTP client: one session to one model, for any of the protocols.

Each call has a number, which its reply repeats, so that no reply is taken for another: a gateway may write a reply
twice, or late, on a connection that is kept open; the next call would read it as its own. It is a digest of the call,
so that equal calls have equal numbers, and no part of the prompts, so that their digests do not change.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from typing import NamedTuple
from urllib.parse import quote, urlsplit

import msgspec

from ragauge.errors import UsageError
from ragauge.host import LOG
from ragauge.judges.llm.messages import BY_TOKENS, CallFailed, Completion, Prompt, Transport
from ragauge.judges.llm.pricing import is_reasoning_model
from ragauge.judges.llm.providers import LLMOptions, Protocol, Provider
from ragauge.judges.llm.transport import clouds, protocols, scheduler
from ragauge.judges.llm.transport import session as http
from ragauge.judges.llm.transport.protocols import ServerFeatures, downgraded, initial_features
from ragauge.redaction import SECRETS
from ragauge.types import Failure
from ragauge.version import VERSION


class WireProtocol(NamedTuple):
    """How a server is asked, at which path below its base URL, and how its replies are read."""

    path: str
    body: Callable[[Prompt, str, LLMOptions, ServerFeatures], bytes]
    read: Callable[[bytes], Completion | http.Fault]


PROTOCOLS: dict[Protocol, WireProtocol] = {
    "chat": WireProtocol(protocols.CHAT_PATH, protocols.chat_body, protocols.read_chat),
    "anthropic": WireProtocol("/messages", protocols.anthropic_body, protocols.read_anthropic),
    "bedrock": WireProtocol("/model/{model}/converse", clouds.bedrock_body, clouds.read_bedrock),
    "vertex": WireProtocol("/publishers/google/models/{model}:generateContent", clouds.vertex_body, clouds.read_vertex),
    "cohere": WireProtocol("/chat", clouds.cohere_body, clouds.read_cohere),
}


#: The field of a call's number, in its document and in its reply.
_NUMBER_FIELD = "call"
_LOWEST_NUMBER = 100_000
_NUMBER_COUNT = 900_000
_NUMBER = re.compile(rf'"{_NUMBER_FIELD}"\s*:\s*"?(\d{{6}})(?!\d)')


def _numbered(prompt: Prompt) -> tuple[Prompt, int]:
    """A prompt with its number, in its document and its schema; as it is, with 0, where it has no document."""
    document, schema = prompt.user, prompt.schema
    if not (document.startswith("{") and document.endswith("}")) or "properties" not in schema:
        return prompt, 0
    content = msgspec.json.encode((prompt.system, document, prompt.turns))
    number = _LOWEST_NUMBER + int.from_bytes(blake2b(content, digest_size=8).digest()) % _NUMBER_COUNT
    comma = "," if document != "{}" else ""
    user = f'{document[:-1]}{comma}"{_NUMBER_FIELD}":{number}}}'
    properties = {_NUMBER_FIELD: {"type": "integer"}, **schema["properties"]}
    schema = {**schema, "properties": properties, "required": [_NUMBER_FIELD, *schema.get("required", ())]}
    return msgspec.structs.replace(prompt, user=user, schema=schema), number


#: The options of a call that can change its reply.
_IDENTITY_OPTIONS = ("max_tokens", "reasoning_effort", "seed", "structured", "temperature")


class HttpTransport(Transport):
    """Carries prompts to a model over HTTP: a call is sent, scheduled and exchanged.

    `send` has the scheduler make attempts at a call, each in its turn, until one has a reply or none can; an attempt is
    `_exchanged` for a reply, over the session and in the provider's protocol.

    name: "provider/model". settings: what else can change a reply, such as sampling options and a server other than the
    provider's own. retries: how often calls were tried again since it was opened, by reason.
    """

    def __init__(
        self,
        provider: Provider,
        model: str,
        options: LLMOptions,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._provider, self._model, self._options, self._environment = provider, model, options, environment
        self._protocol = PROTOCOLS[provider.protocol]
        self._path = self._protocol.path.format(model=quote(model, safe=""))
        self.name, self.max_concurrency = f"{provider.name}/{model}", provider.max_concurrency
        self._features = initial_features(provider, model, options)
        self._own = provider.own_url(environment)
        self._base = options.base_url or provider.base_url_from(environment)
        base = self._base or ""
        through = f" through the proxy of {urlsplit(base).scheme.upper()}_PROXY" if http.proxy_of(base) else ""
        self._server = f"{self.name} at {urlsplit(base).netloc}{through}"
        values = protocols.given(
            base_url=self._base if self._base != self._own else None,
            logprobs="true" if options.logprobs else None,
            **{name: getattr(options, name) for name in _IDENTITY_OPTIONS},
        )
        self.settings = tuple((name, f"{value}") for name, value in values.items())
        slow = provider.local or is_reasoning_model(model) or options.reasoning_effort is not None
        self._numbers: set[int] = set()
        self._n_spoiled = 0
        self._scheduler = scheduler.RetryScheduler(
            scheduler.ConcurrencyLimiter(options.concurrency, provider.max_concurrency),
            scheduler.RateLimiter(options.rpm, options.tpm),
            scheduler.Latencies(options.timeout, options.timeout if slow else scheduler.FIRST_TIMEOUT),
            self._server,
        )
        self.retries = self._scheduler.retries
        self._key = self._warning = ""
        self._session: http.Session | None = None
        self._sign: clouds.Signer | None = None

    def share_tempo(self, processes: int) -> None:
        """Keep to the share of one process in the requests and tokens per minute."""
        rpm, tpm = self._options.rpm, self._options.tpm
        self._scheduler.rate = scheduler.RateLimiter(rpm and rpm / processes, tpm and tpm / processes)

    def notes(self) -> list[str]:
        """Warnings, and how often and why calls were tried again since the transport was opened."""
        notes = [self._warning] if self._warning else []
        if self._options.logprobs:
            notes.append(f"{self.name}: {BY_TOKENS}")
        if self.retries:
            by_count = sorted(self.retries.items(), key=lambda item: (-item[1], item[0]))
            counts = ", ".join(f"{reason} {count}" for reason, count in by_count)
            times = "once" if self.retries.total() == 1 else f"{self.retries.total()} times"
            notes.append(f"{self.name}: calls were tried again {times}: {counts}")
        n_spoiled = self._session.n_spoiled if self._session else self._n_spoiled
        if n_spoiled:
            notes.append(f"{self.name}: replies that nobody asked for were discarded on {n_spoiled} connections")
        if (longest := self._scheduler.longest_wait) > scheduler.QUIET_WAIT:
            notes.append(f"{self._server}: calls waited up to {longest:.0f} s for their turn")
        return notes

    async def __aenter__(self) -> HttpTransport:
        """Open the session; with log-probabilities, by a call of a few tokens that shows whether the server gives them.

        Raises UsageError where it gives none, or where the key or the address is missing.
        """
        self._key = self._provider.key(self._environment)
        SECRETS.add(self._key)
        base_url, query = self._address()
        if not self._key:
            self._sign = await clouds.signer(self._provider, self.name, self._environment)
        encrypted = urlsplit(base_url).scheme != "http" or http.is_local(base_url)
        if (self._key or self._sign) and not encrypted and not self._warning:
            self._warning = f"{self._server}: the key is sent unencrypted over http; use an https address"
            LOG.warning(self._warning)
        self._session = http.Session(self._server, base_url, query, self._headers(), self._options.max_reply_bytes)
        self._scheduler.restart()
        if self._options.logprobs:
            try:
                await self.require_logprobs(self._server)
            except BaseException:  # also where the run ends meanwhile
                await self.__aexit__()
                raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Close the session."""
        session, self._session = self._session, None
        if session is not None:
            self._n_spoiled = session.n_spoiled
            await session.close()

    def _address(self) -> tuple[str, str]:
        """The base URL and query of all requests. Raises UsageError where the address or the key is missing."""
        provider, base = self._provider, self._base
        if base is None:
            raise UsageError(f"{self.name}: set {provider.url_settings}")
        elsewhere = provider.base_url is not None and base != self._own
        if not (self._key or provider.local or provider.has_vendor_login or elsewhere):
            raise UsageError(f"{self.name}: set {provider.key_variables[0]} to your key of {provider.name}")
        version = self._environment.get("OPENAI_API_VERSION", "")
        if provider.name != "azure" or not version:
            return base, ""
        deployment = f"{base.removesuffix('/v1')}/deployments/{quote(self._model, safe='')}"
        return deployment, f"?api-version={quote(version)}"

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

    async def send(self, prompt: Prompt) -> Completion:
        """The reply to a prompt; a field that the server does not support is no longer sent. Raises CallFailed."""
        tokens, errors = (len(prompt.system) + len(prompt.user)) // 4, Counter[str]()
        result = await self._scheduler.scheduled(partial(self._exchanged, prompt), tokens, errors)
        if isinstance(result, http.Fault):
            raise self.failed(result)
        if result.usage is not None and self._options.tpm:
            self._scheduler.rate.correct(tokens, result.usage.prompt + result.usage.completion)
        return msgspec.structs.replace(result, abandoned=errors["timeout"]) if errors["timeout"] else result

    @property
    def session(self) -> http.Session:
        """The open session, for requests other than calls. Raises UsageError where it is not open."""
        if self._session is None:
            raise UsageError(f"{self.name} is not open; use it as in: async with transport: ...")
        return self._session

    def stop(self, failure: Failure) -> None:
        """Let calls that are not sent yet fail with this failure, until the transport is reopened."""
        self._scheduler.stop(failure)

    def failed(self, fault: http.Fault | http.Reply) -> CallFailed:
        """The exception to raise for an error reply; after a fatal one all further calls fail at once."""
        fault = http.read_fault(fault.status, fault.body) if isinstance(fault, http.Reply) else fault
        failed = http.call_failed(fault, self._server, self._provider.key_variables[0])
        if failed.fatal:
            self._scheduler.stop(failed.failure)
        return failed

    async def _exchanged(self, prompt: Prompt) -> Completion | http.Fault:
        """A prompt for a reply, with fewer features each time that the server refuses one. Raises ReplyError."""
        session = self.session
        numbered, number = _numbered(prompt)
        self._numbers.add(number)
        while True:
            features = self._features
            body = self._protocol.body(numbered, self._model, self._options, features)
            signed = None
            if self._sign:
                signed = await self._sign("POST", str(session.url(self._path)), body)
                SECRETS.add(signed.get("Authorization", "").removeprefix("Bearer "))
            reply = await session.exchange("POST", self._path, body, signed)
            read = self._protocol.read if reply.status == 200 else partial(http.read_fault, reply.status)
            large = len(reply.body) > http.LARGE_REPLY_BYTES  # a large one is read off the event loop
            try:
                result = await asyncio.to_thread(read, reply.body) if large else read(reply.body)
            except http.ReplyError as error:
                kind = reply.headers.get("Content-Type", "").partition(";")[0]
                if kind in http.OTHER_CONTENT and not self._scheduler.replied:
                    detail = f"{self._server}: the server sent {kind}, {http.plain(reply.body)[:100]!r}"
                    raise self._scheduler.end(http.ReplyError("no_such_server", detail), "; check base_url") from error
                raise http.ReplyError(error.reason, f"{self._server}: {error.detail}") from error
            if not isinstance(result, http.Fault):
                written = set(map(int, _NUMBER.findall(result.text))) if number else set()
                if number not in written and not written.isdisjoint(self._numbers):  # a model may leave its number out
                    session.distrust()
                    raise http.ReplyError("misplaced", f"{self._server}: the reply is to another call")
                return result
            fewer = downgraded(features, result)
            if fewer is None and http.is_transient(result):
                wait = scheduler.retry_after(reply.headers, reply.body, datetime.now(UTC))
                detail = f"{self._server}: HTTP {result.status}, {result.message}"
                raise http.ReplyError(
                    http.reason_of(result), detail, wait, throttled=result.status in http.THROTTLED_STATUSES
                )
            if fewer is None:
                return result
            if self._features == features:
                self._features = fewer
