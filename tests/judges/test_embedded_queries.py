"""The embedded judge reads short answers behind the query that they belong to."""

from __future__ import annotations

import ast
import csv
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragauge.judges.embedded.judge import Trained
from ragauge.judges.embedded.lexical import Lexical
from ragauge.questions import Correct, Entail
from ragauge.types import Label, Verdict

LABELS = Path(__file__).parents[1] / "golden/valor_rag_labels.jsonl"
HARVARD = "Did Roosevelt go to Harvard?"
DAYS = "How many days did the siege of the city take?"
BORN = "When was Einstein born?"
TRAINED = Trained()


def entail(premise: tuple[str, ...], hypothesis: str, query: str | None = None) -> Verdict:
    """The verdict of encoder and layers."""
    return TRAINED.entailment(Entail(premise, hypothesis, query))


@pytest.mark.parametrize(
    ("premise", "hypothesis", "query", "label"),
    [
        ("No", "Roosevelt did not go to Harvard.", HARVARD, Label.ENTAILED),
        ("Roosevelt did not go to Harvard.", "No.", HARVARD, Label.ENTAILED),
        ("Yes, he did.", "yes", HARVARD, Label.ENTAILED),
        ("No, he went to Yale.", "Yes", HARVARD, Label.CONTRADICTED),
        ("The siege of the city took 6 days.", "Six days", DAYS, Label.ENTAILED),
        ("1989", "Nineteen", DAYS, Label.NEUTRAL),
        ("The most popular rock group is The Rasmus.", "CMX", "Who is the most popular rock group?", Label.NEUTRAL),
        (BORN, "Einstein was born in 1879.", None, Label.NEUTRAL),
        ("Did revenue rise?", "Revenue rose.", None, Label.NEUTRAL),
    ],
)
def test_a_short_answer_is_read_behind_its_query(
    premise: str, hypothesis: str, query: str | None, label: Label
) -> None:
    """Yes, no and a few words get the label that the query gives them; a question states nothing."""
    assert entail((premise,), hypothesis, query).label == label


@pytest.mark.parametrize("opening", ["Yes, ", "No, ", "Yes. "])
def test_an_opening_yes_is_no_part_of_what_is_claimed(opening: str) -> None:
    """A copy behind a yes or no is entailed as the copy is."""
    text = "Shipping is free above 50 euros. Returns are accepted within 30 days, at no cost, in any shop of the firm."
    verdict = entail((text, "Opening hours are in the app."), f"{opening}shipping is free above 50 euros.", HARVARD)
    assert verdict.label == Label.ENTAILED


@pytest.mark.parametrize(
    ("premise", "hypothesis"),
    [("No.", "Yes."), ("Yes.", "No."), ("Roosevelt went to Harvard, as his father did.", "No.")],
)
def test_a_bare_yes_or_no_is_not_taken_for_its_opposite(premise: str, hypothesis: str) -> None:
    """What says yes does not entail a no, nor the reverse."""
    assert entail((premise,), hypothesis, HARVARD).label != Label.ENTAILED


def test_an_empty_answer_is_wrong() -> None:
    """An answer without a word states no reference."""
    assert TRAINED.correctness(Correct("Who?", " ", ("Paris",))).label == Label.WRONG


def test_words_compare_a_yes_with_a_yes() -> None:
    """The lexical judge reads an opening yes or no of an answer to a reference that is one."""
    labels = [Lexical().correctness(Correct("Is it open?", text, ("Yes",))).label for text in ("Yes, it is.", "No.")]
    assert labels == [Label.RIGHT, Label.WRONG]


def test_a_short_answer_is_looked_for_in_long_texts() -> None:
    """What was asked decides whether a long text supports a name."""
    opening = "Voyager 2 was launched in 1977. " + "Its flight took it past four planets and many of their moons. " * 4
    text = opening + "It is the only spacecraft that has visited Uranus and Neptune."
    query = "Which spacecraft has visited Neptune?"
    assert entail((text,), "Voyager 2", query).label == Label.ENTAILED
    assert entail((text,), "Cassini", query).label == Label.NEUTRAL


@pytest.mark.shared
@pytest.mark.slow
def test_it_agrees_with_readers_on_real_short_answers(shared: Path) -> None:
    """Whether contexts support the references of the Valor RAG file agrees with our labels in 40 of 50 rows."""
    with (shared / "data/valor/valor_rag_data.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    labels = [json.loads(line) for line in LABELS.read_text(encoding="utf-8").splitlines()]
    verdicts = [entail(tuple(ast.literal_eval(row["context_list"])), row["groundtruth"], row["query"]) for row in rows]
    agreeing = [
        (verdict.label == Label.ENTAILED) == label["context_supports_reference"]
        for verdict, label in zip(verdicts, labels, strict=True)
    ]
    assert sum(agreeing) >= 40


@settings(max_examples=25)
@given(answer=st.text(max_size=40), hypothesis=st.text(max_size=40), query=st.text(max_size=40))
def test_any_short_answer_gets_a_verdict(answer: str, hypothesis: str, query: str) -> None:
    """Whatever text, claim and query are, there is a probability, and a span within the text."""
    verdict = entail((answer,), hypothesis, query)
    assert 0 <= (verdict.probability or 0) <= 1
    start, end = verdict.chunks[0].span or (0, 0)
    assert 0 <= start <= end <= len(answer)
