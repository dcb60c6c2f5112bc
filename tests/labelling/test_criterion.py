"""People's grades of a criterion measure the judge that graded, as for every metric."""

from __future__ import annotations

from pathlib import Path

import ragauge as rg
from ragauge.analysis.labels import Labelling
from ragauge.store import Store
from ragauge.types import Grade

GRADES = (1, 2, 3, 4, 5, 5)
PEOPLE = (1, 2, 3, 4, 5, 1)  # they disagree on the last


def test_agreement_on_a_criterion(tmp_path: Path) -> None:
    """Labels of a criterion's grades give the agreement of judge and people, and a corrected score."""
    rows = [{"id": str(i), "query": "Refund?", "response": f"Answer number {i}."} for i in range(len(GRADES))]
    judge = rg.judge_from(
        rate=lambda rubric, response, wording, **_: GRADES[int(response.split()[-1][:-1])], name="grader/1"
    )
    run = rg.evaluate(rows, [rg.criterion("It is polite")], judge=judge, store=Store.open(tmp_path / "store"))
    labelling = Labelling(run)
    assert labelling.metric("criterion") == "criterion"
    while (drawn := labelling.next("criterion")) is not None:
        (piece,) = labelling.open(drawn, "criterion")
        labelling.keep(piece.question, Grade(float(PEOPLE[drawn.position])), "ann", drawn)
    summary = labelling.summaries(["criterion"])["criterion"]
    assert (summary.judge.value, summary.corrected.value) == (20 / 6, 16 / 6)
    (agreement,) = summary.agreement
    assert (agreement.kind, agreement.n, agreement.raw.value, agreement.apart) == ("rate", 6, 5 / 6, 4 / 6)


def test_a_preference_is_asked_once_in_an_order_by_chance() -> None:
    """People judge each pair of texts once, in either order, and what they prefer is the sample's score."""
    rows = [
        {"id": str(i), "query": "Refund?", "response": f"Short {i}.", "other": f"Longer by {i}."} for i in range(20)
    ]
    judge = rg.judge_from(rate=lambda rubric, response, other, **_: 0, name="grader/1")
    run = rg.evaluate(rows, 'preference("It is short")', judge=judge)
    labelling = Labelling(run)
    first_texts = []
    while (drawn := labelling.next("preference")) is not None:
        (piece,) = labelling.open(drawn, "preference")
        first_texts.append(dict(piece.question.texts)["response"].split()[0])  # type: ignore[union-attr]
        labelling.keep(piece.question, Grade(2.0 if first_texts[-1] == "Short" else -2.0), "ann", drawn)
    assert {"Short", "Longer"} == set(first_texts)
    assert len(first_texts) == 20
    assert labelling.summaries()["preference"].corrected.value == 2
