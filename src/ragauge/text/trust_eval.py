"""Trust-Eval's own view of a text: which citations it sees, what it leaves of a response, what it takes for a refusal.

Song et al., "Measuring and enhancing trustworthiness of LLMs in RAG through grounded attributions and learning to
refuse", ICLR 2025; the citations are read as in ALCE (Gao et al., "Enabling large language models to generate text with
citations", EMNLP 2023). The behaviour is that of trust_eval 0.1.5, oddities included.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragauge.text.similarity import partial_ratio
from ragauge.text.tokens import squad_normalise
from ragauge.types import Span

_CITED = re.compile(r"\[(\d+)")
_SPACED_CITATION, _CITATION = re.compile(r" \[\d+"), re.compile(r"\[\d+")

#: The beginning of the sentence by which a system was told to refuse, and how like it a response must be, in per cent.
REFUSAL = "I apologize, but I couldn't find an answer"
THRESHOLD = 85


def citations(sentence: str) -> list[int]:
    """The numbers behind an opening bracket, as written and in order: [1] and [2020], of [1, 2] only the 1."""
    return [int(found[1]) for found in _CITED.finditer(sentence)]


def citation_spans(sentence: str) -> list[Span]:
    """The characters of each citation, its closing bracket included where it follows at once."""
    ends = (found.span() for found in _CITED.finditer(sentence))
    return [(start, end + (sentence[end : end + 1] == "]")) for start, end in ends]


def bare(text: str) -> str:
    """The text without citations, without any closing bracket, and without bars that follow a space."""
    return _CITATION.sub("", _SPACED_CITATION.sub("", text)).replace(" |", "").replace("]", "")


def is_refusal(text: str) -> bool:
    """Whether some part of the text is more than 85 per cent like the refusal that the system was told to give.

    Short texts that the refusal holds ("No answer.") are refusals; an empty text is none, nor is a refusal in words of
    the system's own.
    """
    return partial_ratio(squad_normalise(REFUSAL), squad_normalise(text)) > THRESHOLD


def holds(text: str, wordings: Sequence[str]) -> bool:
    """Whether any wording is a part of the text, both normalised as in SQuAD: "art" is in "party", "the" in all."""
    plain = squad_normalise(text)
    return any(squad_normalise(wording) in plain for wording in wordings)


def listed(text: str) -> list[Span]:
    """The items of a response that is a list: what stands between its commas, blank pieces included."""
    whole = text.rstrip().rstrip(".").rstrip(",")
    spans: list[Span] = []
    start = 0
    for piece in whole.split(","):
        begin = start + len(piece) - len(piece.lstrip())
        spans.append((begin, begin + len(piece.strip())))
        start += len(piece) + 1
    return spans
