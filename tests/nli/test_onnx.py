from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.nli.weather_questions import (
    DISPUTED,
    check_dispute,
    check_joint_support,
    check_the_end_is_read,
)

import ragauge as rg
from ragauge.errors import BadData, MissingExtra, UnknownName
from ragauge.judges.nli.judge import NliJudge
from ragauge.judges.nli.models import onnx_judge
from ragauge.questions import Decompose, Entail, Relevant
from ragauge.run.specs import load_judge
from ragauge.testing import check_judge
from ragauge.types import Failure, Label, Verdict

for _library in ("onnx", "onnxruntime", "tokenizers"):
    pytest.importorskip(_library)

from tests.nli.graph import write_graph  # noqa: E402

_ROWS = [
    {"response": "It is wet .", "contexts": ["rain here .", "north ."], "query": "How is it ?"},
    {"response": "It is wet .", "contexts": ["rain here .", "dry ."], "query": "How is it ?"},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An exported model, as it were."""
    return write_graph(tmp_path_factory.mktemp("onnx") / "by-hand")


@pytest.fixture
def judge(folder: Path) -> NliJudge:
    """The judge of it."""
    return onnx_judge(f"onnx/{folder}?threads=1")


def test_two_chunks_support_a_claim_together(judge: NliJudge) -> None:
    """Neither chunk alone carries the claim, both together do; also where they are windows apart."""
    check_joint_support(judge)


def test_one_chunk_supports_and_another_contradicts(judge: NliJudge) -> None:
    """Each chunk has its own label, and the contradiction decides."""
    check_dispute(judge)


def test_the_end_of_a_long_premise_counts(judge: NliJudge) -> None:
    """Nothing is cut."""
    check_the_end_is_read(judge)


@pytest.mark.slow
def test_the_contract_is_kept(folder: Path) -> None:
    """The judge passes the contract that anybody's judge can run."""
    check_judge(lambda: onnx_judge(f"onnx/{folder}?threads=1"))
    assert load_judge(f"onnx/{folder}").answers == {"entail"}


def test_a_run_with_it(folder: Path) -> None:
    """Metrics use it together with a judge that decomposes texts."""
    run = rg.evaluate(
        _ROWS, metrics=["faithfulness", "hallucination"], judge={"decompose": "embedded", "entail": f"onnx/{folder}"}
    )

    assert run.estimates["faithfulness"].value == 0.5
    assert run.estimates["hallucination"].value == 0.25


def test_what_it_cannot_answer(judge: NliJudge) -> None:
    """Other kinds of question and an empty hypothesis are Failures; a blank premise supports nothing."""
    other, empty, blank, none = asyncio.run(
        judge.answer([Decompose("a"), Entail(("rain",), " "), Entail((" ", ""), "wet ."), Relevant("a", "b")])
    )

    assert isinstance(other, Failure)
    assert "not decompose; ask another judge" in other.detail
    assert isinstance(empty, Failure)
    assert isinstance(none, Failure)
    assert isinstance(blank, Verdict)
    assert (blank.label, blank.probability, len(blank.chunks)) == (Label.NEUTRAL, 0.0, 2)


def test_the_identity_changes_with_the_files(folder: Path, tmp_path: Path) -> None:
    """Two folders of the same files are one judge, whatever the path; another file makes another."""
    same, other = write_graph(tmp_path / "by-hand"), write_graph(tmp_path / "other" / "by-hand", revision="2")

    first = onnx_judge(f"onnx/{folder}").identity
    assert first == onnx_judge(f"onnx/{same}?threads=2").identity
    assert first.name == onnx_judge(f"onnx/{other}").identity.name == "onnx/by-hand"
    assert first != onnx_judge(f"onnx/{other}").identity
    assert dict(first.settings)["window"] == "64"


def test_it_needs_no_torch(folder: Path) -> None:
    """A verdict is given without torch, transformers or the hub's client being loaded."""
    code = (
        "import asyncio, sys; from ragauge.judges.nli.models import onnx_judge; from ragauge.questions import Entail;"
        f"judge = onnx_judge({f'onnx/{folder}'!r});"
        "print(asyncio.run(judge.answer([Entail(('rain',), 'wet')]))[0].label);"
        "print(sorted({'torch', 'transformers', 'huggingface_hub', 'onnx'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["entailed", "[]"]


def test_a_folder_that_is_none(tmp_path: Path, folder: Path) -> None:
    """A folder that is absent, incomplete or damaged is named, with how to fix it."""
    with pytest.raises(BadData, match="ragauge judges export hf/MODEL"):
        onnx_judge(f"onnx/{tmp_path}/absent")
    (tmp_path / "ragauge.json").write_bytes((folder / "ragauge.json").read_bytes())
    with pytest.raises(BadData, match=r"has no model\.onnx"):
        onnx_judge(f"onnx/{tmp_path}")
    (tmp_path / "model.onnx").write_bytes(b"nothing")
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    (answer,) = asyncio.run(onnx_judge(f"onnx/{tmp_path}").answer([DISPUTED]))
    assert isinstance(answer, Failure)
    assert "tokenizer.json" in answer.detail


def test_the_card_says_what_the_model_is(folder: Path) -> None:
    """The card next to the model is JSON that people can read."""
    card = json.loads((folder / "ragauge.json").read_text(encoding="utf-8"))

    assert card["family"] == "classifier"
    assert card["labels"] == ["neutral", "contradicted", "entailed"]


def test_options_that_there_are_not(folder: Path) -> None:
    """What was settled by the export is no option."""
    with pytest.raises(UnknownName, match="unknown option 'device'"):
        load_judge(f"onnx/{folder}?device=cuda")


def test_without_the_runtime(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without ONNX Runtime the error gives the command that installs it."""
    monkeypatch.setattr("ragauge.judges.nli.models.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'ragauge\[onnx\]'"):
        load_judge(f"onnx/{folder}")
