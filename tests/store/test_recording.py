from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from ragauge.errors import BadData
from ragauge.questions import COHERENCE, Decompose, Entail, Judgment, Rate
from ragauge.store import label, read_judgments, read_labels, write_judgments
from ragauge.types import Decomposition, Failure, Grade, Label, Statement, Verdict

ENTAIL = '{"kind": "entail", "premise": ["p"], "hypothesis": "h"}'
RATE = msgspec.json.encode(Rate(COHERENCE, (("source", "s"), ("response", "r")))).decode()


def lines(path: Path, *texts: str) -> Path:
    """A file with these lines."""
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


def test_a_recording_can_be_written_by_hand(tmp_path: Path) -> None:
    """A line needs no more than a question, an answer and a judge; empty lines do not count."""
    answer, judge = '{"type": "verdict", "label": "neutral"}', '{"name": "by hand"}'
    path = lines(tmp_path / "r.jsonl", "", f'{{"question": {ENTAIL}, "answer": {answer}, "judge": {judge}}}')
    (read,) = read_judgments(path)
    assert read.question == Entail(("p",), "h")
    assert read.answer == Verdict(Label.NEUTRAL)


def test_a_recording_is_replaced_whole(tmp_path: Path, judgment: Callable[..., Judgment]) -> None:
    """A recording that cannot be written to its end leaves the old one as it was."""
    path = tmp_path / "r.jsonl"
    write_judgments(path, [judgment(1)])
    with pytest.raises(ValueError, match="judge_error"):
        write_judgments(path, [judgment(2), msgspec.structs.replace(judgment(3), answer=Failure("judge_error"))])
    assert list(read_judgments(path)) == [judgment(1)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: Input data was truncated"),
        ('{"question": {"kind": "entail"}}', r"line 2: .*missing required field `premise`"),
        (
            f'{{"question": {ENTAIL}, "answer": "yes", "by": "ann"}}',
            "line 2: the answer does not fit.*not one of.*entailed",
        ),
        (
            f'{{"question": {ENTAIL}, "answer": "entaild", "by": "ann"}}',
            "line 2: the answer 'entaild' is no label; write entailed, neutral",
        ),
        (f'{{"question": {ENTAIL}, "answer": 0.5, "by": "ann"}}', "line 2: the answer does not fit"),
        (
            '{"question": ' + RATE.replace("source", "sauce") + ', "answer": 1, "by": "ann"}',
            "line 2: unknown field of rub",
        ),
        (f'{{"question": {RATE}, "answer": 6, "by": "ann"}}', "line 2: .*6 lies outside 1 to 5"),
        (f'{{"question": {RATE}, "answer": 3.5, "by": "ann"}}', "line 2: .*3.5 is not a whole number"),
        (f'{{"question": {ENTAIL}, "answer": "entailed", "by": "ann", "who": 1}}', "line 2: .*unknown field `who`"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    """Each fault of a label file is an error with the file, the line and what is wrong."""
    good = f'{{"question": {ENTAIL}, "answer": "entailed", "by": "ann"}}'
    with pytest.raises(BadData, match=rf"labels\.jsonl, {message}"):
        list(read_labels(lines(tmp_path / "labels.jsonl", good, line)))


def test_a_recorded_answer_must_fit_its_question(tmp_path: Path) -> None:
    """A grade where a decomposition is needed is an error that names file and line."""
    question, answer = '{"kind": "decompose", "text": "t"}', '{"type": "grade", "value": 1}'
    line = f'{{"question": {question}, "answer": {answer}, "judge": {{"name": "x"}}}}'
    with pytest.raises(BadData, match=r"r\.jsonl, line 1: .*a grade does not answer a question of kind 'decompose'"):
        list(read_judgments(lines(tmp_path / "r.jsonl", line)))


def test_a_missing_recording(tmp_path: Path) -> None:
    """A file that is not there is an error that names it."""
    with pytest.raises(BadData, match=r"nowhere\.jsonl: No such file or directory; check the path"):
        list(read_judgments(tmp_path / "nowhere.jsonl"))


def test_keys_survive_a_recording(tmp_path: Path) -> None:
    """A judgment on one of our own rubrics has the same key after it was written and read."""
    question = Rate(COHERENCE, (("source", "s"), ("response", "r")))
    written = label(question, Grade(4.0), "ann")
    write_judgments(tmp_path / "r.jsonl", [written])
    assert list(read_judgments(tmp_path / "r.jsonl")) == [written]


def test_labels_may_be_short_or_full(tmp_path: Path) -> None:
    """A label, or a usual word for it, a number and a full answer are read as a verdict, a grade and that answer."""
    full = '{"type": "decomposition", "statements": [{"text": "t"}]}'
    path = lines(
        tmp_path / "labels.jsonl",
        f'{{"question": {ENTAIL}, "answer": "Refuted", "by": "ann"}}',
        f'{{"question": {RATE}, "answer": 4, "by": "bob"}}',
        f'{{"question": {{"kind": "decompose", "text": "t"}}, "answer": {full}, "by": "ann"}}',
    )
    entailed, rated, decomposed = read_labels(path)
    assert entailed == label(Entail(("p",), "h"), Verdict(Label.CONTRADICTED), "ann")
    assert (rated.answer, rated.judge.settings) == (Grade(4.0), (("by", "bob"),))
    assert decomposed == label(Decompose("t"), Decomposition((Statement("t"),)), "ann")


def test_a_line_of_any_depth_or_encoding_is_named(tmp_path: Path) -> None:
    """A line that is nested beyond what a decoder takes, or is not UTF-8, is an error with the file and the line."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'\n{"question": {"x": ' + b"[" * 100_000 + b"\n")
    with pytest.raises(BadData, match=r"r\.jsonl, line 2: its arrays and objects are nested too deeply"):
        list(read_judgments(path))
    path.write_bytes(b'{"question": {"kind": "\xff"}}\n')
    with pytest.raises(BadData, match=r"r\.jsonl, line 1: .*utf-8"):
        list(read_judgments(path))
