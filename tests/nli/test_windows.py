from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ragauge.judges.nli.judge import PremiseWindows

_TOKEN = re.compile(r"\S{1,5}")


def starts(text: str) -> list[int]:
    """Tokens of up to five characters."""
    return [match.start() for match in _TOKEN.finditer(text)]


_TEXTS = st.lists(
    st.sampled_from(
        ["Rain fell.", "Wind came up over the harbour wall", "No!", "x" * 60, "\n\n", "- item", "Ünïcode 漢字。"]
    ),
    min_size=1,
    max_size=60,
).map(" ".join)


@given(_TEXTS, st.integers(8, 60))
def test_windows_cover_everything_and_fit(text: str, room: int) -> None:
    """Each window has at most as many tokens as there is room for, and every word of the text lies in one."""
    windows = PremiseWindows(starts)
    spans, texts = windows.spans(text, room), windows.of(text, "No rain fell.", room)

    assert all(len(starts(each)) <= room + 1 for each in texts)
    assert texts[: len(spans)] == [text[start:stop] for start, stop in spans]
    ends = [0, *(stop for _, stop in spans)]
    assert not any(text[end:start].strip() for end, (start, _) in zip(ends, spans, strict=False))
    assert not text[ends[-1] :].strip()


def test_neighbours_share_windows() -> None:
    """Two sentences that stand side by side lie whole in one window, wherever they stand."""
    sentences = [f"Sentence {place} is here." for place in range(60)]

    found = PremiseWindows(starts).of(" ".join(sentences), "nothing of it", 40)

    for one, other in pairwise(sentences):
        assert any(f"{one} {other}" in window for window in found)
    for one, other in pairwise(found):
        assert other.partition(". ")[0] in one


def test_what_belongs_together_is_gathered_from_afar() -> None:
    """The two sentences that share words with the hypothesis stand in one more text, in their order."""
    middle = " ".join(f"Filler number {place} says little." for place in range(80))
    text = f"Ann was born in Oslo. {middle} Oslo lies in Norway."

    found = PremiseWindows(starts).of(text, "Ann was born in Norway.", 40)

    assert any("Ann was born in Oslo." in each and "Oslo lies in Norway." in each for each in found)
    assert found[-1].index("Ann") < found[-1].index("Norway")


def test_nothing_is_gathered_that_a_window_holds() -> None:
    """Where all that shares words with the hypothesis lies in one window, there is no more text than the windows."""
    middle = " ".join(f"Filler number {place} says little." for place in range(80))

    found = PremiseWindows(starts).of(f"Ann was born in Oslo. {middle}", "Ann lives", 40)

    assert all(window in f"Ann was born in Oslo. {middle}" for window in found)
