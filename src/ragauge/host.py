"""The host: private files, JSON from outside, telemetry switches of libraries, and what installed packages offer."""

from __future__ import annotations

import json
import logging
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from errno import EFBIG, EINVAL
from functools import cache
from importlib import import_module
from pathlib import Path
from stat import S_ISDIR, S_ISFIFO, S_ISREG
from threading import Timer
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import msgspec

from ragauge.errors import BadParameter, MissingExtra

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def make_folder(path: Path) -> None:
    """Create a folder and its missing parents, accessible to their owner alone. Raises OSError."""
    for missing in reversed([folder for folder in (path, *path.parents) if not folder.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)


def make_file(path: Path) -> None:
    """Create an empty file private to its owner; an existing one is left unchanged. Raises OSError."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


def processors() -> int:
    """The number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


#: Reports long waits: its warnings are shown by progress bars, else on standard error.
LOG = logging.getLogger("ragauge")

#: Seconds after which a pipe that has given nothing yet is announced.
SILENT = 5.0


@contextmanager
def announced(name: object) -> Iterator[Callable[[], None]]:
    """Announce what is waited for, once nothing has come for some seconds. Yields what is called when something has."""
    timer = Timer(SILENT, LOG.warning, [f"waiting for {name}, which has given nothing yet"])
    timer.daemon = True
    timer.start()
    try:
        yield timer.cancel
    finally:
        timer.cancel()


#: Bytes of a file that is read as a whole: many times what a prompt, a schema or a judge file has.
MAX_WHOLE_FILE = 64_000_000


def open_file(path: Path, *, pipes: bool = False) -> BinaryIO:
    """Open a file to read it. pipes: whether it may be a pipe, which is announced while it gives nothing.

    Raises OSError, also where it is a device.
    """
    mode = path.stat().st_mode
    if not (S_ISREG(mode) or S_ISDIR(mode) or (pipes and S_ISFIFO(mode))):
        raise OSError(EINVAL, "a device or pipe, not a file", str(path))
    with announced(path):
        file = path.open("rb")
        file.peek(1)
    return file


def read_file(path: Path) -> str:
    """The text of a file. Raises OSError, also where it is a device, a pipe or very large, and ValueError."""
    with open_file(path) as file:
        content = file.read(MAX_WHOLE_FILE + 1)
    if len(content) > MAX_WHOLE_FILE:
        raise OSError(EFBIG, f"larger than {MAX_WHOLE_FILE / 1e6:.0f} MB", str(path))
    return content.decode()


def user_secret() -> bytes:
    """Random bytes kept with the user's settings, by which this user's work on this machine is told from others'.

    b"" where they cannot be kept.
    """
    settings = os.environ.get("XDG_CONFIG_HOME") or os.environ.get("APPDATA") or Path.home() / ".config"
    return _secret_in(Path(settings) / "ragauge" / "secret")


@cache
def _secret_in(path: Path) -> bytes:
    with suppress(OSError):
        if not path.exists():
            make_folder(path.parent)
            part = path.with_name(f"secret.{os.getpid()}")
            make_file(part)
            part.write_bytes(secrets.token_bytes(32))
            with suppress(FileExistsError):
                os.link(part, path)  # unless another process was faster
            part.unlink()
        return path.read_bytes()
    return b""


#: ONNX Runtime writes a device id under the user's cache folder and sends events while a session is open; the Hugging
#: Face hub client reports installed libraries with each download; transformers asks the hub to convert older weights.
_SWITCHES = ("ORT_DISABLE_TELEMETRY", "HF_HUB_DISABLE_TELEMETRY", "DISABLE_SAFETENSORS_CONVERSION")


def disable_telemetry() -> None:
    """Disable the telemetry of libraries for this process, unless its environment sets the switches; before import."""
    for switch in _SWITCHES:
        os.environ.setdefault(switch, "1")


def optional(what: str, extra: str, module: str, *parts: str) -> Any:
    """The module of an optional library, with parts of it. Raises MissingExtra, which says what needs it."""
    try:
        for part in parts:
            import_module(part)
        return import_module(module)
    except ImportError:
        raise MissingExtra(what, extra) from None


def installed(group: str) -> list[EntryPoint]:
    """The entry points of installed packages in one group, by name."""
    from importlib.metadata import entry_points  # slow to import, and most programs need none

    return sorted(entry_points(group=group), key=lambda point: (point.name, point.value))


def load_only(points: Sequence[EntryPoint], what: str) -> Any:
    """Load the only one of `points`; several with the same target count as one.

    what: what they offer, such as "metric 'echo'", for messages. Raises BadParameter if they differ, or if the import
    fails.
    """
    sources = " and ".join(dict.fromkeys(map(source_of, points)))
    if len({point.value for point in points}) > 1:
        raise BadParameter(f"{what} is offered by {sources}; uninstall all but one, or rename one")
    try:
        return points[0].load()
    except Exception as problem:  # importing another package's module may raise anything
        reason = f"{type(problem).__name__}: {problem}"
        raise BadParameter(f"{what} cannot be loaded from {sources}: {reason}; fix or uninstall it") from problem


def source_of(point: EntryPoint) -> str:
    """The target of an entry point and its package, for messages."""
    return f"{point.value!r} of the package {point.dist.name!r}" if point.dist else repr(point.value)


class LazyModule:
    """A module that is imported when one of its names is first used, for libraries that take long to load."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        module = import_module(self._name)
        vars(self).update(vars(module))
        return getattr(module, name)


T = TypeVar("T")


def decoded(text: bytes | str | msgspec.Raw, decoder: msgspec.json.Decoder[T]) -> T:
    """The value of a JSON text. Raises ValueError for invalid syntax, type, encoding or depth."""
    try:
        return decoder.decode(text)
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error


_TOO_DEEP = "its arrays and objects are nested too deeply"


def refuse_repeated_keys(text: bytes) -> None:
    """Raise ValueError where an object of a JSON text has a key twice, at any depth, or where it is no JSON text."""
    try:
        json.loads(text.decode(), object_pairs_hook=object_without_repeats)
    except RepeatedKey as error:
        raise ValueError("a key is given more than once in one object") from error
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error


class RepeatedKey(ValueError):
    """An object of a JSON text has a key twice, so that readers differ in which value they take."""


def object_without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these pairs, for a JSON decoder. Raises RepeatedKey, which names the keys that occur twice."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = [key for key in fields if keys.count(key) > 1]
        raise RepeatedKey(", ".join(map(repr, repeated)))
    return fields
