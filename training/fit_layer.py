"""Fit the layers of the encoder's values and of shares of words, and report how they do on rows kept for that.

    python training/fit_layer.py DATA [--each 300]

DATA: the folder with nli_pairs.jsonl.gz, natural/, bots/ and written/. Run it again whenever the encoder changes: it
reads some 10,000 claims (training/kept.py), fits on their part "e", reports on "f", and writes trained.json:

- "entailed" over the encoder's log-odds. Each kind of data has a share of the weight, in it each source the same, and
  in that each label, so that one half lies between them. Layers "by_words" have the share of words alone.
- "thresholds": the log-odds of the encoder from which a claim that is not entailed is contradicted, as 85 of 100 of
  people's pairs are. Some hundred claims decide that, so both parts are taken.
- "relevant" is fitted on questions of BoolQ and QAMR, each with its own text and with the other text that shares most
  words with it.
- "answers" is fitted on the single sentences of written answers, each with its own question and with another answer's.

Natural sources are reported by layers that are fitted without them.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from kept import WRITTEN, Kept, kept, part_of, with_both
from logistic import fitted
from rows import by_source, read

from ragauge.judges.embedded.judge import Trained, relevance
from ragauge.judges.embedded.layer import linear, logistic
from ragauge.judges.embedded.lexical import related
from ragauge.judges.embedded.matching import Terms, held, merged
from ragauge.judges.embedded.passages import passage
from ragauge.judges.embedded.words import words
from ragauge.questions import Entail
from ragauge.statistics.agreement import auc, balanced_accuracy

OUT = Path(__file__).parents[1] / "src/ragauge/judges/embedded/data/trained.json"
#: The sense in which each value may count; the fit leaves out a value that would count otherwise.
SENSES = {
    "entailed": {"entailed": 1},
    "entailed_by_words": {"share": 1},
    "relevant": {"share": 1, "near": 1},
    "relevant_by_words": {"share": 1},
    "answers": {"share": 1, "near": 1},
    "answers_by_words": {"share": 1},
    "right": {"forth": 1, "back": 1, "share": 1, "conflict": -1, "polarity": 1},
    "partly": {"forth": 0, "back": 0, "share": 0, "conflict": 0, "polarity": 0},
}
SHARES = {"natural": 0.8, "bots": 0.1, "written": 0.1}
LEAST = 50  # rows of each side from which a source is left out by itself
PRECISION, SUREST = 0.85, 20  # of "contradicted", and the claims that decide it at least
QUESTIONS = ("boolq", "qamr")  # sources whose claims are a question and an answer
SEED, BATCH = 5, 128


class Example(NamedTuple):
    """What a layer is to say (1 or 0) of some values. kind and source: its weight. held: kept for reporting."""

    values: Mapping[str, float]
    label: float
    held: bool
    kind: str
    source: str
    against: float | None = None  # whether the claim is contradicted, where that is known


def main() -> None:
    """Read, fit each layer, write all, report."""
    options = argparse.ArgumentParser()
    options.add_argument("data", type=Path)
    options.add_argument("--each", type=int, default=300, help="rows of a source and part at most")
    given = options.parse_args()
    chance, rows = random.Random(SEED), kept(given.data, given.each)
    claims = examples(rows)
    fitting = [one for one in claims if one.kind in SHARES and not one.held]
    apart = [source for source in with_both(rows, LEAST) if source in {one.source for one in fitting}]
    entailed = fit("entailed", fitting)
    near = list(nearer(by_source(given.data / "nli_pairs.jsonl.gz"), 2 * given.each, chance))
    answers = list(answering(responses(given.data / "written"), chance))
    layers: dict[str, Any] = {
        "entailed": entailed,
        "entailed_by_words": fit("entailed_by_words", fitting),
        "thresholds": {"contradicted": threshold([one for one in claims if one.kind == "natural"], entailed)},
        "relevant": fit("relevant", near),
        "relevant_by_words": fit("relevant_by_words", near),
        "answers": fit("answers", answers),
        "answers_by_words": fit("answers_by_words", answers),
    }
    OUT.write_text(json.dumps(layers, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(layers, indent=1))
    report(claims, fitting, apart, layers)


def examples(rows: Sequence[Kept]) -> list[Example]:
    """The values of the claims that the encoder reads."""
    backend, found = Trained(), []
    for start in range(0, len(rows), BATCH):
        batch = rows[start : start + BATCH]
        list(backend.prepare([one.question for one in batch]))
        for one in batch:
            values = backend.joint(one.question)
            against = None if one.label == "not_entailed" else float(one.label == "contradicted")
            label = float(one.label == "entailed")
            if values:
                values = {**values, "share": share(one.question)}
                found.append(Example(values, label, one.part == "f", one.kind, one.source, against))
    return found


def share(question: Entail) -> float:
    """The share of the words of a claim that its texts hold."""
    claim = Terms(words(question.hypothesis))
    return claim.share(merged(*(held(claim, text).credits for text in question.premise)))


def responses(shared: Path) -> list[Any]:
    """The written responses that the encoder was not trained on."""
    files = [folder / "responses.jsonl.gz" for folder in (shared, WRITTEN)]
    return [row for file in files if file.exists() for row in read(file) if part_of(row["id"])]


def answering(rows: Sequence[Any], chance: random.Random) -> Iterator[Example]:
    """The sentences of written answers with their own question and with another's."""
    for row in rows:
        other = chance.choice([one["query"] for one in rows if one is not row])
        for sentence in (one["text"] for one in row["sentences"] if one["label"] != "no_claim"):
            for query, label in ((row["query"], 1.0), (other, 0.0)):
                if len(passage(sentence).sentences) == 1:
                    values = relevance(query, sentence, related(query, sentence).share)
                    yield Example(values, label, part_of(row["id"]) == "f", "answers", "answers")


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
                values = relevance(query, text, related(query, text).share)
                yield Example(values, label, part_of(premise[:80]) == "f", source, source)


def fit(layer: str, found: Iterable[Example], shares: Mapping[str, float] = SHARES) -> dict[str, float]:
    """The constants of a layer, from the examples that are not held. shares: as in `weights`."""
    used = [one for one in found if not one.held]
    names = list(SENSES[layer])
    values = np.array([[1.0, *(one.values[name] for name in names)] for one in used])
    labels = np.array([one.label for one in used])
    constants = fitted(values, labels, weights(used, shares), np.array([0, *SENSES[layer].values()]))
    return dict(zip(["constant", *names], np.round(constants, 4).tolist(), strict=True))


def weights(found: Sequence[Example], shares: Mapping[str, float] = SHARES) -> Any:
    """Weights by which each kind has its share, in it each source the same, and in that each label."""
    counts = Counter((one.source, one.label) for one in found)
    groups = Counter(kind for kind, *_ in {(one.kind, one.source, one.label) for one in found})
    raw = [shares.get(one.kind, 1.0) / groups[one.kind] / counts[one.source, one.label] for one in found]
    return np.array(raw) * len(found) / sum(raw)


def threshold(found: Iterable[Example], layer: Mapping[str, float]) -> float:
    """The least log-odds of the encoder from which a claim that is not entailed is contradicted as often as PRECISION
    asks; where that is never so, those of the SUREST."""
    denied = [one for one in found if one.against is not None and linear(layer, one.values) < 0]
    rated = sorted(((one.values["contradicted"], one.against) for one in denied), reverse=True)
    right = np.cumsum([label for _, label in rated]) / np.arange(1, len(rated) + 1)
    enough = [at for at in range(SUREST, len(rated)) if right[at] >= PRECISION]
    return round(rated[enough[-1] if enough else SUREST][0], 3)


def report(claims: Sequence[Example], fitting: Sequence[Example], apart: Sequence[str], layers: Any) -> None:
    """Print what the layers do on held rows: by source, by tenths of probability, and of contradictions."""
    rated: list[tuple[Example, float]] = []
    for source in sorted({one.source for one in claims}):
        left_out = source in apart
        layer = fit("entailed", [one for one in fitting if one.source != source]) if left_out else layers["entailed"]
        own = [(one, linear(layer, one.values)) for one in claims if one.source == source and one.held]
        print(f"{source:20}{'alone' if left_out else '':6}", figures(own))
        rated += own
    for kind in (*SHARES, "answers"):
        of_kind = [(one, value) for one, value in rated if one.kind == kind]
        print(f"{kind:26}", figures(of_kind))
        print("  said and right by tenths of probability:", *tenths(of_kind))
        known = [(one, value) for one, value in of_kind if one.against is not None]
        named = [one.against for one, value in known if value < 0 and named_against(one, layers)]
        print(
            f"  contradicted: {len(named)} said, {np.mean(named or [0]):.2f} right, of",
            sum(one.against for one, _ in known),
        )
    natural = [[(one, value) for one, value in rated if one.source == source] for source in apart]
    natural = [rows for rows in natural if rows and rows[0][0].kind == "natural"]
    print("natural, mean AUC:", round(np.mean([auc(*pair(rows)) for rows in natural]), 3))


def named_against(one: Example, layers: Any) -> bool:
    """Whether the judge would call a claim contradicted that it does not call entailed."""
    return one.values["contradicted"] >= layers["thresholds"]["contradicted"]


def pair(rated: Sequence[tuple[Example, float]]) -> tuple[list[float], list[float]]:
    """The labels and the logits."""
    return [one.label for one, _ in rated], [value for _, value in rated]


def figures(rated: Sequence[tuple[Example, float]]) -> str:
    """Rows, AUC and balanced accuracy."""
    labels, logits = pair(rated)
    area, balanced = auc(labels, logits), balanced_accuracy(labels, [float(value >= 0) for value in logits])
    return f"{len(rated):6}" + ("" if area is None or balanced is None else f"{area:8.3f}{balanced:8.3f}")


def tenths(rated: Sequence[tuple[Example, float]]) -> Iterator[str]:
    """In each tenth the mean probability and the share that is entailed, labels of a source counting the same."""
    even = weights([one for one, _ in rated]) if rated else []
    said = np.array([logistic(value) for _, value in rated])
    labels = np.array([one.label for one, _ in rated])
    for tenth in range(10):
        own = (said >= tenth / 10) & (said < (tenth + 1) / 10)
        if own.sum() >= 20:
            yield f"{np.average(said[own], weights=even[own]):.2f}/{np.average(labels[own], weights=even[own]):.2f}"


if __name__ == "__main__":
    main()
