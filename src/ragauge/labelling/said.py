"""What people said that concerns a run, found by the judgments in its evidence."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ragauge.judges.base import JudgeRouter, LookupJudge
from ragauge.questions import Judgment, Question, judgment_key
from ragauge.scores import RunRecord
from ragauge.store import Store
from ragauge.store.tables import PEOPLE
from ragauge.types import Identity


class Said:
    """The labels of a store as they concern one run.

    labels: the latest of each question. by_key: the same by the key of any judgment of the question, the judge's or a
    person's. blind: by such keys the latest that was given without sight of the judge's verdict, on a sample of the
    run's data. chance: the keys of those of which chance drew the sample.
    """

    def __init__(self, store: Store, run: RunRecord) -> None:
        self._judges = Judges(run)
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


class Judges:
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
