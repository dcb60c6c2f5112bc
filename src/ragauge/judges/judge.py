"""What a judge is, and what counts as an answer to a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from ragauge.nouns.answers import Answer, Decomposition, Failure, Grade, Label, Verdict
from ragauge.questions import Classify, Decompose, Entail, Identity, Question, Rate, Relevant


@runtime_checkable
class Judge(Protocol):
    """Answers questions.

    identity: everything that can change an answer; judgments are stored under it.
    answers: topics it can honestly answer: a kind ("decompose", "entail", "relevant", "classify", "rate") or part of
    one ("entail:support" for a judge that tells support from its absence but not contradiction from neutrality,
    "classify:toxic", "rate:coherence").
    A judge may also have `batch`, how many questions it is best given at once: what it is given at once is kept at
    once, so that is what a killed run asks again.
    """

    @property
    def identity(self) -> Identity: ...

    @property
    def answers(self) -> frozenset[str]: ...

    async def answer(self, questions: Sequence[Question]) -> Sequence[Answer | Failure]:
        """One answer, or a Failure that says why there is none, for each question, in order. Does not raise."""


#: How many questions a judge is given at once unless it says otherwise.
DEFAULT_BATCH = 32

ENTAILMENT = frozenset({Label.ENTAILED, Label.NEUTRAL, Label.CONTRADICTED, Label.NOT_ENTAILED})
YES_NO = frozenset({Label.YES, Label.NO})


def checked(question: Question, answer: Answer | Failure) -> Answer | Failure:
    """The answer if it fits the question, otherwise a Failure that says what is wrong with it."""
    if isinstance(answer, Failure):
        return answer
    fault = _fault(question, answer)
    return Failure("invalid_answer", fault, raw=repr(answer)[:2000]) if fault else answer


def _fault(question: Question, answer: Answer) -> str | None:
    match question, answer:
        case Decompose(), Decomposition():
            return _span_fault(question.text, [piece.span for piece in answer.statements])
        case Entail(), Verdict():
            return _entailment_fault(question, answer)
        case Relevant() | Classify(), Verdict():
            return None if answer.label in YES_NO else f"{answer.label} is not yes or no"
        case Rate(), Grade():
            return _grade_fault(question, answer)
        case _:
            return f"a {type(answer).__name__.lower()} does not answer a question of kind {type(question).__name__}"


def _span_fault(text: str, spans: Sequence[tuple[int, int] | None]) -> str | None:
    for span in spans:
        if span is not None and not 0 <= span[0] <= span[1] <= len(text):
            return f"the span {span} lies outside the text of {len(text)} characters"
    return None


def _entailment_fault(question: Entail, verdict: Verdict) -> str | None:
    labels = [verdict.label, *(chunk.label for chunk in verdict.chunks)]
    wrong = [label for label in labels if label not in ENTAILMENT]
    if wrong:
        return f"{wrong[0]} is not a label of entailment"
    if len(question.premise) > 1 and len(verdict.chunks) != len(question.premise):
        return f"{len(verdict.chunks)} labels for {len(question.premise)} chunks"
    return None


def _grade_fault(question: Rate, grade: Grade) -> str | None:
    rubric = question.rubric
    if not rubric.low <= grade.value <= rubric.high:
        return f"{grade.value} lies outside {rubric.low:g} to {rubric.high:g}"
    if rubric.whole and grade.value != int(grade.value):
        return f"{grade.value} is not a whole number"
    return None
