"""Composite judges: panels vote, cascades ask the next judge where the first is not confident; judges by language.

Last, the confidence from which a judge is right often enough, as people's labels show.

Votes are counted in `ragauge.kinds.verdict`.
"""

from __future__ import annotations

import asyncio
import math
from collections import ChainMap, Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Self

import msgspec

from ragauge.errors import BadParameter, UnknownName
from ragauge.judges import base
from ragauge.kinds.base import BaseQuestion
from ragauge.kinds.verdict import UNSUPPORTED, AnyVerdict, VerdictQuestion
from ragauge.needs.base import answerable
from ragauge.questions import KIND_TYPES, Question, language
from ragauge.statistics.agreement import kappa
from ragauge.statistics.intervals import mean_interval
from ragauge.text.language import known_languages
from ragauge.types import POSITIVE, Answer, Failure, Grade, Identity, Label, Verdict


class CompositeJudge(base.ContextJudge):
    """A judge that asks its members, at least `least`. settings: what else can change an answer."""

    least = 2
    is_checked = True

    def __init__(self, name: str, members: Sequence[base.Judge], settings: Mapping[str, str]) -> None:
        whole = f"{name}({', '.join(str(member.identity) for member in members)})"
        if len(members) < self.least:
            raise BadParameter(f"{whole} needs at least two judges, as in {name}(embedded,JUDGE)")
        for position, member in enumerate(members):
            if member.identity in [other.identity for other in members[:position]]:
                raise BadParameter(f"{whole}: {member.identity} is there twice; name each judge once")
        self.members = tuple(map(base.adapted, members))
        self.by_sample = max(member.by_sample for member in self.members)
        self.batch = min(member.batch for member in self.members)
        self.identity = Identity(whole, (*settings.items(), *_settings(members)))
        self._entered: list[AsyncExitStack] = []

    async def __aenter__(self) -> Self:
        """Enter the members. Raises UsageError where one of them lacks something, such as a key."""
        async with AsyncExitStack() as stack:
            for member in self.members:
                await stack.enter_async_context(member)
            self._entered.append(stack.pop_all())
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Leave the members."""
        await self._entered.pop().aclose()

    @property
    def ended(self) -> Failure | None:
        """Why a member can answer no further question, once that is so."""
        return next((member.ended for member in self.members if member.ended), None)

    @property
    def two_way(self) -> frozenset[str]:
        """The kinds for which a member tells only support from its absence, not contradicted from neutral."""
        return frozenset(
            name
            for name, kind in KIND_TYPES.items()
            if any(kind.support_topic in member.answers and name not in member.answers for member in self.members)
        )

    def notes(self) -> list[str]:
        """The notes of the members."""
        return [note for member in self.members for note in member.notes()]


async def ask_members(
    context: base.RunContext, judge: base.Judge, questions: Sequence[Question]
) -> dict[Question, Answer | Failure]:
    """The answers of a member."""
    answers = await context.ask(judge, questions) if questions else ()
    return dict(zip(questions, answers, strict=True))


def expected_calls(judge: base.JudgeBase, questions: Sequence[Question]) -> Sequence[base.ExpectedCall]:
    """The calls that a judge forecasts for the questions."""
    return judge.expect(questions) if questions else ()


def answerable_by(judge: base.Judge, questions: Sequence[Question]) -> list[Question]:
    """The questions that a judge answers."""
    return [question for question in questions if base.can_answer(judge, question)]


def _settings(members: Sequence[base.Judge]) -> Iterator[tuple[str, str]]:
    """The settings of all members, each prefixed with the member's number."""
    for place, member in enumerate(members, start=1):
        yield str(place), member.identity.name
        for name, value in member.identity.settings:
            yield f"{place}.{name}", value


class Panel(CompositeJudge):
    """Judges that vote on every verdict and grade; `ragauge.kinds.verdict` describes the vote.

    Statements are not voted on: a text is decomposed by the first member that can, or the next where that fails.
    A member that fails is skipped in a vote as long as more than half of the members answered, unless it can answer no
    further question; otherwise its Failure is the answer.

    Raises:
        BadParameter: There are fewer than two members, or one is listed twice.
    """

    def __init__(self, members: Sequence[base.Judge]) -> None:
        super().__init__("panel", members, {"probability": "of the members, or their votes"})
        self._votes: dict[str, Counter[tuple[Label, ...]]] = {}
        self._spreads: list[float] = []
        self._skipped: Counter[str] = Counter()

    @property
    def answers(self) -> frozenset[str]:
        """The topics that all members answer, and those without votes if any does. It is two-way if a member is."""
        topics = {topic for member in self.members for topic in member.answers}
        voted = {topic for topic in topics if all(answerable(topic, member.answers) for member in self.members)}
        return frozenset(voted | (topics & _UNVOTED))

    async def consult(self, questions: Sequence[Question], context: base.RunContext) -> base.JudgeAnswers:
        """The joint answers; the members are asked concurrently."""
        unvoted = [question for question in questions if not question.is_voted]
        able = [question for question in questions if all(base.can_answer(member, question) for member in self.members)]
        voted = [question for question in able if question.is_voted]
        answers, *ballots = await asyncio.gather(
            self._first_answers(unvoted, context), *(ask_members(context, member, voted) for member in self.members)
        )
        for question in voted:
            answers[question] = self._joint_answer(question, [ballot[question] for ballot in ballots])
        unable = Failure("unanswerable", f"a member of {self.identity} does not answer this")
        return [answers.get(question, unable) for question in questions]

    def expect(self, questions: Sequence[Question]) -> list[base.ExpectedCall]:
        """The calls of all members together, if every reply were good and nothing were stored."""
        calls: list[base.ExpectedCall] = []
        left = [question for question in questions if not question.is_voted]
        voted = [question for question in questions if question.is_voted]
        for member in self.members:
            mine = answerable_by(member, left)
            calls += [*expected_calls(member, mine), *expected_calls(member, voted)]
            left = [question for question in left if question not in mine]
        return calls

    def notes(self) -> list[str]:
        """The members' agreement on what this process asked them, and their own notes."""
        return [*self._agreement(), *super().notes()]

    async def _first_answers(
        self, questions: Sequence[Question], context: base.RunContext
    ) -> dict[Question, Answer | Failure]:
        """The answer of the first member that can give one, or of the next where that fails."""
        answers: dict[Question, Answer | Failure] = {}
        left = list(questions)
        for member in self.members:
            answers.update(await ask_members(context, member, answerable_by(member, left)))
            left = [question for question in left if not _is_settled(answers.get(question))]
        return answers

    def _joint_answer(self, question: BaseQuestion, answers: Sequence[Answer | Failure]) -> Answer | Failure:
        failures = [answer for answer in answers if isinstance(answer, Failure)]
        final = next(filter(_is_out_of_money, failures), self.ended if failures else None)
        if final or 2 * len(failures) >= len(answers):
            return final or failures[0]
        pairs = zip(self.members, answers, strict=True)
        self._skipped.update(
            f"{member.identity} ({vote.reason})" for member, vote in pairs if isinstance(vote, Failure)
        )
        ballots = [answer for answer in answers if not isinstance(answer, Failure)]
        labels = tuple(ballot.label for ballot in ballots if isinstance(ballot, Verdict))
        if labels and not failures:
            self._votes.setdefault(question.kind, Counter())[labels] += 1
        if question.scale:
            low, high = question.scale
            grades = [ballot.value for ballot in ballots if isinstance(ballot, Grade)]
            self._spreads.append((max(grades) - min(grades)) / (high - low))
        return question.joint(ballots)

    def _agreement(self) -> Iterator[str]:
        for name, votes in sorted(self._votes.items()):
            merged: Counter[tuple[Label, ...]] = Counter()
            for labels, count in votes.items():
                merged[tuple(Label.NOT_ENTAILED if label in UNSUPPORTED else label for label in labels)] += count
            if any(Label.NOT_ENTAILED in labels for labels in votes):  # a member is two-way, so all are compared so
                votes = merged
            (agreed, share), (agreed_on_support, share_of_support) = map(_agreed, (votes, merged))
            note = f"{self.identity}: all agreed on {agreed} of {votes.total()} {name} questions asked now ({share})"
            on_support = f"; on {agreed_on_support} in whether a claim is supported ({share_of_support})"
            yield f"{note}{on_support if agreed_on_support > agreed else ''}."
        if self._spreads:
            mean = sum(self._spreads) / len(self._spreads)
            yield f"{self.identity}: grades lay {mean:.0%} of their scale apart on average ({len(self._spreads)})."
        if self._skipped:
            skipped = ", ".join(f"{member} {count}" for member, count in self._skipped.items())
            yield f"{self.identity}: questions that a member failed at, so that the others decided: {skipped}."


def _agreed(votes: Counter[tuple[Label, ...]]) -> tuple[int, str]:
    """On how many questions all members agreed, and on what share, with kappa where it is defined."""
    agreed = sum(count for labels, count in votes.items() if len(set(labels)) == 1)
    measured = kappa(votes)
    beyond = "" if measured is None else f", kappa {measured:.2f}"
    return agreed, f"{agreed / votes.total():.0%}{beyond}"


class Repeat(Panel):
    """One judge that is asked several times, and votes with itself as a panel does.

    The first time it is asked as it is, so that its stored answers count; then in orders of claims and sources shuffled
    with the seeds 1, 2, ... Each repetition is a judge of its own, whose answers are stored apart. Its notes give the
    flip rate: how often two repetitions differ in a verdict, the mean over questions and pairs.

    Args:
        judge: A judge with a method `shuffled(seed)`, such as an LLM judge.
        times: How often it is asked, at least twice; an odd number has no ties between two labels.

    Raises:
        BadParameter: The judge cannot be shuffled, or `times` is no whole number from 2 on.
    """

    def __init__(self, judge: base.Judge, times: int) -> None:
        name = f"repeat({judge.identity}, {times})"
        if isinstance(times, bool) or not isinstance(times, int) or times < 2:
            raise BadParameter(f"{name}: the second is how often to ask, 2 or more, such as 3")
        shuffled = [base.adapted(judge).shuffled(seed) for seed in range(1, times)]
        if None in shuffled:
            raise BadParameter(f"{name}: this judge answers alike each time; name an LLM judge")
        super().__init__([judge, *filter(None, shuffled)])
        self.identity = Identity(name, self.identity.settings)

    def notes(self) -> list[str]:
        """The flip rate and the agreement on what this process asked, and the judge's own notes, each once."""
        flips = []
        for name, votes in sorted(self._votes.items()):
            pairs = math.comb(len(self.members), 2)
            same = sum(n * sum(math.comb(k, 2) for k in Counter(labels).values()) for labels, n in votes.items())
            rate = 1 - same / (pairs * votes.total())
            where = f"{name} questions asked now, the share on which two repeats differ"
            flips.append(f"{self.identity}: flip rate {rate:.1%} on {where}.")
        return list(dict.fromkeys([*flips, *super().notes()]))


def _is_out_of_money(answer: Answer | Failure | None) -> bool:
    return isinstance(answer, Failure) and answer.reason == base.OVER_BUDGET.reason


def _is_settled(answer: Answer | Failure | None) -> bool:
    """Whether no other judge is to be asked."""
    return answer is not None and (not isinstance(answer, Failure) or _is_out_of_money(answer))


#: The kinds that are not voted on.
_UNVOTED = frozenset(name for name, kind in KIND_TYPES.items() if not kind.is_voted)


#: The kinds that are answered by a verdict, which may come with a probability.
VERDICTS = tuple(name for name, kind in KIND_TYPES.items() if kind.answer_type is Verdict)


def confidence(answer: Answer | Failure) -> float:
    """The confidence of an answer, 0.5 to 1; 0 for one without a probability.

    For a verdict with the probability p it is max(p, 1 - p), and the minimum of these where the chunks have
    probabilities of their own. p is that of support (or of yes), so this is the confidence in whether a hypothesis is
    supported; it does not cover which of neutral and contradicted it is otherwise.
    """
    if not isinstance(answer, Verdict) or answer.probability is None:
        return 0.0
    probabilities = [answer.probability, *(chunk.probability for chunk in answer.chunks)]
    return min(max(p, 1 - p) for p in probabilities if p is not None)


def _check_levels(levels: Mapping[str, float], high: float, fault: str) -> None:
    """Raise UnknownName for a key that is no kind of verdict, and BadParameter for a number that is not in 0..high."""
    for name, value in levels.items():
        if name not in VERDICTS:
            raise UnknownName("kind of verdict", name, VERDICTS)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= high or value == math.inf:
            raise BadParameter(fault.format(value=value, name=name))


class Cascade(CompositeJudge):
    """Two judges: the first answers where it is confident. For a longer chain the second is a cascade.

    The second judge is also asked where the first fails, and for grades and decompositions, which have no confidence.
    A question that only one of the two can answer goes to that one. Where the second fails, its Failure is the answer.

    threshold: the `confidence` from which a verdict of the first is accepted, for all kinds of verdict or by kind;
    verdicts of a kind that is not named are escalated. 0 leaves every verdict to the first judge, anything above 1 to
    the second. Raises BadParameter and UnknownName for invalid thresholds.
    """

    def __init__(self, first: base.Judge, second: base.Judge, threshold: float | Mapping[str, float]) -> None:
        by_kind = threshold if isinstance(threshold, Mapping) else dict.fromkeys(VERDICTS, threshold)
        _check_levels(by_kind, math.inf, "threshold {value!r} must be a number from 0.5 to 1, as in threshold=0.95")
        settings = {f"threshold.{name}": f"{value:g}" for name, value in sorted(by_kind.items())}
        super().__init__("cascade", (first, second), settings)
        self.first, self.second = self.members
        self._threshold = dict(by_kind)
        self._asked = self._escalated = self._unsure = self._saved_calls = 0
        self._saved_dollars: float | None = 0.0  # None where a price is not known

    @property
    def answers(self) -> frozenset[str]:
        """The topics that either answers. It is two-way if one of them is."""
        either = self.first.answers | self.second.answers
        return either - self.two_way

    async def consult(self, questions: Sequence[Question], context: base.RunContext) -> base.JudgeAnswers:
        """The confident answers of the first, and those of the second to the rest."""
        answers = await ask_members(context, self.first, self._for_first(questions))
        able = answerable_by(self.second, questions)
        escalated = [question for question in able if not self._is_accepted(question, answers.get(question))]
        self._asked += len(questions)
        self._escalated += len(escalated)
        self._unsure += sum(question in answers for question in escalated)
        answers.update(await ask_members(context, self.second, escalated))
        if len(escalated) < len(able):
            self._count_saved(able, escalated)
        unable = "neither judge of the cascade answers"
        return [answers.get(question) or Failure("unanswerable", f"{unable} {question.kind}") for question in questions]

    def expect(self, questions: Sequence[Question]) -> list[base.ExpectedCall]:
        """The most calls that are possible: those of both judges for all questions."""
        second = expected_calls(self.second, answerable_by(self.second, questions))
        return [*expected_calls(self.first, self._for_first(questions)), *second]

    def notes(self) -> list[str]:
        """The share of questions that was escalated, what the rest saved, and the members' notes."""
        return [*self._savings(), *super().notes()]

    def _savings(self) -> Iterator[str]:
        if not self._asked:
            return
        share = f"{self._escalated / self._asked:.0%}"
        went = f"{self._escalated} of {self._asked} questions asked now ({share}) went up to {self.second.identity}"
        yield f"{self.identity}: {went}, {self._unsure} of them because the first judge was not sure enough or failed."
        if saved := self._asked - self._escalated:
            price = f" and ${self._saved_dollars:.2g}" if self._saved_dollars else ""
            calls = f", which saved about {self._saved_calls} of its calls{price}" if self._saved_calls or price else ""
            yield f"{self.identity}: {saved} questions were not asked of {self.second.identity}{calls}."

    def _for_first(self, questions: Sequence[Question]) -> list[Question]:
        """The questions for the first: of kinds with a threshold, and those that the second cannot answer."""
        able = answerable_by(self.first, questions)
        others = answerable_by(self.second, able)
        return [question for question in able if question.kind in self._threshold or question not in others]

    def _is_accepted(self, question: Question, answer: Answer | Failure | None) -> bool:
        if answer is None or isinstance(answer, Failure):
            return _is_out_of_money(answer)
        return confidence(answer) >= self._threshold[question.kind]

    def _count_saved(self, able: Sequence[Question], escalated: Sequence[Question]) -> None:
        """Count the calls of the second judge that were saved, by its own forecast."""
        without, now = expected_calls(self.second, able), expected_calls(self.second, escalated)
        self._saved_calls += len(without) - len(now)
        if self._saved_dollars is None or any(call.cost is None for call in (*without, *now)):
            self._saved_dollars = None
        else:
            self._saved_dollars += sum(call.cost or 0 for call in without) - sum(call.cost or 0 for call in now)


class ByLanguage(CompositeJudge):
    """Judges by the language of a question: the language that one of its texts is evidently in, else English.

    A question whose judge cannot answer its topic goes to the judge of all other languages, whose topics count.

    judges: by the code of a language (ISO 639), and "*" for all others. Raises UnknownName for a language that is not
    recognised, and BadParameter where there is no "*", or only one judge.
    """

    def __init__(self, judges: Mapping[str, base.Judge]) -> None:
        for code in judges.keys() - known_languages() - {"*"}:
            raise UnknownName("language", code, known_languages())
        if "*" not in judges:
            names = ", ".join(judges)
            raise BadParameter(f"judges by language ({names}) need one for all others, as in '*': 'embedded'")
        settings = {code: str(judge.identity) for code, judge in sorted(judges.items())}
        unique = {judge.identity: base.adapted(judge) for judge in judges.values()}
        super().__init__("by_language", list(unique.values()), settings)
        self._judges = {code: unique[judge.identity] for code, judge in judges.items()}

    @property
    def answers(self) -> frozenset[str]:
        """The topics that the judge of all other languages answers. It is two-way if one of the judges is."""
        topics = self._judges["*"].answers
        narrowed = topics & self.two_way
        return topics - narrowed | {KIND_TYPES[name].support_topic for name in narrowed}

    async def consult(self, questions: Sequence[Question], context: base.RunContext) -> base.JudgeAnswers:
        """The answers of each question's judge; the judges are asked concurrently."""
        asked = [ask_members(context, judge, group) for judge, group in self._groups(questions)]
        answers = ChainMap(*await asyncio.gather(*asked))
        return [answers[question] for question in questions]

    def expect(self, questions: Sequence[Question]) -> list[base.ExpectedCall]:
        """The calls of each judge for the questions that are its own."""
        return [call for judge, group in self._groups(questions) for call in judge.expect(group)]

    def _groups(self, questions: Sequence[Question]) -> list[tuple[base.JudgeBase, list[Question]]]:
        others = self._judges["*"]

        def judge_of(question: Question) -> base.JudgeBase:
            judge = self._judges.get(language(question), others)
            return judge if base.can_answer(judge, question) else others

        return base.grouped(questions, judge_of)


class Decided(CompositeJudge):
    """A judge whose verdicts are "entailed", "yes" or "right" from a probability on, whatever its own label.

    Below it, "entailed" becomes what asserts least, and "right" becomes "wrong". Verdicts without a probability, and
    other answers, stay as they are. levels: the probability by kind of verdict.

    Raises UnknownName and BadParameter for invalid levels.
    """

    least = 1

    def __init__(self, judge: base.Judge, levels: Mapping[str, float]) -> None:
        _check_levels(levels, 1, "the probability {value!r} for {name} must be a number from 0 to 1")
        super().__init__("decided", (judge,), {f"level.{name}": f"{value:g}" for name, value in sorted(levels.items())})
        self._levels = dict(levels)

    @property
    def answers(self) -> frozenset[str]:
        """The judge's."""
        return self.members[0].answers

    async def consult(self, questions: Sequence[Question], context: base.RunContext) -> base.JudgeAnswers:
        """The judge's answers, decided by the levels."""
        answers = await ask_members(context, self.members[0], questions)
        return [self._decided(question, answers[question]) for question in questions]

    def expect(self, questions: Sequence[Question]) -> Sequence[base.ExpectedCall]:
        """The judge's calls."""
        return self.members[0].expect(questions)

    def _decided(self, question: Question, answer: Answer | Failure) -> Answer | Failure:
        level = self._levels.get(question.kind)
        if level is None or not isinstance(answer, Verdict) or not isinstance(question, VerdictQuestion):
            return answer
        no, yes = question.no_and_yes
        below = Label.NEUTRAL if no is Label.NOT_ENTAILED and question.kind in self.answers else no

        def decided(verdict: AnyVerdict, level: float = level) -> AnyVerdict:
            if verdict.probability is None:
                return verdict
            label = yes if verdict.probability >= level else below if verdict.label is yes else verdict.label
            return msgspec.structs.replace(verdict, label=label)

        return decided(msgspec.structs.replace(answer, chunks=tuple(map(decided, answer.chunks))))


class FittedThreshold(msgspec.Struct, frozen=True):
    """How often a judge is right from a confidence on, for questions of one kind with human labels.

    at: the lowest confidence that qualifies (then `threshold` too), or comes nearest; share: of the questions beyond
    it; accuracy: how many of these are right; bound: the lower end of its one-sided 95 % interval.
    """

    labelled: int
    threshold: float | None = None
    at: float | None = None
    share: float = 0.0
    accuracy: float | None = None
    bound: float = 0.0

    @property
    def nearest(self) -> str:
        """What comes nearest, in words; "" where no confidence is high enough to be tested."""
        if self.at is None:
            return ""
        right = f"{self.accuracy or 0.0:.0%} of these are right (at least {self.bound:.0%}, with texts as clusters)"
        return f"the nearest is {self.at:g}: {self.share:.0%} of {self.labelled} labelled verdicts lie beyond, {right}"


def fewest_labels(accuracy: float) -> int:
    """The fewest labels that can show an accuracy with 95 % confidence, all of them right."""
    return math.ceil(math.log(0.05) / math.log(accuracy))


def fit_thresholds(
    yes: Mapping[Question, bool], answers: Mapping[Question, Answer | Failure], accuracy: float
) -> dict[str, FittedThreshold]:
    """For each kind of verdict, the lowest confidence from which a judge's answers agree with people often enough.

    The lower end of a one-sided 95 % interval has to reach `accuracy`, by clusters of questions on one text.
    Confidences are tested from the highest beyond which a quarter of the labels lie, and at least `fewest_labels`,
    down to the first that fails, so that the chance of a threshold which is too low is 5 % at most, for any judge
    (fixed sequence testing; Angelopoulos et al., "Learn then test", 2021).

    Args:
        yes: whether people answered "entailed", "yes" or "right".
        answers: of the judge.
        accuracy: above 0 and below 1.
    """
    kinds = {name: [question for question in answers if question.kind == name] for name in VERDICTS}
    return {name: _fitted(asked, yes, answers, accuracy) for name, asked in kinds.items() if asked}


def _fitted(
    asked: Sequence[Question],
    yes: Mapping[Question, bool],
    answers: Mapping[Question, Answer | Failure],
    accuracy: float,
) -> FittedThreshold:
    """The lowest threshold in hundredths that qualifies, or the one that comes nearest."""
    lowest = nearest = FittedThreshold(len(asked))
    sure = {question: confidence(answers[question]) for question in asked}
    fewest = max(fewest_labels(accuracy), len(asked) / 4)
    for level in sorted({math.floor(value * 100) / 100 for value in sure.values() if value >= 0.5}, reverse=True):
        beyond = [question for question, value in sure.items() if value >= level]
        right = [float(says_yes(answers[question]) == yes[question]) for question in beyond]
        texts = [question.subject for question in beyond]
        shown = mean_interval(right, clusters=texts, confidence=0.9)  # one-sided 95 %
        reached = FittedThreshold(len(asked), None, level, len(beyond) / len(asked), shown.value, shown.low or 0.0)
        nearest = max(nearest, reached, key=lambda fitted: fitted.bound)
        if len(beyond) >= fewest:
            if reached.bound < accuracy:
                break
            lowest = msgspec.structs.replace(reached, threshold=level)
    return lowest if lowest.threshold is not None else nearest


def says_yes(answer: Answer | Failure, level: float | None = None) -> bool:
    """Whether an answer is "entailed", "yes" or "right"; level: the probability from which it is so."""
    if not isinstance(answer, Verdict) or level is None or answer.probability is None:
        return isinstance(answer, Verdict) and answer.label in POSITIVE
    return answer.probability >= level
