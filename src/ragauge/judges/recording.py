"""The recording judge: exact replay of judgments made before."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from ragauge.nouns.answers import Answer, Failure
from ragauge.questions import Identity, Judgment, Question, topic


class RecordingJudge:
    """Answers from recorded judgments; a question that is not among them is a Failure.

    Where a question was recorded more than once, the last answer counts.
    """

    def __init__(self, judgments: Iterable[Judgment]) -> None:
        recorded = {judgment.question: judgment for judgment in judgments}
        self._answers = {question: judgment.answer for question, judgment in recorded.items()}
        self.answers = frozenset(map(topic, recorded))
        digest = hashlib.sha256("".join(judgment.key for judgment in recorded.values()).encode()).hexdigest()[:16]
        names = sorted({judgment.judge.name for judgment in recorded.values()})
        self.identity = Identity("recording", (("of", ", ".join(names)), ("sha256", digest)))

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """Look each question up."""
        missing = Failure("not_recorded", "the recording does not hold this question")
        return [self._answers.get(question, missing) for question in questions]
