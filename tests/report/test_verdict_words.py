"""Verdicts as terminal and Markdown reports show them."""

from __future__ import annotations

import pytest

from ragauge.report.wording import verdict_words
from ragauge.scores import Evidence
from ragauge.types import Label


@pytest.mark.parametrize(
    ("label", "probability", "words"),
    [
        (Label.ENTAILED, 0.981, "entailed 0.98"),
        (Label.CONTRADICTED, 0.43, "contradicted (support 0.43)"),
        (Label.NOT_ENTAILED, 0.0, "not entailed (support 0.00)"),
        (Label.YES, 0.7, "yes 0.70"),
        (Label.NO, 0.2, "no (yes 0.20)"),
        (Label.NEUTRAL, None, "neutral"),
    ],
)
def test_a_probability_is_named(label: Label, probability: float | None, words: str) -> None:
    """It is that of support, or of yes; next to another label it would be taken for that label's."""
    assert verdict_words(Evidence("a is b", "response", label=label, probability=probability)) == words


def test_a_grade_has_no_label() -> None:
    """A graded piece has a number and no label."""
    assert verdict_words(Evidence("text", "response", value=0.4)) == "0.4"
