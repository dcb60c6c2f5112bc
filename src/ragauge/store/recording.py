"""People's labels; judgments and labels as JSON Lines files, which can be read, edited and put under version control.

A line of a recording:   {"question": {...}, "answer": {...}, "judge": {"name": "...", "settings": [["...", "..."]]}}
A line of a label file:  {"question": {...}, "answer": "entailed", "by": "ann"}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from ragauge.errors import BadData, UsageError
from ragauge.host import decoded, open_file
from ragauge.questions import Judgment, Question, invalid_reason, judgment_key
from ragauge.types import PEOPLE, Answer, Failure, Grade, Identity, Label, Verdict


class RowEdit(msgspec.Struct, frozen=True):
    """A row of a test set as a person changed it: its question, references and gold claims. by: the person's name."""

    test_set: str
    row: str
    by: str
    query: str
    references: tuple[str, ...] | None = None
    answers: tuple[tuple[str, ...], ...] | None = None
    answer_weights: tuple[float, ...] | None = None


def label(question: Question, answer: Answer, by: str) -> Judgment:
    """A person's label as a judgment. by: the person's name."""
    judge = Identity(PEOPLE, (("by", by),))
    return Judgment(question, answer, judge, judgment_key(question, judge))


def person_of(judgment: Judgment) -> str:
    """The name of the person who gave a label."""
    return dict(judgment.judge.settings)["by"]


def answered(judgments: Iterable[Judgment]) -> Iterator[Judgment]:
    """The same judgments. Raises ValueError for one whose answer is a Failure."""
    for judgment in judgments:
        if isinstance(judgment.answer, Failure):
            raise ValueError(f"a failure is not an answer and cannot be stored: {judgment.answer}")  # noqa: TRY004
        yield judgment


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
    """Write judgments as a recording, and return their number. An existing file is replaced once all are written.

    Raises ValueError for a judgment whose answer is a Failure, and OSError where the file cannot be written.
    """
    count = 0
    unfinished = path.with_name(path.name + ".part")
    with unfinished.open("wb") as file:
        for judgment in answered(judgments):
            count += 1
            line = {"question": judgment.question, "answer": judgment.answer, "judge": judgment.judge}
            file.write(msgspec.json.encode(line) + b"\n")
    unfinished.replace(path)
    return count


def write_labels(path: Path, labels: Iterable[Judgment]) -> int:
    """Write people's labels as `read_labels` reads them, and return their number. Raises as `write_judgments`."""
    rows = [{"question": row.question, "answer": row.answer, "by": person_of(row)} for row in answered(labels)]
    path.write_bytes(msgspec.json.Encoder().encode_lines(rows))
    return len(rows)


def read_judgments(path: Path) -> Iterator[Judgment]:
    """The judgments of a recording, in its order, with keys computed from their questions and judges.

    Raises BadData where the file cannot be read, a line is not a judgment, or its answer does not fit its question.
    """
    return _read(path, _RecordingLine)


def read_labels(path: Path) -> Iterator[Judgment]:
    """The labels of a file, in its order, as judgments of the judge "people".

    An answer may be abbreviated to a label such as "entailed" or "yes", or to a number for a grade. Raises BadData as
    `read_judgments` does.
    """
    return _read(path, _LabelLine)


def _read(path: Path, schema: type[_RecordingLine | _LabelLine]) -> Iterator[Judgment]:
    decoder = msgspec.json.Decoder(schema)
    try:
        lines = open_file(path, pipes=True)
    except OSError as error:
        raise BadData(f"cannot read {path}: {error.strerror}; check the path") from error
    with lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                judgment = decoded(line, decoder).judgment()
                if invalid := invalid_reason(judgment.question, judgment.answer):
                    raise ValueError(f"the answer does not fit the question: {invalid}")
            except (ValueError, UsageError) as error:
                fix = "write one judgment a line, as `ragauge label` does (`ragauge docs labels`)"
                raise BadData(f"{path}, line {number}: {error}; {fix}") from error
            yield judgment
