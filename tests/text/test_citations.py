"""Citation marks: what each style reads, what a number reaches, and which sentence a mark belongs to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.text.citations import Style, citations
from ragauge.text.cited import cited_items, cited_sentences, without_citations

FIVE = [""] * 5
LABELS = ["Smith, J. (2020). On bees", "Jones and Lee 2019", "Müller 2021a"]


def read(text: str, labels: list[str], style: Style = "brackets") -> list[str]:
    """Each citation as "written>chunk", counted from 1, or "written>nothing", "written>year"."""
    found = citations(text, labels, style)
    return [f"{one.written}>{one.reach if one.chunk is None else one.chunk + 1}" for one in found]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Bees hum [1].", ["1>1"]),
        ("Bees hum [1][2].", ["1>1", "2>2"]),
        ("Bees hum [1, 2].", ["1>1", "2>2"]),
        ("Bees hum [1;3].", ["1>1", "3>3"]),
        ("Bees hum [1-3].", ["1>1", "2>2", "3>3"]),
        ("Bees hum [1–2, 4].", ["1>1", "2>2", "4>4"]),
        ("Bees hum [4-9].", ["4>4", "5>5", "9>nothing"]),
        ("Bees hum [3-1].", ["3>3", "1>1"]),
        ("Bees hum [7-9].", ["9>nothing"]),
        ("Bees hum [0].", ["0>nothing"]),
        ("Bees hum [6].", ["6>nothing"]),
        ("Bees hum [^2].", ["2>2"]),
        ("Bees hum 【3†source】.", ["3>3"]),
        ("Bees hum [1](https://bees.example/7).", ["1>1"]),
        ("In [2020] bees hummed [1].", ["2020>year", "1>1"]),
        ("From [2019-2021] on.", ["2019-2021>year"]),
        ("See [doc 1], [1a], `a[1]` and (1).", []),
    ],
)
def test_brackets(text: str, found: list[str]) -> None:
    """Numbers in brackets are read one by one, with ranges written out, and years are told apart."""
    assert read(text, FIVE) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Bees hum (1).", ["1>1"]),
        ("Bees hum (1, 2) and sting (4-5).", ["1>1", "2>2", "4>4", "5>5"]),
        ("Bees hummed in (1999).", ["1999>year"]),
        ("(1) Bees hum.\n(2) Wasps sting (3).", ["3>3"]),
        ("Bees hum [1].", []),
    ],
)
def test_parentheses(text: str, found: list[str]) -> None:
    """Numbers in parentheses are read where that is the style; those that count the items of a list are not."""
    assert read(text, FIVE, "parentheses") == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Bees hum (Smith, 2020).", ["Smith 2020>1"]),
        ("Bees hum (Smith et al., 2020; Jones & Lee, 2019).", ["Smith 2020>1", "Jones 2019>2"]),
        ("Smith et al. (2020) hear bees.", ["Smith 2020>1"]),
        ("Jones and Lee (2019, p. 3) hear wasps.", ["Jones 2019>2"]),
        ("Bees hum [Müller 2021a].", ["Müller 2021>3"]),
        ("Bees hum (Brown, 1999).", ["Brown 1999>nothing"]),
        ("Bees hum (Smith, 1990).", ["Smith 1990>nothing"]),
        ("Bees hummed (2020).", ["2020>year"]),
    ],
)
def test_authors(text: str, found: list[str]) -> None:
    """A name and a year point at the first chunk whose label holds both."""
    assert read(text, LABELS, "authors") == found


def test_a_bracketed_year_is_a_citation_among_so_many_chunks() -> None:
    """Where there are more chunks than the year says, its number is one of theirs."""
    assert read("Bees hum [1200].", [""] * 1500) == ["1200>1200"]


@pytest.mark.parametrize(
    ("text", "style", "pieces"),
    [
        ("Bees hum [1]. Wasps sting. [2]", "brackets", [("Bees hum.", "1"), ("Wasps sting.", "2")]),
        ("Bees hum. [1] Wasps sting [2].", "brackets", [("Bees hum.", "1"), ("Wasps sting.", "2")]),
        ("Bees hum. (1) Wasps sting (2). (3)", "parentheses", [("Bees hum.", "1"), ("Wasps sting.", "2 3")]),
        ("[1] says bees hum.\n[2] says more.", "brackets", [("says bees hum.", "1"), ("says more.", "2")]),
        ("Bees hum.\n\n[1][2]", "brackets", [("Bees hum.", "1 2")]),
        ("- Bees [1]\n- Wasps [2]", "brackets", [("Bees", "1"), ("Wasps", "2")]),
        ("In [2020] bees hummed [1, 2].", "brackets", [("In [2020] bees hummed.", "1 2")]),
        ("Smith et al. (2020) hear bees.", "authors", [("Smith et al. (2020) hear bees.", "Smith 2020")]),
        ("Bees hum.", "brackets", [("Bees hum.", "")]),
        ("[1] [2]", "brackets", []),
        ("", "brackets", []),
    ],
)
def test_sentences_with_their_citations(text: str, style: Style, pieces: list[tuple[str, str]]) -> None:
    """A mark belongs to its sentence, also behind the full stop, and is no part of what the sentence says."""
    found = cited_sentences(text, LABELS if style == "authors" else FIVE, style)
    assert [(one.text, " ".join(cited.written for cited in one.citations)) for one in found] == pieces


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Jaws [1], Alien [2, 3]; Heat.", [("Jaws", "1"), ("Alien", "2 3"), ("Heat", "")]),
        ("- Jaws [1]\n- X-Men", [("Jaws", "1"), ("X-Men", "")]),
        ("Jaws [1], , .", [("Jaws", "1")]),
        ("", []),
    ],
)
def test_items_with_their_citations(text: str, pieces: list[tuple[str, str]]) -> None:
    """A list is parted at commas, semicolons and lines that stand outside of marks."""
    found = cited_items(text, FIVE)
    assert [(one.text, " ".join(cited.written for cited in one.citations)) for one in found] == pieces


def test_a_text_without_its_citations() -> None:
    """The marks go with the space before them; years stay."""
    assert without_citations("In [2020] bees hummed [1][2]. [3]", FIVE) == "In [2020] bees hummed."


FRAGMENTS = st.lists(
    st.sampled_from(["Bees hum", ". ", " [1]", "[2]", " (3)", "\n", "- ", ", ", "[2020]", " [9]", "! ", "【1】"]),
    max_size=12,
).map("".join)


@given(text=FRAGMENTS, style=st.sampled_from(["brackets", "parentheses", "authors"]))
def test_every_citation_of_a_text_that_says_something_has_one_sentence(text: str, style: Style) -> None:
    """No citation is lost, none is given twice, and pieces come in order and apart."""
    pieces = cited_sentences(text, FIVE, style)
    cited = [one for piece in pieces for one in piece.citations]
    wanted = [one for one in citations(text, FIVE, style) if one.reach != "year"]
    assert cited == (wanted if pieces else [])
    ends = [place for piece in pieces for place in piece.span]
    assert ends == sorted(ends)
    assert all(any(map(str.isalnum, piece.text)) for piece in pieces)
