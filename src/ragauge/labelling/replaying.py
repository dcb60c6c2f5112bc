"""Replaying: the scores of a sample by judgments that are known, without asking anybody."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ragauge.labelling.said import Judges, by_people
from ragauge.labelling.survey import Survey
from ragauge.metrics.base import DatasetMetric, Measure
from ragauge.questions import Judgment, Question
from ragauge.rounds import Rounds
from ragauge.run.results import Run, recovered_record
from ragauge.scores import SampleRecord, Score
from ragauge.types import Failure, Identity, Sample

Labels = Mapping[Question, Judgment]
Known = Callable[[Sequence[Question]], Mapping[Question, Judgment]]

_UNKNOWN = Failure("not_stored", "the store holds no answer to a question that the labels raise")


class Replay:
    """The samples of a run, scored again: by the judge alone, or with people's labels before the judge's answers.

    measures: the run's metrics as the catalogue knows them; others cannot be scored again.
    """

    def __init__(self, run: Run, judges: Judges, survey: Survey) -> None:
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

    def by_people(self, position: int, labels: Labels) -> dict[str, Score]:
        """The scores of a sample with these labels, and those of a file that the run was made with."""
        record = self._run.store.sample(self._run.id, position)
        return self._scores(record, {**self._given_with_the_run(record), **labels})

    def _by_judge_alone(self, position: int) -> dict[str, Score]:
        """The same without any label; once known it does not change."""
        if position not in self._alone:
            self._alone[position] = self._scores(self._run.store.sample(self._run.id, position), {})
        return self._alone[position]

    def _scores(self, record: SampleRecord, labels: Labels) -> dict[str, Score]:
        def known(questions: Sequence[Question]) -> dict[Question, Judgment]:
            answers = self._judges.answers(self._run.store, questions)
            return answers | {question: labels[question] for question in questions if question in labels}

        return replayed(record.sample, self.measures, known)

    def _given_with_the_run(self, record: SampleRecord) -> Labels:
        keys = {piece.judgment for pieces in record.evidence.values() for piece in pieces} & self._peopled
        return {judgment.question: judgment for judgment in self._run.store.find(list(keys)).values()}


def replayed(sample: Sample, metrics: Sequence[Measure], known: Known) -> dict[str, Score]:
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
