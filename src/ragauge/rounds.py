"""Rounds of questions: what the needs of a sample ask, each question once. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ragauge.needs.base import EvidenceTable, Failed, Need, NeedOutcome, NothingToCount, QuestionFlow, Undefined
from ragauge.questions import Decompose, Judgment, Question
from ragauge.types import Failure, Sample


class Rounds:
    """The needs of a sample, worked out in rounds of questions.

    `questions` holds the questions of the current round, none of which was asked before; `advance` takes their
    judgments and starts the next round. When `questions` is empty, every need has ended with an entry in `outcomes`.

    While texts remain to be decomposed, a round asks for that alone: other known questions wait to be asked with those
    about the statements, so that a judge that packs questions needs fewer calls.

    Needs of one name are worked out once.
    """

    def __init__(self, sample: Sample, needs: Iterable[Need[EvidenceTable]]) -> None:
        self.outcomes: dict[str, NeedOutcome] = {}
        self._flows: dict[str, QuestionFlow[EvidenceTable]] = {}
        self._pending: dict[str, Sequence[Question]] = {}
        self._judgments: dict[Question, Judgment] = {}
        for need in {need.name: need for need in needs}.values():
            missing = [field for field in need.reads if getattr(sample, field) is None]
            if missing:
                self.outcomes[need.name] = Undefined(f"the sample has no {' and no '.join(missing)}")
                continue
            self._flows[need.name] = need.flow(sample)
            self._step(need.name, None)
        self.questions = self._next_round()

    def _step(self, need: str, questions: Sequence[Question] | None) -> None:
        """Run one flow, from its start or its pending `questions`, until it asks something unanswered or ends."""
        flow = self._flows[need]
        try:
            while questions is None or all(question in self._judgments for question in questions):
                questions = next(flow) if questions is None else flow.send(self._judgments_of(questions))
            self._pending[need] = questions
            return
        except StopIteration as stop:
            self.outcomes[need] = stop.value
        except NothingToCount as nothing:
            self.outcomes[need] = Undefined(str(nothing))
        except _Unanswered as failed:
            self.outcomes[need] = Failed(str(failed))
        self._flows.pop(need).close()

    def _judgments_of(self, questions: Sequence[Question]) -> list[Judgment]:
        """The judgments of answered questions. Raises _Unanswered if one of them is a failure."""
        judgments = [self._judgments[question] for question in questions]
        failures = [judgment.answer for judgment in judgments if isinstance(judgment.answer, Failure)]
        if failures:
            ((commonest, _),) = Counter(map(str, failures)).most_common(1)
            several = f" ({len(failures)} of {len(judgments)} questions unanswered)" if len(judgments) > 1 else ""
            raise _Unanswered(commonest + several)
        return judgments

    def _next_round(self) -> list[Question]:
        """The questions of the next round, each once."""
        unanswered = dict.fromkeys(question for _, question in self.pending() if question not in self._judgments)
        return [question for question in unanswered if isinstance(question, Decompose)] or list(unanswered)

    def pending(self) -> Iterator[tuple[str, Question]]:
        """The questions the needs wait for, answered or not, each with the name of a need that asks it."""
        for need, questions in self._pending.items():
            for question in questions:
                yield need, question

    @property
    def failures(self) -> list[Failure]:
        """Why questions have no answer, each distinct failure once."""
        answers = (judgment.answer for judgment in self._judgments.values())
        return list(dict.fromkeys(answer for answer in answers if isinstance(answer, Failure)))

    def advance(self, judgments: Mapping[Question, Judgment]) -> None:
        """Answer this round; a failed answer ends the needs that asked.

        Args:
            judgments: the judgment of every question of the round, at least.
        """
        self._judgments.update((question, judgments[question]) for question in self.questions)
        pending, self._pending = self._pending, {}
        for need, questions in pending.items():
            self._step(need, questions)
        self.questions = self._next_round()


class _Unanswered(Exception):
    """A question that a flow waits for has no answer; the message is the reason."""


def unanswerable(needs: Iterable[Need[EvidenceTable]], can_answer: Callable[[str], bool]) -> list[str]:
    """The topics that `needs` ask and no judge can answer, sorted."""
    return sorted({topic for need in needs for topic in need.asks if not can_answer(topic)})


def missing_fields(needs: Iterable[Need[EvidenceTable]], samples: Sequence[Sample]) -> list[str]:
    """The fields that `needs` read and no sample has, sorted."""
    fields = {field for need in needs for field in need.reads}
    return sorted(field for field in fields if all(getattr(sample, field) is None for sample in samples))
