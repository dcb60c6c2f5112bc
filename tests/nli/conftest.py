"""Tiny models, each trained once for all tests, of all processes, that ask for it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a trained model by its family's name; the test is skipped where torch is not installed."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from filelock import FileLock
    from tests.nli.tiny import FAMILIES

    torch.set_num_threads(1)
    base = tmp_path_factory.getbasetemp()
    home = base.parent / "models" if "PYTEST_XDIST_WORKER" in os.environ else base / "models"
    home.mkdir(exist_ok=True)

    def made(name: str) -> Path:
        with FileLock(home / f"{name}.lock"):  # shared by the processes of xdist
            if not (home / name / "done").exists():
                (home / name).mkdir()
                FAMILIES[name](home / name)
                (home / name / "done").touch()
        return home / name

    return made
