"""LLM judges from what people have: a model's name, a client, a function, a model of LangChain or LlamaIndex."""

from __future__ import annotations

import os
from collections.abc import Callable
from inspect import signature
from typing import Any

from ragauge.errors import BadParameter, UnknownName
from ragauge.judges.llm.adapters import CONCURRENCY, FunctionTransport, InstructorTransport, is_instructor
from ragauge.judges.llm.client import ModelClient
from ragauge.judges.llm.judge import LLMJudge
from ragauge.judges.llm.messages import CallTempo, Completion, TokenUsage, Transport, counted
from ragauge.judges.llm.pricing import Price, context_window, price_of
from ragauge.judges.llm.providers import LLMOptions, Provider, options_of, parse_llm_spec, provider

#: The options that are the judge's own, not those of what carries its calls.
_JUDGE = frozenset({"rationales", "quotes", "pack", "price", "context"})
_FUNCTION = frozenset({"name", "concurrency", "retries"})

#: Providers that instructor calls otherwise.
_VENDORS = {"genai": "gemini", "google": "gemini", "generative-ai": "gemini"}


def llm(model: Any, /, **options: Any) -> LLMJudge:
    """A judge that asks a language model, with as few calls as a sample's questions fit in.

        rg.llm("openai/gpt-4o-mini", temperature=0)
        rg.llm("ollama/qwen3:8b?base_url=http://host:11434/v1")
        rg.llm(instructor.from_openai(openai.AsyncOpenAI()), model="gpt-4o-mini")
        rg.llm(lambda messages: my_model(messages), name="my-model-3")

    model: "provider/model", with options behind a question mark if wanted; or a client of the `instructor` library,
    sync or async; or a function, sync or async, from a list of messages (dicts with "role" and "content") to the text
    of the reply. Keys and base URLs come from the environment variables that the providers themselves document.

    Options of every judge: rationales=False leaves out the reasons; quotes=True has the deciding words quoted, as
    spans; pack="alone" asks one question a call; price=(prompt, cached, completion), or (prompt, completion), in
    dollars per million tokens; context=, tokens of the model's window, for models with a small one.
    Options of models by name: api_key, in place of the environment's, which a spec cannot hold; temperature,
    max_tokens, base_url, concurrency, rpm, tpm, timeout, max_reply_bytes, reasoning_effort, structured,
    seed; see
    `LLMOptions`. Of a function: name, concurrency, retries. Of an instructor client: model,
    concurrency, and whatever its calls take.

    Raises UnknownName for a provider or option that there is not, BadParameter for a value that cannot be.
    """
    return _judge(*_reached(model, options))


def model_client(model: Any, /, **options: Any) -> ModelClient:
    """A line to a model, for whoever has something else to ask of it than a judge's questions.

    model, options, errors: as for `llm`; options of judges change nothing.
    """
    transport, read = _reached(model, options)
    return ModelClient(transport, _priced(transport, read))


def _reached(model: Any, options: dict[str, Any]) -> tuple[Transport, LLMOptions]:
    """What carries calls to a model, and the options that were given."""
    if isinstance(model, str):
        return _hosted(model, **options)
    if not is_model(model):
        raise BadParameter(f"{model!r} is no 'provider/model', no instructor client, and no function of messages")
    own = options_of({name: value for name, value in options.items() if name in {*_JUDGE, "concurrency"}})
    rest = {name: value for name, value in options.items() if name not in _JUDGE}
    if is_instructor(model):
        return InstructorTransport(model, **rest), own
    for name in rest.keys() - _FUNCTION:
        raise UnknownName("option", name, _JUDGE | _FUNCTION)
    return FunctionTransport(model, **rest), own


def _hosted(model: str, *, api_key: str | None = None, **options: Any) -> tuple[Transport, LLMOptions]:
    from ragauge.judges.llm.transport.client import HttpTransport

    asked = parse_llm_spec(model, **options)
    environment = {**os.environ, asked.provider.keys[0]: api_key} if api_key else os.environ
    return HttpTransport(asked.provider, asked.model, asked.options, environment), asked.options


def is_model(thing: object) -> bool:
    """Whether something is an instructor client, or may be a function from messages to text: it takes one argument."""
    if is_instructor(thing):
        return True
    if not callable(thing) or isinstance(thing, type):
        return False
    try:
        signature(thing).bind([])
    except TypeError:
        return False
    except ValueError:  # some built-in functions do not tell
        return True
    return True


def _priced(transport: Transport, options: LLMOptions) -> Price | None:
    """What calls cost; a client of a server that is not the provider's own tells nothing of its price."""
    elsewhere = isinstance(transport, InstructorTransport) and "base_url" in dict(transport.settings)
    name = transport.name
    if isinstance(transport, InstructorTransport):
        provider, _, model = name.partition("/")
        name = f"{_VENDORS.get(provider, provider)}/{model.removeprefix('models/')}"
    return None if elsewhere and not options.price else price_of(name, options.price)


def _judge(transport: Transport, options: LLMOptions) -> LLMJudge:
    return LLMJudge(
        transport,
        price=_priced(transport, options),
        rationales=options.rationales,
        quotes=options.quotes,
        pack=options.pack,
        context=options.context or context_window(transport.name),
        width=2 * options.concurrency if options.concurrency else 256,
        tempo=_tempo(transport, options),
    )


def _tempo(transport: Transport, options: LLMOptions) -> CallTempo:
    """How fast calls follow each other; without a word on how many side by side, as many as an estimate assumes."""
    usual = CallTempo().side_by_side
    most = CONCURRENCY if isinstance(transport, FunctionTransport | InstructorTransport) else _served(transport).most
    return CallTempo(options.concurrency or min(most, usual), options.rpm, options.tpm)


def _served(transport: Transport) -> Provider:
    return provider(transport.name.partition("/")[0])


Messages = list[dict[str, str]]

#: Providers whose packages in LangChain have another name.
_PROVIDERS = {"google_genai": "gemini", "mistralai": "mistral"}

#: Where a model of LangChain keeps the address of a server that is not the provider's own.
_ADDRESSES = ("openai_api_base", "azure_endpoint", "base_url")

#: What tells two models of LangChain apart, where they have it.
_SETTINGS = ("model_name", "model", "temperature", "max_tokens", "top_p", "seed")


def is_langchain(thing: object) -> bool:
    """Whether something is called as LangChain's models are, by `ainvoke` or `invoke`."""
    return hasattr(thing, "ainvoke") or hasattr(thing, "invoke")


def langchain_judge(model: Any) -> LLMJudge:
    """A judge that asks a model of LangChain, which does its own retries; see `_price` for what its calls cost.

    Its identity has the class of the model and those of its settings that most models have; see `_SETTINGS`.
    """
    settings = {name: value for name in _SETTINGS if (value := getattr(model, name, None)) is not None}
    told = ", ".join(f"{name}={value}" for name, value in settings.items())
    price = _price(model)
    known = {"price": (price.prompt, price.cached, price.completion)} if price else {}
    return llm(_asking(model), name=f"langchain/{type(model).__name__}({told})", retries=0, **known)


def _price(model: Any) -> Price | None:
    """The price of a model from one of LangChain's packages for a provider whose prices are known; else None.

    So it is where the model's server is not the provider's own, as far as the model says.
    """
    package = type(model).__module__.partition(".")[0].removeprefix("langchain_")
    elsewhere = any(getattr(model, name, None) for name in _ADDRESSES)
    name = getattr(model, "model_name", None) or getattr(model, "model", None)
    known = isinstance(name, str) and not elsewhere
    return price_of(f"{_PROVIDERS.get(package, package)}/{str(name).removeprefix('models/')}") if known else None


def _asking(model: Any) -> Callable[[Messages], Any]:
    """A function from messages to the reply."""

    async def wait(messages: Messages) -> Completion:
        return _said(await model.ainvoke(messages))

    return wait if hasattr(model, "ainvoke") else lambda messages: _said(model.invoke(messages))


def _said(reply: Any) -> Completion:
    """A reply: a message, whose content may be in blocks and which may know its tokens, or a text itself."""
    content = getattr(reply, "content", reply)
    blocks = [content] if isinstance(content, str) else content
    text = "".join(block if isinstance(block, str) else block.get("text", "") for block in blocks)
    return Completion(text, usage=_usage(getattr(reply, "usage_metadata", None)))


def _usage(said: Any) -> TokenUsage | None:
    if not isinstance(said, dict):
        return None
    details = said.get("input_token_details")
    cached = counted(details.get("cache_read")) if isinstance(details, dict) else 0
    return TokenUsage(counted(said.get("input_tokens")), counted(said.get("output_tokens")), cached)


def is_llama_index(thing: object) -> bool:
    """Whether something is called as LlamaIndex's models are, by `achat`, and tells of itself in `metadata`."""
    return hasattr(thing, "achat") and hasattr(getattr(thing, "metadata", None), "model_name")


def llama_index_judge(model: Any) -> LLMJudge:
    """A judge that asks a model of LlamaIndex, which does its own retries; what calls cost is not known.

    Its identity has the class of the model, its name, and its temperature where it has one.
    """

    async def ask(messages: list[dict[str, str]]) -> str:
        from llama_index.core.llms import ChatMessage

        reply = await model.achat([ChatMessage(role=one["role"], content=one["content"]) for one in messages])
        return reply.message.content or ""

    settings = {"model": model.metadata.model_name, "temperature": getattr(model, "temperature", None)}
    told = ", ".join(f"{name}={value}" for name, value in settings.items() if value is not None)
    return llm(ask, name=f"llama_index/{type(model).__name__}({told})", retries=0)
