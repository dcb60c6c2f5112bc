"""Is an answer right by its references? The encoder reads the two against each other, behind the query; words help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragauge.judges.embedded.encoder import Logits, Reading, log_odds
from ragauge.judges.embedded.layer import coefficients, logit, predict
from ragauge.judges.embedded.lexical import Terms, best_windows, words_of_reference
from ragauge.judges.embedded.words import words
from ragauge.questions import Correct
from ragauge.types import Label, Verdict

_BRIEF = 8  # words of an answer up to which a reference is to hold all of it


def as_answer(query: str, windows: Sequence[str], reference: str) -> tuple[Reading, ...]:
    """A reference read against an answer: as it stands, and both ways behind the query."""
    asked = tuple(f"{query} {window}".strip() for window in windows)
    expected = f"{query} {reference}".strip()
    return Reading(tuple(windows), reference), Reading(asked, expected), Reading((expected,), asked[0])


def answer_readings(question: Correct) -> list[tuple[Reading, ...]]:
    """For each reference the readings of the answer, of a long one by the windows that hold most."""
    query, response = (question.query or "").strip(), question.response
    held = (best_windows(Terms(words(reference)), response) or (response,) for reference in question.references)
    return [as_answer(query, windows, one) for windows, one in zip(held, question.references, strict=True)]


def answer_values(question: Correct, reference: str, read: Sequence[Logits]) -> Mapping[str, float]:
    """The values of a reference for the layers. read: the logits of its readings.

    A long answer says more than a reference, so that it counts less how much of it the reference holds.
    """
    stands, behind, back = (log_odds(*logits) for logits in read)
    length = len(question.response.split())
    return {
        "forth": (stands + behind) / 2,
        "back": back * min(1.0, _BRIEF / max(1, length)),
        "words": logit(words_of_reference(question, reference)),
    }


def judged_answer(values: Sequence[Mapping[str, float]]) -> Verdict:
    """The verdict by the reference that makes the answer likeliest to be right. values: of each reference."""
    layers = coefficients("correct")
    probability, nearest = max(((predict(layers["right"], one), one) for one in values), key=lambda pair: pair[0])
    if probability >= 0.5:
        return Verdict(Label.RIGHT, round(probability, 4))
    partly = predict(layers["partly"], nearest) >= 0.5
    return Verdict(Label.PARTLY if partly else Label.WRONG, round(probability, 4))
