"""ONNX Runtime: models run on one thread each time, several concurrently, which is faster than many threads a text."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ragauge.host import disable_telemetry


def onnx_runtime() -> Any:
    """The library `onnxruntime`, imported with its telemetry off: nothing else in ragauge imports it."""
    disable_telemetry()
    import onnxruntime

    return onnxruntime


def open_session(path: Path) -> Any:
    """An ONNX model, open on the CPU. Raises what ONNX Runtime raises where the file holds none."""
    onnxruntime = onnx_runtime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def processors() -> int:
    """The number of CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
