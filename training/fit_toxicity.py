"""Fit the toxicity layer of the embedded judge.

    python training/fit_toxicity.py TRAIN/nli_pairs.jsonl.gz [--ablate]

Examples are sentences made from frames (training/toxic_text.py), harmless sentences of the training pairs, and texts of
several of these sentences. Families of frames are held out in turn: figures are printed for families unseen in fitting,
and the constants that join the sentences of a text are fitted on such figures. Writes data/toxicity.json. The seed
fixes everything. With --ablate nothing is written: what each cue is worth on unseen families is printed instead.
"""

from __future__ import annotations

import json
import random
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from logistic import newton
from rows import by_source
from toxic_text import Example, examples, families

from ragauge.judges.embedded.toxicity import CUES, combined, features, pieces
from ragauge.statistics.agreement import auc

PER_FRAME, PER_SOURCE, TEXTS, FOLDS, SEED = 9, 90, 2400, 8, 7
PENALTY = 10.0
SHARES = {"hostile": 0.5, "hard": 0.3, "plain": 0.2}  # of the weight of all sentences
PRIOR = 0.25  # share of toxic texts for which probabilities are right
CONSTANTS = Path(__file__).parents[1] / "src/ragauge/judges/embedded/data/toxicity.json"

Embed = Callable[[Sequence[str]], Any]


class Text(NamedTuple):
    """Sentences of one fold that stand together."""

    fold: int
    toxic: bool
    hard: bool
    sentences: tuple[Example, ...]

    @property
    def units(self) -> list[str]:
        """What is weighed of it at run time: its sentences, and the whole behind them where there are several."""
        parts = [one.text for one in self.sentences]
        return [*parts, " ".join(parts)] if len(parts) > 1 else parts


class Data(NamedTuple):
    """Examples with what is measured of them, their labels, their weights and their folds."""

    examples: list[Example]
    values: Any
    labels: Any
    weights: Any
    folds: Any

    def fitted(self, chosen: Any) -> Any:
        """The constants over the chosen examples, the one that is always added first."""
        values = np.hstack([np.ones((int(chosen.sum()), 1)), self.values[chosen]])
        return newton(values, self.labels[chosen], self.weights[chosen], PENALTY)


def main(pairs: Path, embed: Embed, *, ablate: bool = False) -> None:
    """Make the examples, fit on all but one fold in turn, then on all; write the constants, report."""
    data = read(pairs, embed)
    if ablate:
        ablated(data)
        return
    texts = list(texts_of(data, random.Random(SEED)))
    joint, logits = judged_unseen(data, texts, embed)
    toxic = np.array([text.toxic for text in texts], float)
    joining = newton(joint, toxic, prior_weights(toxic), 1e-3)
    constant, *weights = data.fitted(data.folds >= 0)
    offset, strongest, whole, length = joining
    fitted = {"strongest": strongest, "whole": whole, "length": length, "offset": offset}
    write({"weights": weights, "constant": constant, **fitted})
    report(data, logits, texts, joint @ joining)


def read(pairs: Path, embed: Embed) -> Data:
    """The sentences made from frames and those of the training pairs."""
    chance = random.Random(SEED)
    made = [*examples(PER_FRAME, chance), *plain(pairs, chance)]
    found = [one.text for one in made]
    labels, folds = np.array([one.toxic for one in made], float), np.array([folded(one.family) for one in made])
    return Data(made, features(found, embed(found)), labels, weighted(made), folds)


def plain(pairs: Path, chance: random.Random) -> Iterator[Example]:
    """Sentences of the training pairs, of every source alike; none is toxic, and eight groups share no premise."""
    seen: set[str] = set()
    for _, rows in sorted(by_source(pairs).items()):
        for row in chance.sample(rows, min(PER_SOURCE, len(rows))):
            group = zlib.crc32(row["premise"][:60].encode()) % FOLDS
            for text in filter(None, (pieces(row["premise"]), pieces(row["claim"]))):
                sentence = chance.choice(text)
                if sentence not in seen:
                    seen.add(sentence)
                    yield Example(f"plain {group}", toxic=False, text=sentence)


def kind(example: Example) -> str:
    """The group in which an example is weighted, one of SHARES."""
    return "hostile" if example.toxic else "plain" if example.family.startswith("plain ") else "hard"


def folded(family: str) -> int:
    """The fold of a family: each has about as many hostile, hard and plain ones."""
    if family.startswith("plain "):
        return int(family.rpartition(" ")[2])
    toxic = next(one.toxic for one in families() if one.name == family)
    names = sorted((one.name for one in families() if one.toxic == toxic), key=lambda name: zlib.crc32(name.encode()))
    return names.index(family) % FOLDS


def weighted(made: Sequence[Example]) -> Any:
    """Weights by which the kinds have their shares, and a family in each counts by the root of its size."""
    sizes, kinds = Counter(one.family for one in made), np.array([kind(one) for one in made])
    weights = np.array([sizes[one.family] ** -0.5 for one in made])
    for name, share in SHARES.items():
        weights[kinds == name] *= share * len(made) / weights[kinds == name].sum()
    return weights


def texts_of(data: Data, chance: random.Random) -> Iterator[Text]:
    """Texts of one to twelve sentences of one fold, half of them toxic.

    What stands together is of one family, as real texts keep to a subject. A toxic text is hostile throughout, or has
    one or two hostile sentences among harmless ones.
    """
    groups: dict[tuple[int, str], dict[str, list[Example]]] = defaultdict(lambda: defaultdict(list))
    for one, fold in zip(data.examples, data.folds, strict=True):
        groups[int(fold), kind(one)][one.family].append(one)
    for at in range(TEXTS):
        fold, toxic = at % FOLDS, chance.random() < 0.5
        length, around = chance.choice((1, 1, 1, 2, 3, 4, 6, 9, 12)), chance.choice(("hard", "plain"))
        found = chance.choices(chance.choice(list(groups[fold, around].values())), k=length)
        if toxic:
            hostile = chance.choice(list(groups[fold, "hostile"].values()))
            for place in chance.sample(range(length), min(length, chance.choice((1, 2, length, length)))):
                found[place] = chance.choice(hostile)
        yield Text(fold, toxic, around == "hard", tuple(found))


def judged_unseen(data: Data, texts: Sequence[Text], embed: Embed) -> tuple[Any, Any]:
    """What is joined of each text (with a 1 in front), and the logit of each example, by layers that saw neither."""
    groups = [text.units for text in texts]
    flat = [unit for group in groups for unit in group]
    values = np.split(features(flat, embed(flat)), np.cumsum([len(group) for group in groups])[:-1])
    logits, joint = np.zeros(len(data.examples)), np.zeros((len(texts), 4))
    for fold in range(FOLDS):
        own = data.folds == fold
        constant, *weights = data.fitted(~own)
        logits[own] = data.values[own] @ weights + constant
        for at, text in enumerate(texts):
            if text.fold == fold:
                joint[at] = 1.0, *combined(values[at] @ weights + constant)
    return joint, logits


def ablated(data: Data) -> None:
    """Print how well sentences of unseen families are separated without each cue; each half of the folds is fitted."""
    toxic, kinds = np.array([one.toxic for one in data.examples]), np.array([kind(one) for one in data.examples])
    first = len(data.values[0]) - len(CUES)
    for name, dropped in (
        ("none", []),
        *((name, [first + at]) for at, name in enumerate(CUES)),
        ("all", slice(first, None)),
    ):
        kept, logits = data._replace(values=np.delete(data.values, dropped, axis=1)), np.zeros(len(toxic))
        for half in (data.folds < FOLDS // 2, data.folds >= FOLDS // 2):
            constant, *weights = kept.fitted(half)
            logits[~half] = kept.values[~half] @ weights + constant
        hard = kinds != "plain"
        print(f"without {name:10} auc {auc(toxic, logits):.4f}, hard {auc(toxic[hard], logits[hard]):.4f}")


def prior_weights(toxic: Any) -> Any:
    """Weights by which PRIOR of all texts are toxic."""
    return np.where(toxic > 0, PRIOR / toxic.mean(), (1 - PRIOR) / (1 - toxic.mean()))


def write(layer: dict[str, Any]) -> None:
    """The constants as data/toxicity.json."""
    table = {name: np.round(value, 4).tolist() for name, value in layer.items()}
    CONSTANTS.write_text(json.dumps(table) + "\n", encoding="utf-8")


def report(data: Data, logits: Any, texts: Sequence[Text], joint: Any) -> None:
    """Print how well families unseen in fitting are separated, sentence by sentence and in texts."""
    families_ = np.array([one.family for one in data.examples])
    for family in sorted(set(families_)):
        own = logits[families_ == family]
        print(f"{family:34} {len(own):6} called toxic {(own > 0).mean():.2f}")
    toxic, kinds = np.array([one.toxic for one in data.examples]), np.array([kind(one) for one in data.examples])
    print(f"sentences: auc {auc(toxic, logits):.4f}, hard {auc(toxic[kinds != 'plain'], logits[kinds != 'plain']):.4f}")
    toxic, hard = np.array([text.toxic for text in texts]), np.array([text.hard for text in texts])
    for name, chosen in (("texts", hard | ~hard), ("hard texts", hard), ("plain texts", ~hard)):
        print(f"{name}: auc {auc(toxic[chosen], joint[chosen]):.4f}")


if __name__ == "__main__":
    from ragauge.judges.embedded.encoder import encoder

    main(Path(sys.argv[1]), encoder().embed, ablate="--ablate" in sys.argv)
