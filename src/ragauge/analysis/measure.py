"""How well a judge's answers agree with people's labels, set by set."""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ragauge.analysis.compare import is_significant
from ragauge.analysis.labelled_sets import LabelledCase, labelled_files, read_cases
from ragauge.errors import BadData, RunFailed
from ragauge.judges.base import DEFAULT_BATCH, Judge, JudgeAnswers, can_answer
from ragauge.questions import Entail, Question, topic
from ragauge.statistics.agreement import METHOD, auc, balanced_accuracy, group_difference, group_interval, spearman
from ragauge.statistics.intervals import Interval, mean_interval
from ragauge.statistics.paired import holm, paired_mean
from ragauge.text.sentences import sentences
from ragauge.types import Answer, Decomposition, Failure, Grade, Label, Verdict

if TYPE_CHECKING:
    from ragauge.statistics.agreement import Statistic


#: Answers questions in place of a judge's own `answer`, from a store for example.
AnswerFunction = Callable[[Judge, Sequence[Question]], Awaitable[JudgeAnswers]]


class JudgeSession:
    """Asks one judge, through `answer`."""

    def __init__(self, judge: Judge, answer: AnswerFunction) -> None:
        self.judge = judge
        self._answer = answer

    async def answers(self, rounds: Iterable[Sequence[Question]]) -> dict[Question, Answer | Failure]:
        """An answer to each question of all rounds, each of them of one sample; a question is asked once.

        A judge that works by sample is asked round by round, concurrently; others are asked in batches of all rounds.
        """
        place: dict[Question, int] = {}
        for at, round_ in enumerate(rounds):
            for question in round_:
                place.setdefault(question, at)
        by_sample: int = getattr(self.judge, "by_sample", 0)
        if by_sample:
            portions = [[question for question, _ in items] for _, items in groupby(place.items(), key=itemgetter(1))]
        else:
            flat, size = list(place), getattr(self.judge, "batch", DEFAULT_BATCH)
            portions = [flat[start : start + size] for start in range(0, len(flat), size)]
        limit = asyncio.Semaphore(by_sample or 1)
        answers: dict[Question, Answer | Failure] = {}

        async def ask(questions: Sequence[Question]) -> None:
            async with limit:
                answers.update(zip(questions, await self._answer(self.judge, questions), strict=True))

        await asyncio.gather(*map(ask, portions))
        return answers


@asynccontextmanager
async def judge_session(judge: Judge, answer: AnswerFunction | None) -> AsyncIterator[JudgeSession]:
    """A session that asks by `answer`, or asks the judge itself, which is open during the session.

    Raises UsageError if the judge lacks something, such as a key.
    """

    async def directly(judge: Judge, questions: Sequence[Question]) -> JudgeAnswers:
        return await judge.answer(questions)

    async with AsyncExitStack() as stack:
        if answer is None and isinstance(judge, AbstractAsyncContextManager):
            await stack.enter_async_context(judge)
        yield JudgeSession(judge, answer or directly)


_WORD = re.compile(r"\w+(?:['’]\w+)*")
_SIMILAR = 0.7


class MatchedClaims(NamedTuple):
    """The counts of matched statements of two decompositions: `pairs` matches among `found` and `expected` statements.

    Counts of several texts may be added before computing F1.
    """

    pairs: int
    found: int
    expected: int

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall, 0 if both are; None if nothing was found or expected."""
        total = self.found + self.expected
        return 2 * self.pairs / total if total else None


def _dice(one: Counter[str], other: Counter[str]) -> float:
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0


def match_claims(found: Sequence[str], expected: Sequence[str]) -> MatchedClaims:
    """Match the statements of a decomposition with those of a person.

    Two statements are similar if the Dice coefficient of their words (runs of letters and digits in lower case, each as
    often as it occurs), 2 * common / (words of one + words of the other), is 0.7 or more. Each statement is matched
    with at most one similar one, so that as many as possible are matched (a maximum matching); neither order nor degree
    of similarity matters beyond that. A statement without words matches none.
    """
    ours, theirs = ([Counter(_WORD.findall(text.lower())) for text in texts] for texts in (found, expected))
    similar = [[at for at, other in enumerate(theirs) if _dice(one, other) >= _SIMILAR] for one in ours]
    partner: dict[int, int] = {}

    def place(left: int, tried: set[int]) -> bool:
        """Match one statement, along an augmenting path if necessary."""
        for right in similar[left]:
            if right not in tried:
                tried.add(right)
                if right not in partner or place(partner[right], tried):
                    partner[right] = left
                    return True
        return False

    return MatchedClaims(sum(place(left, set()) for left in range(len(ours))), len(found), len(expected))


_LEAST = 0.001  # so that responses with two unsupported claims rank below those with one


class CaseOutcome(msgspec.Struct, frozen=True):
    """A judge's prediction for a case.

    probability: of label 1, or a grade, or the F1 of claims; None if unknown. positive: whether it is 1.
    """

    probability: float | None
    positive: bool


def unanswerable_topic(judge: Judge, questions: Iterable[Question]) -> str | None:
    """The topic of the first of the questions that the judge does not answer; None if it answers all."""
    return next((topic(question) for question in questions if not can_answer(judge, question)), None)


def _needed(cases: Iterable[LabelledCase]) -> Iterator[Question]:
    for case in cases:
        yield from case.questions
        if case.first:
            yield case.first


async def outcomes(
    asked: JudgeSession, cases: Sequence[LabelledCase]
) -> tuple[list[CaseOutcome | None], Failure | None]:
    """The judge's prediction for each case, None if an answer is missing; and the first failure."""
    parts = await asked.answers([case.first] for case in cases if case.first)
    rounds = [_about_claims(case, parts[case.first]) if case.first else list(case.questions) for case in cases]
    answers = await asked.answers(rounds)
    found = [_of_case(case, [answers[q] for q in round_]) for case, round_ in zip(cases, rounds, strict=True)]
    return found, first_failure([*parts.values(), *answers.values()])


def first_failure(answers: Iterable[Answer | Failure]) -> Failure | None:
    """The first failure among the answers."""
    return next((answer for answer in answers if isinstance(answer, Failure)), None)


def _about_claims(case: LabelledCase, parts: Answer | Failure) -> list[Question]:
    if not isinstance(parts, Decomposition):
        return []
    return [
        msgspec.structs.replace(question, hypothesis=claim)
        for question in case.questions
        if isinstance(question, Entail)
        for claim in _claims(parts) or [question.hypothesis]
    ]


def _claims(parts: Decomposition) -> list[str]:
    return [statement.text for statement in parts.statements if statement.claim]


def _f1(found: Sequence[str], expected: Sequence[str]) -> float:
    return match_claims(found, expected).f1 or 0.0


def _sentences_f1(case: LabelledCase) -> float:
    """The F1 of the sentences of a text, taken as claims."""
    text = case.group
    return _f1([text[start:end] for start, end in sentences(text)], case.claims)


def _of_case(case: LabelledCase, answers: Sequence[Answer | Failure]) -> CaseOutcome | None:
    """The most positive of alternative answers; for a response, that all of its claims are supported, independently."""
    if case.claims:
        (parts,) = answers
        return CaseOutcome(_f1(_claims(parts), case.claims), True) if isinstance(parts, Decomposition) else None
    read = [outcome for answer in answers if (outcome := _outcome(answer, case.least))]
    if not read or len(read) < len(answers):
        return None
    known = _all_known([one.probability for one in read])
    if case.first:
        together = math.prod(max(probability, _LEAST) for probability in sorted(known)) if known else None
        return CaseOutcome(together, all(one.positive for one in read))
    return CaseOutcome(max(known) if known else None, any(one.positive for one in read))


def _outcome(answer: Answer | Failure, least: float) -> CaseOutcome | None:
    match answer:
        case Verdict(label, probability):
            return CaseOutcome(probability, label in (Label.ENTAILED, Label.YES))
        case Grade(value):
            return CaseOutcome(value, value >= least)
        case _:
            return None


class BaselineDifference(msgspec.Struct, frozen=True, omit_defaults=True):
    """Two judges on the rows of a set that both answered.

    rows: their number. by: "auc", or "balanced_accuracy" if one judge gives no probabilities, or "f1" for claims. one,
    other: that figure for the measured judge and the other. difference: one - other, with its 95 % interval. p:
    two-sided, for the hypothesis of no difference; p_adjusted: by Holm over all sets, None until `adjusted`.
    """

    rows: int
    by: str
    one: float
    other: float
    difference: Interval
    p: float
    p_adjusted: float | None = None

    @property
    def final_p(self) -> float:
        """The adjusted p-value, or the plain one before it is adjusted."""
        return self.p if self.p_adjusted is None else self.p_adjusted

    @property
    def verdict(self) -> str:
        """What the measured judge is: "better", "worse" or "not distinguishable".

        It is better or worse if p_adjusted (or p, before adjustment) is below 0.05 and the interval excludes 0.
        """
        low, high = self.difference.low, self.difference.high
        if not is_significant(self.final_p, low, high):
            return "not distinguishable"
        return "better" if low is not None and low > 0 else "worse"


class SetResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """A judge on one set.

    rows: number of cases with an answer. failed: number without; failure: the first reason. auc: of the probabilities
    or grades. balanced_accuracy: of the labels. words: the AUC of the share of words that occur in the text, for the
    same rows. correlation: Spearman's, of the judge's grades with the human ones. f1: of claims, the mean over texts;
    sentences: that of whole sentences on the same texts. All figures have 95 % intervals, and are None if undefined.
    against: the comparison with another judge. seconds: the time of the judge. note: why there are no figures.
    """

    name: str
    rows: int = 0
    failed: int = 0
    auc: Interval | None = None
    balanced_accuracy: Interval | None = None
    words: Interval | None = None
    correlation: Interval | None = None
    f1: Interval | None = None
    sentences: Interval | None = None
    against: BaselineDifference | None = None
    seconds: float = 0.0
    note: str = ""
    failure: str = ""


def set_result(name: str, cases: Sequence[LabelledCase], outcomes: Sequence[CaseOutcome | None]) -> SetResult:
    """The figures of one set. outcomes: the judge's prediction for each case, None if an answer is missing."""
    pairs = [(case, outcome) for case, outcome in zip(cases, outcomes, strict=True) if outcome is not None]
    kept = [case for case, _ in pairs]
    labels, groups = [case.label for case in kept], [case.group for case in kept]
    probabilities = _all_known([outcome.probability for _, outcome in pairs])
    if any(case.claims for case in cases):
        return SetResult(
            name,
            rows=len(pairs),
            failed=len(cases) - len(pairs),
            f1=mean_interval(probabilities) if probabilities else None,
            sentences=mean_interval([_sentences_f1(case) for case in kept]) if kept else None,
        )
    grades = _all_known([case.grade for case in kept])
    return SetResult(
        name,
        rows=len(pairs),
        failed=len(cases) - len(pairs),
        auc=figure(labels, probabilities, groups, auc),
        balanced_accuracy=figure(labels, [float(one.positive) for _, one in pairs], groups, balanced_accuracy),
        words=figure(labels, _all_known([case.words for case in kept]), groups, auc),
        correlation=figure(grades, probabilities, groups, spearman) if grades else None,
    )


def figure(
    labels: Sequence[float], scores: Sequence[float] | None, groups: Sequence[Hashable], statistic: Statistic
) -> Interval | None:
    """A figure with its 95 % interval by resampling groups; None without scores, or if it is undefined."""
    value = None if scores is None else _value(statistic, labels, scores)
    if value is None or scores is None:
        return None
    low, high = group_interval(labels, scores, groups, statistic) or (None, None)
    return Interval(value, low, high, METHOD)


def _value(statistic: Statistic, labels: Sequence[float], scores: Sequence[float]) -> float | None:
    import numpy as np

    return statistic(np.asarray(labels, dtype=float), np.asarray(scores, dtype=float))


def baseline_differences(
    cases: Sequence[LabelledCase], one: Sequence[CaseOutcome | None], other: Sequence[CaseOutcome | None]
) -> BaselineDifference | None:
    """Two judges' predictions for the same cases, compared; None if a figure is undefined."""
    both = [(case, a, b) for case, a, b in zip(cases, one, other, strict=True) if a is not None and b is not None]
    labels, groups = [case.label for case, _, _ in both], [case.group for case, _, _ in both]
    ours, theirs = _all_known([a.probability for _, a, _ in both]), _all_known([b.probability for _, _, b in both])
    if ours and theirs and any(case.claims for case, _, _ in both):
        tested = paired_mean([a - b for a, b in zip(ours, theirs, strict=True)])
        if tested.p is None:
            return None
        f1, other_f1 = sum(ours) / len(both), sum(theirs) / len(both)
        return BaselineDifference(len(both), "f1", f1, other_f1, tested.interval, tested.p)
    by = "auc"
    statistic: Statistic = auc
    if ours is None or theirs is None:
        ours, theirs = [float(a.positive) for _, a, _ in both], [float(b.positive) for _, _, b in both]
        by, statistic = "balanced_accuracy", balanced_accuracy
    first, second = _value(statistic, labels, ours), _value(statistic, labels, theirs)
    found = group_difference(labels, ours, theirs, groups, statistic)
    if first is None or second is None or found.p is None:
        return None
    return BaselineDifference(len(labels), by, first, second, found.interval, found.p)


def adjusted(results: Sequence[SetResult]) -> list[SetResult]:
    """The results with the p-values of all comparisons adjusted (Holm), so that verdicts are of all sets together."""
    p = holm({one.name: one.against.p for one in results if one.against is not None})
    replace = msgspec.structs.replace
    return [
        one if one.against is None else replace(one, against=replace(one.against, p_adjusted=p[one.name]))
        for one in results
    ]


def _all_known(values: Sequence[float | None]) -> list[float] | None:
    """The values; None if one is missing or there are none."""
    known = [value for value in values if value is not None]
    return known if known and len(known) == len(values) else None


async def measure(
    judge: Judge,
    folder: Path,
    limit: int | None = None,
    seed: int = 0,
    answer: AnswerFunction | None = None,
    baseline: Judge | None = None,
) -> AsyncIterator[SetResult]:
    """`judge` on every labelled set in `folder` (*.jsonl, *.jsonl.gz), in the order of their names.

    Each row is asked as one sample, concurrently if the judge works by sample. A set that cannot be read has
    no figures and a note with the reason. The p-values of comparisons are for each set by itself; see `adjusted`.

    Args:
        judge: The judge to measure.
        folder: The folder of the sets.
        limit: The most rows of a set, drawn with `seed`.
        seed: For drawing rows.
        answer: Answers in the name of a judge, from a store for example. If None, the judge is asked, and stays open
            until the last set.
        baseline: Another judge that is asked about the same rows and compared.

    Raises:
        BadData: The folder holds no set.
        UsageError: A judge lacks something, such as a key.
        RunFailed: No row of a set was answered; raised after the last set, with the first reason.
    """
    files = labelled_files(folder)
    unanswered: list[SetResult] = []
    async with AsyncExitStack() as stack:
        asked = await stack.enter_async_context(judge_session(judge, answer))
        other = None if baseline is None else await stack.enter_async_context(judge_session(baseline, answer))
        for file in files:
            try:
                one = await _measure_set(asked, other, file, limit, seed)
            except BadData as bad:
                one = SetResult(_name(file), note=f"not measured: {bad}")
            unanswered += [one] if one.failed and not one.rows else []
            yield one
    if unanswered:
        names = ", ".join(one.name for one in unanswered)
        raise RunFailed(f"{names}: {judge.identity} answered no row, the first because: {unanswered[0].failure}")


async def _measure_set(
    asked: JudgeSession, other: JudgeSession | None, file: Path, limit: int | None, seed: int
) -> SetResult:
    name = _name(file)
    cases = read_cases(file, limit, seed)
    if cases is None:
        return SetResult(name, note="no question fits this kind of set")
    if beyond := unanswerable_topic(asked.judge, _needed(cases)):
        return SetResult(name, note=f"not answered: {beyond}")
    begun = time.perf_counter()
    found, failure = await outcomes(asked, cases)
    seconds = time.perf_counter() - begun
    if failure and not any(found):
        return SetResult(name, failed=len(cases), failure=str(failure))
    against = None
    if other is not None and unanswerable_topic(other.judge, _needed(cases)) is None:
        theirs, _ = await outcomes(other, cases)
        against = baseline_differences(cases, found, theirs)
    one = set_result(name, cases, found)
    return msgspec.structs.replace(one, against=against, seconds=seconds, failure=str(failure or ""))


def _name(file: Path) -> str:
    return file.name.partition(".jsonl")[0]
