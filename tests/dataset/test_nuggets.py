"""`ragauge dataset nuggets`: proposals by a judge, graded anew by people, in the forms of others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import ragauge as rg
from ragauge.cli.main import main
from ragauge.datasets.nuggets import nuggets
from ragauge.needs.nuggets import NUGGET
from ragauge.questions import Rate
from ragauge.store import Store, label
from ragauge.types import Grade

ROW = {
    "id": "q1",
    "query": "How is tea made?",
    "references": ["Tea needs hot water; Tea steeps for minutes"],
    "contexts": [
        {"id": "c1", "text": "Tea needs very hot water; Tea is old"},
        {"id": "c2", "text": "Ships are long"},
    ],
}


@pytest.fixture
def grader() -> rg.judges.Judge:
    """Texts help that speak of tea, but not of its age; water says the same as hot water; what steeps is vital."""

    def entail(premise: str, hypothesis: str) -> bool:
        return ("water" in premise) == ("water" in hypothesis)

    return rg.judge_from(
        decompose=lambda text: [piece.strip() for piece in text.split(";")],
        relevant=lambda query, text: "Tea" in text and text != "Tea is old",
        entail=entail,
        rate=lambda rubric, query, response: 2.0 if "steeps" in response else 1.0,
        name="grader",
    )


def found(made: Any) -> list[tuple[str, bool, str]]:
    """The nuggets of the first question."""
    return [(nugget.text, nugget.vital, nugget.chunk) for nugget in made.questions[0][1]]


def test_claims_that_help_are_nuggets_each_once(grader: rg.judges.Judge) -> None:
    """Of texts that help, claims that help; what says the same as an earlier one is left out; vital ones come first."""
    assert found(nuggets([ROW], grader)) == [
        ("Tea steeps for minutes", True, "references[0]"),
        ("Tea needs hot water", False, "references[0]"),
    ]


def test_the_grades_of_people_count_first(grader: rg.judges.Judge, tmp_path: Path) -> None:
    """A person who grades a proposal as not needed takes it out, and another is made vital; nothing is asked again."""
    with Store.open(tmp_path / "store") as store:
        first = nuggets([ROW], grader, store=store)
        assert first.run is not None
        assert "nuggets" in first.run.estimates
        for text, grade in (("Tea steeps for minutes", 0), ("Tea needs hot water", 2)):
            question = Rate(NUGGET, (("query", str(ROW["query"])), ("response", text)))
            store.keep_labels([label(question, Grade(grade), "Ada")])
        again = nuggets([ROW], grader, store=store)
        assert found(again) == [("Tea needs hot water", True, "references[0]")]
        assert again.run is not None
        assert again.run.record.asked == 0


def run(*arguments: str) -> str:
    """What the command prints; it succeeds."""
    result = CliRunner().invoke(main, [*arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_a_nugget_names_the_chunk_that_it_was_read_in(grader: rg.judges.Judge) -> None:
    """Without references the claims of chunks that help are proposed, each with its place."""
    row = {**ROW, "references": None}
    assert found(nuggets([row], grader)) == [("Tea needs very hot water", False, "contexts[0]")]


@pytest.mark.parametrize("form", ["ragauge", "nuggetizer", "healthbench"])
def test_forms_are_read_again(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nuggets that are there are written in each form without a question, and read as nuggets or criteria."""
    monkeypatch.chdir(tmp_path)
    row = {**ROW, "answers": [{"text": "Steeps", "vital": True}, {"text": "Hot", "vital": False}]}
    Path("questions.jsonl").write_text(json.dumps(row))
    printed = run("dataset", "nuggets", "questions.jsonl", "-o", "out.jsonl", "--form", form)
    assert "1 question, 2 nuggets, 1 vital" in printed
    (sample,) = rg.read("out.jsonl")
    assert (sample.id, sample.query) == ("q1", "How is tea made?")
    if form == "healthbench":
        assert [(one.text, one.points) for one in sample.criteria or ()] == [
            ("Says that: Steeps", 2),
            ("Says that: Hot", 1),
        ]
    else:
        assert (sample.answers, sample.answer_weights) == ((("Steeps",), ("Hot",)), (1, 0.5))


def test_a_judge_that_does_not_grade_is_refused_before_anything_is_asked() -> None:
    """The embedded judge takes texts apart, but grades none; without a judge the error says which to name."""
    with pytest.raises(rg.errors.UsageError, match="embedded does not answer rate"):
        nuggets([ROW], "embedded")
    with pytest.raises(rg.errors.UsageError, match=r"'q1' has no nuggets, .* -j rate=MODEL"):
        nuggets([ROW])


@pytest.mark.parametrize("form", ["ragauge", "nuggetizer", "healthbench"])
def test_a_question_that_the_judge_did_not_answer_has_no_list(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where grading fails, the exit code is 1, and no file says that there is nothing to say."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("failing.py").write_text(
        "import ragauge as rg\n"
        "def rate(rubric, query, response):\n"
        "    return 1 / ('tea' not in query)\n"
        "judge = rg.judge_from(\n"
        "    decompose=lambda text: [text], relevant=lambda query, text: True,\n"
        "    entail=lambda premise, hypothesis: False, rate=rate, name='failing')\n"
    )
    other = {"id": "q2", "query": "How long are ships?", "references": ["Ships are long"]}
    Path("questions.jsonl").write_text(f"{json.dumps(ROW)}\n{json.dumps(other)}\n")
    command = ["dataset", "nuggets", "questions.jsonl", "-j", "python:failing:judge", "-o", "out.jsonl", "--form", form]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 1
    assert "2 questions, 1 nugget, 0 vital\nwithout nuggets, since the judge did not answer: 1\n" in result.output
    assert "scores failed (nuggets 1), the first because: judge_error: rate() raised ZeroDivisionError" in result.output
    rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert len(rows) == (2 if form == "ragauge" else 1)
    assert [row["answers"] for row in rows if "answers" in row] == (
        [[{"text": "Ships are long", "vital": False, "chunk": "references[0]"}]] if form == "ragauge" else []
    )


def test_a_nugget_without_text_is_named_before_anything_is_asked() -> None:
    """One line says which sample has it."""
    with pytest.raises(rg.errors.BadData, match="sample 'q1': a gold claim in 'answers' has no wording"):
        nuggets([{**ROW, "answers": [["Hot"], []]}])
