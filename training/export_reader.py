"""Write a trained reader as ONNX with weights of eight bits.

    python training/export_reader.py READER.pt OUT.onnx

The graph is written node by node. Every product with a weight rounds the weight to int8 by column and each row of the
other side to uint8 by itself, so that what a text is given does not depend on the texts beside it in a batch: the
answer to a question is the same whatever else is asked with it.

Inputs: ids, positions, sorts (batch, tokens); bias (batch, 1, tokens, past + tokens), 0 where a token sees another and
-10000 where not; past (2 x layers, batch, past, width), the keys and values of what was read before; claims
(claims, longest), places in the flattened tokens; present (claims, longest), 1 for a token of the claim.
Outputs: now (2 x layers, batch, tokens, width), the keys and values; states (batch, tokens, width); labels (claims, 3),
logits.
"""

from __future__ import annotations

import argparse
import hashlib
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
    """Nodes and constants as they are written down."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def add(self, kind: str, *inputs: str, out: str = "", **settings: Any) -> str:
        """A node with one output; its name."""
        name = out or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **settings))
        return name

    def split(self, name: str, parts: int) -> list[str]:
        """The last axis in equal parts."""
        outs = [f"Split_{len(self.nodes)}_{part}" for part in range(parts)]
        self.nodes.append(helper.make_node("Split", [name], outs, axis=-1, num_outputs=parts))
        return outs

    def constant(self, values: Any, kind: Any = np.float32) -> str:
        """A constant; its name."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(values, dtype=kind, order="C"), name))
        return name

    def product(self, left: str, weight: Array, middles: str) -> str:
        """left @ weight, in eight bits: rows of `left` and columns of `weight` have scales of their own.

        middles: for each row of `left` the byte that stands for 0.
        """
        columns = np.maximum(np.abs(weight).max(0), 1e-9) / 127
        rounded = self.constant(np.round(weight / columns), np.int8)
        most = self.add("ReduceMax", self.add("Abs", left), self.constant([-1], np.int64), keepdims=1)
        scales = self.add("Mul", self.add("Max", most, self.constant(1e-9)), self.constant(1 / 127))
        by_row = self.add("Reshape", scales, self.constant([-1], np.int64))
        eight = self.add("QuantizeLinear", left, by_row, middles, axis=-2)
        whole = self.add(
            "MatMulIntegerToFloat",
            *(eight, rounded, self.constant(1.0), self.constant(columns), self.constant(MIDDLE, np.uint8)),
            domain=MICROSOFT,
        )
        return self.add("Mul", whole, scales)

    def middles(self, rows: str) -> str:
        """The byte that stands for 0, for each row of the axis that `rows` (a shape of one number) measures."""
        value = numpy_helper.from_array(np.array([MIDDLE], np.uint8))
        return self.add("ConstantOfShape", rows, value=value)

    def looked_up(self, table: Array, ids: str) -> str:
        """Rows of a table that is kept in eight bits, each row with a scale of its own."""
        scales = np.maximum(np.abs(table).max(1, keepdims=True), 1e-9) / 127
        rows = self.add("Gather", self.constant(np.round(table / scales), np.int8), ids, axis=0)
        return self.add(
            "Mul", self.add("Cast", rows, to=TensorProto.FLOAT), self.add("Gather", self.constant(scales), ids, axis=0)
        )

    def added(self, states: str, more: str, bias: Array, weights: Weights, of: str) -> str:
        """The layer normalisation named, of states with more and a bias added."""
        scale, shift = self.constant(weights[f"{of}.weight"]), self.constant(weights[f"{of}.bias"])
        return self.add(
            "SkipLayerNormalization",
            *(more, states, scale, shift, self.constant(bias)),
            domain=MICROSOFT,
            epsilon=EPSILON,
        )

    def curved(self, name: str, bias: Array) -> str:
        """GELU of what is named with a bias added."""
        return self.add("BiasGelu", name, self.constant(bias), domain=MICROSOFT)


class Weights(dict[str, Array]):
    """The reader's weights by name, as arrays of float32."""

    def linear(self, name: str) -> tuple[Array, Array]:
        """Weight (in, out) and bias of a linear layer."""
        return self[f"{name}.weight"].T, self[f"{name}.bias"]


def graph_of(weights: Weights) -> Graph:
    """The whole reader."""
    graph = Graph()
    sums = [graph.looked_up(weights["word.weight"], "ids")]
    sums += [
        graph.add("Gather", graph.constant(weights[f"{name}.weight"]), f"{name}s", axis=0)
        for name in ("position", "sort")
    ]
    scale, shift = (graph.constant(weights[f"normed.{part}"]) for part in ("weight", "bias"))
    states = graph.add("LayerNormalization", graph.add("Sum", *sums), scale, shift, axis=-1, epsilon=EPSILON)
    middles = graph.middles(graph.add("Shape", "ids", start=1))
    kept: list[str] = []
    for layer in range(LAYERS):
        states = _layer(graph, weights, f"layers.{layer}", states, middles, layer, kept)
    graph.add("Identity", states, out="states")
    graph.add(
        "Concat", *(graph.add("Unsqueeze", one, graph.constant([0], np.int64)) for one in kept), out="now", axis=0
    )
    _heads(graph, weights, states)
    return graph


def _layer(graph: Graph, weights: Weights, name: str, states: str, middles: str, layer: int, kept: list[str]) -> str:
    own = [weights.linear(f"{name}.{part}") for part in ("query", "key", "value")]
    merged = graph.product(states, np.concatenate([weight for weight, _ in own], 1), middles)
    biased = graph.add("Add", merged, graph.constant(np.concatenate([bias for _, bias in own])))
    query, key, value = graph.split(biased, 3)
    kept += [key, value]
    pasts = [graph.add("Gather", "past", graph.constant(2 * layer + part, np.int64), axis=0) for part in range(2)]
    keys, values = (graph.add("Concat", past, now, axis=1) for past, now in zip(pasts, (key, value), strict=True))
    mixed = graph.add("MultiHeadAttention", query, keys, values, "", "", "bias", domain=MICROSOFT, num_heads=HEADS)
    weight, bias = weights.linear(f"{name}.output")
    states = graph.added(states, graph.product(mixed, weight, middles), bias, weights, f"{name}.attended")
    weight, bias = weights.linear(f"{name}.inner")
    inner = graph.curved(graph.product(states, weight, middles), bias)
    weight, bias = weights.linear(f"{name}.outer")
    return graph.added(states, graph.product(inner, weight, middles), bias, weights, f"{name}.normed")


def _heads(graph: Graph, weights: Weights, states: str) -> None:
    flat = graph.add("Reshape", states, graph.constant([-1, WIDTH], np.int64))
    tokens = graph.add("Gather", flat, "claims", axis=0)
    weight, bias = weights.linear("support")
    scores = graph.add("Add", graph.add("MatMul", tokens, graph.constant(weight)), graph.constant(bias))
    support = graph.add("Squeeze", scores, graph.constant([-1], np.int64))
    axis = graph.constant([1], np.int64)
    total = graph.add("ReduceSum", "present", axis, keepdims=1)
    even = graph.add("Div", "present", total)
    absent = graph.add("Mul", graph.add("Sub", "present", graph.constant(1.0)), graph.constant(1e4))
    doubt = graph.add("Softmax", graph.add("Sub", absent, support), axis=1)
    means = [_weighted(graph, tokens, shares, axis) for shares in (even, doubt)]
    first = graph.add("Gather", tokens, graph.constant(0, np.int64), axis=1)
    joined = graph.add("Concat", first, *means, axis=1)
    weight, bias = weights.linear("label.0")
    inner = graph.curved(graph.product(joined, weight, graph.middles(graph.add("Shape", "claims", end=1))), bias)
    weight, bias = weights.linear("label.3")
    graph.add("Add", graph.add("MatMul", inner, graph.constant(weight)), graph.constant(bias), out="labels")


def _weighted(graph: Graph, tokens: str, shares: str, axis: str) -> str:
    """The sum of a claim's tokens, each by its share."""
    wide = graph.add("Unsqueeze", shares, graph.constant([-1], np.int64))
    return graph.add("ReduceSum", graph.add("Mul", tokens, wide), axis, keepdims=0)


def model_of(graph: Graph) -> onnx.ModelProto:
    """The graph with its inputs and outputs."""
    whole, real = TensorProto.INT64, TensorProto.FLOAT
    inputs = [helper.make_tensor_value_info(name, whole, ["batch", "tokens"]) for name in ("ids", "positions", "sorts")]
    inputs += [
        helper.make_tensor_value_info("bias", real, ["batch", 1, "tokens", "seen"]),
        helper.make_tensor_value_info("past", real, [2 * LAYERS, "batch", "past", WIDTH]),
        helper.make_tensor_value_info("claims", whole, ["claims", "longest"]),
        helper.make_tensor_value_info("present", real, ["claims", "longest"]),
    ]
    outputs = [helper.make_tensor_value_info(name, real, None) for name in ("now", "states", "labels")]
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
    weights = Weights({name: value.float().numpy() for name, value in state.items()})
    onnx.save(model_of(graph_of(weights)), given.out)
    content = given.out.read_bytes()
    print(f"{given.out}: {len(content) / 1e6:.1f} MB, sha256 {hashlib.sha256(content).hexdigest()}")


if __name__ == "__main__":
    main()
