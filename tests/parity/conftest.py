"""Fixtures of the tests of parity."""

from __future__ import annotations

from typing import Any

import pytest

import ragauge as rg

#: How many of the four sentences of each response stand in its context.
SUPPORTED = (4, 3, 2, 1, 0, 4, 3, 2, 1, 0, 4, 4)

SENTENCES = ("Ada wrote it.", "Bob drew it.", "Cleo printed it.", "Dan sold it.")


@pytest.fixture(scope="session")
def rows() -> list[dict[str, Any]]:
    """Twelve rows; the responses of all but the last make four claims each, some of which the context supports."""
    made = [
        {
            "id": f"r{n}",
            "user_input": f"Who made book {n}?",
            "response": " ".join(SENTENCES),
            "retrieved_contexts": [" ".join(SENTENCES[:supported]) or "Nothing."],
            "reference": "Ada wrote it.",
        }
        for n, supported in enumerate(SUPPORTED)
    ]
    made[-1]["response"] = ""
    return made


@pytest.fixture(scope="session")
def judge() -> rg.judges.Judge:
    """A judge that decomposes at full stops and searches the premise for the pieces."""

    def decompose(text: str) -> list[str]:
        return [f"{piece.strip()}." for piece in text.split(".") if piece.strip()]

    def entail(premise: str, hypothesis: str) -> str:
        return "entailed" if hypothesis in premise else "neutral"

    return rg.judge_from(decompose=decompose, entail=entail, relevant=lambda query, text: True, name="looker")


@pytest.fixture(scope="session")
def run(rows: list[dict[str, Any]], judge: rg.judges.Judge) -> rg.Run:
    """A run over the rows with known values."""
    return rg.evaluate(rows, "faithfulness,answer_relevance,context_recall,rouge(types=rougeL)", judge)
