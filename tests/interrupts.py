"""Ctrl-C for programs that a test starts."""

from __future__ import annotations

import signal


def hear_ctrl_c() -> None:
    """To run in a child before its program: a shell's background jobs, and what these start, are deaf to Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
