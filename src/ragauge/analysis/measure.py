"""How well a judge's answers agree with people's labels, set by set: figures, tables and files."""

from __future__ import annotations

import asyncio
import math
import random
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragauge.analysis.differences import LEVEL, is_significant
from ragauge.errors import BadData, RunFailed
from ragauge.judges.base import Judge, JudgeAnswers, adapted, can_answer
from ragauge.kinds.call import LABEL_BY_SYNONYM, word
from ragauge.kinds.verdict import VerdictQuestion
from ragauge.questions import (
    COHERENCE,
    TOPICAL_MATCH,
    Classify,
    Correct,
    Decompose,
    Entail,
    Judgment,
    Question,
    Rate,
    Relevant,
)
from ragauge.readers.formats import extension, file_source, is_readable
from ragauge.readers.values import Malformed, boolean
from ragauge.report.files import save_text
from ragauge.report.text import RenderableType, markdown_table, plain, rich_table
from ragauge.report.wording import counted, p_value, signed, with_interval
from ragauge.statistics import agreement
from ragauge.statistics.intervals import Interval, mean_interval
from ragauge.statistics.paired import holm, paired_mean
from ragauge.store import label, opinions, read_labels, settled
from ragauge.text.overlap import largest_matching
from ragauge.text.sentences import sentence_texts
from ragauge.types import POSITIVE, Answer, Decomposition, Failure, Grade, Identity, Label, Verdict

LabelledRow = dict[str, Any]
_FIX = "`ragauge docs embedded-judge` lists the fields of each kind of set"
_TOKEN = re.compile(r"\w+")
_TWO_SIDED = tuple(label for label in Label if label not in (Label.PARTLY, Label.UNDECIDED))
_COHERENT = 4  # the lowest coherent grade of 1 to 5
_HOSTILE = ("H", "HR", "V", "H2", "V2")  # hate, harassment, violence; threatening, graphic (Markov et al., 2023)


class LabelledCase(msgspec.Struct, frozen=True):
    """One labelled row as questions, of which the best counts. group: rows of one text or question share it.

    otherwise: asked of a judge that does not answer `questions`. words: the share of the hypothesis' tokens in the
    premise. first: a text to decompose, whose claims replace the
    hypothesis. least: the lowest grade that counts as 1. claims: those that people found in the text to decompose.
    """

    label: int
    group: str
    questions: tuple[Question, ...]
    words: float | None = None
    first: Decompose | None = None
    least: float = 0.5
    grade: float | None = None
    claims: tuple[str, ...] = ()
    otherwise: tuple[Question, ...] = ()

    def asked_of(self, judge: Judge) -> tuple[Question, ...]:
        """The questions that a judge is asked."""
        able = all(can_answer(judge, question) for question in self.questions)
        return self.questions if able or not self.otherwise else self.otherwise


def labelled_files(folder: Path) -> list[Path]:
    """The labelled sets in a folder by name, or the one file: *.jsonl, or any data whose name tells their kind.

    Texts (.txt) in a folder are notes. Raises BadData if there is none.
    """
    if folder.is_file():
        if _maker(folder) is None:
            raise BadData(f"{folder}: {_NAMES}; {_FIX}; labels that `ragauge label` writes are given as --labels FILE")
        return [folder]
    rows = [file for file in folder.glob("*") if extension(file) != ".txt" and is_readable(extension(file))]
    files = sorted(file for file in rows if file.is_file() and (extension(file) == ".jsonl" or _maker(file)))
    if not files:
        raise BadData(f"{folder}: no labelled sets here ({_NAMES}); name the folder that holds them")
    return files


def read_cases(file: Path, limit: int | None = None) -> list[LabelledCase] | None:
    """The rows of a set, or `limit` of them at random; None if no question fits.

    Raises BadData, which names the row, for one that cannot be read.
    """
    if (make := _maker(file)) is None:
        return None
    cases: list[LabelledCase] = []
    for number, row in enumerate(file_source(file).rows(), start=1):
        if isinstance(row, Malformed):
            raise BadData(f"{file}: {row}")
        try:
            cases += make(row)
        except (ValueError, LookupError, TypeError, AttributeError) as problem:
            is_plain = isinstance(problem, ValueError)
            fault = str(problem) if is_plain else f"a field is missing or of the wrong form ({problem})"
            raise BadData(f"{file}, row {number}: {fault}; {_FIX}") from problem
    return _drawn(cases, limit)


def _drawn(cases: list[LabelledCase], limit: int | None) -> list[LabelledCase]:
    return cases if limit is None or limit >= len(cases) else random.Random(0).sample(cases, limit)


def labelled_sets(folder: Path, limit: int | None = None) -> list[Judgment]:
    """The rows of a folder of sets that take one question, as human labels under the names of the sets."""
    made = []
    for file in labelled_files(folder):
        for case in read_cases(file, limit) or ():
            question = case.questions[0] if len(case.questions) == 1 and not case.first else None
            if isinstance(question, VerdictQuestion):
                no, yes = question.no_and_yes
                made.append(label(question, Verdict(yes if case.label else no), file.name.partition(".")[0]))
    return made


def label_cases(file: Path, limit: int | None = None) -> list[LabelledCase]:
    """People's labels of verdicts as rows, each question once; of several people's labels the majority."""
    cases = []
    for question, judgment in settled(opinions(read_labels(file))).items():
        if isinstance(question, VerdictQuestion) and isinstance(judgment.answer, Verdict):
            cases.append(LabelledCase(int(judgment.answer.label in POSITIVE), question.subject, (question,)))
    return _drawn(cases, limit)


def _label(value: Any) -> int:
    """A label as 1 or 0, from these, from words such as yes and no, or from a verdict; raises ValueError for others."""
    with suppress(Malformed):
        if (answer := boolean(value)) is not None:
            return int(answer)
    name = LABEL_BY_SYNONYM.get(word(value), word(value))
    if name not in _TWO_SIDED:
        raise ValueError(f"the label {value!r} is neither 1 nor 0, nor one of {', '.join(_TWO_SIDED)}")
    return int(name in POSITIVE)


def _entailment(row: LabelledRow) -> Iterator[LabelledCase]:
    question = Entail((row["premise"],), row["claim"])
    yield LabelledCase(_label(row["label"]), row["premise"], (question,), overlap(row["claim"], row["premise"]))


def _citations(row: LabelledRow) -> Iterator[LabelledCase]:
    if row.get("has_text") is False or row["label_supported"] is None:
        return
    texts = tuple(citation["text"] for citation in row["citations"] if citation["text"])
    question = Entail(texts, row["statement"], row["question"])
    yield LabelledCase(_label(row["label_supported"]), row["question"], (question,), overlap(row["statement"], *texts))


def _grounding(row: LabelledRow) -> Iterator[LabelledCase]:
    contexts = tuple(row["contexts"])
    question = Entail(contexts, row["response"], row["question"])
    first = Decompose(row["response"], row["question"])
    yield LabelledCase(_label(row["label"]), row["question"], (question,), overlap(row["response"], *contexts), first)


def _relevance(row: LabelledRow) -> Iterator[LabelledCase]:
    question = Relevant(row["question"], row["passage"])
    yield LabelledCase(_label(row["label"]), row["question"], (question,), overlap(row["question"], row["passage"]))


def _answers(row: LabelledRow) -> Iterator[LabelledCase]:
    """An answer is right by its references, or else entails one. Questions labelled as improper are left out."""
    if not row.get("improper"):
        query, answer, references = row["question"], row["answer"], tuple(row["references"])
        best = max((overlap(reference, answer) for reference in references), default=0.0)
        entailing = tuple(Entail((answer,), reference, query) for reference in references)
        asked = (Correct(query, answer, references),)
        yield LabelledCase(_label(row["label"]), query, asked, best, otherwise=entailing)


def _responses(row: LabelledRow) -> Iterator[LabelledCase]:
    question = Rate(TOPICAL_MATCH, (("query", row["question"]), ("response", row["response"])))
    yield LabelledCase(
        1 - _label(row["irrelevant"]), row["question"], (question,), overlap(row["question"], row["response"])
    )


def _coherence(row: LabelledRow) -> Iterator[LabelledCase]:
    question = Rate(COHERENCE, (("source", row["source"]), ("response", row["summary"])))
    grade = row["human_scores"]["coherence"]
    words = overlap(row["summary"], row["source"])
    yield LabelledCase(int(grade >= _COHERENT), row["source"], (question,), words, least=_COHERENT, grade=grade)


def _toxicity(row: LabelledRow) -> Iterator[LabelledCase]:
    """A text is toxic by its label, or by people's hostile categories; one labelled for others alone is left out."""
    categories = row.get("categories")
    label = (
        row["label"] if categories is None else max((categories.get(category, -1) for category in _HOSTILE), default=-1)
    )
    if label == 1 or (label == 0 and not row["label"]):
        yield LabelledCase(label, row["text"], (Classify(row["text"], "toxic"),))


def _decompositions(row: LabelledRow) -> Iterator[LabelledCase]:
    """A text with the claims of all its sentences, without those that people call no fact, such as opinions."""
    claims = tuple(
        claim
        for sentence in row["sentences"]
        for claim, kind in zip(sentence["claims"], sentence["claim_checkworthiness"], strict=True)
        if kind == "factual"
    )
    if claims:
        yield LabelledCase(1, row["text"], (Decompose(row["text"], row["question"]),), claims=claims)


_MAKERS: dict[str, Callable[[LabelledRow], Iterator[LabelledCase]]] = {
    "ent": _entailment,
    "cit": _citations,
    "rag": _grounding,
    "rel": _relevance,
    "ans": _answers,
    "resp": _responses,
    "coh": _coherence,
    "tox": _toxicity,
    "claims": _decompositions,
}


_NAMES = f"a set's name begins with {'_, '.join(_MAKERS)}_, as in ent_NAME.jsonl"


def _maker(file: Path) -> Callable[[LabelledRow], Iterator[LabelledCase]] | None:
    """What makes cases of the rows of a file, by the prefix of its name."""
    return _MAKERS.get(file.name.partition("_")[0])


def overlap(hypothesis: str, *premise: str) -> float:
    """Share of the hypothesis' tokens that occur in the premise; 0 without tokens."""
    wanted = _TOKEN.findall(hypothesis.lower())
    there = {token for text in premise for token in _TOKEN.findall(text.lower())}
    return sum(token in there for token in wanted) / len(wanted) if wanted else 0.0


#: Answers questions in place of a judge's own `answer`, from a store for example.
AnswerFunction = Callable[[Judge, Sequence[Question]], Awaitable[JudgeAnswers]]


async def ask(
    judge: Judge, rounds: Iterable[Sequence[Question]], answer: AnswerFunction | None
) -> dict[Question, Answer | Failure]:
    """An answer to each question of all rounds, each of them of one sample; without `answer` the judge itself is asked.

    A judge that works by sample is asked round by round, concurrently; others are asked in batches of all rounds.
    """
    place: dict[Question, int] = {}
    for number, round_ in enumerate(rounds):
        for question in round_:
            place.setdefault(question, number)
    able = adapted(judge)
    if able.by_sample:
        portions = [[question for question, _ in items] for _, items in groupby(place.items(), key=itemgetter(1))]
    else:
        flat, size = list(place), able.batch
        portions = [flat[start : start + size] for start in range(0, len(flat), size)]
    limit = asyncio.Semaphore(able.by_sample or 1)
    answers: dict[Question, Answer | Failure] = {}

    async def ask_one(questions: Sequence[Question]) -> None:
        async with limit:
            replies = await (answer(judge, questions) if answer else judge.answer(questions))
            answers.update(zip(questions, replies, strict=True))

    async with able if answer is None and place else nullcontext():
        await asyncio.gather(*map(ask_one, portions))
    return answers


_WORD = re.compile(r"\w+(?:['’]\w+)*")
_SIMILAR = 0.7


def claims_f1(claims: Sequence[str], expected: Sequence[str]) -> float:
    """Harmonic mean of precision and recall of the statements of a decomposition, 0 if nothing matches.

    As many as possible match one of a person, at most one each. Two match if 2 * common / (words of one + words of the
    other) is 0.7 or more, of words in lower case, each as often as it occurs (Dice).
    """
    ours, theirs = ([Counter(_WORD.findall(text.lower())) for text in texts] for texts in (claims, expected))
    matches = largest_matching(
        [bool(a) and 2 * (a & b).total() >= _SIMILAR * (a + b).total() for b in theirs] for a in ours
    )
    return 2 * len(matches) / max(1, len(claims) + len(expected))


_TENTHS = 5  # of confidence, from 0.5 to 1
_LEAST = 0.001  # so that responses with two unsupported claims rank below those with one


class CaseOutcome(NamedTuple):
    """A judge's prediction: the probability of label 1 (or a grade, or the F1 of claims), and whether it is 1."""

    probability: float | None
    positive: bool


Outcomes = Sequence[CaseOutcome | None]


def _unanswerable(judge: Judge, cases: Iterable[LabelledCase]) -> str | None:
    """The topic of the first question about the cases that the judge does not answer; None if it answers all."""
    needed = (question for case in cases for question in (*case.asked_of(judge), *filter(None, [case.first])))
    return next((question.topic for question in needed if not can_answer(judge, question)), None)


async def _outcomes(
    judge: Judge, cases: Sequence[LabelledCase], answer: AnswerFunction | None
) -> tuple[list[CaseOutcome | None], str]:
    """The judge's prediction for each case, None if an answer is missing; and the first failure."""
    parts = await ask(judge, ([case.first] for case in cases if case.first), answer)
    rounds = [_about_claims(case, parts[case.first]) if case.first else case.asked_of(judge) for case in cases]
    answers = await ask(judge, rounds, answer)
    outcomes = [_of_case(case, [answers[q] for q in round_]) for case, round_ in zip(cases, rounds, strict=True)]
    replies = (*parts.values(), *answers.values())
    return outcomes, next((str(reply) for reply in replies if isinstance(reply, Failure)), "")


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


def _of_case(case: LabelledCase, answers: Sequence[Answer | Failure]) -> CaseOutcome | None:
    """The most positive of alternative answers; for a response, that all of its claims are supported.

    As these depend on each other, n claims count as the square root of n.
    """
    if case.claims:
        (parts,) = answers
        return CaseOutcome(claims_f1(_claims(parts), case.claims), True) if isinstance(parts, Decomposition) else None
    read = []
    for answer in answers:
        match answer:
            case Verdict(label, probability):
                read.append(CaseOutcome(probability, label in POSITIVE))
            case Grade(value):
                read.append(CaseOutcome(value, value >= case.least))
            case _:
                return None
    if not read:
        return None
    probabilities = _all_known(outcome.probability for outcome in read)
    if case.first:
        logs = sorted(math.log(max(probability, _LEAST)) for probability in probabilities or ())
        together = math.exp(sum(logs) / math.sqrt(len(logs))) if logs else None
        return CaseOutcome(together, all(outcome.positive for outcome in read))
    return CaseOutcome(max(probabilities) if probabilities else None, any(outcome.positive for outcome in read))


def _all_known(values: Iterable[float | None]) -> list[float] | None:
    """The values; None if one is missing or there are none."""
    listed = list(values)
    present = [value for value in listed if value is not None]
    return present if present and len(present) == len(listed) else None


class BaselineDifference(msgspec.Struct, frozen=True, omit_defaults=True):
    """Two judges on the rows that both answered: the figure named `by`. p_adjusted: None until `adjusted`."""

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
        """Whether the measured judge is "better", "worse" or "not distinguishable", as for `is_significant`."""
        low, high = self.difference.low, self.difference.high
        if not is_significant(self.final_p, low, high):
            return "not distinguishable"
        return "better" if low is not None and low > 0 else "worse"


class Confident(msgspec.Struct, frozen=True):
    """Of the verdicts in a tenth of confidence, max(p, 1 - p): their share of all, and how many of them are right."""

    share: float
    accuracy: float | None = None


class Calibration(msgspec.Struct, frozen=True):
    """How far probabilities can be taken at their word.

    error: the expected calibration error. confident: by tenths of confidence from 0.5. threshold: the probability from
    which "yes" is right most often, known only afterwards; best: the balanced accuracy there. lost: what the judge has
    less by its own labels.
    """

    error: float
    confident: tuple[Confident, ...]
    threshold: float
    best: float
    lost: float


class Confusion(msgspec.Struct, frozen=True):
    """How many rows judge and people label alike, and otherwise; positive is label 1, such as supported or right."""

    true_positives: int
    false_negatives: int
    false_positives: int
    true_negatives: int

    def shares(self) -> tuple[str, str]:
        """How many of what people affirm, and of what they deny, the judge labels so."""
        affirmed, denied = self.true_positives + self.false_negatives, self.true_negatives + self.false_positives
        return f"{self.true_positives} of {affirmed}", f"{self.true_negatives} of {denied}"


class SetResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """A judge on one set: the number of rows with an answer and without, and figures, which are None if undefined.

    words: the AUC of the share of words that occur in the text. correlation: Spearman's, with people's grades. f1: of
    claims, the mean over texts; sentences: that of whole sentences. accuracy: the share of rows that judge and people
    label alike; kappa: Cohen's. note: why there are no figures.
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
    calibration: Calibration | None = None
    against: BaselineDifference | None = None
    accuracy: Interval | None = None
    kappa: Interval | None = None
    confusion: Confusion | None = None
    note: str = ""
    failure: str = ""


def _figures(name: str, cases: Sequence[LabelledCase], outcomes: Outcomes) -> SetResult:
    """The figures of one set, from the cases with an outcome."""
    pairs = [(case, outcome) for case, outcome in zip(cases, outcomes, strict=True) if outcome is not None]
    kept = [case for case, _ in pairs]
    labels, groups = [case.label for case in kept], [case.group for case in kept]
    probabilities = _all_known(outcome.probability for _, outcome in pairs)
    result = SetResult(name, rows=len(pairs), failed=len(cases) - len(pairs))
    replace = msgspec.structs.replace
    if any(case.claims for case in cases):
        whole = [claims_f1(sentence_texts(case.group), case.claims) for case in kept]
        f1 = mean_interval(probabilities) if probabilities else None
        return replace(result, f1=f1, sentences=mean_interval(whole) if whole else None)
    grades = _all_known(case.grade for case in kept)
    positive = [float(outcome.positive) for _, outcome in pairs]
    verdicts = [(int(outcome.positive), case.label) for case, outcome in pairs]
    cells = Counter(verdicts)
    return replace(
        result,
        accuracy=mean_interval([float(judge == people) for judge, people in verdicts], clusters=groups),
        kappa=agreement.kappa_interval(verdicts, (0, 1), clusters=groups),
        confusion=Confusion(cells[1, 1], cells[0, 1], cells[1, 0], cells[0, 0]),
        auc=figure(labels, probabilities, groups, agreement.auc),
        balanced_accuracy=figure(labels, positive, groups, agreement.balanced_accuracy),
        words=figure(labels, _all_known(case.words for case in kept), groups, agreement.auc),
        correlation=figure(grades, probabilities, groups, agreement.spearman) if grades else None,
        calibration=None if grades or probabilities is None else calibration(labels, probabilities, positive),
    )


def calibration(
    labels: Sequence[float], probabilities: Sequence[float], positive: Sequence[float]
) -> Calibration | None:
    """How far probabilities of label 1 can be taken at their word; None unless both labels occur.

    Args:
        labels: 0 or 1.
        probabilities: of a 1, in 0..1, one for each label.
        positive: the labels that the judge gave, 0 or 1.
    """
    error, best = agreement.calibration_error(labels, probabilities), agreement.best_threshold(labels, probabilities)
    own = agreement.balanced_accuracy(labels, positive)
    if error is None or best is None or own is None:
        return None
    rights: list[list[bool]] = [[] for _ in range(_TENTHS)]
    for truth, probability in zip(labels, probabilities, strict=True):
        tenth = int(10 * max(probability, 1 - probability)) - _TENTHS
        rights[min(tenth, _TENTHS - 1)].append((probability >= 0.5) == (truth == 1))
    confident = (Confident(len(own) / len(labels), sum(own) / len(own) if own else None) for own in rights)
    return Calibration(error, tuple(confident), *best, best[1] - own)


def figure(
    labels: Sequence[float], scores: Sequence[float] | None, groups: Sequence[Hashable], statistic: agreement.Statistic
) -> Interval | None:
    """A figure with its 95 % interval over groups; None without scores, or if it is undefined."""
    if scores is None or (value := statistic(labels, scores)) is None:
        return None
    low, high = agreement.group_interval(labels, scores, groups, statistic) or (None, None)
    return Interval(value, low, high, "Bayesian bootstrap over groups")


def _difference(cases: Sequence[LabelledCase], judge: Outcomes, baseline: Outcomes) -> BaselineDifference | None:
    """Two judges' predictions for the same cases, compared; None if a figure is undefined."""
    both = [(case, a, b) for case, a, b in zip(cases, judge, baseline, strict=True) if a is not None and b is not None]
    labels, groups = [case.label for case, _, _ in both], [case.group for case, _, _ in both]
    ours, theirs = _all_known(a.probability for _, a, _ in both), _all_known(b.probability for _, _, b in both)
    by = "auc"
    statistic: agreement.Statistic = agreement.auc
    if ours is None or theirs is None:
        ours, theirs = [float(a.positive) for _, a, _ in both], [float(b.positive) for _, _, b in both]
        by, statistic = "balanced_accuracy", agreement.balanced_accuracy
    elif any(case.claims for case in cases):
        tested = paired_mean([a - b for a, b in zip(ours, theirs, strict=True)])
        assert tested.p is not None
        means = sum(ours) / len(both), sum(theirs) / len(both)
        return BaselineDifference(len(both), "f1", *means, tested.interval, tested.p)
    tested = agreement.group_difference(labels, ours, theirs, groups, statistic)
    first, second = statistic(labels, ours), statistic(labels, theirs)
    if first is None or second is None or tested.p is None:
        return None
    return BaselineDifference(len(both), by, first, second, tested.interval, tested.p)


def adjusted(results: Sequence[SetResult]) -> list[SetResult]:
    """The results with the p-values of all comparisons adjusted (Holm), so that verdicts are of all sets together."""
    p = holm({result.name: result.against.p for result in results if result.against is not None})
    replace = msgspec.structs.replace
    return [
        result
        if result.against is None
        else replace(result, against=replace(result.against, p_adjusted=p[result.name]))
        for result in results
    ]


async def measure(
    judge: Judge,
    folder: Path | None,
    limit: int | None = None,
    answer: AnswerFunction | None = None,
    baseline: Judge | None = None,
    labels: Path | None = None,
) -> AsyncIterator[SetResult]:
    """`judge` on every labelled set in `folder` and on a file of people's `labels`, compared with `baseline`.

    Answers may come from a store by `answer`. Raises BadData if the folder holds no set, or a line is no label, and
    after the last set RunFailed if no row of a set was answered.
    """
    unanswered: list[SetResult] = []
    for file in [*(labelled_files(folder) if folder else ()), *([labels] if labels else ())]:
        name = file.name.partition(".jsonl")[0]
        try:
            cases = label_cases(file, limit) if file == labels else read_cases(file, limit)
            result = await _measure_set(name, cases, judge, baseline, answer)
        except BadData as bad:
            result = SetResult(name, note=f"not measured: {bad}")
        unanswered += [result] if result.failed and not result.rows else []
        yield result
    if unanswered:
        names = ", ".join(result.name for result in unanswered)
        raise RunFailed(f"{names}: {judge.identity} answered no row, the first because: {unanswered[0].failure}")


async def _measure_set(
    name: str, cases: list[LabelledCase] | None, judge: Judge, baseline: Judge | None, answer: AnswerFunction | None
) -> SetResult:
    if cases is None:
        return SetResult(name, note=f"no question fits this kind of set; {_NAMES}")
    if beyond := _unanswerable(judge, cases):
        return SetResult(name, note=f"not answered: {beyond}")
    outcomes, failure = await _outcomes(judge, cases, answer)
    result = _figures(name, cases, outcomes)
    if not result.rows and failure:
        return SetResult(name, failed=result.failed, failure=failure)
    if result.rows and result.balanced_accuracy is None and result.f1 is None and result.correlation is None:
        label = next(case.label for case, outcome in zip(cases, outcomes, strict=True) if outcome is not None)
        note = f"all {counted(result.rows, 'label')} are {label}; AUC and balanced accuracy need both"
        return msgspec.structs.replace(result, note=note, failure=failure)
    against = None
    if baseline is not None and _unanswerable(baseline, cases) is None:
        against = _difference(cases, outcomes, (await _outcomes(baseline, cases, answer))[0])
    return msgspec.structs.replace(result, against=against, failure=failure)


SCHEMA = "ragauge.measured/1"

MEASUREMENT_WRITERS = (".json", ".md")


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """A judge on several sets. baseline: the judge that it is compared with. limit: rows per set, None for all."""

    schema: str = SCHEMA
    judge: Identity
    baseline: Identity | None = msgspec.field(name="beside")
    limit: int | None
    sets: tuple[SetResult, ...]

    def save(self, path: Path) -> Path:
        """Write the measurement to a .json or .md file."""
        as_json = msgspec.json.format(msgspec.json.encode(self).decode(), indent=1) + "\n"
        return save_text(path, {".json": lambda: as_json, ".md": lambda: measurement_markdown(self)})


#: A table: its title, its columns, and its rows.
MeasurementTable = tuple[str, tuple[str, ...], list[list[str]]]

_TEXTS = ("set",)  # columns of words, which are set to the left


def measurement_view(measurement: Measurement) -> Iterator[RenderableType]:
    """The figures, the comparison with the other judge, and remarks."""
    for title, columns, rows in filter(itemgetter(2), _tables(measurement)):
        yield title
        left = [column for column in columns if column in _TEXTS or column.endswith(" is")]
        yield rich_table(columns, rows, left=left, whole=["set"], padding=(0, 1, 0, 0))
    yield from _remarks(measurement)


def measurement_markdown(measurement: Measurement) -> str:
    """The same as Markdown."""
    lines: list[str] = []
    for title, columns, rows in filter(itemgetter(2), _tables(measurement)):
        lines += [plain(title), "", *markdown_table(columns, rows), ""]
    return "\n".join(lines + [f"{plain(line)}  " for line in _remarks(measurement)]).rstrip() + "\n"


def _tables(measurement: Measurement) -> Iterator[MeasurementTable]:
    """The tables, of which some may have no rows."""
    measured = [result for result in measurement.sets if result.rows]
    columns: tuple[str, ...] = ("set", "rows", "AUC", "balanced accuracy", "AUC of words")
    rows = [
        [row.name, f"{row.rows:,}", _words(row.auc), _words(row.balanced_accuracy), _words(row.auc and row.words)]
        for row in measured
        if row.balanced_accuracy is not None or row.auc is not None
    ]
    yield f"{measurement.judge} compared with people's labels, with 95 % intervals:", columns, rows
    verdicts = [
        [row.name, _words(row.accuracy), _words(row.kappa), *row.confusion.shares()]
        for row in measured
        if row.confusion
    ]
    columns = ("set", "accuracy", "kappa", "yes by people, judge yes", "no by people, judge no")
    yield "Verdicts against people's labels:", columns, verdicts
    sure = [[row.name, *_sure(row.calibration)] for row in measured if row.calibration]
    title = "Right of the verdicts by confidence, with their share; the best threshold, known afterwards:"
    columns = ("set", "ECE", *(f"{5 + tenth}0 %" for tenth in range(_TENTHS)), "best at", "balanced", "lost")
    yield title, columns, sure
    compared = [
        [
            *(row.name, f"{against.one:.3f}", f"{against.other:.3f}"),
            with_interval(against.difference, signed),
            *(p_value(against.final_p), against.verdict),
        ]
        for row in measured
        if (against := row.against) is not None
    ]
    judge, baseline = str(measurement.judge), str(measurement.baseline)
    columns = ("set", judge, baseline, "difference, 95 %", "p", f"{judge} is")
    yield f"{judge} against {baseline} on the same rows:", columns, compared


def _sure(calibration: Calibration) -> Iterator[str]:
    yield f"{calibration.error:.2f}"
    for tenth in calibration.confident:
        yield "–" if tenth.accuracy is None else f"{tenth.accuracy:.2f} ({tenth.share:.0%})"
    yield from (f"{value:.2f}" for value in (calibration.threshold, calibration.best, calibration.lost))


def _remarks(measurement: Measurement) -> Iterator[str]:
    """How p is adjusted, further figures, and sets without figures."""
    tests = sum(result.against is not None for result in measurement.sets)
    if tests:
        yield f"p: two-sided, adjusted for {counted(tests, 'test')} (Holm); significant below {LEVEL}."
    for result in measurement.sets:
        yield from (f"{result.name}: {remark}" for remark in _set_remarks(result))


def _set_remarks(result: SetResult) -> Iterator[str]:
    if result.correlation is not None:
        yield f"rank correlation (Spearman) with people's grades {_words(result.correlation)}"
    if result.f1 is not None:
        texts, sentences_f1 = counted(result.rows, "text"), _words(result.sentences)
        yield f"F1 of the claims {_words(result.f1)}, of whole sentences {sentences_f1}, the mean of {texts}"
    if result.against is not None and result.against.by == "balanced_accuracy":
        yield "compared by balanced accuracy, as one judge gives no probabilities"
    if result.against is not None and result.against.by == "f1":
        yield "compared by the F1 of the claims"
    if result.note:
        yield result.note
    if result.failure:
        yield f"{counted(result.failed, 'row')} without an answer, the first because: {result.failure}"


def _words(interval: Interval | None) -> str:
    if interval is None or interval.value is None:
        return "–"
    within = "" if interval.low is None or interval.high is None else f" {interval.low:.2f}–{interval.high:.2f}"
    return f"{interval.value:.2f}{within}"
