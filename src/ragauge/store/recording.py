"""Judgments and labels as JSON Lines files, which can be read, edited and put under version control.

A line of a recording:   {"question": {...}, "answer": {...}, "judge": {"name": "...", "settings": [["...", "..."]]}}
A line of a label file:  {"question": {...}, "answer": "entailed", "by": "ann"}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from ragauge.errors import BadData, UsageError
from ragauge.host import decoded
from ragauge.questions import Judgment, Question, invalid_reason, judgment_key
from ragauge.store.tables import answered, label
from ragauge.types import Answer, Failure, Grade, Identity, Label, Verdict


class _RecordingLine(msgspec.Struct, forbid_unknown_fields=True):
    question: Question
    answer: Answer
    judge: Identity

    def judgment(self) -> Judgment:
        return Judgment(self.question, self.answer, self.judge, judgment_key(self.question, self.judge))


class _LabelLine(msgspec.Struct, forbid_unknown_fields=True):
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
    """Write judgments as a recording. An existing file is replaced once all are written.

    Args:
        path: the file.
        judgments: with answers that are not failures.

    Returns:
        The number of judgments.

    Raises:
        ValueError: for a judgment whose answer is a Failure.
        OSError: the file cannot be written.
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
    """The judgments of a recording, in its order, with keys computed from their questions and judges.

    Raises:
        BadData: the file cannot be read, a line is not a judgment, or its answer does not fit its question.
    """
    return _read(path, _RecordingLine)


def read_labels(path: Path) -> Iterator[Judgment]:
    """The labels of a file, in its order, as judgments of the judge "people".

    An answer may be abbreviated to a label such as "entailed" or "yes", or to a number for a grade. Raises BadData as
    `read_judgments` does.
    """
    return _read(path, _LabelLine)


def _read(path: Path, schema: type[_RecordingLine] | type[_LabelLine]) -> Iterator[Judgment]:
    decoder = msgspec.json.Decoder(schema)
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
    answer = judgment.answer
    reason = "it is a failure" if isinstance(answer, Failure) else invalid_reason(judgment.question, answer)
    if reason:
        raise ValueError(f"the answer does not fit the question: {reason}")
