"""Models of LlamaIndex as judges, known by how they are called; LlamaIndex is imported only when one is asked."""

from __future__ import annotations

from typing import Any

from ragauge.judges.llm.judge import LLMJudge
from ragauge.judges.llm.making import llm


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
