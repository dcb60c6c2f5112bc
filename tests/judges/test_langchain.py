"""Chat models of LangChain as judges, by stand-ins and, where it is installed, by LangChain's own."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from tests.llm.models import perfect_reply

import ragauge as rg
from ragauge.judges.langchain import is_langchain

ROWS = [{"query": "When?", "response": "At nine.", "contexts": ["The ferry leaves at nine."]}]
Messages = list[dict[str, str]]


def reply_to(messages: Messages) -> str:
    """A good reply."""
    return perfect_reply([(message["role"], message["content"]) for message in messages])


class Blocking:
    """A model that has no other way than to be waited for. said: makes a reply of a text."""

    def __init__(self, said: Any = str, **settings: Any) -> None:
        self._said = said
        vars(self).update(settings)

    def invoke(self, messages: Messages) -> Any:
        """The reply."""
        return self._said(reply_to(messages))


class Awaited(Blocking):
    """A model that has both ways; only the other is used."""

    def invoke(self, messages: Messages) -> Any:
        """Not used."""
        raise AssertionError("a model that can be awaited is not to be blocked on")

    async def ainvoke(self, messages: Messages) -> Any:
        """The reply."""
        return self._said(reply_to(messages))


@pytest.mark.parametrize("kind", [Blocking, Awaited])
@pytest.mark.parametrize(
    "said",
    [
        str,
        lambda text: SimpleNamespace(content=text),
        lambda text: SimpleNamespace(content=[text[:9], {"type": "reasoning"}, {"type": "text", "text": text[9:]}]),
    ],
    ids=["text", "message", "blocks"],
)
def test_a_model_is_a_judge_as_it_is(kind: type[Blocking], said: Any) -> None:
    """A model judges, awaited or not, whether it replies with a text, a message, or a message in blocks."""
    run = rg.evaluate(ROWS, "faithfulness", kind(said))
    assert run.estimates["faithfulness"].n == 1
    assert run.scores[0]["faithfulness"].evidence


def test_settings_are_in_the_identity() -> None:
    """Models that differ in a setting are different judges, so that no store mixes them up."""
    cold, warm = (rg.judge_of(Awaited(model_name="chatty", temperature=at)) for at in (0.0, 0.7))
    assert str(cold.identity) != str(warm.identity)
    assert "langchain/Awaited(model_name=chatty, temperature=0.0)" in str(cold.identity)
    assert cold.identity == rg.judge_of(Awaited(model_name="chatty", temperature=0.0)).identity


def test_a_model_that_raises_is_a_failure() -> None:
    """What a model raises becomes the reason of a failed score, and is not tried again."""
    tries = []

    def refuse(text: str) -> str:
        tries.append(text)
        raise ConnectionError("no route")

    score = rg.evaluate(ROWS, "faithfulness", Blocking(refuse)).scores[0]["faithfulness"]
    assert "ConnectionError: no route" in (score.failed or "")
    assert len(tries) == 1


@pytest.mark.parametrize("thing", ["embedded", 3, None, reply_to, object()])
def test_nothing_else_is_taken_for_a_model(thing: Any) -> None:
    """What has neither `invoke` nor `ainvoke` is none."""
    assert not is_langchain(thing)


def test_langchain_itself() -> None:
    """A chat model made with LangChain takes the messages as they are sent, and judges."""
    models = pytest.importorskip("langchain_core.language_models")
    roles = {"system": "system", "human": "user", "ai": "assistant"}

    class Chat(models.SimpleChatModel):  # type: ignore[name-defined,misc]
        _llm_type = "chat"

        def _call(self, messages: Any, *_: Any, **__: Any) -> str:
            return reply_to([{"role": roles[message.type], "content": message.content} for message in messages])

    run = asyncio.run(rg.evaluate_async(ROWS, "faithfulness", Chat()))
    assert run.estimates["faithfulness"].n == 1


def test_langchain_is_not_imported() -> None:
    """A model as judge does not have LangChain loaded by us."""
    code = "import sys, ragauge.judges.langchain; sys.exit(any(name.startswith('langchain') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
