"""Probabilities of verdicts from the log-probabilities of the tokens of their labels.

A reply is the text of its tokens. Where a label begins, the tokens that the model might have written instead say which
other label it would have begun; the probability is the share of "entailed", "yes" or "right" among all labels there. A
reason that stands before a label has decided much of it: without reasons (`rationales=false`) probabilities are milder.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import exp
from typing import Any

import msgspec

from ragauge.kinds.call import word
from ragauge.types import POSITIVE, Label

#: How many tokens a server is asked for at each place; more than there are labels, and as many as all servers allow.
TOP_LOGPROBS = 5

_LABEL = re.compile(r'(?<!\\)"label"\s*:\s*"([^"\\]*)"')


class ReplyToken(msgspec.Struct, frozen=True):
    """A token of a reply. alternatives: log-probabilities of the likeliest tokens in its place, and its own."""

    text: str
    alternatives: Mapping[str, float]


def label_probabilities(
    tokens: Sequence[ReplyToken], items: Mapping[str, Any], labels: Mapping[str, Mapping[str, Label]]
) -> dict[str, float]:
    """The probability of the positive label, by the key of the verdict; a verdict without one is left out.

    Args:
        tokens: of the whole reply.
        items: what the reply answers, by key, in its order.
        labels: what each key may be answered by, by the words of the reply.
    """
    text = "".join(token.text for token in tokens)
    written = [(key, word(item["label"])) for key, item in items.items() if isinstance(item, dict) and "label" in item]
    places = [(match.start(1), word(match[1])) for match in _LABEL.finditer(text)]
    if [label for _, label in written] != [label for _, label in places]:
        return {}  # the object that was read is not all of the reply
    starts = {key: place for (key, _), (place, _) in zip(written, places, strict=True) if key in labels}
    probabilities = ((key, _probability(tokens, start, labels[key])) for key, start in starts.items())
    return {key: probability for key, probability in probabilities if probability is not None}


def _probability(tokens: Sequence[ReplyToken], start: int, labels: Mapping[str, Label]) -> float | None:
    """The share of positive labels at a place of the reply; None where the tokens there begin no label."""
    end = 0
    for token in tokens:
        end += len(token.text)
        if end > start:
            break
    before = token.text[: len(token.text) - (end - start)]
    shares: defaultdict[Label, float] = defaultdict(float)
    for text, logprob in token.alternatives.items():
        if text.startswith(before) and (begun := _begun(word(text[len(before) :]), labels)):
            shares[labels[begun]] += exp(logprob)
    total = sum(shares.values())
    return min(sum(shares[label] for label in POSITIVE) / total, 1.0) if total else None


def _begun(piece: str, labels: Iterable[str]) -> str | None:
    """The label that a token begins; None where it could be several, or none."""
    fitting = [label for label in labels if piece and (label.startswith(piece) or piece.startswith(label))]
    return fitting[0] if len(fitting) == 1 else None
