"""Chat models of LangChain as judges. LangChain is not imported: its models are known by how they are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ragauge.judges.llm.judge import LLMJudge
from ragauge.judges.llm.making import llm

Messages = list[dict[str, str]]

#: What tells two models of LangChain apart, where they have it.
_SETTINGS = ("model_name", "model", "temperature", "max_tokens", "top_p", "seed")


def is_langchain(thing: object) -> bool:
    """Whether something is called as LangChain's models are, by `ainvoke` or `invoke`."""
    return hasattr(thing, "ainvoke") or hasattr(thing, "invoke")


def langchain_judge(model: Any) -> LLMJudge:
    """A judge that asks a model of LangChain, which does its own retries; what calls cost is not known.

    Its identity has the class of the model and those of its settings that most models have; see `_SETTINGS`.
    """
    settings = {name: value for name in _SETTINGS if (value := getattr(model, name, None)) is not None}
    told = ", ".join(f"{name}={value}" for name, value in settings.items())
    return llm(_asking(model), name=f"langchain/{type(model).__name__}({told})", retries=0)


def _asking(model: Any) -> Callable[[Messages], Any]:
    """A function from messages to the text of the reply."""

    async def wait(messages: Messages) -> str:
        return _said(await model.ainvoke(messages))

    return wait if hasattr(model, "ainvoke") else lambda messages: _said(model.invoke(messages))


def _said(reply: Any) -> str:
    """The text of a reply: of a message, whose content may be in blocks, or the reply itself."""
    content = getattr(reply, "content", reply)
    blocks = [content] if isinstance(content, str) else content
    return "".join(block if isinstance(block, str) else block.get("text", "") for block in blocks)
