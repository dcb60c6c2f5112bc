"""An encoder between two others: python training/average.py ONE.pt TWO.pt SHARE OUT.pt

Where the second was trained on from the first, what lies between their weights often does better on texts of another
kind than either (Wortsman et al., 2022, arXiv:2109.01903). SHARE: of the second, in 0..1.
"""

from __future__ import annotations

import sys
from typing import Any

import torch


def main(one: str, two: str, share: str, out: str) -> None:
    """Read both, write what lies between."""
    first, second = (weights_of(file) for file in (one, two))
    torch.save({"encoder": {name: first[name].lerp(second[name], float(share)) for name in first}}, out)


def weights_of(file: str) -> Any:
    """The weights of a checkpoint: their running mean, where it has one."""
    saved = torch.load(file, weights_only=True, map_location="cpu")
    return saved.get("average", saved["encoder"])


if __name__ == "__main__":
    main(*sys.argv[1:])
