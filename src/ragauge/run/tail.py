"""Following the files of a folder: every line once, through rotation, truncation and restarts."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO, NamedTuple

import msgspec

from ragauge.errors import BadData
from ragauge.store import Store

#: Bytes read at a time.
CHUNK = 2**20
#: Seconds between two looks at a folder, and between two records of what was delivered.
INTERVAL, RECORD_INTERVAL = 0.5, 0.2
#: How much longer than it takes to keep a record the time to the next is at least.
RECORD_SHARE = 20
#: Seconds after its last line for which a removed file is kept open.
PATIENCE = 60.0
#: Bytes at the beginning and before the position of a file by which it is recognised.
PRINTED = 1024
#: Files that are kept open, so that what is renamed or removed is still read to its end.
MOST_OPEN = 256
ENDINGS = (".jsonl", ".ndjson")


class Position(msgspec.Struct, frozen=True):
    """How far a file was read.

    seed, chain: a hash of the file, and one of it and all lines so far, which is the id of the last. offset, line:
    bytes and lines. head, tail: the first bytes, and those before the position.
    """

    seed: str
    chain: str
    offset: int = 0
    line: int = 0
    head: bytes = b""
    tail: bytes = b""


class FileState(msgspec.Struct, frozen=True):
    """What the store knows of a file: its name, device and inode, and how far its lines were delivered."""

    name: str
    device: int
    inode: int
    position: Position


class Line(NamedTuple):
    """A line of a file, with its id, which is the same whenever it is read again, and the position after it."""

    file: _Followed
    text: bytes
    position: Position

    @property
    def id(self) -> str:
        """The id of the line."""
        return self.position.chain


class _Followed:
    """An open file. delivered: the position up to which its lines were delivered."""

    def __init__(self, name: str, handle: BinaryIO, position: Position) -> None:
        self.name, self.handle, self.position, self.delivered = name, handle, position, position
        self.changed = time.monotonic()
        self._rest = b""

    @property
    def key(self) -> tuple[int, int]:
        """The device and inode of the file."""
        status = os.fstat(self.handle.fileno())
        return status.st_dev, status.st_ino

    def was_cut(self) -> bool:
        """Whether what was read is not in the file any more."""
        return not fits(self.handle, self.position)

    def lines(self) -> Iterator[Line]:
        """The whole lines that were added."""
        place = self.position.offset + len(self._rest)
        while not self.was_cut() and (data := os.pread(self.handle.fileno(), CHUNK, place)):
            place += len(data)
            self.changed = time.monotonic()
            *whole, self._rest = (self._rest + data).split(b"\n")
            for text in whole:
                self.position = advanced(self.position, text + b"\n")
                if text.strip():
                    yield Line(self, text, self.position)


def advanced(position: Position, line: bytes) -> Position:
    """The position after a line."""
    chain = blake2b(bytes.fromhex(position.chain) + line, digest_size=16).hexdigest()
    head = position.head if len(position.head) == PRINTED else (position.head + line)[:PRINTED]
    tail = (position.tail + line)[-PRINTED:]
    return Position(position.seed, chain, position.offset + len(line), position.line + 1, head, tail)


def beginning(handle: BinaryIO, before: str = "") -> Position:
    """The beginning of a file. before: the id of the last line that it held before it was cut."""
    status = os.fstat(handle.fileno())
    seed = blake2b(f"{status.st_dev} {status.st_ino} {before}".encode(), digest_size=16).hexdigest()
    return Position(seed, seed)


def fits(handle: BinaryIO, position: Position) -> bool:
    """Whether a file holds what was read up to a position, as far as its first bytes and those before it say."""
    number, end = handle.fileno(), position.offset
    if os.fstat(number).st_size < end:
        return False
    head = os.pread(number, len(position.head), 0)
    return head == position.head and os.pread(number, len(position.tail), end - len(position.tail)) == position.tail


class FolderTail:
    """Follows the .jsonl and .ndjson files of a folder. store: keeps how far they were delivered; None: nothing is.

    companion: states that are kept in the same transaction, by name.
    """

    def __init__(self, folder: Path, store: Store | None = None) -> None:
        self._folder, self._store = folder, store
        self._followed: dict[tuple[int, int], _Followed] = {}
        self._left: list[_Followed] = []  # renamed or removed, and read until nothing more comes
        self._gone: list[Position] = []  # of files that were cut, whose copies go on from there
        self._seen: set[tuple[int, int]] = set()  # files that may be copies, looked at a second time
        self.name = str(folder.resolve())
        kept = store.stream_state(self.name) if store else None
        self._known = msgspec.json.decode(kept, type=list[FileState]) if kept else []
        self._recorded = self._took = 0.0
        self._looked = False  # until then only `_known` has the positions
        self.companion: Callable[[], Mapping[str, str]] = dict

    async def lines(self) -> AsyncGenerator[Line, None]:
        """The lines of the files, and without end those that are added. Raises BadData where the folder is gone."""
        while True:
            try:
                self._look()
            except OSError as error:
                raise BadData(f"{error.filename}: {error.strerror}; give --watch a folder that stays") from error
            for file in [*self._left, *self._followed.values()]:
                for line in file.lines():
                    yield line
            await asyncio.sleep(INTERVAL)

    def delivered(self, line: Line) -> None:
        """A line was delivered: after a restart it does not come again."""
        line.file.delivered = line.position
        if time.monotonic() - self._recorded > max(RECORD_INTERVAL, RECORD_SHARE * self._took):
            self.record()

    def record(self) -> None:
        """Keep in the store what was delivered."""
        start = self._recorded = time.monotonic()
        if self._store is None or not self._looked:
            return
        files = [*self._left, *self._followed.values()]
        states = [FileState(file.name, *file.key, file.delivered) for file in files]
        state = msgspec.json.encode(states).decode()
        self._store.keep_stream_states({self.name: state, **self.companion()})
        self._took = time.monotonic() - start

    def close(self) -> None:
        """Keep what was delivered, and close the files."""
        self.record()
        for file in [*self._followed.values(), *self._left]:
            file.handle.close()
        self._followed, self._left = {}, []

    def _look(self) -> None:
        """Open new files, and notice those that were renamed, removed or cut."""
        self._looked = True
        present: dict[tuple[int, int], Path] = {}
        for path in sorted(self._folder.iterdir()):
            with suppress(FileNotFoundError):
                status = path.stat()
                if S_ISREG(status.st_mode):
                    present[status.st_dev, status.st_ino] = path
        for key, file in list(self._followed.items()):
            if file.was_cut():
                self._gone.append(file.position)
                self._followed[key] = _Followed(file.name, file.handle, beginning(file.handle, file.position.chain))
            elif key not in present or present[key].name != file.name:
                self._left.append(self._followed.pop(key))
        self._gone += [
            state.position
            for state in self._known
            if (place := present.get((state.device, state.inode))) and not _holds(place, state.position)
        ]
        open_keys = {*self._followed, *(file.key for file in self._left)}
        known_files = {(state.device, state.inode) for state in self._known}
        for key, path in present.items():
            if key not in open_keys and (path.suffix.lower() in ENDINGS or key in known_files or self._gone):
                self._open(key, path)
        self._known = [state for state in self._known if (state.device, state.inode) not in present]
        self._gone = []
        self._close_idle(present.keys())

    def _open(self, key: tuple[int, int], path: Path) -> None:
        with suppress(FileNotFoundError):
            handle = path.open("rb")
            states = [state for state in self._known if (state.device, state.inode) == key]
            start = next((state.position for state in states if fits(handle, state.position)), None)
            if states and start is None:  # cut while nobody followed it
                start = beginning(handle, states[0].position.chain)
            if start is None:
                copied = [position for position in self._gone if position.offset and _is_copy(handle, position)]
                start = max(copied, key=lambda position: position.offset, default=None)
            is_named = path.suffix.lower() in ENDINGS
            may_be_copy = start is None and key not in self._seen and self._may_be_copy(handle)
            if may_be_copy or not (is_named or start):
                if may_be_copy:
                    self._seen.add(key)  # a file that is about to be cut is copied first
                handle.close()
                return
            file = _Followed(path.name, handle, start or beginning(handle))
            if is_named:
                self._followed[key] = file
            else:
                self._left.append(file)

    def _may_be_copy(self, handle: BinaryIO) -> bool:
        """Whether a new file begins as one that is followed."""
        positions = [file.position for file in self._followed.values()]
        return any(position.offset and _is_copy(handle, position) for position in positions)

    def _close_idle(self, present: Collection[tuple[int, int]]) -> None:
        """Close what was removed a minute ago, and the oldest of too many files."""
        by_age = sorted(self._left, key=lambda file: file.changed)
        idle = [file for file in by_age if file.key not in present and time.monotonic() - file.changed > PATIENCE]
        for file in dict.fromkeys([*idle, *by_age[: max(0, len(by_age) - MOST_OPEN)]]):
            self._left.remove(file)
            file.handle.close()


def _holds(path: Path, position: Position) -> bool:
    with path.open("rb") as handle:
        return fits(handle, position)


def _is_copy(handle: BinaryIO, position: Position) -> bool:
    """Whether a file begins with all the lines that were read up to a position of another."""
    if not fits(handle, position):
        return False
    reached = Position(position.seed, position.seed)
    handle.seek(0)
    for line in handle:
        reached = advanced(reached, line)
        if reached.offset >= position.offset:
            break
    return reached.chain == position.chain
