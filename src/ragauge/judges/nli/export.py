"""Exporting: a model of torch as a folder for ONNX Runtime, in whole numbers of eight bits if wanted."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ragauge.errors import BadParameter, MissingExtra
from ragauge.judges.nli.formats import HF, NliOptions, parse_nli_spec, write_card
from ragauge.judges.nli.judge import verdict_of_windows
from ragauge.judges.nli.models import MODEL, TOKENIZER, ModelSource, OnnxModel
from ragauge.judges.nli.scoring import PairModel, PairScorer
from ragauge.judges.onnx import onnx_runtime

if TYPE_CHECKING:
    from ragauge.judges.nli.models import TorchModel

_OPSET = 17
_LARGEST = 2_000_000_000  # bytes in one protobuf file
_LIBRARIES = ("torch", "transformers", "onnx", "onnxruntime")

#: What an exported model is tried on, of several lengths.
_TRIALS = (
    ("The lighthouse was built in 1901.", "The lighthouse was built in 1901."),
    ("The lighthouse was built in 1901.", "The lighthouse was built in 1911."),
    ("Bees make honey. The harbour froze in the winter of 1904, and the ferry did not run.", "The ferry ran in 1904."),
    ("The ferry runs daily. " * 20, "There is no ferry."),
)


class ExportedModel(NamedTuple):
    """What was written. megabytes: of the model. difference: the largest between a probability of it and of torch."""

    folder: Path
    megabytes: float
    difference: float


def export(spec: str, folder: Path, *, int8: bool = False) -> ExportedModel:
    """Write the model of `spec`, such as "hf/cross-encoder/nli-deberta-v3-base", into `folder`, for `onnx/FOLDER`.

    int8: its weights as whole numbers of eight bits, a quarter of the size, which changes its answers a little.

    The folder gets model.onnx, tokenizer.json and ragauge.json. Of the families all can be exported; no model whose
    weights take more than two gigabytes, such as TRUE with its 11 billion, fits into one file.

    Raises MissingExtra without what it takes, BadParameter for a model that is too large or a folder that is not empty,
    and what `ragauge.judges.nli.models.hf_judge` raises.
    """
    asked = parse_nli_spec(spec, HF)
    for library in _LIBRARIES:
        if find_spec(library) is None:
            raise MissingExtra(f"exporting {asked.spec}", "export")
    if not asked.spec.startswith("hf/"):
        raise BadParameter(
            f"export {spec!r}: name a model that torch runs, such as hf/cross-encoder/nli-deberta-v3-base"
        )
    if folder.exists() and any(folder.iterdir()):
        raise BadParameter(f"{folder} is not empty; name a folder that is new")
    source = ModelSource(asked.model, msgspec.structs.replace(asked.options, device="cpu"), asked.spec)
    model = source.load("float32", attention="eager")
    _fits(model, asked.spec)
    folder.mkdir(parents=True, exist_ok=True)
    _write(model, source.tokenizer, folder, int8)
    return _tried(model, folder)


def _fits(model: TorchModel, spec: str) -> None:
    size = sum(weight.numel() * weight.element_size() for weight in model.network.parameters())
    if size > _LARGEST:
        raise BadParameter(
            f"{spec} has {size / 1e9:.1f} GB of weights, more than one ONNX file holds (2 GB); run it by torch: {spec}"
        )


def _write(model: TorchModel, tokenizer: Any, folder: Path, int8: bool) -> None:
    path = folder / MODEL
    _traced(model, path)
    if int8:
        _quantise(path)
    tokenizer.save(str(folder / TOKENIZER))
    write_card(msgspec.structs.replace(model.card, quantised=int8), folder)


def _traced(model: TorchModel, path: Path) -> None:
    """The graph of the model, as it is run on one pair, for any number of pairs of any length.

    By the exporter of TorchScript: that of torch.export took five times as long on MiniLM, and its graph is neither
    fused nor quantised as it comes.
    """
    import torch

    names = ["input_ids", "attention_mask", *(["token_type_ids"] if model.card.type_ids else [])]
    (read,) = model.reader.read(_TRIALS[:1])
    given = tuple(torch.tensor([row]) for row in (read.ids, [1] * len(read.ids), read.type_ids))[: len(names)]
    axes = {name: {0: "pairs", 1: "tokens"} for name in names}
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")  # of tracing, whose outcome is tried below
        torch.onnx.export(
            _module(model),
            given,
            str(path),
            dynamo=False,
            opset_version=_OPSET,
            input_names=names,
            output_names=["logits"],
            dynamic_axes={**axes, "logits": {0: "pairs"}},
        )


def _module(model: TorchModel) -> Any:
    """The network and how it is asked as one, such as the exporter takes."""
    import torch

    class Module(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.network = model.network

        def forward(self, *given: Any) -> Any:
            return model.say(self.network, *given)

    return Module().eval()


def _quantise(path: Path) -> None:
    """Weights of matrices as whole numbers, with a scale for each column; what passes between them as it comes."""
    onnx_runtime()
    from onnxruntime.quantization import QuantType, quantize_dynamic

    whole = path.with_name("float32.onnx")
    path.rename(whole)
    quantize_dynamic(str(whole), str(path), weight_type=QuantType.QInt8, per_channel=True)
    whole.unlink()


def _tried(model: TorchModel, folder: Path) -> ExportedModel:
    exported = OnnxModel(folder, msgspec.structs.replace(model.card, quantised=True), NliOptions(threads=1))
    pairs = zip(_supports(model), _supports(exported), strict=True)
    differences = [abs(one - other) for one, other in pairs]
    if not differences:
        raise BadParameter(f"window={model.card.window} leaves no room for a premise; give a larger one")
    return ExportedModel(folder, (folder / MODEL).stat().st_size / 1e6, max(differences))


def _supports(model: PairModel) -> list[float]:
    """The probabilities of support for the trials."""
    scores = PairScorer(model).scores(_TRIALS, lambda: False)
    return [
        verdict_of_windows(model.card, found).probability or 0.0
        for found in scores.values()
        if not isinstance(found, str)
    ]
