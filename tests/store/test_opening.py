from __future__ import annotations

import gc
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.interrupts import heed_modes

from ragauge.errors import StoreError
from ragauge.questions import Judgment
from ragauge.store import Store, database

Make = Callable[..., Judgment]


@pytest.mark.parametrize(
    ("given", "file"),
    [(".ragauge", ".ragauge/store.db"), ("a/b", "a/b/store.db"), ("team.db", "team.db"), ("a/x.sqlite", "a/x.sqlite")],
)
def test_where_the_file_is(tmp_path: Path, given: str, file: str) -> None:
    """A folder holds `store.db`; a name that ends in .db or .sqlite is the file itself; missing folders are made."""
    with Store.open(str(tmp_path / given)) as store:
        assert store.path == tmp_path / file
    assert (tmp_path / file).is_file()


def test_an_existing_file_may_have_any_name(tmp_path: Path) -> None:
    """A file that is there is opened as a store whatever its name."""
    with Store.open(tmp_path / "a.db") as made:
        made.path.rename(tmp_path / "kept")
    with Store.open(tmp_path / "kept") as store:
        assert store.path == tmp_path / "kept"


def test_closing_leaves_one_file(tmp_path: Path, judgment: Make) -> None:
    """The last to close a store leaves neither log nor index next to the file, and may close it twice."""
    store = Store.open(tmp_path)
    store.keep([judgment()])
    store.close()
    store.close()
    assert [each.name for each in tmp_path.iterdir()] == ["store.db"]


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    """Using a store after closing it is a StoreError, not an error of sqlite3."""
    store = Store.open(tmp_path)
    store.close()
    with pytest.raises(StoreError, match="cannot read runs: Cannot operate on a closed database"):
        store.runs()


def test_a_temporary_store_goes_when_closed(judgment: Make) -> None:
    """A temporary store works as any other, and its folder is gone after close."""
    with Store.temporary() as store:
        folder = store.path.parent
        store.keep([judgment()])
        assert store.find([judgment().key])
    assert not folder.exists()


def test_a_temporary_store_goes_when_forgotten() -> None:
    """A temporary store that nobody holds any more is deleted."""
    folder = Store.temporary().path.parent
    gc.collect()
    assert not folder.exists()


def test_a_temporary_store_goes_with_the_interpreter(python: Callable[..., subprocess.Popen[str]]) -> None:
    """A temporary store that is still open when the interpreter ends is deleted."""
    child = python("from ragauge.store import Store\nstore = Store.temporary()\nprint(store.path.parent)")
    output, _ = child.communicate(timeout=60)
    assert child.returncode == 0
    assert not Path(output.strip()).exists()


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    """A file of another kind is refused with the fix, and left as it is."""
    path = tmp_path / "notes.db"
    path.write_text("not a database, but long enough to be taken for one" * 20)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"notes\.db: cannot open it: .*not a SQLite database; give another path with"):
        Store.open(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("setup", ["CREATE TABLE places (url)", "PRAGMA application_id = 7"])
def test_a_database_of_another_program(tmp_path: Path, setup: str) -> None:
    """A SQLite file that is not a store is refused, and left as it is."""
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute(setup)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program's database; give another path with --store"):
        Store.open(path)
    assert path.read_bytes() == before


def test_a_store_of_a_newer_version(tmp_path: Path) -> None:
    """A store with a schema beyond ours is refused with the advice to upgrade."""
    with Store.open(tmp_path) as store:
        path = store.path
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 999")
    with pytest.raises(StoreError, match=r"newer ragauge \(schema 999, .*upgrade with: pip install --upgrade ragauge"):
        Store.open(tmp_path)


def test_an_older_store_is_brought_up_to_date(tmp_path: Path, judgment: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening applies only the steps that are missing, once each, and keeps what is there."""
    with Store.open(tmp_path) as store:
        store.keep([judgment()])

    monkeypatch.setattr(database, "MIGRATIONS", (*database.MIGRATIONS, "CREATE TABLE more (x)"))
    for _ in range(2):
        with Store.open(tmp_path) as store:
            assert list(store.judgments()) == [judgment()]


def test_a_step_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A migration that breaks off leaves the schema as it was, for the version that wrote it."""
    with Store.open(tmp_path):
        pass
    twice = "CREATE TABLE half (x); CREATE TABLE half (x)"
    with monkeypatch.context() as patch:
        patch.setattr(database, "MIGRATIONS", (*database.MIGRATIONS, twice))
        with pytest.raises(StoreError, match="already exists"):
            Store.open(tmp_path)
    with Store.open(tmp_path) as store, closing(sqlite3.connect(store.path)) as db:
        assert ("half",) not in db.execute("SELECT name FROM sqlite_master").fetchall()


def test_a_place_where_no_folder_can_be_made(tmp_path: Path) -> None:
    """A path below a file is refused with its name and both ways out."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"file/under/store\.db: cannot open it: .*--store, or .*--no-store"):
        Store.open(tmp_path / "file" / "under")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the administrator may write anywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """A read-only folder is refused with its name and both ways out."""
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match=r"store\.db: cannot open it: .*--store, or .*--no-store"):
        Store.open(tmp_path)


def test_a_damaged_row_is_named_as_such(file: Store, judgment: Make) -> None:
    """A row that was written by hand, or by a broken disk, is a StoreError that names the file."""
    file.keep([judgment()])
    with closing(sqlite3.connect(file.path)) as db, db:
        db.execute('UPDATE judgments SET answer = \'{"type": "nonsense"}\'')
    with pytest.raises(
        StoreError, match=r"store\.db: cannot find judgments: a row is damaged: Invalid value 'nonsense'"
    ):
        file.find([judgment().key])


def test_a_full_disk_leaves_whole_batches(file: Store, judgment: Make) -> None:
    """When the file cannot grow, the batch in hand is undone, those before it stay, and reading goes on."""
    file.keep([judgment(n) for n in range(10)])
    file._database.read("limit the size", lambda db: db.execute("PRAGMA max_page_count = 20"))
    with pytest.raises(StoreError, match="disk is full; free some space"):
        file.keep([judgment(n) for n in range(10, 5000)])
    assert len(list(file.judgments())) == 10


@pytest.mark.parametrize("text", [b"CREATE TABLE \xff\xfe", b"no SQL", b""])
def test_a_damaged_schema_is_named_as_such(tmp_path: Path, text: bytes) -> None:
    """A store whose schema is no text, or no SQL, is a StoreError that names the file and the way out."""
    with Store.open(tmp_path) as made:
        path = made.path
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"CREATE TABLE runs", text.ljust(17), 1))
    with pytest.raises(StoreError, match=r"store\.db: cannot open it: .*damaged.*move the file away"):
        Store.open(tmp_path)


@pytest.mark.parametrize("harm", ["UPDATE texts SET text = x'ff'", "DELETE FROM texts"])
def test_what_refers_to_nothing_is_damage(file: Store, judgment: Make, harm: str) -> None:
    """A text that is none, and a reference to a text that is gone, are a StoreError."""
    file.keep([judgment()])
    with closing(sqlite3.connect(file.path)) as db, db:
        db.execute(harm)
    with pytest.raises(StoreError, match=r"store\.db: cannot find judgments: .* is damaged.*move the file away"):
        file.find([judgment().key])


READER = """
import sys
from ragauge.errors import StoreError
from ragauge.store import Store

folder = sys.argv[1]
with Store.open(folder, to_read=True) as store:
    print(len(list(store.judgments())))
    try:
        store.keep(list(store.judgments()))
    except StoreError as error:
        print(error)
try:
    Store.open(folder)
except StoreError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="modes are of other kinds elsewhere")
@pytest.mark.parametrize("log", [False, True], ids=["closed", "with a log"])
def test_a_store_is_read_where_nothing_can_be_written(
    tmp_path: Path, judgment: Make, python: Callable[..., subprocess.Popen[str]], log: bool
) -> None:
    """A store opened to read works in a folder and a file that are read-only, also where a killed writer left a log."""
    store = Store.open(tmp_path / "kept")
    store.keep([judgment()])
    left = {path: path.read_bytes() for path in (tmp_path / "kept").iterdir()} if log else {}
    store.close()
    for path, content in left.items():
        path.write_bytes(content)
    assert len(list((tmp_path / "kept").iterdir())) == (3 if log else 1)
    for path in (tmp_path / "kept").iterdir():
        path.chmod(0o400)
    (tmp_path / "kept").chmod(0o500)
    try:
        reply, _ = python(READER, tmp_path / "kept", preexec_fn=heed_modes).communicate(timeout=60)
    finally:
        (tmp_path / "kept").chmod(0o700)
    count, *refusals = reply.splitlines()
    assert count == "1"
    assert len(refusals) == 2
    assert all("choose a folder that can be written with --store" in refusal for refusal in refusals)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no modes")
def test_a_store_is_for_its_owner_alone(tmp_path: Path, judgment: Make) -> None:
    """A new store, its log and the folders made for it are closed to others; what was there keeps its mode."""
    before = os.umask(0o022)
    try:
        with Store.open(tmp_path / "a" / "b") as store:
            store.keep([judgment()])
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in store.path.parent.iterdir()}
        assert modes == dict.fromkeys(("store.db", "store.db-wal", "store.db-shm"), 0o600)
        assert {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b")} == {0o700}
        store.path.chmod(0o640)
        (tmp_path / "a" / "b").chmod(0o750)
        with Store.open(tmp_path / "a" / "b"):
            pass
        assert stat.S_IMODE(store.path.stat().st_mode) == 0o640
    finally:
        os.umask(before)
