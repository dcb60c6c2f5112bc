"""Gold claims in responses: as strings, and in lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.metrics.claims import ListScore, list_score
from ragauge.needs.gold import MatchedGold
from ragauge.readers import read
from ragauge.types import Chunk, Sample

if TYPE_CHECKING:
    from tests.metrics.conftest import Sampling, Scoring, Valuing


@pytest.mark.parametrize(
    ("variant", "response", "gold", "found"),
    [
        ("default", "A party began.", "art", 0.0),
        ("trust_eval", "A party began.", "art", 1.0),
        ("default", "Nothing.", "The", 0.0),
        ("trust_eval", "Nothing.", "The", 1.0),
        ("default", "It is the U.S.A. [1].", "USA", 1.0),
    ],
)
def test_strings_are_whole_words(variant: str, response: str, gold: str, found: float, value: Valuing) -> None:
    """A wording counts as whole words by default, and as any characters for Trust-Eval."""
    assert value(f"string_match(variant={variant})", response=response, answers=[[gold]], contexts=["z"]) == found


def test_lists_are_scored_both_ways(scores: Scoring, sample: Sampling) -> None:
    """Items right among items, gold claims found among gold claims, of which five are enough."""
    gold = [[f"g{i}", f"h{i}"] for i in range(10)]
    one = sample(response="g0 [1], h1, g2, g3, g4, x", answers=gold, contexts=["z"])
    got = {key.partition(".")[2]: score.value for key, score in scores(one, "list_match").items()}
    assert got == pytest.approx(ListScore(5 / 6, 1 / 2, 1.0, 5 / 8, 10 / 11)._asdict())


@pytest.mark.parametrize(
    ("style", "response"),
    [
        ("brackets", "Daei [1], Bican [2]"),
        ("parentheses", "Daei (1), Bican (2)"),
    ],
)
def test_citations_are_left_out_however_they_are_written(style: str, response: str, scores: Scoring) -> None:
    """What is looked for as strings or in a list is found despite citations of any style, and no part of an item."""
    one = Sample("1", response=response, contexts=(Chunk("z", "Smith 2020"), Chunk("z", "Lee 2019")))
    one = msgspec.structs.replace(one, answers=(("Daei",), ("Bican",)))
    listed = {key: score.value for key, score in scores(one, f"list_match(style={style})").items()}
    assert set(listed.values()) == {1.0}
    one = msgspec.structs.replace(one, answers=(("Daei Bican",),))
    (found,) = scores(one, f"string_match(style={style})").values()
    assert found.value == 1.0


@given(items=st.lists(st.sampled_from("abc"), max_size=6), gold=st.lists(st.sampled_from("abcd"), max_size=6))
def test_list_scores_are_fractions(items: list[str], gold: list[str]) -> None:
    """All five lie from 0 to 1, and all are 1 where a list is its own gold list."""
    matched = MatchedGold((), (), tuple(items), tuple((one,) for one in gold))
    assert all(0 <= part <= 1 for part in list_score(matched, matched.gold))
    assert not items or set(list_score(matched, [(one,) for one in items])) == {1.0}


def test_an_empty_response_is_an_answer_without_gold_claims(value: Valuing) -> None:
    """It counts as an answer that holds nothing, as in Trust-Eval, not as a refusal."""
    given: dict[str, Any] = {"response": "", "answers": [["k"]], "contexts": ["a"]}
    assert value("refusal", **given) == 0.0
    assert value("claim_match", **given) == 0.0
    assert value("string_match(variant=trust_eval)", **given) == 0.0


def test_a_string_is_one_claim(value: Valuing) -> None:
    """Gold answers given as a text, or as texts, are whole claims and not letters."""
    docs = [{"text": "z", "answers_found": [0]}]
    (one,) = read([{"question": "q", "output": "a", "answers": "a b", "docs": docs}])
    (two,) = read([{"question": "q", "output": "a", "answers": ["a b", "c"], "docs": docs}])
    assert (one.answers, two.answers) == ((("a b",),), (("a b",), ("c",)))
