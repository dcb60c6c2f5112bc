"""The panel: several judges vote."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence

from ragauge.judges.composed import Composed, asked, expected
from ragauge.judges.desk import NO_MONEY, Answers, Desk, Expected
from ragauge.judges.judge import Judge, can_answer
from ragauge.judges.votes import as_told_by_all, grade, verdict
from ragauge.needs.base import answerable
from ragauge.questions import Decompose, Question, Rate, kind, topic
from ragauge.statistics.agreement import kappa
from ragauge.types import Answer, Failure, Grade, Label, Verdict

Known = dict[Question, Answer | Failure]


class Panel(Composed):
    """Judges that vote on every verdict and grade; what votes come to, `ragauge.judges.votes` says.

    Statements cannot be voted on: a text is taken apart by the first member that does so, the next where that fails.
    A member that fails is left out of a vote as long as more than half of the members answered; otherwise its Failure
    is the answer.

    Raises BadParameter for fewer than two members, and for one that is there twice.
    """

    def __init__(self, members: Sequence[Judge]) -> None:
        super().__init__("panel", members, {})
        self._votes: dict[str, Counter[tuple[Label, ...]]] = {}
        self._spreads: list[float] = []
        self._short = 0

    @property
    def answers(self) -> frozenset[str]:
        """The topics that all members answer, and "decompose" if any does. It is two-way if a member is."""
        topics = {topic for member in self.members for topic in member.answers}
        voted = {topic for topic in topics if all(answerable(topic, member.answers) for member in self.members)}
        return frozenset(voted | (topics & {"decompose"}))

    async def consult(self, questions: Sequence[Question], desk: Desk) -> Answers:
        """What the members' answers come to; they are asked side by side."""
        texts = [question for question in questions if isinstance(question, Decompose)]
        voted = [question for question in questions if not isinstance(question, Decompose) and self._all_can(question)]
        parts, *ballots = await asyncio.gather(
            self._taken_apart(texts, desk), *(asked(desk, member, voted) for member in self.members)
        )
        answers = parts | {question: self._decided(question, [one[question] for one in ballots]) for question in voted}
        return [answers[question] if question in answers else self._unable(question) for question in questions]

    def expect(self, questions: Sequence[Question]) -> list[Expected]:
        """The calls of all members together, if every reply were good and nothing were known."""
        texts = [question for question in questions if isinstance(question, Decompose)]
        voted = [question for question in questions if not isinstance(question, Decompose)]
        first = next((member for member in self.members if "decompose" in member.answers), None)
        calls = expected(first, texts) if first else []
        return [*calls, *(call for member in self.members for call in expected(member, voted))]

    def notes(self) -> list[str]:
        """How far the members agreed on what this process asked them, and what they say themselves."""
        return [*self._agreement(), *super().notes()]

    def _all_can(self, question: Question) -> bool:
        return all(can_answer(member, question) for member in self.members)

    async def _taken_apart(self, questions: Sequence[Question], desk: Desk) -> Known:
        """Each text as the first member takes it apart that can."""
        found: Known = {}
        for member in self.members:
            if "decompose" in member.answers:
                left = [question for question in questions if _is_open(found.get(question))]
                found.update(await asked(desk, member, left))
        return found

    def _decided(self, question: Question, answers: Sequence[Answer | Failure]) -> Answer | Failure:
        """What the answers of the members come to."""
        failures = [answer for answer in answers if isinstance(answer, Failure)]
        if 2 * len(failures) >= len(answers) or any(failure.reason == NO_MONEY.reason for failure in failures):
            return next((failure for failure in failures if failure.reason == NO_MONEY.reason), failures[0])
        self._short += bool(failures)
        if isinstance(question, Rate):
            grades = [answer for answer in answers if isinstance(answer, Grade)]
            self._count_grades(question, [one.value for one in grades])
            return grade(question, grades)
        verdicts = [answer for answer in answers if isinstance(answer, Verdict)]
        if not failures:
            votes = self._votes.setdefault(kind(question), Counter())
            votes[tuple(one.label for one in verdicts)] += 1
        return verdict(question, verdicts)

    def _count_grades(self, question: Rate, values: Sequence[float]) -> None:
        rubric = question.rubric
        self._spreads.append((max(values) - min(values)) / (rubric.high - rubric.low))

    def _unable(self, question: Question) -> Failure:
        unable = [str(member.identity) for member in self.members if not can_answer(member, question)]
        return Failure("unanswerable", f"{' and '.join(unable)} of the panel does not answer {topic(question)}")

    def _agreement(self) -> Iterator[str]:
        for name, patterns in sorted(self._votes.items()):
            votes = as_told_by_all(patterns)
            total, agreed = votes.total(), sum(count for said, count in votes.items() if len(set(said)) == 1)
            measured = kappa(votes)
            beyond = "" if measured is None else f", kappa {measured:.2f}"
            yield f"{self.identity}: all agreed on {agreed} of {total} {name} questions ({agreed / total:.0%}{beyond})."
        if self._spreads:
            mean = sum(self._spreads) / len(self._spreads)
            yield f"{self.identity}: grades lay {mean:.0%} of their scale apart on average ({len(self._spreads)})."
        if self._short:
            yield f"{self.identity}: questions that a member failed at, so that the others decided: {self._short}."


def _is_open(answer: Answer | Failure | None) -> bool:
    """Whether another member is to be asked."""
    return answer is None or (isinstance(answer, Failure) and answer.reason != NO_MONEY.reason)
