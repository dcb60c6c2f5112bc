"""Fitting the threshold of a cascade on people's labels."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.analysis.measure import labelled_sets
from ragauge.judges.composite import FittedThreshold, fit_thresholds
from ragauge.questions import Correct, Entail, Question, Relevant
from ragauge.types import Answer, Failure, Label, Verdict

YES, NO = Label.ENTAILED, Label.NOT_ENTAILED


def fit(votes: list[tuple[float, bool]], accuracy: float = 0.95) -> FittedThreshold:
    """What is fitted for a judge that supports every claim with a probability, and people who say if that is right."""
    asked: list[Question] = [Entail((f"premise {at}",), "h") for at in range(len(votes))]
    yes = {question: right for question, (_, right) in zip(asked, votes, strict=True)}
    answers: dict[Question, Answer | Failure] = {
        question: Verdict(YES, p) for question, (p, _) in zip(asked, votes, strict=True)
    }
    return fit_thresholds(yes, answers, accuracy)["entail"]


def test_the_lowest_threshold_that_will_do() -> None:
    """A judge right from 0.8 on and wrong below gets that threshold, with its share and a bound on its accuracy."""
    found = fit([(0.9, True)] * 100 + [(0.8, True)] * 100 + [(0.7, False)] * 200)
    assert (found.labelled, found.threshold, found.at, found.share, found.accuracy) == (400, 0.8, 0.8, 0.5, 1.0)
    assert found.bound == pytest.approx(0.05 ** (1 / 200), abs=0.003)


def test_accuracy_has_to_be_shown() -> None:
    """All of fifty right shows no 95 %, and all of seventy does."""
    few, enough = fit([(0.9, True)] * 50), fit([(0.9, True)] * 70)
    assert few.threshold is None
    assert (few.accuracy, few.bound < 0.95) == (1.0, True)
    assert enough.threshold == 0.9


def test_where_nothing_will_do_the_nearest_is_reported() -> None:
    """A judge that is never right enough gets no threshold, and the figures of the best that there is."""
    found = fit([(0.9, n % 10 > 0) for n in range(300)] + [(0.6, n % 2 > 0) for n in range(300)])
    assert found.threshold is None
    assert found.at is not None
    assert (found.at, found.share, found.accuracy) == (0.9, 0.5, 0.9)


def test_without_probabilities_there_is_nothing_to_fit() -> None:
    """A judge that gives no probabilities has no threshold and no figures."""
    asked = [Entail((str(at),), "h") for at in range(99)]
    found = fit_thresholds(dict.fromkeys(asked, True), dict.fromkeys(asked, Verdict(YES)), 0.95)
    assert found == {"entail": FittedThreshold(99)}


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60), st.floats(0.05, 0.95))
def test_beyond_what_is_fitted_it_is_right_enough(votes: list[tuple[float, bool]], accuracy: float) -> None:
    """Beyond a threshold that is found the share right is at least what was asked for, counted by hand."""
    found = fit(votes, accuracy)
    if found.threshold is not None:
        beyond = [right for p, right in votes if max(p, 1 - p) >= found.threshold]
        right = sum(beyond) / len(beyond)
        assert found.accuracy == pytest.approx(right)
        assert right + 1e-9 >= found.bound >= accuracy
        assert found.share == pytest.approx(len(beyond) / len(votes))


@pytest.mark.slow
def test_few_fits_are_too_low() -> None:
    """Of a hundred fits on 300 labels of a judge that knows how sure it is, few fall short of the claim."""
    random_one, short = random.Random(5), 0
    for _ in range(100):
        drawn = [random_one.uniform(0.5, 1) for _ in range(300)]
        found = fit([(p, random_one.random() < p) for p in drawn], 0.8)
        short += found.threshold is not None and (1 + found.threshold) / 2 < 0.8
    assert short <= 10


def test_claims_on_one_premise_are_not_independent() -> None:
    """Right in 190 of 200 claims on as many premises shows more than in 190 on twenty, of which one is all wrong."""

    def bound(premises: int) -> float:
        yes: dict[Question, bool] = {Entail((f"premise {n % premises}",), str(n)): n % 20 > 0 for n in range(200)}
        return fit_thresholds(yes, dict.fromkeys(yes, Verdict(YES, 0.9)), 0.99)["entail"].bound

    assert bound(200) > bound(20)


def test_each_kind_by_itself() -> None:
    """Kinds are fitted apart."""
    answers: dict[Question, Answer | Failure] = {Entail((str(n),), "h"): Verdict(YES, 0.9) for n in range(99)}
    answers |= {Relevant(str(n), "t"): Verdict(Label.YES, 0.9) for n in range(9)}
    found = fit_thresholds(dict.fromkeys(answers, True), answers, 0.95)
    assert [(name, one.labelled, one.threshold) for name, one in found.items()] == [
        ("entail", 99, 0.9),
        ("relevant", 9, None),
    ]


def test_failures_are_not_beyond() -> None:
    """What the judge fails at would go up, and counts as such."""
    asked = [Entail((str(at),), "h") for at in range(100)]
    answers: dict[Question, Answer | Failure] = dict.fromkeys(asked, Verdict(YES, 0.9))
    answers[asked[0]] = Failure("down")
    assert fit_thresholds(dict.fromkeys(asked, True), answers, 0.95)["entail"].share == 0.99


def test_labelled_sets_are_labels(tmp_path: Path) -> None:
    """Rows of one question become labels by the name of their set; rows that take several are left out."""
    sets = {
        "ent_a.jsonl": {"premise": "p", "claim": "c", "label": 1},
        "rel_a.jsonl": {"question": "q", "passage": "t", "label": 0},
        "ans_a.jsonl": {"question": "q", "references": ["r", "s"], "answer": "a", "label": 1},
        "coh_a.jsonl": {"source": "s", "summary": "t", "human_scores": {"coherence": 4.5}},
        "other.jsonl": {"a": 1},
    }
    for name, row in sets.items():
        with gzip.open(tmp_path / f"{name}.gz", "wt", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
    made = labelled_sets(tmp_path)
    assert [(one.question, one.answer) for one in made] == [
        (Correct("q", "a", ("r", "s")), Verdict(Label.RIGHT)),
        (Entail(("p",), "c"), Verdict(YES)),
        (Relevant("q", "t"), Verdict(Label.NO)),
    ]
    assert made[0].judge.settings == (("by", "ans_a"),)
