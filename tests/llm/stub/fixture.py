"""Fixtures that hand out stub servers; processes are used again by later tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from tests.llm.stub.process import StubServer

StubFactory = Callable[..., StubServer]


@pytest.fixture(scope="session")
def stub_pool() -> Iterator[list[StubServer]]:
    """Stub servers that no test uses at the moment."""
    idle: list[StubServer] = []
    yield idle
    with ExitStack() as stack:
        for server in idle:
            stack.push(server)


@pytest.fixture
def stub_server(stub_pool: list[StubServer]) -> Iterator[StubFactory]:
    """Makes stub servers: `stub_server(latency=0.01, fault={"429": 0.1})`; each call gives another one, reset."""
    used: list[StubServer] = []

    def make(**options: Any) -> StubServer:
        server = stub_pool.pop() if stub_pool else StubServer()
        used.append(server)
        server.reset(**options)
        return server

    yield make
    stub_pool.extend(used)
