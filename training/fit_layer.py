"""Fit the layers that weigh words and encoder together.

    python training/fit_layer.py PAIRS WRITTEN

PAIRS: the training pairs. WRITTEN: the folder of the shared written data; that of training/written is added. Of the
written rows only those are used that the encoder was not trained on: of ids "e" for the fits, of ids "f" for figures.
Writes trained.json:

- "entailed" is fitted on the examples of training/fit_lexical.py, which are made by another recipe than the encoder's
  own, so that the encoder is trusted no more than it deserves on texts of a kind that it has not learnt, and on written
  claims. Half of them stand among other premises, as the chunks of a retrieval. How sure it is, and where a half lies,
  is then fitted on these and on claims of people in words of their own, about premises that were held out from the
  encoder's training.
- "contradicted" is fitted on claims of people and written ones with labels of three kinds.
- "relevant" is fitted on questions of BoolQ and QAMR, each with its own text and with the other text that shares most
  words with it.
- "answers" is fitted on the single sentences of written answers, each with its own question and with another answer's.

One premise of PAIRS in four is held out from the fits; figures on these are printed.
"""

from __future__ import annotations

import argparse
import json
import random
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import fit_lexical
import numpy as np
from held_out import held_out
from logistic import fitted, newton
from rows import by_source, read
from written import held as kept_for

from ragauge.judges.embedded.judge import Trained, claim_features, relevance
from ragauge.judges.embedded.layer import linear
from ragauge.judges.embedded.lexical import relevant
from ragauge.judges.embedded.passages import passage
from ragauge.questions import Entail
from ragauge.statistics.agreement import auc, balanced_accuracy

OUT = Path(__file__).parents[1] / "src/ragauge/judges/embedded/data/trained.json"
SENSES = {
    "entailed": {
        "words": 1, "short_words": -1, "entailed": 1, "short_entailed": 1, "against": -1, "near": 1, "matched": 1,
    },
    "contradicted": {"words": -1, "words_against": 1, "entailed": -1, "against": 1},
    "relevant": {"words": 1, "near": 1},
    "answers": {"words": 1, "near": 1},
}  # fmt: skip
#: Sources of claims of people in words of their own.
OWN_WORDS = """olora/mnli olora/rte olora/cb snli_dev infotabs boolq cad_nli/original
    cad_nli/revised_combined conjnli_adv fever_symmetric_dev""".split()
QUESTIONS = ("boolq", "qamr")  # sources whose claims are a question and an answer
WRITTEN = Path(__file__).parent / "written"
WRITTEN_KINDS = ("documents", "long_claims", "short_premises", "responses")
SEED = 5


class Example(NamedTuple):
    """What a layer is to say (1 or 0) of some values. kind: the group in which it is weighted. against: whether a claim
    is contradicted, where that is known."""

    kind: str
    values: Mapping[str, float]
    label: float
    held: bool
    against: float | None = None


def main() -> None:
    """Fit each layer and write all."""
    options = argparse.ArgumentParser()
    options.add_argument("pairs", type=Path)
    options.add_argument("written", type=Path)
    options.add_argument("--each", type=int, default=600, help="examples of a kind at most")
    given = options.parse_args()
    backend, chance = Trained(), random.Random(SEED)
    rows = by_source(given.pairs)
    aside = {name: list(written_rows(given.written, name)) for name in WRITTEN_KINDS}
    claims = [*supported(rows, given.each, backend, chance), *written(aside, given.each, backend, chance)]
    people = list(in_own_words(rows, backend))
    against = [one._replace(label=one.against) for one in [*people, *claims] if one.against is not None]
    layers = {
        "entailed": calibrated(fit("entailed", claims), [*claims, *people]),
        "contradicted": fit("contradicted", against),
        "relevant": fit("relevant", nearer(rows, given.each, chance)),
        "answers": fit("answers", answering(aside["responses"], chance)),
    }
    OUT.write_text(json.dumps(layers, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(layers, indent=1))


def supported(rows: Any, each: int, backend: Trained, chance: random.Random) -> Iterator[Example]:
    """Claims with a premise that supports them or not."""
    found = list(fit_lexical.made(rows, random.Random(fit_lexical.SEED)))
    by_kind: dict[str, list[Any]] = defaultdict(list)
    for one in chance.sample(found, len(found)):
        by_kind[fit_lexical.kind(one)].append(one)
    for kind, examples in by_kind.items():
        for one in examples[:each]:
            others = [other.premise for other in chance.sample(examples, chance.randint(1, 4))]
            premise = chance.sample([one.premise, *others], len(others) + 1) if chance.random() < 0.5 else [one.premise]
            words, sentences = backend.joint(Entail(tuple(premise), one.claim))
            if sentences:
                yield Example(kind, claim_features(words, sentences), one.label, checked(one.premise))


def written_rows(shared: Path, name: str) -> Iterator[Any]:
    """The written rows of a kind that the encoder was not trained on; "held" says those of ids "f"."""
    for folder in (shared, WRITTEN):
        for row in read(folder / f"{name}.jsonl.gz") if (folder / f"{name}.jsonl.gz").exists() else ():
            if part := kept_for(row["id"]):
                yield {**row, "held": part == "dev"}


def written(aside: Mapping[str, list[Any]], each: int, backend: Trained, chance: random.Random) -> Iterator[Example]:
    """Written claims that the encoder was not trained on, half of the texts among others."""
    for name, rows in aside.items():
        found = [(row, *one) for row in rows for one in questions(name, row)]
        for row, question, label in chance.sample(found, min(2 * each, len(found))):
            if "text" in row and chance.random() < 0.5:
                others = [other["text"] for other in chance.sample(rows, chance.randint(1, 3)) if other is not row]
                premise = chance.sample([*question.premise, *others], len(others) + 1)
                question = Entail(tuple(premise), question.hypothesis)
            words, sentences = backend.joint(question)
            if sentences:
                against = float(label == "contradicted")
                yield Example(name, claim_features(words, sentences), float(label == "entailed"), row["held"], against)


def questions(name: str, row: Any) -> Iterator[tuple[Entail, str]]:
    """The questions of a written row with their labels."""
    if name != "responses":
        yield from ((Entail((row["text"],), one["text"]), one["label"]) for one in row["claims"])
        return
    labels = {"supported": "entailed", "unsupported": "neutral", "contradicted": "contradicted"}
    for one in row["sentences"]:
        if one["label"] in labels:
            yield Entail(tuple(row["contexts"]), one["text"]), labels[one["label"]]


def in_own_words(rows: Any, backend: Trained) -> Iterator[Example]:
    """Claims of people about premises that the encoder has not seen."""
    for row in (row for source in OWN_WORDS for row in rows[source] if held_out(row["premise"])):
        words, sentences = backend.joint(Entail((row["premise"],), row["claim"]))
        if sentences:
            label, kind = row["label3"], row["source"].partition("/")[0]
            against = None if label == "not_entailment" else float(label == "contradiction")
            entailed = float(label == "entailment")
            yield Example(kind, claim_features(words, sentences), entailed, checked(row["premise"]), against)


def answering(rows: Sequence[Any], chance: random.Random) -> Iterator[Example]:
    """The sentences of written answers with their own question and with another's."""
    for row in rows:
        other = chance.choice([one["query"] for one in rows if one is not row])
        for sentence in (one["text"] for one in row["sentences"] if one["label"] != "no_claim"):
            for query, label in ((row["query"], 1.0), (other, 0.0)):
                if len(passage(sentence).sentences) == 1:
                    values = relevance(query, sentence, relevant(query, sentence, None))
                    yield Example("answers", values, label, row["held"])


def nearer(rows: Any, each: int, chance: random.Random) -> Iterator[Example]:
    """Questions with the text that they were asked about, and with another that shares most words with them."""
    for source in QUESTIONS:
        asked = [(row["premise"], row["claim"].partition("? ")[0] + "?") for row in rows[source]]
        texts = sorted({premise for premise, _ in asked})
        words = {text: set(text.lower().split()) for text in texts}
        for premise, query in chance.sample(asked, each):
            wanted = set(query.lower().rstrip("?").split())
            others = [text for text in chance.sample(texts, 300) if text != premise]
            other = max(others, key=lambda text: len(wanted & words[text]))
            around = chance.sample(texts, 2) if source == "qamr" else []
            for text, label in ((premise, 1.0), (other, 0.0)):
                text = " ".join([*around, text])
                values = relevance(query, text, relevant(query, text, None))
                yield Example(source, values, label, checked(premise))


def checked(premise: str) -> bool:
    """Whether what is made of a premise has no part in the fits."""
    return zlib.crc32(premise[:80].encode()) % 4 == 0


def fit(layer: str, found: Iterable[Example]) -> dict[str, float]:
    """The constants of a layer; figures on what was held out are printed."""
    examples = list(found)
    names = list(SENSES[layer])
    values = np.array([[1.0, *(one.values[name] for name in names)] for one in examples])
    labels = np.array([one.label for one in examples])
    held = np.array([one.held for one in examples])
    weights = evenly(examples)
    sense = [0, *SENSES[layer].values()]
    constants = fitted(values[~held], labels[~held], weights[~held], np.array(sense))
    report(layer, names, examples, values, values @ constants)
    return dict(zip(["constant", *names], np.round(constants, 4).tolist(), strict=True))


def evenly(examples: Sequence[Example]) -> Any:
    """Weights by which each kind counts the same, and in it each label."""
    counts = Counter((one.kind, one.label) for one in examples)
    return np.array([len(examples) / len(counts) / counts[one.kind, one.label] for one in examples])


def calibrated(layer: Mapping[str, float], examples: Sequence[Example]) -> dict[str, float]:
    """A layer with its logits stretched and shifted to be the probability of examples; the gain is printed."""
    logits = np.array([linear(layer, one.values) for one in examples])
    labels, held = np.array([one.label for one in examples]), np.array([one.held for one in examples])
    values = np.stack([np.ones(len(logits)), logits], axis=1)
    shift, stretch = newton(values[~held], labels[~held], evenly(examples)[~held], penalty=0)
    print(f"stretched by {stretch:.3f}, shifted by {shift:.3f}; balanced accuracy before and after:")
    for kind in sorted({one.kind for one in examples}):
        rows = [at for at, one in enumerate(examples) if one.kind == kind and one.held]
        if len(set(labels[rows])) < 2:
            continue
        before, after = (
            balanced_accuracy(labels[rows], (found[rows] >= 0).astype(float))
            for found in (logits, stretch * logits + shift)
        )
        print(f"{kind:14}{len(rows):6}{before:10.3f}{after:10.3f}")
    return {name: round(stretch * value + shift * (name == "constant"), 4) for name, value in layer.items()}


def report(layer: str, names: Sequence[str], examples: Sequence[Example], values: Any, logits: Any) -> None:
    """AUC on what was held out, by kind: of the layer, and of each value by itself."""
    print(f"{layer:14}{'rows':>6}{'layer':>10}", *(f"{name:>14}" for name in names))
    for kind in sorted({one.kind for one in examples}):
        rows = [at for at, one in enumerate(examples) if one.held and one.kind == kind]
        labels = [examples[at].label for at in rows]
        if len(set(labels)) == 2:
            areas = [auc(labels, column[rows].tolist()) or 0.0 for column in (logits, *values.T[1:])]
            print(f"{kind:14}{len(rows):6}{areas[0]:10.3f}", *(f"{area:14.3f}" for area in areas[1:]))


if __name__ == "__main__":
    main()
