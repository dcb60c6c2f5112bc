"""Labelled sets for tests, and judges that are measured on them."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragauge.analysis.measure import SetResult, measure
from ragauge.questions import Decompose, Entail, Question, Rate
from ragauge.statistics.intervals import Interval
from ragauge.types import Answer, Decomposition, Failure, Grade, Identity, Label, Statement, Verdict

SETS: dict[str, dict[str, Any]] = {
    "ent_a": {"premise": "p", "claim": "c", "label": 1},
    "cit_a": {"question": "q", "statement": "s", "citations": [{"id": 1, "text": "t"}], "label_supported": 0},
    "rag_a": {"question": "q", "contexts": ["x"], "response": "One. Two.", "label": 1},
    "rel_a": {"question": "q", "passage": "p", "label": 0},
    "ans_a": {"question": "q", "references": ["r", "s"], "answer": "a", "label": 1},
    "resp_a": {"question": "q", "response": "r", "irrelevant": 1},
    "coh_a": {"source": "s", "summary": "t", "human_scores": {"coherence": 4.5}},
    "tox_a": {"text": "t", "label": 1},
}


class Stub:
    """Entails what begins with "good", takes a text apart at full stops, and fails on "broken"."""

    identity = Identity("stub")
    answers = frozenset({"decompose", "entail"})

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """An answer for each question."""
        return [self._one(question) for question in questions]

    def _one(self, question: Question) -> Answer | Failure:
        if isinstance(question, Decompose):
            return Decomposition(tuple(Statement(part.strip()) for part in question.text.split(".") if part.strip()))
        assert isinstance(question, Entail)
        if question.hypothesis == "broken":
            return Failure("judge_error")
        good = question.hypothesis.startswith("good")
        return Verdict(Label.ENTAILED if good else Label.NEUTRAL, 0.9 if good else 0.1)


class Sampler:
    """Works by samples, two at a time; entails what begins with "good", without a probability; a grade is a length.

    entered: how often. most: how many rounds it had at once. rounds: what it was asked together.
    """

    identity = Identity("sampler")
    answers = frozenset({"entail", "rate"})
    by_sample = 2

    def __init__(self) -> None:
        self.entered = self.most = self._busy = 0
        self.rounds: list[list[Question]] = []

    async def __aenter__(self) -> Sampler:
        """Counts."""
        self.entered += 1
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Nothing to close."""

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """An answer for each question, a moment later."""
        self.rounds.append(list(questions))
        self._busy += 1
        self.most = max(self.most, self._busy)
        await asyncio.sleep(0.001)
        self._busy -= 1
        return [self._one(question) for question in questions]

    def _one(self, question: Question) -> Answer:
        if isinstance(question, Rate):
            return Grade(len(dict(question.texts)["response"]))
        assert isinstance(question, Entail)
        return Verdict(Label.ENTAILED if question.hypothesis.startswith("good") else Label.NEUTRAL)


def write(folder: Path, name: str, rows: list[dict[str, Any]]) -> Path:
    """A labelled set as a compressed file."""
    file = folder / f"{name}.jsonl.gz"
    with gzip.open(file, "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in rows)
    return file


def measured(judge: Any, folder: Path, limit: int | None = None, baseline: Any = None) -> list[SetResult]:
    """All results of a folder."""

    async def collect() -> list[SetResult]:
        return [one async for one in measure(judge, folder, limit, baseline=baseline)]

    return asyncio.run(collect())


def value(one: Interval | None) -> float | None:
    """The figure without its interval."""
    return one.value if one else None
