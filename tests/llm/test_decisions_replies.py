"""What a decisions endpoint says: labels, probabilities and grades, or a failure."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.llm.deciding import BOTH, COHERENT, QUESTIONS, TOXIC, answered, body, reply_to

from ragauge.judges.base import checked
from ragauge.judges.llm.decisions import Dialect, completion_of, levels
from ragauge.judges.llm.messages import TokenUsage
from ragauge.questions import COHERENCE, TOPICAL_MATCH, Classify, Decompose, Entail, Question, Rate, Relevant, Rubric
from ragauge.types import ChunkVerdict, Failure, Grade, Label, Verdict

#: As `types/decision.py` of openai-python 3.52 has it.
OF_OPENAI = {
    "model": "gpt-6-luna-2026-10-06",
    "answers": [
        {"type": "choice", "name": "1", "choice": "entailed", "confidence": 0.7, "probabilities": [
            {"value": "entailed", "probability": 0.8},
            {"value": "contradicted", "probability": 0.05},
            {"value": "neutral", "probability": 0.15},
        ]},
        {"type": "choice", "name": "2", "choice": "neutral", "confidence": 0.4, "probabilities": [
            {"value": "entailed", "probability": 0.3},
            {"value": "contradicted", "probability": 0.1},
            {"value": "neutral", "probability": 0.6},
        ]},
        {"type": "choice", "name": "3", "choice": "contradicted", "confidence": 0.85, "probabilities": [
            {"value": "entailed", "probability": 0.05},
            {"value": "contradicted", "probability": 0.9},
            {"value": "neutral", "probability": 0.05},
        ]},
        {"type": "predicate", "name": "4", "probability": 0.75},
        {"type": "predicate", "name": "5", "probability": 0.25},
        {"type": "score", "name": "6", "score": 2.5, "confidence": 0.5, "probabilities": [
            {"value": 2, "label": "0.4", "probability": 0.5},
            {"value": 3, "label": "0.6", "probability": 0.5},
        ]},
        {"type": "score", "name": "7", "score": 2.75, "confidence": 0.5, "probabilities": []},
    ],
    "usage": {
        "input_tokens": 900,
        "input_tokens_details": {"cached_tokens": 512, "cache_write_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 900,
    },
}  # fmt: skip

#: As `cli/serving/systemone.py` and `decision/template_utils.py` of transformers 5.23 make it.
OF_SYSTEM_ONE = {
    "model": "m",
    "answers": {
        "1": {"type": "choice", "choice": "entailed", "confidence": 0.7,
              "probabilities": {"entailed": 0.8, "contradicted": 0.05, "neutral": 0.15}},
        "2": {"type": "choice", "choice": "neutral", "confidence": 0.4,
              "probabilities": {"entailed": 0.3, "contradicted": 0.1, "neutral": 0.6}},
        "3": {"type": "choice", "choice": "contradicted", "confidence": 0.85,
              "probabilities": {"entailed": 0.05, "contradicted": 0.9, "neutral": 0.05}},
        "4": {"type": "noul", "noul": 0.75},
        "5": {"type": "noul", "noul": 0.25},
        "6": {"type": "score", "score": 2.5, "legend": {"0": "0"}, "confidence": 0.5, "probabilities": {"2": 0.5}},
        "7": {"type": "score", "score": 2.75, "legend": {"0": "1"}, "confidence": 0.5, "probabilities": {"3": 0.8}},
    },
    "usage": {"input_tokens": 900, "output_tokens": 0},
}  # fmt: skip

ANSWERS = [
    Verdict(
        Label.ENTAILED,
        0.8,
        (ChunkVerdict(Label.NEUTRAL, 0.3), ChunkVerdict(Label.CONTRADICTED, 0.05)),
    ),
    Verdict(Label.YES, 0.75),
    Verdict(Label.NO, 0.25),
    Grade(0.5),
    Grade(4.0),
]


def test_a_reply_of_openai_is_read() -> None:
    """Labels, probabilities and grades are those of the reply, and the tokens are as the server counted them."""
    assert answered(OF_OPENAI, QUESTIONS) == ANSWERS
    reply = completion_of(json.dumps(OF_OPENAI).encode())
    assert (reply.usage, reply.model) == (TokenUsage(900, 0, 512), "gpt-6-luna-2026-10-06")


def test_a_reply_of_system_one_is_read() -> None:
    """Labels, probabilities and grades are those of the reply, and the tokens are as the server counted them."""
    assert answered(OF_SYSTEM_ONE, QUESTIONS) == ANSWERS
    assert completion_of(json.dumps(OF_SYSTEM_ONE).encode()).usage == TokenUsage(900)


def test_a_refusal_concerns_its_question_alone() -> None:
    """A question of which one ask is refused fails as refused; the others are answered."""
    answers = [*OF_OPENAI["answers"]]
    answers[1] = {"type": "refusal", "name": "2"}
    refused, *others = answered({"answers": answers}, QUESTIONS)
    assert isinstance(refused, Failure)
    assert refused.reason == "refused"
    assert others == ANSWERS[1:]


CHOICE = {"type": "choice", "choice": "entailed", "probabilities": {"entailed": 0.8}}


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (TOXIC, None),
        (TOXIC, {"type": "noul"}),
        (TOXIC, {"type": "noul", "noul": None}),
        (TOXIC, {"type": "noul", "noul": "0.5"}),
        (TOXIC, {"type": "noul", "noul": 1.2}),
        (TOXIC, {"type": "noul", "noul": -0.2}),
        (TOXIC, {"type": "box", "noul": 0.5}),
        (TOXIC, {"type": "score", "score": 0.5}),
        (TOXIC, CHOICE),
        (Entail(("one",), "claim"), {"type": "noul", "noul": 0.5}),
        (Entail(("one",), "claim"), {**CHOICE, "choice": "supported"}),
        (Entail(("one",), "claim"), {**CHOICE, "probabilities": {"entailed": 8}}),
        (Entail(("one",), "claim"), {**CHOICE, "probabilities": {"entailed": None}}),
        (COHERENT, {"type": "score", "score": 4.5}),
        (COHERENT, {"type": "score", "score": 1e9}),
    ],
)
def test_an_answer_that_is_none_becomes_a_failure(question: Question, answer: object) -> None:
    """Answers that are left out, of another type or out of range are failures that keep the reply."""
    answers = {} if answer is None else {"1": answer}
    (failed,) = answered({"answers": answers}, [question])
    assert isinstance(failed, Failure)
    assert failed.reason == "invalid_answer"
    assert answer is None or failed.raw == json.dumps(answer)


@pytest.mark.parametrize(
    "reply", [b"", b"null", b"[]", b"{}", b'{"answers": 3}', b"<html>", b'{"answers": {"1": {"ty', b"\xff"]
)
def test_a_reply_that_is_none_fails_all(reply: bytes) -> None:
    """A reply that is cut off or no reply at all makes every question fail, with what came."""
    answers = answered(reply, QUESTIONS)
    assert {answer.reason for answer in answers if isinstance(answer, Failure)} == {"invalid_answer"}
    assert all(isinstance(answer, Failure) and answer.raw == reply.decode(errors="replace") for answer in answers)


def test_probabilities_may_be_left_out_and_rounded() -> None:
    """A choice without probabilities is a verdict without one; rounding past 1 is 1."""
    output = {"1": {"type": "choice", "choice": "neutral"}, "2": {"type": "noul", "noul": 1.0000001}}
    without, rounded = answered({"answers": output}, [Entail(("one",), "claim"), TOXIC])
    assert without == Verdict(Label.NEUTRAL, None, (ChunkVerdict(Label.NEUTRAL, None),))
    assert rounded == Verdict(Label.YES, 1.0)


@pytest.mark.parametrize(
    ("rubric", "scale"),
    [
        (COHERENCE, [1, 2, 3, 4, 5]),
        (Rubric("ten", ("response",), 1, 10, "", whole=True), list(range(1, 11))),
        (Rubric("per cent", ("response",), 0, 100, "", whole=True), [0, 20, 40, 60, 80, 100]),
        (Rubric("between", ("response",), 0.5, 3.5, "", whole=True), [1, 2, 3]),
        (TOPICAL_MATCH, pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])),
    ],
)
def test_a_scale_is_asked_in_at_most_ten_levels(rubric: Rubric, scale: object) -> None:
    """Few whole numbers are levels of their own, anything else is asked in fifths of the scale."""
    assert levels(rubric) == scale


SCALES = st.builds(
    lambda low, length, whole: Rubric("r", ("response",), low, low + length, "", whole=whole),
    st.integers(-50, 50),
    st.integers(1, 200),
    st.booleans(),
)


@given(SCALES, st.floats(0, 1), st.floats(0, 1))
def test_grades_lie_on_the_scale_and_follow_the_levels(rubric: Rubric, one: float, other: float) -> None:
    """The lowest level is the lowest grade, the highest the highest, and a higher level never a lower grade."""
    question = Rate(rubric, (("response", "text"),))
    top = len(levels(rubric)) - 1

    def grade(position: float) -> float:
        (answer,) = answered({"answers": {"1": {"type": "score", "score": position}}}, [question])
        assert isinstance(answer, Grade)
        assert checked(question, answer) is answer
        return answer.value

    assert (grade(0), grade(top)) == (rubric.low, rubric.high)
    low, high = sorted((one * top, other * top))
    assert grade(low) <= grade(high)


TEXTS = st.sampled_from(["one", "two", "", "S1", "\u6f22\u5b57 \U0001f600", '{"a": "b"}'])

ANY = st.one_of(
    st.builds(Entail, st.lists(TEXTS, min_size=1, max_size=4).map(tuple), TEXTS, st.none() | TEXTS),
    st.builds(Relevant, TEXTS, TEXTS, st.none() | TEXTS),
    st.builds(Classify, TEXTS, st.sampled_from(["biased", "toxic", "pompous"])),
    st.builds(lambda rubric, text: Rate(rubric, tuple((field, text) for field in rubric.fields)), SCALES, TEXTS),
    st.builds(Decompose, TEXTS),
)


@BOTH
@given(questions=st.lists(ANY, max_size=12), share=st.floats(0, 1))
def test_every_good_reply_gives_fitting_answers(dialect: Dialect, questions: list[Question], share: float) -> None:
    """Whatever is asked, a server that keeps to the protocol gives each question an answer that fits it."""
    for question, answer in zip(questions, answered(reply_to(body(dialect, questions), share), questions), strict=True):
        assert checked(question, answer) is answer
        assert isinstance(answer, Failure) == isinstance(question, Decompose)
