"""How each of the two protocols writes asks and answers; pure.

decisions   POST /decisions of OpenAI (openai-python 3.52, `types/decision_create_params.py` and `types/decision.py`):
            an input and a list of at most 400 questions of type predicate, choice or score; a list of answers under the
            questions' names, any of which may be a refusal.
systemone   POST /systemone of TypeSafe, OpenRouter, Fireworks, vLLM, Ollama, `transformers serve` (transformers 5.23,
            `cli/serving/systemone.py`) and others: a state and a map of questions of type noul, choice or score, of
            which `transformers serve` takes at most 64; a map of answers under the questions' names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ragauge.judges.llm.decisions.asks import Ask, Said
from ragauge.text.decoding import decoded
from ragauge.types import Failure


class Dialect(msgspec.Struct, frozen=True):
    """One dialect.

    path: below the base URL. most: how many asks a request may carry. body: a request of a model, the shared evidence
    and asks by name.
    """

    name: str
    path: str
    most: int
    body: Callable[[str, str, Mapping[str, Ask]], dict[str, Any]]


REFUSED = Failure("refused", "the model declined to answer")


def _decisions_body(model: str, evidence: str, asks: Mapping[str, Ask]) -> dict[str, Any]:
    questions = [{"name": name, **_decisions_question(ask)} for name, ask in asks.items()]
    return {"model": model, "input": evidence, "questions": questions}


def _decisions_question(ask: Ask) -> dict[str, Any]:
    question: dict[str, Any] = {"type": ask.type, "instructions": ask.instructions}
    if ask.type == "choice":
        question["choices"] = [{"value": value, "description": meaning} for value, meaning in ask.options]
    elif ask.type == "score":
        question["levels"] = [{"label": value} for value, _ in ask.options]
    return question


def _systemone_body(model: str, evidence: str, asks: Mapping[str, Ask]) -> dict[str, Any]:
    return {
        "model": model,
        "state": evidence,
        "questions": {name: _systemone_question(ask) for name, ask in asks.items()},
    }


def _systemone_question(ask: Ask) -> dict[str, Any]:
    if ask.type == "predicate":
        return {"type": "noul", "instructions": ask.instructions}
    criteria = dict(ask.options) if ask.type == "choice" else [value for value, _ in ask.options]
    return {"type": ask.type, "instructions": ask.instructions, "criteria": criteria}


class _Predicate(msgspec.Struct, tag="predicate"):
    probability: float


class _Noul(msgspec.Struct, tag="noul"):
    probability: float = msgspec.field(name="noul")


class _Share(msgspec.Struct):
    value: str | bool
    probability: float


class _Choice(msgspec.Struct, tag="choice"):
    choice: str | bool
    probabilities: list[_Share] | dict[str, float] = {}

    @property
    def shares(self) -> dict[str, float]:
        if isinstance(self.probabilities, dict):
            return self.probabilities
        return {str(share.value): share.probability for share in self.probabilities}


class _Score(msgspec.Struct, tag="score"):
    score: float


class _Refusal(msgspec.Struct, tag="refusal"):
    pass


_ANSWER = msgspec.json.Decoder(_Predicate | _Noul | _Choice | _Score | _Refusal)


def said(answer: msgspec.Raw) -> Said | Failure:
    """What one answer of a reply says, in either dialect. Raises ValueError where it has another form."""
    match decoded(answer, _ANSWER):
        case _Predicate(probability=number) | _Noul(probability=number):
            return Said("predicate", number)
        case _Choice() as one:
            return Said("choice", choice=str(one.choice), shares=one.shares)
        case _Score(score=number):
            return Said("score", number)
        case _:
            return REFUSED


DIALECTS = {
    "decisions": Dialect("decisions", "/decisions", 400, _decisions_body),
    "systemone": Dialect("systemone", "/systemone", 64, _systemone_body),
}
