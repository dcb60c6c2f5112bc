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
    judge = rg.judge_from(rate=lambda rubric, response, **_: GRADES[int(response.split()[-1][:-1])], name="grader/1")
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
