"""The encoder as it is trained and as it is packaged: one model, written as ONNX and read back without loss."""

from __future__ import annotations

from importlib import import_module
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

from ragauge.judges.embedded.encoder import MODEL, WordPiece, encoder, vocabulary

torch: Any = pytest.importorskip("torch", reason="torch is not installed: pip install -e '.[dev-models]'")
onnx: Any = pytest.importorskip("onnx", reason="onnx is not installed: pip install -e '.[dev-models]'")
export_encoder: Any = import_module("export_encoder")
unpack_encoder: Any = import_module("unpack_encoder")
train_encoder: Any = import_module("train_encoder")

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
def packaged() -> Any:
    """The encoder in the package, as a graph."""
    return onnx.load(str(files("ragauge.judges.embedded") / MODEL))


@pytest.fixture(scope="module")
def weights(packaged: Any) -> dict[str, Any]:
    """Its weights."""
    found: dict[str, Any] = unpack_encoder.unpacked(packaged)
    return found


def test_weights_read_back_and_written_again_are_the_same(packaged: Any, weights: dict[str, Any]) -> None:
    """What training/export_encoder.py makes of the weights of the package is the package's graph, and its weights."""
    again = export_encoder.model_of(export_encoder.graph_of(weights, unpack_encoder.spreads(packaged)))
    assert again.graph.node == packaged.graph.node
    found = unpack_encoder.unpacked(again)
    assert found.keys() == weights.keys()
    for name, values in weights.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-5, atol=1e-7)


def test_the_packaged_reader_says_what_torch_says(weights: dict[str, Any]) -> None:
    """What claims are given one by one, in eight bits, is what the model in training gives them packed together."""
    model = train_encoder.Encoder(len(weights["word.weight"])).eval()
    model.load_state_dict({name: torch.tensor(values) for name, values in weights.items()})
    pieces = WordPiece(vocabulary())
    premise, *claims = (pieces.framed(pieces.encode(text).ids) for text in (TEXT, *CLAIMS))
    group = train_encoder.Tokens(premise, [(ids, [-1] * len(ids), 0, "") for ids in claims])
    with torch.no_grad():
        reading, _ = train_encoder.read(model, train_encoder.packed([group], "cpu"))
    reply = np.array(encoder().classify([TEXT], CLAIMS))
    assert _chances(reply) == pytest.approx(_chances(reading.labels.numpy()), abs=0.05)


def _chances(logits: Any) -> Any:
    grown = np.exp(logits - logits.max(1, keepdims=True))
    return grown / grown.sum(1, keepdims=True)
