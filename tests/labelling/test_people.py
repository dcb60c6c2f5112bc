"""Labelling by several people: who labelled what, how far they agree, and who decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import msgspec
import pytest
from click.testing import CliRunner
from tests.labelling.conftest import truth
from tests.serving import serving

import ragauge as rg
from ragauge.analysis.labels import Labelling, parse_answer
from ragauge.cli.main import main
from ragauge.questions import Question
from ragauge.store import Store
from ragauge.types import Grade
from ragauge.view import App, Server

Measured = Callable[..., rg.Run]
METRIC = "faithfulness"


def answers(labelling: Labelling, by: str, count: int, answer: Callable[[Question], str] = truth) -> None:
    """Have a person label so many samples, whatever others have labelled."""
    for _ in range(count):
        drawn = labelling.next(METRIC, by=by)
        assert drawn is not None
        for piece in labelling.open(drawn, METRIC, by):
            labelling.keep(piece.question, parse_answer(piece.question, answer(piece.question)), by, drawn)


def sceptical(question: Question) -> str:
    """As the truth, but what is said in the first sample holds for nothing."""
    return "n" if "Claim 0." in str(question) else truth(question)


def test_each_person_labels_without_sight_of_the_others(measured: Measured) -> None:
    """With `by`, what others have labelled comes too, and their labels are not shown; progress is each person's own."""
    labelling = Labelling(measured(6))
    answers(labelling, "ann", 6)
    assert labelling.next(METRIC) is None
    drawn = labelling.next(METRIC, by="bob")
    assert drawn is not None
    assert [piece.label for piece in labelling.open(drawn, METRIC, "bob")] == [None] * 4
    answers(labelling, "bob", 2)
    people = labelling.people(METRIC)
    assert (people.questions, people.counts) == (24, {"ann": 24, "bob": 8})
    ((pair, (agreement,)),) = people.agreement.items()
    assert (pair, agreement.n, agreement.raw.value) == (("ann", "bob"), 8, 1.0)
    assert people.differing == {}


def test_differences_are_decided_by_whoever_labels_them(measured: Measured) -> None:
    """Where two people differ a third is asked, and no more once that is done; the label that decides counts."""
    labelling = Labelling(measured(6))
    answers(labelling, "ann", 6)
    answers(labelling, "bob", 6, sceptical)
    people = labelling.people(METRIC)
    assert len(people.differing) == 2  # of the four claims of a sample two are true
    drawn = labelling.next(METRIC, by="cy", differing=True)
    assert drawn is not None
    assert drawn.position == 0
    pieces = labelling.open(drawn, METRIC, "cy", differing=True)
    assert {piece.question for piece in pieces} == set(people.differing.values())
    for piece in pieces:
        labelling.keep(piece.question, parse_answer(piece.question, "n"), "cy", drawn, decides=True)
    assert labelling.people(METRIC).differing == {}
    assert labelling.next(METRIC, by="cy", differing=True) is None
    assert labelling.scores(0)[METRIC].value == 0
    words = list(labelling.people(METRIC).lines())
    assert words[0] == "ann 24 of 24, bob 24 of 24, cy 2 of 24 questions"
    assert any(line.startswith("  ann and bob: raw agreement 0.917") for line in words)
    assert words[-1] == "  0 differences to decide: ragauge label --differences"


@pytest.mark.parametrize("order", list(permutations(("ann", "bob", "cy"))))
def test_the_majority_counts_in_any_order(measured: Measured, order: Sequence[str]) -> None:
    """Whoever labelled last decides nothing: where two of three people agree, theirs is the label that counts."""
    run = measured(6)
    labelling = Labelling(run)
    for person in order:
        answers(labelling, person, 6, sceptical if person == "bob" else truth)
    assert len(labelling.people(METRIC).differing) == 2
    assert labelling.scores(0)[METRIC].value == 0.5
    again = measured(6)
    assert any(
        note.startswith("People differ on 2 labelled questions; the majority counts") for note in again.record.notes
    )
    assert again.values(METRIC)[0] == 0.5


def test_without_a_majority_the_judge_counts(measured: Measured) -> None:
    """Where one person stands against another no label counts, and nobody is asked for more."""
    labelling = Labelling(measured(6))
    answers(labelling, "ann", 6)
    answers(labelling, "bob", 6, sceptical)
    people = labelling.people(METRIC)
    assert people.undecided == 2
    assert list(people.lines())[-1] == (
        "  2 differences to decide (2 without a majority, left out of the figures): ragauge label --differences"
    )
    assert labelling.next(METRIC) is None
    summary = labelling.summaries([METRIC])[METRIC]
    assert summary.counted == 5  # the sample on which they differ has no score by people


def test_the_mean_of_grades_counts_in_later_runs(store: Store) -> None:
    """Two people's grades count by their mean, whose piece a later run can label, until somebody decides."""
    rows = [{"id": "s", "query": "Who?", "response": "Ada."}]
    judge = rg.judge_from(rate=lambda rubric, response, **_: 3, name="grader/1")
    metric = rg.criterion("It is polite", name="polite")
    for by, grade in (("bob", "5"), ("ann", "4"), ("cy", "1")):
        labelling = Labelling(rg.evaluate(rows, [metric], judge, store))
        (piece,) = labelling.pieces(0, "polite", by)
        decides = by == "cy"
        labelling.keep(piece.question, parse_answer(piece.question, grade), by, decides=decides)
        labelling = Labelling(rg.evaluate(rows, [metric], judge, store))
        (piece,) = labelling.pieces(0, "polite")
        assert piece.label is not None
        assert piece.label.answer == Grade({"bob": 5.0, "ann": 4.5, "cy": 1.0}[by])
        assert labelling.run.values("polite") == [piece.label.answer.value]


def test_people_are_told_of_in_later_runs(measured: Measured) -> None:
    """A run whose answers were the labels of earlier ones has the same agreement and differences of people."""
    labelling = Labelling(measured(6))
    answers(labelling, "ann", 6)
    answers(labelling, "bob", 6, sceptical)
    later = Labelling(measured(6))
    assert list(later.people(METRIC).lines()) == list(labelling.people(METRIC).lines())
    drawn = later.next(METRIC, by="cy", differing=True)
    assert drawn is not None
    assert len(later.open(drawn, METRIC, "cy", differing=True)) == 2


def test_one_person_alone_is_told_nothing_new(measured: Measured) -> None:
    """With the labels of one person there is no agreement of people to tell."""
    labelling = Labelling(measured(3))
    answers(labelling, "ann", 3)
    assert list(labelling.people(METRIC).lines()) == []


def test_labels_of_colleagues_come_from_files(measured: Measured, store: Store, tmp_path: Path) -> None:
    """--write gives all labels to a colleague, whose store has them after --read; no page is opened."""
    labelling = Labelling(measured(4))
    answers(labelling, "ann", 4)
    answers(labelling, "bob", 4, sceptical)
    file, place = tmp_path / "labels.jsonl", str(store.path)
    written = CliRunner().invoke(main, ["label", "--store", place, "--write", str(file)])
    assert f"wrote 32 labels to {file}" in written.output
    assert "2 differences to decide" in written.output
    assert '"decides"' not in file.read_text()
    with Store.open(tmp_path / "other") as other:
        run = rg.evaluate([record.sample for record in labelling.run.records()], METRIC, "lexical", other)
        assert run.record.samples == 4
    read = CliRunner().invoke(main, ["label", "--store", str(tmp_path / "other"), "--read", str(file)])
    assert read.exit_code == 0, read.output
    assert f"read 32 labels from {file}: 32 of them answer questions of run {run.id}" in read.output
    with Store.open(tmp_path / "other") as other:
        assert len(other.labels()) == 32


def test_the_page_of_differences_settles_them(measured: Measured, store: Store) -> None:
    """What is labelled in a page of differences decides; in another page the label is one of several."""
    labelling = Labelling(measured(6))
    answers(labelling, "ann", 6)
    answers(labelling, "bob", 6, sceptical)
    run = f"api/runs/{labelling.run.id}"
    for differing, left in ((False, 2), (True, 0)):
        app = App(store, "cy", each=True, differing=differing)
        for judgment in labelling.people(METRIC).differing:
            body = {"position": 0, "metric": METRIC, "judgment": judgment, "answer": "n"}
            reply = msgspec.json.decode(app.post([*run.split("/"), "labels"], msgspec.json.encode(body)).body)
            (piece,) = (piece for piece in reply["pieces"] if piece["judgment"] == judgment)
            assert piece["label"]["by"] == "cy"
        assert len(labelling.people(METRIC).differing) == left


def test_the_page_of_each_person_shows_no_label_of_another(measured: Measured, store: Store) -> None:
    """A page with `each` draws what somebody else has labelled, without the answer; another leaves it out."""
    labelling = Labelling(measured(3))
    answers(labelling, "ann", 3)

    def drawn(resource: str = "next", **how: bool) -> dict[str, Any]:
        with serving(Server(store, "bob", **how)) as server:
            address = f"{server.address}api/runs/{labelling.run.id}/{resource}?metric={METRIC}"
            with urlopen(address, timeout=20) as reply:
                found: dict[str, Any] = msgspec.json.decode(reply.read())
                return found

    own, all_figures = (drawn("labels", each=each)["summaries"][METRIC] for each in (True, False))
    assert (own["labelled"], own["agreement"], all_figures["labelled"]) == (0, [], 3)
    shown = drawn(each=True)
    assert [piece["label"] for piece in shown["pieces"]] == [None] * 4
    assert drawn()["draw"] is None
    assert drawn(differing=True)["draw"] is None
