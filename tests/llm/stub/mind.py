"""Answers calls: checks, faults, limits, the oracle, and the counts of it all. Knows nothing of connections."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import ModuleType

import msgspec
from tests.llm.stub import chat, cohere, converse, generate, messages, oracle
from tests.llm.stub.asks import Ask, Refused, StubReply
from tests.llm.stub.counting import head, prompt_tokens, tokens
from tests.llm.stub.faults import Faults
from tests.llm.stub.limits import Limits
from tests.llm.stub.options import Options
from tests.llm.stub.tally import Tally
from tests.llm.stub.texts import completed, spoil
from tests.llm.stub.transmission import Reply, dressed

PROTOCOLS = {one.PATH: one for one in (chat, messages, converse, generate, cohere)}
_MODEL = re.compile(r"/models?/(.+?)(?:/converse|:generateContent)$")
_FINISHES = {"length": "length", "filter": "content_filter", "refusal": "refusal"}
_PATIENT = (429, 503, 529)
_CACHEABLE, _CACHE_STEP = 1024, 128  # prompt tokens from which caches work, and the steps of what they hold
_ENCODER = msgspec.json.Encoder()


class Mind:
    """One model behind all protocols."""

    def __init__(self, options: Options) -> None:
        self.tally = Tally()
        self._options = options
        self._faults = Faults(options.chances, options.script.split(",") if options.script else (), options.seed)
        self._limits = Limits(options.rpm, options.tpm, options.burst)
        self._without = frozenset(options.without)
        self._known: set[str] = set()

    def answer(self, protocol: ModuleType, body: bytes, headers: Mapping[str, str], path: str = "") -> Reply:
        """The reply to a request's body. path: names the model where the body does not."""
        fault, jitter = self._faults.draw(body)
        if fault:
            self.tally.faults[fault] += 1
        try:
            self._check_key(protocol, headers)
            self._check_limits(fault)
            answered = self._answered(protocol, body, fault, path)
        except Refused as refused:
            return dressed(self._refusal(protocol, refused, fault, jitter), headers.get("Host", ""))
        more = self._limits.headers(protocol is messages)
        return dressed(Reply(200, answered, more, fault, jitter), headers.get("Host", ""))

    def _check_key(self, protocol: ModuleType, headers: Mapping[str, str]) -> None:
        if protocol is messages and "anthropic-version" not in headers:
            raise Refused(400, "", "anthropic-version: header is required")
        given = headers.get("x-api-key") or headers.get("api-key") or headers.get("Authorization", "")
        if self._options.key and given.removeprefix("Bearer ") != self._options.key:
            raise Refused(401, "invalid_api_key", "Incorrect API key provided.")

    def _check_limits(self, fault: str) -> None:
        if fault[:3].isdigit():
            raise Refused(int(fault[:3]), "", f"The stub fails with {fault} as its options say.")
        if fault == "quota":
            raise Refused(429, "insufficient_quota", "You exceeded your current quota, please check your plan.")
        if fault == "blocked":
            message = "The response was filtered due to the prompt triggering the content management policy."
            raise Refused(400, "content_filter", message, "prompt")
        if self._options.room and self.tally.open > self._options.room:
            raise Refused(429, "", "Too many calls side by side.")
        if wait := self._limits.wait():
            raise Refused(429, "wait", f"Rate limit reached. Please try again in {wait:.3f}s.", f"{wait:.3f}")

    def _answered(self, protocol: ModuleType, body: bytes, fault: str, path: str) -> bytes:
        ask: Ask = protocol.read(body, self._without)
        if found := _MODEL.search(path):
            ask.model = found[1]
        if self._options.model and ask.model not in self._options.model:
            message = f"The model '{ask.model}' does not exist or you do not have access to it."
            raise Refused(404, "model_not_found", message)
        answered = self._reply(ask, fault)
        self._limits.spend(answered.prompt + answered.completion)
        self._count(ask, answered)
        return _ENCODER.encode(completed(protocol.write(ask, answered, self.tally.calls), fault))

    def _reply(self, ask: Ask, fault: str) -> StubReply:
        prompt = prompt_tokens(ask.texts)
        if self._options.window and prompt > self._options.window:
            window = f"This model's maximum context length is {self._options.window} tokens."
            message = f"{window} However, your messages resulted in {prompt} tokens. prompt is too long"
            raise Refused(400, "context_length_exceeded", message, "messages")
        text, finish = oracle.reply(ask, self._options.answers), _FINISHES.get(fault, "stop")
        text = "" if finish == "refusal" else spoil(text, fault)
        completion = tokens(text)
        if ask.limit is not None and completion > ask.limit:
            text, completion, finish = head(text, ask.limit), ask.limit, "length"
        return StubReply(text, finish, prompt, completion, self._cached(ask))

    def _cached(self, ask: Ask) -> int:
        """Tokens of the system message, where that came before and is long enough for a cache."""
        system = ask.system
        known = system in self._known
        self._known.add(system)
        held = tokens(system) if known else 0
        return held - held % _CACHE_STEP if held >= _CACHEABLE else 0

    def _count(self, ask: Ask, answered: StubReply) -> None:
        self.tally.prompt_characters += sum(map(len, ask.texts))
        self.tally.prompt_tokens += answered.prompt
        self.tally.cached_tokens += answered.cached
        self.tally.completion_tokens += answered.completion

    def _refusal(self, protocol: ModuleType, refused: Refused, fault: str, jitter: float) -> Reply:
        headers = self._limits.headers(protocol is messages)
        kind, param = refused.kind, refused.param
        if kind == "wait":
            headers["Retry-After"], kind, param = str(param), "rate_limit_exceeded", None
        elif self._options.retry_after and refused.status in _PATIENT:
            headers["Retry-After"] = self._options.retry_after
        body = protocol.error(refused.status, kind, str(refused), param)
        return Reply(refused.status, _ENCODER.encode(body), headers, fault, jitter)
