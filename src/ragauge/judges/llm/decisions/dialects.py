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
from ragauge.nouns.answers import Failure


class Dialect(msgspec.Struct, frozen=True):
    """One dialect.

    path: below the base URL. most: how many asks a request may carry. body: a request of a model, the shared evidence
    and asks by name. answer: what one answer of a reply says; raises msgspec.MsgspecError where it has another form.
    """

    name: str
    path: str
    most: int
    body: Callable[[str, str, Mapping[str, Ask]], dict[str, Any]]
    answer: Callable[[msgspec.Raw], Said | Failure]


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


class _Predicate(msgspec.Struct, tag="predicate"):
    probability: float


class _Share(msgspec.Struct):
    value: str | bool
    probability: float


class _Choice(msgspec.Struct, tag="choice"):
    choice: str | bool
    probabilities: list[_Share]


class _Score(msgspec.Struct, tag="score"):
    score: float


class _Refusal(msgspec.Struct, tag="refusal"):
    pass


_DECISION = msgspec.json.Decoder(_Predicate | _Choice | _Score | _Refusal)


def _decision(answer: msgspec.Raw) -> Said | Failure:
    match _DECISION.decode(answer):
        case _Predicate(probability=number):
            return Said("predicate", number)
        case _Choice(choice=choice, probabilities=shares):
            return Said("choice", choice=str(choice), shares={str(share.value): share.probability for share in shares})
        case _Score(score=number):
            return Said("score", number)
        case _:
            return REFUSED


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


class _Noul(msgspec.Struct, tag="noul"):
    noul: float


class _Picked(msgspec.Struct, tag="choice"):
    choice: str
    probabilities: dict[str, float] = {}


_JUDGMENT = msgspec.json.Decoder(_Noul | _Picked | _Score | _Refusal)


def _judgment(answer: msgspec.Raw) -> Said | Failure:
    match _JUDGMENT.decode(answer):
        case _Noul(noul=number):
            return Said("predicate", number)
        case _Picked(choice=choice, probabilities=shares):
            return Said("choice", choice=choice, shares=shares)
        case _Score(score=number):
            return Said("score", number)
        case _:
            return REFUSED


DIALECTS = {
    "decisions": Dialect("decisions", "/decisions", 400, _decisions_body, _decision),
    "systemone": Dialect("systemone", "/systemone", 64, _systemone_body, _judgment),
}
