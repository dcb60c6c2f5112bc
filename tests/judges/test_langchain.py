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
from ragauge.judges.llm.adapters import is_langchain
from ragauge.judges.llm.judge import llm

ROWS = [{"query": "When?", "response": "At nine.", "contexts": ["The ferry leaves at nine."]}]
Messages = list[dict[str, str]]


def reply_to(messages: Messages) -> str:
    """A good reply."""
    return perfect_reply([(message["role"], message["content"]) for message in messages])


class Blocking:
    """A model with only a blocking method. reply: makes a reply of a text."""

    def __init__(self, reply: Any = str, **settings: Any) -> None:
        self._reply = reply
        vars(self).update(settings)

    def invoke(self, messages: Messages) -> Any:
        """The reply."""
        return self._reply(reply_to(messages))


class Awaited(Blocking):
    """A model that has both ways; only the other is used."""

    def invoke(self, messages: Messages) -> Any:
        """Not used."""
        raise AssertionError("a model that can be awaited is not to be blocked on")

    async def ainvoke(self, messages: Messages) -> Any:
        """The reply."""
        return self._reply(reply_to(messages))


@pytest.mark.parametrize("kind", [Blocking, Awaited])
@pytest.mark.parametrize(
    "reply",
    [
        str,
        lambda text: SimpleNamespace(content=text),
        lambda text: SimpleNamespace(content=[text[:9], {"type": "reasoning"}, {"type": "text", "text": text[9:]}]),
    ],
    ids=["text", "message", "blocks"],
)
def test_a_model_is_a_judge_as_it_is(kind: type[Blocking], reply: Any) -> None:
    """A model judges, awaited or not, whether it replies with a text, a message, or a message in blocks."""
    run = rg.evaluate(ROWS, "faithfulness", kind(reply))
    assert run.estimates["faithfulness"].n == 1
    assert run.scores[0]["faithfulness"].evidence


def test_settings_are_in_the_identity() -> None:
    """Models that differ in a setting are different judges, so that no store mixes them up."""
    cold, warm = (rg.load_judge(Awaited(model_name="chatty", temperature=at)) for at in (0.0, 0.7))
    assert str(cold.identity) != str(warm.identity)
    assert "langchain/Awaited(model_name=chatty, temperature=0.0)" in str(cold.identity)
    assert cold.identity == rg.load_judge(Awaited(model_name="chatty", temperature=0.0)).identity


COUNTED = {"input_tokens": 900, "output_tokens": 40, "total_tokens": 940, "input_token_details": {"cache_read": 100}}


def chat_openai(**settings: Any) -> Any:
    """A model of the class that langchain_openai has, whose replies know their tokens."""
    chat = type("ChatOpenAI", (Awaited,), {"__module__": "langchain_openai.chat_models.base"})
    return chat(lambda text: SimpleNamespace(content=text, usage_metadata=COUNTED), **settings)


def test_a_wrapped_model_is_still_known() -> None:
    """Behind several wrappers, as of .bind() and .with_retry(), the model keeps its name; what is bound counts."""

    def wrapped(model: Any, **bound: Any) -> Any:
        return Awaited(bound=model, kwargs=bound)

    plain = chat_openai(model_name="gpt-4o-mini", temperature=0)
    judge = llm(wrapped(wrapped(plain, temperature=1)))
    assert str(judge.identity).startswith("langchain/ChatOpenAI(model_name=gpt-4o-mini, temperature=1)")
    run = rg.evaluate(ROWS, "faithfulness", chat_openai(bound=plain, kwargs={"model": "gpt-4o"}))
    assert run.record.spent.cost == pytest.approx((1600 * 2.5 + 200 * 1.25 + 80 * 10) / 1e6)


def test_tokens_are_counted_and_paid_for() -> None:
    """What a message says of its tokens is in the run, at the price of the model, and a limit holds."""
    run = rg.evaluate(ROWS, "faithfulness", chat_openai(model_name="gpt-4o-mini"), max_cost=1)
    spent = run.record.spent
    assert (spent.calls, spent.prompt_tokens, spent.cached_tokens, spent.completion_tokens) == (2, 1800, 200, 80)
    assert spent.cost == pytest.approx((1600 * 0.15 + 200 * 0.075 + 80 * 0.6) / 1e6)
    with pytest.raises(rg.errors.RunFailed, match="below the expected cost of one sample"):
        rg.evaluate(ROWS, "faithfulness", chat_openai(model_name="gpt-4o-mini"), max_cost=1e-6)


@pytest.mark.parametrize(
    "settings",
    [{"model_name": "my-own"}, {"model_name": "gpt-4o-mini", "openai_api_base": "http://127.0.0.1:1/v1"}, {}],
)
def test_a_model_whose_price_is_not_known_takes_no_limit(settings: dict[str, Any]) -> None:
    """A model that is in no table, or on a server of one's own, costs unknown, and cannot be held to a limit."""
    assert rg.evaluate(ROWS, "faithfulness", chat_openai(**settings)).record.spent.unpriced == 2
    with pytest.raises(rg.errors.BadParameter, match="a limit on the cost needs the price"):
        rg.evaluate(ROWS, "faithfulness", chat_openai(**settings), max_cost=1)


def test_messages_of_langchain_itself_know_their_tokens() -> None:
    """The tokens of an AIMessage are those that the run reports."""
    message = pytest.importorskip("langchain_core.messages").AIMessage
    run = rg.evaluate(ROWS, "faithfulness", Awaited(lambda text: message(content=text, usage_metadata=COUNTED)))
    assert run.record.spent.prompt_tokens == 1800


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
    code = "import sys, ragauge.judges.llm.judge; sys.exit(any(name.startswith('langchain') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
