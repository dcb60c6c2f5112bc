"""A real PostgreSQL server for tests: Debian's, started on a free port in a folder of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest

PASSWORD = "p%40ss%3Aword%2F%3F"  # as it stands in a URL


def programs() -> Path | None:
    """The folder of the server's programs, None where it is not installed."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    found = str(folders[-1]) if folders else shutil.which("initdb")
    return Path(found).parent if found else None


class PostgresServer:
    """A server on the loopback interface. PostgreSQL refuses to run as root, who starts it as the user `postgres`."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._user = "postgres" if os.geteuid() == 0 else None
        self._folder = Path(tempfile.mkdtemp(prefix="ragauge-postgres-"))
        if self._user:
            shutil.chown(self._folder, self._user)
        self._schemas = count()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        secret = self._folder / "password"
        secret.write_text("p@ss:word/?")
        secret.chmod(0o644)
        login = ["--username=owner", "--auth=scram-sha-256", f"--pwfile={secret}"]
        self._run("initdb", *login, "--encoding=UTF8", "--no-sync", "--no-locale")
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), f"--pgdata={self._folder / 'data'}", *arguments]
        subprocess.run(command, check=True, user=self._user, cwd="/", stdout=subprocess.DEVNULL, timeout=60)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = f"-p {self.port} -k {self._folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        self._run("pg_ctl", "start", "--wait", f"--options={options}", f"--log={self._folder / 'log'}")

    def stop(self) -> None:
        """End it at once, as a crash would."""
        self._run("pg_ctl", "stop", "--mode=immediate", "--wait")

    def remove(self) -> None:
        """End it, and delete what it kept."""
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def url(self, schema: str = "", user: str = "owner", password: str = PASSWORD) -> str:
        """The address of the database, or of one schema in it."""
        options = f"?options=-csearch_path%3D{schema}" if schema else ""
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/postgres{options}"

    def new(self) -> str:
        """The address of a place where nothing is yet."""
        schema = f"place{next(self._schemas)}"
        self.execute(f"CREATE SCHEMA {schema}")
        return self.url(schema)

    def execute(self, sql: str, schema: str = "") -> list[tuple[object, ...]]:
        """The rows of a statement."""
        with psycopg.connect(self.url(schema), autocommit=True) as db:
            done = db.execute(sql.encode())
            return done.fetchall() if done.description else []


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server for all tests of this process; skipped where PostgreSQL is not installed."""
    folder = programs()
    if folder is None:
        pytest.skip("PostgreSQL is not installed")
    server = PostgresServer(folder)
    yield server
    server.remove()
