"""The tables of a store: judgments, calls, responses, labels and runs.

Functions that change something must be called inside a write transaction.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from ragauge.errors import StoreError, UnknownName, UsageError
from ragauge.questions import Entail, Judgment, Question, judgment_key
from ragauge.scores import RunRecord, SampleRecord
from ragauge.store.texts import (
    QUERY_SIZE,
    Cell,
    Connection,
    digest,
    keep_texts,
    read_texts,
    refer,
    references,
    restore,
    unpack,
)
from ragauge.types import Answer, Call, Failure, Identity, ModelResponse

_encode = msgspec.json.Encoder().encode
_decode_answer = msgspec.json.Decoder(Answer).decode
_decode_call = msgspec.json.Decoder(Call).decode
_decode_judge = msgspec.json.Decoder(Identity).decode
_decode_question = msgspec.json.Decoder(Question).decode
_decode_response = msgspec.json.Decoder(ModelResponse).decode
_decode_run = msgspec.json.Decoder(RunRecord).decode
_decode_sample = msgspec.json.Decoder(SampleRecord).decode

#: Samples that one query reads.
PAGE = 256

#: Beyond every position.
END = 2**63 - 1

#: The name of the judge of every label; the person's name is its setting "by".
PEOPLE = "people"

#: A row of the table of judgments: key, number of the judge's text, question, answer, id of the call.
JudgmentRow = tuple[bytes, int, Cell, Cell, str]


def _keep_calls(db: Connection, calls: Sequence[Call]) -> None:
    db.executemany("INSERT INTO calls (record) VALUES (?)", [(_encode(call).decode(),) for call in calls])


def all_calls(db: Connection) -> list[Call]:
    """All calls, in the order in which they were kept."""
    return [_decode_call(record) for (record,) in db.execute("SELECT record FROM calls ORDER BY id")]


def answered(judgments: Iterable[Judgment]) -> Iterator[Judgment]:
    """The same judgments. Raises ValueError for one whose answer is a Failure."""
    for judgment in judgments:
        if isinstance(judgment.answer, Failure):
            raise ValueError(f"a failure is not an answer and cannot be stored: {judgment.answer}")  # noqa: TRY004
        yield judgment


def keep_judgments(
    db: Connection, judgments: Sequence[Judgment], calls: Sequence[Call], known: Mapping[str, int]
) -> dict[str, int]:
    """Add judgments, except those whose key is there already, and the calls that were made for them.

    Args:
        db: the connection.
        judgments: with answers that are not failures.
        calls: all are added.
        known: text -> its number, for texts that are known to be there.

    Returns:
        The same for the other texts of the judgments.
    """
    references: dict[str, dict[str, int]] = {}
    premises: dict[tuple[str, ...], Any] = {}
    trees = [_referring(judgment.question, references, premises) for judgment in answered(judgments)]
    judges = {judgment.judge: _encode(judgment.judge).decode() for judgment in judgments}
    wanted = {*references, *judges.values()}
    new = keep_texts(db, [text for text in wanted if text not in known])
    numbers = {text: new.get(text) or known[text] for text in wanted}
    for text, reference in references.items():
        reference["$"] = numbers[text]
    rows = [
        (
            bytes.fromhex(judgment.key),
            numbers[judges[judgment.judge]],
            db.pack(_encode(tree)),
            db.pack(_encode(judgment.answer)),
            judgment.call,
        )
        for judgment, tree in zip(judgments, trees, strict=True)
    ]
    db.insert_new("judgments", ("key", "judge", "question", "answer", "call"), rows)
    _keep_calls(db, calls)
    return new


def _referring(question: Question, references: dict[str, dict[str, int]], premises: dict[tuple[str, ...], Any]) -> Any:
    """The question as plain data that refers to its long texts; a premise that several share is converted once."""
    tree = msgspec.to_builtins(question)
    if not isinstance(question, Entail):
        return refer(tree, references)
    premise = tree.pop("premise")
    if question.premise not in premises:
        premises[question.premise] = refer(premise, references)
    return {**refer(tree, references), "premise": premises[question.premise]}


def find_judgments(db: Connection, keys: Sequence[str]) -> dict[str, Judgment]:
    """The judgments that are there, by key."""
    sql = "SELECT key, judge, question, answer, call FROM judgments WHERE key IN ?"
    found = _judgments(db, db.select_in(sql, dict.fromkeys(map(bytes.fromhex, keys))))
    return {judgment.key: judgment for judgment in found}


def judgments_after(db: Connection, after: int) -> tuple[int, list[Judgment]]:
    """The next judgments after row `after`, oldest first, and the last row read."""
    sql = "SELECT key, judge, question, answer, call, id FROM judgments WHERE id > ? ORDER BY id LIMIT ?"
    rows = db.execute(sql, (after, QUERY_SIZE)).fetchall()
    return (rows[-1][5] if rows else after), _judgments(db, [row[:5] for row in rows])


def _judgments(db: Connection, rows: Sequence[JudgmentRow]) -> list[Judgment]:
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


def label(question: Question, answer: Answer, by: str) -> Judgment:
    """A person's label as a judgment.

    Args:
        question: what was asked.
        answer: what the person answered.
        by: the person's name.
    """
    judge = Identity(PEOPLE, (("by", by),))
    return Judgment(question, answer, judge, judgment_key(question, judge))


def keep_labels(db: Connection, labels: Sequence[Judgment], blind: str, chance: bool) -> None:
    """Add labels, with the present time."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    db.executemany(
        "INSERT INTO labels (digest, question, answer, person, at, blind, chance) VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(*_row(each), now, blind, int(chance)) for each in answered(labels)],
    )


def find_labels(db: Connection, questions: Sequence[Question]) -> dict[Question, Judgment]:
    """The latest label of each question that has one, by any person."""
    if not db.execute("SELECT 1 FROM labels LIMIT 1").fetchone():
        return {}
    asked = {digest(_encode(question)): question for question in questions}
    found: dict[Question, Judgment] = {}
    sql = "SELECT digest, answer, person FROM labels WHERE digest IN ? ORDER BY id"
    for address, answer, person in db.select_in(sql, asked):
        found[asked[address]] = label(asked[address], _decode_answer(answer), person)
    return found


def all_labels(db: Connection, blind: str | None, chance: bool) -> list[Judgment]:
    """All labels, oldest first; with `blind` and `chance` only those that `Store.labels` describes."""
    where, wanted = ("", []) if blind is None else ("blind = ? AND ", [blind])
    sql = f"SELECT question, answer, person FROM labels WHERE {where}chance >= ? ORDER BY id"
    rows = db.execute(sql, [*wanted, int(chance)])
    return [label(_decode_question(question), _decode_answer(answer), person) for question, answer, person in rows]


def _row(given: Judgment) -> tuple[bytes, str, str, str]:
    if given.judge.name != PEOPLE:
        raise ValueError(f"judge {given.judge} is not a person; make labels with ragauge.store.label")
    question = _encode(given.question)
    return digest(question), question.decode(), _encode(given.answer).decode(), dict(given.judge.settings)["by"]


def keep_responses(db: Connection, responses: Sequence[ModelResponse], calls: Sequence[Call]) -> None:
    """Add responses, except those whose key is there already, and the calls that were made for them."""
    rows = [(bytes.fromhex(response.key), db.pack(_encode(response))) for response in responses]
    db.insert_new("responses", ("key", "record"), rows)
    _keep_calls(db, calls)


def find_responses(db: Connection, keys: Sequence[str]) -> dict[str, ModelResponse]:
    """The responses that are there, by key."""
    rows = db.select_in("SELECT record FROM responses WHERE key IN ?", dict.fromkeys(map(bytes.fromhex, keys)))
    found = [_decode_response(unpack(record)) for (record,) in rows]
    return {response.key: response for response in found}


def begin(db: Connection, run: RunRecord) -> None:
    """Add a run. Raises StoreError where its id is taken."""
    sql = "INSERT INTO runs (id, record) VALUES (?, ?) ON CONFLICT (id) DO NOTHING"
    if not db.execute(sql, (run.id, db.pack(_encode(run)))).rowcount:
        raise StoreError(f"there is a run {run.id!r} already; give the new one another id")


def finish(db: Connection, run: RunRecord) -> None:
    """Replace the record of a run."""
    number = run_number(db, run.id)
    db.execute("UPDATE runs SET record = ? WHERE number = ?", (db.pack(_encode(run)), number))


def keep_samples(db: Connection, run_id: str, first: int, records: Sequence[SampleRecord]) -> None:
    """Write `records` at positions `first`, `first + 1`, ..., over what is there."""
    run = run_number(db, run_id)
    db.executemany(
        "INSERT INTO samples (run, position, record) VALUES (?, ?, ?)"
        " ON CONFLICT (run, position) DO UPDATE SET record = excluded.record",
        [(run, first + i, db.pack(_encode(record))) for i, record in enumerate(records)],
    )
    db.executemany(
        "INSERT INTO columns (run, metric, first, numbers) VALUES (?, ?, ?, ?)",
        [(run, metric, first, _column(records, metric)) for metric in {name for r in records for name in r.scores}],
    )


def values(db: Connection, run_id: str, metric: str) -> list[float | None]:
    """The values of one metric by position, None where a sample has none."""
    run = run_number(db, run_id)
    values: list[float | None] = [None] * size(db, run_id)
    sql = "SELECT first, numbers FROM columns WHERE run = ? AND metric = ? ORDER BY id"
    columns = db.execute(sql, (run, metric)).fetchall()
    if values and not columns:
        known = db.execute("SELECT DISTINCT metric FROM columns WHERE run = ?", (run,))
        raise UnknownName("metric", metric, [name for (name,) in known])
    for first, numbers in columns:
        column = struct.unpack(f"<{len(numbers) // 8}d", numbers)
        values[first : first + len(column)] = [None if value != value else value for value in column]
    return values


def size(db: Connection, run_id: str) -> int:
    """The number of samples of a run so far."""
    sql = "SELECT coalesce(max(position) + 1, 0) FROM samples WHERE run = ?"
    (kept,) = db.execute(sql, (run_number(db, run_id),)).fetchone()
    return int(kept)


def samples(db: Connection, run_id: str, start: int, stop: int | None) -> dict[int, SampleRecord]:
    """The next samples of a run by position, in order, from `start` to before `stop`; at most PAGE of them."""
    sql = "SELECT position, record FROM samples WHERE run = ? AND position >= ? AND position < ? ORDER BY 1 LIMIT ?"
    first, end = (min(max(position, 0), END) for position in (start, END if stop is None else stop))
    rows = db.execute(sql, (run_number(db, run_id), first, end, PAGE))
    return {position: _decode_sample(unpack(record)) for position, record in rows}


def find_run(db: Connection, wanted: str) -> RunRecord:
    """The run with an id, a name, the beginning of an id, or "latest"; see `Store.run`."""
    ids = _ids(db)
    if not ids:
        raise StoreError("it holds no runs yet; make one with: ragauge run")
    matches = [ids[0]] if wanted == "latest" else [id for id in ids if id == wanted]
    matches = matches or _named(db, wanted)[:1] or [id for id in ids if wanted and id.startswith(wanted)]
    if len(matches) > 1:
        some = ", ".join(matches[:5])
        raise UsageError(f"{wanted!r} is the beginning of {len(matches)} runs ({some}); give more of the id")
    if not matches:
        names = {run.name for run in all_runs(db) if run.name}
        raise UnknownName("run", wanted, [*ids[:20], *names, "latest"])
    (record,) = db.execute("SELECT record FROM runs WHERE id = ?", matches).fetchone()
    return _decode_run(unpack(record))


def all_runs(db: Connection) -> list[RunRecord]:
    """All runs, the last begun first, whatever their clocks said."""
    return [_decode_run(unpack(record)) for (record,) in db.execute("SELECT record FROM runs ORDER BY number DESC")]


def run_number(db: Connection, run_id: str) -> int:
    """The number of the run with exactly this id."""
    row = db.execute("SELECT number FROM runs WHERE id = ?", (run_id,)).fetchone()
    if row is None:
        raise UnknownName("run", run_id, _ids(db)[:20])
    return int(row[0])


def _ids(db: Connection) -> list[str]:
    return [id for (id,) in db.execute("SELECT id FROM runs ORDER BY number DESC")]


def _named(db: Connection, name: str) -> list[str]:
    return [run.id for run in all_runs(db) if name and run.name == name]


def _column(records: Sequence[SampleRecord], metric: str) -> bytes:
    """One metric's values as little-endian doubles, NaN for none."""
    scores = (record.scores.get(metric) for record in records)
    values = [score.value if score and score.value is not None else float("nan") for score in scores]
    return struct.pack(f"<{len(values)}d", *values)
