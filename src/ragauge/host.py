"""The host: files private to their owner, and the telemetry switches of libraries."""

from __future__ import annotations

import os
from pathlib import Path


def make_folder(path: Path) -> None:
    """Create a folder and its missing parents, accessible to their owner alone; existing ones are left unchanged.

    Raises OSError.
    """
    for missing in reversed([folder for folder in (path, *path.parents) if not folder.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)


def make_file(path: Path) -> None:
    """Create an empty file private to its owner; an existing one is left unchanged. Raises OSError."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


#: ONNX Runtime writes a device id under the user's cache folder and sends events while a session is open; the Hugging
#: Face hub client reports installed libraries with each download; transformers asks the hub to convert older weights.
_SWITCHES = ("ORT_DISABLE_TELEMETRY", "HF_HUB_DISABLE_TELEMETRY", "DISABLE_SAFETENSORS_CONVERSION")


def disable_telemetry() -> None:
    """Disable the telemetry of libraries for this process, unless its environment already sets the switches.

    Libraries read these variables when they are first imported, so call this before importing any of them.
    """
    for switch in _SWITCHES:
        os.environ.setdefault(switch, "1")
