"""The store: judgments, so that none is paid for twice, runs, and people's labels, in SQLite or PostgreSQL."""

from __future__ import annotations

import shutil
import struct
import tempfile
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import wraps
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Concatenate, Literal, NoReturn, ParamSpec, TypeAlias, TypeVar

import msgspec

from ragauge.errors import StoreError, UnknownName, UsageError
from ragauge.host import user_secret
from ragauge.questions import Judgment, Question
from ragauge.scores import RunRecord, SampleRecord
from ragauge.store import texts
from ragauge.store.database import Database, store_errors
from ragauge.store.recording import Opinions, RowEdit, answered, decides, label, opinions, person_of, settled
from ragauge.store.texts import Connection, unpack
from ragauge.types import PEOPLE, Answer, Call, Failure, Identity, ModelResponse

if TYPE_CHECKING:
    from ragauge.store.postgres import Postgres, PostgresUrl

Work = ParamSpec("Work")
T = TypeVar("T")

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


def _in_database(
    kind: Literal["read", "write"], what: str
) -> Callable[[Callable[Concatenate[Store, Connection, Work], T]], Callable[Concatenate[Store, Work], T]]:
    """Decorator: run the method in one transaction, and pass it the connection. what: it does, for messages."""

    def method_of(function: Callable[Concatenate[Store, Connection, Work], T]) -> Callable[Concatenate[Store, Work], T]:
        @wraps(function)
        def method(self: Store, /, *args: Work.args, **named: Work.kwargs) -> T:
            run = self._database.read if kind == "read" else self._database.write
            return run(what, lambda db: function(self, db, *args, **named))

        return method

    return method_of


class Store:
    """Judgments, runs and labels in one file or database. Open one with `Store.open` or `Store.temporary`.

    Threads may share a store, and several processes may write to one place at once. What a method has written when it
    returns survives a crash of the process. Methods raise StoreError where the place cannot be read or written.
    """

    _postgres: Postgres | None = None

    #: Whether judgments that others made are asked anew; see `find`. Commands set the default.
    only_own = False

    #: How many judgments that others made have been found.
    foreign = 0

    #: Whether it is a file that lasts, in which judgments are marked as this user's.
    is_own_file = False

    def __init__(self, database: Database | Postgres, folder: Path | None = None) -> None:
        """database: open. folder: removed with all its files when the store is closed."""
        self._opened = database
        self.is_own_file = isinstance(database, Database) and folder is None
        self._postgres = None if isinstance(database, Database) else database
        self._numbers: dict[bytes, int] = {}  # of the texts lately written, by their hashes
        self._close = weakref.finalize(self, _close, database, folder)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a run is not copied or pickled with its store; give the store a path and use Run.open(PATH, run.id), or "
            "keep what run.to_dict() or run.save(FILE) give"
        )

    @classmethod
    def open(cls, path: Place, *, to_read: bool = False, wait: bool = False, only_own: bool | None = None) -> Store:
        """Open a store, which is created if it does not exist.

        Args:
            path: a file whose name ends in .db or .sqlite; or a folder, in which the file is `store.db`; or the URL of
                a PostgreSQL database, postgresql://USER@HOST/DATABASE.
            to_read: accept a place that cannot be written to; methods that write then raise StoreError.
            wait: wait up to a minute for a server that cannot be reached, as during a restart.
            only_own: have judgments that another user, or another machine, put into a file asked anew.

        Raises:
            StoreError: the store cannot be opened, is no ragauge store, or was written by a newer version.
            UsageError: the URL is malformed, or psycopg is not installed.
        """
        if is_url(path):
            from ragauge.store.postgres import Postgres

            return cls(Postgres(path, to_read=to_read, wait=wait))
        place = Path(str(path))
        with store_errors(place, "open it"):
            is_file = place.is_file() or (place.suffix in (".db", ".sqlite") and not place.is_dir())
        store = cls(Database(place if is_file else place / "store.db", to_read=to_read))
        store.only_own = cls.only_own if only_own is None else only_own
        return store

    @staticmethod
    def exists(place: Place) -> bool:
        """Whether the file or folder exists; True for the URL of a database, which only opening it reaches."""
        return is_url(place) or Path(str(place)).exists()

    @classmethod
    def temporary(cls) -> Store:
        """A private store that is deleted when it is closed, or when the interpreter ends."""
        folder = Path(tempfile.mkdtemp(prefix="ragauge-"))
        return cls(Database(folder / "store.db", durable=False), folder)

    @property
    def _database(self) -> Database | Postgres:
        return self._opened

    @property
    def place(self) -> Place:
        """The file or URL, at which another process can open it."""
        return self._database.path if isinstance(self._database, Database) else self._database.url

    @property
    def path(self) -> Path:
        """The path of the file. Raises UsageError for a store in PostgreSQL."""
        if not isinstance(self._database, Database):
            raise UsageError(f"the store {self._database.url} is not a file")
        return self._database.path

    def close(self) -> None:
        """Close the store. Closing it twice has no effect."""
        self._close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @_in_database("read", "find judgments")
    def find(self, db: Connection, keys: Sequence[str]) -> dict[str, Judgment]:
        """The stored judgments with these keys, by key; with `only_own` those that this user made on this machine."""
        sql = f"SELECT {self._columns} FROM judgments WHERE key IN ?"
        marked = self._marked(db, db.select_in(sql, dict.fromkeys(map(bytes.fromhex, keys))))
        if self.is_own_file and self.only_own:
            marked = [(judgment, is_own) for judgment, is_own in marked if is_own]
        elif self.is_own_file:
            self.foreign += sum(not is_own for _, is_own in marked)
        return {judgment.key: judgment for judgment, _ in marked}

    @property
    def _columns(self) -> str:
        return "key, judge, question, answer, call" + (", mark" if self.is_own_file else "")

    def _marked(self, db: Connection, rows: Sequence[tuple[Any, ...]]) -> list[tuple[Judgment, bool]]:
        """The judgments in rows that begin with `_columns`, each with whether this user made it on this machine."""
        judgments = _judgments(db, [row[:5] for row in rows])
        if not self.is_own_file:
            return [(judgment, False) for judgment in judgments]
        secret = user_secret()
        is_own = [mark == _mark(secret, key, unpack(answer)) for key, _, _, answer, _, mark, *_ in rows]
        return list(zip(judgments, is_own, strict=True))

    def lock(self, keys: Collection[str]) -> set[str]:
        """Lock the keys of questions that this process is going to ask; those that no other process has locked.

        A lock lasts until the judgment is kept, the key is released, or the store is closed. It binds nothing but
        `lock`. Of a file all keys are returned, and none is locked.
        """
        return self._postgres.lock(keys) if self._postgres else set(keys)

    def release(self, keys: Iterable[str] | None = None) -> None:
        """Release this store's locks on these keys, or all."""
        if self._postgres:
            self._postgres.release(keys)

    def keep(self, judgments: Sequence[Judgment], calls: Sequence[Call] = (), *, own: bool = True) -> None:
        """Add judgments and the calls that were made for them; all of them or, where this raises, none.

        An answer that is stored under the same key already is not replaced, but with `only_own` one that others made
        is. Locks on the keys are released. own: whether this user made them, on this machine.
        Raises ValueError for a judgment whose answer is a Failure.
        """
        new = self._keep(judgments, calls, own)
        if len(self._numbers) > texts.MOST_CACHED:
            self._numbers.clear()
        self._numbers |= new
        if self._postgres:
            self._postgres.release([judgment.key for judgment in judgments])

    @_in_database("write", "keep judgments")
    def _keep(
        self, db: Connection, judgments: Sequence[Judgment], calls: Sequence[Call], own: bool
    ) -> dict[bytes, int]:
        new = self._insert(db, judgments, own)
        _keep_calls(db, calls)
        return new

    def _insert(self, db: Connection, judgments: Sequence[Judgment], own: bool) -> dict[bytes, int]:
        """Add judgments; returns the numbers of the texts that were new, by their hashes. own: see `keep`."""
        references: dict[str, dict[str, int]] = {}
        trees = [texts.refer(msgspec.to_builtins(kept.question), references) for kept in answered(judgments)]
        judges = {judge: _encode(judge).decode() for judge in {judgment.judge for judgment in judgments}}
        hashes = {text: texts.digest(text.encode()) for text in (*references, *judges.values())}
        new = texts.keep_texts(db, {hash: text for text, hash in hashes.items() if hash not in self._numbers})
        numbers = {text: new.get(hash) or self._numbers[hash] for text, hash in hashes.items()}
        for text, reference in references.items():
            reference["$"] = numbers[text]
        secret = user_secret() if self.is_own_file else b""
        rows: list[tuple[Any, ...]] = []
        for judgment, tree in zip(judgments, trees, strict=True):
            key, answer = bytes.fromhex(judgment.key), _encode(judgment.answer)
            row = (key, numbers[judges[judgment.judge]], db.pack(_encode(tree)), db.pack(answer), judgment.call)
            mark = (_mark(secret, key, answer) if own else b"",) if self.is_own_file else ()
            rows.append((*row, *mark))
        if self.is_own_file and self.only_own:
            stored = db.select_in("SELECT key, answer, mark FROM judgments WHERE key IN ?", [row[0] for row in rows])
            others = [(key,) for key, answer, mark in stored if mark != _mark(secret, key, unpack(answer))]
            db.executemany("DELETE FROM judgments WHERE key = ?", others)
        db.insert_new("judgments", self._columns.split(", "), rows)
        return new

    @_in_database("read", "read calls")
    def calls(self, db: Connection) -> Iterator[Call]:
        """All calls of judges, in the order in which they ended, each once, however often it was written."""
        calls = (_decode_call(record) for (record,) in db.execute("SELECT record FROM calls ORDER BY id"))
        return iter({call.id: call for call in calls}.values())

    def judgments(self) -> Iterator[Judgment]:
        """All judgments, oldest first, read in batches."""
        return (judgment for judgment, _ in self._all_marked())

    def _all_marked(self) -> Iterator[tuple[Judgment, bool]]:
        last, marked = self._marked_after(0)
        while marked:
            yield from marked
            last, marked = self._marked_after(last)

    @_in_database("read", "read judgments")
    def _marked_after(self, db: Connection, after: int) -> tuple[int, list[tuple[Judgment, bool]]]:
        sql = f"SELECT {self._columns}, id FROM judgments WHERE id > ? ORDER BY id LIMIT ?"
        rows = db.execute(sql, (after, texts.QUERY_SIZE)).fetchall()
        return (rows[-1][-1] if rows else after), self._marked(db, rows)

    def copy_to(self, other: Store, progress: Callable[[int], None] | None = None) -> tuple[int, int]:
        """Add all judgments of this store to another, except those that it has; runs, calls and labels stay here.

        progress: called with the number of judgments read. Returns how many were read, and how many of them were new.
        """
        read, new, stored = 0, 0, self._all_marked()
        while marked := list(islice(stored, texts.QUERY_SIZE)):
            present = other.find([judgment.key for judgment, _ in marked])
            for own in (True, False):
                other.keep(
                    [judgment for judgment, is_own in marked if is_own == own and judgment.key not in present], own=own
                )
            read, new = read + len(marked), new + len(marked) - len(present)
            if progress:
                progress(read)
        return read, new

    @_in_database("read", "find responses")
    def find_responses(self, db: Connection, keys: Sequence[str]) -> dict[str, ModelResponse]:
        """The stored responses with these keys, by key."""
        rows = db.select_in("SELECT record FROM responses WHERE key IN ?", dict.fromkeys(map(bytes.fromhex, keys)))
        responses = [_decode_response(unpack(record)) for (record,) in rows]
        return {response.key: response for response in responses}

    @_in_database("write", "keep responses")
    def keep_responses(self, db: Connection, responses: Sequence[ModelResponse], made: Sequence[Call] = ()) -> None:
        """Add responses and the calls that were made for them; a stored response is not replaced."""
        rows = [(bytes.fromhex(response.key), db.pack(_encode(response))) for response in responses]
        db.insert_new("responses", ("key", "record"), rows)
        _keep_calls(db, made)

    @_in_database("read", "read the state of a stream")
    def stream_state(self, db: Connection, name: str) -> str | None:
        """What was kept of a stream, such as how far the files of a watched folder were delivered."""
        row = db.execute("SELECT state FROM streams WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    @_in_database("write", "keep the state of a stream")
    def keep_stream_states(self, db: Connection, states: Mapping[str, str]) -> None:
        """Keep the states of streams, by name, in place of earlier ones; all of them or, where this raises, none."""
        sql = "INSERT INTO streams (name, state) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET state = excluded.state"
        db.executemany(sql, list(states.items()))

    @_in_database("write", "keep an edit")
    def keep_row_edit(self, db: Connection, edit: RowEdit) -> None:
        """Add a person's change of a row of a test set; the latest of a row counts."""
        db.execute("INSERT INTO edits (test_set, edit) VALUES (?, ?)", (edit.test_set, _encode(edit).decode()))

    @_in_database("read", "read edits")
    def row_edits(self, db: Connection, test_set: str) -> list[RowEdit]:
        """All changes of the rows of a test set, oldest first."""
        rows = db.execute("SELECT edit FROM edits WHERE test_set = ? ORDER BY id", (test_set,))
        return [msgspec.json.decode(edit, type=RowEdit) for (edit,) in rows]

    @_in_database("write", "begin the run")
    def begin(self, db: Connection, run: RunRecord) -> None:
        """Add a run. Raises StoreError where another has its id."""
        record = _encode(run)
        sql = "INSERT INTO runs (id, record) VALUES (?, ?) ON CONFLICT (id) DO NOTHING"
        db.execute(sql, (run.id, db.pack(record)))
        (kept,) = db.execute("SELECT record FROM runs WHERE id = ?", (run.id,)).fetchone()
        if unpack(kept) != record:
            raise StoreError(f"there is a run {run.id!r} already; give the new one another id")

    @_in_database("write", "keep samples")
    def keep_samples(self, db: Connection, run_id: str, first: int, records: Sequence[SampleRecord]) -> None:
        """Write `records` at positions `first`, `first + 1`, ... of a run, over what is there.

        Raises UnknownName where there is no run with exactly this id.
        """
        run = _run_number(db, run_id)
        db.executemany(
            "INSERT INTO samples (run, position, record) VALUES (?, ?, ?)"
            " ON CONFLICT (run, position) DO UPDATE SET record = excluded.record",
            [(run, first + i, db.pack(_encode(record))) for i, record in enumerate(records)],
        )
        db.executemany(
            "INSERT INTO columns (run, metric, first, numbers) VALUES (?, ?, ?, ?)",
            [(run, metric, first, _column(records, metric)) for metric in {name for r in records for name in r.scores}],
        )

    @_in_database("write", "finish the run")
    def finish(self, db: Connection, run: RunRecord) -> None:
        """Replace the record of the run with this id. Raises UnknownName where there is none."""
        number = _run_number(db, run.id)
        db.execute("UPDATE runs SET record = ? WHERE number = ?", (db.pack(_encode(run)), number))

    @_in_database("read", "read runs")
    def run(self, db: Connection, wanted: str) -> RunRecord:
        """Find a run.

        Args:
            wanted: its id; or its name, of which the newest run is meant; or the beginning of its id; or "latest".

        Raises:
            UnknownName: no run matches.
            UsageError: several ids start with it.
        """
        ids = [id for (id,) in db.execute("SELECT id FROM runs ORDER BY number DESC")]
        if not ids:
            raise StoreError("it holds no runs yet; make one with: ragauge run")
        matches = ids[:1] if wanted == "latest" else [id for id in ids if id == wanted]
        if not matches:
            matches = [run.id for run in _runs(db) if wanted and run.name == wanted][:1]
            matches = matches or [id for id in ids if wanted and id.startswith(wanted)]
        if len(matches) > 1:
            listed = ", ".join(matches[:5])
            raise UsageError(f"{wanted!r} is the beginning of {len(matches)} runs ({listed}); give more of the id")
        if not matches:
            names = {run.name for run in _runs(db) if run.name}
            naming = "" if names else "(no run here has a name: `ragauge run DATA --name NAME` gives one)"
            raise UnknownName("run", wanted, [*ids[:20], *names, "latest"], listing=naming)
        (record,) = db.execute("SELECT record FROM runs WHERE id = ?", matches).fetchone()
        return _decode_run(unpack(record))

    @_in_database("read", "read runs")
    def runs(self, db: Connection) -> list[RunRecord]:
        """All runs, newest first by the order in which they were begun in this store."""
        return _runs(db)

    @_in_database("read", "read samples")
    def size(self, db: Connection, run_id: str) -> int:
        """The number of samples of a run so far, also while it is in progress. Raises UnknownName as `values`."""
        return _size(db, _run_number(db, run_id))

    def sample(self, run_id: str, position: int) -> SampleRecord:
        """The sample at a position, counted from 0. Raises IndexError where the run has none there."""
        for record in self.samples(run_id, position, position + 1):
            return record
        raise IndexError(f"run {run_id!r} has no sample at position {position}")

    def samples(self, run_id: str, start: int = 0, stop: int | None = None) -> Iterator[SampleRecord]:
        """The samples at positions `start` to before `stop`, in order, read in batches."""
        while samples := self._samples_from(run_id, start, stop):
            yield from samples.values()
            start = max(samples) + 1

    @_in_database("read", "read samples")
    def _samples_from(self, db: Connection, run_id: str, start: int, stop: int | None) -> dict[int, SampleRecord]:
        sql = "SELECT position, record FROM samples WHERE run = ? AND position >= ? AND position < ? ORDER BY 1 LIMIT ?"
        first, end = (min(max(position, 0), END) for position in (start, END if stop is None else stop))
        rows = db.execute(sql, (_run_number(db, run_id), first, end, PAGE))
        return {position: _decode_sample(unpack(record)) for position, record in rows}

    @_in_database("read", "read values")
    def values(self, db: Connection, run_id: str, metric: str) -> list[float | None]:
        """The values of one metric by position, without reading the samples; None where a sample has no value.

        Raises UnknownName where there is no such run, or no sample of it has a score by that name.
        """
        run = _run_number(db, run_id)
        values: list[float | None] = [None] * _size(db, run)
        sql = "SELECT first, numbers FROM columns WHERE run = ? AND metric = ? ORDER BY id"
        columns = db.execute(sql, (run, metric)).fetchall()
        if values and not columns:
            measured = db.execute("SELECT DISTINCT metric FROM columns WHERE run = ?", (run,))
            raise UnknownName("metric", metric, [name for (name,) in measured])
        for first, numbers in columns:
            column = struct.unpack(f"<{len(numbers) // 8}d", numbers)
            values[first : first + len(column)] = [None if value != value else value for value in column]
        return values

    @_in_database("write", "keep labels")
    def keep_labels(self, db: Connection, labels: Sequence[Judgment], *, blind: str = "", chance: bool = False) -> None:
        """Add people's labels. Earlier ones are not overwritten; `find_labels` says which count.

        Args:
            labels: as made by `ragauge.store.label`.
            blind: for labels given without sight of a judge's verdict, the hash of the data that their sample is from
                (`RunRecord.data_hash`); "" for others.
            chance: whether their sample was drawn at random.
        """
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        rows = []
        for judgment in answered(labels):
            if judgment.judge.name != PEOPLE:
                raise ValueError(f"judge {judgment.judge} is not a person; make labels with ragauge.store.label")
            question, answer = _encode(judgment.question), _encode(judgment.answer)
            said = (texts.digest(question), question.decode(), answer.decode(), person_of(judgment))
            rows.append((*said, now, blind, int(chance), int(decides(judgment))))
        columns = "digest, question, answer, person, at, blind, chance, decides"
        db.executemany(f"INSERT INTO labels ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def find_labels(self, questions: Sequence[Question]) -> dict[Question, Judgment]:
        """The label that counts of each question that has one: what more than half of the people say.

        The latest label of each person counts, of grades the mean; where somebody settled a difference, that label.
        """
        return settled(self.opinions(questions))

    @_in_database("read", "find labels")
    def opinions(self, db: Connection, questions: Sequence[Question]) -> dict[Question, Opinions]:
        """What people say to each question that has a label."""
        if not db.execute("SELECT 1 FROM labels LIMIT 1").fetchone():
            return {}
        asked = {texts.digest(_encode(question)): question for question in questions}
        sql = "SELECT digest, answer, person, decides FROM labels WHERE digest IN ? ORDER BY id"
        return opinions(
            label(asked[address], _decode_answer(answer), person, bool(decided))
            for address, answer, person, decided in db.select_in(sql, asked)
        )

    @_in_database("read", "read labels")
    def labels(
        self, db: Connection, *, blind: str | None = None, chance: bool = False, by_doubt: bool = True
    ) -> list[Judgment]:
        """All labels, oldest first, including superseded ones.

        Args:
            blind: only labels given blind on samples of the data with this hash; None for all.
            chance: only labels whose sample was drawn at random.
            by_doubt: also labels whose sample was drawn because the judge was in doubt.
        """
        where, wanted = ("", []) if blind is None else ("blind = ? AND ", [blind])
        sql = f"SELECT question, answer, person, decides FROM labels WHERE {where}chance >= ?"
        sql += ("" if by_doubt else " AND (chance > 0 OR blind = '')") + " ORDER BY id"
        rows = db.execute(sql, [*wanted, int(chance)])
        return [
            label(_decode_question(question), _decode_answer(answer), person, bool(decided))
            for question, answer, person, decided in rows
        ]


Place: TypeAlias = "str | Path | PostgresUrl"


def is_url(place: object) -> bool:
    """Whether a place of a store is a PostgreSQL database, not a file."""
    return not isinstance(place, Path) and str(place).startswith(("postgresql://", "postgres://"))


def _close(database: Database | Postgres, folder: Path | None) -> None:
    database.close()
    if folder:
        shutil.rmtree(folder, ignore_errors=True)


def _mark(secret: bytes, key: bytes, answer: bytes) -> bytes:
    """What nobody else can put to a judgment, so that its user knows it; b"" where there is no `user_secret`."""
    return blake2b(key + answer, key=secret, digest_size=8).digest() if secret else b""


def _judgments(db: Connection, rows: Sequence[tuple[Any, ...]]) -> list[Judgment]:
    """rows: of key, number of the judge's text, question, answer, id of the call."""
    questions = [msgspec.json.decode(unpack(question)) for _, _, question, _, _ in rows]
    judges = {judge for _, judge, _, _, _ in rows}
    long = texts.read_texts(db, judges | set(texts.references(questions)))
    identities = {judge: _decode_judge(long[judge]) for judge in judges}
    asked: list[Question] = [msgspec.convert(texts.restore(tree, long), Question) for tree in questions]
    return [
        Judgment(question, _decode_answer(unpack(answer)), identities[judge], key.hex(), call)
        for question, (key, judge, _, answer, call) in zip(asked, rows, strict=True)
    ]


def _keep_calls(db: Connection, calls: Sequence[Call]) -> None:
    db.executemany("INSERT INTO calls (record) VALUES (?)", [(_encode(call).decode(),) for call in calls])


def _runs(db: Connection) -> list[RunRecord]:
    """All runs, the last begun first, whatever their clocks said."""
    return [_decode_run(unpack(record)) for (record,) in db.execute("SELECT record FROM runs ORDER BY number DESC")]


def _run_number(db: Connection, run_id: str) -> int:
    row = db.execute("SELECT number FROM runs WHERE id = ?", (run_id,)).fetchone()
    if row is None:
        ids = db.execute("SELECT id FROM runs ORDER BY number DESC LIMIT 20")
        raise UnknownName("run", run_id, [id for (id,) in ids])
    return int(row[0])


def _size(db: Connection, run: int) -> int:
    (kept,) = db.execute("SELECT coalesce(max(position) + 1, 0) FROM samples WHERE run = ?", (run,)).fetchone()
    return int(kept)


def _column(records: Sequence[SampleRecord], metric: str) -> bytes:
    """One metric's values as little-endian doubles, NaN for none."""
    scores = (record.scores.get(metric) for record in records)
    values = [score.value if score and score.value is not None else float("nan") for score in scores]
    return struct.pack(f"<{len(values)}d", *values)


#: How many samples are held in memory.
MEMORY_LIMIT = 1000


class MemoryStore(Store):
    """The judgments and samples of one run.

    It moves to a temporary file, once and for all, when it holds more than MEMORY_LIMIT samples, or is asked for
    something else, such as to keep a second run or labels, or for the list of its judgments.
    """

    def __init__(self) -> None:
        self._file: Store | None = None
        self._lock = RLock()
        self._judgments: dict[str, Judgment] = {}
        self._calls: list[Call] = []
        self._run: RunRecord | None = None
        self._records: list[SampleRecord] = []
        self._numbers: dict[bytes, int] = {}  # of the texts lately written, by their hashes

    @property
    def _database(self) -> Database | Postgres:
        """The temporary file, made when it is first needed, with everything that was in memory."""
        with self._lock:
            if self._file is None:
                self._file = Store.temporary()
                self._file.keep(list(self._judgments.values()), self._calls)
                if self._run is not None:
                    self._file.begin(self._run)
                    self._file.keep_samples(self._run.id, 0, self._records)
                self._judgments, self._calls, self._records = {}, [], []
            return self._file._database

    def close(self) -> None:
        """Remove the temporary file, if there is one."""
        if self._file is not None:
            self._file.close()

    def find(self, keys: Sequence[str]) -> dict[str, Judgment]:
        """See `Store.find`."""
        if self._file is not None:
            return super().find(keys)
        return {key: self._judgments[key] for key in keys if key in self._judgments}

    def keep(self, judgments: Sequence[Judgment], calls: Sequence[Call] = (), *, own: bool = True) -> None:
        """See `Store.keep`."""
        with self._lock:
            if self._file is not None:
                return super().keep(judgments, calls, own=own)
            if any(isinstance(judgment.answer, Failure) for judgment in judgments):
                raise ValueError("a failure is not an answer and cannot be stored")
            for judgment in judgments:
                self._judgments.setdefault(judgment.key, judgment)
            self._calls.extend(calls)
            return None

    def opinions(self, questions: Sequence[Question]) -> dict[Question, Opinions]:
        """See `Store.opinions`; labels are kept in a file alone."""
        return super().opinions(questions) if self._file is not None else {}

    def labels(self, *, blind: str | None = None, chance: bool = False, by_doubt: bool = True) -> list[Judgment]:
        """See `Store.labels`; labels are kept in a file alone."""
        return super().labels(blind=blind, chance=chance, by_doubt=by_doubt) if self._file is not None else []

    def begin(self, run: RunRecord) -> None:
        """See `Store.begin`."""
        if self._run is None:
            self._run = run
        else:
            super().begin(run)

    def keep_samples(self, run_id: str, first: int, records: Sequence[SampleRecord]) -> None:
        """See `Store.keep_samples`."""
        with self._lock:
            if self._holds(run_id) and first + len(records) <= MEMORY_LIMIT:
                self._records[first : first + len(records)] = records
            else:
                super().keep_samples(run_id, first, records)

    def finish(self, run: RunRecord) -> None:
        """See `Store.finish`."""
        if self._holds(run.id):
            self._run = run
        else:
            super().finish(run)

    def samples(self, run_id: str, start: int = 0, stop: int | None = None) -> Iterator[SampleRecord]:
        """See `Store.samples`."""
        if self._holds(run_id):
            return islice(self._records, max(start, 0), None if stop is None else max(stop, 0))
        return super().samples(run_id, start, stop)

    def _holds(self, run_id: str) -> bool:
        return self._file is None and self._run is not None and self._run.id == run_id
