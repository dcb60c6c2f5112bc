"""The stub server as an object: starts the process, asks it, stops it.

Options are those of its command line by their Python names: `StubServer(latency=0.05, fault={"429": 0.1}, rpm=600)`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

SERVER = Path(__file__).with_name("server.py")


class StubServer:
    """A running stub; a context manager, or to be closed by `close`. url: with "/v1"."""

    def __init__(self, **options: Any) -> None:
        command = [sys.executable, str(SERVER), "--tied", *arguments(options)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line.strip().isdigit():
            self.close()
            raise RuntimeError(f"the stub server did not start: {' '.join(command)}")
        self.port = int(line)
        self.root = f"http://127.0.0.1:{self.port}"
        self.url = f"{self.root}/v1"

    def stats(self) -> dict[str, Any]:
        """What it counted; see `Tally`."""
        stats: dict[str, Any] = self._asked("GET", "/stats", None)
        return stats

    def reset(self, **options: Any) -> None:
        """Forget what was counted, and behave by these options from now on (no faults, no latency where none given)."""
        self._asked("POST", "/reset", list(arguments(options)))

    def close(self) -> None:
        """Stop the process."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()
        self._process.terminate()
        self._process.wait(timeout=10)

    def __enter__(self) -> StubServer:
        """Itself."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Stop the process."""
        self.close()

    def _asked(self, method: str, path: str, body: object) -> Any:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None)
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        if response.status != 200:
            raise RuntimeError(f"{method} {path}: {response.status} {text.decode()}")
        return json.loads(text)


def arguments(options: Mapping[str, Any]) -> Iterator[str]:
    """Options as arguments of the command line: mappings become NAME=VALUE, lists are given one by one."""
    for name, value in options.items():
        values = value if isinstance(value, list | tuple) else [value]
        if isinstance(value, Mapping):
            values = [f"{key}={part}" for key, part in value.items()]
        for one in values:
            yield f"--{name.replace('_', '-')}={one}"
