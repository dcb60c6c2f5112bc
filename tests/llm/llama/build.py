"""Builds llama.cpp's `llama-server` from the source package of llama-cpp-python, once; about ten minutes of one core.

python tests/llm/llama/build.py

It is kept in ~/.cache/ragauge-tests. The environment's RAGAUGE_LLAMA_SERVER names one to use in its place. Needs cmake
and a C++ compiler (Debian: apt-get install cmake g++) and a package index that pip can reach.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VERSION = "0.3.36"
SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
CACHE = Path.home() / ".cache" / "ragauge-tests"
BUILT = CACHE / f"llama-server-{VERSION}"
VARIABLE = "RAGAUGE_LLAMA_SERVER"
_OFF = ("TESTS", "EXAMPLES", "APP", "USE_PREBUILT_UI", "BUILD_UI", "OPENSSL")


class NotBuilt(Exception):
    """The server could not be built; says why."""


def missing() -> str | None:
    """What keeps the server from being had; None where it is there or can be built."""
    if VARIABLE in os.environ or BUILT.exists():
        return None
    absent = [] if shutil.which("cmake") else ["cmake"]
    absent += [] if shutil.which("c++") or shutil.which("g++") or shutil.which("clang++") else ["C++ compiler"]
    if not absent:
        return None
    return f"llama-server cannot be built: there is no {' and no '.join(absent)}; install them, or set {VARIABLE}"


def server() -> Path:
    """The server's path; builds it where it is not there. Raises NotBuilt."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes may want it at once
        if not BUILT.exists():
            with tempfile.TemporaryDirectory(dir=CACHE) as folder:
                _build(Path(folder)).replace(BUILT)
    return BUILT


def _build(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:"]
    _run([*command, "--dest", str(folder), f"llama-cpp-python=={VERSION}"])
    [archive] = folder.glob("llama_cpp_python-*.tar.gz")
    if hashlib.sha256(archive.read_bytes()).hexdigest() != SHA256:
        raise NotBuilt(f"{archive.name} is not the file that was looked at: its SHA-256 is another than {SHA256}")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    [source] = folder.glob("llama_cpp_python-*/vendor/llama.cpp")
    flags = [*(f"-DLLAMA_{name}=OFF" for name in _OFF), "-DBUILD_SHARED_LIBS=OFF", "-DCMAKE_BUILD_TYPE=Release"]
    _run(["cmake", "-S", str(source), "-B", str(folder / "build"), *flags])
    _run(["nice", "cmake", "--build", str(folder / "build"), "--target", "llama-server", f"-j{os.cpu_count()}"])
    return folder / "build" / "bin" / "llama-server"


def _run(command: list[str]) -> None:
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise NotBuilt(f"`{' '.join(command)}` failed:\n{(ran.stdout + ran.stderr)[-2000:]}")


if __name__ == "__main__":
    sys.stdout.write(f"{server()}\n")
