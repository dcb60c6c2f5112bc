"""A question with its answer and context, and judges for RAG Evals' metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import ragauge as rg

if TYPE_CHECKING:
    from pydantic import BaseModel

Row = dict[str, Any]

QUESTION = "What are the benefits of exercise?"
ANSWER = "Exercise helps the heart. It makes people rich."
RESPECTS: tuple[str, ...] = ("topical_match", "completeness", "conciseness")
CONTEXT = ["Exercise helps the heart.", "It builds muscles.", "Olympia lies in Greece."]


def scripted(
    claims: Sequence[str] = ("s",),
    supports: Callable[[str, str], str] = lambda chunk, claim: "neutral",
    relevant: Callable[[str], bool] = lambda chunk: True,
    grades: Mapping[str, float] = MappingProxyType({}),
) -> rg.judges.Judge:
    """A judge of whom a test says what it answers. supports: what a chunk, or all of them, say of a claim."""
    return rg.judge_from(
        decompose=lambda text: list(claims),
        entail=supports,
        relevant=lambda query, text, reference=None: relevant(text),
        rate=lambda rubric, **texts: grades[rubric],
        name="scripted",
    )


def sensible() -> rg.judges.Judge:
    """A judge who takes sentences apart, and finds in a chunk what it literally says."""
    return rg.judge_from(
        decompose=lambda text: [f"{sentence.strip()}." for sentence in text.split(".") if sentence.strip()],
        entail=lambda premise, hypothesis: "entailed" if hypothesis in premise else "neutral",
        relevant=lambda query, text: "Greece" not in text,
        rate=lambda rubric, query, response="", chunk="": 0.25 if "Greece" in chunk else 0.75,
        name="sensible",
    )


def validated(model: type[BaseModel], data: Any, chunks: int) -> Any:
    """A model made of data about a number of chunks."""
    return model.model_validate(data, context={"context": [{"id": i, "chunk": str(i)} for i in range(chunks)]})


def score_of(result: Any) -> float:
    """The one number of a result."""
    names = ("composite_score", "overall_score", "score")
    return float(next(getattr(result, name) for name in names if hasattr(type(result), name)))
