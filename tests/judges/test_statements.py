"""Statements: what the embedded judge takes a text apart into, case by case, and what holds for any text."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragauge.judges.embedded.statements.clauses import clauses
from ragauge.judges.embedded.statements.decomposing import decompose
from ragauge.judges.embedded.statements.fillers import is_filler
from ragauge.judges.embedded.statements.frames import frame_length
from ragauge.judges.embedded.statements.opinions import Voice, is_hostile, voice
from ragauge.text.citations import citation_marks
from ragauge.text.markdown import blocks
from ragauge.text.refusals import is_refusal_sentence
from ragauge.types import Span

CLAIM, OPINION, BOTH, NEITHER = (True, False), (False, True), (True, True), (False, False)

FRAGMENTS = [
    "Paris is big. ",
    "I think so. ",
    "Sure! ",
    "You idiot! ",
    "; the cat was here",
    ", and the dog ran ",
    "\n\n",
    "\n",
]
FRAGMENTS += [
    "- ",
    "1. ",
    "# ",
    "Ann Lee, who was born in Ulm, ",
    "Founded in 1976, ",
    "Bob, a painter, ",
    "won a prize and became a nurse. ",
    "was born in Ulm on 3 May 1950",
    " and died in *Bonn*. ",
    "It is a cat and the oldest pet. ",
    "met Bob Ray, who was old.",
    "She is in **Ulm** [1] and was in Bonn [2]. ",
    "| a | b |\n",
    "|---|---|\n",
    "```\n",
    "> ",
    "[1]",
    "[2, 3] ",
    "**",
    "*",
    "Sources:\n",
    ": ",
]
FRAGMENTS += ["I don't know. ", "Why? ", "😀 ", "U.S. ", '"', "(", "word ", "，", "天。"]
TEXTS = st.one_of(
    st.text(max_size=300),
    st.text(st.characters(), max_size=60),
    st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join),
)
QUERIES = st.sampled_from([None, "What is it?"])

WHOLE_TEXTS = [
    # An answer to a query, and the flags of its single statement.
    ("Yes", CLAIM),
    ("No.", CLAIM),
    ("Six days", CLAIM),
    ("1989", CLAIM),
    ("the second act", CLAIM),
    ("**Paris**", CLAIM),
    ("Absolutely!", CLAIM),
    ("Who Wants to Be a Millionaire?", CLAIM),
    ("Einstein was born on 20th March 1879.", CLAIM),
    ("The Earth is flat.", CLAIM),
    ("Otters give birth.", CLAIM),
    ("Fox News claimed that the president is an idiot.", CLAIM),
    ("According to critics, the film is stupid.", CLAIM),
    ('"The best film ever," said Smith.', CLAIM),
    ("She is widely regarded as one of the greatest singers.", CLAIM),
    ("A Beautiful Mind won four Oscars.", CLAIM),
    ("The Idiot is a novel by Dostoevsky.", CLAIM),
    ("Great Britain is an island.", CLAIM),
    ("Dogs are animals.", CLAIM),
    ("The cause of death was cancer.", CLAIM),
    ("Packages get lost in transit.", CLAIM),
    ("Antibiotics kill all bacteria.", CLAIM),
    ("It is important to note that salt melts ice.", CLAIM),
    ("The greatest common divisor is 4.", CLAIM),
    ("Welcome to the Jungle was released in 1987.", CLAIM),
    ("Police were unable to find the suspect.", CLAIM),
    ("Vitamin D is not found in many food sources.", CLAIM),
    ("It is unknown who built it.", CLAIM),
    ("Although the text gives no date, it names the place.", CLAIM),
    ("The executive closed the deal while their assistant took notes.", CLAIM),
    ("Studies show a correlation between density and crime.", CLAIM),
    ("東京は日本の首都です。", CLAIM),
    ("The film is awful.", OPINION),
    ("I love Paris.", OPINION),
    ("You're clueless and have no idea what you're talking about.", OPINION),
    ("The president is an idiot.", OPINION),
    ("Only an idiot would think this.", OPINION),
    ("You'll regret saying things like that.", OPINION),
    ("People like you should be banned from speaking.", OPINION),
    ("What a stupid idea!", OPINION),
    ("YOU ARE STUPID", OPINION),
    ("Kill all immigrants.", OPINION),
    ("Meiner Meinung nach ist das falsch.", OPINION),
    ("I think the Earth is flat.", BOTH),
    ("I believe he was born in 1950.", BOTH),
    ("The film is awful because it was cut by the studio.", BOTH),
    ("Critics say the film is slow, but I love it.", BOTH),
    ("The government should raise taxes.", BOTH),
    ("You should restart the router.", BOTH),
    ("The businessman closed the deal while his female assistant took notes.", BOTH),
    ("The radical left-wing politician is trying to destroy our country.", BOTH),
    ("This Asian student must be good at math.", BOTH),
    ("Crime rates are always higher in those big cities.", BOTH),
    ("Sadly, the store closed.", BOTH),
    ("Her impressive speech lasted an hour.", BOTH),
    ("Are you stupid?", OPINION),
    ("What do you mean?", NEITHER),
    ("Could you provide more details?", NEITHER),
    ("I don't know.", NEITHER),
    ("I could not find the date in the documents.", NEITHER),
    ("The documents do not say when he died.", NEITHER),
    ("The answer is not provided in the given context.", NEITHER),
    ("I'm sorry, but I cannot answer that.", NEITHER),
    ("Not mentioned.", NEITHER),
    ("As an AI language model, I do not have opinions.", NEITHER),
    ("Ich weiß es nicht.", NEITHER),
    ("Je ne sais pas.", NEITHER),
    ("No hay información en el texto.", NEITHER),
    ("Hello!", NEITHER),
    ("Sure, here is a summary of the points:", NEITHER),
    ("I hope this helps!", NEITHER),
    ("Let me know if you have more questions.", NEITHER),
    ("Thank you for asking!", NEITHER),
    ("Best regards,", NEITHER),
    ("Based on the provided context:", NEITHER),
    ("In summary:", NEITHER),
    ("😀", NEITHER),
    ("!?", NEITHER),
]

SPLITS = [
    # A text and the texts of its statements.
    ("", []),
    (" \n ", []),
    ("[1][2]", []),
    ("It rose. [1][2] It fell [3].", ["It rose.", "It fell."]),
    ("The **bold** claim is *true*.", ["The bold claim is true."]),
    ("Based on the provided context, it rose [1].", ["it rose."]),
    ("Answer: Paris", ["Paris"]),
    ("Based on context, the bridge opened in 1932.", ["the bridge opened in 1932."]),
    ("According to passage 2, the bridge opened in 1932.", ["the bridge opened in 1932."]),
    ("However, passage 2 mentions that a locksmith can help.", ["a locksmith can help."]),
    ("The provided text states that the museum is free.", ["the museum is free."]),
    ("From the information provided, we can see that the fee is $20.", ["the fee is $20."]),
    ("It is important to note that results may vary.", ["results may vary."]),
    ('The answer to the question "Who wrote Hamlet?" is: William Shakespeare.', ["William Shakespeare."]),
    ("According to the Act, mileage is paid.", ["According to the Act, mileage is paid."]),
    ("The article was written in 1932.", ["The article was written in 1932."]),
    ("In the article, he says that it rose.", ["he says that it rose."]),
    ("Sources close to him say that it rose.", ["Sources close to him say that it rose."]),
    ("# Title\n- One is a.\n- Two", ["Title", "One is a.", "Two"]),
    ("| Name | Year |\n|---|---|\n| Ada | 1815 |", ["Name | Year", "Ada | 1815"]),
    ("It works.\n```\nx = 1\n```\n---\nDone.", ["It works.", "Done."]),
    (
        "Acme was founded in 1976, and Apex was founded in 1975.",
        ["Acme was founded in 1976.", "Apex was founded in 1975."],
    ),
    ("Sales rose by 5%; the firm paid a dividend.", ["Sales rose by 5%.", "the firm paid a dividend."]),
    ("The text does not say when he died, but he was born in 1950.", None),
    ("It rose by 5%; the firm paid tax", ["It rose by 5%", "the firm paid tax"]),
    ("He was born in France, and he died in Spain.", ["He was born in France.", "he died in Spain."]),
    ("He met Bob in France, and she died in Spain.", ["He met Bob in France, and she died in Spain."]),
    ("Summers are hot, and winters are cold.", ["Summers are hot.", "winters are cold."]),
    ("The prize was shared, and others have won it.", ["The prize was shared, and others have won it."]),
    ("He saw France, Spain, and the towns that were old.", ["He saw France, Spain, and the towns that were old."]),
    ("He said that Acme was old, and Apex was new.", ["He said that Acme was old, and Apex was new."]),
    ("If it was late, and the shop was shut, we left.", ["If it was late, and the shop was shut, we left."]),
    (
        "This was wrapped at a column of an editor\nby somebody.",
        ["This was wrapped at a column of an editor by somebody."],
    ),
    ("1. One\n   goes on.\n2. Two", ["One", "goes on.", "Two"]),
]


@pytest.mark.parametrize(("text", "flags"), WHOLE_TEXTS)
def test_flags_of_an_answer(text: str, flags: tuple[bool, bool]) -> None:
    """An answer of one sentence has the flags it should, and its span is the whole text."""
    (statement,) = decompose(text, "What about it?")
    assert (statement.claim, statement.opinion) == flags
    assert statement.span == (0, len(text))


@pytest.mark.parametrize(("text", "expected"), [case for case in SPLITS if case[1] is not None])
def test_texts_of_statements(text: str, expected: list[str]) -> None:
    """A text is taken apart into the statements it should be, with their wording."""
    assert [statement.text for statement in decompose(text, None)] == expected


def test_a_refusal_and_what_is_reported_after_it_are_apart() -> None:
    """What follows a refusal after "but" is a claim of its own, even if it leans on a pronoun."""
    refusal, reported = decompose("The text does not say when he died, but he was born in 1950.", "When did he die?")
    assert (refusal.claim, reported.claim) == (False, True)
    assert reported.text == "he was born in 1950."


def test_a_yes_without_a_query_is_no_claim() -> None:
    """Without a query a bare yes says nothing; with one it is a claim."""
    assert not decompose("Yes.", None)[0].claim
    assert decompose("Yes.", "Is it so?")[0].claim


def test_a_yes_before_the_answer_is_a_claim_and_an_assent_is_not() -> None:
    """ "Yes." answers the query; "Certainly!" before the answer only agrees to give one."""
    assert [statement.claim for statement in decompose("Yes. It is big.", "Is it?")] == [True, True]
    assert [statement.claim for statement in decompose("Certainly! It is big.", "Is it?")] == [False, True]


def test_what_introduces_a_list_is_no_claim() -> None:
    """A line that ends in a colon is a claim by itself, and none before list items, rows or code."""
    for list_ in ("- Fire\n- Theft", "1. Fire", "| Fire |\n", "```\nFire\n```"):
        assert not decompose(f"The risks of the firm are:\n{list_}", None)[0].claim
    assert decompose("The risks of the firm are two:\n\nFire is one.", None)[0].claim


def test_headings_and_header_rows_are_no_claims() -> None:
    """Headings, lines in bold, and the first row of a table name what follows."""
    text = "## Revenue\n**Sales**\nThey rose.\n\n| Year | Sum |\n|---|---|\n| 2020 | 5 |\n| 2021 | 6 |"
    assert [statement.claim for statement in decompose(text, None)] == [False, False, True, False, True, True]


def test_a_list_of_sources_is_no_claim() -> None:
    """What is listed under "Sources:" supports the answer and is not part of it, until a heading begins anew."""
    text = "It rose. [1]\n\nSources:\n[1] Smith, Prices.\n- Jones, Wages.\n\n# More\nIt fell."
    assert [statement.claim for statement in decompose(text, None)] == [True, False, False, False, False, True]


def test_spans_cover_marks_and_openings_that_the_text_leaves_out() -> None:
    """A span reaches over citation marks, emphasis and joining words, so that citations can be found in it."""
    text = "- According to the context, **Acme** was founded in 1976 [1], and Apex was founded in 1975. [2]"
    first, second = decompose(text, None)
    assert text[slice(*first.span or ())] == "According to the context, **Acme** was founded in 1976 [1],"
    assert first.text == "Acme was founded in 1976."
    assert text[slice(*second.span or ())] == "and Apex was founded in 1975. [2]"
    assert second.text == "Apex was founded in 1975."


def test_a_long_sentence_parts_at_semicolons() -> None:
    """More than sixty words part at semicolons that clauses follow, and a mere list stays together."""
    clause = "the holder of the note is paid by the agent of the firm on the day " * 3
    text = f"It holds that {clause}; {clause}; {clause}."
    assert len(clauses(text, (0, len(text)))) == 3
    listed = f"It covers {'the fees of the firm and of its agents and ' * 8}cars; tax; wages; rent; food and drink."
    assert clauses(listed, (0, len(listed))) == [(0, len(listed))]


@given(text=TEXTS, query=QUERIES)
@settings(max_examples=400, derandomize=True, deadline=None)
def test_spans_are_ordered_nested_or_apart_and_lose_no_text(text: str, query: str | None) -> None:
    """For any text the spans are in order, each behind those before it or within one, and cover the whole text."""
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
    assert all(text[place].isspace() for place in set(range(len(text))) - covered)


@given(text=TEXTS, query=QUERIES)
@settings(max_examples=200, derandomize=True, deadline=None)
def test_any_text_is_taken_apart_the_same_way_twice(text: str, query: str | None) -> None:
    """For any text statements have words, no line breaks, and are the same when asked for again."""
    statements = decompose(text, query)
    assert statements == decompose(text, query)
    assert all(statement.text.strip() and "\n" not in statement.text for statement in statements)


@given(text=st.text(st.characters(), max_size=120))
@settings(max_examples=300, derandomize=True, deadline=None)
def test_any_sentence_can_be_examined(text: str) -> None:
    """No text makes the detectors fail."""
    assert isinstance(voice(text), Voice)
    assert {is_hostile(text), is_filler(text), is_refusal_sentence(text)} <= {True, False}
    assert 0 <= frame_length(text) <= len(text)


@pytest.mark.parametrize(
    "joined", [" ", pytest.param("\n", marks=pytest.mark.slow), pytest.param("", marks=pytest.mark.slow)]
)
def test_the_work_grows_with_the_text(joined: str) -> None:
    """Twice the text takes about twice the calls, even as a single sentence without a stop, and 100,000 words pass."""
    sentence = "I think Acme Inc. grew by 3.5 per cent, and the awful board said that it was proud; the rest was quiet"
    parts = [sentence if joined else f"{sentence}, "]
    _calls(joined.join(parts))  # which loads the tables
    assert _calls(joined.join(parts * 200)) < 2.2 * _calls(joined.join(parts * 100))
    assert decompose(joined.join(parts * 5000), None)


def _calls(text: str) -> int:
    """How many functions are called to take a text apart."""
    count = 0

    def counted(_frame: object, event: str, _value: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        decompose(text, None)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.shared
def test_real_references_are_single_claims(shared: Path) -> None:
    """Each reference of the Valor RAG file, fragments most of them, is one claim and no opinion."""
    with (shared / "data" / "valor" / "valor_rag_data.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = [decompose(row["groundtruth"], row["query"]) for row in rows]
    assert len(found) == 50
    assert all(len(statements) == 1 and statements[0].claim and not statements[0].opinion for statements in found)
