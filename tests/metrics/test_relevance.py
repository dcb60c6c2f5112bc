"""Answer relevance, rubrics and chunk utility at their edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ragauge.errors import BadParameter, UnknownName
from ragauge.metrics.registry import parse_metric
from ragauge.metrics.rubrics import graded
from ragauge.questions import CHUNK_UTILITY, COHERENCE, COMPLETENESS, CONCISENESS, TOPICAL_MATCH, Question, Rate, Rubric
from ragauge.types import Answer, Chunk, Failure, Grade

if TYPE_CHECKING:
    from tests.metrics.conftest import Answering, Drive, Sampling, Scoring, Valuing


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("q x", 0.5),
        ("q", 1.0),
        ("x", 0.0),
        ("*q ~q q", 1.0),
        ("", "undefined: the response makes no statement"),
    ],
)
def test_answer_relevance(value: Valuing, response: str, expected: float | str) -> None:
    """Answer relevance is the share of statements of any kind that bear on the query, undefined without one."""
    assert value("answer_relevance", query="q ~q *q", response=response) == expected


def grades(question: Question) -> Answer | Failure:
    """Fixed grades by rubric."""
    assert isinstance(question, Rate)
    return Grade({"topical_match": 0.9, "completeness": 0.7, "conciseness": 0.8, "coherence": 4}[question.rubric.name])


def test_the_overall_of_the_relevance_rubric_is_computed(scores: Scoring, sample: Sampling) -> None:
    """The overall is the mean of the three grades and is not asked of the judge."""
    got = scores(sample(query="q", response="r"), "relevance_rubric", grades)
    assert {key: score.value for key, score in got.items()} == {
        "relevance_rubric.topical_match": 0.9,
        "relevance_rubric.completeness": 0.7,
        "relevance_rubric.conciseness": 0.8,
        "relevance_rubric.overall": pytest.approx(0.8, rel=1e-15),
    }


def test_a_failed_grade_fails_every_value_of_the_rubric(scores: Scoring, sample: Sampling) -> None:
    """Where one of three grades is missing, no part of the rubric shows a number."""

    def refuses_conciseness(question: Question) -> Answer | Failure:
        assert isinstance(question, Rate)
        return Failure("judge_error") if question.rubric is CONCISENESS else Grade(1.0)

    got = scores(sample(query="q", response="r"), "relevance_rubric", refuses_conciseness)
    assert [(score.value, score.failed) for score in got.values()] == [(None, "judge_error")] * 4


def test_summary_coherence_is_the_grade_on_its_own_scale(value: Valuing) -> None:
    """Summary coherence is the judge's grade from 1 to 5 on source and response; without a source it is undefined."""
    assert value("summary_coherence", answering=grades, source="s", response="r") == 4.0
    assert parse_metric("summary_coherence").scale == (1.0, 5.0)
    assert value("summary_coherence", answering=grades, response="r") == "undefined: the sample has no source"


@pytest.mark.parametrize(
    ("contexts", "expected"),
    [(["q", "q x", "x"], 0.5), (["x"], 0.0), ([], "undefined: there are no contexts")],
)
def test_chunk_utility(value: Valuing, contexts: list[str], expected: float | str) -> None:
    """Chunk utility is the mean grade over the contexts, undefined without any."""
    assert value("chunk_utility", query="q", contexts=contexts) == expected


def test_a_rubric_of_ones_own_reads_its_fields(drive: type[Drive], sample: Sampling, words: Answering) -> None:
    """The judge is given each field of a rubric as one text: alternatives and chunks parted by empty lines."""
    rubric = Rubric("own", ("references", "contexts", "reference_contexts", "response"), 0, 10, "How good?")
    one = sample(
        response="r", references=["a", "b"], contexts=["c", Chunk("d", title="T")], reference_contexts=["e", "f"]
    )
    done = drive([one], [graded(rubric)], words)
    (question,) = done.questions
    assert isinstance(question, Rate)
    assert question.texts == (
        ("references", "a\n\nb"),
        ("contexts", "c\n\nT\nd"),
        ("reference_contexts", "e\n\nf"),
        ("response", "r"),
    )
    assert graded(rubric).scale == (0, 10)
    assert graded(rubric).summary == "How good?"


def test_a_rubric_over_chunks_is_the_mean_of_its_grades(value: Valuing) -> None:
    """A rubric that reads "chunk" grades one context at a time."""
    metric = graded(Rubric("own", ("query", "chunk"), 0, 1, "How useful?"))
    assert value(metric, query="q", contexts=["q", "x"]) == 0.5
    assert value(metric, query="q", contexts=[]) == "undefined: there are no contexts"


@pytest.mark.parametrize(
    ("fields", "low", "high", "error"),
    [
        (("answer",), 0, 1, UnknownName),
        (("answerable",), 0, 1, UnknownName),
        ((), 0, 1, BadParameter),
        (("response",), 1, 1, BadParameter),
        (("response",), 0, float("inf"), BadParameter),
        (("response",), float("nan"), 1, BadParameter),
    ],
)
def test_a_rubric_that_cannot_be_graded_is_refused(
    fields: tuple[str, ...], low: float, high: float, error: type[Exception]
) -> None:
    """A rubric with a field that is no text, or with no real scale, is refused when it is made, not in the run."""
    with pytest.raises(error, match="own"):
        Rubric("own", fields, low, high, "?")


def test_every_rubric_of_ours_says_what_its_ends_mean() -> None:
    """The wording of a rubric names both ends of its scale, so that a judge who reads it can use all of it."""
    for rubric in (COHERENCE, TOPICAL_MATCH, COMPLETENESS, CONCISENESS, CHUNK_UTILITY):
        assert f"{rubric.low:g}:" in rubric.wording
        assert f"{rubric.high:g}:" in rubric.wording
