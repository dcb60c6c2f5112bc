from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ragauge.judges.nli.judge import premise_windows

_TOKEN = re.compile(r"\S{1,5}")


def starts(text: str) -> list[int]:
    """Tokens of up to five characters."""
    return [match.start() for match in _TOKEN.finditer(text)]


def numbered(text: str) -> str:
    """The text with every third letter after a letter replaced by another, so that no part of a word occurs twice."""
    return re.sub(r"(?<=[^\W\d_]{2})[^\W\d_]", lambda match: chr(0x4E00 + match.start()), text)


_TEXTS = st.lists(
    st.sampled_from(
        ["Rain fell.", "Wind came up over the harbour wall", "No!", "x" * 60, "\n\n", "- item", "Ünïcode 漢字。"]
    ),
    min_size=1,
    max_size=60,
).map(lambda parts: numbered(f"Rain. {' '.join(parts)}"))


@given(_TEXTS, st.integers(8, 60))
def test_windows_cover_everything_and_fit(text: str, room: int) -> None:
    """Each window has at most as many tokens as there is room for, and every word of the text lies in one."""
    windows = premise_windows(text, starts(text), room)

    assert all(len(starts(window)) <= room + 1 for window in windows)
    position = 0
    for window in windows:
        start = text.index(window, max(0, position - len(window)))
        assert not text[position:start].strip()
        position = start + len(window)
    assert not text[position:].strip()


def test_neighbours_share_windows() -> None:
    """Two sentences that stand side by side lie whole in one window, wherever they stand."""
    sentences = [f"Sentence {place} is here." for place in range(60)]
    text = " ".join(sentences)

    windows = premise_windows(text, starts(text), 40)

    for sentence, following in pairwise(sentences):
        assert any(f"{sentence} {following}" in window for window in windows)
