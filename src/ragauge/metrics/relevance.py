"""Is the response about what was asked, complete and concise? How useful is each context?"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from ragauge.metrics.metric import Metric, metric, share
from ragauge.metrics.retrieval import NO_CONTEXTS
from ragauge.needs.base import Undefined
from ragauge.needs.checks import grade_of, statements_to_query
from ragauge.needs.evidence import Checks, Grades
from ragauge.questions import CHUNK_UTILITY, COHERENCE, COMPLETENESS, CONCISENESS, TOPICAL_MATCH, Rubric
from ragauge.scores import Share


@metric(statements_to_query)
def answer_relevance(relevant: Checks) -> Share | Undefined:
    """Share of the response's statements that are relevant to the query. As in DeepEval and Valor."""
    return share(relevant.passed, "the response makes no statement")


@metric(
    grade_of(TOPICAL_MATCH),
    grade_of(COMPLETENESS),
    grade_of(CONCISENESS),
    parts=("topical_match", "completeness", "conciseness", "overall"),
)
def relevance_rubric(topical: Grades, complete: Grades, concise: Grades) -> Mapping[str, float]:
    """Topical match, completeness and conciseness, each 0-1, and their mean as `overall`. As in RAG Evals."""
    grades = [grades.values[0] for grades in (topical, complete, concise)]
    return dict(zip(("topical_match", "completeness", "conciseness", "overall"), [*grades, fmean(grades)], strict=True))


@metric(grade_of(CHUNK_UTILITY))
def chunk_utility(useful: Grades) -> float | Undefined:
    """Mean usefulness (0-1) of the contexts for answering the query. As in the RAG Evals documentation."""
    return fmean(useful.values) if useful.values else Undefined(NO_CONTEXTS)


@metric(grade_of(COHERENCE), scale=(1.0, 5.0))
def summary_coherence(grade: Grades) -> float:
    """How well a summary covers and orders the key points of its source: a whole number from 1 to 5.

    The coherence rubric of G-Eval (Liu et al., 2023), as in Valor.
    """
    return grade.values[0]


def graded(rubric: Rubric) -> Metric:
    """A metric of your own: the grade of a sample on `rubric`; over chunks, the mean grade."""

    def grade(grades: Grades) -> float | Undefined:
        return fmean(grades.values) if grades.values else Undefined(NO_CONTEXTS)

    grade.__doc__ = rubric.wording
    return metric(grade_of(rubric), name=rubric.name, scale=(rubric.low, rubric.high))(grade)
