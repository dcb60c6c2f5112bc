"""Answers to the prompts of Valor, which ask for JSON in prose alone, so that benchmarks can compare it with ragauge.

Its prompts end in sections, a title and a text or a Python list each, and "JSON:"; an example of the reply comes first.
"""

from __future__ import annotations

import ast
import re
from typing import Any

_END = "END OF EXAMPLE ======"
_KEY = re.compile(r'"(claims|statements|opinions|verdicts|TP)"')
_SECTION = re.compile(r"^([A-Z][A-Za-z ]+):\n(.*?)(?=\n\n[A-Z][A-Za-z ]+:\n|\n+JSON:)", re.MULTILINE | re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_JUDGED = ("Claims", "Statements", "Opinions", "Ground Truth Statements", "Context List")


def reply(text: str) -> dict[str, Any] | None:
    """The reply to a prompt of Valor; None for any other text."""
    before, mark, after = text.rpartition(_END)
    key = _KEY.search(before)
    if not mark or key is None:
        return None
    sections = dict(_SECTION.findall(after))
    if key[1] == "TP":
        return {"TP": ast.literal_eval(sections["Prediction Statements"]), "FP": [], "FN": []}
    if key[1] == "verdicts":
        judged = next(sections[title] for title in _JUDGED if title in sections)
        return {"verdicts": [{"analysis": "It holds.", "verdict": "yes"}] * len(ast.literal_eval(judged))}
    return {key[1]: [sentence for sentence in _SENTENCE.split(sections.get("Text", "")) if sentence]}
