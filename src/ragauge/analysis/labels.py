"""Human labels on a run: what to label next, sessions, scores that follow, and the agreement of judge and people."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from typing import NamedTuple

import msgspec

from ragauge.errors import UnknownName, UsageError
from ragauge.judges.base import JudgeRouter, LookupJudge
from ragauge.metrics.base import DatasetMetric
from ragauge.needs.base import Rounds
from ragauge.questions import (
    Classify,
    Decompose,
    Entail,
    Judgment,
    Question,
    Rate,
    Relevant,
    invalid_reason,
    judgment_key,
    kind,
)
from ragauge.report.explain import chooser
from ragauge.report.wording import counted, number, printable, with_interval
from ragauge.run.results import Run, recovered_record
from ragauge.scores import Better, Evidence, RunRecord, SampleRecord, Score
from ragauge.statistics.agreement import corrected_mean, kappa_interval
from ragauge.statistics.intervals import Interval, mean_interval
from ragauge.store import Store, label
from ragauge.store.recording import PEOPLE
from ragauge.types import Answer, ChunkVerdict, Failure, Grade, Identity, Label, Verdict

_THREE_WAY = (Label.ENTAILED, Label.NEUTRAL, Label.CONTRADICTED)
_TWO_WAY = (Label.ENTAILED, Label.NOT_ENTAILED)
_YES_NO = (Label.YES, Label.NO)


class LabelPair(NamedTuple):
    """The answers of judge and people to one question. sample: the position of its sample."""

    question: Question
    judge: Answer
    people: Answer
    sample: int


class Agreement(msgspec.Struct, frozen=True):
    """The agreement of judge and people on the questions of one kind that a metric asks.

    n: number of questions; samples: number of samples they come from. raw: raw agreement, the share of questions with
    the same answer, with its interval. kappa: Cohen's kappa with its interval; its value is None if undefined, and
    kappa itself is None for grades. apart: mean absolute difference of grades, None for verdicts. table: the confusion
    counts, as (judge's answer, people's answer, count).
    """

    kind: str
    n: int
    samples: int
    raw: Interval
    kappa: Interval | None
    apart: float | None
    table: tuple[tuple[str, str, int], ...]


def agreements(pairs: Sequence[LabelPair]) -> list[Agreement]:
    """The agreement on each kind of question.

    Samples are the clusters of the intervals, since the questions of one sample are not independent. If the judge is
    two-way (supported or not), people's labels are reduced to the same two.
    """
    kinds = dict.fromkeys(kind(pair.question) for pair in pairs)
    return [_agreement(name, [pair for pair in pairs if kind(pair.question) == name]) for name in kinds]


def _agreement(name: str, pairs: Sequence[LabelPair]) -> Agreement:
    possible = _possible_labels(pairs)
    two_way = possible == _TWO_WAY
    names = [(_label_name(pair.judge, two_way), _label_name(pair.people, two_way)) for pair in pairs]
    clusters = [str(pair.sample) for pair in pairs]
    grades = [
        abs(pair.judge.value - pair.people.value)
        for pair in pairs
        if isinstance(pair.judge, Grade) and isinstance(pair.people, Grade)
    ]
    return Agreement(
        kind=name,
        n=len(pairs),
        samples=len(set(clusters)),
        raw=mean_interval([float(judge == people) for judge, people in names], clusters=clusters),
        kappa=None if grades else kappa_interval(names, possible, clusters=clusters),
        apart=sum(grades) / len(grades) if grades else None,
        table=tuple((judge, people, times) for (judge, people), times in sorted(Counter(names).items())),
    )


def _possible_labels(pairs: Sequence[LabelPair]) -> tuple[Label, ...]:
    """The labels that the judge can give to questions of one kind."""
    if not isinstance(pairs[0].question, Entail):
        return _YES_NO
    return _TWO_WAY if any(isinstance(pair.judge, Verdict) and pair.judge.two_way for pair in pairs) else _THREE_WAY


def _label_name(answer: Answer, two_way: bool) -> str:
    if isinstance(answer, Grade):
        return f"{answer.value:g}"
    assert isinstance(answer, Verdict)
    if two_way and answer.label is not Label.ENTAILED:
        return Label.NOT_ENTAILED
    # A person who only saw that support is missing has not called the claim contradicted.
    return Label.NEUTRAL if answer.label is Label.NOT_ENTAILED else answer.label


class LabelSummary(msgspec.Struct, frozen=True):
    """The estimate of a metric by the judge alone, and corrected by human labels; the two are never mixed.

    judge: the mean of the judge's scores over the samples that have one. corrected: the estimated mean that people
    would give all of them, from the samples drawn at random and labelled in full; None values if there are none.
    samples: number of samples that the judge scored. labelled: number with any human label. drawn: number drawn at
    random and labelled in full; counted: those of them with a score by both.
    agreement: of judge and people on the samples drawn at random, by kind of question.
    """

    better: Better
    judge: Interval
    corrected: Interval
    samples: int
    labelled: int
    drawn: int
    counted: int
    agreement: tuple[Agreement, ...]


#: The doubt of a verdict without a probability and of a grade: that of a probability of 0.25 or 0.75.
DEFAULT_DOUBT = 0.5

Keys = tuple[str, ...]


@dataclass(frozen=True)
class LabelItem:
    """The judgments of one sample that can be labelled.

    keys: by need, the distinct keys of the judgments in its evidence. doubts: by need, their mean doubt
    in 0..1. needs: by metric, the needs that it counts. group: of the sample.
    """

    keys: dict[str, Keys]
    doubts: dict[str, float]
    needs: dict[str, Keys]
    group: str | None

    def all_keys(self) -> Iterator[str]:
        """The keys of all judgments in the evidence of the sample."""
        return chain.from_iterable(self.keys.values())

    def keys_of(self, metric: str) -> Keys:
        """The keys of the judgments that a metric counts."""
        return tuple(dict.fromkeys(key for need in self.needs.get(metric, ()) for key in self.keys[need]))

    def yield_of(self, metric: str) -> float:
        """How informative one label is for a metric: the mean doubt of its judgments, divided by their number."""
        keys = self.keys_of(metric)
        doubt = sum(self.doubts[need] * len(self.keys[need]) for need in self.needs.get(metric, ()))
        return doubt / len(keys) ** 2 if keys else 0.0


def _item(record: SampleRecord) -> LabelItem:
    keys: dict[str, Keys] = {}
    doubts: dict[str, float] = {}
    for need, evidence in record.evidence.items():
        pieces = [piece for piece in evidence if piece.judgment]
        keys[need] = tuple(dict.fromkeys(piece.judgment for piece in pieces))
        if pieces:
            doubts[need] = sum(map(_doubt, pieces)) / len(pieces)
    counted = ((metric, score.evidence) for metric, score in record.scores.items())
    needs = {metric: tuple(need for need in evidence if keys.get(need)) for metric, evidence in counted}
    return LabelItem(keys, doubts, needs, record.sample.group)


def _doubt(piece: Evidence) -> float:
    """The doubt of a verdict: 1 at a probability of 0.5, such as a split vote of a panel, and 0 at 0 and 1."""
    return DEFAULT_DOUBT if piece.probability is None else 1 - abs(2 * piece.probability - 1)


class HumanLabels:
    """The human labels of a store for the questions of one run.

    labels: the latest label of each question. by_key: the same, by the key of each judgment of the question, the
    judge's and people's. blind: by key, the latest label given without seeing the judge's verdict, on a sample of the
    run's data. chance: the keys of the blind labels whose sample was drawn at random.
    """

    def __init__(self, store: Store, run: RunRecord) -> None:
        judges, given = RunJudges(run), store.labels()
        self.labels: Mapping[Question, Judgment] = {label.question: label for label in given}
        blind = {label.question: label for label in store.labels(blind=run.data_hash)}
        drawn = {label.question for label in store.labels(blind=run.data_hash, chance=True)}
        self.by_key: dict[str, Judgment] = {}
        for one in given:
            judge = judges.of(one.question)
            for key in (one.key, *([] if judge is None else [judgment_key(one.question, judge)])):
                self.by_key[key] = self.labels[one.question]
        self.blind = {key: blind[one.question] for key, one in self.by_key.items() if one.question in blind}
        self.chance = {key for key, one in self.blind.items() if one.question in drawn}


class RunJudges(JudgeRouter):
    """The judges of a run, and their answers in a store."""

    def __init__(self, run: RunRecord) -> None:
        super().__init__({kind: LookupJudge(identity) for kind, identity in run.judges.items()})

    def of(self, question: Question) -> Identity | None:
        """The identity of the judge of a question; None if the run had no judge for its kind."""
        judge = self.judge_of(question)
        return None if judge is None else judge.identity

    def answers(self, store: Store, questions: Iterable[Question]) -> dict[Question, Judgment]:
        """The judges' answers to those of `questions` that they were asked."""
        identities = {question: self.of(question) for question in questions}
        keys = {judgment_key(one, identity): one for one, identity in identities.items() if identity is not None}
        return {keys[key]: judgment for key, judgment in store.find(list(keys)).items()}


class SampleDraw(msgspec.Struct, frozen=True):
    """A sample to label: its position in the run, and whether it was drawn at random or as most informative."""

    position: int
    at_random: bool


def drawn_by_chance(keys: Sequence[Keys], human: HumanLabels, positions: Sequence[int]) -> list[int]:
    """The samples up to the last one drawn at random, in random order, whether they are labelled in full or not.

    Samples labelled for another reason (drawn as most informative, or because they share a question with another
    sample) are included once the random order has passed them, or when everything is labelled.

    Args:
        keys: Of each sample, the keys of the judgments that the metric counts.
        human: The labels so far.
        positions: All positions, in random order.
    """
    seen: set[str] = set()
    last = -1
    judged = [at for at in positions if keys[at]]
    for rank, position in enumerate(judged):
        if any(key in human.chance and key not in seen for key in keys[position]):
            last = rank
        seen.update(keys[position])
    return judged if all(key in human.blind for key in seen) else judged[: last + 1]


def fully_labelled(keys: Sequence[Keys], human: HumanLabels, positions: Sequence[int]) -> list[int]:
    """The samples in which every judgment that the metric counts has a blind label."""
    return [at for at in positions if human.blind.keys() >= set(keys[at])]


def draw_sample(
    items: Sequence[LabelItem], metric: str, human: HumanLabels, positions: Sequence[int], skipped: Collection[int] = ()
) -> SampleDraw | None:
    """The next sample to label for a metric, None if all are labelled.

    Samples drawn at random alternate with the most informative ones, those where one label is expected to settle most
    of the score. skipped: positions that the person has skipped.
    """
    keys = [item.keys_of(metric) for item in items]
    judged = [at for at in positions if keys[at]]
    complete = set(fully_labelled(keys, human, judged))
    left = [at for at in judged if at not in skipped and at not in complete]
    if not left:
        return None
    informative = max(left[1:], key=lambda at: items[at].yield_of(metric), default=None)
    by_chance, labelled = len(fully_labelled(keys, human, drawn_by_chance(keys, human, positions))), len(complete)
    if informative is None or by_chance <= labelled - by_chance:
        return SampleDraw(left[0], True)
    return SampleDraw(informative, False)


_UNKNOWN = Failure("not_stored", "the store holds no answer to a question that the labels raise")
_NOBODY = Identity("nobody")


class Replay:
    """Scores the samples of a run again, with the judge's answers alone or with human labels in their place.

    measures: by value, the run's metrics over samples that the catalogue has; others cannot be scored again. human: the
    keys of evidence whose answers were human labels given with the run.
    """

    def __init__(self, run: Run, judges: RunJudges, items: Sequence[LabelItem]) -> None:
        self._metrics = [one for one in recovered_record(run.record) if not isinstance(one, DatasetMetric)]
        self.measures = {key: metric for metric in self._metrics for key in metric.values}
        self._run, self._judges = run, judges
        self.human: set[str] = set()
        if run.record.labelled:
            keys = {key for item in items for key in item.all_keys()}
            judged = run.store.find(list(keys))
            self.human = {key for key in keys if key not in judged or judged[key].judge.name == PEOPLE}
        self._affected = [at for at, row in enumerate(items) if not self.human.isdisjoint(row.all_keys())]
        self._alone: dict[int, dict[str, Score]] = {}

    def by_judge(self, metric: str) -> list[float | None]:
        """The judge's own score of each sample, even if the run was made with human labels."""
        values = self._run.values(metric)
        for at in self._affected:
            if at not in self._alone:
                self._alone[at] = self._scores(self._run.store.sample(self._run.id, at), {})
            if score := self._alone[at].get(metric):
                values[at] = score.value
        return values

    def by_people(self, position: int, labels: Mapping[Question, Judgment]) -> dict[str, Score]:
        """The scores of a sample with these labels and with those that the run was made with."""
        record = self._run.store.sample(self._run.id, position)
        keys = {piece.judgment for pieces in record.evidence.values() for piece in pieces} & self.human
        given = {judgment.question: judgment for judgment in self._run.store.find(list(keys)).values()}
        return self._scores(record, {**given, **labels})

    def _scores(self, record: SampleRecord, labels: Mapping[Question, Judgment]) -> dict[str, Score]:
        """The scores without evidence, failed if a judgment is not known; without metrics over the data set."""
        rounds = Rounds(record.sample, [need for metric in self._metrics for need in metric.needs])
        while questions := rounds.questions:
            known = self._judges.answers(self._run.store, questions)
            known |= {question: labels[question] for question in questions if question in labels}
            rounds.advance({one: known.get(one) or Judgment(one, _UNKNOWN, _NOBODY, "") for one in questions})
        scores: dict[str, Score] = {}
        for metric in self._metrics:
            scores |= metric.scores({need.name: rounds.outcomes[need.name] for need in metric.needs})
        return scores


class LabelPiece(msgspec.Struct, frozen=True):
    """A piece of evidence to label.

    evidence: the piece, its field and span. question: the question about it, with all texts. judge: the judge's answer,
    None if only people were asked. label: the latest human label, None if there is none.
    """

    evidence: Evidence
    question: Question
    judge: Answer | None
    label: Judgment | None


class Labelling:
    """Human labels on a finished run. Its records are read once, the labels of the store on every call.

    Raises:
        UsageError: The run has not ended, so samples cannot be drawn from all of its data.
    """

    def __init__(self, run: Run) -> None:
        if not run.record.data_hash:
            raise UsageError(f"run {run.id} has not ended; label it when it has")
        self.run = run
        self._store = run.store
        self._judges = RunJudges(run.record)

    @cached_property
    def items(self) -> list[LabelItem]:
        """What can be labelled in each sample."""
        return list(map(_item, self.run.records()))

    @cached_property
    def metrics(self) -> list[str]:
        """The metrics over samples that count judgments; first the one that chooses the worst samples."""
        first = chooser(self.run.record)
        counting = dict.fromkeys(metric for item in self.items for metric, needs in item.needs.items() if needs)
        return sorted(counting, key=lambda metric: metric != first)

    def metric(self, wanted: str | None = None) -> str:
        """`wanted`, or the first of `metrics`. Raises UnknownName if `wanted` counts no judgments."""
        if not self.metrics:
            raise UsageError(f"run {self.run.id} has no metric over samples that counts judgments; nothing to label")
        if wanted is not None and wanted not in self.metrics:
            raise UnknownName("metric with judgments in this run", wanted, self.metrics)
        return wanted or self.metrics[0]

    def human_labels(self) -> HumanLabels:
        """The labels that the store has now."""
        return HumanLabels(self._store, self.run.record)

    def next(self, metric: str, skipped: Collection[int] = ()) -> SampleDraw | None:
        """The next sample to label, None if nothing is left. skipped: positions that the person has skipped."""
        return draw_sample(self.items, metric, self.human_labels(), self._order, skipped)

    def pieces(self, position: int, metric: str) -> list[LabelPiece]:
        """The judged pieces of one metric of a sample, each question once, in the order of the evidence."""
        record = self._store.sample(self.run.id, position)
        wanted = set(self.items[position].keys_of(metric))
        shown = {piece.judgment: piece for piece in record.score(metric).evidence if piece.judgment in wanted}
        human = self.human_labels()
        questions = self._questions(list(shown), human)
        judged = self._judges.answers(self._store, questions.values())
        return [
            LabelPiece(piece, question, _answer(judged.get(question)), human.labels.get(question))
            for key, piece in shown.items()
            if (question := questions.get(key)) is not None
        ]

    def open(self, drawn: SampleDraw, metric: str) -> list[LabelPiece]:
        """The pieces of a drawn sample that have no blind label yet."""
        blind = {label.question for label in self.human_labels().blind.values()}
        return [piece for piece in self.pieces(drawn.position, metric) if piece.question not in blind]

    def keep(self, question: Question, answer: Answer, by: str, drawn: SampleDraw | None = None) -> None:
        """Store a label.

        Args:
            question: The question that was answered.
            answer: The person's answer.
            by: The person's name.
            drawn: How the sample was drawn; None if the person had seen the judge's verdict.
        """
        blind = self.run.record.data_hash if drawn else ""
        self._store.keep_labels([label(question, answer, by)], blind=blind, chance=bool(drawn and drawn.at_random))

    def scores(self, position: int) -> dict[str, Score]:
        """The scores of a sample with human labels in place of the judge's answers, without evidence."""
        return self._replay.by_people(position, self.human_labels().labels)

    def labelled(self) -> list[str]:
        """The metrics that count a judgment with a human label."""
        human = self.human_labels().by_key
        found = {metric for row in self.items for metric in row.needs if any(map(human.get, row.keys_of(metric)))}
        return [metric for metric in self.metrics if metric in found]

    def summaries(self, metrics: Sequence[str] = ()) -> dict[str, LabelSummary]:
        """By metric, the judge's score, the score corrected by human labels, and the agreement.

        metrics: those to summarize; all if empty.
        """
        human = self.human_labels()
        labels = {**human.labels, **{label.question: label for label in human.blind.values()}}
        by_people = cache(lambda position: self._replay.by_people(position, labels))
        return {metric: self._summary(metric, human, by_people) for metric in metrics or self.metrics}

    def _summary(
        self, metric: str, human: HumanLabels, by_people: Callable[[int], Mapping[str, Score]]
    ) -> LabelSummary:
        measure, keys = self._replay.measures.get(metric), [item.keys_of(metric) for item in self.items]
        scale = (0.0, 1.0) if measure is None else measure.scale
        by_judge = {at: value for at, value in enumerate(self._replay.by_judge(metric)) if value is not None}
        drawn = drawn_by_chance(keys, human, self._order)
        complete = fully_labelled(keys, human, drawn)
        values = {at: by_people(at)[metric].value for at in complete if at in by_judge} if measure else {}
        people = {at: value for at, value in values.items() if value is not None}
        rest = [at for at in by_judge if at not in people]
        corrected = corrected_mean(
            list(people.values()),
            [by_judge[at] for at in people],
            [by_judge[at] for at in rest],
            scale=scale,
            clusters=self._groups(people),
            rest_clusters=self._groups(rest),
        )
        estimate = self.run.estimates[metric]
        judge = Interval(estimate.value, estimate.low, estimate.high, estimate.method)
        if self._replay.human and measure is not None:
            judge = mean_interval(list(by_judge.values()), scale=scale, clusters=self._groups(by_judge))
        return LabelSummary(
            estimate.better,
            judge,
            corrected,
            samples=len(by_judge),
            labelled=sum(not human.by_key.keys().isdisjoint(found) for found in keys),
            drawn=len(complete),
            counted=len(people),
            agreement=tuple(agreements(self._pairs(metric, human, drawn))),
        )

    def _groups(self, positions: Iterable[int]) -> list[str | None] | None:
        found = [self.items[at].group for at in positions]
        return found if any(group is not None for group in found) else None

    @cached_property
    def _order(self) -> list[int]:
        """All positions in random order, seeded by the data: the same in all runs over the same data."""
        positions = list(range(len(self.items)))
        random.Random(self.run.record.data_hash).shuffle(positions)
        return positions

    @cached_property
    def _replay(self) -> Replay:
        return Replay(self.run, self._judges, self.items)

    def _questions(self, keys: Sequence[str], human: HumanLabels) -> dict[str, Question]:
        """The questions of judgments in the run's evidence."""
        judged = self._store.find(keys)
        known = {key: judgment.question for key, judgment in judged.items()}
        return {key: human.by_key[key].question for key in keys if key in human.by_key} | known

    def _pairs(self, metric: str, human: HumanLabels, drawn: Sequence[int]) -> list[LabelPair]:
        """The answers of judge and people to the questions of samples drawn at random, each question once."""
        places: dict[str, int] = {}
        for at in drawn:
            for key in self.items[at].keys_of(metric):
                if key in human.blind:
                    places.setdefault(key, at)
        labels = {key: human.blind[key] for key in places}
        judged = self._judges.answers(self._store, [label.question for label in labels.values()])
        return [
            LabelPair(given.question, judge, given.answer, places[key])
            for key, given in labels.items()
            if (judge := _answer(judged.get(given.question))) is not None
            if not isinstance(given.answer, Failure)
        ]


def _answer(judgment: Judgment | None) -> Answer | None:
    return None if judgment is None or isinstance(judgment.answer, Failure) else judgment.answer


_DECIDING = (Label.ENTAILED, Label.CONTRADICTED)


class LabelChoice(msgspec.Struct, frozen=True):
    """A possible answer to a question: its key, the label, and the label in words."""

    key: str
    label: Label
    words: str


_ENTAILMENT_CHOICES = (
    LabelChoice("s", Label.ENTAILED, "supported"),
    LabelChoice("n", Label.NEUTRAL, "not supported"),
    LabelChoice("c", Label.CONTRADICTED, "contradicted"),
)
_YES_NO_CHOICES = (LabelChoice("y", Label.YES, "yes"), LabelChoice("n", Label.NO, "no"))


def choices(question: Question) -> tuple[LabelChoice, ...]:
    """The possible labels; empty for a grade, which is a number on the rubric's scale."""
    if isinstance(question, Entail):
        return _ENTAILMENT_CHOICES
    return _YES_NO_CHOICES if isinstance(question, Relevant | Classify) else ()


def question_text(question: Question) -> str:
    """The question in one sentence, without the texts."""
    match question:
        case Entail():
            return "Do the texts together support the claim, contradict it, or neither?"
        case Relevant(_, _, reference):
            aim = "answer the query" if reference is None else "give the reference as an answer"
            return f"Does any part of the text help to {aim}?"
        case Classify(_, trait):
            return f"Is it {trait}?"
        case Rate(rubric):
            return f"{rubric.name}, {rubric.low:g} to {rubric.high:g}: {rubric.wording}"
        case Decompose():
            return "Which statements does the text make?"


def parse_answer(question: Question, typed: str) -> Answer:
    """The answer that was typed.

    A verdict is one key, as in "s". For entailment it may be followed by the numbers of the texts it holds for, and by
    further keys with numbers: "s 2", "s 1 c 3". A grade is a number.

    Args:
        question: The question that is answered.
        typed: What the person typed.

    Returns:
        A Verdict or a Grade.

    Raises:
        UsageError: The text is not an answer to the question; the message lists the possible ones.
    """
    answer: Answer
    if isinstance(question, Rate):
        try:
            answer = Grade(float(typed.replace(",", ".")))
        except ValueError:
            scale = f"{question.rubric.low:g} to {question.rubric.high:g}"
            raise UsageError(f"{typed!r} is not a grade; type a number from {scale}") from None
    else:
        letters = {choice.key: choice.label for choice in choices(question)}
        words = typed.lower().split()
        if not words or words[0] not in letters or (len(words) > 1 and not isinstance(question, Entail)):
            possible = ", ".join(f"{choice.key} ({choice.words})" for choice in choices(question))
            raise UsageError(f"{typed!r} is not an answer; type one of {possible}")
        chunks = _chunks(len(question.premise), words, letters) if isinstance(question, Entail) else ()
        answer = Verdict(letters[words[0]], chunks=chunks)
    if fault := invalid_reason(question, answer):
        raise UsageError(f"the answer does not fit the question: {fault}")
    return answer


def _chunks(size: int, words: list[str], letters: Mapping[str, Label]) -> tuple[ChunkVerdict, ...]:
    """The verdict of each of `size` chunks, from the numbers after the keys; chunks that are not named are neutral.

    If there are several chunks and none is named, a verdict that a chunk decides holds for all of them together and has
    no chunk labels.
    """
    letter, label = words[0], letters[words[0]]
    named: dict[int, Label] = {}
    for word in words[1:]:
        if word in letters:
            letter = word
        elif word.isdecimal():
            named[int(word) - 1] = letters[letter]
        else:
            raise UsageError(f"{word!r} is neither the number of a text nor one of {', '.join(letters)}")
    if any(not 0 <= at < size for at in named):
        raise UsageError(f"there are {size} texts; {sorted(at + 1 for at in named)} is out of range")
    if not named and label in _DECIDING and size > 1:
        return ()
    labels = named or dict.fromkeys(range(size), label)
    return tuple(ChunkVerdict(labels.get(at, Label.NEUTRAL)) for at in range(size))


#: With fewer samples drawn at random than this, the summary warns that intervals are wide.
FEW = 30

_WORDS = {Label.ENTAILED: "supported", Label.NEUTRAL: "not supported", Label.NOT_ENTAILED: "not supported"}


def question_lines(question: Question) -> Iterator[str]:
    """All texts that the judge saw, then the question."""
    for name, text in _texts(question):
        first, *more = text.splitlines() or [""]
        yield f"{name}: {printable(first)}"
        yield from (f"    {printable(line)}".rstrip() for line in more)
    yield question_text(question)


def _texts(question: Question) -> list[tuple[str, str]]:
    match question:
        case Entail(premise, hypothesis, query):
            texts = [
                ("query", query),
                *((f"[{at}]", text) for at, text in enumerate(premise, 1)),
                ("claim", hypothesis),
            ]
        case Relevant(query, text, reference):
            texts = [("query", query), ("reference", reference), ("text", text)]
        case Classify(text) | Decompose(text):
            texts = [("text", text)]
        case Rate(_, graded):
            texts = list(graded)
    return [(name, text) for name, text in texts if text is not None]


def answer_words(answer: Answer | None) -> str:
    """An answer in words, with its probability if it has one."""
    if isinstance(answer, Grade):
        return f"{answer.value:g}"
    if not isinstance(answer, Verdict):
        return "nothing"
    words = _WORDS.get(answer.label, answer.label.value)
    return words if answer.probability is None else f"{words} (probability of support {answer.probability:.2f})"


def keys_line(piece: LabelPiece) -> str:
    """The keys for a question."""
    own = [f"{choice.key} {choice.words}" for choice in choices(piece.question)]
    if isinstance(piece.question, Rate):
        own = [f"{piece.question.rubric.low:g} to {piece.question.rubric.high:g}"]
    numbered = isinstance(piece.question, Entail) and len(piece.question.premise) > 1
    chunks = ["optionally with the numbers of the texts that show it: s 2"] if numbered else []
    return " · ".join([*own, *chunks, "Enter skips", "b back", "? the judge's verdict", "q quits"])


def summary_lines(summaries: Mapping[str, LabelSummary]) -> Iterator[str]:
    """The judge's score, the corrected score and the agreement, metric by metric."""
    for metric, one in summaries.items():
        if not one.labelled:
            continue
        yield f"{metric}: judge {_value(one.judge)} over {counted(one.samples, 'sample')}"
        corrected = "not yet; it needs samples drawn at random and labelled in full"
        if one.corrected.value is not None:
            corrected = f"{_value(one.corrected)}, from {counted(one.counted, 'sample')} drawn at random"
        yield f"  corrected by people: {corrected}"
        yield from (f"  {agreement_words(agreement)}" for agreement in one.agreement)
        if 0 < one.drawn < FEW:
            yield f"  Fewer than {FEW} samples were drawn at random, so the intervals are wide."


def agreement_words(one: Agreement) -> str:
    """Raw agreement and kappa, or for grades the mean difference, with the number of questions."""
    raw = f"raw agreement {_value(one.raw)} on {counted(one.n, 'question')} ({one.kind})"
    if one.apart is not None:
        return f"{raw}, grades differ by {number(one.apart)} on average"
    if one.kappa is None or one.kappa.value is None:
        return f"{raw}, kappa undefined: both always gave the same label"
    return f"{raw}, kappa {_value(one.kappa)}"


def _value(interval: Interval) -> str:
    return with_interval(interval.value, interval.low, interval.high)


class LabelSession:
    """One person's way through the pieces of a metric, forward and back.

    given: number of labels given in this session.
    """

    def __init__(self, labelling: Labelling, metric: str, by: str) -> None:
        self.given = 0
        self._labelling, self._metric, self._by = labelling, metric, by
        self._skipped: list[int] = []
        self._history: list[tuple[SampleDraw, LabelPiece]] = []
        self._at = -1
        self._seen: set[int] = set()
        self._answers: dict[int, Answer] = {}
        self.forward()

    @property
    def piece(self) -> LabelPiece | None:
        """The piece to label now, None at the end."""
        return self._history[self._at][1] if self._at < len(self._history) else None

    @property
    def answer_given(self) -> Answer | None:
        """The answer that this person gave to the piece earlier in the session."""
        return self._answers.get(self._at)

    @property
    def draw(self) -> SampleDraw:
        """The sample of the piece."""
        return self._history[self._at][0]

    @property
    def is_first(self) -> bool:
        """Whether this is the first piece of its sample."""
        return self._at == 0 or self._history[self._at - 1][0] != self.draw

    def answer(self, typed: str) -> None:
        """Store what was typed as this person's label, and go on. Raises UsageError if it is not an answer."""
        assert self.piece is not None
        question = self.piece.question
        answer = parse_answer(question, typed)
        self._labelling.keep(question, answer, self._by, None if self._at in self._seen else self.draw)
        self.given += 1
        self._answers[self._at] = answer
        self.forward()

    def forward(self) -> None:
        """Go to the next piece."""
        self._at += 1
        if self._at == len(self._history):
            self._history.extend(self._more())

    def back(self) -> None:
        """Go to the previous piece, if there is one."""
        self._at = max(0, self._at - 1)

    def reveal(self) -> Answer | None:
        """The judge's answer; a label given after seeing it does not count for agreement and correction."""
        assert self.piece is not None
        self._seen.add(self._at)
        return self.piece.judge

    def _more(self) -> Iterator[tuple[SampleDraw, LabelPiece]]:
        """The unlabelled pieces of the next sample that has any."""
        while (drawn := self._labelling.next(self._metric, self._skipped)) is not None:
            self._skipped.append(drawn.position)
            pieces = self._labelling.open(drawn, self._metric)
            if pieces:
                return iter([(drawn, piece) for piece in pieces])
        return iter(())
