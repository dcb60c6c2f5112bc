"""Export of a PyTorch model to a folder for ONNX Runtime, optionally with 8-bit weights."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ragauge.errors import BadParameter, MissingExtra
from ragauge.judges.nli.judge import PairScorer, verdict_of_windows
from ragauge.judges.nli.models import (
    HF,
    MODEL,
    TOKENIZER,
    ModelSource,
    NliOptions,
    OnnxModel,
    parse_nli_spec,
    write_card,
)
from ragauge.judges.onnx import onnx_runtime

if TYPE_CHECKING:
    from ragauge.judges.nli.models import TorchModel

_OPSET = 17
_LARGEST = 2_000_000_000  # bytes in one protobuf file

#: Pairs of several lengths on which an exported model is checked.
_PAIRS = (
    ("The lighthouse was built in 1901.", "The lighthouse was built in 1901."),
    ("The lighthouse was built in 1901.", "The lighthouse was built in 1911."),
    ("Bees make honey. The harbour froze in the winter of 1904, and the ferry did not run.", "The ferry ran in 1904."),
    ("The ferry runs daily. " * 20, "There is no ferry."),
)


class ExportedModel(NamedTuple):
    """What was written. megabytes: of the model. difference: the largest to a probability of PyTorch."""

    folder: Path
    megabytes: float
    difference: float


def export(spec: str, folder: Path, *, int8: bool = False) -> ExportedModel:
    """Write the model of `spec`, such as "hf/cross-encoder/nli-deberta-v3-base", into `folder`, for `onnx/FOLDER`.

    int8: with 8-bit weights, a quarter of the size, which changes its answers slightly.

    Raises MissingExtra without what it takes, BadParameter for a model of more than two gigabytes or a folder that is
    not empty, and what `ragauge.judges.nli.models.hf_judge` raises.
    """
    parsed = parse_nli_spec(spec, HF)
    if not all(map(find_spec, ("torch", "transformers", "onnx", "onnxruntime"))):
        raise MissingExtra(f"exporting {parsed.spec}", "export")
    if not parsed.spec.startswith("hf/"):
        raise BadParameter(f"export {spec!r}: name a PyTorch model, such as hf/cross-encoder/nli-deberta-v3-base")
    if folder.exists() and any(folder.iterdir()):
        raise BadParameter(f"{folder} is not empty; name a new folder")
    source = ModelSource(parsed.model, msgspec.structs.replace(parsed.options, device="cpu"), parsed.spec)
    model = source.load("float32", attention="eager")
    size = sum(weight.numel() * weight.element_size() for weight in model.network.parameters())
    if size > _LARGEST:
        raise BadParameter(
            f"{parsed.spec} has {size / 1e9:.1f} GB of weights, more than one ONNX file holds (2 GB); run it by torch: "
            f"{parsed.spec}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    _trace(model, folder / MODEL)
    if int8:
        _quantise(folder / MODEL)
    source.tokenizer.save(str(folder / TOKENIZER))
    write_card(msgspec.structs.replace(model.card, quantised=int8), folder)
    return _check_export(model, folder)


def _trace(model: TorchModel, path: Path) -> None:
    """Write the graph of the model for any number of pairs of any length.

    By TorchScript's exporter: that of torch.export took five times as long, and its graph is not fused by default.
    """
    import torch

    class Module(torch.nn.Module):  # type: ignore[misc]
        """The network and its `class_logits` as one module."""

        def __init__(self) -> None:
            super().__init__()
            self.network = model.network

        def forward(self, *inputs: Any) -> Any:
            return model.class_logits(self.network, *inputs)

    names = ["input_ids", "attention_mask", *(["token_type_ids"] if model.card.type_ids else [])]
    [tokens] = model.tokenizer.encode(_PAIRS[:1])
    inputs = tuple(torch.tensor([row]) for row in (tokens.ids, [1] * len(tokens.ids), tokens.type_ids))[: len(names)]
    axes = {name: {0: "pairs", 1: "tokens"} for name in names}
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")  # of tracing, whose result is checked below
        torch.onnx.export(
            Module().eval(),
            inputs,
            str(path),
            dynamo=False,
            opset_version=_OPSET,
            input_names=names,
            output_names=["logits"],
            dynamic_axes={**axes, "logits": {0: "pairs"}},
        )


def _quantise(path: Path) -> None:
    """Quantise the weights of matrices, with a scale for each column; activations are quantised dynamically."""
    onnx_runtime()
    from onnxruntime.quantization import QuantType, quantize_dynamic

    whole = path.with_name("float32.onnx")
    path.rename(whole)
    quantize_dynamic(str(whole), str(path), weight_type=QuantType.QInt8, per_channel=True)
    whole.unlink()


def _check_export(model: TorchModel, folder: Path) -> ExportedModel:
    exported = OnnxModel(folder, msgspec.structs.replace(model.card, quantised=True), NliOptions(threads=1))
    found = (PairScorer(one).scores(_PAIRS, lambda: False).values() for one in (model, exported))
    supports = [
        [verdict_of_windows(model.card, one).probability or 0.0 for one in scores if not isinstance(one, str)]
        for scores in found
    ]
    if not supports[0]:
        raise BadParameter(f"window={model.card.window} leaves no room for a premise; give a larger one")
    difference = max(abs(one - other) for one, other in zip(*supports, strict=True))
    return ExportedModel(folder, (folder / MODEL).stat().st_size / 1e6, difference)
