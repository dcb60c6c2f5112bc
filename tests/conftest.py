"""Fixtures of all tests."""

from __future__ import annotations

import sys
from collections.abc import Callable
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


#: Installs a distribution for one test: its name, group and entries, and the source of its modules by name.
InstallDistribution = Callable[..., Path]


@pytest.fixture
def install_distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InstallDistribution:
    """Puts a distribution with entry points on sys.path, for this test alone; gives its folder."""

    def install(name: str, group: str, entries: str, **modules: str) -> Path:
        folder = tmp_path / "installed" / name
        metadata = folder / f"{name.replace('-', '_')}-1.0.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
        (metadata / "entry_points.txt").write_text(f"[{group}]\n{entries}\n", encoding="utf-8")
        for module, source in modules.items():
            (folder / f"{module}.py").write_text(source, encoding="utf-8")
            monkeypatch.delitem(sys.modules, module, raising=False)
        monkeypatch.syspath_prepend(str(folder))
        return folder

    return install
