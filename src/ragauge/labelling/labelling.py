"""Labelling a run: the pieces that people are asked about, the labels they give, and what these come to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, cached_property

import msgspec

from ragauge.errors import UnknownName, UsageError
from ragauge.labelling.agreement import Pair, agreements
from ragauge.labelling.drawing import Draw, answered, draw, order, reached
from ragauge.labelling.replaying import Replay
from ragauge.labelling.said import Judges, Said
from ragauge.labelling.standing import Standing, standing
from ragauge.labelling.survey import Survey
from ragauge.questions import Judgment, Question
from ragauge.report.worst import chooser
from ragauge.run.results import Run
from ragauge.scores import Evidence, Score
from ragauge.store import label
from ragauge.types import Answer, Failure


class Piece(msgspec.Struct, frozen=True):
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
        self._judges = Judges(run.record)

    @cached_property
    def survey(self) -> Survey:
        """What can be labelled."""
        return Survey(self.run.records())

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

    def said(self) -> Said:
        """The labels as they are now."""
        return Said(self._store, self.run.record)

    def next(self, metric: str, passed: Collection[int] = ()) -> Draw | None:
        """The next sample to label, None where nothing is left. passed: samples that the person has passed over."""
        return draw(self.survey, metric, self.said(), self._order, passed)

    def pieces(self, position: int, metric: str) -> list[Piece]:
        """What of a sample is judged for a metric, each question once, in the order of its evidence."""
        record = self._store.sample(self.run.id, position)
        wanted = set(self.survey.rows[position].keys_of(metric))
        shown = {piece.judgment: piece for piece in record.score(metric).evidence if piece.judgment in wanted}
        said = self.said()
        questions = self._questions(list(shown), said)
        judged = self._judges.answers(self._store, questions.values())
        return [
            Piece(piece, question, _answer(judged.get(question)), said.labels.get(question))
            for key, piece in shown.items()
            if (question := questions.get(key)) is not None
        ]

    def open(self, drawn: Draw, metric: str) -> list[Piece]:
        """The pieces of a drawn sample that nobody has labelled yet without sight of the judge's verdict."""
        blind = {label.question for label in self.said().blind.values()}
        return [piece for piece in self.pieces(drawn.position, metric) if piece.question not in blind]

    def keep(self, question: Question, answer: Answer, by: str, drawn: Draw | None = None) -> None:
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

    def standings(self, metrics: Sequence[str] = ()) -> dict[str, Standing]:
        """What the labels come to for each metric, or each of `metrics`: the judge's score, people's, agreement."""
        said = self.said()
        labels = {**said.labels, **{label.question: label for label in said.blind.values()}}
        by_people = cache(lambda position: self._replay.by_people(position, labels))
        return {metric: self._standing(metric, said, by_people) for metric in metrics or self.metrics}

    def _standing(self, metric: str, said: Said, by_people: Callable[[int], Mapping[str, Score]]) -> Standing:
        measure = self._replay.measure(metric)
        by_judge = self._replay.by_judge(metric)
        drawn = reached(self.survey, metric, said, self._order)
        complete = answered(self.survey, metric, said, drawn)
        people = {at: by_people(at)[metric].value for at in complete} if measure else {}
        rows = self.survey.rows
        return standing(
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

    def _questions(self, keys: Sequence[str], said: Said) -> dict[str, Question]:
        """The questions behind judgments of the run's evidence."""
        judged = self._store.find(keys)
        known = {key: judgment.question for key, judgment in judged.items()}
        return {key: said.by_key[key].question for key in keys if key in said.by_key} | known

    def _pairs(self, metric: str, said: Said, drawn: Sequence[int]) -> list[Pair]:
        """What judge and people say of the questions of samples that chance drew, each question once."""
        places: dict[str, int] = {}
        for at in drawn:
            for key in self.survey.rows[at].keys_of(metric):
                if key in said.blind:
                    places.setdefault(key, at)
        labels = {key: said.blind[key] for key in places}
        judged = self._judges.answers(self._store, [label.question for label in labels.values()])
        return [
            Pair(given.question, said_by_judge, given.answer, places[key])
            for key, given in labels.items()
            if (said_by_judge := _answer(judged.get(given.question))) is not None
            if not isinstance(given.answer, Failure)
        ]


def _answer(judgment: Judgment | None) -> Answer | None:
    return None if judgment is None or isinstance(judgment.answer, Failure) else judgment.answer
