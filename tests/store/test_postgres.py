from __future__ import annotations

import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.postgres import PASSWORD, PostgresServer

from ragauge.cli import main
from ragauge.errors import BadParameter, StoreError, UsageError
from ragauge.questions import Judgment
from ragauge.scores import RunRecord
from ragauge.store import Store
from ragauge.store import postgres as home
from ragauge.store.postgres import PostgresUrl
from ragauge.types import Call

Make = Callable[..., Judgment]


@pytest.mark.slow
def test_a_restart_of_the_server_is_waited_for(
    postgres: PostgresServer, judgment: Make, caplog: pytest.LogCaptureFixture
) -> None:
    """A store goes on after the server was down, with all that it had; the log warns once, without the password."""
    with Store.open(postgres.new()) as store:
        store.keep([judgment(1)])
        postgres.stop()
        starting = threading.Timer(0.5, postgres.start)
        starting.start()
        with caplog.at_level(logging.WARNING, "ragauge"):
            store.keep([judgment(2)])
        starting.join()
        assert list(store.judgments()) == [judgment(1), judgment(2)]
    warnings = [record.getMessage() for record in caplog.records if record.name.startswith("ragauge")]
    assert len(warnings) == 1
    assert "trying again" in warnings[0]
    assert "p@ss" not in caplog.text


def test_a_server_that_restarts_may_be_waited_for(postgres: PostgresServer, judgment: Make) -> None:
    """A store that is opened to wait is opened once the server is back; without, that is an error at once."""
    place = postgres.new()
    Store.open(place).close()
    postgres.stop()
    starting = threading.Timer(0.5, postgres.start)
    starting.start()
    with pytest.raises(StoreError, match="cannot open it"):
        Store.open(place)
    with Store.open(place, wait=True) as store:
        store.keep([judgment(1)])
        assert store.lock([judgment(2).key]) == {judgment(2).key}
    starting.join()


def test_patience_ends(postgres: PostgresServer, judgment: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that does not come back is a StoreError that says for how long it was tried."""
    monkeypatch.setattr(home, "PATIENCE", 0.2)
    with Store.open(postgres.new()) as store:
        postgres.stop()
        try:
            with pytest.raises(StoreError, match=r"cannot keep judgments: .*; tried for 0 seconds; run again later"):
                store.keep([judgment(1)])
        finally:
            postgres.start()


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system of four megabytes, which the server may use."""
    folder = Path(tempfile.mkdtemp(prefix="ragauge-disk-"))
    folder.chmod(0o755)
    disk = folder / "disk"
    disk.mkdir()
    try:
        if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk]).returncode:
            pytest.skip("only the administrator can mount a file system")
        shutil.chown(disk, "postgres")
        yield disk
        subprocess.run(["umount", "--lazy", disk], check=True)
    finally:
        shutil.rmtree(folder)


def test_a_full_disk_of_the_server(postgres: PostgresServer, judgment: Make, small_disk: Path) -> None:
    """When the server's disk is full the batch in hand is undone, with a fix in the message; with space all goes on."""
    postgres.execute(f"CREATE TABLESPACE small LOCATION '{small_disk}'")
    place = postgres.new()
    with Store.open(f"{place}%20-cdefault_tablespace%3Dsmall") as store:
        store.keep([judgment(n) for n in range(10)])
        with pytest.raises(StoreError, match="the disk of the server is full; free some space and run again"):
            store.keep([judgment(n) for n in range(10, 20_000)])
        assert len(list(store.judgments())) == 10
        subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
        store.keep([judgment(n) for n in range(10, 2000)])
        assert len(list(store.judgments())) == 2000
    postgres.execute(f"DROP SCHEMA {place.rpartition('%3D')[2]} CASCADE")
    postgres.execute("DROP TABLESPACE small")


@contextmanager
def cutting_proxy(port: int, word: bytes, *, forwarded: bool) -> Iterator[int]:
    """The port of a proxy. It ends the connection on which `word` is first sent; `forwarded`: the server gets it."""
    cut = threading.Event()

    def relay(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if word in data and not cut.is_set():
                    cut.set()
                    if forwarded:
                        target.sendall(data)
                    break
                target.sendall(data)

    def connect(client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", port)) as server:
            answering = threading.Thread(target=relay, args=(server, client), daemon=True)
            answering.start()
            relay(client, server)
            if cut.is_set():
                client.shutdown(socket.SHUT_RDWR)
            server.shutdown(socket.SHUT_WR)
            answering.join()

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=connect, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]
        assert cut.is_set()


@pytest.mark.parametrize("forwarded", [False, True], ids=["the commit is lost", "its answer is lost"])
def test_a_commit_takes_place_once(postgres: PostgresServer, judgment: Make, forwarded: bool) -> None:
    """Where the connection is lost during a commit, judgments and calls are there once."""
    place = postgres.new()
    with (
        cutting_proxy(postgres.port, b"COMMIT", forwarded=forwarded) as port,
        Store.open(place) as made,
        Store.open(place.replace(f":{postgres.port}/", f":{port}/")) as store,
    ):
        store.keep([judgment(1)], [Call("1", model="m")])
        assert list(made.judgments()) == [judgment(1)]
        assert [call.id for call in made.calls()] == ["1"]


def test_a_run_whose_beginning_was_not_confirmed(postgres: PostgresServer) -> None:
    """Where the connection is lost after a run was begun, the run is there once, and can go on."""
    begun = RunRecord("a", "2026-11-20T10:00:00Z", "data.jsonl", (), {}, "0.1")
    place = postgres.new()
    with (
        cutting_proxy(postgres.port, b"COMMIT", forwarded=True) as port,
        Store.open(place) as made,
        Store.open(place.replace(f":{postgres.port}/", f":{port}/")) as store,
    ):
        store.begin(begun)
        assert made.runs() == [begun]


def test_the_password_is_not_shown(postgres: PostgresServer) -> None:
    """Neither the text of a URL nor an error contains the password, whether the URL is right, malformed, or refused."""
    place = postgres.url("team")
    assert PASSWORD in place
    assert (
        str(PostgresUrl(place))
        == repr(PostgresUrl(place))
        == (f"postgresql://owner@127.0.0.1:{postgres.port}/postgres?options=-csearch_path%3Dteam")
    )
    assert str(PostgresUrl("postgresql:///db?host=/tmp&password=secret&user=me")) == "postgresql://me@/db?host=%2Ftmp"
    with pytest.raises(BadParameter, match="the URL of the store is malformed") as malformed:
        Store.open("postgresql://me:sec ret/@host:port/db")
    with pytest.raises(StoreError, match="password authentication failed") as refused:
        Store.open(postgres.url(password="secret"))
    for error in (malformed, refused):
        assert "sec" not in str(error.value)


def test_a_server_that_is_not_there(postgres: PostgresServer) -> None:
    """An address where nothing listens is an error at once, with what to check."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(StoreError, match=r"cannot open it: .*refused.*check the address and that the server runs"):
        Store.open(f"postgresql://me@127.0.0.1:{port}/db")


def test_a_database_of_another_program(postgres: PostgresServer) -> None:
    """A schema with a table of our name is refused, and left as it is; so is a store of a newer version."""
    place = postgres.new()
    schema = place.rpartition("%3D")[2]
    postgres.execute("CREATE TABLE judgments (x int)", schema)
    with pytest.raises(StoreError, match="a table of another program, judgments"):
        Store.open(place)
    postgres.execute("CREATE TABLE ragauge (version int); INSERT INTO ragauge VALUES (99)", schema)
    with pytest.raises(StoreError, match=r"newer ragauge \(schema 99, "):
        Store.open(place)


def test_least_privileges(postgres: PostgresServer, judgment: Make) -> None:
    """A role with what the documentation grants can keep runs and judgments; one that may only read can read."""
    place = postgres.new()
    schema = place.rpartition("%3D")[2]
    with pytest.raises(StoreError, match="there is no store in it"):
        Store.open(place, to_read=True)
    with Store.open(place) as store:
        store.keep([judgment(1)])
    documented = Path(__file__).parents[2].joinpath("docs", "store.md").read_text(encoding="utf-8")
    grants = documented.partition("```sql\n")[2].partition("```")[0].replace("evals", schema)
    postgres.execute(grants.replace("'PASSWORD'", "'x'"))
    with Store.open(postgres.url(schema, "writer", "x")) as store:
        store.keep([judgment(2)])
        store.keep_stream_states({"a folder": "1"})
        store.keep_stream_states({"a folder": "2"})
    with Store.open(postgres.url(schema, "reader", "x"), to_read=True) as store:
        assert len(list(store.judgments())) == 2
        with pytest.raises(
            StoreError, match=r"permission denied for table texts; grant the role what `ragauge docs store`"
        ):
            store.keep([judgment(3)])


def test_old_runs_are_removed_with_sql(postgres: PostgresServer) -> None:
    """`store stats` shows the size; `store prune` lists none and names the page whose SQL removes them."""
    place = postgres.new()
    schema = place.rpartition("%3D")[2]
    documented = Path(__file__).parents[2].joinpath("docs", "store.md").read_text(encoding="utf-8")
    sql = documented.split("```sql\n")[2].partition("```")[0].replace("evals", schema)
    with Store.open(place) as store:
        for run in ("20250101-1", "20260101-1"):
            store.begin(RunRecord(run, "2025-01-01T00:00:00+00:00", "data", (), {}, "0"))
    shown = CliRunner().invoke(main, ["store", "stats", "--store", place]).output
    assert re.search(r"2 runs\n.* MiB in postgresql://", shown, re.DOTALL)
    postgres.execute(f"CREATE TABLE {schema}.others AS SELECT repeat('x', 99) FROM generate_series(1, 20000)")
    assert CliRunner().invoke(main, ["store", "stats", "--store", place]).output == shown
    refused = CliRunner().invoke(main, ["store", "prune", "--keep", "90d", "--store", place])
    assert (refused.exit_code, "20250101" in refused.output) == (2, False)
    assert "`ragauge docs store`" in refused.output
    postgres.execute(sql)
    with Store.open(place) as store:
        assert [run.id for run in store.runs()] == ["20260101-1"]


def test_there_is_no_file(postgres: PostgresServer) -> None:
    """The path of such a store is an error that names it, and a closed one says that it is closed."""
    with Store.open(postgres.new()) as store, pytest.raises(UsageError, match=r"postgresql://owner@.* is not a file"):
        _ = store.path
    with pytest.raises(StoreError, match="cannot read runs: it is closed"):
        store.runs()


def test_without_psycopg(tmp_path: Path) -> None:
    """Without the driver the error names the extra that has it."""
    (tmp_path / "psycopg.py").write_text("raise ImportError")
    script = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nfrom ragauge.store import Store\n"
    script += "Store.open('postgresql://host/db')"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ended.stderr.splitlines()[-1].endswith("install it with: pip install 'ragauge[postgres]'")


def test_judgments_are_copied_both_ways(postgres: PostgresServer, tmp_path: Path, judgment: Make) -> None:
    """`ragauge store copy` adds what the other store lacks, says how many, and shows no password."""
    place = postgres.new()
    with Store.open(tmp_path / "a") as a, Store.open(place) as b:
        a.keep([judgment(n) for n in range(600)])
        b.keep([judgment(n, probability=0.25) for n in range(590, 610)])

    def copied(source: str, target: str) -> str:
        ended = CliRunner().invoke(main, ["store", "copy", source, target])
        assert ended.exit_code == 0, ended.output
        assert "p%40ss" not in ended.output
        return ended.output

    assert "600 judgments read, 590 new" in copied(str(tmp_path / "a"), place)
    assert "610 judgments read, 10 new" in copied(place, str(tmp_path / "a"))
    with Store.open(tmp_path / "a") as a, Store.open(place) as b:
        of_a, of_b = ({one.key: one for one in store.judgments()} for store in (a, b))
        assert set(of_a) == set(of_b)
        assert of_a[judgment(595).key] == judgment(595)
        assert of_b[judgment(595).key] == judgment(595, probability=0.25)


def test_copying_from_nowhere(tmp_path: Path) -> None:
    """A source that is not there is an error, and nothing is made."""
    ended = CliRunner().invoke(main, ["store", "copy", str(tmp_path / "a"), str(tmp_path / "b")])
    assert (ended.exit_code, list(tmp_path.iterdir())) == (2, [])
    assert "there is no store at" in ended.output


def test_a_run_is_kept_and_read_again(postgres: PostgresServer, tmp_path: Path) -> None:
    """The command line runs into a database, takes every answer from it the second time, and reports; no password."""
    place = postgres.new()
    data = tmp_path / "rows.jsonl"
    data.write_text('{"query": "Hot?", "response": "Tea is hot.", "contexts": ["Tea is hot."]}\n')

    def ran(*arguments: str) -> str:
        ended = CliRunner().invoke(main, [*arguments, "--store", place])
        assert ended.exit_code == 0, ended.output
        assert "p%40ss" not in ended.output
        return ended.output

    ran("run", str(data), "-m", "faithfulness", "--name", "first")
    ran("run", str(data), "-m", "faithfulness")
    with Store.open(place) as store:
        assert [record.asked > 0 for record in store.runs()] == [False, True]
    assert "faithfulness" in ran("report", "first")
