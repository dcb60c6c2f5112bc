"""The encoder: MiniLM, changed to read a premise once and any number of claims against it.

A premise is encoded alone. The tokens of a claim see themselves and, in every layer, the premise as it stood in that
layer, so that the premise's encoding serves all claims and is never made twice. While training, a premise and its
claims are one packed sequence under a mask that says who sees whom.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

LAYERS, WIDTH, HEADS, INNER, POSITIONS = 6, 384, 12, 1536, 512


class Reading(NamedTuple):
    """What a claim is given. labels: (claims, 3) logits of entailed, neutral, contradicted. support: (claims, tokens)
    logits of each token being supported."""

    labels: Tensor
    support: Tensor


class Layer(nn.Module):
    """A BERT layer whose queries may see other states besides their own."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.output = nn.Linear(WIDTH, WIDTH)
        self.attended = nn.LayerNorm(WIDTH, eps=1e-12)
        self.inner, self.outer = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
        self.normed = nn.LayerNorm(WIDTH, eps=1e-12)
        self.dropped = nn.Dropout(0.1)

    def forward(self, states: Tensor, seen: Tensor, mask: Tensor) -> Tensor:
        """states: (batch, tokens, WIDTH). seen: (batch, keys, WIDTH). mask: (batch, 1, tokens, keys), is added."""
        mixed = functional.scaled_dot_product_attention(
            _heads(self.query(states)), _heads(self.key(seen)), _heads(self.value(seen)), attn_mask=mask
        )
        mixed = mixed.transpose(1, 2).reshape(states.shape)
        states = self.attended(states + self.dropped(self.output(mixed)))
        return self.normed(states + self.dropped(self.outer(functional.gelu(self.inner(states)))))


def _heads(states: Tensor) -> Tensor:
    batch, tokens, _ = states.shape
    return states.view(batch, tokens, HEADS, WIDTH // HEADS).transpose(1, 2)


class Encoder(nn.Module):
    """The encoder with its heads."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.word, self.position = nn.Embedding(words, WIDTH), nn.Embedding(POSITIONS, WIDTH)
        self.sort = nn.Embedding(2, WIDTH)
        self.normed = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.label = nn.Sequential(nn.Linear(3 * WIDTH, WIDTH), nn.GELU(), nn.Dropout(0.1), nn.Linear(WIDTH, 3))
        self.support = nn.Linear(WIDTH, 1)

    def embedded(self, ids: Tensor, positions: Tensor, sorts: Tensor) -> Tensor:
        """The states before the first layer. sorts: 0 for the tokens of a premise, 1 for those of a claim."""
        return self.normed(self.word(ids) + self.position(positions) + self.sort(sorts))

    def encode(self, states: Tensor, mask: Tensor, layers: Iterable[int] = range(LAYERS)) -> Tensor:
        """The states after the layers of these numbers, where `mask` alone says who sees whom."""
        for number in layers:
            states = self.layers[number](states, states, mask)
        return states

    def heads(self, states: Tensor, present: Tensor) -> Reading:
        """states: (claims, tokens, WIDTH), of which the first is [CLS]. present: (claims, tokens), 1 or 0."""
        support = self.support(states).squeeze(-1)
        weights = present / present.sum(1, keepdim=True).clamp(min=1)
        mean = (states * weights.unsqueeze(-1)).sum(1)
        doubt = torch.softmax((-support).masked_fill(present == 0, -math.inf), dim=1)
        weakest = (states * doubt.unsqueeze(-1)).sum(1)
        return Reading(self.label(torch.cat([states[:, 0], mean, weakest], dim=1)), support)

    def load_minilm(self, weights: dict[str, Tensor]) -> None:
        """Take over the weights of a BERT encoder of this shape."""
        names = {
            "query": "attention.self.query", "key": "attention.self.key", "value": "attention.self.value",
            "output": "attention.output.dense", "attended": "attention.output.LayerNorm",
            "inner": "intermediate.dense", "outer": "output.dense", "normed": "output.LayerNorm",
        }  # fmt: skip
        table = {"word": "word_embeddings", "position": "position_embeddings", "sort": "token_type_embeddings"}
        mine = {f"{own}.weight": f"embeddings.{theirs}.weight" for own, theirs in table.items()}
        mine |= {f"normed.{part}": f"embeddings.LayerNorm.{part}" for part in ("weight", "bias")}
        for layer in range(LAYERS):
            for own, theirs in names.items():
                for part in ("weight", "bias"):
                    mine[f"layers.{layer}.{own}.{part}"] = f"encoder.layer.{layer}.{theirs}.{part}"
        self.load_state_dict({own: weights[theirs] for own, theirs in mine.items()}, strict=False)
