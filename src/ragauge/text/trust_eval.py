"""Trust-Eval's reading of a text: its citations, the text without them, list items, matches, and refusals.

Song et al., "Measuring and enhancing trustworthiness of LLMs in RAG through grounded attributions and learning to
refuse", ICLR 2025; citations are parsed as in ALCE (Gao et al., "Enabling large language models to generate text with
citations", EMNLP 2023). The behaviour is that of trust_eval 0.1.5, quirks included.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragauge.text.similarity import partial_ratio
from ragauge.text.tokens import squad_normalise
from ragauge.types import Span

_CITED = re.compile(r"\[(\d+)\]?")
_SPACED_CITATION, _CITATION = re.compile(r" \[\d+"), re.compile(r"\[\d+")

#: The refusal that systems are instructed to give.
REFUSAL = "I apologize, but I couldn't find an answer"


def citations(sentence: str) -> list[tuple[int, Span]]:
    """The numbers after an opening bracket, in order: those of [1] and [2020]; of [1, 2] only the 1.

    Each with its characters, which end with the closing bracket if that follows directly.
    """
    return [(int(found[1]), found.span()) for found in _CITED.finditer(sentence)]


def without_citations(text: str) -> str:
    """The text without citations, closing brackets, and vertical bars after a space."""
    return _CITATION.sub("", _SPACED_CITATION.sub("", text)).replace(" |", "").replace("]", "")


def is_refusal(text: str) -> bool:
    """Whether the partial ratio of the text and the prescribed refusal exceeds 85 per cent; so "No answer." is one."""
    return partial_ratio(squad_normalise(REFUSAL), squad_normalise(text)) > 85


def contains(text: str, wordings: Sequence[str]) -> bool:
    """Whether any wording is a substring of the text, both SQuAD-normalised: "art" is in "party", "the" in any text."""
    normalised = squad_normalise(text)
    return any(squad_normalise(wording) in normalised for wording in wordings)


def list_items(text: str) -> list[Span]:
    """The items of a list response: the text split at commas, blank items included."""
    trimmed = text.rstrip().rstrip(".").rstrip(",")
    spans: list[Span] = []
    start = 0
    for piece in trimmed.split(","):
        begin = start + len(piece) - len(piece.lstrip())
        spans.append((begin, begin + len(piece.strip())))
        start += len(piece) + 1
    return spans
