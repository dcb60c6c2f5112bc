"""A folder that is followed: rotation by renaming and by copying, truncation, slow and broken producers, restarts."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from ragauge.run import tail
from ragauge.run.tail import FolderTail, Line
from ragauge.store import Store

Step = Callable[[], object]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks at the folder without a pause."""
    monkeypatch.setattr(tail, "INTERVAL", 0.001)
    monkeypatch.setattr(tail, "RECORD_INTERVAL", 0.0)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """The folder that is followed."""
    (tmp_path / "logs").mkdir()
    return tmp_path / "logs"


def followed(logs: Path, store: Store | None, *steps: tuple[int, Step]) -> list[Line]:
    """The lines that are delivered: each step is made once so many have come, and the last ends it."""

    async def run() -> list[Line]:
        following, found = FolderTail(logs, store), list[Line]()
        left = list(steps)
        while left and left[0][0] == 0:
            left.pop(0)[1]()
        async with asyncio.timeout(20), aclosing(following.lines()) as lines:
            async for line in lines:
                found.append(line)
                following.delivered(line)
                while left and left[0][0] == len(found):
                    left.pop(0)[1]()
                if not left:
                    break
        following.close()
        return found

    return asyncio.run(run())


def texts(found: list[Line]) -> list[str]:
    """The texts of lines."""
    return [line.text.decode() for line in found]


def add(path: Path, *lines: object) -> Step:
    """Adds lines to a file."""

    def work() -> None:
        with path.open("a") as file:
            file.write("".join(f"{line}\n" for line in lines))

    return work


def nothing() -> None:
    """Ends the following."""


def test_a_renamed_file_is_read_to_its_end(logs: Path) -> None:
    """What a producer still writes to a file after its rotation comes, with the lines of the new one."""
    a, old = logs / "a.jsonl", logs / "a.jsonl.1"

    def rotate() -> None:
        add(a, 3)()
        a.rename(old)
        add(old, 4)()
        add(a, 5)()

    found = followed(logs, None, (0, add(a, 1, 2)), (2, rotate), (5, add(old, 6)), (6, nothing))
    assert sorted(texts(found)) == ["1", "2", "3", "4", "5", "6"]
    assert len({line.id for line in found}) == 6


def test_a_removed_file_is_read_to_its_end(logs: Path, tmp_path: Path) -> None:
    """Lines that were added before a file left the folder come."""
    a = logs / "a.jsonl"

    def leave() -> None:
        add(a, 3)()
        a.rename(tmp_path / "elsewhere")
        add(a, 4)()

    assert sorted(texts(followed(logs, None, (0, add(a, 1, 2)), (2, leave), (4, nothing)))) == ["1", "2", "3", "4"]


@pytest.mark.parametrize("copy", ["a.jsonl.1", "a-1.jsonl"])
def test_copytruncate_loses_and_repeats_nothing(logs: Path, copy: str) -> None:
    """Lines that came between the last look and the cut are read from the copy, whatever it is called."""
    a = logs / "a.jsonl"

    def rotate() -> None:
        add(a, "third")()
        shutil.copy(a, logs / copy)
        os.truncate(a, 0)
        add(a, "fourth")()

    found = followed(logs, None, (0, add(a, "first", "second")), (2, rotate), (4, nothing))
    assert sorted(texts(found)) == ["first", "fourth", "second", "third"]


def test_a_file_that_outgrew_its_cut_begins_anew(logs: Path) -> None:
    """A file that was cut and is larger than before by the next look is known by what it holds."""
    a = logs / "a.jsonl"
    found = followed(
        logs,
        None,
        (0, add(a, 1)),
        (1, lambda: a.write_text("2\n3\n4\n")),
        (4, lambda: a.write_text("1\n")),
        (5, nothing),
    )
    assert texts(found) == ["1", "2", "3", "4", "1"]
    assert len({line.id for line in found}) == 5


def test_a_line_counts_once_it_has_ended(logs: Path) -> None:
    """A producer that writes a line in pieces, and one that breaks off within, give whole lines."""
    a = logs / "a.jsonl"

    def write() -> None:
        for piece in ('{"a"', ": 1}", "\n\n2\n{"):
            with a.open("a") as file:
                file.write(piece)

    assert texts(followed(logs, None, (0, add(a, 0)), (1, write), (3, nothing))) == ["0", '{"a": 1}', "2"]


def test_a_restart_repeats_nothing(logs: Path, tmp_path: Path) -> None:
    """What was delivered does not come again, through rotation and cuts in between; ids are those of before."""
    a, b = logs / "a.jsonl", logs / "b.jsonl"
    with Store.open(tmp_path / "store") as store:
        assert len(followed(logs, store, (0, add(a, 1, 2)), (0, add(b, "x")), (3, nothing))) == 3
        a.rename(logs / "a.jsonl.1")
        add(logs / "a.jsonl.1", 3)()
        add(a, 4)()
        b.write_text("y\nz\n")
        found = followed(logs, store, (4, nothing))
        assert sorted(texts(found)) == ["3", "4", "y", "z"]
    with Store.open(tmp_path / "other") as other:
        anew = followed(logs, other, (3, nothing))
    known = {line.text: line.id for line in found}
    assert all(known[line.text] == line.id for line in anew if line.text == b"4")


def test_a_stop_repeats_what_was_not_delivered(logs: Path, tmp_path: Path) -> None:
    """A line that was read, and not delivered before the end, comes again under the same id."""
    add(logs / "a.jsonl", 1, 2, 3)()
    with Store.open(tmp_path / "store") as store:
        following = FolderTail(logs, store)

        async def read() -> list[Line]:
            async with aclosing(following.lines()) as lines:
                return [await anext(lines) for _ in range(3)]

        found = asyncio.run(read())
        following.delivered(found[0])
        following.close()
        again = followed(logs, store, (2, nothing))
    assert [(line.text, line.id) for line in again] == [(line.text, line.id) for line in found[1:]]


def test_many_lines_come_once(logs: Path) -> None:
    """A hundred thousand lines, through ten rotations by renaming and ten by copying, come once each."""
    a, step = logs / "a.jsonl", 5_000

    def rotate(n: int) -> Step:
        def work() -> None:
            copy = logs / f"a.jsonl.{n}"
            if n % 2:
                a.rename(copy)
            else:
                shutil.copy(a, copy)
                os.truncate(a, 0)
            add(a, *range(n * step, (n + 1) * step))()

        return work

    steps = [(0, add(a, *range(step))), *((n * step, rotate(n)) for n in range(1, 20)), (20 * step, nothing)]
    found = followed(logs, None, *steps)
    assert sorted(map(int, texts(found))) == list(range(20 * step))


def test_one_that_ends_before_it_looks_forgets_nothing(logs: Path, tmp_path: Path) -> None:
    """A follower that is closed before it has looked at the folder leaves the positions of the one before."""
    with Store.open(tmp_path / "kept") as store:
        followed(logs, store, (0, add(logs / "a.jsonl", 1, 2)), (2, nothing))
        FolderTail(logs, store).close()
        assert texts(followed(logs, store, (0, add(logs / "a.jsonl", 3)), (1, nothing))) == ["3"]
