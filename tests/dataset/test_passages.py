from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ragauge.datasets.retrieval import passages, sections

TEXTS = st.text(st.sampled_from("ab .!?\n。字é"), max_size=400)


@given(TEXTS, st.integers(2, 20))
def test_nothing_is_lost(text: str, words: int) -> None:
    """The passages of a text, one behind the other, are the text but for white space between them."""
    assert "".join("".join(passages(text, words)).split()) == "".join(text.split())


@given(TEXTS, st.integers(2, 20))
def test_no_passage_is_too_long_or_empty(text: str, words: int) -> None:
    """A passage has a word at least and `words` words at most."""
    assert all(1 <= len(passage.split()) <= words for passage in passages(text, words))


def test_passages_end_with_sentences() -> None:
    """Sentences are kept whole as long as they fit."""
    assert passages("One two three. Four five. Six seven eight nine.", 5) == [
        "One two three. Four five.",
        "Six seven eight nine.",
    ]


def test_a_sentence_that_is_too_long_is_cut_between_words() -> None:
    """A text without any stop is cut all the same."""
    assert [len(passage.split()) for passage in passages("word " * 250)] == [100, 100, 50]


def test_a_script_without_spaces_is_cut_too() -> None:
    """Chinese sentences are put together up to the length of a hundred words, which is a thousand characters."""
    found = passages("水从岩石中流出。" * 300)
    assert len(found) > 1
    assert all(len(passage) <= 1010 and passage.endswith("。") for passage in found)


def test_sections_of_markdown() -> None:
    """The first heading of the first level is the title; headings within code are none; blank sections fall away."""
    text = "Before.\n# Title\n\nFirst.\n## Empty\n## Second ##\nText.\n```\n# no heading\n```\n# Third\nEnd.\n"
    assert sections(text) == (
        "Title",
        [
            ("", "Before.\n"),
            ("", "\nFirst.\n"),
            ("Second", "Text.\n```\n# no heading\n```\n"),
            ("Third", "End.\n"),
        ],
    )
