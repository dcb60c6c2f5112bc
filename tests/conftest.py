"""Fixtures of all tests."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from tests.llm.stub.fixture import stub_pool as stub_pool
from tests.llm.stub.fixture import stub_server as stub_server
from tests.postgres import postgres as postgres

from ragauge.host import disable_telemetry

settings.register_profile("ragauge", derandomize=True, deadline=None, max_examples=25)
settings.register_profile("thorough", derandomize=True, deadline=None)  # for CI: --hypothesis-profile=thorough
settings.load_profile("ragauge")
disable_telemetry()
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="ragauge-settings-")
os.environ.setdefault("HF_HUB_OFFLINE", "1")  # the hub client retries for a minute where there is no network


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


InstallPackage = Callable[[str, str, str], Path]


@pytest.fixture
def install_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InstallPackage:
    """Puts a package of one module where an installer would: its name, its entry points, and its source.

    Returns the folder, which is on `sys.path` for this test alone.
    """

    def install(name: str, entry_points: str, source: str) -> Path:
        site = tmp_path / f"site-{name}"
        metadata = site / f"{name}-1.0.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
        (metadata / "entry_points.txt").write_text(entry_points, encoding="utf-8")
        (site / f"{name}.py").write_text(source, encoding="utf-8")
        monkeypatch.syspath_prepend(str(site))
        monkeypatch.delitem(sys.modules, name, raising=False)
        return site

    return install
