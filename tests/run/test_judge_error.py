"""How far the judge's own error can move an estimate, by people's labels of other rows."""

from __future__ import annotations

from pathlib import Path

import pytest

import ragauge as rg
from ragauge.questions import Entail
from ragauge.store import Store, label
from ragauge.types import Label, Verdict


def _said(hypothesis: str) -> bool:
    """Whether the judge affirms a claim such as "true 13 of a": nine of ten that hold, and two of ten others."""
    kind, number, *_ = hypothesis.split()
    digit = int(number) % 10
    return digit != 0 if kind == "true" else digit in (0, 1)


JUDGE = rg.judge_from(decompose=lambda text: text.split("; "), entail=lambda premise, hypothesis: _said(hypothesis))


def _rows(name: str, true: int, false: int) -> list[dict[str, object]]:
    """Rows of one claim each, as many that hold and that do not hold."""
    claims = [f"true {number} of {name}" for number in range(true)]
    claims += [f"false {number} of {name}" for number in range(false)]
    return [{"id": claim, "response": claim, "contexts": [f"Source of {claim}."]} for claim in claims]


def _labelled(store: Store, rows: list[dict[str, object]], blind: str = "") -> None:
    """Judge rows, and label what was asked as it is. blind: as for `Store.keep_labels`."""
    run = rg.evaluate(rows, "faithfulness", JUDGE, store)
    keys = [piece.judgment for record in run.records() for piece in record.score("faithfulness").evidence]
    labels = {True: Verdict(Label.ENTAILED), False: Verdict(Label.NEUTRAL)}
    questions = [judgment.question for judgment in store.find(keys).values() if isinstance(judgment.question, Entail)]
    store.keep_labels([label(one, labels[one.hypothesis.startswith("true")], "ann") for one in questions], blind=blind)


def test_an_estimate_says_what_the_judges_error_does_to_it(tmp_path: Path) -> None:
    """With labels of other rows, the true share is inside the interval, and the report, page and file say it."""
    store = Store.open(tmp_path / "kept")
    _labelled(store, _rows("others", 100, 100))
    run = rg.evaluate(_rows("own", 60, 140), "faithfulness", JUDGE, store)
    error = run.estimates["faithfulness"].judge_error
    assert error is not None
    assert run.estimates["faithfulness"].value == pytest.approx((0.9 * 60 + 0.2 * 140) / 200)
    assert (error.sensitivity, error.specificity) == pytest.approx((0.9, 0.8))
    assert error.labels == 200
    assert error.value == pytest.approx(0.3)
    assert error.low < 0.3 < error.high
    assert run.to_dict()["estimates"]["faithfulness"]["judge_error"]["value"] == error.value
    assert "faithfulness is 0.300 [" in str(run)
    assert "by 200 labels" in str(run)
    assert Store.open(tmp_path / "kept").run(run.id).estimates["faithfulness"].judge_error == error
    again = rg.evaluate(_rows("own", 60, 140), "faithfulness", JUDGE, store, labels=store.labels())
    assert again.estimates["faithfulness"].judge_error == error
    assert "No label was used" not in str(again)


def test_labels_of_what_the_judge_was_in_doubt_of_do_not_count(tmp_path: Path) -> None:
    """Labels of samples that were drawn for the judge's doubt would show more errors than it makes."""
    store = Store.open(tmp_path / "kept")
    _labelled(store, _rows("others", 100, 100))
    _labelled(store, [row for row in _rows("doubtful", 100, 100) if "0 of" in str(row["id"])], blind="data")
    error = rg.evaluate(_rows("own", 60, 140), "faithfulness", JUDGE, store).estimates["faithfulness"].judge_error
    assert error is not None
    assert error.sensitivity == pytest.approx(0.9)
    assert error.labels == 200


def test_too_few_labels_state_nothing_and_say_so(tmp_path: Path) -> None:
    """Labels that leave open whether the judge guesses give no figure, but a note that says what is missing."""
    store = Store.open(tmp_path / "kept")
    _labelled(store, _rows("others", 4, 2))
    run = rg.evaluate(_rows("own", 6, 4), "faithfulness", JUDGE, store)
    assert run.estimates["faithfulness"].judge_error is None
    assert [note for note in run.record.notes if "error can move faithfulness is not known: 6 labels" in note]


def test_nothing_is_said_of_what_labels_are_not_about(tmp_path: Path) -> None:
    """Without labels, by another judge, with people's answers or of another metric there is neither figure nor note."""
    store = Store.open(tmp_path / "kept")
    rows = _rows("others", 100, 100)
    assert not rg.evaluate(rows, "faithfulness", JUDGE, store).record.notes
    _labelled(store, rows)
    other = rg.judge_from(decompose=lambda text: [text], entail=lambda premise, hypothesis: True)
    own = _rows("own", 60, 140)
    runs = [
        rg.evaluate(own, "faithfulness", other, store),
        rg.evaluate(rows, "faithfulness", JUDGE, store),
        rg.evaluate(own, "pooled(faithfulness)", JUDGE, store),
    ]
    for run in runs:
        assert not run.record.notes
        assert all(estimate.judge_error is None for estimate in run.estimates.values())
