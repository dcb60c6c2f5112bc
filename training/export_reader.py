"""Write a trained reader as ONNX with weights of eight bits.

    python training/export_reader.py READER.pt OUT.onnx

The graph is written node by node. Every product with a weight rounds the weight to int8 by column and each row of the
other side to uint8 by itself. It reads one text, or one claim about a text, at a time: with nothing beside it the
answer is the same to the last bit whatever else is asked, no token needs a mask, and the runtime's quickest attention
serves.

Inputs: ids, positions, sorts (1, tokens), sorts 0 for a text and 1 for a claim; past_0 to past_11 (1, past, width),
keys and values, in turn, of each layer of the text that a claim is about; of no tokens for a text.
Outputs: now_0 to now_11 (1, tokens, width), the keys and values of what is read; states (1, tokens, width); labels
(1, 3), logits.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from reader import HEADS, LAYERS, WIDTH

Array = Any
MICROSOFT = "com.microsoft"
EPSILON = 1e-12
MIDDLE = 128  # the byte that stands for 0


class Graph:
    """Nodes, and constants under the names of the weights that they hold, as they are written down.

    weights: the reader's, by name, as arrays of float32. A constant is named NAME where it is the weight as it is,
    NAME:rows or NAME:columns where it is in eight bits, with a scale (NAME:scales) for each row or, transposed, each
    column. NAME may be several with "+" between them, side by side.
    """

    def __init__(self, weights: Mapping[str, Array]) -> None:
        self.weights = weights
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
        names = [f"{layer}.weight" for layer in layers]
        weight = np.concatenate([self.weights[name].T for name in names], 1)
        columns = np.maximum(np.abs(weight).max(0), 1e-9) / 127
        rounded = self.constant(np.round(weight / columns), np.int8, "+".join(names) + ":columns")
        by_column = self.constant(columns, name="+".join(names) + ":scales")
        most = self.add("ReduceMax", self.add("Abs", left), self.constant([-1], np.int64), keepdims=1)
        scales = self.add("Mul", self.add("Max", most, self.constant(1e-9)), self.constant(1 / 127))
        by_row = self.add("Reshape", scales, self.constant([-1], np.int64))
        eight = self.add("QuantizeLinear", left, by_row, middles, axis=-2)
        whole = self.add(
            "MatMulIntegerToFloat",
            *(eight, rounded, self.constant(1.0), by_column, self.constant(MIDDLE, np.uint8)),
            domain=MICROSOFT,
        )
        return self.add("Mul", whole, scales)

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


def graph_of(weights: Mapping[str, Array]) -> Graph:
    """The whole reader."""
    graph = Graph(weights)
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
    own = [f"{name}.{part}" for part in ("query", "key", "value")]
    biased = graph.add("Add", graph.product(states, middles, *own), graph.bias(*own))
    graph.split(biased, [query, *(f"now_{number}" for number in kept)])
    keys, values = (graph.add("Concat", f"past_{number}", f"now_{number}", axis=1) for number in kept)
    mixed = graph.add("MultiHeadAttention", query, keys, values, domain=MICROSOFT, num_heads=HEADS)
    output, inner, outer = (f"{name}.{part}" for part in ("output", "inner", "outer"))
    states = graph.normed(f"{name}.attended", graph.product(mixed, middles, output), states, graph.bias(output))
    curved = graph.curved(graph.product(states, middles, inner), graph.bias(inner))
    return graph.normed(f"{name}.normed", graph.product(curved, middles, outer), states, graph.bias(outer))


def _heads(graph: Graph, states: str) -> None:
    tokens = graph.constant([1], np.int64)
    flat = graph.add("Squeeze", states, graph.constant([0], np.int64))
    support = graph.add("Gemm", flat, graph.weight("support.weight"), graph.weight("support.bias"), transB=1)
    doubt = graph.add("Softmax", graph.add("Neg", support), axis=0)
    first = graph.add("Gather", states, graph.constant(0, np.int64), axis=1)
    mean = graph.add("ReduceMean", states, tokens, keepdims=0)
    weakest = graph.add("ReduceSum", graph.add("Mul", states, doubt), tokens, keepdims=0)
    joined = graph.add("Concat", first, mean, weakest, axis=1)
    middles = graph.middles(graph.add("Shape", "ids", end=1))
    inner = graph.curved(graph.product(joined, middles, "label.0"), graph.bias("label.0"))
    graph.add("Gemm", inner, graph.weight("label.3.weight"), graph.weight("label.3.bias"), out="labels", transB=1)


def model_of(graph: Graph) -> onnx.ModelProto:
    """The graph with its inputs and outputs."""
    whole, real, described = TensorProto.INT64, TensorProto.FLOAT, helper.make_tensor_value_info
    kept = range(2 * LAYERS)
    inputs = [described(name, whole, [1, "tokens"]) for name in ("ids", "positions", "sorts")]
    inputs += [described(f"past_{number}", real, [1, "past", WIDTH]) for number in kept]
    names = ("states", "labels", *(f"now_{number}" for number in kept))
    outputs = [described(name, real, None) for name in names]
    made = helper.make_graph(graph.nodes, "reader", inputs, outputs, graph.constants)
    versions = [helper.make_opsetid("", 18), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(made, opset_imports=versions, ir_version=9, producer_name="ragauge")


def main() -> None:
    """Read the reader, write the graph, print its size and hash."""
    options = argparse.ArgumentParser()
    options.add_argument("reader", type=Path)
    options.add_argument("out", type=Path)
    given = options.parse_args()
    state = torch.load(given.reader, weights_only=True, map_location="cpu")["reader"]
    onnx.save(model_of(graph_of({name: value.float().numpy() for name, value in state.items()})), given.out)
    content = given.out.read_bytes()
    print(f"{given.out}: {len(content) / 1e6:.1f} MB, sha256 {hashlib.sha256(content).hexdigest()}")


if __name__ == "__main__":
    main()
