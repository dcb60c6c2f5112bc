"""Judgments and labels as JSON Lines files, which can be read, edited and put under version control.

A line of a recording:   {"question": {...}, "answer": {...}, "judge": {"name": "...", "settings": [["...", "..."]]}}
A line of a label file:  {"question": {...}, "answer": "entailed", "by": "ann"}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from ragauge.errors import BadData, UsageError
from ragauge.questions import Judgment, Question, invalid_reason, judgment_key
from ragauge.store.tables import answered, label
from ragauge.text.decoding import decoded
from ragauge.types import Answer, Failure, Grade, Identity, Label, Verdict


class _Recorded(msgspec.Struct, forbid_unknown_fields=True):
    question: Question
    answer: Answer
    judge: Identity

    def judgment(self) -> Judgment:
        return Judgment(self.question, self.answer, self.judge, judgment_key(self.question, self.judge))


class _Labelled(msgspec.Struct, forbid_unknown_fields=True):
    question: Question
    answer: Answer | Label | float
    by: str

    def judgment(self) -> Judgment:
        answer = self.answer
        if isinstance(answer, Label):
            answer = Verdict(answer)
        elif isinstance(answer, float):
            answer = Grade(answer)
        return label(self.question, answer, self.by)


def write_judgments(path: Path, judgments: Iterable[Judgment]) -> int:
    """Write a recording and return how many judgments it has. An existing file is replaced once all are written.

    Raises ValueError on a judgment without an answer, and OSError where the file cannot be written.
    """
    count = 0
    part = path.with_name(path.name + ".part")
    encode = msgspec.json.Encoder().encode
    with part.open("wb") as file:
        for judgment in answered(judgments):
            line = {"question": judgment.question, "answer": judgment.answer, "judge": judgment.judge}
            file.write(encode(line) + b"\n")
            count += 1
    part.replace(path)
    return count


def read_judgments(path: Path) -> Iterator[Judgment]:
    """The judgments of a recording, in its order; each key is made afresh from what the line says.

    Raises BadData, which names the file and the line, where a line is no judgment or its answer does not fit its
    question.
    """
    return _read(path, _Recorded)


def read_labels(path: Path) -> Iterator[Judgment]:
    """The labels of a file, in its order, as judgments of the judge "people".

    An answer may be short: a label such as "entailed" or "yes", or a number for a grade. Raises BadData as
    `read_judgments` does.
    """
    return _read(path, _Labelled)


def _read(path: Path, form: type[_Recorded] | type[_Labelled]) -> Iterator[Judgment]:
    decoder = msgspec.json.Decoder(form)
    try:
        lines = path.open("rb")
    except OSError as error:
        raise BadData(f"cannot read {path}: {error.strerror}; check the path") from error
    with lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                judgment = decoded(line, decoder).judgment()
                _check(judgment)
            except (ValueError, UsageError) as error:
                raise BadData(f"{path}, line {number}: {error}") from error
            yield judgment


def _check(judgment: Judgment) -> None:
    """Raise ValueError unless the answer is one that the question can have."""
    fault = (
        "it is a failure"
        if isinstance(judgment.answer, Failure)
        else invalid_reason(judgment.question, judgment.answer)
    )
    if fault:
        raise ValueError(f"the answer does not fit the question: {fault}")
