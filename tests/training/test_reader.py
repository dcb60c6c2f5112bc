"""The reader as it is trained and as it is packaged: one model, written as ONNX and read back without loss."""

from __future__ import annotations

from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragauge.judges.embedded.trained.reader import MODEL, reader
from ragauge.judges.embedded.trained.wordpiece import WordPiece, vocabulary

torch: Any = pytest.importorskip("torch", reason="torch is not installed: pip install -e '.[dev-models]'")
onnx: Any = pytest.importorskip("onnx", reason="onnx is not installed: pip install -e '.[dev-models]'")
export_reader: Any = import_module("export_reader")
unpack_reader: Any = import_module("unpack_reader")
train_reader: Any = import_module("train_reader")

pytestmark = pytest.mark.slow

TEXT = (
    "Marie Curie, a Polish physicist, won the Nobel Prize in 1903 with her husband Pierre. She was born in Warsaw and "
    "moved to Paris, where she taught at the Sorbonne."
)
CLAIMS = (
    "Marie Curie won the Nobel Prize in 1903.",
    "Marie Curie won the Nobel Prize in 1911.",
    "She never left Warsaw.",
    "Pierre was her brother, and a chemist of some renown.",
    "The Sorbonne is in Paris.",
    "Parking is free on Sundays.",
)


@pytest.fixture(scope="module")
def packaged() -> Path:
    """The reader in the package."""
    return Path(str(files("ragauge.judges.embedded") / MODEL))


@pytest.fixture(scope="module")
def weights(packaged: Path) -> dict[str, Any]:
    """Its weights."""
    found: dict[str, Any] = unpack_reader.unpacked(onnx.load(packaged))
    return found


def test_the_packaged_reader_is_what_its_weights_are_written_as(packaged: Path, weights: dict[str, Any]) -> None:
    """The weights read back from the package, written as ONNX again, give the same bytes."""
    model = export_reader.model_of(export_reader.graph_of(weights))
    assert model.SerializeToString() == packaged.read_bytes()


def test_the_packaged_reader_says_what_torch_says(weights: dict[str, Any]) -> None:
    """What claims are given one by one, in eight bits, is what the model in training gives them packed together."""
    model = train_reader.Reader(len(weights["word.weight"])).eval()
    model.load_state_dict({name: torch.tensor(values) for name, values in weights.items()})
    pieces = WordPiece(vocabulary())
    premise, *claims = ([pieces.cls, *pieces.encode(text).ids, pieces.sep] for text in (TEXT, *CLAIMS))
    group = train_reader.Tokens(premise, [(ids, [-1] * len(ids), 0, "") for ids in claims])
    with torch.no_grad():
        reading, _ = train_reader.read(model, train_reader.packed([group], "cpu"))
    said = np.array(reader().read(TEXT, CLAIMS))
    assert _chances(said) == pytest.approx(_chances(reading.labels.numpy()), abs=0.05)


def _chances(logits: Any) -> Any:
    grown = np.exp(logits - logits.max(1, keepdims=True))
    return grown / grown.sum(1, keepdims=True)
