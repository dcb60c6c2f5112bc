"""Keeping: what is known already, and what arrives, on its way into the store."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from ragauge.judges.base import Judge, JudgeRouter
from ragauge.questions import Judgment, Question, judgment_key
from ragauge.store import Store
from ragauge.types import Call, Failure

Known = dict[Question, Judgment]


class Keeper:
    """Looks up what people's labels or the store answer, and keeps judgments.

    labels: those given with the run. fault: why nothing more can be kept, once that is so.
    """

    def __init__(self, bench: JudgeRouter, store: Store, labels: Mapping[Question, Judgment]) -> None:
        self.labels = labels
        self.fault: Exception | None = None
        self._bench, self._store = bench, store
        self._arrived: list[_Arrival] = []

    def known(self, questions: Sequence[Question]) -> Known:
        """What people's labels or the store already answer."""
        found = self._labelled(questions) if self.labels else {}
        found.update(self._store.find_labels([question for question in questions if question not in found]))
        keys = {}
        for question in questions:
            judge = self._bench.judge_of(question)
            if question not in found and judge is not None:
                keys[judgment_key(question, judge.identity)] = question
        return {**found, **self._stored(keys)}

    def _labelled(self, questions: Sequence[Question]) -> Known:
        return {question: self.labels[question] for question in questions if question in self.labels}

    def known_from(self, judge: Judge, questions: Sequence[Question]) -> Known:
        """What the store already holds of one judge's answers."""
        return self._stored({judgment_key(question, judge.identity): question for question in questions})

    def _stored(self, keys: Mapping[str, Question]) -> Known:
        return {keys[key]: judgment for key, judgment in self._store.find(list(keys)).items()}

    def keep_labels_of(self, known: Known) -> None:
        """Keep those of `known` that the labels given with the run answer."""
        if self.labels:
            self._store.keep(list(self._labelled(list(known)).values()))

    async def keep(self, judgments: Sequence[Judgment], calls: Sequence[Call]) -> None:
        """Keep judgments that have an answer, in one transaction with what arrives in the same turn of the loop."""
        arrival = _Arrival([one for one in judgments if not isinstance(one.answer, Failure)], calls)
        if arrival.judgments or arrival.calls:
            if not self._arrived:
                asyncio.get_running_loop().call_soon(self._commit)
            self._arrived.append(arrival)
            await arrival.kept

    def _commit(self) -> None:
        arrived, self._arrived = self._arrived, []
        try:
            self._store.keep(
                [judgment for arrival in arrived for judgment in arrival.judgments],
                [call for arrival in arrived for call in arrival.calls],
            )
        except Exception as error:
            self.fault = error
        for arrival in arrived:
            resolve(arrival.kept, None, self.fault)


class _Arrival:
    """Judgments, with the calls that brought them."""

    __slots__ = ("calls", "judgments", "kept")

    def __init__(self, judgments: Sequence[Judgment], calls: Sequence[Call]) -> None:
        self.judgments, self.calls = judgments, calls
        self.kept: asyncio.Future[None] = asyncio.get_running_loop().create_future()


def resolve(future: asyncio.Future[Any], value: object, error: Exception | None) -> None:
    """End a future, unless whoever waited for it is gone."""
    if future.done():
        return
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)
