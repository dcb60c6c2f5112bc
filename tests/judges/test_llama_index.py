"""Models of LlamaIndex as judges, without the library: what is asked of it is stood in for."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from math import log
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import ragauge as rg
from ragauge.errors import UsageError
from ragauge.questions import Entail
from ragauge.types import Verdict


class Model:
    """A model as LlamaIndex has them. It finds one statement, which the context supports."""

    metadata = SimpleNamespace(model_name="small-1")
    temperature = 0.0

    def __init__(self) -> None:
        self.heard: list[list[Any]] = []

    async def achat(self, messages: list[Any]) -> Any:
        """A reply that answers nothing that was asked."""
        self.heard.append(messages)
        return SimpleNamespace(message=SimpleNamespace(content="no idea"))


@pytest.fixture
def _library(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one class of LlamaIndex that is needed to speak to a model."""
    module = ModuleType("llama_index.core.llms")
    module.ChatMessage = SimpleNamespace  # type: ignore[attr-defined]
    for name in ("llama_index", "llama_index.core"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "llama_index.core.llms", module)


@pytest.mark.usefixtures("_library")
def test_a_model_is_asked_in_its_own_form() -> None:
    """The messages reach the model as LlamaIndex' messages; a reply of no use is a failure that keeps it."""
    model = Model()
    row = {"query": "?", "response": "Ada wrote it.", "contexts": ["Ada."]}
    run = rg.evaluate([row], "faithfulness", model)
    assert {message.role for message in model.heard[0]} == {"system", "user"}
    assert "Ada wrote it." in json.dumps([message.content for message in model.heard[0]])
    assert run.scores[0]["faithfulness"].failed


def test_its_identity() -> None:
    """The judge is known by the class of the model, its name and its temperature."""
    assert str(rg.load_judge(Model()).identity).startswith("llama_index/Model(model=small-1, temperature=0.0)")


class Sure(Model):
    """A model that finds all entailed, at 80 %; the likeliest tokens come first. with_tokens: whether it says so."""

    logprobs = True

    def __init__(self, with_tokens: bool) -> None:
        super().__init__()
        self._with_tokens = with_tokens

    async def achat(self, messages: list[Any]) -> Any:
        """The same reply to everything."""
        text = json.dumps({"1": {"label": "entailed"}})
        pieces = re.findall(r"\w+|\W", text)
        other = SimpleNamespace(token="neutral", logprob=log(0.2))
        places = [[SimpleNamespace(token=piece, logprob=log(0.8)), other] for piece in pieces]
        message, given = SimpleNamespace(content=text), places if self._with_tokens else None
        return SimpleNamespace(message=message, logprobs=given, additional_kwargs={})


@pytest.mark.usefixtures("_library")
def test_its_log_probabilities_count() -> None:
    """A model that was given logprobs=True has probabilities, and one that then gives none is found out at once."""
    (answer,) = asyncio.run(rg.load_judge(Sure(with_tokens=True)).answer([Entail(("Ada.",), "Ada.")]))
    assert isinstance(answer, Verdict)
    assert answer.probability == pytest.approx(0.8)
    row = {"query": "?", "response": "Ada wrote it.", "contexts": ["Ada."]}
    model = Sure(with_tokens=False)
    with pytest.raises(UsageError, match="gives no log-probabilities"):
        rg.evaluate([row], "faithfulness", model)
