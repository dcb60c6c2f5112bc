"""Tiny models, each trained once for all tests that ask for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a trained model by its family's name; the test is skipped where torch is not installed."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from tests.nli.tiny import FAMILIES

    home = tmp_path_factory.mktemp("models")

    def made(name: str) -> Path:
        if not (home / name).exists():
            (home / name).mkdir()
            FAMILIES[name](home / name)
        return home / name

    return made
