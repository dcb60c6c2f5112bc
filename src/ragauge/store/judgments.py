"""The judgments of a store: append-only, the first answer under a key stays."""

from __future__ import annotations

import sqlite3
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ragauge.questions import Entail, Judgment, Question, Rate, kind
from ragauge.store.packing import Cell, pack, unpack
from ragauge.store.texts import (
    AT_ONCE,
    keep_texts,
    long_texts,
    marks,
    portions,
    read_texts,
    refer,
    references,
    restore,
)
from ragauge.types import Answer, Failure, Identity

Row = tuple[bytes, int, Cell, Cell, str]

_encode = msgspec.json.Encoder().encode
_decode_answer = msgspec.json.Decoder(Answer).decode
_decode_judge = msgspec.json.Decoder(Identity).decode


def answered(judgments: Iterable[Judgment]) -> Iterator[Judgment]:
    """The same judgments. Raises ValueError on one whose answer is a Failure."""
    for judgment in judgments:
        if isinstance(judgment.answer, Failure):
            raise ValueError(f"a failure is no answer and is not kept: {judgment.answer}")  # noqa: TRY004
        yield judgment


def keep(db: sqlite3.Connection, judgments: Sequence[Judgment], known: dict[str, int]) -> dict[str, int]:
    """Add `judgments`; one whose key is there already is left out. To be called inside a write transaction.

    known: numbers of texts that are there already. Returns those of the texts that were not among them.
    """
    judgments = list(answered(judgments))
    judges = {judgment.judge: _encode(judgment.judge).decode() for judgment in judgments}
    questions = [_plain(judgment.question) for judgment in judgments]
    premises = {judgment.question.premise for judgment in judgments if isinstance(judgment.question, Entail)}
    wanted = {*judges.values(), *long_texts(questions), *long_texts(premises)}
    new = keep_texts(db, [text for text in wanted if text not in known])
    numbers = ChainMap(new, known) if new else known
    referred = {premise: msgspec.Raw(_encode(refer(premise, numbers))) for premise in premises}
    db.executemany(
        "INSERT INTO judgments (key, judge, question, answer, call) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (key) DO NOTHING",
        [
            (
                bytes.fromhex(judgment.key),
                numbers[judges[judgment.judge]],
                pack(_encode({**refer(plain, numbers), **_premise(judgment.question, referred)})),
                pack(_encode(judgment.answer)),
                judgment.call,
            )
            for judgment, plain in zip(judgments, questions, strict=True)
        ],
    )
    return new


def _plain(question: Question) -> dict[str, Any]:
    """The question as plain data, but for its premise; tuples may stand for lists."""
    fields = {name: value for name, value in msgspec.structs.asdict(question).items() if value is not None}
    fields.pop("premise", None)
    if isinstance(question, Rate):
        fields["rubric"] = msgspec.to_builtins(question.rubric)
    return {"kind": kind(question), **fields}


def _premise(question: Question, referred: Mapping[tuple[str, ...], msgspec.Raw]) -> dict[str, msgspec.Raw]:
    """The premise, which the questions of a sample share, as it was written once for all of them."""
    return {"premise": referred[question.premise]} if isinstance(question, Entail) else {}


def find(db: sqlite3.Connection, keys: Sequence[str]) -> dict[str, Judgment]:
    """The judgments that are there, by key."""
    found: list[Judgment] = []
    for some in portions(dict.fromkeys(map(bytes.fromhex, keys))):
        sql = f"SELECT key, judge, question, answer, call FROM judgments WHERE key IN ({marks(some)})"
        found += _judgments(db, db.execute(sql, some).fetchall())
    return {judgment.key: judgment for judgment in found}


def page(db: sqlite3.Connection, after: int) -> tuple[int, list[Judgment]]:
    """The next judgments after row `after`, oldest first, and the last row read."""
    sql = "SELECT key, judge, question, answer, call, id FROM judgments WHERE id > ? ORDER BY id LIMIT ?"
    rows = db.execute(sql, (after, AT_ONCE)).fetchall()
    return (rows[-1][5] if rows else after), _judgments(db, [row[:5] for row in rows])


def _judgments(db: sqlite3.Connection, rows: Sequence[Row]) -> list[Judgment]:
    questions = [msgspec.json.decode(unpack(question)) for _, _, question, _, _ in rows]
    judges = {judge for _, judge, _, _, _ in rows}
    texts = read_texts(db, judges | set(references(questions)))
    identities = {judge: _decode_judge(texts[judge]) for judge in judges}
    return [
        Judgment(_question(tree, texts), _decode_answer(unpack(answer)), identities[judge], key.hex(), call)
        for tree, (key, judge, _, answer, call) in zip(questions, rows, strict=True)
    ]


def _question(tree: Any, texts: dict[int, str]) -> Question:
    question: Question = msgspec.convert(restore(tree, texts), Question)
    return question
