"""The absent judge: stands for a judge that is not asked again, only looked up in a store."""

from __future__ import annotations

from collections.abc import Sequence

from ragauge.questions import KINDS, Question
from ragauge.types import Answer, Failure, Identity


class AbsentJudge:
    """Has the identity of a judge, so that its judgments are found in a store, and answers nothing new."""

    answers = frozenset(KINDS)

    def __init__(self, identity: Identity) -> None:
        self.identity = identity

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """A failure for each question."""
        return [Failure("not_stored", f"the store holds no answer of {self.identity} to this question")] * len(
            questions
        )
