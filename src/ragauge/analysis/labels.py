"""Labelling a run: the pieces that people are asked about, the labels they give, and what these come to."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import msgspec

from ragauge.analysis.label_summary import LabelPair, LabelSummary, agreements, label_summary
from ragauge.errors import UnknownName, UsageError
from ragauge.judges.base import JudgeRouter, LookupJudge
from ragauge.metrics.base import DatasetMetric, Measure
from ragauge.questions import Judgment, Question, judgment_key
from ragauge.report.explain import chooser
from ragauge.rounds import Rounds
from ragauge.run.results import Run, recovered_record
from ragauge.scores import Evidence, RunRecord, SampleRecord, Score
from ragauge.store import Store, label
from ragauge.store.tables import PEOPLE
from ragauge.types import Answer, Failure, Identity, Sample

#: How unsure a verdict is taken to be that comes without a probability, and a grade: as one of 0.25 or 0.75.
UNTOLD = 0.5

Keys = tuple[str, ...]


@dataclass(frozen=True)
class LabelItem:
    """What can be labelled of one sample.

    keys: for each need the judgments behind its evidence, each once. doubts: for each need how unsure they are, 0 to 1.
    needs: which needs each metric counts. group: of the sample.
    """

    keys: dict[str, Keys]
    doubts: dict[str, float]
    needs: dict[str, Keys]
    group: str | None

    def all_keys(self) -> Iterator[str]:
        """Every judgment that stands behind a score."""
        for keys in self.keys.values():
            yield from keys

    def keys_of(self, metric: str) -> Keys:
        """The judgments that a metric counts."""
        return tuple(dict.fromkeys(key for need in self.needs.get(metric, ()) for key in self.keys[need]))

    def yield_of(self, metric: str) -> float:
        """How much of the score one label is expected to settle: the mean doubt, over the number of judgments."""
        keys = self.keys_of(metric)
        doubt = sum(self.doubts[need] * len(self.keys[need]) for need in self.needs.get(metric, ()))
        return doubt / len(keys) ** 2 if keys else 0.0


class LabelItems:
    """The rows of a run, read in one pass."""

    def __init__(self, records: Iterable[SampleRecord]) -> None:
        self.rows: Sequence[LabelItem] = [_row(record) for record in records]

    @property
    def metrics(self) -> list[str]:
        """The metrics that rest on judgments, in the order of the run."""
        named = dict.fromkeys(metric for row in self.rows for metric, needs in row.needs.items() if needs)
        return list(named)

    def keys(self) -> Iterator[str]:
        """Every judgment that stands behind a score."""
        for row in self.rows:
            yield from row.all_keys()


def _row(record: SampleRecord) -> LabelItem:
    judged = {need: [piece for piece in pieces if piece.judgment] for need, pieces in record.evidence.items()}
    keys = {need: tuple(dict.fromkeys(piece.judgment for piece in pieces)) for need, pieces in judged.items()}
    doubts = {need: sum(map(_doubt, pieces)) / len(pieces) for need, pieces in judged.items() if pieces}
    needs = {
        metric: tuple(need for need in score.evidence if keys.get(need)) for metric, score in record.scores.items()
    }
    return LabelItem(keys, doubts, needs, record.sample.group)


def _doubt(piece: Evidence) -> float:
    """How unsure a verdict is: 1 at a probability of one half, as where the votes of a panel are divided."""
    return UNTOLD if piece.probability is None else 1 - abs(2 * piece.probability - 1)


class PeopleAnswers:
    """The labels of a store as they concern one run.

    labels: the latest of each question. by_key: the same by the key of any judgment of the question, the judge's or a
    person's. blind: by such keys the latest that was given without sight of the judge's verdict, on a sample of the
    run's data. chance: the keys of those of which chance drew the sample.
    """

    def __init__(self, store: Store, run: RunRecord) -> None:
        self._judges = JudgeAnswersByPiece(run)
        given = store.labels()
        self.labels: Mapping[Question, Judgment] = {label.question: label for label in given}
        blind = {label.question: label for label in store.labels(blind=run.data_hash)}
        drawn = {label.question for label in store.labels(blind=run.data_hash, chance=True)}
        self.by_key = {key: self.labels[label.question] for label in given for key in self._keys(label)}
        self.blind = {key: blind[one.question] for key, one in self.by_key.items() if one.question in blind}
        self.chance = {key for key, one in self.blind.items() if one.question in drawn}

    def _keys(self, label: Judgment) -> Iterable[str]:
        judge = self._judges.of(label.question)
        return (label.key,) if judge is None else (label.key, judgment_key(label.question, judge))


class JudgeAnswersByPiece:
    """Who answered which questions of a run, and what they said."""

    def __init__(self, run: RunRecord) -> None:
        self._bench = JudgeRouter({kind: LookupJudge(identity) for kind, identity in run.judges.items()})

    def of(self, question: Question) -> Identity | None:
        """The judge of a question; None where the run named nobody for its kind."""
        judge = self._bench.judge_of(question)
        return None if judge is None else judge.identity

    def answers(self, store: Store, questions: Iterable[Question]) -> dict[Question, Judgment]:
        """What the judges said to those of `questions` that they were asked."""
        identities = {question: self.of(question) for question in questions}
        keys = {judgment_key(one, identity): one for one, identity in identities.items() if identity is not None}
        return {keys[key]: judgment for key, judgment in store.find(list(keys)).items()}


def by_people(store: Store, keys: Collection[str]) -> set[str]:
    """Those of the judgments in a run's evidence that people gave when it was made."""
    judged = store.find(list(keys))
    return {key for key in keys if key not in judged or judged[key].judge.name == PEOPLE}


class SampleDraw(msgspec.Struct, frozen=True):
    """A sample to be labelled: its position in the run, and whether chance alone chose it."""

    position: int
    at_random: bool


def order(data_hash: str, size: int) -> list[int]:
    """The positions of a run in the order in which chance draws them: the same for all runs over the same data."""
    positions = list(range(size))
    random.Random(data_hash).shuffle(positions)
    return positions


def reached(survey: LabelItems, metric: str, said: PeopleAnswers, positions: Sequence[int]) -> list[int]:
    """The samples that chance has come to so far, whether people answered all that the metric counts there or not.

    positions: as `order` gives them. What has its labels for another reason, because it was thought to teach much or
    asks the very same as another sample, is among them once chance has come to it, or all is labelled.
    """
    seen: set[str] = set()
    last = -1
    judged = [at for at in positions if survey.rows[at].keys_of(metric)]
    for rank, position in enumerate(judged):
        keys = survey.rows[position].keys_of(metric)
        if any(key in said.chance and key not in seen for key in keys):
            last = rank
        seen.update(keys)
    return judged if all(key in said.blind for key in seen) else judged[: last + 1]


def answered(survey: LabelItems, metric: str, said: PeopleAnswers, positions: Sequence[int]) -> list[int]:
    """Those of the samples of which people answered blind all that the metric counts."""
    return [at for at in positions if all(key in said.blind for key in survey.rows[at].keys_of(metric))]


def draw_sample(
    survey: LabelItems, metric: str, said: PeopleAnswers, positions: Sequence[int], passed: Collection[int] = ()
) -> SampleDraw | None:
    """The next sample to label for a metric, None where all is labelled.

    Every other sample is the next that chance draws; the ones between are those where one label is expected to settle
    most of the score. passed: samples that the person has passed over.
    """
    keys = {at: found for at in positions if (found := survey.rows[at].keys_of(metric))}
    left = [at for at in keys if at not in passed and not all(key in said.blind for key in keys[at])]
    if not left:
        return None
    telling = max(left[1:], key=lambda at: survey.rows[at].yield_of(metric), default=None)
    by_chance = len(answered(survey, metric, said, reached(survey, metric, said, positions)))
    labelled = len(answered(survey, metric, said, list(keys)))
    if telling is None or by_chance <= labelled - by_chance:
        return SampleDraw(left[0], True)
    return SampleDraw(telling, False)


LabelMap = Mapping[Question, Judgment]
KnownAnswers = Callable[[Sequence[Question]], Mapping[Question, Judgment]]

_UNKNOWN = Failure("not_stored", "the store holds no answer to a question that the labels raise")


class Replay:
    """The samples of a run, scored again: by the judge alone, or with people's labels before the judge's answers.

    measures: the run's metrics as the catalogue knows them; others cannot be scored again.
    """

    def __init__(self, run: Run, judges: JudgeAnswersByPiece, survey: LabelItems) -> None:
        self.measures = recovered_record(run.record)
        self._run, self._judges = run, judges
        self._peopled = by_people(run.store, set(survey.keys())) if run.record.labelled else set()
        self._touched = [at for at, row in enumerate(survey.rows) if not self._peopled.isdisjoint(row.all_keys())]
        self._alone: dict[int, dict[str, Score]] = {}

    def measure(self, metric: str) -> Measure | None:
        """The measure that `metric` is a value of."""
        return next((one for one in self.measures if metric in one.values), None)

    @property
    def is_peopled(self) -> bool:
        """Whether people's labels had a part in the run as it was made."""
        return bool(self._peopled)

    def by_judge(self, metric: str) -> list[float | None]:
        """What the judge alone gives each sample, also where people's labels were there before the run was made."""
        values = self._run.values(metric)
        for at in self._touched:
            score = self._by_judge_alone(at).get(metric)
            values[at] = values[at] if score is None else score.value
        return values

    def by_people(self, position: int, labels: LabelMap) -> dict[str, Score]:
        """The scores of a sample with these labels, and those of a file that the run was made with."""
        record = self._run.store.sample(self._run.id, position)
        return self._scores(record, {**self._given_with_the_run(record), **labels})

    def _by_judge_alone(self, position: int) -> dict[str, Score]:
        """The same without any label; once known it does not change."""
        if position not in self._alone:
            self._alone[position] = self._scores(self._run.store.sample(self._run.id, position), {})
        return self._alone[position]

    def _scores(self, record: SampleRecord, labels: LabelMap) -> dict[str, Score]:
        def known(questions: Sequence[Question]) -> dict[Question, Judgment]:
            answers = self._judges.answers(self._run.store, questions)
            return answers | {question: labels[question] for question in questions if question in labels}

        return replay(record.sample, self.measures, known)

    def _given_with_the_run(self, record: SampleRecord) -> LabelMap:
        keys = {piece.judgment for pieces in record.evidence.values() for piece in pieces} & self._peopled
        return {judgment.question: judgment for judgment in self._run.store.find(list(keys)).values()}


def replay(sample: Sample, metrics: Sequence[Measure], known: KnownAnswers) -> dict[str, Score]:
    """The scores of a sample, without evidence; failed where a judgment is not known.

    known: gives those judgments of some questions that are known. Metrics over the data set are left out.
    """
    measures = [metric for metric in metrics if not isinstance(metric, DatasetMetric)]
    waves = Rounds(sample, [need for metric in measures for need in metric.needs])
    while questions := waves.questions:
        found = known(questions)
        waves.advance({question: found.get(question) or _unknown(question) for question in questions})
    scores: dict[str, Score] = {}
    for metric in measures:
        scores |= metric.scores({need.name: waves.outcomes[need.name] for need in metric.needs})
    return scores


def _unknown(question: Question) -> Judgment:
    return Judgment(question, _UNKNOWN, Identity("nobody"), "")


class LabelPiece(msgspec.Struct, frozen=True):
    """A judged piece as a person is asked about it.

    evidence: the piece, its field and span. question: what was asked, with all texts. judge: what the judge said, None
    where only people were asked. label: what a person said last, None where nobody did.
    """

    evidence: Evidence
    question: Question
    judge: Answer | None
    label: Judgment | None


class Labelling:
    """People's labels on one run that has ended. Its records are read once, its labels whenever they are asked for."""

    def __init__(self, run: Run) -> None:
        """Raises UsageError where the run has not ended, since nothing can be drawn from data that still grows."""
        if not run.record.data_hash:
            raise UsageError(f"run {run.id} has not ended; label it when it has")
        self.run = run
        self._store = run.store
        self._judges = JudgeAnswersByPiece(run.record)

    @cached_property
    def survey(self) -> LabelItems:
        """What can be labelled."""
        return LabelItems(self.run.records())

    @cached_property
    def metrics(self) -> list[str]:
        """The metrics over samples that rest on judgments, that by which the worst are chosen first."""
        first = chooser(self.run.record)
        return sorted(self.survey.metrics, key=lambda metric: metric != first)

    def metric(self, wanted: str | None = None) -> str:
        """`wanted`, or the first. Raises UnknownName where it is no metric that rests on judgments."""
        if not self.metrics:
            raise UsageError(f"run {self.run.id} has no metric over samples that a judge had a part in")
        if wanted is not None and wanted not in self.metrics:
            raise UnknownName("metric with judgments in this run", wanted, self.metrics)
        return wanted or self.metrics[0]

    def said(self) -> PeopleAnswers:
        """The labels as they are now."""
        return PeopleAnswers(self._store, self.run.record)

    def next(self, metric: str, passed: Collection[int] = ()) -> SampleDraw | None:
        """The next sample to label, None where nothing is left. passed: samples that the person has passed over."""
        return draw_sample(self.survey, metric, self.said(), self._order, passed)

    def pieces(self, position: int, metric: str) -> list[LabelPiece]:
        """What of a sample is judged for a metric, each question once, in the order of its evidence."""
        record = self._store.sample(self.run.id, position)
        wanted = set(self.survey.rows[position].keys_of(metric))
        shown = {piece.judgment: piece for piece in record.score(metric).evidence if piece.judgment in wanted}
        said = self.said()
        questions = self._questions(list(shown), said)
        judged = self._judges.answers(self._store, questions.values())
        return [
            LabelPiece(piece, question, _answer(judged.get(question)), said.labels.get(question))
            for key, piece in shown.items()
            if (question := questions.get(key)) is not None
        ]

    def open(self, drawn: SampleDraw, metric: str) -> list[LabelPiece]:
        """The pieces of a drawn sample that nobody has labelled yet without sight of the judge's verdict."""
        blind = {label.question for label in self.said().blind.values()}
        return [piece for piece in self.pieces(drawn.position, metric) if piece.question not in blind]

    def keep(self, question: Question, answer: Answer, by: str, drawn: SampleDraw | None = None) -> None:
        """Keep what a person said.

        drawn: how its sample came to be asked about, where the person had not seen what the judge said of it.
        """
        blind = self.run.record.data_hash if drawn else ""
        self._store.keep_labels([label(question, answer, by)], blind=blind, chance=bool(drawn and drawn.at_random))

    def scores(self, position: int) -> dict[str, Score]:
        """The scores of a sample with people's labels in the place of the judge's answers, without evidence."""
        return self._replay.by_people(position, self.said().labels)

    def labelled(self) -> list[str]:
        """The metrics of which people labelled something."""
        said = self.said().by_key
        found = {metric for row in self.survey.rows for metric in row.needs if any(map(said.get, row.keys_of(metric)))}
        return [metric for metric in self.metrics if metric in found]

    def standings(self, metrics: Sequence[str] = ()) -> dict[str, LabelSummary]:
        """What the labels come to for each metric, or each of `metrics`: the judge's score, people's, agreement."""
        said = self.said()
        labels = {**said.labels, **{label.question: label for label in said.blind.values()}}
        by_people = cache(lambda position: self._replay.by_people(position, labels))
        return {metric: self._standing(metric, said, by_people) for metric in metrics or self.metrics}

    def _standing(
        self, metric: str, said: PeopleAnswers, by_people: Callable[[int], Mapping[str, Score]]
    ) -> LabelSummary:
        measure = self._replay.measure(metric)
        by_judge = self._replay.by_judge(metric)
        drawn = reached(self.survey, metric, said, self._order)
        complete = answered(self.survey, metric, said, drawn)
        people = {at: by_people(at)[metric].value for at in complete} if measure else {}
        rows = self.survey.rows
        return label_summary(
            self.run.estimates[metric],
            (0.0, 1.0) if measure is None else measure.scale,
            by_judge,
            {at: value for at, value in people.items() if value is not None and by_judge[at] is not None},
            [row.group for row in rows],
            labelled=sum(any(key in said.by_key for key in row.keys_of(metric)) for row in rows),
            drawn=len(complete),
            agreement=agreements(self._pairs(metric, said, drawn)),
            peopled=self._replay.is_peopled and measure is not None,
        )

    @cached_property
    def _order(self) -> list[int]:
        return order(self.run.record.data_hash, len(self.survey.rows))

    @cached_property
    def _replay(self) -> Replay:
        return Replay(self.run, self._judges, self.survey)

    def _questions(self, keys: Sequence[str], said: PeopleAnswers) -> dict[str, Question]:
        """The questions behind judgments of the run's evidence."""
        judged = self._store.find(keys)
        known = {key: judgment.question for key, judgment in judged.items()}
        return {key: said.by_key[key].question for key in keys if key in said.by_key} | known

    def _pairs(self, metric: str, said: PeopleAnswers, drawn: Sequence[int]) -> list[LabelPair]:
        """What judge and people say of the questions of samples that chance drew, each question once."""
        places: dict[str, int] = {}
        for at in drawn:
            for key in self.survey.rows[at].keys_of(metric):
                if key in said.blind:
                    places.setdefault(key, at)
        labels = {key: said.blind[key] for key in places}
        judged = self._judges.answers(self._store, [label.question for label in labels.values()])
        return [
            LabelPair(given.question, said_by_judge, given.answer, places[key])
            for key, given in labels.items()
            if (said_by_judge := _answer(judged.get(given.question))) is not None
            if not isinstance(given.answer, Failure)
        ]


def _answer(judgment: Judgment | None) -> Answer | None:
    return None if judgment is None or isinstance(judgment.answer, Failure) else judgment.answer
