"""Fit the net that says from the tokens of a claim whether texts support it.

    python training/fit_matching.py GROUPS

GROUPS: what training/groups.py wrote for the encoder's last training, with collages. At most `MOST` claims of a
kind, as many supported as not; one premise in three with up to three others around it, as the chunks of a
retrieval. One premise in four is held out from the fit; figures on these are printed. The encoder knows these claims,
but the net sees no more of it than how like single tokens are. Writes matching.json. The seed fixes everything.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from fit_layer import checked
from rows import read
from torch import nn

from ragauge.judges.embedded.judge import FEATURES, MIN_TOKEN_WEIGHT, RARE_WORD_WEIGHT, SHARPNESS, Trained, tokens_of
from ragauge.questions import Entail
from ragauge.statistics.agreement import auc

OUT = Path(__file__).parents[1] / "src/ragauge/judges/embedded/data/matching.json"
MOST = {
    "edits": 3000, "several": 1400, "collage": 2500, "joined": 2000, "infotabs": 1200, "pairs": 1600,
    "conjnli_adv": 600, "qamr": 1200, "boolq": 800, "documents": 1000,
}  # fmt: skip
KINDS = {
    "made/true": "edits", "made/turned_true": "edits", "made/wrong": "edits", "made/turned_wrong": "edits",
    "made/elsewhere": "edits", "made/half_elsewhere": "edits", "made/several_true": "several",
    "made/several_wrong": "several", "olora/mnli": "pairs", "snli_dev": "pairs", "cad_nli/revised_combined": "pairs",
    "olora/rte": "pairs", "olora/cb": "pairs", "curriculum/drop": "documents", "curriculum/ester": "documents",
    "curriculum/control": "documents",
}  # fmt: skip
WIDTH, VALUES = 8, 4  # of the net
EPOCHS, TOGETHER, RATE, DECAY, SEED = 20, 128, 3e-3, 1e-2, 5
LONGEST = 128  # tokens of a claim that is learnt from


class Example(NamedTuple):
    """A claim as the net sees it. kind: the group in which it is weighted. held: whether it has no part in the fit."""

    kind: str
    tokens: Any
    label: float
    held: bool


class Net(nn.Module):
    """What `ragauge.judges.embedded.judge.support_logit` computes."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = nn.ModuleList(
            [nn.Linear(FEATURES, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, VALUES), nn.Linear(2 * VALUES, 1)]
        )

    def forward(self, tokens: Any, present: Any) -> Any:
        """Logits of claims. tokens: (claims, tokens, FEATURES). present: (claims, tokens), 1 for tokens, else 0."""
        first, second, third, last = self.steps
        values = third(torch.relu(second(torch.relu(first(tokens)))))
        weights = ((RARE_WORD_WEIGHT * tokens[:, :, 3] + MIN_TOKEN_WEIGHT) * present)[:, :, None]
        mean = (weights * values).sum(1) / weights.sum(1)
        absent = values.masked_fill(present[:, :, None] == 0, 1e4)
        least = -torch.logsumexp(-SHARPNESS * absent, 1) / SHARPNESS
        return last(torch.cat([mean, least], 1)).squeeze(1)


def main(path: Path) -> None:
    """Make the examples, fit, write the constants, report."""
    groups = list(read(path))
    examples = list(seen(claims(groups, random.Random(SEED))))
    net = fitted([one for one in examples if not one.held])
    steps = [
        {"weights": np.round(step.weight.tolist(), 4).tolist(), "constants": np.round(step.bias.tolist(), 4).tolist()}
        for step in net.steps
    ]
    OUT.write_text(json.dumps(steps) + "\n", encoding="utf-8")
    report(net, [one for one in examples if one.held])


def kind_of(source: str, in_collage: bool) -> str:
    """The kind of a claim by where it comes from: among the claims of a collage natural ones are of that kind too."""
    if in_collage and not source.startswith("joined"):
        return "collage"
    return KINDS.get(source) or source.partition("/")[0]


def claims(groups: list[Any], chance: random.Random) -> Iterator[tuple[str, str, Entail, float]]:
    """Claims with their kind, premise, question and label, at most MOST of a kind."""
    chance.shuffle(groups)
    taken: Counter[tuple[str, bool]] = Counter()
    for group in groups:
        in_collage = any(claim["source"].startswith("collage") for claim in group["claims"])
        others = chance.sample(groups, chance.randint(1, 3)) if chance.random() < 1 / 3 else []
        premise = [group["premise"], *(other["premise"] for other in others)]
        chance.shuffle(premise)
        for claim in group["claims"]:
            kind, supported = kind_of(claim["source"], in_collage), claim["label"] == "entailment"
            if taken[kind, supported] < MOST.get(kind, 0) / 2:
                taken[kind, supported] += 1
                yield kind, group["premise"], Entail(tuple(premise), claim["text"]), float(supported)


def seen(found: Iterator[tuple[str, str, Entail, float]]) -> Iterator[Example]:
    """The claims of which anything is read."""
    backend = Trained()
    while some := list(islice(found, 200)):
        for _ in backend.prepare([question for _, _, question, _ in some]):
            pass
        for kind, premise, question, label in some:
            _, sentences = backend.joint(question)
            if sentences:
                yield Example(kind, tokens_of(sentences)[:LONGEST], label, checked(premise))


def stacked(examples: Sequence[Example]) -> tuple[Any, Any]:
    """The tokens of examples, and which are present."""
    length = max(len(one.tokens) for one in examples)
    tokens, present = (
        np.zeros((len(examples), length, FEATURES), np.float32),
        np.zeros((len(examples), length), np.float32),
    )
    for at, one in enumerate(examples):
        tokens[at, : len(one.tokens)], present[at, : len(one.tokens)] = one.tokens, 1
    return torch.tensor(tokens), torch.tensor(present)


def fitted(examples: Sequence[Example]) -> Net:
    """The net; each kind counts alike, and in it what is supported as much as what is not."""
    torch.manual_seed(SEED)
    counts = Counter((one.kind, one.label) for one in examples)
    weights = torch.tensor([len(examples) / len(counts) / counts[one.kind, one.label] for one in examples])
    labels = torch.tensor([one.label for one in examples])
    net, steps = Net(), EPOCHS * (len(examples) // TOGETHER)
    optimizer = torch.optim.AdamW(net.parameters(), RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, steps + 1)
    for _ in range(EPOCHS):
        for some in torch.randperm(len(examples))[: len(examples) // TOGETHER * TOGETHER].split(TOGETHER):
            logits = net(*stacked([examples[at] for at in some]))
            losses = nn.functional.binary_cross_entropy_with_logits(logits, labels[some], reduction="none")
            optimizer.zero_grad()
            (losses * weights[some]).mean().backward()
            optimizer.step()
            schedule.step()
    return net.eval()


def report(net: Net, examples: Sequence[Example]) -> None:
    """AUC on what was held out, by kind."""
    with torch.no_grad():
        logits = net(*stacked(examples)).tolist()
    for kind in MOST:
        rows = [at for at, one in enumerate(examples) if one.kind == kind]
        print(
            f"{kind:14}{len(rows):6}{auc([examples[at].label for at in rows], [logits[at] for at in rows]) or 0:10.3f}"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
