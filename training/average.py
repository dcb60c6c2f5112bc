"""The mean of the weights of two readers: python training/average.py ONE.pt TWO.pt OUT.pt

Where one was trained on from the other, what lies half-way between them often does better on texts of another kind than
either (Wortsman et al., 2022, arXiv:2109.01903).
"""

from __future__ import annotations

import sys

import torch


def main(one: str, two: str, out: str) -> None:
    """Read both, write the mean."""
    first, second = (torch.load(file, weights_only=True, map_location="cpu")["reader"] for file in (one, two))
    torch.save({"reader": {name: (first[name] + second[name]) / 2 for name in first}}, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
