"""Lexical overlap between the response and its references. No judge is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta

from ragauge.metrics.base import metric
from ragauge.needs.base import Need
from ragauge.needs.entailment import response_and_references
from ragauge.needs.evidence import Texts
from ragauge.text import overlap

RougeType = Literal[
    "rouge1", "rouge2", "rouge3", "rouge4", "rouge5", "rouge6", "rouge7", "rouge8", "rouge9", "rougeL", "rougeLsum"
]
RougeTypes = Annotated[tuple[RougeType, ...], Meta(min_length=1)]
Order = Annotated[int, Meta(ge=1)]
WordOrder = Annotated[int, Meta(ge=0)]
Beta = Annotated[float, Meta(gt=0, le=100)]
Weights = Annotated[tuple[Annotated[float, Meta(ge=0, le=1)], ...], Meta(min_length=1)]


@metric(response_and_references, parts=lambda types: types)
def rouge(
    texts: Texts,
    *,
    types: RougeTypes = ("rouge1", "rouge2", "rougeL", "rougeLsum"),
    stemmer: bool = False,
    tokenizer: Literal["rouge", "unicode"] = "rouge",
) -> Mapping[str, float]:
    """ROUGE F-measures (Lin, 2004), equal to the rouge-score library; per type the maximum over the references.

    types: rouge1 to rouge9, rougeL, rougeLsum. stemmer: Porter. tokenizer: "rouge" knows only a-z and 0-9; "unicode"
    knows every script.
    """
    return overlap.rouge(texts.response, texts.references, types, stemmer, tokenizer)


def _texts_for_bleu(weights: tuple[float, ...]) -> Need[Texts]:
    """The texts, once the weights are known to have a positive sum."""
    if not sum(weights) > 0:
        raise ValueError("weights must add up to more than 0")
    return response_and_references


@metric(_texts_for_bleu)
def bleu(
    texts: Texts,
    *,
    weights: Weights = (0.25, 0.25, 0.25, 0.25),
    tokenizer: Literal["valor", "whitespace", "unicode"] = "valor",
    smoothing: Literal["none", "method1"] = "none",
) -> float:
    """Sentence BLEU (Papineni et al., 2002), equal to NLTK; several references clip jointly.

    weights: of the n-gram orders from 1. tokenizer: "valor", "whitespace" (Dataworkz, with method1) or "unicode".
    """
    return overlap.bleu(texts.response, texts.references, weights, tokenizer, smoothing)


@metric(response_and_references)
def chrf(texts: Texts, *, order: Order = 6, beta: Beta = 2.0, words: WordOrder = 0) -> float:
    """Character n-gram F-score (Popović, 2015) in 0..1, equal to sacreBLEU; words=2 gives chrF++."""
    return overlap.chrf(texts.response, texts.references, order, beta, words)


@metric(response_and_references)
def exact_match(texts: Texts) -> float:
    """1 if the response equals a reference after SQuAD normalisation (Rajpurkar et al., 2016), else 0."""
    return float(overlap.exact_match(texts.response, texts.references))


@metric(response_and_references)
def token_f1(texts: Texts) -> float:
    """F1 of the words shared with a reference after SQuAD normalisation; the best over the references."""
    return overlap.token_f1(texts.response, texts.references)
