from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ragauge.datasets.corpus import passages, sections

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


def test_a_table_is_kept_whole_or_cut_between_rows_under_its_header() -> None:
    """Rows stay whole, even with full stops in cells, and each part of a long table begins with its header."""
    rows = [f"| No. {n} | Mr. Smith of row {n} |\n" for n in range(6)]
    table = "| a | b |\n|---|---|\n" + "".join(rows)
    assert passages(f"Before it.\n\n{table}\nAfter it.", 70)[-1].endswith("After it.")
    parts = passages(f"One two three four five.\n\n{table}", 30)
    assert parts[0] == "One two three four five."
    assert all(part.startswith("| a | b |\n|---|---|\n| No. ") for part in parts[1:])
    assert "".join(part.removeprefix("| a | b |\n|---|---|\n") + "\n" for part in parts[1:]) == "".join(rows)


def test_sections_of_markdown() -> None:
    """The first heading of level 1 is the title, further ones stand in their order; headings in code are none."""
    second = "## Second ##\nText.\n```\n# no heading\n```\n### Sub\nDeep.\n"
    text = f"Before.\n# Title\n\nFirst.\n## Empty\n{second}# Third\nEnd.\n"
    titled = [(title, body) for title, body in sections(text.splitlines(keepends=True), "file") if body.strip()]
    assert titled == [
        ("file", "Before.\n"),
        ("Title", "\nFirst.\n"),
        ("Title – Second", "Text.\n```\n# no heading\n```\n"),
        ("Title – Second – Sub", "Deep.\n"),
        ("Title – Third", "End.\n"),
    ]


def test_a_long_text_is_cut_as_it_is_read() -> None:
    """Of a text of any length no more than about a million characters are held, and nothing is lost."""
    parts = [
        body for _, body in sections(("word " * (n % 2) * 20 + "\n" for n in range(60_000)), "file", markdown=False)
    ]
    assert len(parts) > 2
    assert max(map(len, parts)) < 1_010_000
    assert sum(body.count("word") for body in parts) == 600_000
