"""What a judge is, and what counts as an answer to a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from ragauge.needs.base import answerable
from ragauge.questions import Entail, Question, invalid_reason, topic
from ragauge.types import Answer, Failure, Identity, Verdict


@runtime_checkable
class Judge(Protocol):
    """Answers questions.

    identity: everything that can change an answer; judgments are stored under it.
    answers: topics it can honestly answer: a kind ("decompose", "entail", "relevant", "classify", "rate") or part of
    one ("entail:support" for a judge that tells support from its absence but not contradiction from neutrality,
    "classify:toxic", "rate:coherence").

    A judge may also have `batch`, how many questions it is best given at once: what it is given at once is kept at
    once, so that is what a killed run asks again. Or `by_sample`, of how many samples it is given questions side by
    side, each sample's together; such a judge limits by itself how much it does at once.
    It may be an asynchronous context manager, entered before a run's first question and left after the last. What else
    it may do, `ragauge.judges.desk` says.
    """

    @property
    def identity(self) -> Identity:
        """Everything that can change an answer."""

    @property
    def answers(self) -> frozenset[str]:
        """The topics it can honestly answer."""

    async def answer(self, questions: Sequence[Question]) -> Sequence[Answer | Failure]:
        """One answer, or a Failure that says why there is none, for each question, in order. Does not raise."""


#: How many questions a judge is given at once unless it says otherwise.
DEFAULT_BATCH = 32


def can_answer(judge: Judge, question: Question) -> bool:
    """Whether a judge answers a question, be it two-way."""
    own = judge.answers
    return answerable(topic(question), own) or (isinstance(question, Entail) and "entail:support" in own)


def checked(question: Question, answer: Answer | Failure) -> Answer | Failure:
    """The answer if it fits the question, otherwise a Failure that says what is wrong with it.

    A judge owes a label for each chunk, which a person need not give.
    """
    if isinstance(answer, Failure):
        return answer
    fault = invalid_reason(question, answer) or _missing_chunks(question, answer)
    return Failure("invalid_answer", fault, raw=repr(answer)[:2000]) if fault else answer


def _missing_chunks(question: Question, answer: Answer) -> str | None:
    if isinstance(question, Entail) and isinstance(answer, Verdict) and len(question.premise) > 1 and not answer.chunks:
        return f"no labels for {len(question.premise)} chunks"
    return None
