"""Read the weights of an encoder back from ONNX, to train on from what is packaged.

    python training/unpack_encoder.py ENCODER.onnx OUT.pt

They are as near to what they were as eight bits are; written as ONNX again they give the same graph.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import onnx
import torch
from onnx import numpy_helper


def unpacked(model: onnx.ModelProto) -> dict[str, Any]:
    """The weights by name, as arrays of float32."""
    kept, divisors = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}, spreads(model)
    weights: dict[str, Any] = {}
    for name, values in kept.items():
        names, _, way = name.partition(":")
        if way in ("scales", "spread") or name.startswith("constant"):
            continue
        if way:
            values = values.astype(np.float32) * kept[f"{names}:scales"]
        if names in divisors:
            values = values / divisors[names][:, None]
        several = names.split("+")
        weights |= zip(several, np.split(values.T if way == "columns" else values, len(several)), strict=True)
    return weights


def spreads(model: onnx.ModelProto) -> dict[str, Any]:
    """What the inputs of layers are divided by, under the names of their weights."""
    return {
        one.name.removesuffix(":spread"): numpy_helper.to_array(one)
        for one in model.graph.initializer
        if one.name.endswith(":spread")
    }


def main(source: str, out: str) -> None:
    """Read one, write the other."""
    weights = unpacked(onnx.load(source))
    torch.save({"encoder": {name: torch.tensor(values) for name, values in weights.items()}}, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
