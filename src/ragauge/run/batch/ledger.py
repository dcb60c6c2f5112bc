"""The ledger of a batch folder: what was asked in which request, in which file, and what became of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from ragauge.errors import RagaugeError
from ragauge.judges.llm.deferred import QuestionStatus
from ragauge.questions import Question
from ragauge.store.texts import pack, unpack
from ragauge.types import Failure

#: Seconds that a command waits for another one that works on the same folder.
PATIENCE = 10.0

_SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);

CREATE TABLE files (
    name TEXT PRIMARY KEY, wave INTEGER NOT NULL, spec TEXT NOT NULL, requests INTEGER NOT NULL DEFAULT 0,
    upload TEXT NOT NULL DEFAULT '', batch TEXT NOT NULL DEFAULT '', since TEXT NOT NULL DEFAULT '',
    ended INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE requests (
    id TEXT PRIMARY KEY, file TEXT NOT NULL REFERENCES files, spec TEXT NOT NULL, form TEXT NOT NULL,
    questions NOT NULL, waiting INTEGER NOT NULL DEFAULT 1, replied INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX requests_by_file ON requests (file, waiting);

CREATE TABLE questions (
    key TEXT PRIMARY KEY, request TEXT NOT NULL REFERENCES requests, waiting INTEGER NOT NULL,
    tries INTEGER NOT NULL, failure TEXT NOT NULL, alone INTEGER NOT NULL
);
CREATE INDEX questions_by_request ON questions (request);
"""

_encode = msgspec.json.Encoder().encode
_decode_questions = msgspec.json.Decoder(tuple[Question, ...]).decode
_decode_failure = msgspec.json.Decoder(Failure | None).decode


class File(NamedTuple):
    """A file of requests of one model.

    requests: how many. upload, batch: what the provider calls it, "" where it is not sent. since: when sending it
    began, in UTC. ended: its batch is over and fetched. waiting: how many requests have no result.
    """

    name: str
    wave: int
    spec: str
    requests: int
    upload: str
    batch: str
    since: str
    ended: bool
    waiting: int

    @property
    def untouched(self) -> bool:
        """Whether it may be sent: no result has come for any of it, and it was not sent before."""
        return not self.batch and not self.ended and self.waiting == self.requests


class Entry(NamedTuple):
    """A request as it was exported. waiting: no result came. replied: a reply came, good or bad."""

    id: str
    spec: str
    form: str
    questions: tuple[Question, ...]
    waiting: bool
    replied: bool


class Ledger:
    """One SQLite file. What a `writing` block changes is kept as a whole when it ends, or not at all."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._explained():
            self._db = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
            if not self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                with self.writing():
                    for statement in filter(str.strip, _SCHEMA.split(";")):
                        self._db.execute(statement)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Changes are made inside; nobody else makes any meanwhile."""
        with self._explained():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            busy = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
            mend = "another command works on this folder; wait for it to end" if busy else "export into a new folder"
            raise RagaugeError(f"{self._path}: {error}; {mend}") from error

    # facts

    def fact(self, name: str) -> bytes | None:
        """What is kept under a name."""
        row = self._db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return row[0].encode() if row else None

    def state(self, name: str, value: bytes) -> None:
        """Keep it."""
        self._db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value.decode()))

    # requests

    def add_file(self, name: str, wave: int, spec: str) -> None:
        """Add a file, to which requests are added next."""
        self._db.execute("INSERT INTO files (name, wave, spec) VALUES (?, ?, ?)", (name, wave, spec))

    def add(self, entry: Entry, file: str, keys: Iterable[str]) -> None:
        """Add a request whose questions have these keys; one that was lost is waited for again."""
        stated = pack(_encode(entry.questions))
        self._db.execute(
            "INSERT INTO requests (id, file, spec, form, questions) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET file = excluded.file, form = excluded.form, waiting = 1",
            (entry.id, file, entry.spec, entry.form, stated),
        )
        self._db.execute("UPDATE files SET requests = requests + 1 WHERE name = ?", (file,))
        self._db.executemany(
            "INSERT INTO questions VALUES (?, ?, 1, 0, 'null', 0)"
            " ON CONFLICT (key) DO UPDATE SET request = excluded.request, waiting = 1",
            [(key, entry.id) for key in keys],
        )

    def entry(self, id: str) -> Entry | None:
        """The request of that id."""
        sql = "SELECT spec, form, questions, waiting, replied FROM requests WHERE id = ?"
        row = self._db.execute(sql, (id,)).fetchone()
        if row is None:
            return None
        spec, form, questions, waiting, replied = row
        return Entry(id, spec, form, _decode_questions(unpack(questions)), bool(waiting), bool(replied))

    def standing(self, key: str) -> QuestionStatus | None:
        """How a question stands; None where it was not asked, or is answered."""
        sql = "SELECT waiting, tries, failure, alone FROM questions WHERE key = ?"
        row = self._db.execute(sql, (key,)).fetchone()
        return QuestionStatus(bool(row[0]), row[1], _decode_failure(row[2]), bool(row[3])) if row else None

    def settle(self, entry: Entry, answered: Iterable[str], failed: Mapping[str, Failure]) -> None:
        """A result came: the keys of the questions that it answers, and of those that it does not."""
        self._db.execute("UPDATE requests SET waiting = 0 WHERE id = ?", (entry.id,))
        self._db.executemany("DELETE FROM questions WHERE key = ?", [(key,) for key in answered])
        self._db.executemany(
            "UPDATE questions SET waiting = 0, tries = tries + 1, failure = ?, alone = ? WHERE key = ? AND request = ?",
            [(_encode(failure).decode(), len(entry.questions) == 1, key, entry.id) for key, failure in failed.items()],
        )

    def replied(self, id: str) -> None:
        """The result was a reply: no other is taken in its place."""
        self._db.execute("UPDATE requests SET replied = 1 WHERE id = ?", (id,))

    def release(self, ids: Iterable[str]) -> None:
        """No reply came, and none will: let the questions be asked again."""
        for id in ids:
            self._db.execute("UPDATE requests SET waiting = 0 WHERE id = ?", (id,))
            self._db.execute("UPDATE questions SET waiting = 0 WHERE request = ?", (id,))

    def waiting_in(self, file: str) -> list[str]:
        """The ids of the requests of a file that have no result."""
        return [id for (id,) in self._db.execute("SELECT id FROM requests WHERE file = ? AND waiting", (file,))]

    # files

    def files(self) -> list[File]:
        """All files in the order in which they were exported."""
        rows = self._db.execute(
            "SELECT name, wave, spec, requests, upload, batch, since, ended,"
            " (SELECT count(*) FROM requests WHERE file = name AND waiting) FROM files ORDER BY rowid"
        )
        return [File(*row) for row in rows]

    def begin_sending(self, file: File, upload: str, now: str) -> None:
        """A file is about to become a batch; whether it did is not known until `sent`.

        Raises RagaugeError where it is not any more as it was read.
        """
        sql = "UPDATE files SET upload = ?, since = ? WHERE name = ? AND since = ? AND batch = ''"
        if not self._db.execute(sql, (upload, now, file.name, file.since)).rowcount:
            raise RagaugeError(f"{file.name} is being sent by another command; look at the status when that has ended")

    def check_sending(self, file: File, upload: str, now: str) -> None:
        """Raise RagaugeError where another command has begun to send the file since `now`."""
        self.begin_sending(file._replace(since=now), upload, now)

    def sent(self, name: str, batch: str) -> None:
        """It has become a batch."""
        self._db.execute("UPDATE files SET batch = ? WHERE name = ?", (batch, name))

    def unsent(self, name: str) -> None:
        """What was taken for its batch is another one."""
        self._db.execute("UPDATE files SET batch = '', since = '', upload = '' WHERE name = ?", (name,))

    def end(self, name: str) -> None:
        """Its batch is over, and what came of it is imported."""
        self._db.execute("UPDATE files SET ended = 1 WHERE name = ?", (name,))
