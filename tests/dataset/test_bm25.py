from __future__ import annotations

from math import log1p

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.datasets.retrieval import BM25, K1, B

WORDS = st.sampled_from(["tea", "pot", "harbour", "light", "1931", "чай", "moss"])
TEXT = st.lists(WORDS, max_size=12).map(" ".join)


def _by_the_book(texts: list[str], query: str) -> list[float]:
    """BM25 term by term."""
    cut = [text.split() for text in texts]
    mean = sum(map(len, cut)) / len(cut) or 1.0
    scores = []
    for words in cut:
        score = 0.0
        for term in set(query.split()):
            holding, times = sum(term in other for other in cut), words.count(term)
            idf = log1p((len(cut) - holding + 0.5) / (holding + 0.5))
            score += idf * times * (K1 + 1) / (times + K1 * (1 - B + B * len(words) / mean))
        scores.append(score)
    return scores


@given(st.lists(TEXT, min_size=1, max_size=8), TEXT, st.integers(1, 9))
def test_scores_are_those_of_the_formula(texts: list[str], query: str, top: int) -> None:
    """The best passages and their scores are those of BM25 computed by the book; what shares no word is not found."""
    expected = _by_the_book(texts, query)
    hits = BM25(texts).search(query, top)
    assert len(hits) == min(top, sum(score > 0 for score in expected))
    assert [hit[1] for hit in hits] == pytest.approx(sorted(expected, reverse=True)[: len(hits)], rel=1e-5)
    assert [expected[hit[0]] for hit in hits] == pytest.approx([hit[1] for hit in hits], rel=1e-5)


@given(st.lists(TEXT, min_size=1, max_size=8), TEXT)
def test_fewer_are_the_first_of_more(texts: list[str], query: str) -> None:
    """A smaller `top` gives the beginning of a larger one, equals included."""
    index = BM25(texts)
    assert index.search(query, 2) == index.search(query, 8)[:2]


def test_of_equals_the_earlier_comes_first() -> None:
    """Equal passages are found in the order of the corpus."""
    assert [hit[0] for hit in BM25(["tea", "pot", "tea", "tea"]).search("tea", 2)] == [0, 2]


def test_words_are_compared_by_their_stems() -> None:
    """Case, inflection and the script do not hide a word."""
    index = BM25(["The boats were painted.", "Чай горячий.", "Nothing here."])
    assert [hit[0] for hit in index.search("painting a Boat")] == [0]
    assert [hit[0] for hit in index.search("ЧАЙ")] == [1]


def test_function_words_find_nothing_by_themselves() -> None:
    """ "How high is the hill?" finds hills, not every text with "is"; a query of such words alone finds those."""
    index = BM25(["It is the time that is known.", "A hill.", "Boats and nets."])
    assert [hit[0] for hit in index.search("How high is the hill?")] == [1]
    assert [hit[0] for hit in index.search("is the")] == [0]


def test_a_corpus_without_words() -> None:
    """Nothing is found where there is nothing."""
    assert BM25([]).search("tea") == []
    assert BM25(["", "?!"]).search("tea") == []
    assert BM25(["tea"]).search("") == []
