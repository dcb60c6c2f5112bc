"""Judges made of judges: panels vote, cascades ask the next judge where the first is not sure.

A label counts where more than half of the votes have it. Where none has, the answer is what asserts least: NO, or
NEUTRAL (neither supported nor contradicted), or NOT_ENTAILED where a two-way vote leaves open which. So whoever says
that a text supports, contradicts, helps or carries a trait has to convince more than half; the order of the votes
plays no part; and support is found exactly where more than half find it, however many of them tell it two-way.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from math import floor
from statistics import fmean, median
from typing import Self

from ragauge.errors import BadParameter, UnknownName
from ragauge.judges.base import (
    DEFAULT_BATCH,
    NO_MONEY,
    ContextJudge,
    ExpectedCall,
    ForecastingJudge,
    Judge,
    JudgeAnswers,
    RunContext,
    can_answer,
    checked,
    notes_of,
)
from ragauge.needs.base import answerable
from ragauge.questions import Decompose, Entail, Question, Rate, kind, topic
from ragauge.statistics.agreement import kappa
from ragauge.types import Answer, ChunkVerdict, Failure, Grade, Identity, Label, Verdict


class CompositeJudge(ContextJudge):
    """A judge that asks its members. Subclasses say in `consult` whom they ask what, and what they make of it.

    members: at least two judges, each once; their order counts. settings: what else can change an answer.
    """

    def __init__(self, name: str, members: Sequence[Judge], settings: Mapping[str, str]) -> None:
        if len(members) < 2:
            raise BadParameter(f"{name}({_names(members)}) needs at least two judges, as in {name}(embedded,JUDGE)")
        for at, member in enumerate(members):
            if member.identity in [other.identity for other in members[:at]]:
                raise BadParameter(f"{name}({_names(members)}): {member.identity} is there twice; name each judge once")
        self.members = tuple(members)
        self.by_sample: int = max(getattr(member, "by_sample", 0) for member in members)
        self.batch: int = min(getattr(member, "batch", DEFAULT_BATCH) for member in members)
        self.identity = Identity(f"{name}({_names(members)})", (*settings.items(), *_settings(members)))
        self._entered: list[AsyncExitStack] = []

    async def __aenter__(self) -> Self:
        """Enter the members. Raises UsageError where one of them misses something, such as a key."""
        async with AsyncExitStack() as stack:
            for member in self.members:
                if isinstance(member, AbstractAsyncContextManager):
                    await stack.enter_async_context(member)
            self._entered.append(stack.pop_all())
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Leave the members."""
        await self._entered.pop().aclose()

    def notes(self) -> list[str]:
        """What the members have to say of how they worked."""
        return [note for member in self.members for note in notes_of(member)]


async def ask_members(
    desk: RunContext, judge: Judge, questions: Sequence[Question]
) -> dict[Question, Answer | Failure]:
    """What a member answers; an answer that does not fit its question is a Failure."""
    answers = await desk.ask(judge, questions) if questions else ()
    return {question: checked(question, answer) for question, answer in zip(questions, answers, strict=True)}


def expected_of_members(judge: Judge, questions: Sequence[Question]) -> list[ExpectedCall]:
    """The calls that a judge says it would make for the questions; none where it makes no calls."""
    return list(judge.expect(questions)) if questions and isinstance(judge, ForecastingJudge) else []


def _names(members: Sequence[Judge]) -> str:
    return ", ".join(str(member.identity) for member in members)


def _settings(members: Sequence[Judge]) -> Iterator[tuple[str, str]]:
    """The settings of all members, each with the member's place before it."""
    for place, member in enumerate(members, start=1):
        yield str(place), member.identity.name
        for name, value in member.identity.settings:
            yield f"{place}.{name}", value


_UNSUPPORTED = (Label.NEUTRAL, Label.CONTRADICTED)


def vote(votes: Sequence[Label]) -> Label:
    """The label that more than half of the votes have, or what asserts least."""
    label, count = Counter(votes).most_common(1)[0]
    if 2 * count > len(votes):
        return label
    if label in (Label.YES, Label.NO):
        return Label.NO
    return Label.NOT_ENTAILED if Label.NOT_ENTAILED in votes else Label.NEUTRAL


def verdict(question: Question, votes: Sequence[Verdict]) -> Verdict:
    """The verdict of all: the label voted for, each chunk's too, and the mean probability where all give one.

    span, rationale: of the first vote for that label that has them.
    """
    label = vote([vote.label for vote in votes])
    agreeing = [vote for vote in votes if _agrees(vote.label, label)]
    return Verdict(
        label,
        _mean([vote.probability for vote in votes]),
        _chunks(question, votes),
        next((vote.span for vote in agreeing if vote.span), None),
        next((vote.rationale for vote in agreeing if vote.rationale), None),
    )


def grade(question: Rate, votes: Sequence[Grade]) -> Grade:
    """The mean of the grades; on a scale of whole numbers the median, rounded down where it falls between two.

    rationale: of the vote nearest to that, the first of them.
    """
    values = [vote.value for vote in votes]
    value = float(floor(median(values))) if question.rubric.whole else _between(values)
    nearest = sorted((vote for vote in votes if vote.rationale), key=lambda vote: abs(vote.value - value))
    return Grade(value, nearest[0].rationale if nearest else None)


def unanimous(patterns: Counter[tuple[Label, ...]]) -> Counter[tuple[Label, ...]]:
    """Votes in the labels that all can give: where one was two-way, all are supported or not."""
    if not any(Label.NOT_ENTAILED in votes for votes in patterns):
        return patterns
    told: Counter[tuple[Label, ...]] = Counter()
    for votes, count in patterns.items():
        told[tuple(Label.NOT_ENTAILED if vote in _UNSUPPORTED else vote for vote in votes)] += count
    return told


def _agrees(vote: Label, label: Label) -> bool:
    return vote == label or (label == Label.NOT_ENTAILED and vote in _UNSUPPORTED)


def _chunks(question: Question, votes: Sequence[Verdict]) -> tuple[ChunkVerdict, ...]:
    """What the votes come to chunk by chunk; of one chunk the whole verdict speaks where a vote has none for it."""
    if not isinstance(question, Entail) or not any(vote.chunks for vote in votes):
        return ()
    columns = zip(*(vote.chunks or (ChunkVerdict(vote.label, vote.probability),) for vote in votes), strict=True)
    return tuple(map(_chunk, columns))


def _chunk(votes: Sequence[ChunkVerdict]) -> ChunkVerdict:
    label = vote([vote.label for vote in votes])
    spans = (vote.span for vote in votes if vote.span and _agrees(vote.label, label))
    return ChunkVerdict(label, _mean([vote.probability for vote in votes]), next(spans, None))


def _mean(probabilities: Sequence[float | None]) -> float | None:
    given = [probability for probability in probabilities if probability is not None]
    return _between(given) if len(given) == len(probabilities) else None


def _between(values: Sequence[float]) -> float:
    """Their mean, which rounding must not carry out of their range."""
    return min(max(fmean(values), min(values)), max(values))


class Savings:
    """Counts the questions of a cascade, and the calls of its second judge that were not made.

    asked: questions in all. up: those that the second answered. unsure: those of them that the first had answered, but
    not surely enough, or had failed at. calls, dollars: by how much fewer and cheaper the second's calls were than for
    all questions, by its own estimate; dollars is None where it does not know its price.
    """

    def __init__(self) -> None:
        self.asked = self.up = self.unsure = self.calls = 0
        self.dollars: float | None = 0.0

    def add(
        self, asked: int, up: int, unsure: int, without: Sequence[ExpectedCall] = (), now: Sequence[ExpectedCall] = ()
    ) -> None:
        """Count one wave. without, now: the calls there would have been for all of it, and those there were."""
        self.asked += asked
        self.up += up
        self.unsure += unsure
        self.calls += len(without) - len(now)
        costs, paid = [call.cost for call in without], [call.cost for call in now]
        if self.dollars is None or None in costs or None in paid:
            self.dollars = None
        else:
            self.dollars += sum(filter(None, costs)) - sum(filter(None, paid))

    def notes(self, cascade: str, second: str) -> Iterator[str]:
        """Sentences for those who read the run."""
        if not self.asked:
            return
        share = f"{self.up} of {self.asked} questions ({self.up / self.asked:.0%}) went up to {second}"
        yield f"{cascade}: {share}, {self.unsure} of them because the first judge was not sure enough or failed."
        saved = self.asked - self.up
        if saved:
            price = "" if not self.dollars else f" and ${self.dollars:.2g}"
            calls = f", which saved about {self.calls} of its calls{price}" if self.calls or price else ""
            yield f"{cascade}: {saved} questions were not asked of {second}{calls}."


MemberAnswers = dict[Question, Answer | Failure]


class Panel(CompositeJudge):
    """Judges that vote on every verdict and grade; what votes come to, `ragauge.judges.composite` says.

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

    async def consult(self, questions: Sequence[Question], desk: RunContext) -> JudgeAnswers:
        """What the members' answers come to; they are asked side by side."""
        texts = [question for question in questions if isinstance(question, Decompose)]
        voted = [question for question in questions if not isinstance(question, Decompose) and self._all_can(question)]
        parts, *ballots = await asyncio.gather(
            self._taken_apart(texts, desk), *(ask_members(desk, member, voted) for member in self.members)
        )
        answers = parts | {question: self._decided(question, [one[question] for one in ballots]) for question in voted}
        return [answers[question] if question in answers else self._unable(question) for question in questions]

    def expect(self, questions: Sequence[Question]) -> list[ExpectedCall]:
        """The calls of all members together, if every reply were good and nothing were known."""
        texts = [question for question in questions if isinstance(question, Decompose)]
        voted = [question for question in questions if not isinstance(question, Decompose)]
        first = next((member for member in self.members if "decompose" in member.answers), None)
        calls = expected_of_members(first, texts) if first else []
        return [*calls, *(call for member in self.members for call in expected_of_members(member, voted))]

    def notes(self) -> list[str]:
        """How far the members agreed on what this process asked them, and what they say themselves."""
        return [*self._agreement(), *super().notes()]

    def _all_can(self, question: Question) -> bool:
        return all(can_answer(member, question) for member in self.members)

    async def _taken_apart(self, questions: Sequence[Question], desk: RunContext) -> MemberAnswers:
        """Each text as the first member takes it apart that can."""
        found: MemberAnswers = {}
        for member in self.members:
            if "decompose" in member.answers:
                left = [question for question in questions if _is_open(found.get(question))]
                found.update(await ask_members(desk, member, left))
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
            votes = unanimous(patterns)
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


class Cascade(CompositeJudge):
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

    async def consult(self, questions: Sequence[Question], desk: RunContext) -> JudgeAnswers:
        """The answers of the first where they stand, those of the second to the rest."""
        answers = await ask_members(desk, self.first, self._for_first(questions))
        up = [q for q in questions if can_answer(self.second, q) and not (q in answers and self._stands(q, answers[q]))]
        unsure = sum(question in answers for question in up)
        answers.update(await ask_members(desk, self.second, up))
        self._count(questions, up, unsure)
        return [answers.get(question) or _unable(question) for question in questions]

    def expect(self, questions: Sequence[Question]) -> list[ExpectedCall]:
        """The most calls that there can be: all those of the first, and those of the second if everything went up."""
        upper = [question for question in questions if can_answer(self.second, question)]
        return [*expected_of_members(self.first, self._for_first(questions)), *expected_of_members(self.second, upper)]

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
        counted = isinstance(self.second, ForecastingJudge) and len(up) < len(alone)
        without, now = (expected_of_members(self.second, some) if counted else [] for some in (alone, up))
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
