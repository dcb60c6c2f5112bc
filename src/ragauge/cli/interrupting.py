"""Interrupting: SIGTERM ends a command as Ctrl-C does, and a command that is ending is not interrupted again."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

#: The exit code of a command that Ctrl-C ended, and of one that SIGTERM ended.
INTERRUPTED, TERMINATED = 130, 143

#: Seconds that a command which is ending has to itself; it may then still wait for threads that cannot be cancelled.
GRACE = 1.0


class _Ending:
    """How this process is ending: by which signal, and since when."""

    code = INTERRUPTED
    since = 0.0


@contextmanager
def interruptible() -> Iterator[None]:
    """While this lasts SIGTERM does what Ctrl-C would: it raises KeyboardInterrupt, or cancels what is awaited."""
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    _Ending.code = INTERRUPTED
    signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is _terminate:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def ending() -> int:
    """The exit code of a command that was interrupted, to be called once it is: no further signal raises anything."""
    _Ending.since = time.monotonic()
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _leave)
    return _Ending.code


def _terminate(_number: int, frame: FrameType | None) -> None:
    _Ending.code = TERMINATED
    interrupt = signal.getsignal(signal.SIGINT)  # asyncio's own, while it runs
    if callable(interrupt):
        interrupt(signal.SIGINT, frame)
    else:
        raise KeyboardInterrupt


def _leave(_number: int, _frame: FrameType | None) -> None:
    """End the process as it stands, unless it may be about to end by itself."""
    if time.monotonic() - _Ending.since > GRACE:
        os._exit(_Ending.code)
