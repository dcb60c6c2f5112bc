"""Citation marks: what each style reads, what a number reaches, and which sentence a mark belongs to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.text.citations import CitationStyle, citations_in
from ragauge.text.cited import cited_items, cited_sentences, without_citations
from ragauge.types import Chunk

FIVE = 5


def read(text: str, chunks: int, style: CitationStyle = "brackets") -> list[str]:
    """Each citation as "written>chunk", counted from 1, or "written>nothing"."""
    found = citations_in(text, chunks, style)
    return [f"{one.written}>{'nothing' if one.chunk is None else one.chunk + 1}" for one in found]


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
        ("Bees hum 【4:0†bees.pdf】.", ["4:0>nothing"]),
        ("Bees hum [doc_2] and [source: 3].", ["2>2", "3>3"]),
        (r"Bees hum [citation:1], [^2^] and \[3\].", ["1>1", "2>2", "3>3"]),
        ("Bees hum [2, p. 5].", ["2>2"]),
        ("Bees hum［１］. Wasps sting［2、3］.", ["1>1", "2>2", "3>3"]),
        ("Bees hum [1](https://bees.example/7).", ["1>1"]),
        ("In [2020] bees hummed [1].", ["1>1"]),
        ("From [2019-2021] on.", []),
        ("Bees hum [ 1 ].", ["1>1"]),
        ("Bees hum [1;2].", ["1>1", "2>2"]),
        ("Bees hum [1 and 2].", ["1>1", "2>2"]),
        ("Bees hum [1, 2, and 4].", ["1>1", "2>2", "4>4"]),
        ("Bees hum [1 to 3].", ["1>1", "2>2", "3>3"]),
        ("Bees hum [Document 1].", ["1>1"]),
        ("Bees hum [Doc 2] and [doc. 3; doc. 4].", ["2>2", "3>3", "4>4"]),
        ("Bees hum [Documents 1 & 2].", ["1>1", "2>2"]),
        ("Bees hum ([1]).", ["1>1"]),
        ("Bees hum (see [1], [2](https://bees.example/7)).", ["1>1", "2>2"]),
        ("See [1a], [note 1], `a[1]`, [1234 and 5], [] and (1).", []),
    ],
)
def test_brackets(text: str, found: list[str]) -> None:
    """Numbers in brackets are read one by one, with ranges written out, and years are left out."""
    assert read(text, FIVE) == found


def test_a_chunk_is_cited_once_by_names_that_are_the_same() -> None:
    """An id and a title that differ in case are one name."""
    chunks = [Chunk("Bees hum.", id="bees", title="Bees")]
    assert [citation.chunk for citation in citations_in("They hum [BEES].", chunks)] == [0]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Bees hum (1).", ["1>1"]),
        ("Bees hum (1, 2) and sting (4-5).", ["1>1", "2>2", "4>4", "5>5"]),
        ("Bees hummed in (1999).", []),
        ("Bees hum（１）.", ["1>1"]),
        ("(1) Bees hum.\n(2) Wasps sting (3).", ["3>3"]),
        ("（1）ミツバチはうなる。\n（２）ハチは刺す（3）。", ["3>3"]),
        ("Bees hum ( 1 ) and sting (2 and 3) or fly (Doc 4).", ["1>1", "2>2", "3>3", "4>4"]),
        ("Bees hum [1].", []),
    ],
)
def test_parentheses(text: str, found: list[str]) -> None:
    """Numbers in parentheses are read where that is the style; those that count the items of a list are not."""
    assert read(text, FIVE, "parentheses") == found


def test_a_bracketed_year_is_a_citation_among_so_many_chunks() -> None:
    """Where there are more chunks than the year says, its number is one of theirs."""
    assert read("Bees hum [1200].", 1500) == ["1200>1200"]


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
        ('He said "yes." [1] Then he left. [2]', "brackets", [('He said "yes."', "1"), ("Then he left.", "2")]),
        ("He said “yes.” [1] Then he left. [2]", "brackets", [("He said “yes.”", "1"), ("Then he left.", "2")]),
        ("Sie sagte „ja.“ [1] Dann ging er. [2]", "brackets", [("Sie sagte „ja.“", "1"), ("Dann ging er.", "2")]),
        ("(A fact.) [1] B fact. [2]", "brackets", [("(A fact.)", "1"), ("B fact.", "2")]),
        ("A fact… [1] Then B... [2] End.", "brackets", [("A fact…", "1"), ("Then B...", "2"), ("End.", "")]),
        ("A fact. ([1]) B fact. ([2])", "brackets", [("A fact.", "1"), ("B fact.", "2")]),
        ("It was Acme Inc. [1] It was big [2].", "brackets", [("It was Acme Inc.", "1"), ("It was big.", "2")]),
        ("He met B [1]. C left.", "brackets", [("He met B.", "1"), ("C left.", "")]),
        ("1. Bees hum. [1]\n2. Bats fly [2].", "brackets", [("Bees hum.", "1"), ("Bats fly.", "2")]),
        ("Bees hum.", "brackets", [("Bees hum.", "")]),
        ("[1] [2]", "brackets", []),
        ("", "brackets", []),
    ],
)
def test_sentences_with_their_citations(text: str, style: CitationStyle, pieces: list[tuple[str, str]]) -> None:
    """A mark belongs to its sentence, also behind the full stop, and is no part of what the sentence says."""
    found = cited_sentences(text, FIVE, style)
    assert [(one.text, " ".join(cited.written for cited in one.citations)) for one in found] == pieces


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("[1] Bees hum. [2] Wasps sting.", [("Bees hum.", "1"), ("Wasps sting.", "2")]),
        (
            "[1][3] Bees hum. Bats fly. [2] Wasps sting.",
            [("Bees hum.", "1 3"), ("Bats fly.", ""), ("Wasps sting.", "2")],
        ),
        (
            "- [1] Bees hum. [2] Wasps sting.\n- [3] Bats fly.",
            [("Bees hum.", "1"), ("Wasps sting.", "2"), ("Bats fly.", "3")],
        ),
        ("[1] Bees hum [2]. [3] Wasps sting.", [("Bees hum.", "1 2 3"), ("Wasps sting.", "")]),
        ("[1] Bees hum. [2] Wasps sting. [3]", [("Bees hum.", "1 2"), ("Wasps sting.", "3")]),
        ("[1] Bees hum. [2]\nWasps sting.", [("Bees hum.", "1 2"), ("Wasps sting.", "")]),
        ("Bees hum. [1] Wasps sting. [2] Bats fly.", [("Bees hum.", "1"), ("Wasps sting.", "2"), ("Bats fly.", "")]),
    ],
)
def test_marks_before_their_sentences(text: str, pieces: list[tuple[str, str]]) -> None:
    """Where every mark stands before a sentence from the beginning on, each belongs to the sentence behind it."""
    found = cited_sentences(text, FIVE)
    assert [(one.text, " ".join(cited.written for cited in one.citations)) for one in found] == pieces


@pytest.mark.parametrize(
    "sources",
    [
        "Sources:\n[1] http://bees.example/7\n[2] Smith, On bees",
        "**References**\n\n1. Smith, J. On bees. [1]\n2. https://bees.example",
        "## Quellen\n- [1](https://bees.example/7)",
        "Sources: [1] Bee Journal, [2] Wasp Weekly",
        "Sources: [1] Bee Journal\n[2] Wasp Weekly",
        "**Source:** https://bees.example/7",
        "[1] https://bees.example/7\n[2]: <https://wasps.example>",
        "[^1]: Smith, On bees.",
    ],
)
def test_a_list_of_sources_needs_no_support(sources: str) -> None:
    """What a response closes with to say where its sources are is no sentence, and its marks cite nothing."""
    text = f"Bees hum [1].\n\n{sources}"
    found = cited_sentences(text, FIVE)
    assert [(one.text, [cited.span for cited in one.citations]) for one in found] == [("Bees hum.", [(9, 12)])]
    assert without_citations(text, FIVE).rstrip() == "Bees hum."


def test_a_source_given_in_between_ends_with_its_line() -> None:
    """What follows a source that is named behind its paragraph is text again."""
    found = cited_sentences("Bees hum.\nSource: [1]\n\nWasps sting.\nSource: https://wasps.example\n\nBats fly.", FIVE)
    assert [one.text for one in found] == ["Bees hum.", "Wasps sting.", "Bats fly."]


@pytest.mark.parametrize("text", ["Sources: nobody knows [1].", "The sources: [1] and others.", "[1]: bees hum."])
def test_a_sentence_on_sources_is_a_sentence(text: str) -> None:
    """A word such as "sources" opens a list only where it stands alone."""
    assert len(cited_sentences(text, FIVE)) == 1


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Jaws [1], Alien [2, 3]; Heat.", [("Jaws", "1"), ("Alien", "2 3"), ("Heat", "")]),
        ("- Jaws [1]\n- X-Men", [("Jaws", "1"), ("X-Men", "")]),
        ("1. Jaws [1]\n2. X-Men", [("Jaws", "1"), ("X-Men", "")]),
        ("[1] Jaws, [2] Alien\n[3]", [("Jaws", "1"), ("Alien", "2 3")]),
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


@given(text=FRAGMENTS, style=st.sampled_from(["brackets", "parentheses"]))
def test_every_citation_of_a_text_that_says_something_has_one_sentence(text: str, style: CitationStyle) -> None:
    """No citation is lost, none is given twice, and pieces come in order and apart."""
    pieces = cited_sentences(text, FIVE, style)
    cited = [one for piece in pieces for one in piece.citations]
    assert cited == (list(citations_in(text, FIVE, style)) if pieces else [])
    ends = [place for piece in pieces for place in piece.span]
    assert ends == sorted(ends)
    assert all(any(map(str.isalnum, piece.text)) for piece in pieces)
