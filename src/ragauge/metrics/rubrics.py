"""Metrics that a judge grades by a rubric: those of ragauge, and criteria in a user's own words."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Annotated, Literal

from msgspec import Meta

from ragauge.metrics.base import Metric, listed, metric
from ragauge.metrics.claims import NO_CONTEXTS
from ragauge.needs.base import Grades, Need, Preferences, Undefined
from ragauge.needs.checks import compared_with, grade_of
from ragauge.needs.nuggets import NUGGET, MetCriteria, criteria_met, nuggets_of_question
from ragauge.questions import CHUNK_UTILITY, COHERENCE, COMPLETENESS, CONCISENESS, TOPICAL_MATCH, Rubric
from ragauge.scores import Better, Scale, Share

_RELEVANCE = (TOPICAL_MATCH, COMPLETENESS, CONCISENESS)
_PARTS = (*(rubric.name for rubric in _RELEVANCE), "overall")


@listed(default=19)
@metric(*map(grade_of, _RELEVANCE), parts=_PARTS, caption="grade of the response")
def relevance_rubric(topical: Grades, complete: Grades, concise: Grades) -> Mapping[str, float]:
    """Topical match, completeness and conciseness, each 0-1, and their mean as `overall`. As in RAG Evals."""
    grades = [grades.values[0] for grades in (topical, complete, concise)]
    return dict(zip(_PARTS, [*grades, fmean(grades)], strict=True))


@listed(default=20)
@metric(grade_of(CHUNK_UTILITY), caption="grade of the contexts")
def chunk_utility(useful: Grades) -> float | Undefined:
    """Mean usefulness (0-1) of the contexts for answering the query. As in the RAG Evals documentation."""
    return _mean_grade(useful)


@listed(default=21)
@metric(grade_of(COHERENCE), scale=(1.0, 5.0), caption="grade from 1 to 5")
def summary_coherence(grade: Grades) -> float:
    """How well a summary covers and orders the key points of its source: a whole number from 1 to 5.

    The coherence rubric of G-Eval (Liu et al., 2023), as in Valor.
    """
    return grade.values[0]


def _mean_grade(grades: Grades) -> float | Undefined:
    return fmean(grades.values) if grades.values else Undefined(NO_CONTEXTS)


def graded(rubric: Rubric) -> Metric:
    """A metric of your own: the grade of a sample on a rubric, or the mean grade of its chunks.

    Args:
        rubric: what is graded; its name becomes the metric's.
    """

    def grade(grades: Grades) -> float | Undefined:
        return _mean_grade(grades)

    grade.__doc__ = rubric.wording
    return metric(grade_of(rubric), name=rubric.name, scale=(rubric.low, rubric.high))(grade)


_GRADED_TEXT = r"^\s*(-?\d+(?:\.\d+)?)\s*:\s*(\S.*)$"

Words = Annotated[str, Meta(pattern=r"\S", description="the criterion in words")]
GradeRange = Annotated[
    str, Meta(pattern=r"^-?\d+(\.\d+)?-\d+(\.\d+)?$", description="the lowest and the highest grade, such as 1-5")
]
GradedTexts = Annotated[
    tuple[Annotated[str, Meta(pattern=_GRADED_TEXT)], ...],
    Meta(description='texts such as "5: every question is answered"'),
]
Background = Literal["query", "contexts", "references", "source", "reference_contexts"]
Field = Literal["query", "response", "contexts", "references", "source", "reference_contexts", "chunk", "conversation"]
Fields = Annotated[tuple[Field, ...], Meta(min_length=1)]
Key = Annotated[str, Meta(pattern=r"^\w*$", description="a name of letters, digits and underscores")]


def _numbers_of(scale: GradeRange) -> tuple[str, str]:
    low, _, high = scale[1:].partition("-")  # the first sign is that of the lowest grade
    return scale[0] + low, high


def _ends(scale: GradeRange) -> Scale:
    low, high = _numbers_of(scale)
    return float(low), float(high)


def _by_rubric(
    text: Annotated[Words, "the criterion in your own words"],
    scale: Annotated[GradeRange, "1-5 for whole grades, 0-1 for no or yes, 0.0-1.0 for any number between"] = "1-5",
    reads: Annotated[Fields, "the fields that the judge sees; with chunk the mean over the contexts"] = (
        "query",
        "response",
    ),
    steps: Annotated[tuple[str, ...], "what the judge is to do, one after another"] = (),
    levels: Annotated[GradedTexts, "what grades mean"] = (),
    examples: Annotated[GradedTexts, "texts and their grades"] = (),
    better: Annotated[Better, "lower where the text describes a fault"] = "higher",  # noqa: ARG001  # read by the metric
    name: Annotated[Key, "the key of its scores"] = "",
) -> Need[Grades]:
    """The need of a criterion. Raises ValueError for a level or an example whose grade is not on the scale."""
    low, high = _ends(scale)
    for line in (*levels, *examples):
        if not low <= float(line.partition(":")[0]) <= high:
            raise ValueError(f"the grade of {line!r} is not on the scale {scale}")
    parts = [
        text,
        *(f"Step {number}: {step}" for number, step in enumerate(steps, 1)),
        *levels,
        *(f"An example of {example}" for example in examples),
    ]
    whole = "." not in scale
    return grade_of(Rubric(name or "criterion", reads, low, high, "\n".join(parts), whole))


@metric(
    _by_rubric,
    scale=_ends,
    better=lambda better: better,
    caption=lambda scale: f"your own criterion, {' to '.join(_numbers_of(scale))}",
)
def criterion(grades: Grades) -> float | Undefined:
    """The grade of the response by a criterion in your own words, such as criterion("It is polite",1-5).

    What G-Eval (Liu et al., 2023), ragas' AspectCritic and rubric scores measure. text: the criterion. scale: "1-5"
    takes whole grades, "0-1" is no or yes, "0.0-1.0" takes any number between. reads: the fields of the sample that the
    judge sees, such as response+references; with chunk the mean over the contexts; conversation is all that was said.
    steps: what to do in turn. levels: what grades mean, as "5: every question is answered". examples: graded texts, as
    "1: Go away." better: lower where it describes a fault. name: the key of its scores.
    """
    return _mean_grade(grades)


@metric(criteria_met, scale=(-1.0, 1.0), caption="points of the criteria")
def criteria(met: MetCriteria) -> float:
    """Points gained over points possible, by the criteria of the sample; -1 at least.

    A criterion with points below 0 describes a fault, and takes points off where the response has it. As in HealthBench
    (Arora et al., 2025), which then raises a mean below 0 to 0.
    """
    gained = sum(value * points for value, points in zip(met.values, met.points, strict=True))
    return max(gained / sum(points for points in met.points if points > 0), -1.0)


@metric(nuggets_of_question, caption="proposed nuggets that are vital")
def nuggets(grades: Grades) -> Share:
    """Share of the claims that an answer may hold that are vital: what `ragauge dataset nuggets` proposes.

    Claims of references and relevant chunks that help to answer the query, each once. A person's grade counts first.
    """
    kept = [value for value in grades.values if value > NUGGET.low]
    return Share(sum(value == NUGGET.high for value in kept), len(kept))


def _over_other(
    text: Annotated[Words, "the criterion in your own words"],
    other: Annotated[str, "the column of the text that the response is compared with"] = "other",
    reads: Annotated[tuple[Background, ...], "what the judge sees too, of samples that have it"] = (
        "query",
        "references",
        "source",
    ),
) -> Need[Preferences]:
    return compared_with(text, other, reads)


@metric(_over_other, scale=(-2.0, 2.0), caption="preferred to the other")
def preference(orders: Preferences) -> float:
    """How much the response is preferred to another by a criterion in your own words, from -2 to 2.

    Asked in both orders: the mean where both prefer the same text, else 0, a tie, as in MT-Bench (Zheng et al., 2023).
    What `ragauge compare --prefer` measures.
    """
    return fmean(orders.orders) if orders.orders and orders.agree else 0.0


@metric(_over_other, better="lower", caption="changed by the order")
def preference_flip(orders: Preferences) -> float:
    """1 where the judge prefers another text once the two are swapped, which makes a tie of `preference`, else 0.

    Its mean is how far the judge goes by the order; equal texts are not asked about, and count as 0.
    """
    return float(not orders.agree)
