"""Claims: which parts of a sentence become statements of their own, how they are completed, and what stays whole."""

from __future__ import annotations

from pathlib import Path

import pytest

import ragauge as rg
from ragauge.judges.embedded.judge import EmbeddedJudge
from ragauge.judges.embedded.statements.decomposing import decompose

TOLD_APART = [
    # Verb phrases.
    ("Ann moved to Rome and became a nurse.", ["Ann moved to Rome.", "Ann became a nurse."]),
    (
        "Ann moved to Rome, wrote a novel, and died in 1950.",
        ["Ann moved to Rome.", "Ann wrote a novel.", "Ann died in 1950."],
    ),
    (
        "The book was written in 1950 and published by Acme.",
        ["The book was written in 1950.", "The book was published by Acme."],
    ),
    ("Ann was born in Ulm and moved to Rome.", ["Ann was born in Ulm.", "Ann moved to Rome."]),
    ("Ann was born in Ulm and won the prize.", ["Ann was born in Ulm.", "Ann won the prize."]),
    ("Ann has won a prize and written a novel.", ["Ann has won a prize.", "Ann has written a novel."]),
    ("Otters eat fish and live in rivers.", ["Otters eat fish.", "Otters live in rivers."]),
    ("The tool is free but has few users.", ["The tool is free.", "The tool has few users."]),
    ("The tool reads the files and provides a list.", ["The tool reads the files.", "The tool provides a list."]),
    ("The tool can open files and write the list.", ["The tool can open files.", "The tool can write the list."]),
    ("However, the firm grew and was sold.", ["However, the firm grew.", "The firm was sold."]),
    (
        "In the novel, Ann marries Bob in Rome and moves to Ulm. In the novel, she goes to Rome and is ill.",
        [
            "In the novel, Ann marries Bob in Rome and moves to Ulm.",
            "In the novel, she goes to Rome.",
            "In the novel, she is ill.",
        ],
    ),
    (
        "In 1950, Ann left Ulm for Rome and later became a nurse.",
        ["In 1950, Ann left Ulm for Rome.", "Ann later became a nurse."],
    ),
    # What something is.
    (
        "Ann was a nurse and the first woman to win the prize.",
        ["Ann was a nurse.", "Ann was the first woman to win the prize."],
    ),
    ("It is a cat, a pet, and a friend.", ["It is a cat.", "It is a pet.", "It is a friend."]),
    # Asides.
    ("Ann, who was born in Ulm, won a prize.", ["Ann won a prize.", "Ann was born in Ulm."]),
    ("Ann, whose father was a smith, won a prize.", ["Ann won a prize.", "Ann's father was a smith."]),
    ("Marie Curie, a Polish physicist, won it.", ["Marie Curie won it.", "Marie Curie was a Polish physicist."]),
    (
        "Lisbon is the capital and the largest city of Portugal.",
        ["Lisbon is the capital and the largest city of Portugal."],
    ),
    ("Ann was the mayor and the teacher.", ["Ann was the mayor.", "Ann was the teacher."]),
    ("Rome, the capital of Italy, is old.", ["Rome is old.", "Rome is the capital of Italy."]),
    ("The capital, Oslo, has a harbour.", ["The capital has a harbour.", "The capital is Oslo."]),
    ("The tower, built in 1889, is high.", ["The tower is high.", "The tower was built in 1889."]),
    ("Rome, also known as Roma, is old.", ["Rome is old.", "Rome is also known as Roma."]),
    ("Founded in 1976, the firm makes tools.", ["The firm makes tools.", "The firm was founded in 1976."]),
    ("Ann Lee (born 3 May 1950) is a nurse.", ["Ann Lee is a nurse.", "Ann Lee was born 3 May 1950."]),
    ("It was built by Ann Lee, who died in 1950.", ["It was built by Ann Lee.", "Ann Lee died in 1950."]),
    ("It was built by Ann Lee, a Swiss architect.", ["It was built by Ann Lee.", "Ann Lee was a Swiss architect."]),
    ("He lives in Ulm, which is a city in Germany.", ["He lives in Ulm.", "Ulm is a city in Germany."]),
    ("He lives in Ulm, a city in Germany.", ["He lives in Ulm.", "Ulm is a city in Germany."]),
    # Place and time.
    (
        "Einstein was born in Germany on 20th March 1879.",
        ["Einstein was born in Germany.", "Einstein was born on 20th March 1879."],
    ),
    (
        "It was held on May 5, 1950, at the Ritz in Ulm.",
        ["It was held on May 5, 1950.", "It was held at the Ritz in Ulm."],
    ),
    ("In 1976, Acme was founded in Ulm, Germany.", ["In 1976, Acme was founded.", "Acme was founded in Ulm, Germany."]),
    (
        "Acme was founded in Ulm in 1976 by Ann Lee.",
        ["Acme was founded in Ulm by Ann Lee.", "Acme was founded in 1976 by Ann Lee."],
    ),
    ("She won the Prize in Physics in 1903.", ["She won the Prize in Physics.", "She won the Prize in 1903."]),
    ("He ruled and died in Ulm between 1950 and 1960.", ["He ruled and died in Ulm between 1950 and 1960."]),
    # All together.
    (
        "Ann Lee, a nurse, was born in Ulm in 1900 and died in **Rome** [1]. She was tall.",
        [
            "Ann Lee was born in Ulm.",
            "Ann Lee was a nurse.",
            "Ann Lee was born in 1900.",
            "Ann Lee died in Rome.",
            "Ann Lee was tall.",
        ],
    ),
]

WHOLE = [
    "Ann cut bread and butter.",
    "Ann bought an old and abandoned house.",
    "Ann wrote and directed the film.",
    "Ann did not go to Rome and stay there.",
    "Ann said that Bob moved to Rome and became a nurse.",
    "Ann opened the box and read it.",
    "Nobody moved to Rome and became a nurse.",
    "If it rains, the lid closes and the fan is off.",
    "The fan is on and the lid opens when it rains.",
    "Ann found a house built in Rome and sold in 1950.",
    "The novel written by Ann and published in 1950 was a success.",
    "Ann is not only old but also has a cat.",
    '"Ann moved to Rome and became a nurse," he said.',
    "Did Ann move to Rome and become a nurse?",
    "Ann bought a dog, a cat, and a house in Rome.",
    "It is a road between a town and a village.",
    "In Ulm, Germany, a man, Bob, died.",
    "Ann met Bob in Ulm, who was ill.",
    "Ann left Ulm, which was a pity for all.",
    "Ann saw a bear in the Arctic, which is the most northern sighting.",
    "Ann picked up and threw the ball.",
    "He returned to Rome, a changed man.",
    "Paris, France, is a city.",
    "The next day, Ann, ill and tired, left.",
    "Born in Ulm, her father was a smith.",
    "The firm (Acme Tools) makes tools.",
    "Three schools were built in Ulm in 1950.",
    "The film was released in Japan on 8 July 2017.",
    "He lived in Ulm in 1950.",
    "It was not built in Ulm in 1950.",
    "It may have been built in Ulm in 1950.",
    "Games were held in Ulm in 1900 and in Rome in 1908.",
    "While the film was long and made Bob rich, critics left.",
    "The lakes drain a large watershed via rivers, and are deep.",
    "Ann tells Bob of the fire and the man kills Eve but is caught.",
]

MEANT = [
    ("Marie Curie was born in Warsaw, Poland.", "She won it.", "Marie Curie won it."),
    ("Marie Curie was a Polish physicist.", "She won it.", "Marie Curie won it."),
    ("Einstein died in Princeton.", "He was tall.", "Einstein was tall."),
    ("Python is a language.", "It was made by Guido.", "Python was made by Guido."),
    ("Otters are mammals.", "They eat fish.", "Otters eat fish."),
]
OPEN = [
    ("Marie Curie married Pierre Curie in Paris.", "She won it."),
    ("Ann Lee was born to a teacher.", "He was old."),
    ("Acme grew in Rome.", "He was old."),
    ("Ann saw a cat in Rome.", "It was old."),
    ("Python is a language.", "It is true that it grew."),
    ("Python is a language.", "They eat fish."),
    ("The reason is a fault in the engine.", "It was found."),
    ("Is Ann a nurse?", "She won it."),
]


@pytest.mark.parametrize(("text", "expected"), TOLD_APART)
def test_each_part_is_a_statement_of_its_own(text: str, expected: list[str]) -> None:
    """What a sentence says of one subject is split and completed, in the order of the text."""
    assert [statement.text for statement in decompose(text)] == expected


@pytest.mark.parametrize("text", WHOLE)
def test_what_is_doubtful_stays_whole(text: str) -> None:
    """Where a part might be false, broken or about something else, a sentence remains one statement."""
    assert [statement.text for statement in decompose(text)] == [text]


@pytest.mark.parametrize(("before", "text", "expected"), MEANT)
def test_a_pronoun_gives_way_to_the_only_name_it_can_mean(before: str, text: str, expected: str) -> None:
    """At the beginning of a sentence it is replaced by the subject before, whose span the statement does not take."""
    first, second = decompose(f"{before} {text}")
    assert (first.text, second.text) == (before, expected)
    assert second.span == (len(before) + 1, len(before) + 1 + len(text))


@pytest.mark.parametrize(("before", "text"), OPEN)
def test_a_pronoun_that_may_mean_another_stays(before: str, text: str) -> None:
    """Where somebody or something else is in sight, or nothing is meant at all, a pronoun is left as it is."""
    assert decompose(f"{before} {text}")[-1].text == text


def test_what_a_pronoun_means_holds_through_a_passage_and_not_beyond() -> None:
    """The name is carried from sentence to sentence of a paragraph, and each paragraph begins anew."""
    passage = "Marie Curie was born in Warsaw. She moved to Paris. She won a prize, and she died in 1934."
    texts = [statement.text for statement in decompose(f"{passage}\n\nShe was famous.")]
    assert texts[1:] == [
        "Marie Curie moved to Paris.",
        "Marie Curie won a prize.",
        "Marie Curie died in 1934.",
        "She was famous.",
    ]


def test_spans_are_those_of_the_words_that_are_not_repeated() -> None:
    """A part has the span of its own words; an aside lies within the clause that it interrupts."""
    text = "Ann, who was born in Ulm [1], left Rome and became a nurse in Bonn."
    spans = [text[slice(*statement.span or ())] for statement in decompose(text)]
    assert spans == ["Ann, who was born in Ulm [1], left Rome", "who was born in Ulm", "and became a nurse in Bonn."]


def test_the_examples_of_the_documentation() -> None:
    """Each text in the table of the documentation is taken apart as it says."""
    page = (Path(__file__).parents[2] / "docs/embedded-judge.md").read_text(encoding="utf-8")
    table = page.partition("| text | claims |")[2].partition("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    assert len(rows) >= 5
    for text, claims in rows:
        assert " ".join(statement.text for statement in decompose(text)) == claims


def test_the_example_of_faithfulness_is_half_supported() -> None:
    """The response of the ragas documentation makes two claims, of which the context supports the place alone."""
    sample = {
        "query": "Where and when was Einstein born?",
        "response": "Einstein was born in Germany on 20th March 1879.",
        "contexts": ["Albert Einstein (born 14 March 1879) was a German-born theoretical physicist."],
    }
    run = rg.evaluate([sample], metrics="faithfulness", judge=EmbeddedJudge())
    assert run.estimates["faithfulness"].value == 0.5
