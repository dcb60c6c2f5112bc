from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.errors import BadData
from ragauge.readers import read

Pairs = list[tuple[str | None, str | None]]


def _pairs(path: Path) -> Pairs:
    return [(one.query, one.response) for one in read(path)]


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("question : Who?\nanswer : Ada.\nlinks : []\nstatus : DONE\n", [("Who?", "Ada.")]),
        ("\n\nQUESTION : Who\n  was it?\nAnswer :\n\nAda,\n\n* a\nLINKS : []\n", [("Who was it?", "Ada,  * a")]),
        ("question : a\nanswer : b\nquestion : c\nanswer : d", [("a", "b"), ("c", "d")]),
        ("question : a\nanswer : b\nsystemId : 7\nx\nquestion : c\nanswer :\nlinks :", [("a", "b"), ("c", "")]),
        ("question : a\nquestion : c\nanswer : d\nlinks : x", [("a", None), ("c", "d")]),
        ("question : a\nanswer : the answer : is\r\nanswer: b\nlinks : x", [("a", "the answer : is answer: b")]),
        ("\ufeffexport\nquestion : é?\n answer : ü\nlinks : x", [("é?", "ü")]),
    ],
)
def test_blocks_are_rows(tmp_path: Path, text: str, pairs: Pairs) -> None:
    """Blocks are read in any case, over lines, with blank lines, without links, and past what follows the links."""
    (tmp_path / "r.txt").write_bytes(text.encode())
    assert _pairs(tmp_path / "r.txt") == pairs


@given(st.lists(st.tuples(st.text("ab?", min_size=1), st.text("cd\n *.")), min_size=1))
def test_blocks_hold_what_was_written(tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]) -> None:
    """Any texts come back, the lines of an answer joined by spaces."""
    path = tmp_path_factory.mktemp("r") / "r.txt"
    path.write_text("".join(f"question : {one}\nanswer : {two}\nlinks : []\nprobe : x\n" for one, two in pairs))
    joined = [(one, " ".join(line.strip() for line in two.split("\n")).strip()) for one, two in pairs]
    assert _pairs(path) == joined


def test_text_without_a_block_says_how_it_is_written(tmp_path: Path) -> None:
    """A text file of another kind is refused with the form that is read."""
    (tmp_path / "r.txt").write_text("Q: who?\nA: Ada.\n")
    with pytest.raises(BadData, match=r"r\.txt: no block of lines that begin 'question :', 'answer :' and 'links :'"):
        read(tmp_path / "r.txt")
