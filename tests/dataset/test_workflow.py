from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ragauge.cli.main import main


def _call(*arguments: object) -> Result:
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return result


def test_from_questions_to_the_trust_score(
    stub_server: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Build the data, generate, evaluate: from the command line, on the packaged corpus.

    The model is a server that is spoken to over HTTP, the judge of entailment is the embedded one.
    """
    monkeypatch.chdir(tmp_path)
    _call("dataset", "mini")
    built = _call("dataset", "build", "mini/questions.jsonl", "--corpus", "mini/corpus", "-o", "samples.jsonl")
    assert "13 passages" in built.output
    model = f"openai/gpt-4o-mini?base_url={stub_server().url}"
    generated = _call("generate", "samples.jsonl", "-j", model, "-o", "answers.jsonl", "--max-cost", 1)
    assert "15 answers to 15 samples" in generated.output
    _call("run", "answers.jsonl", "-m", "trust", "-o", "run.json")

    estimates = json.loads(Path("run.json").read_text(encoding="utf-8"))["estimates"]
    assert 0.6 < estimates["trust_score"]["value"] < 1
    # Twelve of the questions can be answered; the embedded judge may take a refused one for such too.
    assert 12 <= estimates["answerable_recall"]["n"] <= 13
    assert estimates["reject_precision"]["value"] >= 0.5
    assert estimates["citation_recall"]["value"] > 0.8
    assert sum(estimate["failed"] for estimate in estimates.values()) == 0


def test_the_workflow_again_asks_nothing(
    stub_server: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same commands a second time find the index, the labels and the answers in the store, and write the same."""
    monkeypatch.chdir(tmp_path)
    model = f"openai/gpt-4o-mini?base_url={stub_server().url}"
    _call("dataset", "mini")
    written = []
    for _ in range(2):
        built = _call("dataset", "build", "mini/questions.jsonl", "--corpus", "mini/corpus", "-o", "samples.jsonl")
        generated = _call("generate", "samples.jsonl", "-j", model, "-o", "answers.jsonl", "--cite", "embedded")
        written.append([Path(name).read_bytes() for name in ("samples.jsonl", "answers.jsonl")])
    assert "0 judgments asked, 15 known" in built.output
    assert "0 asked for, 15 known" in generated.output
    assert written[0] == written[1]
