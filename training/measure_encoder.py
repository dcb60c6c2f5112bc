"""Measure what lies between two encoders, by themselves, on rows that were kept from training.

    python training/measure_encoder.py MINILM ONE.pt TWO.pt GROUPS... [--shares 0,0.5,1] [--most 150] [--joint LAYER]

MINILM: the folder of the tokenizer. GROUPS: as for train_encoder.py; of these the groups that are held for choosing.
Prints the AUC of "entailed" against all else for each source of at least 20 claims of both sides, and the mean of each
file, with each share of the second encoder's weights. --most: claims of a source. --joint: read as trained with it.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import rows
import torch
from average import weights_of
from encoder import Encoder
from rows import Row
from train_encoder import Tokens, aside, batches, packed, read, tokenised, tokenizer_of

from ragauge.statistics.agreement import auc

LEAST = 20  # claims of each side
Scores = dict[str, list[tuple[int, float]]]


def main() -> None:
    """Read the options, measure, print."""
    options = argparse.ArgumentParser()
    options.add_argument("minilm", type=Path)
    options.add_argument("one")
    options.add_argument("two")
    options.add_argument("groups", nargs="+", type=Path)
    options.add_argument("--shares", default="0,0.25,0.33,0.5,0.75,1")
    options.add_argument("--most", type=int, default=150)
    options.add_argument("--joint", type=int, metavar="LAYER")
    given = options.parse_args()
    tokenizer = tokenizer_of(given.minilm)
    files = {file: [tokenised(group, tokenizer) for group in kept(file, given.most)] for file in given.groups}
    first, second = weights_of(given.one), weights_of(given.two)
    encoder, shares = Encoder(tokenizer.get_vocab_size()).eval(), [float(share) for share in given.shares.split(",")]
    print(f"{'':28}{'claims':>8}{'true':>7}" + "".join(f"{share:7.2f}" for share in shares), flush=True)
    found: dict[Path, list[Scores]] = defaultdict(list)
    for share in shares:
        encoder.load_state_dict({name: first[name].lerp(second[name], share) for name in first})
        for file, groups in files.items():
            found[file].append(scores(encoder, groups, given.joint))
    for file, by_share in found.items():
        show(file, by_share)


def kept(file: Path, most: int) -> Iterator[Row]:
    """The groups of a file that are held for choosing, with at most so many claims of a source."""
    count: Counter[str] = Counter()
    for group in rows.read(file):
        if aside(group) == "dev":
            claims = [claim for claim in group["claims"] if count[claim["source"]] < most]
            count.update(claim["source"] for claim in claims)
            if claims:
                yield group | {"claims": claims}


@torch.no_grad()
def scores(encoder: Encoder, groups: Sequence[Tokens], joint: int | None) -> Scores:
    """By source whether each claim is entailed, and the log-odds that it is."""
    found: Scores = defaultdict(list)
    for tokens in batches(groups, random.Random(0), joint=joint):
        batch = packed(tokens, "cpu")
        with torch.autocast("cpu", dtype=torch.bfloat16):
            (labels, _), _ = read(encoder, batch, joint)
        chances = torch.log_softmax(labels.float(), dim=1)
        odds = (chances[:, 0] - torch.logsumexp(chances[:, 1:], dim=1)).tolist()
        for source, label, score in zip(batch.sources, batch.label.tolist(), odds, strict=True):
            found[source].append((int(label == 0), score))
    return found


def show(file: Path, by_share: Sequence[Scores]) -> None:
    """A line for each source, then one for the mean."""
    lines = []
    for source, pairs in sorted(by_share[0].items()):
        true = sum(label for label, _ in pairs)
        if min(true, len(pairs) - true) >= LEAST:
            lines.append([_auc(scored[source]) for scored in by_share])
            print(f"{source:28}{len(pairs):8}{true:7}" + "".join(f"{value:7.3f}" for value in lines[-1]))
    means = [sum(values) / len(lines) for values in zip(*lines, strict=True)]
    print(f"{'mean of ' + file.name:43}" + "".join(f"{value:7.3f}" for value in means), flush=True)


def _auc(pairs: Sequence[tuple[int, float]]) -> float:
    labels, odds = map(list, zip(*pairs, strict=True))
    return auc(labels, odds) or 0.0


if __name__ == "__main__":
    main()
