"""Statements: what the embedded judge decomposes texts into, case by case, and what holds for any text."""

from __future__ import annotations

import asyncio
import csv
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.judges.embedded.judge import EmbeddedJudge
from ragauge.judges.embedded.statements import decompose, is_fragment
from ragauge.questions import Decompose
from ragauge.text.citations import citation_marks
from ragauge.text.markdown import blocks
from ragauge.types import Decomposition, Span

ROOT = Path(__file__).parents[2]

FRAGMENTS = [
    *(
        "Paris is big. ",
        "I think so. ",
        "Sure! ",
        "You idiot! ",
        "; the cat was here",
        ", and the dog ran ",
        "\n\n",
        "\n",
    ),
    *(
        "- ",
        "1. ",
        "# ",
        "Ann Lee, who was born in Ulm, ",
        "left Rome.",
        "met Bob Ray, who was old.",
        "He saw Ulm, which is a town.",
    ),
    *(
        "She is in **Ulm** [1] and was in Bonn [2]. ",
        "| a | b |\n",
        "|---|---|\n",
        "```\n",
        "> ",
        "[1]",
        "[2, 3] ",
        "**",
        "*",
    ),
    *("Sources:\n", ": ", "I don't know, but he was old. ", "Why? ", "😀 ", "U.S. ", '"', "(", "word ", "，", "天。"),
]
TEXTS = st.one_of(
    st.text(max_size=300),
    st.text(st.characters(), max_size=60),
    st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join),
)
QUERIES = st.sampled_from([None, "What is it?"])

CLAIMS = [
    "Yes",
    "No.",
    "Six days",
    "1989",
    "**Paris**",
    "The Earth is flat.",
    "Dogs are animals.",
    "Great Britain is an island.",
    "Fox News claimed that the president is an idiot.",
    '"The best film ever," said Smith.',
    "Packages are lost in transit.",
    "Flame retardants kill all bacteria.",
    "It is important to note that salt melts ice.",
    "Welcome to the Jungle was released in 1987.",
    "Welcome bonuses expire monthly.",
    "Thanks to the subsidy, prices fell by 20 %.",
    "Take care of the filter every month.",
    "Vitamin D is not found in many food sources.",
    "Although the text gives no date, it names the place.",
    "The museum's ledger does not record the year.",
    "Revenue = 5 million.",
    "See also rates, which rose to 5 %.",
    "Have a look at the link in the message.",
]
OPINIONS = [
    "I love Paris.",
    "You're clueless and have no idea what you're talking about.",
    "The president is an idiot.",
    "You'll regret saying things like that.",
    "YOU ARE STUPID",
    "Kill all immigrants.",
    "Are you stupid?",
]
CLAIMS_AND_OPINIONS = [
    "I think the Earth is flat.",
    "In my opinion, he was born in 1950.",
    "The government should raise taxes.",
    "The film is awful because it was cut by the studio.",
    "Sadly, the store closed.",
    "All those immigrants are rich.",
    "東京は日本の首都です。",
]
NEITHER = [
    "What do you mean?",
    "Could you provide more details?",
    "I don't know.",
    "The documents do not say when he died.",
    "The passages explain the reset as follows.",
    "This is in passage 3.",
    "I'm sorry, but I cannot answer that.",
    "As an AI language model, I do not have opinions.",
    "Ich weiß es nicht.",
    "Hello!",
    "Sure, here is a summary of the points:",
    "I hope this helps!",
    "Let me know if you have more questions.",
    "Thank you for asking!",
    "Welcome to our shop!",
    "Best regards,",
    "In summary:",
    "See the documentation.",
    "https://example.org/docs/page-2",
    "df = spark.read.table('sales')",
    "pip install some-package",
    "😀",
    "!?",
]
FLAGS = [
    *((text, True, False) for text in CLAIMS),
    *((text, False, True) for text in OPINIONS),
    *((text, True, True) for text in CLAIMS_AND_OPINIONS),
    *((text, False, False) for text in NEITHER),
]

DECOMPOSED = [
    ("", []),
    ("[1][2]", []),
    ("It rose. [1][2] It fell [3].", ["It rose.", "It fell."]),
    ("The **bold** claim is *true*.", ["The bold claim is true."]),
    ("Based on the provided context, it rose [1].", ["It rose."]),
    ("According to passage 2, the bridge opened in 1932.", ["The bridge opened in 1932."]),
    ("The provided text states that the museum is free.", ["The museum is free."]),
    ("According to the Act, mileage is paid.", ["According to the Act, mileage is paid."]),
    ("Answer: Paris", ["Paris"]),
    ("# Title\n- One is a.\n- Two", ["Title", "One is a.", "Title: Two"]),
    (
        "The kit holds:\n- two screws\n- A lid is in it.",
        ["The kit holds:", "The kit holds: two screws", "A lid is in it."],
    ),
    ("Here are the parts:\n- two screws", ["Here are the parts:", "two screws"]),
    ("| Name | Year |\n|---|---|\n| Ada | 1815 |", ["Name | Year", "Name: Ada, Year: 1815"]),
    ("| | 2020 |\n|---|---|\n| Wages | |", [" | 2020", "Wages"]),
    ("It works.\n```\nx = 1\n```\n---\nDone.", ["It works.", "Done."]),
    (
        "Acme was founded in 1976, and Apex was founded in 1975.",
        ["Acme was founded in 1976.", "Apex was founded in 1975."],
    ),
    ("Sales were up by 5%; the firm paid a dividend.", ["Sales were up by 5%.", "The firm paid a dividend."]),
    ("He saw France, Spain, and the towns that were old.", ["He saw France, Spain, and the towns that were old."]),
    ("He said that Acme was old, and Apex was new.", ["He said that Acme was old, and Apex was new."]),
    ("If it was late, and the shop was shut, we left.", ["If it was late, and the shop was shut, we left."]),
    ("The tower, which was built in 1889, is high.", ["The tower is high.", "The tower was built in 1889."]),
    ("He lived in Ulm, which is a city.", ["He lived in Ulm.", "Ulm is a city."]),
    ("The lid is shut, which keeps it warm.", ["The lid is shut.", "This keeps it warm."]),
    ("In Ulm, who was ill, Ann left.", ["In Ulm, who was ill, Ann left."]),
    ("Ann met Bob in Ulm, who was ill, and left.", ["Ann met Bob in Ulm, who was ill, and left."]),
    ("Is he old, and was he ill?", ["Is he old, and was he ill?"]),
]
"""Texts with the texts of their statements."""


@pytest.mark.parametrize(("text", "claim", "opinion"), FLAGS)
def test_flags_of_an_answer(text: str, claim: bool, opinion: bool) -> None:
    """An answer of one sentence is a claim, an opinion, both or neither, and its span is the whole text."""
    (statement,) = decompose(text, "What about it?")
    assert (statement.claim, statement.opinion) == (claim, opinion)
    assert statement.span == (0, len(text))


@pytest.mark.parametrize(("text", "expected"), DECOMPOSED)
def test_texts_of_statements(text: str, expected: list[str]) -> None:
    """A text is decomposed into the statements it should be, with their wording."""
    assert [statement.text for statement in decompose(text)] == expected


def test_the_judge_answers_with_the_statements() -> None:
    """`Decompose` is answered with them, in the order of the questions."""
    answers = asyncio.run(EmbeddedJudge().answer([Decompose("It rose."), Decompose("Yes.", "Did it?")]))
    assert answers == [Decomposition(decompose("It rose.")), Decomposition(decompose("Yes.", "Did it?"))]


def test_a_refusal_and_what_follows_it_are_apart() -> None:
    """What follows a refusal after "but" is a claim of its own, even if it begins with a pronoun."""
    refusal, rest = decompose("The text does not say when he died, but he was born in 1950.", "When did he die?")
    assert (refusal.claim, rest.claim) == (False, True)
    assert rest.text == "He was born in 1950."


def test_a_yes_is_a_claim_only_in_answer_to_a_query() -> None:
    """Without a query a bare yes says nothing; "Certainly!" only agrees to answer."""
    assert not decompose("Yes.")[0].claim
    assert [one.claim for one in decompose("Yes. It is big.", "Is it?")] == [True, True]
    assert [one.claim for one in decompose("Certainly! It is big.", "Is it?")] == [False, True]


def test_what_introduces_a_list_is_no_claim() -> None:
    """A line that ends in a colon is a claim by itself, and none before list items, rows or code."""
    for list_ in ("- Fire\n- Theft", "1. Fire", "| Fire |\n", "```\nFire\n```"):
        assert not decompose(f"The risks of the firm are:\n{list_}")[0].claim
    assert decompose("The risks of the firm are two:\n\nFire is one.")[0].claim


def test_headings_and_header_rows_are_no_claims() -> None:
    """Headings, lines in bold, and the first row of a table name what follows."""
    text = "## Revenue\n**Sales**\nThey rose.\n\n| Year | Sum |\n|---|---|\n| 2020 | 5 |\n| 2021 | 6 |"
    assert [one.claim for one in decompose(text)] == [False, False, True, False, True, True]


def test_a_list_of_sources_is_no_claim() -> None:
    """What is listed under "Sources:" supports the answer and is not part of it, until a heading begins anew."""
    text = "It rose. [1]\n\nSources:\n[1] Smith, Prices.\n- Jones, Wages.\n\n# More\nIt fell."
    assert [one.claim for one in decompose(text)] == [True, False, False, False, False, True]


def test_spans_cover_marks_and_openings_that_the_text_leaves_out() -> None:
    """A span covers citation marks, emphasis and joining words, so that citations can be found in it."""
    text = "- According to the context, **Acme** was founded in 1976 [1], and Apex was founded in 1975. [2]"
    first, second = decompose(text)
    assert text[slice(*first.span or ())] == "According to the context, **Acme** was founded in 1976 [1],"
    assert first.text == "Acme was founded in 1976."
    assert text[slice(*second.span or ())] == "and Apex was founded in 1975. [2]"
    assert second.text == "Apex was founded in 1975."


def test_a_relative_clause_has_a_span_of_its_own() -> None:
    """It lies within the clause that it interrupts, and behind the one that it ends."""
    text = "Rome [1], which is old, has a harbour. It is near Ostia, which is a port."
    spans = [text[slice(*one.span or ())] for one in decompose(text)]
    assert spans == [text[:38], "which is old", "It is near Ostia,", "which is a port."]


@pytest.mark.parametrize("text", ["Voyager 2", "Six days, without renewal", "Meat, eggs, feathers and down", "No."])
def test_a_phrase_is_a_fragment(text: str) -> None:
    """Names, numbers and lists without a verb are fragments."""
    assert is_fragment(text)


@pytest.mark.parametrize(
    "text", ["Taylor Swift likes chicken.", "It is six days.", "Why?", "The Moon pulls the sea.", ""]
)
def test_a_sentence_is_no_fragment(text: str) -> None:
    """A verb, or what looks like one with its object, makes a sentence."""
    assert not is_fragment(text)


@given(text=TEXTS, query=QUERIES)
def test_spans_are_ordered_nested_or_apart_and_lose_no_text(text: str, query: str | None) -> None:
    """For any text the spans are in order, each after those before it or within one, and cover all that is stated."""
    left_out = [*citation_marks(text)]
    for block in blocks(text):
        left_out.append((block.start, block.end if block.kind in ("code", "ruler") else block.body))
    covered = {place for start, end in left_out for place in range(start, end)}
    around: list[Span] = []
    begin = 0
    for statement in decompose(text, query):
        assert statement.span is not None
        start, end = statement.span
        assert begin <= start < end <= len(text)
        around = [one for one in around if start < one[1]]
        assert all(end <= other for _, other in around)
        around, begin = [*around, (start, end)], start
        covered |= set(range(start, end))
    assert all(text[place].isspace() or text[place] in "*_" for place in set(range(len(text))) - covered)


@given(text=TEXTS, query=QUERIES)
def test_any_text_is_decomposed_the_same_way_twice(text: str, query: str | None) -> None:
    """For any text statements have words, no line breaks, and are the same when asked for again."""
    statements = decompose(text, query)
    assert statements == decompose(text, query)
    assert all(one.text.strip() and "\n" not in one.text for one in statements)


@pytest.mark.parametrize(
    "joined", [" ", pytest.param("\n", marks=pytest.mark.slow), pytest.param("", marks=pytest.mark.slow)]
)
def test_the_work_grows_with_the_text(joined: str) -> None:
    """Twice the text takes about twice the calls, even as a single sentence without a stop, and 100,000 words pass."""
    sentence = "I think Acme Inc. grew by 3.5 per cent, and the awful board said that it was proud; the rest was quiet"
    parts = [sentence if joined else f"{sentence}, "]
    _calls(joined.join(parts))  # which loads the tables
    assert _calls(joined.join(parts * 200)) < 2.2 * _calls(joined.join(parts * 100))
    assert decompose(joined.join(parts * 5000))


def _calls(text: str) -> int:
    """How many functions are called to decompose a text."""
    count = 0

    def counted(_frame: object, event: str, _value: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        decompose(text)
    finally:
        sys.setprofile(None)
    return count


def test_the_examples_of_the_documentation() -> None:
    """Each text in the table of the documentation is decomposed as it says."""
    page = (ROOT / "docs/embedded-judge.md").read_text(encoding="utf-8")
    table = page.partition("| text | claims |")[2].partition("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    assert len(rows) >= 5
    for text, claims in rows:
        assert " ".join(one.text for one in decompose(text.replace("⏎", "\n")) if one.claim) == claims


@pytest.mark.shared
def test_real_references_are_single_claims(shared: Path) -> None:
    """Each reference of the Valor RAG file, fragments most of them, is one claim and no opinion."""
    with (shared / "data" / "valor" / "valor_rag_data.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = [decompose(row["groundtruth"], row["query"]) for row in rows]
    assert len(found) == 50
    assert all(len(statements) == 1 and statements[0].claim and not statements[0].opinion for statements in found)
