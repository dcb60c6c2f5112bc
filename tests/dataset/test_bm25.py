from __future__ import annotations

from math import log1p
from pathlib import Path

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
            rarity = log1p((len(cut) - holding + 0.5) / (holding + 0.5))
            score += rarity * times * (K1 + 1) / (times + K1 * (1 - B + B * len(words) / mean))
        scores.append(score)
    return scores


@given(st.lists(TEXT, min_size=1, max_size=8), TEXT, st.integers(1, 9))
def test_scores_are_those_of_the_formula(texts: list[str], query: str, top: int) -> None:
    """The best passages and their scores are those of BM25 computed by the book; what shares no word is not found."""
    expected = _by_the_book(texts, query)
    hits = BM25.of(texts).search(query, top)
    assert len(hits) == min(top, sum(score > 0 for score in expected))
    assert [hit.score for hit in hits] == pytest.approx(sorted(expected, reverse=True)[: len(hits)], rel=1e-5)
    assert [expected[hit.position] for hit in hits] == pytest.approx([hit.score for hit in hits], rel=1e-5)


@given(st.lists(TEXT, min_size=1, max_size=8), TEXT)
def test_fewer_are_the_first_of_more(texts: list[str], query: str) -> None:
    """A smaller `top` gives the beginning of a larger one, equals included."""
    index = BM25.of(texts)
    assert index.search(query, 2) == index.search(query, 8)[:2]


def test_of_equals_the_earlier_comes_first() -> None:
    """Equal passages are found in the order of the corpus."""
    assert [hit.position for hit in BM25.of(["tea", "pot", "tea", "tea"]).search("tea", 2)] == [0, 2]


def test_words_are_compared_by_their_stems() -> None:
    """Case, inflection and the script do not hide a word."""
    index = BM25.of(["The boats were painted.", "Чай горячий.", "Nothing here."])
    assert [hit.position for hit in index.search("painting a Boat")] == [0]
    assert [hit.position for hit in index.search("ЧАЙ")] == [1]


def test_function_words_find_nothing_by_themselves() -> None:
    """ "How high is the hill?" finds hills, not every text with "is"; a query of such words alone finds those."""
    index = BM25.of(["It is the time that is known.", "A hill.", "Boats and nets."])
    assert [hit.position for hit in index.search("How high is the hill?")] == [1]
    assert [hit.position for hit in index.search("is the")] == [0]


def test_an_index_is_read_back(tmp_path: Path) -> None:
    """A kept index finds what the index found that was kept."""
    index = BM25.of(["tea pot", "чай", "moss tea", ""])
    index.save(tmp_path / "new" / "index.npz")
    again = BM25.load(tmp_path / "new" / "index.npz")
    assert again is not None
    assert len(again) == 4
    assert again.search("tea чай") == index.search("tea чай")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["index.npz"]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"not an archive"])
def test_a_damaged_index_is_none(content: bytes, tmp_path: Path) -> None:
    """A file that is no index, or half of one, is as if there were none; so is a file that is not there."""
    path = tmp_path / "index.npz"
    assert BM25.load(path) is None
    path.write_bytes(content)
    assert BM25.load(path) is None


def test_a_corpus_without_words() -> None:
    """Nothing is found where there is nothing."""
    assert BM25.of([]).search("tea") == []
    assert BM25.of(["", "?!"]).search("tea") == []
    assert BM25.of(["tea"]).search("") == []
