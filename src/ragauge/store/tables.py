"""The tables of a store: judgments, calls, responses, labels and runs."""

from __future__ import annotations

import sqlite3
import struct
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ragauge.errors import StoreError, UnknownName, UsageError
from ragauge.questions import Entail, Judgment, Question, Rate, judgment_key, kind
from ragauge.scores import RunRecord, SampleRecord
from ragauge.store.texts import (
    AT_ONCE,
    Cell,
    digest,
    keep_texts,
    long_texts,
    marks,
    pack,
    portions,
    read_texts,
    refer,
    references,
    restore,
    unpack,
)
from ragauge.types import Answer, Call, Failure, Identity, ModelResponse

_calls_encode = msgspec.json.Encoder().encode
_calls_decode = msgspec.json.Decoder(Call).decode


def keep_calls(db: sqlite3.Connection, calls: Sequence[Call]) -> None:
    """Add `calls`. To be called inside a write transaction."""
    db.executemany("INSERT INTO calls (record) VALUES (?)", [(_calls_encode(call).decode(),) for call in calls])


def all_calls(db: sqlite3.Connection) -> list[Call]:
    """All calls, in the order in which they were kept."""
    return [_calls_decode(record) for (record,) in db.execute("SELECT record FROM calls ORDER BY id")]


Row = tuple[bytes, int, Cell, Cell, str]

_judgments_encode = msgspec.json.Encoder().encode
_judgments_decode_answer = msgspec.json.Decoder(Answer).decode
_decode_judge = msgspec.json.Decoder(Identity).decode


def answered(judgments: Iterable[Judgment]) -> Iterator[Judgment]:
    """The same judgments. Raises ValueError on one whose answer is a Failure."""
    for judgment in judgments:
        if isinstance(judgment.answer, Failure):
            raise ValueError(f"a failure is no answer and is not kept: {judgment.answer}")  # noqa: TRY004
        yield judgment


def keep_judgments(db: sqlite3.Connection, judgments: Sequence[Judgment], known: dict[str, int]) -> dict[str, int]:
    """Add `judgments`; one whose key is there already is left out. To be called inside a write transaction.

    known: numbers of texts that are there already. Returns those of the texts that were not among them.
    """
    judgments = list(answered(judgments))
    judges = {judgment.judge: _judgments_encode(judgment.judge).decode() for judgment in judgments}
    questions = [_plain(judgment.question) for judgment in judgments]
    premises = {judgment.question.premise for judgment in judgments if isinstance(judgment.question, Entail)}
    wanted = {*judges.values(), *long_texts(questions), *long_texts(premises)}
    new = keep_texts(db, [text for text in wanted if text not in known])
    numbers = ChainMap(new, known) if new else known
    referred = {premise: msgspec.Raw(_judgments_encode(refer(premise, numbers))) for premise in premises}
    db.executemany(
        "INSERT INTO judgments (key, judge, question, answer, call) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (key) DO NOTHING",
        [
            (
                bytes.fromhex(judgment.key),
                numbers[judges[judgment.judge]],
                pack(_judgments_encode({**refer(plain, numbers), **_premise(judgment.question, referred)})),
                pack(_judgments_encode(judgment.answer)),
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


def find_judgments(db: sqlite3.Connection, keys: Sequence[str]) -> dict[str, Judgment]:
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
        Judgment(_question(tree, texts), _judgments_decode_answer(unpack(answer)), identities[judge], key.hex(), call)
        for tree, (key, judge, _, answer, call) in zip(questions, rows, strict=True)
    ]


def _question(tree: Any, texts: dict[int, str]) -> Question:
    question: Question = msgspec.convert(restore(tree, texts), Question)
    return question


#: The name of the judge of every label; who it was is the setting "by".
PEOPLE = "people"

_labels_encode = msgspec.json.Encoder().encode
_decode_question = msgspec.json.Decoder(Question).decode
_labels_decode_answer = msgspec.json.Decoder(Answer).decode


def label(question: Question, answer: Answer, by: str) -> Judgment:
    """What the person called `by` answered, as a judgment."""
    judge = Identity(PEOPLE, (("by", by),))
    return Judgment(question, answer, judge, judgment_key(question, judge))


def keep_labels(db: sqlite3.Connection, labels: Sequence[Judgment], blind: str, chance: bool) -> None:
    """Add `labels`, stamped with the present time. To be called inside a write transaction."""
    db.executemany(
        "INSERT INTO labels (digest, question, answer, person, at, blind, chance)"
        " VALUES (?, ?, ?, ?, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), ?, ?)",
        [(*_row(each), blind, chance) for each in answered(labels)],
    )


def find_labels(db: sqlite3.Connection, questions: Sequence[Question]) -> dict[Question, Judgment]:
    """The latest label of each question that has one, whoever gave it."""
    if not db.execute("SELECT 1 FROM labels LIMIT 1").fetchone():
        return {}
    asked = {digest(_labels_encode(question)): question for question in questions}
    found: dict[Question, Judgment] = {}
    for some in portions(asked):
        sql = f"SELECT digest, answer, person FROM labels WHERE digest IN ({marks(some)}) ORDER BY id"
        for address, answer, person in db.execute(sql, some):
            found[asked[address]] = label(asked[address], _labels_decode_answer(answer), person)
    return found


def all_labels(db: sqlite3.Connection, blind: str | None, chance: bool) -> list[Judgment]:
    """All labels in the order in which they were given; only blind ones of some data, only where chance drew."""
    sql = "SELECT question, answer, person FROM labels WHERE (?1 IS NULL OR blind = ?1) AND chance >= ?2 ORDER BY id"
    rows = db.execute(sql, (blind, chance))
    return [
        label(_decode_question(question), _labels_decode_answer(answer), person) for question, answer, person in rows
    ]


def _row(given: Judgment) -> tuple[bytes, str, str, str]:
    if given.judge.name != PEOPLE:
        raise ValueError(f"judge {given.judge} is not a person; make labels with ragauge.store.label")
    question = _labels_encode(given.question)
    return digest(question), question.decode(), _labels_encode(given.answer).decode(), dict(given.judge.settings)["by"]


_responses_encode = msgspec.json.Encoder().encode
_responses_decode = msgspec.json.Decoder(ModelResponse).decode


def keep_response(db: sqlite3.Connection, responses: Sequence[ModelResponse]) -> None:
    """Add `responses`; one whose key is there already is left out. To be called inside a write transaction."""
    db.executemany(
        "INSERT INTO responses (key, record) VALUES (?, ?) ON CONFLICT (key) DO NOTHING",
        [(bytes.fromhex(response.key), pack(_responses_encode(response))) for response in responses],
    )


def find_responses(db: sqlite3.Connection, keys: Sequence[str]) -> dict[str, ModelResponse]:
    """The responses that are there, by key."""
    found: list[ModelResponse] = []
    for some in portions(dict.fromkeys(map(bytes.fromhex, keys))):
        rows = db.execute(f"SELECT record FROM responses WHERE key IN ({marks(some)})", some)
        found += [_responses_decode(unpack(record)) for (record,) in rows]
    return {response.key: response for response in found}


#: How many samples one query reads.
PAGE = 256

#: After every position.
END = 2**63 - 1

_runs_encode = msgspec.json.Encoder().encode
_decode_run = msgspec.json.Decoder(RunRecord).decode
_decode_sample = msgspec.json.Decoder(SampleRecord).decode


def begin(db: sqlite3.Connection, run: RunRecord) -> None:
    """Add a run. To be called, as all that changes something here, inside a write transaction."""
    sql = "INSERT INTO runs (id, record) VALUES (?, ?) ON CONFLICT (id) DO NOTHING"
    if not db.execute(sql, (run.id, pack(_runs_encode(run)))).rowcount:
        raise StoreError(f"there is a run {run.id!r} already; give the new one an id of its own")


def finish(db: sqlite3.Connection, run: RunRecord) -> None:
    """Replace the record of a run."""
    number = number_of(db, run.id)
    db.execute("UPDATE runs SET record = ? WHERE number = ?", (pack(_runs_encode(run)), number))


def keep_samples(db: sqlite3.Connection, run_id: str, first: int, records: Sequence[SampleRecord]) -> None:
    """Keep `records` at positions `first`, `first + 1`, ...; what stood there is replaced."""
    run = number_of(db, run_id)
    db.executemany(
        "INSERT OR REPLACE INTO samples (run, position, record) VALUES (?, ?, ?)",
        [(run, first + i, pack(_runs_encode(record))) for i, record in enumerate(records)],
    )
    db.executemany(
        "INSERT INTO columns (run, metric, first, numbers) VALUES (?, ?, ?, ?)",
        [(run, metric, first, _column(records, metric)) for metric in {name for r in records for name in r.scores}],
    )


def values(db: sqlite3.Connection, run_id: str, metric: str) -> list[float | None]:
    """The values of one metric by position, None where a sample has none."""
    run = number_of(db, run_id)
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


def size(db: sqlite3.Connection, run_id: str) -> int:
    """How many samples of a run are kept so far."""
    sql = "SELECT coalesce(max(position) + 1, 0) FROM samples WHERE run = ?"
    (kept,) = db.execute(sql, (number_of(db, run_id),)).fetchone()
    return int(kept)


def samples(db: sqlite3.Connection, run_id: str, start: int, stop: int | None) -> dict[int, SampleRecord]:
    """The next samples of a run, by position and in order, from `start` until before `stop`; at most PAGE of them."""
    sql = "SELECT position, record FROM samples WHERE run = ? AND position >= ? AND position < ? ORDER BY 1 LIMIT ?"
    first, end = (min(max(position, 0), END) for position in (start, END if stop is None else stop))
    rows = db.execute(sql, (number_of(db, run_id), first, end, PAGE))
    return {position: _decode_sample(unpack(record)) for position, record in rows}


def find_run(db: sqlite3.Connection, wanted: str) -> RunRecord:
    """The run whose id is `wanted`, else the newest of that name, else the only one whose id begins so.

    "latest" is the newest of all.
    """
    ids = _ids(db)
    if not ids:
        raise StoreError("it holds no runs yet; make one with: ragauge run")
    matches = [ids[0]] if wanted == "latest" else [id for id in ids if id == wanted]
    matches = matches or _named(db, wanted)[:1] or [id for id in ids if wanted and id.startswith(wanted)]
    if len(matches) > 1:
        some = ", ".join(matches[:5])
        raise UsageError(f"{wanted!r} is the beginning of {len(matches)} runs ({some}); give more of the id")
    if not matches:
        names = {run.name for run in newest_first(db) if run.name}
        raise UnknownName("run", wanted, [*ids[:20], *names, "latest"])
    (record,) = db.execute("SELECT record FROM runs WHERE id = ?", matches).fetchone()
    return _decode_run(unpack(record))


def newest_first(db: sqlite3.Connection) -> list[RunRecord]:
    """All runs, the last that was begun first, whatever the clock said."""
    return [_decode_run(unpack(record)) for (record,) in db.execute("SELECT record FROM runs ORDER BY number DESC")]


def number_of(db: sqlite3.Connection, run_id: str) -> int:
    """The row of the run with exactly this id."""
    row = db.execute("SELECT number FROM runs WHERE id = ?", (run_id,)).fetchone()
    if row is None:
        raise UnknownName("run", run_id, _ids(db)[:20])
    return int(row[0])


def _ids(db: sqlite3.Connection) -> list[str]:
    return [id for (id,) in db.execute("SELECT id FROM runs ORDER BY number DESC")]


def _named(db: sqlite3.Connection, name: str) -> list[str]:
    return [run.id for run in newest_first(db) if name and run.name == name]


def _column(records: Sequence[SampleRecord], metric: str) -> bytes:
    """One metric's values as little-endian doubles, NaN for none."""
    scores = (record.scores.get(metric) for record in records)
    values = [score.value if score and score.value is not None else float("nan") for score in scores]
    return struct.pack(f"<{len(values)}d", *values)
