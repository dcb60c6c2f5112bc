"""People's labels; judgments and labels as JSON Lines files, which can be read, edited and put under version control.

A line of a recording:   {"question": {...}, "answer": {...}, "judge": {"name": "...", "settings": [["...", "..."]]}}
A line of a label file:  {"question": {...}, "answer": "entailed", "by": "ann"}, with "decides": true where it was
given to settle a difference of people.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import mode

import msgspec

from ragauge.errors import BadData, UsageError
from ragauge.host import decoded, open_file
from ragauge.kinds.call import LABEL_BY_SYNONYM, word
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


def label(question: Question, answer: Answer, by: str, decides: bool = False) -> Judgment:
    """A person's label as a judgment. by: the person's name. decides: whether it settles a difference of people."""
    judge = Identity(PEOPLE, (("by", by), *([("decides", "true")] if decides else [])))
    return Judgment(question, answer, judge, judgment_key(question, judge))


def person_of(judgment: Judgment) -> str:
    """The name of the person who gave a label."""
    return dict(judgment.judge.settings)["by"]


def decides(judgment: Judgment) -> bool:
    """Whether a label was given to settle a difference of people."""
    return "decides" in dict(judgment.judge.settings)


#: Who gives the mean of the grades of several people.
MEAN = "the mean"


class Opinions:
    """What people say to one question.

    latest: the latest label of each person. decider: who last settled a difference.
    """

    def __init__(self) -> None:
        self.latest: dict[str, Judgment] = {}
        self.decider = ""

    def add(self, judgment: Judgment) -> None:
        """Add a label that is later than all others."""
        self.latest[person_of(judgment)] = judgment
        self.decider = person_of(judgment) if decides(judgment) else self.decider

    @property
    def disputed(self) -> bool:
        """Whether people differ, and nobody has decided."""
        return not self.decider and len(set(map(_said, self.latest.values()))) > 1

    @property
    def settled(self) -> Judgment | None:
        """The label that counts: the decider's; else what more than half say, or the mean of grades; else None."""
        labels = [self.latest[self.decider]] if self.decider else [self.latest[name] for name in sorted(self.latest)]
        grades = [judgment.answer.value for judgment in labels if isinstance(judgment.answer, Grade)]
        if len(set(grades)) > 1:
            return label(labels[0].question, Grade(sum(grades) / len(grades)), MEAN)
        most_frequent = mode(map(_said, labels))
        agreeing = [judgment for judgment in labels if _said(judgment) == most_frequent]
        return agreeing[0] if 2 * len(agreeing) > len(labels) else None


def _said(judgment: Judgment) -> object:
    """What a label says, whichever texts it names; who saw only that support is missing has called a claim neutral."""
    answer = judgment.answer
    if isinstance(answer, Verdict):
        return Label.NEUTRAL if answer.label is Label.NOT_ENTAILED else answer.label
    return answer


def opinions(labels: Iterable[Judgment]) -> dict[Question, Opinions]:
    """What people say, by question. labels: oldest first."""
    said: dict[Question, Opinions] = {}
    for judgment in labels:
        said.setdefault(judgment.question, Opinions()).add(judgment)
    return said


def settled(said: Mapping[Question, Opinions]) -> dict[Question, Judgment]:
    """The label that counts of each question that has one."""
    return {question: judgment for question, of_people in said.items() if (judgment := of_people.settled)}


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
    answer: Answer | str | float
    by: str
    decides: bool = False

    def judgment(self) -> Judgment:
        answer = self.answer
        if isinstance(answer, str):
            name = LABEL_BY_SYNONYM.get(word(answer), word(answer))
            if name not in list(Label):
                possible = ", ".join(self.question.labels) or "a number, the grade"
                raise ValueError(f"the answer {answer!r} is no label; write {possible}")
            answer = Verdict(Label(name))
        elif isinstance(answer, float):
            answer = Grade(answer)
        return label(self.question, answer, self.by, self.decides)


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
    rows = [
        {"question": row.question, "answer": row.answer, "by": person_of(row)}
        | ({"decides": True} if decides(row) else {})
        for row in answered(labels)
    ]
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
