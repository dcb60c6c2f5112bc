"""Floor 2: waves. The needs of a sample become waves of questions, each asked once. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ragauge.needs.base import EvidenceTable, Failed, Need, NeedOutcome, NothingToCount, QuestionFlow, Undefined
from ragauge.questions import Decompose, Judgment, Question
from ragauge.types import Failure, Sample


class Rounds:
    """The needs of a sample, worked out in waves.

    `questions` lists what the current wave asks, nothing of which was asked before; `advance` takes the judgments and
    opens the next wave. When `questions` is empty every need has ended and `outcomes` tells how, by name.

    As long as texts are to be taken apart a wave asks for that alone: what else is known to be wanted is held back and
    asked together with what hangs on the statements, so that a judge that packs questions needs fewer calls.
    """

    def __init__(self, sample: Sample, needs: Iterable[Need[EvidenceTable]]) -> None:
        self.outcomes: dict[str, NeedOutcome] = {}
        self._flows: dict[str, QuestionFlow[EvidenceTable]] = {}
        self._waiting: dict[str, Sequence[Question]] = {}
        self._judgments: dict[Question, Judgment] = {}
        for need in {need.name: need for need in needs}.values():
            self._open(sample, need)
        self.questions = self._wanted()

    def _open(self, sample: Sample, need: Need[EvidenceTable]) -> None:
        missing = [field for field in need.reads if getattr(sample, field) is None]
        if missing:
            self.outcomes[need.name] = Undefined(f"the sample has no {' and no '.join(missing)}")
            return
        self._flows[need.name] = need.flow(sample)
        self._step(need.name, None)

    def _step(self, need: str, questions: Sequence[Question] | None) -> None:
        """Run one flow, from its start or from `questions` on, until it asks what is not known yet, or ends."""
        flow = self._flows[need]
        try:
            while questions is None or all(question in self._judgments for question in questions):
                questions = next(flow) if questions is None else flow.send(self._answered(questions))
            self._waiting[need] = questions
            return
        except StopIteration as stop:
            self.outcomes[need] = stop.value
        except NothingToCount as nothing:
            self.outcomes[need] = Undefined(str(nothing))
        except _Unanswered as failed:
            self.outcomes[need] = Failed(str(failed))
        self._flows.pop(need).close()

    def _answered(self, questions: Sequence[Question]) -> list[Judgment]:
        """The judgments of questions that are known. Raises _Unanswered where one is a Failure."""
        judgments = [self._judgments[question] for question in questions]
        failures = [judgment.answer for judgment in judgments if isinstance(judgment.answer, Failure)]
        if failures:
            raise _Unanswered(_say(failures, len(judgments)))
        return judgments

    def _wanted(self) -> list[Question]:
        """What the next wave asks, each question once."""
        pending = dict.fromkeys(question for _, question in self.asking() if question not in self._judgments)
        return [question for question in pending if isinstance(question, Decompose)] or list(pending)

    def asking(self) -> Iterator[tuple[str, Question]]:
        """What the needs wait for, known or not, each question with the name of a need that asks it."""
        for need, questions in self._waiting.items():
            for question in questions:
                yield need, question

    @property
    def failures(self) -> list[Failure]:
        """Why questions have no answer, each reason once."""
        answers = (judgment.answer for judgment in self._judgments.values())
        return list(dict.fromkeys(answer for answer in answers if isinstance(answer, Failure)))

    def advance(self, judgments: Mapping[Question, Judgment]) -> None:
        """Answer this wave. Every question of it must be among `judgments`; a Failure ends the needs that asked."""
        self._judgments.update((question, judgments[question]) for question in self.questions)
        waiting, self._waiting = self._waiting, {}
        for need, questions in waiting.items():
            self._step(need, questions)
        self.questions = self._wanted()


class _Unanswered(Exception):
    """A question a flow waits for has no answer; the message is the reason."""


def _say(failures: Sequence[Failure], asked: int) -> str:
    """One sentence for several failures: the commonest, and how many there were."""
    ((first, _),) = Counter(map(str, failures)).most_common(1)
    return first if asked == 1 else f"{first} ({len(failures)} of {asked} questions unanswered)"


def unanswerable(needs: Iterable[Need[EvidenceTable]], can: Callable[[str], bool]) -> list[str]:
    """The topics that `needs` ask and of which `can` says that nobody answers them, sorted."""
    return sorted({topic for need in needs for topic in need.asks if not can(topic)})


def missing_fields(needs: Iterable[Need[EvidenceTable]], samples: Sequence[Sample]) -> list[str]:
    """The fields that `needs` read and none of `samples` has, sorted."""
    fields = {field for need in needs for field in need.reads}
    return sorted(field for field in fields if all(getattr(sample, field) is None for sample in samples))
