"""Why a score is what it is: the pieces that raise or lower it."""

from __future__ import annotations

from collections.abc import Sequence

from ragauge.report.wording import GOOD, flat, number, shortened
from ragauge.scores import Better, Evidence, Score, ScoreRecord
from ragauge.types import Label

#: How many pieces are told.
TOLD = 5

_WORDS = {
    Label.ENTAILED: "supported by",
    Label.NEUTRAL: "not supported by",
    Label.NOT_ENTAILED: "not supported by",
    Label.CONTRADICTED: "contradicted by",
    Label.YES: "yes for",
    Label.NO: "no for",
}

#: Labels that a chunk has of itself, so that it can be named.
_TELLING = (Label.ENTAILED, Label.CONTRADICTED)


def explain(score: Score, better: Better = "higher") -> str:
    """A score in words: its value with the counts behind it, and the pieces that count against the text that it judges.

        rg.explain(run.scores[0]["faithfulness"])
        '0.500 (1 of 2); not supported by contexts: “Bob sang.”'

    better: which way the metric is better, as its Estimate says; where lower is, the pieces that are counted are told.
    Up to five pieces are told, grades with their reasons. A score without a value is told by its reason, and what a
    sample adds to a metric over the data set by its counts.
    """
    if score.undefined or score.failed:
        return flat(f"undefined: {score.undefined}" if score.undefined else f"failed: {score.failed}")
    told = decisive(score, raising=better == "lower", better=better)
    more = [f"and {len(told) - TOLD} more"] if len(told) > TOLD else []
    return "; ".join([_value(score), *map(piece_words, told[:TOLD]), *more])


def decisive(score: Score, raising: bool, better: Better = "higher") -> list[Evidence]:
    """The pieces that raise a score, or else those that lower it, contradicted ones first; grades do both.

    What a claim owes to the query alone is left out: it says whether the claim counts, not how.
    """
    pieces = [piece for piece in score.evidence if not _is_presupposition(piece)]
    counted = _counted(pieces) if better == "lower" else [piece for piece in pieces if piece.label in GOOD]
    told = counted if raising else [piece for piece in pieces if piece not in counted]
    graded = [piece for piece in pieces if piece.value is not None]
    labelled = [piece for piece in told if piece.label is not None]
    return graded or sorted(labelled, key=lambda piece: piece.label is not Label.CONTRADICTED)


def piece_words(piece: Evidence) -> str:
    """One piece and what was said of it: “not supported by contexts: ...”, “no for query: ...”, or a grade and why."""
    if piece.label is None:
        reason = f": {shortened(piece.rationale)}" if piece.rationale else ""
        return f"{piece.against} {piece.value:g}{reason}"
    said = [chunk.chunk for chunk in piece.chunks if chunk.label is piece.label and piece.against == "contexts"]
    named = f"context {flat(' and '.join(said))}" if said and piece.label in _TELLING else piece.against
    reason = f" ({shortened(piece.rationale)})" if piece.rationale else ""
    said_of = f"{_WORDS[piece.label]} {named}" if named else piece.label.value
    return f"{said_of}: “{shortened(piece.text)}”{reason}"


def _value(score: Score) -> str:
    if score.value is None:
        return f"counts {', '.join(f'{count:g}' for count in score.counts)}"
    share = f" ({score.counts[0]:g} of {score.counts[1]:g})" if is_share(score) else ""
    return number(score.value) + share


def is_share(score: Score | ScoreRecord) -> bool:
    """Whether a score is so many pieces out of so many."""
    return len(score.counts) == 2 and score.counts[1] > 0 and score.value == score.counts[0] / score.counts[1]


def _is_presupposition(piece: Evidence) -> bool:
    return piece.against == "query" and piece.label not in (Label.YES, Label.NO, None)


def _counted(pieces: Sequence[Evidence]) -> list[Evidence]:
    """What a metric counts of which less is better: what is contradicted or has the trait, else what lacks support."""
    found = [piece for piece in pieces if piece.label in (Label.CONTRADICTED, Label.YES)]
    return found or [piece for piece in pieces if piece.label in (Label.NEUTRAL, Label.NOT_ENTAILED)]
