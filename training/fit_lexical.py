"""Fit the logistic layer of the embedded judge.

    python training/fit_lexical.py TRAIN/nli_pairs.jsonl.gz

Examples come from the training pairs and from nothing else: sentence pairs of the sources named below, half of them put
inside a longer document; claims made from one or two, and from three or four, sentences of long premises
(training/edits.py); and questions that a passage answers with yes, against another passage that is much like it. One
premise in five is held out; its figures are printed. Writes data/lexical.json. The seed fixes everything.
"""

from __future__ import annotations

import json
import random
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import edits
import numpy as np
from logistic import fitted
from rows import by_source

from ragauge.judges.embedded.lexical import NAMES, Terms, features, find, select_sentences
from ragauge.judges.embedded.passages import passage
from ragauge.judges.embedded.words import words
from ragauge.statistics.agreement import auc

SENTENCE_SOURCES = """olora/mnli snli_dev cad_nli/revised_combined conjnli_adv olora/rte fever_symmetric_dev
curriculum/entailment_tree dnc/kg_relations""".split()
DOCUMENT_SOURCES = ("boolq", "curriculum/control", "curriculum/drop", "curriculum/ester", "wice_train")
PER_SOURCE, DOCUMENTS, LONG, ALIKE, SEED = 2500, 4000, 2500, 400, 7
SENSE = dict.fromkeys(("whole", "weakest"), 1) | dict.fromkeys(
    "numbers_absent names_absent heaviest_missing gap negation".split(), -1
)
CONSTANTS = Path(__file__).parents[1] / "src/ragauge/judges/embedded/data/lexical.json"


class Example(NamedTuple):
    """A premise and a claim that it supports (1) or not (0), and where they come from."""

    source: str
    premise: str
    claim: str
    label: int


def main(pairs: Path) -> None:
    """Make the examples, fit, write the constants, report."""
    examples = list(made(by_source(pairs), random.Random(SEED)))
    values = np.array([measured(example) for example in examples])
    labels = np.array([example.label for example in examples])
    held = np.array([zlib.crc32(example.premise[:80].encode()) % 5 == 0 for example in examples])
    weights = balanced([example for example, out in zip(examples, held, strict=True) if not out])
    constants = fitted(values[~held], labels[~held], weights, [0, *(SENSE.get(name, 0) for name in NAMES)])
    table = dict(zip(["constant", *NAMES], np.round(constants, 4).tolist(), strict=True))
    CONSTANTS.write_text(json.dumps({"entailed": table}, indent=2) + "\n", encoding="utf-8")
    report(examples, values @ constants, labels, held)


def measured(example: Example) -> list[float]:
    """The constant term and the features of a claim against its premise."""
    claim = Terms(words(example.claim))
    evidence = find(claim, passage(example.premise))
    return [1.0, *features(claim, evidence, select_sentences(claim, evidence)).values()]


def made(rows: dict[str, list[dict[str, Any]]], chance: random.Random) -> Iterator[Example]:
    """All examples, in an order that the seed fixes."""
    documents = sorted({row["premise"] for source in DOCUMENT_SOURCES for row in rows[source]} - {""})
    documents = [text for text in documents if len(edits.plain_sentences(text)) >= 4]
    for source in SENTENCE_SOURCES:
        for row in chance.sample(rows[source], min(PER_SOURCE, len(rows[source]))):
            yield Example(source, inside(row["premise"], documents, chance), row["claim"], row["label"])
    for text in chance.sample(documents, min(DOCUMENTS, len(documents))):
        yield from from_document(text, chance.choice(documents), chance)
    long = [text for text in documents if len(edits.plain_sentences(text)) >= 6]
    for text in chance.sample(long, min(LONG, len(long))):
        yield from over_document(text, chance)
    yield from from_questions([row for row in rows["boolq"] if row["label"]], chance)


def from_questions(rows: list[dict[str, Any]], chance: random.Random) -> Iterator[Example]:
    """Questions that a passage answers with yes, as claims; and the same with a passage much like it that does not."""
    passages = sorted({row["premise"] for row in rows})
    tokens = {text: set(text.lower().split()) for text in passages}
    for row in rows:
        claim = row["claim"].partition("?")[0]
        asked = set(claim.lower().split())
        others = [text for text in chance.sample(passages, ALIKE) if text != row["premise"]]
        yield Example("asked/own", row["premise"], claim, 1)
        yield Example("asked/other", max(others, key=lambda text: len(asked & tokens[text])), claim, 0)


def inside(premise: str, documents: list[str], chance: random.Random) -> str:
    """The premise alone, or with sentences of a document around it."""
    if chance.random() < 0.5:
        return premise
    around = edits.plain_sentences(chance.choice(documents))[: chance.randint(2, 10)]
    place = chance.randint(0, len(around))
    return " ".join([*around[:place], premise, *around[place:]])


def from_document(text: str, other: str, chance: random.Random) -> Iterator[Example]:
    """A claim of one or two sentences that the document supports, and one that it does not."""
    own, others = edits.plain_sentences(text), edits.plain_sentences(other)
    chosen = chance.sample(own, chance.choice((1, 1, 2)))
    claim = edits.restated(chosen, chance)
    yield Example("made/true", text, claim, 1)
    kind = chance.random()
    if kind < 0.35:
        yield Example("made/removed", text.replace(chance.choice(chosen), ""), edits.restated(chosen, chance), 0)
    elif kind < 0.45:
        yield Example("made/joined", text, edits.restated([chosen[0], chance.choice(others)], chance), 0)
    else:
        found = [edit(chosen[0], own + others, chance) for edit in edits.WRONG]
        wrong = [edited for edited in found if edited and edited != chosen[0]]
        if wrong:
            yield Example("made/wrong", text, edits.restated([chance.choice(wrong), *chosen[1:]], chance), 0)


def over_document(text: str, chance: random.Random) -> Iterator[Example]:
    """A claim of three or four sentences from all over the document; and the document without one or two of them."""
    chosen = chance.sample(edits.plain_sentences(text), chance.choice((3, 3, 4)))
    yield Example("long/true", text, edits.restated(chosen, chance), 1)
    for sentence in chance.sample(chosen, chance.choice((1, 1, 2))):
        text = text.replace(sentence, "")
    yield Example("long/removed", text, edits.restated(chosen, chance), 0)


def balanced(examples: list[Example]) -> Any:
    """Weights under which every source and label counts alike."""
    counts: dict[tuple[str, int], int] = defaultdict(int)
    for example in examples:
        counts[kind(example), example.label] += 1
    return np.array([1 / counts[kind(example), example.label] for example in examples]) * len(examples) / len(counts)


def kind(example: Example) -> str:
    """The group in which an example is weighted: "pairs", "made", "long" or "asked"."""
    group = example.source.partition("/")[0]
    return group if group in ("made", "long", "asked") else "pairs"


def report(examples: list[Example], logits: Any, labels: Any, held: Any) -> None:
    """Print AUC and accuracy on what was held out, by source and by group."""
    groups = defaultdict(list)
    for at, example in enumerate(examples):
        if held[at]:
            groups[example.source].append(at)
            groups["= " + kind(example)].append(at)
    for name, rows in sorted(groups.items()):
        right = ((logits[rows] > 0) == labels[rows]).mean()
        area = auc(labels[rows], logits[rows])
        print(f"{name:34} {len(rows):6} accuracy {right:.3f}" + (f" auc {area:.3f}" if area is not None else ""))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
