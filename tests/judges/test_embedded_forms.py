"""Whether a statement has the form of an answer, and what a short text must share with a query to be relevant."""

from __future__ import annotations

import pytest

from ragauge.judges.embedded.lexical.answer_forms import has_form, instructs
from ragauge.judges.embedded.lexical.heart import Lexical
from ragauge.types import Label

PORT = "On which port does the server listen?"
FOODS = "What are some foods that Lewis Hamilton likes?"
RULERS = "Name the first three rulers of the kingdom."
RESTART = "How do I restart the pump?"

ANSWERS = [
    (PORT, "Port 8080"),
    ("Who reached the summit first?", "Edmund Hillary"),
    ("In which year did it happen?", "1953, on the morning of 29 May"),
    ("Which cabin may I book?", "Premium economy"),
    ("How often must it be cleaned?", "Twice a year."),
    ("How many moons does Mars have?", "It has two."),
    ("How long is the canal?", "From end to end, the canal measures 193 kilometres."),
    ("Is Mars a planet?", "Yes."),
    ("Is the shop open, and when does it close?", "No, not on Sundays."),
    (RESTART, "Press the red button."),
    (RESTART, "Never open the lid while it runs."),
    (RESTART, "Then wait for a minute."),
    (RESTART, "You must be logged in."),
    ("Why is the sky blue?", "Because air scatters short waves more."),
    ("When was the tower built?", "As the first two years were lost, it took until 1889."),
    ("Wie entkalke ich den Kocher?", "Spülen Sie zweimal nach."),
    ("Darf ich hier parken?", "It is forbidden."),
    (FOODS, "Lewis Hamilton likes spicy wings."),
    (RULERS, "The second ruler of the kingdom was Edmund."),
]
NO_ANSWERS = [
    (PORT, "Bananas are rich in potassium."),
    ("How many people have walked on the Moon?", "The Moon's pull raises two bulges in the oceans."),
    ("How long is the canal?", "Sea otters weigh 30 kg."),
    ("Why do vegans need the vitamin?", "Once a week."),
    ("Who designed the Opera House?", "Yes."),
    ("Who designed the Opera House?", "Globex reported a loss in the third quarter."),
    (PORT, "I could not find the port in the documents."),
    (PORT, "I hope this helps!"),
    (PORT, ""),
    (FOODS, "Lewis Hamilton is an F1 driver."),
    (FOODS, "Taylor Swift likes chicken tenders."),
    (RULERS, "The fourth ruler of the kingdom was Harold."),
]


@pytest.mark.parametrize(("query", "text"), ANSWERS)
def test_what_looks_like_an_answer_is_relevant(query: str, text: str) -> None:
    """A statement with the form of an answer helps, whether it repeats a word of the query or not."""
    assert Lexical().relevant(query, text, None).label == Label.YES


@pytest.mark.parametrize(("query", "text"), NO_ANSWERS)
def test_what_answers_nothing_is_not_relevant(query: str, text: str) -> None:
    """Refusals, fillers, and sentences about something else do not help."""
    assert Lexical().relevant(query, text, None).label == Label.NO


def test_a_form_fits_only_what_is_asked() -> None:
    """A number does not answer who, nor an instruction what happened."""
    assert not has_form("How many moons does Mars have?", "Phobos and Deimos")
    assert not has_form("What happened in Cardiff?", "Press the red button.")
    assert instructs("Press the red button.")


@pytest.mark.parametrize(
    ("query", "text"),
    [("How do I use AutoLoader?", "The auto loader reads files as they arrive. It needs a schema."),
     ("What is a data frame?", "A DataFrame is a table with named columns. It is immutable."),
     ("Where do I set my email?", "The e-mail is set under Profile. It can be changed there.")],
)  # fmt: skip
def test_compounds_meet_their_parts(query: str, text: str) -> None:
    """A word written in one, with a hyphen, or with capitals inside is found under its other forms."""
    with_parts, without = Lexical().relevant(query, text, None), Lexical().relevant(query, "Bees make honey. So.", None)
    assert (with_parts.probability or 0) > (without.probability or 0) + 0.2


def test_a_title_counts_in_every_sentence() -> None:
    """A chunk's title line says what its sentences are about."""
    chunk = "Halvorsted D640 manual\nThe filter must be rinsed once a week. The seal is wiped once a month."
    claim = "The filter of the Halvorsted D640 must be rinsed once a week."
    assert Lexical().entail((chunk,), claim, None).label == Label.ENTAILED
    assert Lexical().entail((chunk.partition("\n")[2],), claim, None).label == Label.NEUTRAL
