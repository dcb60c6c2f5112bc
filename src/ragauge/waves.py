"""Floor 2: waves. The needs of many samples become waves of questions, each asked once. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ragauge.needs.need import Failed, Finding, Flow, Need, NothingToCount, Outcome, Undefined
from ragauge.nouns.answers import Failure
from ragauge.nouns.samples import Sample
from ragauge.questions import Judgment, Question

Task = tuple[int, str]  # position of a sample in its window, name of a need


class Window:
    """The needs of a window of samples, worked out in waves.

    `questions` lists what the current wave asks, without repetition; `advance` takes the judgments and opens the next
    wave. When `questions` is empty every need has ended and `outcomes` tells how.
    """

    def __init__(self, samples: Sequence[Sample], needs: Iterable[Need[Finding]]) -> None:
        self.outcomes: dict[Task, Outcome] = {}
        self._flows: dict[Task, Flow[Finding]] = {}
        self._waiting: dict[Task, Sequence[Question]] = {}
        unique = {need.name: need for need in needs}
        for position, sample in enumerate(samples):
            for need in unique.values():
                self._open((position, need.name), sample, need)

    def _open(self, task: Task, sample: Sample, need: Need[Finding]) -> None:
        missing = [field for field in need.reads if getattr(sample, field) is None]
        if missing:
            self.outcomes[task] = Undefined(f"the sample has no {' and no '.join(missing)}")
            return
        self._flows[task] = need.flow(sample)
        self._step(task, None)

    def _step(self, task: Task, judgments: Sequence[Judgment] | None) -> None:
        """Run one flow until it asks something or ends; an empty list of questions is answered at once."""
        flow = self._flows[task]
        try:
            while not (questions := flow.send(judgments)):  # type: ignore[arg-type]  # the first send is None
                judgments = ()
            self._waiting[task] = questions
            return
        except StopIteration as stop:
            self.outcomes[task] = stop.value
        except NothingToCount as nothing:
            self.outcomes[task] = Undefined(str(nothing))
        del self._flows[task]

    @property
    def questions(self) -> list[Question]:
        """What this wave asks, each question once, in the order of the samples."""
        return list(dict.fromkeys(question for _, question in self.asking()))

    def asking(self) -> Iterator[tuple[str, Question]]:
        """What this wave asks, each question with the name of a need that asks it."""
        for (_, need), questions in self._waiting.items():
            for question in questions:
                yield need, question

    def advance(self, judgments: Mapping[Question, Judgment]) -> None:
        """Answer this wave. Every question of it must be among `judgments`; a Failure ends the needs that asked."""
        waiting, self._waiting = self._waiting, {}
        for task, questions in waiting.items():
            answers = [judgments[question] for question in questions]
            failures = [judgment.answer for judgment in answers if isinstance(judgment.answer, Failure)]
            if failures:
                self.outcomes[task] = Failed(_say(failures, len(answers)))
                self._flows.pop(task).close()
            else:
                self._step(task, answers)

    def sample_outcomes(self, position: int, needs: Iterable[Need[Finding]]) -> dict[str, Outcome]:
        """How the needs of one sample ended, by name."""
        return {need.name: self.outcomes[position, need.name] for need in needs}


def _say(failures: Sequence[Failure], asked: int) -> str:
    """One sentence for several failures: the commonest, and how many there were."""
    ((first, _),) = Counter(map(str, failures)).most_common(1)
    return first if asked == 1 else f"{first} ({len(failures)} of {asked} questions unanswered)"


def unanswerable(needs: Iterable[Need[Finding]], can: Callable[[str], bool]) -> list[str]:
    """The topics that `needs` ask and of which `can` says that nobody answers them, sorted."""
    return sorted({topic for need in needs for topic in need.asks if not can(topic)})


def missing_fields(needs: Iterable[Need[Finding]], samples: Sequence[Sample]) -> list[str]:
    """The fields that `needs` read and none of `samples` has, sorted."""
    fields = {field for need in needs for field in need.reads}
    return sorted(field for field in fields if all(getattr(sample, field) is None for sample in samples))
