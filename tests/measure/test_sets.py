"""Labelled sets: the question of each row, and which rows count."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.measure.labelled import SETS, write

from ragauge.analysis.measure import labelled_files, overlap, read_cases
from ragauge.questions import Classify, Correct, Entail, Rate, Relevant


@pytest.mark.parametrize(
    ("name", "kinds", "label"),
    [
        ("ent_a", [Entail], 1),
        ("cit_a", [Entail], 0),
        ("rag_a", [Entail], 1),
        ("rel_a", [Relevant], 0),
        ("ans_a", [Correct], 1),
        ("resp_a", [Rate], 0),
        ("coh_a", [Rate], 1),
        ("tox_a", [Classify], 1),
    ],
)
def test_each_kind_of_set_asks_its_question(tmp_path: Path, name: str, kinds: list[type], label: int) -> None:
    """The prefix of the file decides the questions and what counts as 1."""
    (case,) = read_cases(write(tmp_path, name, [SETS[name]])) or []
    assert [type(question) for question in case.questions] == kinds
    assert case.label == label


@pytest.mark.parametrize(
    ("categories", "label", "kept"),
    [
        ({"H": 1, "S": 0}, 1, [1]),
        ({"V2": 1}, 1, [1]),
        ({"H": 0, "SH": 0}, 0, [0]),
        ({"H": 0, "SH": 1}, 1, []),
        ({"S": 1, "S3": 0}, 1, []),
        ({"S": 0, "S3": 0}, 0, []),
    ],
)
def test_hostile_categories_are_toxic(tmp_path: Path, categories: dict[str, int], label: int, kept: list[int]) -> None:
    """Hate, harassment and violence are toxic; a text of another category alone, or of none, is left out."""
    row = {"text": "t", "label": label, "categories": categories}
    cases = read_cases(write(tmp_path, "tox_a", [row])) or []
    assert [case.label for case in cases] == kept
    assert all(case.words is None for case in cases)


def test_a_limit_draws_the_same_rows_each_time(tmp_path: Path) -> None:
    """A seeded sample of the given size."""
    file = write(tmp_path, "ent_a", [SETS["ent_a"] | {"claim": str(at)} for at in range(50)])
    first, again = read_cases(file, limit=5), read_cases(file, limit=5)
    assert first == again
    assert first is not None
    assert len(first) == 5


def test_improper_questions_and_citations_without_text_are_left_out(tmp_path: Path) -> None:
    """Rows that people marked as unfit are not measured."""
    answers = write(tmp_path, "ans_a", [SETS["ans_a"] | {"improper": True}])
    citations = write(tmp_path, "cit_a", [SETS["cit_a"] | {"has_text": False}])
    assert read_cases(answers) == []
    assert read_cases(citations) == []


@pytest.mark.parametrize(
    ("word", "label"),
    [("Entailed", 1), ("entailment", 1), ("supported", 1), ("contradiction", 0), ("not_entailed", 0), ("No", 0)],
)
def test_labels_are_words_in_their_usual_forms(tmp_path: Path, word: str, label: int) -> None:
    """A label in words counts in capitals too, and in the words that public data sets use."""
    (case,) = read_cases(write(tmp_path, "ent_a", [SETS["ent_a"] | {"label": word}])) or []
    assert case.label == label


def test_notes_beside_the_sets_are_no_sets(tmp_path: Path) -> None:
    """A text in the folder is left alone, whatever its name."""
    file = write(tmp_path, "ent_a", [SETS["ent_a"]])
    (tmp_path / "ent_NOTES.txt").write_text("Where it is from.")
    assert labelled_files(tmp_path) == [file]


def test_the_lexical_baseline_is_the_share_of_tokens_found() -> None:
    """Two of three tokens are in the premise; a text without tokens has none."""
    assert overlap("a b c", "A, b!") == pytest.approx(2 / 3)
    assert overlap("...", "a") == 0.0
