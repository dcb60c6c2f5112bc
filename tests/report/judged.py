"""Runs for the tests of documents: a judge that compares words, and rows for it."""

from __future__ import annotations

from typing import Any

import ragauge as rg

ROWS: list[dict[str, Any]] = [
    {"id": "good", "query": "What is a?", "response": "a is b. a is c.", "contexts": ["a is b.", "a is c."]},
    {
        "id": "bad",
        "query": "What is d?",
        "response": "d is e. d is f 😀. d is g.",
        "contexts": ["d is e.", "not: d is g"],
    },
    {"id": "both", "query": "What is h?", "response": "h is i.", "contexts": ["h is i.", "not: h is i"]},
    {"id": "silent", "query": "What is j?", "response": "", "contexts": ["j is k."]},
]


def entail(premise: str, hypothesis: str) -> str:
    """Entailed if the premise contains the words, contradicted if they follow "not: " in it."""
    if f"not: {hypothesis}" in premise:
        return "contradicted"
    return "entailed" if hypothesis in premise else "neutral"


def decompose(text: str) -> list[str]:
    """The sentences of a text, without full stops."""
    return [piece.strip() for piece in text.split(".") if piece.strip()]


def measured(data: Any = None, metrics: Any = "faithfulness,hallucination", **options: Any) -> rg.Run:
    """A run over the rows, or other data, judged by comparing words."""
    judge = rg.judge_from(decompose=decompose, entail=entail)
    return rg.evaluate(ROWS if data is None else data, metrics, judge, **options)
