"""Functions, clients of the instructor library, and models of LangChain and LlamaIndex as transports."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from importlib import import_module
from inspect import getclosurevars, iscoroutinefunction, isfunction, signature
from random import uniform
from threading import Thread
from typing import Any, Self
from urllib.parse import urlsplit, urlunsplit

import msgspec

from ragauge.errors import BadParameter
from ragauge.judges.function import Fingerprint, fingerprint
from ragauge.judges.llm.messages import (
    BY_TOKENS,
    FINISHES,
    TOP_LOGPROBS,
    CallFailed,
    Completion,
    Prompt,
    ReplyToken,
    TokenUsage,
    Transport,
    tokens_of,
    usage_of,
)
from ragauge.judges.llm.pricing import price_of
from ragauge.judges.llm.providers import PROVIDERS
from ragauge.judges.llm.transport.protocols import anthropic_usage
from ragauge.judges.llm.transport.session import call_failed, fault_of, is_transient
from ragauge.redaction import redacted
from ragauge.types import Failure

#: Concurrent calls by default.
CONCURRENCY = 8


#: Seconds before a function that raised is called again.
PAUSE_SECONDS = 0.5


class _TransientFailure(CallFailed):
    """A call that failed, and may succeed when it is repeated."""


class _CallerTransport(Transport):
    """Calls `function`, at most `concurrency` times concurrently.

    A blocking function runs in daemon threads. One that raises is called up to `retries` more times, after
    PAUSE_SECONDS, then twice as long, and so on; CallFailed is a failure at once, unless it is a _TransientFailure.
    logprobs: whether replies are to have log-probabilities.
    """

    def __init__(self, function: Callable[..., Any], concurrency: int, retries: int, logprobs: bool) -> None:
        if concurrency < 1 or retries < 0:
            raise BadParameter(f"concurrency={concurrency} must be 1 or more, and retries={retries} 0 or more")
        self._function = function
        self._is_async = iscoroutinefunction(function) or iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004
        self.max_concurrency, self._retries = concurrency, retries
        self._slots = asyncio.Semaphore(concurrency)
        self._stopped: Failure | None = None
        self._logprobs = logprobs
        self._notes: Sequence[str] = ()

    async def __aenter__(self) -> Self:
        self._slots = asyncio.Semaphore(self.max_concurrency)
        self._stopped = None
        if self._logprobs:
            await self.require_logprobs(self.name)
        return self

    def notes(self) -> Sequence[str]:
        """The source of probabilities; whether a function needs a name for its answers to be reused."""
        return [*self._notes, *([f"{self.name}: {BY_TOKENS}"] if self._logprobs else [])]

    async def __aexit__(self, *exc: object) -> None:
        """Nothing is open."""

    def stop(self, failure: Failure) -> None:
        """Let calls that are not made yet fail with this failure, until the transport is reopened."""
        self._stopped = failure

    async def _called(self, *args: Any, **options: Any) -> Any:
        """The function's result. Raises its last exception."""
        for attempt in range(self._retries):
            try:
                return await self._call_once(*args, **options)
            except Exception as error:
                if isinstance(error, CallFailed) and not isinstance(error, _TransientFailure):
                    raise
                await asyncio.sleep(PAUSE_SECONDS * 2**attempt * uniform(0.5, 1.5))
        return await self._call_once(*args, **options)

    async def _call_once(self, *args: Any, **options: Any) -> Any:
        try:
            await self._slots.acquire()
        except asyncio.CancelledError:
            raise asyncio.CancelledError(CallFailed.NOT_SENT) from None
        try:
            if self._stopped is not None:
                raise CallFailed(self._stopped, fatal=True, sent=False)
            if self._is_async:
                return await self._function(*args, **options)
            done: Future[Any] = Future()
            call = partial(self._function, *args, **options)
            Thread(target=_run, args=(done, call), name="ragauge-judge", daemon=True).start()
            reply = await asyncio.wrap_future(done)
            return await reply if isinstance(reply, Awaitable) else reply
        finally:
            self._slots.release()


def _run(done: Future[Any], call: Callable[[], Any]) -> None:
    """Make a call in this thread, unless it was cancelled."""
    if not done.set_running_or_notify_cancel():
        return
    try:
        done.set_result(call())
    except BaseException as error:
        done.set_exception(error)


class FunctionTransport(_CallerTransport):
    """Carries prompts to a function, sync or async, that takes a list of messages and returns the text of the reply.

    Messages are dicts with "role" ("system", "user", "assistant") and "content". A function that knows how many tokens
    a call took, or with logprobs=True their log-probabilities, returns a Completion. A sync function may block: it runs
    in threads, up to `concurrency` at once. An exception is retried `retries` times, then it is the failure
    "judge_error"; a function that knows what went wrong raises ragauge.judges.llm.messages.CallFailed.

    name: of the model, for the identity in a store; else the function's `model_name`. Where there is neither, the
    identity is the function's `__name__` and a fingerprint of its code, as with `judge_from`.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        concurrency: int = CONCURRENCY,
        retries: int = 2,
        logprobs: bool = False,
    ) -> None:
        super().__init__(function, concurrency, retries, logprobs)
        name = name or getattr(function, "model_name", None)
        self.name = str(name or getattr(function, "__name__", type(function).__name__))
        code = Fingerprint((), ()) if name else fingerprint({"function": function})
        self.settings = (*code.settings, *((("logprobs", "true"),) if logprobs else ()))
        self._notes = code.notes

    async def send(self, prompt: Prompt) -> Completion:
        """The function's reply. Raises CallFailed."""
        try:
            reply = await self._called(prompt.messages)
        except CallFailed:
            raise
        except Exception as error:
            detail = f"{self.name}() raised {type(error).__name__}: {error}"
            raise CallFailed(Failure("judge_error", detail)) from error
        if isinstance(reply, Completion):
            return reply
        if not isinstance(reply, str):
            detail = f"{self.name}() must return the text of the reply, not {redacted(repr(reply)):.200}"
            raise CallFailed(Failure("judge_error", detail))
        return Completion(reply)


#: How often a call is tried again after a transient error, in addition to the client's own retries.
RETRIES = 4

#: Arguments of a client that change no answer, or that may hold a key.
_NOT_IN_IDENTITY = frozenset({"model", "max_retries", "timeout", "api_key", "extra_headers"})


def is_instructor(client: object) -> bool:
    """Whether an object is a client of instructor; loads nothing."""
    instructor = sys.modules.get("instructor")
    return instructor is not None and isinstance(client, instructor.Instructor)


#: Providers to which instructor and LangChain's packages give other names.
_VENDORS = {
    **dict.fromkeys(("genai", "google", "generative-ai", "google_genai"), "gemini"),
    "mistralai": "mistral",
}


def _priced_as(vendor: str, model: str) -> str:
    """A model of a vendor, as another library names them, in the price table."""
    return f"{_VENDORS.get(vendor, vendor)}/{model.removeprefix('models/')}"


class InstructorTransport(_CallerTransport):
    """Carries prompts through an `instructor` client, sync or async, in the mode it was made for.

    model: where the client was made without one. options: arguments of the client's call, such as temperature=0.
    With logprobs=True replies must have log-probabilities, which servers give in modes without tools.
    The schema of the reply is instructor's response model; the judge checks replies and asks again, so that
    instructor's own retries are off. Rate limits and errors of the server are waited out as for functions. A sync
    client runs in threads, up to `concurrency` side by side. The address of a server that is not the provider's own is
    in the settings.

    Raises BadParameter where neither the client nor `model` names a model.
    """

    def __init__(
        self, client: Any, *, model: str | None = None, concurrency: int = CONCURRENCY, **options: str | float | bool
    ) -> None:
        logprobs = bool(options.get("logprobs", client.kwargs.get("logprobs")))
        super().__init__(client.create_with_completion, concurrency, RETRIES, logprobs)
        model = model or client.kwargs.get("model") or _model_of(client)
        if model is None:
            raise BadParameter("this instructor client names no model; give one: rg.llm(client, model='gpt-4o-mini')")
        self._client = client
        alternatives = {"top_logprobs": TOP_LOGPROBS} if logprobs and "top_logprobs" not in client.kwargs else {}
        self._options = {**alternatives, **options, "model": model}
        self.name = f"{client.provider.value}/{model}"
        self.settings = _settings(client, options)
        self.priced_as = "another server" if _foreign_address(client) else _priced_as(client.provider.value, str(model))

    async def send(self, prompt: Prompt) -> Completion:
        """The reply, whether or not instructor finds it valid. Raises CallFailed."""
        model = _response_model(prompt.schema)
        asked = {"messages": prompt.messages, "response_model": model, "max_retries": 0, **self._options}
        reply: Completion = await self._called(**asked)
        return reply

    async def _call_once(self, *args: Any, **options: Any) -> Completion:
        try:
            return _completion(*await super()._call_once(*args, **options))
        except CallFailed:  # stopped
            raise
        except Exception as error:
            return _rejected(error)


def _model_of(client: Any) -> str | None:
    """The model that `instructor.from_provider` was given, which since 1.17 only its calling function knows."""
    function = getattr(client, "create_fn", None)
    variables = getclosurevars(function).nonlocals if isfunction(function) else {}
    return variables.get("default_model")


def _foreign_address(client: Any) -> str | None:
    """The address of a client's server if it is not the provider's own, without parts that may be secret."""
    base_url = getattr(getattr(client, "client", None), "base_url", None)
    if base_url is None:
        return None
    provider = PROVIDERS.get(client.provider.value)
    used, own = urlsplit(str(base_url)), urlsplit(provider.base_url or "" if provider else "")
    if used.hostname == own.hostname and used.port == own.port:
        return None
    return urlunsplit((used.scheme, used.netloc.rpartition("@")[2], used.path.rstrip("/"), "", ""))


def _settings(client: Any, options: dict[str, str | float | bool]) -> tuple[tuple[str, str], ...]:
    listed = {name: value for name, value in {**client.kwargs, **options}.items() if name not in _NOT_IN_IDENTITY}
    base_url = _foreign_address(client)
    return (
        *((("base_url", base_url),) if base_url else ()),
        ("via", f"instructor:{client.mode.value}"),
        *((name, msgspec.json.encode(value, enc_hook=repr).decode()) for name, value in sorted(listed.items())),
    )


def _response_model(schema: dict[str, Any]) -> type:
    """A response model with `schema` that accepts any object: the judge checks replies."""
    shown = {"title": "Answers", **schema}
    members = {
        "__module__": __name__,
        "model_config": {"extra": "allow"},
        "model_json_schema": classmethod(lambda *_args, **_kwargs: dict(shown)),
    }
    return type("Answers", (import_module("pydantic").BaseModel,), members)


def _rejected(error: Exception) -> Completion:
    """The reply that instructor rejected. Raises CallFailed if there was no reply."""
    raw = getattr(error, "last_completion", None)
    if raw is not None:
        return _completion(None, raw)
    cause = error.__cause__ or error
    if isinstance(cause, AssertionError):  # instructor's way of reporting a refusal
        return Completion(str(cause), "refusal")
    status, message = getattr(cause, "status_code", None), f"{type(cause).__name__}: {redacted(str(cause)):.500}"
    if not isinstance(status, int):
        raise CallFailed(Failure("judge_error", f"the instructor client raised {message}")) from error
    fault = fault_of(status, getattr(cause, "body", None) or message)
    failed = call_failed(fault, "the instructor client's server", "the key of the client")
    raise (_TransientFailure(failed.failure, fatal=failed.fatal) if is_transient(fault) else failed) from error


def _completion(parsed: Any, raw: Any) -> Completion:
    """The reply of a client, as it was written or, where that form is not known, as instructor parsed it."""
    text = _text(raw) or (parsed.model_dump_json() if parsed is not None else "")
    choice = next(iter(getattr(raw, "choices", None) or ()), None)
    finish = getattr(choice, "finish_reason", None) or getattr(raw, "stop_reason", None)
    tokens = tokens_of(getattr(choice, "logprobs", None))
    return Completion(text, FINISHES.get(finish or "", "stop"), _usage(raw), getattr(raw, "model", None) or "", tokens)


def _text(raw: Any) -> str:
    """The text of a reply in the form of OpenAI or of Anthropic: the arguments of its tool, or its content."""
    for choice in getattr(raw, "choices", None) or ():
        for tool in choice.message.tool_calls or ():
            return str(tool.function.arguments)
        return choice.message.content or ""
    for block in getattr(raw, "content", None) or ():
        if block.type == "tool_use":
            return msgspec.json.encode(block.input).decode()
        if block.type == "text":
            return str(block.text)
    return ""


def _usage(raw: Any) -> TokenUsage | None:
    """The tokens of a reply in the form of Google, OpenAI or Anthropic; None for any other form."""
    google, usage = getattr(raw, "usage_metadata", None), getattr(raw, "usage", None)
    written = "candidates_token_count thoughts_token_count"
    return (
        usage_of(google, "prompt_token_count", written, "cached_content_token_count")
        or usage_of(usage, "prompt_tokens", "completion_tokens", "prompt_tokens_details.cached_tokens")
        or anthropic_usage(usage)
    )


Messages = list[dict[str, str]]

#: Where a model of LangChain keeps the address of a server other than the provider's own.
_ADDRESS_FIELDS = ("openai_api_base", "azure_endpoint", "base_url")

#: Settings of LangChain's models that are part of the identity, where a model has them.
_IDENTITY_FIELDS = ("model_name", "model", "temperature", "max_tokens", "top_p", "seed", "logprobs", "top_logprobs")


def is_langchain(thing: object) -> bool:
    """Whether something has the interface of LangChain's models, `ainvoke` or `invoke`."""
    return hasattr(thing, "ainvoke") or hasattr(thing, "invoke")


def _of_langchain(model: Any) -> tuple[Callable[..., Any], dict[str, Any]]:
    """A function that asks a model of LangChain, and the options with which it is a judge.

    It does its own retries. Its identity holds the class of the model and those settings that most models have. The
    price is known for models from LangChain's packages for priced providers, unless the model says that its server is
    another one. A model that was given logprobs=True, or is bound to it, must give these.
    """

    async def ask(messages: Messages) -> Completion:
        return _langchain_completion(await model.ainvoke(messages))

    function = ask if hasattr(model, "ainvoke") else lambda messages: _langchain_completion(model.invoke(messages))
    plain: Any = model
    bound: dict[str, Any] = {}
    while hasattr(plain, "bound"):  # as by .bind() and .with_retry()
        plain, bound = plain.bound, {**plain.kwargs, **bound}
    package = type(plain).__module__.partition(".")[0].removeprefix("langchain_")
    name = bound.get("model") or getattr(plain, "model_name", None) or getattr(plain, "model", None)
    elsewhere = any(getattr(plain, field, None) for field in _ADDRESS_FIELDS)
    price = price_of(_priced_as(package, name)) if isinstance(name, str) and not elsewhere else None
    priced = {"price": (price.prompt, price.cached, price.completion)} if price else {}
    settings = {name: bound.get(name, getattr(plain, name, None)) for name in _IDENTITY_FIELDS}
    named = _named("langchain", plain, settings)
    return function, {"name": named, "retries": 0, "logprobs": bool(settings["logprobs"]), **priced}


def _named(library: str, model: object, settings: Mapping[str, object]) -> str:
    listed = ", ".join(f"{name}={value}" for name, value in settings.items() if value is not None)
    return f"{library}/{type(model).__name__}({listed})"


def _langchain_completion(reply: Any) -> Completion:
    """A reply: a message, whose content may be in blocks and which may know its tokens, or a text itself."""
    content = getattr(reply, "content", reply)
    blocks = [content] if isinstance(content, str) else content
    text = "".join(block if isinstance(block, str) else block.get("text", "") for block in blocks)
    report, metadata = getattr(reply, "usage_metadata", None), getattr(reply, "response_metadata", None) or {}
    usage = usage_of(report, "input_tokens", "output_tokens", "input_token_details.cache_read")
    return Completion(text, usage=usage, tokens=tokens_of(metadata.get("logprobs")))


def is_llama_index(thing: object) -> bool:
    """Whether something has the interface of LlamaIndex's models, `achat` and `metadata`."""
    return hasattr(thing, "achat") and hasattr(getattr(thing, "metadata", None), "model_name")


def _of_llama_index(model: Any) -> tuple[Callable[..., Any], dict[str, Any]]:
    """A function that asks a model of LlamaIndex, and the options with which it is a judge; its price is not known.

    Its identity holds the class of the model, its name, and its temperature where it has one. A model that was given
    logprobs=True must give these, the likeliest token first.
    """

    async def ask(messages: Messages) -> Completion:
        from llama_index.core.llms import ChatMessage

        reply = await model.achat([ChatMessage(**message) for message in messages])
        usage = usage_of(reply.additional_kwargs, "prompt_tokens", "completion_tokens")
        places = [place for place in getattr(reply, "logprobs", None) or () if place]
        tokens = tuple(
            ReplyToken(place[0].token, {choice.token: choice.logprob for choice in place}) for place in places
        )
        return Completion(reply.message.content or "", usage=usage, tokens=tokens)

    logprobs = getattr(model, "logprobs", None) or None
    settings = {"model": model.metadata.model_name, "temperature": getattr(model, "temperature", None)}
    named = _named("llama_index", model, {**settings, "logprobs": logprobs})
    return ask, {"name": named, "retries": 0, "logprobs": bool(logprobs)}


def function_of(model: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A model of LangChain or LlamaIndex as a function, with its options; any other model as it is."""
    if is_instructor(model) or isfunction(model):
        return model, options
    if is_langchain(model):
        function, own = _of_langchain(model)
    elif is_llama_index(model):
        function, own = _of_llama_index(model)
    else:
        return model, options
    return function, own | options


def is_model(thing: object) -> bool:
    """Whether something can be asked by messages: a client of instructor, a model of LangChain or LlamaIndex, or what
    may be a function from messages to text, since it takes one argument.
    """
    if isinstance(thing, type):
        return False
    if is_instructor(thing) or is_langchain(thing) or is_llama_index(thing):
        return True
    if not callable(thing):
        return False
    try:
        signature(thing).bind([])
    except TypeError:
        return False
    except ValueError:  # some built-in functions have no signature
        pass
    return True
