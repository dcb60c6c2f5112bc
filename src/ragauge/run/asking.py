"""Asking: people's labels first, then what the store holds, then the judges; every answer is kept as it arrives."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from ragauge.judges.bench import Bench
from ragauge.judges.judge import DEFAULT_BATCH, Judge, checked
from ragauge.nouns.answers import Answer, Failure, Verdict
from ragauge.nouns.identity import Identity
from ragauge.questions import Judgment, Question, judgment_key, kind
from ragauge.store import Store
from ragauge.store.labels import PEOPLE

NOBODY = Identity("nobody")

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Answer).decode


class Asker:
    """Answers waves of questions.

    asked, reused: how many were put to judges, and how many were known; labelled: how many of those from people.
    unable: topics that the answers show to be beyond the judges, whatever these say of themselves.
    """

    def __init__(self, bench: Bench, store: Store, labels: Mapping[Question, Judgment]) -> None:
        self.bench = bench
        self.asked = self.reused = self.labelled = 0
        self.unable: set[str] = set()
        self._store = store
        self.labels = labels

    async def answer(self, questions: Sequence[Question]) -> dict[Question, Judgment]:
        """A judgment for each question; its answer is a Failure where nobody could answer."""
        known = self.known(questions)
        self.reused += len(known)
        self.labelled += sum(judgment.judge.name == PEOPLE for judgment in known.values())
        self._store.keep([self.labels[question] for question in questions if question in self.labels])
        fresh = [question for question in questions if question not in known]
        for judge, group in self._by_judge(fresh):
            size = max(1, getattr(judge, "batch", DEFAULT_BATCH))
            for start in range(0, len(group), size):
                known.update(await self._ask(judge, group[start : start + size]))
        if any(map(_is_two_way, known.values())):
            self.unable.add("entail:contradiction")
        return {**known, **{q: _unanswered(q) for q in fresh if q not in known}}

    def known(self, questions: Sequence[Question]) -> dict[Question, Judgment]:
        """What people's labels or the store already answer."""
        found = {question: self.labels[question] for question in questions if question in self.labels}
        found.update(self._store.find_labels([question for question in questions if question not in found]))
        keys = {}
        for question in questions:
            judge = self.bench.judge_of(question)
            if question not in found and judge is not None:
                keys[judgment_key(question, judge.identity)] = question
        stored = self._store.find(list(keys))
        found.update({keys[key]: judgment for key, judgment in stored.items()})
        return found

    def _by_judge(self, questions: Sequence[Question]) -> list[tuple[Judge, list[Question]]]:
        groups: dict[int, tuple[Judge, list[Question]]] = {}
        for question in questions:
            judge = self.bench.judge_of(question)
            if judge is not None:
                groups.setdefault(id(judge), (judge, []))[1].append(question)
        return list(groups.values())

    async def _ask(self, judge: Judge, questions: Sequence[Question]) -> dict[Question, Judgment]:
        answers = await _answers(judge, questions)
        self.asked += len(questions)
        judgments = [
            Judgment(question, _taken(question, answer), judge.identity, judgment_key(question, judge.identity))
            for question, answer in zip(questions, answers, strict=True)
        ]
        self._store.keep([judgment for judgment in judgments if not isinstance(judgment.answer, Failure)])
        await asyncio.sleep(0)
        return {judgment.question: judgment for judgment in judgments}


async def _answers(judge: Judge, questions: Sequence[Question]) -> Sequence[Answer | Failure]:
    """What the judge says; a judge that breaks its contract costs its batch, not the run."""
    try:
        answers = list(await judge.answer(questions))
    except Exception as error:
        return [Failure("judge_error", f"{judge.identity} raised {type(error).__name__}: {error}")] * len(questions)
    if len(answers) != len(questions):
        fault = f"{judge.identity} gave {len(answers)} answers to {len(questions)} questions"
        return [Failure("judge_error", fault)] * len(questions)
    return answers


def _taken(question: Question, answer: Answer | Failure) -> Answer | Failure:
    """The answer as the store would give it back, so that a run and the run that resumes it count the same."""
    if not isinstance(answer, Answer):
        return checked(question, answer)
    try:
        return checked(question, _decode(_encode(answer)))
    except (TypeError, ValueError) as error:
        return Failure("invalid_answer", f"it cannot be kept: {error}", raw=repr(answer)[:2000])


def _is_two_way(judgment: Judgment) -> bool:
    """Whether a judge told support from its absence, and no more. A person's label speaks for itself alone."""
    return isinstance(judgment.answer, Verdict) and judgment.judge.name != PEOPLE and judgment.answer.two_way


def _unanswered(question: Question) -> Judgment:
    failure = Failure("no_judge", f"no judge was named for questions of kind {kind(question)!r}")
    return Judgment(question, failure, NOBODY, "")
