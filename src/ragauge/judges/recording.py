"""The recording judge: exact replay of judgments made before."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import msgspec

from ragauge.questions import Judgment, Question, topic
from ragauge.types import Answer, Failure, Identity, Verdict


class RecordingJudge:
    """Answers from recorded judgments; a question that is not among them is a Failure.

    Where a question was recorded more than once, the last answer counts.
    """

    def __init__(self, judgments: Iterable[Judgment]) -> None:
        recorded = {judgment.question: judgment for judgment in judgments}
        self._answers = {question: judgment.answer for question, judgment in recorded.items()}
        self.answers = frozenset(map(_topic, recorded.values()))
        content = b"\n".join(sorted(map(msgspec.json.encode, recorded.values())))
        names = sorted({judgment.judge.name for judgment in recorded.values()})
        sha256 = hashlib.sha256(content).hexdigest()[:16]
        self.identity = Identity("recording", (("of", ", ".join(names)), ("sha256", sha256)))

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """Look each question up."""
        missing = Failure("not_recorded", "the recording does not hold this question")
        return [self._answers.get(question, missing) for question in questions]


def _topic(judgment: Judgment) -> str:
    """What a recorded answer shows the recording to answer; a two-way verdict tells support, not contradiction."""
    two_way = isinstance(judgment.answer, Verdict) and judgment.answer.two_way
    return "entail:support" if two_way else topic(judgment.question)
