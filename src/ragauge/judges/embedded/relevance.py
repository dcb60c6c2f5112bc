"""Relevance: whether a text helps to answer a query, or to produce a reference."""

from __future__ import annotations

from collections.abc import Mapping

from ragauge.judges.embedded.encoder import Encoder
from ragauge.judges.embedded.layer import chance, constants
from ragauge.judges.embedded.support import Support, entailed_logit
from ragauge.judges.embedded.windows import best_windows
from ragauge.judges.embedded.words import overlap
from ragauge.questions import Entail, Relevant
from ragauge.text.sentences import sentences
from ragauge.types import Label, Verdict


def relevance(question: Relevant, encoder: Encoder, support: Support) -> Verdict:
    """Whether a text helps to answer the query; with a reference, whether a sentence of that follows from the text."""
    query, text, reference = question.query, question.text, question.reference
    held = overlap(query, text)
    if not text.strip():
        probability = 0.0
    elif reference:
        parts = [reference[slice(*span)] for span in sentences(reference)] or [reference]
        verdicts = (support.verdict(Entail((text,), part, query)) for part in parts)
        probability = max(one.probability or 0.0 for one in verdicts)
        held = overlap(reference, text, query)
    else:
        probability = chance(constants("support")["relevant"], values(query, text, encoder))
    probability = round(probability, 4)
    return Verdict(Label.YES if probability >= 0.5 else Label.NO, probability, span=held.best)


def values(query: str, text: str, encoder: Encoder) -> Mapping[str, float]:
    """What the layer of relevance weighs: the words of the query that the text holds, and how near the meanings are."""
    windows = best_windows(text, query)
    held = overlap(query, text)
    return {
        "whole": held.whole,
        "sentence": held.sentence,
        "near": float((encoder.embed(windows) @ encoder.embed([query])[0]).max()) if windows else 0.0,
        "answers": max((entailed_logit(encoder.read(window, [query])[0]) for window in windows), default=-8.0),
    }
