"""Files and folders that only their owner can read: stores and reports hold what may be confidential."""

from __future__ import annotations

import os
from pathlib import Path


def make_folder(path: Path) -> None:
    """Make a folder, and those above it that are missing, for their owner alone; what is there stays as it is.

    Raises OSError.
    """
    for missing in reversed([folder for folder in (path, *path.parents) if not folder.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)


def make_file(path: Path) -> None:
    """Make an empty file for its owner alone; one that is there stays as it is. Raises OSError."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
