"""Telemetry: the switches that keep libraries from reporting their use to their makers."""

from __future__ import annotations

import os

#: ONNX Runtime writes a device id under the user's cache folder and sends events while a session is open; the Hugging
#: Face hub client says with each download what else is installed; transformers asks the hub to convert older weights.
_SWITCHES = ("ORT_DISABLE_TELEMETRY", "HF_HUB_DISABLE_TELEMETRY", "DISABLE_SAFETENSORS_CONVERSION")


def disable_telemetry() -> None:
    """Turn the telemetry of libraries off for this process, where its environment does not already decide.

    Libraries read these variables when they are first imported, so call this before importing any of them.
    """
    for switch in _SWITCHES:
        os.environ.setdefault(switch, "1")
