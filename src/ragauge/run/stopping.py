"""Stopping: a run that ends before its data does, by itself and cleanly."""

from __future__ import annotations


class Stopped(Exception):
    """Raised where a question is not answered because the run is to end; the message is the reason."""
