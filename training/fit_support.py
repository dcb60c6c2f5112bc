"""Fit the layers that weigh what the encoder and the words say.

    python training/fit_support.py PAIRS FOLDER...

PAIRS: the natural pairs. FOLDER: folders of written data. Writes data/support.json ("entailed", "answered",
"contradicted", "relevant") and data/lexical.json ("entailed", of words alone) out of rows that the encoder was not
trained on; prints AUC, balanced accuracy and calibration error on the rows that chose the checkpoint. Each kind of
claim counts the same, and in it both labels; but for "contradicted", where labels count as often as they occur.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import rows
from held_out import held_out
from logistic import fitted
from written import ANSWERS, LABELS, SENTENCES, held, joined

from ragauge.judges.embedded import lexical, relevance
from ragauge.judges.embedded.encoder import encoder
from ragauge.judges.embedded.layer import chance as probability
from ragauge.judges.embedded.support import Support
from ragauge.judges.embedded.words import overlap
from ragauge.questions import Entail
from ragauge.statistics.agreement import auc

DATA = Path(__file__).parents[1] / "src/ragauge/judges/embedded/data"
NATURAL = "olora/mnli snli_dev cad_nli/original infotabs boolq curriculum/control curriculum/ester conjnli_adv".split()
PARTS = ("fit", "dev")
#: Which way a value may count: 1 for, -1 against.
SENSES = {"near": 1, "similar": 1, "weakest": 1, "whole": 1, "sentence": 1, "numbers": -1, "names": -1, "negated": -1}
SENSES = {
    "entailment": {**SENSES, "entailed": 1, "against": -1, "answers": 1},
    "contradiction": {"entailed": -1, "against": 1, "near": 1, "numbers": 1, "negated": 1},
}


class Example(NamedTuple):
    """A question with its label ("entailment", "neutral", "contradiction", "not_entailment"), of a kind and a part."""

    question: Any
    label: str
    kind: str
    part: str


def main() -> None:
    """Fit the layers, write them, print how good they are."""
    options = argparse.ArgumentParser()
    options.add_argument("pairs", type=Path)
    options.add_argument("folders", type=Path, nargs="+")
    given = options.parse_args()
    support = Support(encoder())
    found = [*written(given.folders, random.Random(1)), *natural(rows.by_source(given.pairs))]
    for _ in support.prepare(one.question for one in found):
        pass
    values = [min(support.values(one.question), key=lambda value: value["entailed"]) for one in found]
    words = [_words(one.question) for one in found]
    asked = list(queries(given.folders, random.Random(2)))
    seen = [relevance.values(one.question[0], one.question[1], encoder()) for one in asked]
    answers = [(one, value) for one, value in zip(found, values, strict=True) if one.kind.startswith("answers")]
    claims = [(one, value) for one, value in zip(found, values, strict=True) if not one.kind.startswith("answers")]
    three_way = [(one, value) for one, value in zip(found, values, strict=True) if one.label != "not_entailment"]
    layers = {
        "entailed": fit(*zip(*claims, strict=True), "entailment"),
        "answered": fit(*zip(*answers, strict=True), "entailment"),
        "contradicted": fit([one for one, _ in three_way], [value for _, value in three_way], "contradiction"),
        "relevant": fit(asked, seen, "entailment"),
    }
    (DATA / "support.json").write_text(json.dumps(layers, indent=2) + "\n", encoding="utf-8")
    alone = {"entailed": fit(found, words, "entailment")}
    (DATA / "lexical.json").write_text(json.dumps(alone, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(layers, indent=1))
    for name, examples, read, layer in (
        ("entailed", *zip(*claims, strict=True), layers["entailed"]),
        ("answered", *zip(*answers, strict=True), layers["answered"]),
        ("words", found, words, alone["entailed"]),
        ("contradicted", found, values, layers["contradicted"]),
        ("relevant", asked, seen, layers["relevant"]),
    ):
        report(name, examples, read, layer)


def written(folders: Sequence[Path], chance: random.Random) -> Iterator[Example]:
    """The written rows that are held, as questions."""
    for row in _rows(folders, "documents"):
        yield from _document(row, chance)
    for row in _rows(folders, "short_premises"):
        for one in row["claims"]:
            yield Example(Entail((row["text"],), one["text"], row["query"]), LABELS[one["label"]], "short", row["part"])
    for row in _rows(folders, "answers"):
        yield from _answers(row, chance)
    for row in _rows(folders, "responses"):
        for one in row["sentences"]:
            if one["label"] in SENTENCES:
                question = Entail(tuple(row["contexts"]), one["text"])
                yield Example(question, SENTENCES[one["label"]], "responses", row["part"])


def _document(row: rows.Row, chance: random.Random) -> Iterator[Example]:
    for one in row["claims"]:
        premise = _among(row["text"], row["others"], chance)
        yield Example(Entail(premise, one["text"]), LABELS[one["label"]], "documents", row["part"])
    for text, label in joined(row, chance):
        premise = _among(row["text"], row["others"], chance)
        yield Example(Entail(premise, text), label, "joined", row["part"])
    true = [one["text"] for one in row["claims"] if one["label"] == "entailed"]
    for text in chance.sample(true, min(2, len(true))):
        yield Example(Entail((row["text"],), text), "entailment", "elsewhere", row["part"])
        yield Example(Entail(tuple(row["others"][:2]), text), "neutral", "elsewhere", row["part"])


def _answers(row: rows.Row, chance: random.Random) -> Iterator[Example]:
    reference, query = row["references"][0], row["query"]
    for one in row["answers"]:
        for premise, text in ((reference, one["text"]), (one["text"], reference)):
            yield Example(Entail((premise,), text, query), ANSWERS[one["label"]], "answers", row["part"])
    for text, label in ((chance.choice(row["references"]), "entailment"), (row["others"][0], "neutral")):
        yield Example(Entail((reference,), text, query), label, "answers easy", row["part"])


def _rows(folders: Sequence[Path], name: str) -> Iterator[rows.Row]:
    found = [row for folder in folders for row in rows.read(folder / f"{name}.jsonl.gz") if held(row["id"])]
    for row in found:
        others = [other for other in found if other is not row and held(other["id"]) == held(row["id"])]
        chosen = random.Random(row["id"]).sample(others, min(4, len(others)))
        texts = [other["references"][0] if name == "answers" else other.get("text", "") for other in chosen]
        yield {"query": None, **row, "part": held(row["id"]), "others": texts}


def _among(text: str, others: Sequence[str], chance: random.Random) -> tuple[str, ...]:
    """A text alone, or as often among others, as a retrieval gives it."""
    count = chance.choice((0, 0, 0, 1, 2, 4))
    found = [text, *others[:count]]
    return tuple(chance.sample(found, len(found)))


def natural(by_source: Mapping[str, Sequence[rows.Row]]) -> Iterator[Example]:
    """The natural pairs whose premises are held."""
    for source in NATURAL:
        for part in PARTS:
            own = [row for row in by_source[source] if held_out(row["premise"]) == part]
            for row in random.Random(source).sample(own, min(300, len(own))):
                yield Example(Entail((row["premise"],), row["claim"]), row["label3"], "natural", part)


def queries(folders: Sequence[Path], chance: random.Random) -> Iterator[Example]:
    """Queries with a text or an answer of their own, and of another."""
    for name in ("documents", "short_premises", "answers"):
        found = list(_rows(folders, name))
        for row in found:
            other = chance.choice(found)
            text = row["text"] if name != "answers" else chance.choice(row["answers"])["text"]
            if row["query"]:
                yield Example((row["query"], text), "entailment", name, row["part"])
            if other["query"] and other is not row:
                yield Example((other["query"], text), "neutral", name, row["part"])


def _words(question: Entail) -> Mapping[str, float]:
    each = [lexical.values(overlap(question.hypothesis, text, question.query or "")) for text in question.premise]
    return max(each, key=lambda one: one["whole"])


def fit(examples: Sequence[Example], values: Sequence[Mapping[str, float]], positive: str) -> dict[str, float]:
    """The layer that says `positive`, of the examples of the part "fit"."""
    names = list(values[0])
    chosen = [(one, value) for one, value in zip(examples, values, strict=True) if one.part == "fit"]
    balanced = positive == "entailment"
    counts = Counter((one.kind, balanced and one.label == positive) for one, _ in chosen)
    weights = np.array([1 / counts[one.kind, balanced and one.label == positive] for one, _ in chosen])
    weights *= len(chosen) / weights.sum()
    table = np.array([[1.0, *(value[name] for name in names)] for _, value in chosen])
    labels = np.array([float(one.label == positive) for one, _ in chosen])
    sense = np.array([0, *(SENSES[positive].get(name, 0) for name in names)])
    constants = fitted(table, labels, weights, sense)
    return {name: round(float(value), 4) for name, value in zip(["constant", *names], constants, strict=True) if value}


def report(
    name: str, examples: Sequence[Example], values: Sequence[Mapping[str, float]], layer: Mapping[str, float]
) -> None:
    """Print AUC, balanced accuracy, calibration error and accuracy beyond 0.9 of each kind, on the part "dev"."""
    positive = "contradiction" if name == "contradicted" else "entailment"
    shown = [(one, value) for one, value in zip(examples, values, strict=True) if one.part == "dev"]
    for kind in sorted({one.kind for one, _ in shown}):
        found = [(one.label == positive, probability(layer, value)) for one, value in shown if one.kind == kind]
        labels, chances = (np.array(column) for column in zip(*found, strict=True))
        if not 0 < labels.sum() < len(labels):
            continue
        right, sure = (chances >= 0.5) == labels, np.abs(chances - 0.5) > 0.4
        balanced = (right[labels].mean() + right[~labels].mean()) / 2
        tenths = np.minimum((chances * 10).astype(int), 9)
        error = sum(abs((labels - chances)[tenths == tenth].sum()) for tenth in range(10)) / len(labels)
        area = auc(labels.astype(int).tolist(), chances.tolist())
        print(f"{name:14}{kind:14}{len(labels):6} auc {area:.3f} balanced {balanced:.3f} ece {error:.3f}", end=" ")
        print(f"sure {sure.mean():.2f} right {right[sure].mean() if sure.any() else 0:.3f}")


if __name__ == "__main__":
    main()
