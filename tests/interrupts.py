"""Ctrl-C, and the rights of a user, for programs that a test starts."""

from __future__ import annotations

import ctypes
import signal
import sys

_DROP_CAPABILITY, _OVERRIDE_MODES = 24, 1  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE


def hear_ctrl_c() -> None:
    """To run in a child before its program: a shell's background jobs, and what these start, are deaf to Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def heed_modes() -> None:
    """To run in a child before its program: the administrator may not write either where a mode forbids it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DROP_CAPABILITY, _OVERRIDE_MODES, 0, 0, 0)
