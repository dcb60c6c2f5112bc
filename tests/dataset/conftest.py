"""What the tests of data sets share: judges and systems that are functions."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import ragauge as rg


class System:
    """A system under test that is a function of messages; it answers `reply` and notes what it was sent."""

    def __init__(self, reply: str | Callable[[dict[str, Any]], str] = "Tea is hot [1].") -> None:
        self.asked: list[list[dict[str, str]]] = []
        self._reply = reply

    def __call__(self, messages: list[dict[str, str]]) -> str:
        """A reply in the form that is asked for."""
        self.asked.append(messages)
        document = json.loads(messages[1]["content"])
        return json.dumps({"answer": self._reply if isinstance(self._reply, str) else self._reply(document)})

    @property
    def model_name(self) -> str:
        """The name under which answers are kept."""
        return "system"


@pytest.fixture
def system() -> type[System]:
    """The class of systems."""
    return System


@pytest.fixture
def judge() -> rg.judges.Judge:
    """Takes texts apart at semicolons; a text entails what it holds word for word, but for the full stop."""

    def entail(premise: str, hypothesis: str) -> bool:
        return hypothesis.strip(".!") in premise

    return rg.judge_from(
        decompose=lambda text: [piece.strip() for piece in text.split(";") if piece.strip()],
        entail=entail,
        name="words",
    )
