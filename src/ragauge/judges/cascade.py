"""The cascade: a cheap judge answers where it is sure, and the rest goes up to a dear one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ragauge.errors import BadParameter, UnknownName
from ragauge.judges.composed import Composed, asked, expected
from ragauge.judges.desk import NO_MONEY, Answers, Desk, Expected, Expecting
from ragauge.judges.judge import Judge, can_answer
from ragauge.judges.savings import Savings
from ragauge.questions import Question, kind
from ragauge.types import Answer, Failure, Verdict

#: The kinds that are answered by a verdict, which may come with a probability.
VERDICTS = ("entail", "relevant", "classify")


def confidence(answer: Answer | Failure) -> float:
    """How sure an answer is of itself, in 0.5..1; 0 for one that does not say.

    For a verdict with the probability p it is max(p, 1 - p), and the least of these where the chunks have verdicts of
    their own: an answer is as sure as its least sure label. p is that of support (or of yes), so this is confidence in
    whether a hypothesis is supported; which of neutral and contradicted it is, if not, it says nothing about.
    """
    if not isinstance(answer, Verdict):
        return 0.0
    probabilities = [answer.probability, *(chunk.probability for chunk in answer.chunks)]
    return min(0.0 if p is None else max(p, 1 - p) for p in probabilities)


class Cascade(Composed):
    """Two judges, of which the first answers where it is sure enough. For a longer chain the second is a cascade.

    threshold: the `confidence` from which a verdict of the first stands, for all kinds of verdict or for each by its
    kind; verdicts of a kind that is not named go up. `ragauge.measure.fit_threshold` finds it from people's labels.
    0 leaves every verdict to the first, anything above 1 to the second.

    What the first fails at goes up as well, and so do grades and the taking apart of texts, since neither comes with
    a confidence. What only one of the two can answer, that one answers. Where the second fails the Failure stands.

    Raises BadParameter for a threshold that is no number or below 0, UnknownName for one of another kind.
    """

    def __init__(self, first: Judge, second: Judge, threshold: float | Mapping[str, float]) -> None:
        by_kind = threshold if isinstance(threshold, Mapping) else dict.fromkeys(VERDICTS, threshold)
        for name, value in by_kind.items():
            _check(name, value)
        same = {f"threshold.{name}": f"{value:g}" for name, value in sorted(by_kind.items())}
        super().__init__("cascade", (first, second), same)
        self.first, self.second = first, second
        self._threshold = dict(by_kind)
        self._savings = Savings()

    @property
    def answers(self) -> frozenset[str]:
        """The topics that either answers. It is two-way if one of them is."""
        either = self.first.answers | self.second.answers
        two_way = any(_is_two_way(member) for member in self.members)
        return either - {"entail"} if two_way else either

    async def consult(self, questions: Sequence[Question], desk: Desk) -> Answers:
        """The answers of the first where they stand, those of the second to the rest."""
        answers = await asked(desk, self.first, self._for_first(questions))
        up = [q for q in questions if can_answer(self.second, q) and not (q in answers and self._stands(q, answers[q]))]
        unsure = sum(question in answers for question in up)
        answers.update(await asked(desk, self.second, up))
        self._count(questions, up, unsure)
        return [answers.get(question) or _unable(question) for question in questions]

    def expect(self, questions: Sequence[Question]) -> list[Expected]:
        """The most calls that there can be: all those of the first, and those of the second if everything went up."""
        upper = [question for question in questions if can_answer(self.second, question)]
        return [*expected(self.first, self._for_first(questions)), *expected(self.second, upper)]

    def notes(self) -> list[str]:
        """What share of what this process asked went up and what that saved, and what the members say themselves."""
        return [*self._savings.notes(str(self.identity), str(self.second.identity)), *super().notes()]

    def _for_first(self, questions: Sequence[Question]) -> list[Question]:
        """What the first is asked: where its word may stand, and what the second cannot answer."""
        able = [question for question in questions if can_answer(self.first, question)]
        return [one for one in able if kind(one) in self._threshold or not can_answer(self.second, one)]

    def _stands(self, question: Question, answer: Answer | Failure) -> bool:
        """Whether what the first says is the answer."""
        if isinstance(answer, Failure):
            return answer.reason == NO_MONEY.reason
        return confidence(answer) >= self._threshold[kind(question)]

    def _count(self, questions: Sequence[Question], up: Sequence[Question], unsure: int) -> None:
        """Count what went up, and by what calls the second had fewer."""
        alone = [question for question in questions if can_answer(self.second, question)]
        counted = isinstance(self.second, Expecting) and len(up) < len(alone)
        without, now = (expected(self.second, some) if counted else [] for some in (alone, up))
        self._savings.add(len(questions), len(up), unsure, without, now)


def _check(name: str, threshold: float) -> None:
    if name not in VERDICTS:
        raise UnknownName("kind of verdict", name, VERDICTS)
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold < math.inf:
        raise BadParameter(f"threshold {threshold!r} must be a number from 0.5 to 1, as in threshold=0.95")


def _is_two_way(judge: Judge) -> bool:
    return "entail:support" in judge.answers and "entail" not in judge.answers


def _unable(question: Question) -> Failure:
    return Failure("unanswerable", f"neither judge of the cascade answers {kind(question)}")
