"""LLM judges from a model's name, a client, a function, or a model of LangChain or LlamaIndex."""

from __future__ import annotations

import os
from collections.abc import Mapping
from inspect import signature
from typing import Any

from ragauge.errors import BadParameter, UnknownName
from ragauge.judges.llm.adapters import FunctionTransport, InstructorTransport, is_instructor
from ragauge.judges.llm.client import ModelClient
from ragauge.judges.llm.judge import LLMJudge, prompt_style
from ragauge.judges.llm.messages import CallTempo, Completion, ReplyToken, Transport, tokens_of, usage_of
from ragauge.judges.llm.pricing import Price, context_window, price_of
from ragauge.judges.llm.providers import LLMOptions, options_of, parse_llm_spec

#: The options of the judge itself, not of its transport.
_JUDGE_OPTIONS = frozenset(
    {"rationales", "quotes", "pack", "price", "context", "sources", "conflicts", "prompts", "examples", "shuffle"}
)
_FUNCTION_OPTIONS = frozenset({"name", "concurrency", "retries", "logprobs"})

#: Providers to which instructor and LangChain's packages give other names.
_VENDORS = {
    **dict.fromkeys(("genai", "google", "generative-ai", "google_genai"), "gemini"),
    "mistralai": "mistral",
}


def llm(model: Any, /, **options: Any) -> LLMJudge:
    """A judge that asks a language model, with as few calls as a sample's questions fit in.

        rg.llm("openai/gpt-4o-mini", temperature=0)
        rg.llm("ollama/qwen3:8b?base_url=http://host:11434/v1")
        rg.llm(instructor.from_openai(openai.AsyncOpenAI()), model="gpt-4o-mini")
        rg.llm(lambda messages: my_model(messages), name="my-model-3")

    Args:
        model: "provider/model", with options behind a question mark if wanted; or a client of the `instructor` library,
            sync or async; or a function, sync or async, from a list of messages (dicts with "role" and "content") to
            the text of the reply. Keys and base URLs come from the environment variables that the providers document.
        options: Of every judge: rationales=False leaves out the reasons; quotes=True has the deciding words quoted, as
            spans; pack="alone" asks one question a call; price=(prompt, cached, completion), or (prompt, completion),
            in dollars per million tokens; context=, tokens of the model's window, for models with a small one. Of
            models by name: api_key, instead of the environment's, and the others of docs/llm-judges.md. Of a function:
            name, concurrency, retries, and logprobs=True where it returns these. Of an instructor client: model,
            concurrency, and the arguments of its calls, such as logprobs=True.

    Raises:
        UnknownName: There is no such provider or option.
        BadParameter: A value is not what its option must be.
    """
    transport, chosen = _transport_of(model, options)
    concurrency = chosen.concurrency or min(transport.max_concurrency, CallTempo().concurrency)
    return LLMJudge(
        transport,
        price=_price_of(transport, chosen),
        style=prompt_style(chosen),
        pack=chosen.pack,
        context=chosen.context or context_window(transport.name),
        width=2 * chosen.concurrency if chosen.concurrency else 256,
        tempo=CallTempo(concurrency, chosen.rpm, chosen.tpm),
    )


def model_client(model: Any, /, **options: Any) -> ModelClient:
    """A client of a model, for prompts other than a judge's questions.

    Arguments and errors are those of `llm`; options of the judge have no effect.
    """
    transport, parsed = _transport_of(model, options)
    return ModelClient(transport, _price_of(transport, parsed))


def _transport_of(model: Any, options: dict[str, Any]) -> tuple[Transport, LLMOptions]:
    """The transport to a model, and the options."""
    if isinstance(model, str):
        from ragauge.judges.llm.transport.client import HttpTransport

        spec = parse_llm_spec(model, **{name: value for name, value in options.items() if name != "api_key"})
        api_key = options.get("api_key")
        environment = {**os.environ, spec.provider.key_variables[0]: api_key} if api_key else os.environ
        return HttpTransport(spec.provider, spec.model, spec.options, environment), spec.options
    if not is_model(model):
        raise BadParameter(f"{model!r} is not a 'provider/model', an instructor client or a function of messages")
    own = options_of({name: value for name, value in options.items() if name in {*_JUDGE_OPTIONS, "concurrency"}})
    rest = {name: value for name, value in options.items() if name not in _JUDGE_OPTIONS}
    if is_instructor(model):
        return InstructorTransport(model, **rest), own
    for name in rest.keys() - _FUNCTION_OPTIONS:
        raise UnknownName("option", name, _JUDGE_OPTIONS | _FUNCTION_OPTIONS)
    return FunctionTransport(model, **rest), own


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
    except ValueError:  # some built-in functions have no signature
        pass
    return True


def _price_of(transport: Transport, options: LLMOptions) -> Price | None:
    """The price of calls; None for a client of a server other than the provider's own."""
    if not isinstance(transport, InstructorTransport):
        return price_of(transport.name, options.price)
    vendor, _, model = transport.name.partition("/")
    elsewhere = "base_url" in dict(transport.settings)
    return None if elsewhere and not options.price else _vendor_price(vendor, model, options.price)


def _vendor_price(vendor: str, model: str, own: tuple[float, float, float] | None = None) -> Price | None:
    """The price of a model of a vendor, as another library names them."""
    return price_of(f"{_VENDORS.get(vendor, vendor)}/{model.removeprefix('models/')}", own)


Messages = list[dict[str, str]]

#: Where a model of LangChain keeps the address of a server other than the provider's own.
_ADDRESS_FIELDS = ("openai_api_base", "azure_endpoint", "base_url")

#: Settings of LangChain's models that are part of the identity, where a model has them.
_IDENTITY_FIELDS = ("model_name", "model", "temperature", "max_tokens", "top_p", "seed", "logprobs", "top_logprobs")


def is_langchain(thing: object) -> bool:
    """Whether something has the interface of LangChain's models, `ainvoke` or `invoke`."""
    return hasattr(thing, "ainvoke") or hasattr(thing, "invoke")


def langchain_judge(model: Any) -> LLMJudge:
    """A judge that asks a model of LangChain, which does its own retries.

    Its identity holds the class of the model and those settings that most models have; see `_IDENTITY_FIELDS`. The
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
    price = _vendor_price(package, name) if isinstance(name, str) and not elsewhere else None
    priced = {"price": (price.prompt, price.cached, price.completion)} if price else {}
    settings = {name: bound.get(name, getattr(plain, name, None)) for name in _IDENTITY_FIELDS}
    named, logprobs = _named("langchain", plain, settings), bool(settings["logprobs"])
    return llm(function, name=named, retries=0, logprobs=logprobs, **priced)


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


def llama_index_judge(model: Any) -> LLMJudge:
    """A judge that asks a model of LlamaIndex, which does its own retries; the price of calls is not known.

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
    return llm(ask, name=named, retries=0, logprobs=bool(logprobs))
