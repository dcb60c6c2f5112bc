"""The embedded judge reads fragments and questions with the query they belong to."""

from __future__ import annotations

import ast
import csv
import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragauge.judges.embedded.lexical import entail
from ragauge.types import Label

LABELS = Path(__file__).parents[1] / "golden/valor_rag_labels.jsonl"
OTTER = "Does the otter give birth or lay eggs?"
HARVARD = "Did Roosevelt go to Harvard?"
DAYS = "How many days did the siege of the city take?"
BORN = "When was Einstein born?"

CASES = [
    ("No", "Roosevelt did not go to Harvard.", HARVARD, Label.ENTAILED),
    ("Roosevelt did not go to Harvard.", "Yes", HARVARD, Label.CONTRADICTED),
    ("Roosevelt did not go to Harvard.", "No.", HARVARD, Label.ENTAILED),
    ("Yes, he did.", "yes", HARVARD, Label.ENTAILED),
    ("No, he went to Yale.", "Yes", HARVARD, Label.CONTRADICTED),
    ("Yes", "No", HARVARD, Label.CONTRADICTED),
    ("The book is about whales.", "Yes", HARVARD, Label.NEUTRAL),
    ("The siege of the city took 6 days.", "Six days", DAYS, Label.ENTAILED),
    ("1989", "Nineteen", DAYS, Label.NEUTRAL),
    ("give birth", "Otters lay eggs.", OTTER, Label.NEUTRAL),
    ("CMX", "The most popular rock group is The Rasmus.", "Who is the most popular rock group?", Label.NEUTRAL),
    ("Cleveland", "Grover Cleveland", "Who lost control of his party?", Label.ENTAILED),
    (BORN, "Einstein was born.", None, Label.ENTAILED),
    (BORN, "Einstein was born in 1879.", None, Label.NEUTRAL),
    (BORN, "Einstein was born in Ulm.", None, Label.NEUTRAL),
    ("Did revenue rise?", "Revenue rose.", None, Label.NEUTRAL),
]


@pytest.mark.parametrize(("premise", "hypothesis", "query", "label"), CASES)
def test_a_fragment_is_read_with_its_query(premise: str, hypothesis: str, query: str | None, label: Label) -> None:
    """Yes, no, short answers and presuppositions get the label that the query gives them."""
    assert entail((premise,), hypothesis, query).label == label


def test_a_statement_is_not_excused_by_its_query() -> None:
    """What the query says must still be found in a short context; the query only completes bare answers."""
    context = "The poet and his sister lived for many years in Paris."
    verdict = entail((context,), "The Eiffel Tower was painted in Paris.", "When was the Eiffel Tower painted?")
    assert verdict.label == Label.NEUTRAL


def test_a_fragment_needs_its_query_nearby() -> None:
    """A number in a long text supports a fragment only where the text speaks of what was asked."""
    far = "The library holds six days of recordings from the radio station. " + "Nothing else is known of it. " * 12
    near = "The siege of the city began in spring and took six days. " + "Nothing else is known of it. " * 12
    assert entail((far,), "Six days", DAYS).label == Label.NEUTRAL
    assert entail((near,), "Six days", DAYS).label == Label.ENTAILED


def test_a_fragment_may_be_the_subject_of_the_whole_text() -> None:
    """Where the first sentence names the fragment, later sentences may tell of it what is asked."""
    opening = "Voyager 2 was launched in 1977. " + "Its flight took it past four planets and many of their moons. " * 4
    text = opening + "It is the only spacecraft that has visited Uranus and Neptune."
    query = "Which spacecraft has visited Neptune?"
    assert entail((text,), "Voyager 2", query).label == Label.ENTAILED
    assert entail((text,), "Voyager 1", query).label != Label.ENTAILED
    assert entail((text,), "Cassini", query).label == Label.NEUTRAL


@pytest.mark.shared
def test_it_agrees_with_readers_on_real_fragments(shared: Path) -> None:
    """On the fifty rows of the Valor RAG file its verdicts agree with our labels in at least 40, on both questions."""
    with (shared / "data/valor/valor_rag_data.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    labels = [json.loads(line) for line in LABELS.read_text(encoding="utf-8").splitlines()]
    correct = supported = 0
    for row, label in zip(rows, labels, strict=True):
        contexts = tuple(ast.literal_eval(row["context_list"]))
        correct += entailed((row["prediction"],), row) == label["answer_correct"]
        supported += entailed(contexts, row) == label["context_supports_reference"]
    assert correct >= 40
    assert supported >= 40


def entailed(premise: tuple[str, ...], row: dict[str, str]) -> bool:
    """Whether the row's reference, read with its query, is entailed."""
    return entail(premise, row["groundtruth"], row["query"]).label == Label.ENTAILED


@pytest.mark.parametrize(
    ("query", "answer", "reference"),
    [
        ("When were cigarette adverts banned?", "They were banned in 1965.", "1 August 1965"),
        ("When did the wall fall?", "In November 1989", "9 November 1989"),
        ("When did the band part?", "1968", "late 1968"),
        ("Where is the university?", "Madison", "Madison, Wisconsin"),
        ("Where is the final played?", "Camping World Stadium", "Camping World Stadium in Orlando"),
        ("Who wrote the opera?", "George Handel", "George Frideric Handel"),
        ("Which element is it?", "gold", "gold (Au)"),
        ("What is the capital of the USA?", "Washington", "Washington, D.C."),
        ("Who is the president?", "President Obama", "Barack Obama"),
        ("Who reigned then?", "Elizabeth II", "Queen Elizabeth II"),
        ("Who stars in it?", "Samuel Jackson", "Samuel L. Jackson"),
        ("Which film is it?", "Star Wars", "Star Wars: A New Hope"),
    ],
)
def test_a_coarser_answer_gives_the_reference(query: str, answer: str, reference: str) -> None:
    """What only narrows a short reference may be left out of an answer."""
    assert entail((answer,), reference, query).label == Label.ENTAILED


@pytest.mark.parametrize(
    ("query", "answer", "reference"),
    [
        ("When were cigarette adverts banned?", "They were banned on 3 May 1965.", "1 August 1965"),
        ("Where is the university?", "Madison, Indiana", "Madison, Wisconsin"),
        ("Where is the university?", "Wisconsin", "Madison, Wisconsin"),
        ("Who wrote the opera?", "George Philipp Handel", "George Frideric Handel"),
        ("Which countries border it?", "Iran", "Iran and Iraq"),
        ("Who sang it?", "Elton Dee", "Elton John, Kiki Dee"),
        ("Where is the university?", "madison, indiana", "Madison, Wisconsin"),
        ("When did the band part?", "early 1968", "late 1968"),
        ("When did the wall fall?", "Not on 9 November 1989", "9 November 1989"),
        ("When did the wall fall?", "It did not fall in 1989", "9 November 1989"),
        ("Where is it?", "Not in Madison", "Madison, Wisconsin"),
        ("Was it banned?", "No, 1965", "Yes, 1 August 1965"),
        ("Who is the president?", "President Bush", "Barack Obama"),
        ("Who reigned then?", "Elizabeth I", "Queen Elizabeth II"),
        ("Which film is it?", "Star Wars: The Last Jedi", "Star Wars: A New Hope"),
        ("Which theory is it?", "special relativity", "general relativity"),
        ("Which war was it?", "World War I", "World War II"),
    ],
)
def test_an_answer_that_narrows_otherwise_does_not(query: str, answer: str, reference: str) -> None:
    """Another day, place or middle name is not a coarser answer, nor is the wider part alone, nor half of a list."""
    assert entail((answer,), reference, query).label != Label.ENTAILED


@pytest.mark.parametrize(
    ("query", "answer", "reference"),
    [
        ("What does NASA stand for?", "NASA", "National Aeronautics and Space Administration"),
        ("Which agency is it?", "not NASA", "National Aeronautics and Space Administration"),
        ("Which agency is it?", "NOAA", "National Aeronautics and Space Administration"),
        ("Which body is it?", "the UN", "the United Kingdom"),
        ("Which body is it?", "It is under no control.", "the UN"),
        ("Which country is it?", "George Bush", "GB"),
        ("Which war was it?", "WWI", "the Second World War"),
        ("How much was it?", "1.5", "15"),
    ],
)
def test_other_initials_are_another_name(query: str, answer: str, reference: str) -> None:
    """Initials that do not fit, are denied, or stand in the question give no name."""
    assert entail((answer,), reference, query).label != Label.ENTAILED


@given(answer=st.text(max_size=40), reference=st.text(max_size=40), query=st.text(max_size=40))
@example(
    answer="Paris is in France.", reference="It is not mentioned in the provided context.", query="Where was Ann born?"
)
@example(answer="x", reference=", in", query="Where?")
def test_any_answer_gets_a_verdict(answer: str, reference: str, query: str) -> None:
    """Whatever the answer, the reference and the query are, there is a probability."""
    assert 0 <= (entail((answer,), reference, query).probability or 0) <= 1


@pytest.mark.parametrize(("premise", "hypothesis", "query", "_label"), CASES)
def test_the_span_lies_in_the_source(premise: str, hypothesis: str, query: str | None, _label: Label) -> None:
    """What decides is a part of the source, never of the query that a short source is read with."""
    (chunk,) = entail((premise,), hypothesis, query).chunks
    assert chunk.span is None or 0 <= chunk.span[0] < chunk.span[1] <= len(premise)
