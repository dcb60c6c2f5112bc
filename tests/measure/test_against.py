"""Comparing two judges on the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from tests.measure.labelled import SETS, Sampler, Stub, measured, write

from ragauge.analysis.measure import SetResult, adjusted
from ragauge.questions import Entail, Question
from ragauge.types import Answer, Failure, Identity, Label, Verdict


class Guesser(Stub):
    """Gives the same answer to everything."""

    identity = Identity("guesser")

    def _one(self, question: Question) -> Answer | Failure:
        if isinstance(question, Entail) and question.hypothesis == "good but broken":
            return Failure("judge_error")
        return Verdict(Label.NEUTRAL, 0.5)


def claims(count: int) -> list[dict[str, Any]]:
    """Claims of which "good" ones are supported, each about its own text."""
    words = ("good", "bad")
    return [
        {"premise": f"{words[n % 2]} {n}", "claim": f"{words[n % 2]} {n}", "label": 1 - n % 2} for n in range(count)
    ]


def test_two_judges_are_compared_on_the_same_rows(tmp_path: Path) -> None:
    """A perfect judge is better than one that guesses, and conversely worse; rows are those that both answered."""
    extra = {"premise": "p", "claim": "good but broken", "label": 1}
    write(tmp_path, "ent_a", [*claims(40), extra])
    (better,), (worse,) = measured(Stub(), tmp_path, baseline=Guesser()), measured(Guesser(), tmp_path, baseline=Stub())
    assert better.against is not None
    assert worse.against is not None
    assert (better.rows, better.against.rows, worse.rows) == (41, 40, 40)
    assert (better.against.by, better.against.one, better.against.other) == ("auc", 1.0, 0.5)
    assert better.against.difference.value == 0.5
    assert (better.against.verdict, worse.against.verdict) == ("better", "worse")


def test_a_judge_equals_itself(tmp_path: Path) -> None:
    """The difference and its interval are 0, and p is 1."""
    write(tmp_path, "ent_a", claims(40))
    (one,) = measured(Stub(), tmp_path, baseline=Stub())
    assert one.against is not None
    assert (one.against.difference.low, one.against.difference.high, one.against.p) == (0.0, 0.0, 1.0)
    assert one.against.verdict == "not distinguishable"


def test_judges_are_compared_by_a_common_figure(tmp_path: Path) -> None:
    """If one has no probabilities, balanced accuracy is compared; if one cannot answer the questions, nothing is."""
    write(tmp_path, "ent_a", claims(20))
    write(tmp_path, "rag_a", [SETS["rag_a"] | {"response": text} for text in ("good.", "bad.")])
    entailed, taken_apart = measured(Stub(), tmp_path, baseline=Sampler())
    assert entailed.against is not None
    assert entailed.against.by == "balanced_accuracy"
    assert taken_apart.rows == 2
    assert taken_apart.against is None


def test_p_values_are_adjusted_over_sets(tmp_path: Path) -> None:
    """A difference on one set alone is not significant among twenty sets."""
    write(tmp_path, "ent_a", claims(12))
    (one,) = measured(Stub(), tmp_path, baseline=Guesser())
    assert one.against is not None
    near = msgspec.structs.replace(one, against=msgspec.structs.replace(one.against, p=0.01))
    many = adjusted([msgspec.structs.replace(near, name=str(at)) for at in range(20)] + [SetResult("none", note="why")])
    assert near.against is not None
    assert near.against.verdict == "better"
    assert [found.against.verdict for found in many if found.against] == ["not distinguishable"] * 20
