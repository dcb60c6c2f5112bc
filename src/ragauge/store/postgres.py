"""A PostgreSQL database: its schema, connection, transactions and error messages, as database.py has them of SQLite."""

from __future__ import annotations

import logging
import struct
import threading
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from ragauge.errors import BadParameter, MissingExtra, StoreError
from ragauge.store.database import check_version
from ragauge.store.texts import Connection, Row, migrations, pack_bytes

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
except ImportError:
    raise MissingExtra("a store in PostgreSQL", "postgres") from None

T = TypeVar("T")

#: What brings a database from one version to the next.
MIGRATIONS = migrations("postgres.sql")

#: The advisory lock that a migration holds, "raga" in ASCII.
_MIGRATING = 0x72616761
#: Seconds for which a lost connection is tried again, and the longest pause between two attempts.
PATIENCE = 60.0
_PAUSE = 2.0
#: SQLSTATE codes, or classes, of what may succeed when tried again: connection exceptions, a server that shuts down or
#: starts up, too many connections, deadlocks (https://www.postgresql.org/docs/current/errcodes-appendix.html).
_PASSING = ("08", "57P01", "57P02", "57P03", "53300", "40001", "40P01")
#: The share of the server's lock table that one process may fill with its locks.
_LOCK_SHARE = 0.01

#: How many locks the lock table of the server has room for, in SQL
#: (https://www.postgresql.org/docs/current/runtime-config-locks.html).
_LOCKS = """SELECT current_setting('max_locks_per_transaction')::int
    * (current_setting('max_connections')::int + current_setting('max_prepared_transactions')::int)"""

_GRANTS = "grant the role what `ragauge docs store` lists"
_FIXES = {
    "25006": f"it can only be read; {_GRANTS}, or give another store with --store",
    "42501": _GRANTS,
    "53100": "the disk of the server is full; free some space and run again",
}
_UNREACHABLE = "check the address and that the server runs; a password is read from PGPASSWORD or ~/.pgpass"
_TYPES = {bytes: "bytea", int: "bigint", str: "text"}

_log = logging.getLogger(__name__)


class PostgresUrl:
    """The URL of a database. As text it has no password, so that none gets into messages. Raises BadParameter."""

    def __init__(self, url: str) -> None:
        try:
            self.options = conninfo_to_dict(url)
        except psycopg.Error:  # its message may quote the password
            raise BadParameter(
                "the URL of the store is malformed; give postgresql://USER@HOST:PORT/DATABASE, with %40 for @ in a name"
            ) from None

    def __str__(self) -> str:
        shown = {name: str(value) for name, value in self.options.items() if "password" not in name}
        user, host, port, name = (shown.pop(part, "") for part in ("user", "host", "port", "dbname"))
        if {*"/,:"} & {*host}:  # a socket, several hosts, or an address of IPv6
            shown, host, port = {"host": host, **({"port": port} if port else {}), **shown}, "", ""
        place = (f"{quote(user)}@" if user else "") + host + (f":{port}" if port else "")
        return f"postgresql://{place}/{quote(name)}" + (f"?{urlencode(shown)}" if shown else "")

    __repr__ = __str__


class _Connection:
    pack = staticmethod(pack_bytes)

    def __init__(self, url: PostgresUrl) -> None:
        options: dict[str, Any] = {"connect_timeout": 10, "application_name": "ragauge", **url.options}
        self.db: psycopg.Connection[Any] = psycopg.connect(**options, client_encoding="utf8", autocommit=True)

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> psycopg.Cursor[Any]:
        return self.db.execute(sql.replace("?", "%s").encode(), parameters)

    def row(self, sql: str) -> Row:
        row: Row = self.execute(sql).fetchall()[0]
        return row

    def executemany(self, sql: str, rows: Iterable[Row], /) -> None:
        with self.db.cursor() as cursor:
            cursor.executemany(sql.replace("?", "%s").encode(), rows)

    def select_in(self, sql: str, values: Iterable[Any]) -> list[Row]:
        listed = list(values)
        return self.db.execute(sql.replace("IN ?", "= ANY(%b)").encode(), (listed,)).fetchall() if listed else []

    def insert_new(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """All in one statement, in the order of the first column, so that two writers never wait for each other."""
        if not rows:
            return
        names, key = ", ".join(columns), columns[0]
        arrays = ", ".join(f"%b::{_TYPES[type(value)]}[]" for value in rows[0])
        sql = f"""
            INSERT INTO {table} (id, {names}) SELECT * FROM (
                SELECT nextval(pg_get_serial_sequence('{table}', 'id')), new.* FROM unnest({arrays}) AS new ({names})
            ) AS numbered ORDER BY {key} ON CONFLICT ({key}) DO NOTHING"""
        self.db.execute(sql.encode(), [list(column) for column in zip(*rows, strict=True)])


class Postgres:
    """One connection, which threads may share. A lost one is made again, and the work repeated. Raises StoreError."""

    def __init__(self, url: PostgresUrl | str | object, *, to_read: bool = False, wait: bool = False) -> None:
        self.url = url if isinstance(url, PostgresUrl) else PostgresUrl(str(url))
        self._lock = threading.RLock()
        self._closed = False
        self._locked: set[str] = set()
        try:
            self._connection: _Connection | None = None if wait else _Connection(self.url)
        except psycopg.Error as error:
            raise self._error("open it", error, _UNREACHABLE) from None
        try:
            self._repeated("open it", lambda db: _prepare(db, to_read))
        except BaseException:
            self.close()
            raise

    def read(self, what: str, query: Callable[[Connection], T]) -> T:
        """The result of a query. what: for error messages, such as "read runs"."""
        return self._repeated(what, query)

    def write(self, what: str, change: Callable[[Connection], T]) -> T:
        """The result of a function that changes something, in a transaction: all of its changes are made, or none.

        If the connection is lost during the commit, the change is made again, which has to be harmless.
        """

        def attempt(db: _Connection) -> T:
            with db.db.transaction():
                return change(db)

        return self._repeated(what, attempt)

    def lock(self, keys: Collection[str]) -> set[str]:
        """Lock keys; those that no other process has locked. See `Store.lock`.

        A lock is an advisory one of the session on the first 32 bits of a key. So as not to fill the server's lock
        table a process holds few of them, and is granted further keys without; as it is where locking fails.
        """
        with self._lock:
            free = [key for key in keys if key not in self._locked]
            try:
                wanted = free[: self._most_locks - len(self._locked)]
                got = self._locks("pg_try_advisory_lock", wanted)
            except psycopg.Error:
                return set(free)
            self._locked |= got
            return got.union(free[len(wanted) :])

    def release(self, keys: Iterable[str] | None = None) -> None:
        """Release the locks on these keys, or all."""
        with self._lock:
            released = self._locked.copy() if keys is None else self._locked.intersection(keys)
            self._locked -= released
            with suppress(psycopg.Error, StoreError):  # a lost connection has taken its locks along
                self._locks("pg_advisory_unlock", released)

    @cached_property
    def _most_locks(self) -> int:
        (locks,) = self._connected().row(_LOCKS)
        return int(_LOCK_SHARE * locks)

    def _locks(self, function: str, keys: Collection[str]) -> set[str]:
        """The keys for which a function of advisory locks gives true."""
        if not keys:
            return set()
        sql = f"SELECT n FROM unnest(?::integer[]) AS n WHERE {function}(hashtext('ragauge.' || current_schema), n)"
        numbers = {key: int(key[:8], 16) - 2**31 for key in keys}
        done = {n for (n,) in self._connected().execute(sql, (list(numbers.values()),))}
        return {key for key, n in numbers.items() if n in done}

    def _repeated(self, what: str, work: Callable[[_Connection], T]) -> T:
        """The result of work, repeated for as long as PATIENCE where the connection is lost."""
        deadline, pause = time.monotonic() + PATIENCE, 0.05
        while True:
            try:
                with self._lock:
                    return work(self._connected())
            except StoreError as error:
                raise StoreError(f"store {self.url}: cannot {what}: {error}") from error
            except psycopg.Error as error:
                if self._closed or not _passes(error):
                    raise self._error(what, error) from error
                if time.monotonic() > deadline:
                    raise self._error(what, error, f"tried for {PATIENCE:.0f} seconds; run again later") from error
                if pause == 0.05:
                    _log.warning("store %s: %s; trying again for up to %.0f s", self.url, _first(error), PATIENCE)
            except (msgspec.MsgspecError, zlib.error, UnicodeDecodeError, struct.error, KeyError) as error:
                raise StoreError(f"store {self.url}: cannot {what}: a row is damaged: {error}") from error
            time.sleep(pause)
            pause = min(2 * pause, _PAUSE)

    def _connected(self) -> _Connection:
        if self._closed:
            raise StoreError("it is closed")
        if self._connection is None or self._connection.db.closed:
            self._connection = _Connection(self.url)
        return self._connection

    def _error(self, what: str, error: psycopg.Error, fix: str | None = None) -> StoreError:
        fix = fix or _FIXES.get(error.sqlstate or "")
        return StoreError(f"store {self.url}: cannot {what}: {_first(error)}" + (f"; {fix}" if fix else ""))

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._closed = True
            if self._connection:
                self._connection.db.close()


def _first(error: psycopg.Error) -> str:
    """The first line of a message; the others may quote data."""
    return (error.diag.message_primary or str(error)).strip().partition("\n")[0]


def _passes(error: psycopg.Error) -> bool:
    """Whether the same work may succeed when tried again."""
    return (
        isinstance(error, psycopg.OperationalError) if error.sqlstate is None else error.sqlstate.startswith(_PASSING)
    )


def _prepare(db: _Connection, to_read: bool) -> None:
    """Bring the schema up to date; raise StoreError where that cannot be done."""
    version = _version(db)
    if version < len(MIGRATIONS) and to_read:
        old = "it was written by an older ragauge; open it once to write, as with: ragauge run"
        raise StoreError(old if version else "there is no store in it; `ragauge run` makes one")
    if version < len(MIGRATIONS):
        # Locked before the transaction begins, which therefore sees the tables that others have made.
        db.execute("SELECT pg_advisory_lock(?)", (_MIGRATING,))
        with db.db.transaction():
            for step in MIGRATIONS[_version(db) :]:
                db.execute(step)
            db.execute("DELETE FROM ragauge")
            db.execute("INSERT INTO ragauge VALUES (?)", (len(MIGRATIONS),))
        db.execute("SELECT pg_advisory_unlock(?)", (_MIGRATING,))


def _version(db: _Connection) -> int:
    """The version of the schema, 0 where there is none. Raises StoreError where this version cannot use it."""
    ours, theirs = db.row("SELECT to_regclass('ragauge') IS NOT NULL, to_regclass('judgments') IS NOT NULL")
    if not ours and theirs:
        raise StoreError("it has a table of another program, judgments; give another database, or a schema of its own")
    version = int(db.row("SELECT version FROM ragauge")[0]) if ours else 0
    check_version(version, len(MIGRATIONS))
    return version
