"""What counts as a refusal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.metrics.labelled import FLAG, NO

from ragauge.metrics.registry import select_metrics
from ragauge.questions import Rate
from ragauge.types import Grade, Label, Sample

if TYPE_CHECKING:
    from tests.metrics.conftest import Answering, Drive, Sampling, Scoring, Valuing


@pytest.mark.parametrize("response", ["Nope, Sir!", "NOPE,  SIR [1].", "Nope, sir. I don't know."])
def test_what_a_system_was_told_to_say_is_a_refusal(response: str, value: Valuing) -> None:
    """The sentence is known from the sample's metadata, but for case, spaces, citations and the full stop."""
    given: dict[str, Any] = {"response": response, "contexts": ["a"], "metadata": {"refusal_sentence": "Nope, sir."}}
    assert value("refusal", **given) == 1.0
    assert value("citation_recall", **given) == "undefined: the response has no sentence that needs a citation"


@pytest.mark.parametrize(
    ("response", "sentence"), [("Nope, sir. Tea is hot.", "Nope, sir."), ("Nope.", True), ("Nope.", ""), ("", "Nope.")]
)
def test_what_is_reported_beside_it_is_an_answer(response: str, sentence: Any, value: Valuing) -> None:
    """More than the sentence is an answer; a value that is no sentence makes nothing a refusal."""
    assert value("refusal", response=response, metadata={"refusal_sentence": sentence}) == 0.0


def test_a_judge_may_tell_refusals(scores: Scoring, sample: Sampling) -> None:
    """A grade of one half or more is a refusal; without a query there is nothing to ask."""
    one = sample(query="q", response="No idea, mate.")

    def judge(question: Any) -> Grade:
        assert isinstance(question, Rate)
        return Grade(1.0)

    assert scores(one, "refusal(refusals=judge)", judge)["refusal"].value == 1.0
    assert scores(one, "refusal")["refusal"].value == 0.0
    assert scores(sample(response="a"), "refusal(refusals=judge)")["refusal"].undefined == "the sample has no query"
    empty = sample(response=" ", query="Why?")
    for name in ("refusal", "answered_ratio"):
        assert scores(empty, f"{name}(refusals=judge)", judge)[name].value == 0.0


def test_a_refusal_shows_the_sentence(drive: type[Drive], words: Answering) -> None:
    """The evidence is the sentence that declines, with its place, or the whole response."""
    done = drive([Sample("1", response=f"Sorry. {NO}")], select_metrics("refusal"), words)
    (piece,) = done.evidence("refusals(rules)")
    assert (piece.text, piece.span, piece.label) == (NO, (7, 20), Label.YES)
    done = drive([Sample("1", response=FLAG)], select_metrics("refusal(refusals=trust_eval)"), words)
    (piece,) = done.evidence("refusals(trust_eval)")
    assert (piece.span, piece.label) == ((0, len(FLAG)), Label.YES)


def test_a_script_without_rules_is_undefined(value: Valuing) -> None:
    """Where no rule reads the script, nothing is known unless the system was told what to say."""
    arabic = "عذرا، لا أعرف الإجابة."
    assert "refusals=judge asks a judge" in str(value("refusal", response=arabic))
    assert value("refusal", response="Оно синее.") == 0.0
    assert value("refusal", response=arabic, metadata={"refusal_sentence": arabic}) == 1.0
    assert value("refusal", response=arabic, metadata={"refusal_sentence": "لا."}) == 0.0
