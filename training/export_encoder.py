"""Write a trained encoder as ONNX with weights of eight bits.

    python training/export_encoder.py ENCODER.pt OUT.onnx PAIRS

The graph is written node by node. Every product with a weight rounds the weight to int8 by column and each row of the
other side to uint8 by itself. A few channels are far larger than all others, and the scale of a row would be theirs:
what goes into a layer is divided, channel by channel, by a power of the most that premises of PAIRS, the training
pairs, bring about, and the weights are multiplied by it (SmoothQuant, Xiao et al., 2023, arXiv:2211.10438). What comes
out of GELU is hardly below 0, and has all 255 steps above its least. Both together halve the error of rounding.

The graph reads one text, or one claim about a text, at a time: alone in its batch, the answer is the same to the
last bit whatever else is asked, no token needs a mask, and the runtime's quickest attention serves.

Inputs: ids, positions, sorts (1, tokens), sorts 0 for a text and 1 for a claim; past_0 to past_11 (1, past, width),
keys and values, in turn, of each layer of the text that a claim is about; of no tokens for a text.
Outputs: now_0 to now_11 (1, tokens, width), the keys and values of what is read; states (1, tokens, width); labels
(1, 3), logits.
"""

from __future__ import annotations

import argparse
import hashlib
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from encoder import HEADS, LAYERS, WIDTH, Encoder
from onnx import TensorProto, helper, numpy_helper
from rows import read

from ragauge.judges.embedded.encoder import TEXT_TOKENS, WordPiece, vocabulary

Array = Any
MICROSOFT = "com.microsoft"
EPSILON = 1e-12
MIDDLE = 128  # the byte that stands for 0
LEAST = -0.17  # that GELU gives
OWN = ("query", "key", "value")
POWER, PREMISES, SEED = 0.6, 400, 3  # with the power of 0.6 rounding costs least, on training premises


class Graph:
    """Nodes, and constants under the names of the weights that they hold, as they are written down.

    weights: the encoder's, by name, as arrays of float32. spreads: by the name of a weight what its input is divided
    by. A constant is named NAME where it is the weight as it is, NAME:rows or NAME:columns where it is in eight bits,
    with a scale (NAME:scales) for each row or, transposed, each column; the latter multiplied by NAME:spread where
    there is one. NAME may be several with "+" between them, side by side.
    """

    def __init__(self, weights: Mapping[str, Array], spreads: Mapping[str, Array]) -> None:
        self.weights, self.spreads = weights, spreads
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def add(self, kind: str, *inputs: str, out: str = "", **settings: Any) -> str:
        """A node with one output; its name."""
        name = out or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **settings))
        return name

    def split(self, name: str, outs: list[str]) -> None:
        """The last axis in equal parts, of the names given."""
        self.nodes.append(helper.make_node("Split", [name], outs, axis=-1, num_outputs=len(outs)))

    def constant(self, values: Any, kind: Any = np.float32, name: str = "") -> str:
        """A constant; its name."""
        name = name or f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(values, dtype=kind, order="C"), name))
        return name

    def weight(self, name: str) -> str:
        """A weight as it is; its name."""
        return self.constant(self.weights[name], name=name)

    def bias(self, *layers: str) -> str:
        """The biases of linear layers, one behind the other; their name."""
        names = [f"{layer}.bias" for layer in layers]
        return self.constant(np.concatenate([self.weights[name] for name in names]), name="+".join(names))

    def product(self, left: str, middles: str, *layers: str) -> str:
        """`left` times the weights of linear layers, in eight bits, their columns side by side. Rows of `left` and
        columns of the weights have scales of their own.

        middles: for each row of `left` the byte that stands for 0.
        """
        name = "+".join(f"{layer}.weight" for layer in layers)
        weight = np.concatenate([self.weights[f"{layer}.weight"] for layer in layers])
        if (spread := self.spreads.get(name)) is not None:
            left = self.add("Div", left, self.constant(spread, name=f"{name}:spread"))
            weight = weight * spread
        scales = self._scales(self.add("Abs", left), 127)
        eight = self.add("QuantizeLinear", left, self._by_row(scales), middles, axis=-2)
        return self.add("Mul", self._whole(eight, MIDDLE, name, *_rounded(weight)), scales)

    def product_above(self, least: float, left: str, layer: str) -> tuple[str, str]:
        """The same for what is never below `least`, as two terms of a sum."""
        name = f"{layer}.weight"
        rounded, columns = _rounded(self.weights[name])
        raised = self.add("Sub", left, self.constant(least))
        scales = self._scales(raised, 255)
        eight = self.add("QuantizeLinear", raised, self._by_row(scales), axis=-2)
        lost = least * (rounded * columns[:, None]).sum(1)
        return self.add("Mul", self._whole(eight, 0, name, rounded, columns), scales), self.constant(lost)

    def _scales(self, sizes: str, steps: int) -> str:
        """The step of each row, of which `steps` make up its largest value."""
        most = self.add("ReduceMax", sizes, self.constant([-1], np.int64), keepdims=1)
        return self.add("Mul", self.add("Max", most, self.constant(1e-9)), self.constant(1 / steps))

    def _by_row(self, scales: str) -> str:
        return self.add("Reshape", scales, self.constant([-1], np.int64))

    def _whole(self, eight: str, middle: int, name: str, rounded: Array, columns: Array) -> str:
        """The product of `eight`, in which `middle` stands for 0, with a weight, but for the scales of `eight`."""
        by_column = (
            self.constant(rounded.T, np.int8, f"{name}:columns"),
            self.constant(1.0),
            self.constant(columns, name=f"{name}:scales"),
        )
        zero = self.constant(middle, np.uint8)
        return self.add("MatMulIntegerToFloat", eight, *by_column, zero, domain=MICROSOFT)

    def middles(self, rows: str) -> str:
        """The byte that stands for 0, for each row of the axis that `rows` (a shape of one number) measures."""
        value = numpy_helper.from_array(np.array([MIDDLE], np.uint8))
        return self.add("ConstantOfShape", rows, value=value)

    def looked_up(self, name: str, ids: str) -> str:
        """Rows of a table that is kept in eight bits, each row with a scale of its own."""
        table = self.weights[name]
        scales = np.maximum(np.abs(table).max(1, keepdims=True), 1e-9) / 127
        rows = self.add("Gather", self.constant(np.round(table / scales), np.int8, f"{name}:rows"), ids, axis=0)
        by_row = self.add("Gather", self.constant(scales, name=f"{name}:scales"), ids, axis=0)
        return self.add("Mul", self.add("Cast", rows, to=TensorProto.FLOAT), by_row)

    def normed(self, name: str, *terms: str) -> str:
        """The layer normalisation named, of a sum.

        By one Sum and not by two Adds, which the runtime would make a SkipLayerNormalization, four times as slow.
        """
        scale, shift = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.add("LayerNormalization", self.add("Sum", *terms), scale, shift, axis=-1, epsilon=EPSILON)

    def curved(self, name: str, bias: str) -> str:
        """GELU of what is named with a bias added."""
        return self.add("BiasGelu", name, bias, domain=MICROSOFT)


def _rounded(weight: Array) -> tuple[Array, Array]:
    """A weight (out, in) in steps of eight bits, and what a step is in each column of what it gives."""
    columns = np.maximum(np.abs(weight).max(1), 1e-9) / 127
    return np.round(weight / columns[:, None]), columns


def graph_of(weights: Mapping[str, Array], spreads: Mapping[str, Array]) -> Graph:
    """The whole encoder."""
    graph = Graph(weights, spreads)
    places, sorts = (
        graph.add("Gather", graph.weight(f"{name}.weight"), f"{name}s", axis=0) for name in ("position", "sort")
    )
    states = graph.normed("normed", graph.looked_up("word.weight", "ids"), places, sorts)
    middles = graph.middles(graph.add("Shape", "ids", start=1))
    for layer in range(LAYERS):
        states = _layer(graph, layer, states, middles)
    graph.add("Identity", states, out="states")
    _heads(graph, states)
    return graph


def _layer(graph: Graph, layer: int, states: str, middles: str) -> str:
    name, query, kept = f"layers.{layer}", f"query_{layer}", (2 * layer, 2 * layer + 1)
    own = [f"{name}.{part}" for part in OWN]
    biased = graph.add("Add", graph.product(states, middles, *own), graph.bias(*own))
    graph.split(biased, [query, *(f"now_{number}" for number in kept)])
    keys, values = (graph.add("Concat", f"past_{number}", f"now_{number}", axis=1) for number in kept)
    mixed = graph.add("MultiHeadAttention", query, keys, values, domain=MICROSOFT, num_heads=HEADS)
    output, inner, outer = (f"{name}.{part}" for part in ("output", "inner", "outer"))
    states = graph.normed(f"{name}.attended", graph.product(mixed, middles, output), states, graph.bias(output))
    curved = graph.curved(graph.product(states, middles, inner), graph.bias(inner))
    terms = graph.product_above(LEAST, curved, outer)
    return graph.normed(f"{name}.normed", *terms, states, graph.bias(outer))


def _heads(graph: Graph, states: str) -> None:
    tokens = graph.constant([1], np.int64)
    flat = graph.add("Squeeze", states, graph.constant([0], np.int64))
    support = graph.add("Gemm", flat, graph.weight("support.weight"), graph.weight("support.bias"), transB=1)
    doubt = graph.add("Softmax", graph.add("Neg", support), axis=0)
    first = graph.add("Gather", states, graph.constant(0, np.int64), axis=1)
    mean = graph.add("ReduceMean", states, tokens, keepdims=0)
    weakest = graph.add("ReduceSum", graph.add("Mul", states, doubt), tokens, keepdims=0)
    joined, middles = graph.add("Concat", first, mean, weakest, axis=1), graph.middles(graph.add("Shape", "ids", end=1))
    curved = graph.curved(graph.product(joined, middles, "label.0"), graph.bias("label.0"))
    graph.add("Gemm", curved, graph.weight("label.3.weight"), graph.weight("label.3.bias"), out="labels", transB=1)


def spreads_of(encoder: Encoder, premises: Sequence[str]) -> dict[str, Array]:
    """What the inputs of layers are divided by: a power of the most that each channel has over premises."""
    pieces, most = WordPiece(vocabulary()), dict[str, torch.Tensor]()

    def seen(name: str, states: torch.Tensor) -> None:
        here = states.abs().flatten(0, 1).amax(0)
        most[name] = torch.maximum(most.get(name, here), here)

    for number, layer in enumerate(encoder.layers):
        names = "+".join(f"layers.{number}.{part}.weight" for part in OWN), f"layers.{number}.inner.weight"
        for name, part in zip(names, (layer.query, layer.inner), strict=True):
            part.register_forward_pre_hook(lambda _, given, name=name: seen(name, given[0]))
    with torch.no_grad():
        for premise in premises:
            ids = torch.tensor([pieces.framed(pieces.encode(premise).ids[:TEXT_TOKENS])])
            states = encoder.embedded(ids, torch.arange(ids.shape[1])[None], torch.zeros_like(ids))
            encoder.encode(states, torch.zeros(1, 1, ids.shape[1], ids.shape[1]))
    return {name: found.clamp(min=1e-3).pow(POWER).numpy() for name, found in most.items()}


def model_of(graph: Graph) -> onnx.ModelProto:
    """The graph with its inputs and outputs."""
    whole, real, described = TensorProto.INT64, TensorProto.FLOAT, helper.make_tensor_value_info
    kept = range(2 * LAYERS)
    inputs = [described(name, whole, [1, "tokens"]) for name in ("ids", "positions", "sorts")]
    inputs += [described(f"past_{number}", real, [1, "past", WIDTH]) for number in kept]
    names = ("states", "labels", *(f"now_{number}" for number in kept))
    outputs = [described(name, real, None) for name in names]
    made = helper.make_graph(graph.nodes, "encoder", inputs, outputs, graph.constants)
    versions = [helper.make_opsetid("", 18), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(made, opset_imports=versions, ir_version=9, producer_name="ragauge")


def main() -> None:
    """Read the encoder, write the graph, print its size and hash."""
    options = argparse.ArgumentParser()
    options.add_argument("encoder", type=Path)
    options.add_argument("out", type=Path)
    options.add_argument("pairs", type=Path)
    given = options.parse_args()
    state = torch.load(given.encoder, weights_only=True, map_location="cpu")["encoder"]
    weights = {name: value.float() for name, value in state.items()}
    encoder = Encoder(len(weights["word.weight"])).eval()
    encoder.load_state_dict(weights)
    premises = sorted({row["premise"] for row in read(given.pairs)})
    spreads = spreads_of(encoder, random.Random(SEED).sample(premises, PREMISES))
    onnx.save(model_of(graph_of({name: value.numpy() for name, value in weights.items()}, spreads)), given.out)
    content = given.out.read_bytes()
    print(f"{given.out}: {len(content) / 1e6:.1f} MB, sha256 {hashlib.sha256(content).hexdigest()}")


if __name__ == "__main__":
    main()
