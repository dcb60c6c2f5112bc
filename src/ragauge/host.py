"""The host: files that only their owner can read, and libraries that report to nobody."""

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


#: ONNX Runtime writes a device id under the user's cache folder and sends events while a session is open; the Hugging
#: Face hub client says with each download what else is installed; transformers asks the hub to convert older weights.
_SWITCHES = ("ORT_DISABLE_TELEMETRY", "HF_HUB_DISABLE_TELEMETRY", "DISABLE_SAFETENSORS_CONVERSION")


def disable_telemetry() -> None:
    """Turn the telemetry of libraries off for this process, where its environment does not already decide.

    Libraries read these variables when they are first imported, so call this before importing any of them.
    """
    for switch in _SWITCHES:
        os.environ.setdefault(switch, "1")
