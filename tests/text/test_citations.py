"""Citation marks: what each style reads, what a number reaches, and which sentence a mark belongs to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.text.citations import CitationStyle, citations_in
from ragauge.text.cited import cited_items, cited_sentences, without_citations

FIVE = [""] * 5
LABELS = ["Smith, J. (2020). On bees", "Jones and Lee 2019", "Müller 2021a", "Müller 2021b", "van der Berg 2001"]
LABELS += ["World Bank 2020 Oliveira wings", "World Health Organization 2020", "Adams et al. 2018"]


def read(text: str, labels: list[str], style: CitationStyle = "brackets") -> list[str]:
    """Each citation as "written>chunk", counted from 1, or "written>nothing", "written>year"."""
    found = citations_in(text, labels, style)
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
    """Numbers in brackets are read one by one, with ranges written out, and years are distinguished."""
    assert read(text, FIVE) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Bees hum (1).", ["1>1"]),
        ("Bees hum (1, 2) and sting (4-5).", ["1>1", "2>2", "4>4", "5>5"]),
        ("Bees hummed in (1999).", ["1999>year"]),
        ("(1) Bees hum.\n(2) Wasps sting (3).", ["3>3"]),
        ("Bees hum ( 1 ) and sting (2 and 3) or fly (Doc 4).", ["1>1", "2>2", "3>3", "4>4"]),
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
        ("Bees hum (Smith et al., 2020; Jones & Lee, 2019).", ["Smith et al. 2020>1", "Jones & Lee 2019>2"]),
        ("Bees hum (Smith, J., 2020, p. 3).", ["Smith, J. 2020>1"]),
        ("Bees hum (see Smith, 2020).", ["Smith 2020>1"]),
        ("Bees hum (e.g., Smith 2020: 15).", ["Smith 2020>1"]),
        ("Bees hum (for a review, see also Smith, 2020; 2021).", ["Smith 2020>1", "Smith 2021>nothing"]),
        ("Bees hum (Smith, 2020, 2021).", ["Smith 2020>1", "Smith 2021>nothing"]),
        ("Bees hum [Müller 2021a, b].", ["Müller 2021a>3", "Müller 2021b>4"]),
        ("Bees hum (Müller, 2021).", ["Müller 2021>3"]),
        ("Bees hum (van der Berg, 2001).", ["van der Berg 2001>5"]),
        ("Bees hum (World Health Organization, 2020).", ["World Health Organization 2020>7"]),
        ("Bees hum (World Health Organization [WHO], 2020).", ["World Health Organization 2020>7"]),
        ("Bees hum (WHO, 2020; FAO, 2020).", ["WHO 2020>7", "FAO 2020>nothing"]),
        ("Bees hum (Li, 2020; Ng, 2020).", ["Li 2020>nothing", "Ng 2020>nothing"]),
        ("Bees hum (Brown, 1999).", ["Brown 1999>nothing"]),
        ("Bees hum (Smith, 1990).", ["Smith 1990>nothing"]),
        ("Bees hum (Smith & Brown, 2020).", ["Smith & Brown 2020>nothing"]),
        ("Smith et al. (2020) hear bees.", ["Smith et al. 2020>1"]),
        ("In Paris, John Smith (2020) heard bees.", ["John Smith 2020>1"]),
        ("However, Jones and Lee (2019, p. 3) hear wasps.", ["Jones and Lee 2019>2"]),
        ("The World Bank (2020) counts bees.", ["World Bank 2020>6"]),
        ("Adams (2018) counts bees.", ["Adams 2018>8"]),
        ("Bees hummed (2020).", ["2020>year"]),
        ("In March (2020) bees hummed.", ["March 2020>year"]),
        ("Bees hummed (March, 2020).", ["March 2020>year"]),
        ("A film on bees (made in Japan, 2020) and `f(Smith, 2020)`.", ["Japan 2020>year"]),
        ("A film on bees (from early 2020, 20 minutes).", []),
    ],
)
def test_authors(text: str, found: list[str]) -> None:
    """Names and a year point at the first chunk whose label holds them, as whole words and all of them."""
    assert read(text, LABELS, "authors") == found


@pytest.mark.parametrize(("cited", "found"), [("2020a", 1), ("2020b", 2), ("2020c", "nothing"), ("2020", 1)])
def test_letters_tell_works_of_a_year_apart_also_where_labels_do_not(cited: str, found: object) -> None:
    """Of two works alike but for their titles 2020a is the first and 2020b the second."""
    assert read(f"Bees hum (Smith, {cited}).", ["Smith 2020 On bees", "Smith 2020 On wasps"], "authors") == [
        f"Smith {cited}>{found}"
    ]


@pytest.mark.parametrize(
    "repeated",
    [
        "World Bank Health ",
        "(Smith ",
        pytest.param("Smith (2020) ", marks=pytest.mark.slow),
        "(Smith, 2020; ",
        "Lee, and ",
    ],
)
@pytest.mark.timeout(20)
def test_authors_are_found_in_time_that_grows_with_the_text(repeated: str) -> None:
    """A text of 300,000 characters is read within seconds, whatever it is made of."""
    found = citations_in(repeated * (300_000 // len(repeated)), LABELS, "authors")
    assert len(found) == (300_000 // len(repeated) if repeated == "Smith (2020) " else 0)


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
        ("Smith et al. (2020) hear bees.", "authors", [("Smith et al. (2020) hear bees.", "Smith et al. 2020")]),
        ('He said "yes." [1] Then he left. [2]', "brackets", [('He said "yes."', "1"), ("Then he left.", "2")]),
        ("He said “yes.” [1] Then he left. [2]", "brackets", [("He said “yes.”", "1"), ("Then he left.", "2")]),
        ("Sie sagte „ja.“ [1] Dann ging er. [2]", "brackets", [("Sie sagte „ja.“", "1"), ("Dann ging er.", "2")]),
        ("(A fact.) [1] B fact. [2]", "brackets", [("(A fact.)", "1"), ("B fact.", "2")]),
        ("A fact… [1] Then B... [2] End.", "brackets", [("A fact…", "1"), ("Then B...", "2"), ("End.", "")]),
        ("A fact. ([1]) B fact. ([2])", "brackets", [("A fact.", "1"), ("B fact.", "2")]),
        ("It was Acme Inc. [1] It was big [2].", "brackets", [("It was Acme Inc.", "1"), ("It was big.", "2")]),
        ("He met B [1]. C left.", "brackets", [("He met B.", "1"), ("C left.", "")]),
        ("Bees hum. (Smith, 2020) Bats fly.", "authors", [("Bees hum.", "Smith 2020"), ("Bats fly.", "")]),
        ("1. Bees hum. [1]\n2. Bats fly [2].", "brackets", [("Bees hum.", "1"), ("Bats fly.", "2")]),
        ("Bees hum.", "brackets", [("Bees hum.", "")]),
        ("[1] [2]", "brackets", []),
        ("", "brackets", []),
    ],
)
def test_sentences_with_their_citations(text: str, style: CitationStyle, pieces: list[tuple[str, str]]) -> None:
    """A mark belongs to its sentence, also behind the full stop, and is no part of what the sentence says."""
    found = cited_sentences(text, LABELS if style == "authors" else FIVE, style)
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


@given(text=FRAGMENTS, style=st.sampled_from(["brackets", "parentheses", "authors"]))
def test_every_citation_of_a_text_that_says_something_has_one_sentence(text: str, style: CitationStyle) -> None:
    """No citation is lost, none is given twice, and pieces come in order and apart."""
    pieces = cited_sentences(text, FIVE, style)
    cited = [one for piece in pieces for one in piece.citations]
    wanted = [one for one in citations_in(text, FIVE, style) if one.reach != "year"]
    assert cited == (wanted if pieces else [])
    ends = [place for piece in pieces for place in piece.span]
    assert ends == sorted(ends)
    assert all(any(map(str.isalnum, piece.text)) for piece in pieces)
