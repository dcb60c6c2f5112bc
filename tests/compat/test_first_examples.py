"""Each documented first example of other systems runs with one import changed."""

from __future__ import annotations

import ast
import asyncio
import gc
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.compat.first_examples import EXAMPLES, PAGE, Example, table
from tests.llm.stub.fixture import StubFactory

LIBRARIES = ("bm25s", "datasets", "instructor", "openai", "pandas", "punkt", "rapidfuzz", "sacrebleu", "yaml")


@pytest.fixture
def model(stub_server: StubFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A model that all clients of OpenAI find, and an empty folder to work in."""
    monkeypatch.setenv("OPENAI_BASE_URL", stub_server().url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_MODEL_NAME", "gpt-4.1")
    monkeypatch.chdir(tmp_path)
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # clients that an example does not close
        gc.collect()


RUNNING = [pytest.param(one, id=f"{one.system}: {one.page}") for one in EXAMPLES if one.program]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("example", RUNNING)
def test_first_examples_run(example: Example, model: None, tmp_path: Path) -> None:
    """The example runs to its end and has a value; await stands outside functions, as in a notebook."""
    for library in LIBRARIES:
        pytest.importorskip(library)
    for name, text in example.files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    code = compile(example.program, example.page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    names: dict[str, Any] = {"__name__": "example"}

    async def run() -> None:
        if (running := eval(code, names)) is not None:
            await running

    asyncio.run(run())

    assert names["value"] is not None
    assert names["value"] == names["value"], "NaN"


def test_the_page_is_their_table() -> None:
    """The page of first examples is what the examples give, and those that do not run say why."""
    assert PAGE.read_text(encoding="utf-8") == table()
    assert all(bool(one.program) != bool(one.reason) for one in EXAMPLES)
