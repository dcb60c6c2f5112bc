"""The labels of a store: what people answered. Append-only; of several answers to a question the latest counts."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from ragauge.questions import Judgment, Question, judgment_key
from ragauge.store.judgments import answered
from ragauge.store.packing import digest
from ragauge.store.texts import marks, portions
from ragauge.types import Answer, Identity

#: The name of the judge of every label; who it was is the setting "by".
PEOPLE = "people"

_encode = msgspec.json.Encoder().encode
_decode_question = msgspec.json.Decoder(Question).decode
_decode_answer = msgspec.json.Decoder(Answer).decode


def label(question: Question, answer: Answer, by: str) -> Judgment:
    """What the person called `by` answered, as a judgment."""
    judge = Identity(PEOPLE, (("by", by),))
    return Judgment(question, answer, judge, judgment_key(question, judge))


def keep(db: sqlite3.Connection, labels: Sequence[Judgment], blind: str, chance: bool) -> None:
    """Add `labels`, stamped with the present time. To be called inside a write transaction."""
    db.executemany(
        "INSERT INTO labels (digest, question, answer, person, at, blind, chance)"
        " VALUES (?, ?, ?, ?, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), ?, ?)",
        [(*_row(each), blind, chance) for each in answered(labels)],
    )


def find(db: sqlite3.Connection, questions: Sequence[Question]) -> dict[Question, Judgment]:
    """The latest label of each question that has one, whoever gave it."""
    if not db.execute("SELECT 1 FROM labels LIMIT 1").fetchone():
        return {}
    asked = {digest(_encode(question)): question for question in questions}
    found: dict[Question, Judgment] = {}
    for some in portions(asked):
        sql = f"SELECT digest, answer, person FROM labels WHERE digest IN ({marks(some)}) ORDER BY id"
        for address, answer, person in db.execute(sql, some):
            found[asked[address]] = label(asked[address], _decode_answer(answer), person)
    return found


def everything(db: sqlite3.Connection, blind: str | None, chance: bool) -> list[Judgment]:
    """All labels in the order in which they were given; only blind ones of some data, only where chance drew."""
    sql = "SELECT question, answer, person FROM labels WHERE (?1 IS NULL OR blind = ?1) AND chance >= ?2 ORDER BY id"
    rows = db.execute(sql, (blind, chance))
    return [label(_decode_question(question), _decode_answer(answer), person) for question, answer, person in rows]


def _row(given: Judgment) -> tuple[bytes, str, str, str]:
    if given.judge.name != PEOPLE:
        raise ValueError(f"judge {given.judge} is not a person; make labels with ragauge.store.label")
    question = _encode(given.question)
    return digest(question), question.decode(), _encode(given.answer).decode(), dict(given.judge.settings)["by"]
