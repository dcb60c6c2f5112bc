"""Fixtures of all tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings
from tests.llm.stub.fixture import stub_pool as stub_pool
from tests.llm.stub.fixture import stub_server as stub_server

from ragauge.host import disable_telemetry

settings.register_profile("ragauge", derandomize=True, deadline=None)
settings.load_profile("ragauge")
disable_telemetry()


@pytest.fixture
def golden() -> Path:
    """The folder of golden vectors, which are part of the repository."""
    return Path(__file__).resolve().parent / "golden"


@pytest.fixture
def shared() -> Path:
    """The folder of published data sets next to the repository; a test that needs it is skipped without it."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("the folder of shared material is not next to the repository")
    return folder
