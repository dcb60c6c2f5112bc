"""Chat models of LangChain as judges. LangChain is not imported: its models are known by how they are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ragauge.judges.llm.calls import Completion, Usage, counted
from ragauge.judges.llm.judge import LLMJudge
from ragauge.judges.llm.making import llm
from ragauge.judges.llm.prices import Price, price_of

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


def _usage(said: Any) -> Usage | None:
    if not isinstance(said, dict):
        return None
    details = said.get("input_token_details")
    cached = counted(details.get("cache_read")) if isinstance(details, dict) else 0
    return Usage(counted(said.get("input_tokens")), counted(said.get("output_tokens")), cached)
