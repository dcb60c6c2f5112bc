from __future__ import annotations

from typing import Any

import pytest

from ragauge.judges.nli.judge import ModelCard, format_pair, pairs_of
from ragauge.judges.nli.models import TWO_WAY
from ragauge.questions import Entail

_PAIR = ("P {0}", "H")


@pytest.mark.parametrize(
    ("family", "text"),
    [
        ("classifier", _PAIR),
        ("hhem", "<pad> Determine if the hypothesis is true given the premise?\n\nPremise: P {0}\n\nHypothesis: H"),
        ("true", "premise: P {0} hypothesis: H"),
        ("minicheck", "P {0}</s>H"),
        ("minicheck-t5", "predict: P {0}</s>H"),
    ],
)
def test_each_family_has_its_form(family: Any, text: object) -> None:
    """A pair is written as the family's authors document it, whatever braces it holds."""
    assert format_pair(ModelCard("m", "1", family, TWO_WAY, 512, end="</s>"), _PAIR) == text


def test_chunks_are_put_together_in_order() -> None:
    """The joint premise holds all chunks that are not blank, a line apart, as ragas puts them to HHEM."""
    question = Entail(("One.", " ", "Two."), "It is so.", "How is it?")

    assert pairs_of(question)[0] == ("One.\nTwo.", "It is so.")
    assert pairs_of(question)[1:] == [("One.", "It is so."), ("", "It is so."), ("Two.", "It is so.")]


def test_fragments_are_read_with_their_query() -> None:
    """A hypothesis without a verb gets the query before it, and so does a single premise without one."""
    query = "How long did it last?"

    assert (
        pairs_of(Entail(("It lasted six days.", "More."), "Six days.", query))[0][1]
        == "How long did it last? Six days."
    )
    assert pairs_of(Entail(("Six days.",), "It lasted six days.", query))[0][0] == "How long did it last? Six days."
    assert pairs_of(Entail(("Six days.", "More."), "It lasted.", query))[0][0] == "Six days.\nMore."
    assert pairs_of(Entail(("Six days.",), "Six days."))[0] == ("Six days.", "Six days.")
