from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.analysis.labels import parse_answer
from ragauge.errors import UsageError
from ragauge.questions import COHERENCE, Classify, Correct, Entail, Question, Rate, Relevant, invalid_reason
from ragauge.types import Grade, Label, Verdict

ENTAIL = Entail(("one", "two", "three"), "a claim")
GRADED = Rate(COHERENCE, (("source", "s"), ("response", "r")))


def _chunks(typed: str, question: Entail = ENTAIL) -> list[str]:
    answer = parse_answer(question, typed)
    assert isinstance(answer, Verdict)
    return [chunk.label.value for chunk in answer.chunks]


@pytest.mark.parametrize(
    ("question", "typed", "label"),
    [
        (ENTAIL, "s", Label.ENTAILED),
        (ENTAIL, " S 2 ", Label.ENTAILED),
        (ENTAIL, "n", Label.NEUTRAL),
        (ENTAIL, "c 1 3", Label.CONTRADICTED),
        (Relevant("q", "t"), "y", Label.YES),
        (Relevant("q", "t"), "n", Label.NO),
        (Classify("t", "toxic"), "y", Label.YES),
        (Correct("q", "a", ("r",)), "r", Label.RIGHT),
        (Correct("q", "a", ("r",)), "P", Label.PARTLY),
        (Correct("q", "a", ("r",)), "u", Label.UNDECIDED),
    ],
)
def test_a_key_is_a_verdict(question: Question, typed: str, label: Label) -> None:
    """Each kind of verdict has its keys, in upper or lower case."""
    answer = parse_answer(question, typed)
    assert isinstance(answer, Verdict)
    assert answer.label is label


def test_numbers_name_chunks() -> None:
    """Named chunks have the verdict, others are neutral; others may have the opposite after another key."""
    assert _chunks("s 2") == ["neutral", "entailed", "neutral"]
    assert _chunks("s 1 c 3") == ["entailed", "neutral", "contradicted"]
    assert _chunks("n") == ["neutral"] * 3
    assert _chunks("s") == []
    assert _chunks("c", Entail(("one",), "a claim")) == ["contradicted"]


def test_a_grade_is_a_number() -> None:
    """A grade is a number on the scale, with a comma or a point."""
    assert parse_answer(GRADED, "4") == Grade(4.0)
    assert parse_answer(GRADED, "4,0") == Grade(4.0)


@pytest.mark.parametrize(
    ("question", "typed", "fault"),
    [
        (ENTAIL, "", r"'' is not an answer; type one of s \(supported\), n \(not supported\), c \(contradicted\)"),
        (ENTAIL, "yes", "'yes' is not an answer"),
        (ENTAIL, "s 4", r"there are 3 texts; 4 is out of range"),
        (ENTAIL, "s 0", "there are 3 texts"),
        (ENTAIL, "s two", "'two' is not an answer; type one of s"),
        (Relevant("q", "t"), "y 1", r"type one of y \(yes\), n \(no\)"),
        (GRADED, "good", "'good' is not a grade; type a number from 1 to 5"),
        (GRADED, "7", "7 lies outside 1 to 5"),
        (GRADED, "4.5", "not a whole number"),
        (GRADED, "nan", "nan lies outside"),
    ],
)
def test_invalid_answers_are_refused(question: Question, typed: str, fault: str) -> None:
    """Text that is not an answer is refused with the possible ones."""
    with pytest.raises(UsageError, match=fault):
        parse_answer(question, typed)


@given(st.text(alphabet="sncy 0123456789.,-", max_size=12), st.sampled_from([ENTAIL, GRADED, Relevant("q", "t")]))
def test_an_answer_always_fits(typed: str, question: Question) -> None:
    """Any text is either refused or a valid answer to the question."""
    with suppress(UsageError):
        answer = parse_answer(question, typed)
        assert invalid_reason(question, answer) is None
    assert question.wording


def test_every_question_has_words() -> None:
    """Each kind has a sentence, with a choice for each label of a verdict."""
    assert "support the claim" in ENTAIL.wording
    assert "answer the query" in Relevant("q", "t").wording
    assert "reference" in Relevant("q", "t", "r").wording
    assert Classify("t", "toxic").wording == "Is it toxic?"
    assert "coherence, 1 to 5" in GRADED.wording
    assert [choice.key for choice in ENTAIL.choices] == ["s", "n", "c"]
    assert GRADED.choices == ()
