"""Fit the layers by which an answer is right, or partly right, by a reference, and report on rows kept for that.

    python training/fit_correct.py DATA [--each 200]

DATA: the folder with nli_pairs.jsonl.gz and written/. Run it again whenever the encoder changes, in about a minute. It
fits on part "e" (training/kept.py), reports on "f", and writes correct.json:

- "right" over the values of judges/embedded/answers.py, on written answers, which mislead by words; on sentences that
  answer a question of QAMR, half of them among two other sentences, where the answer to a question that begins alike is
  wrong; on such sentences where the answer with another number or month is wrong; on answers as short as people's, of
  QAMR, where another answer of the same sort is wrong; and on written answers that repeat a reference, where what
  stands in its place in another's makes them wrong.
- "partly" tells written answers that are partly right from wrong ones.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from edits import other_month, other_number
from fit_layer import BATCH, SEED, Example, figures, fit
from kept import WRITTEN, part_of
from rows import by_source, read

from ragauge.judges.embedded.judge import Trained
from ragauge.judges.embedded.layer import linear
from ragauge.judges.embedded.lexical import decided
from ragauge.questions import Correct

OUT = Path(__file__).parents[1] / "src/ragauge/judges/embedded/data/correct.json"
SHARES = {"answers": 0.4, "sentences": 0.15, "numbers": 0.1, "short": 0.2, "others": 0.15}
BRIEF = 5  # words of a short reference
NAMESAKES = 0.3  # of names of several words, of which the last becomes another
FORMS = ("{}", "{}.", "It was {}.", "The answer is {}.", "I think it is {}.", "That would be {}, as far as I know.")
LABELS = ("right", "partly", "wrong")

Labelled = tuple[Correct, str, str, str]  # a question, its label, its part, and its kind


def main() -> None:
    """Read, fit, write, report."""
    options = argparse.ArgumentParser()
    options.add_argument("data", type=Path)
    options.add_argument("--each", type=int, default=200, help="sentences of each part")
    given = options.parse_args()
    rows = [*written(given.data / "written"), *sentences(given.data / "nli_pairs.jsonl.gz", given.each)]
    rows += [*short(given.data / "nli_pairs.jsonl.gz", given.each), *others(rows)]
    examples = list(valued(rows))
    right = fit("right", (one for one, _ in examples), SHARES)
    refused = [one._replace(label=float(label == "partly")) for one, label in examples if label != "right"]
    partly = fit("partly", (one for one in refused if one.kind == "answers"))
    layers = {"right": right, "partly": partly}
    OUT.write_text(json.dumps(layers, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(layers, indent=1))
    for kind in SHARES:
        held = [(one, linear(right, one.values)) for one, _ in examples if one.held and one.kind == kind]
        print(f"{kind:12}", figures(held))
    own = [(one, linear(partly, one.values)) for one in refused if one.held and one.kind == "answers"]
    print(f"{'partly':12}", figures(own))
    confusion(examples, layers)


def written(shared: Path) -> Iterator[Labelled]:
    """Written answers with all their references."""
    for file in (folder / "answers.jsonl.gz" for folder in (shared, WRITTEN)):
        for row in read(file) if file.exists() else ():
            if part := part_of(row["id"]):
                for one in row["answers"]:
                    yield Correct(row["query"], one["text"], tuple(row["references"])), one["label"], part, "answers"


def qamr(pairs: Path) -> list[tuple[str, str, str]]:
    """Sentences, each with a question and its answer."""
    rows = [row for row in by_source(pairs)["qamr"] if row["label"] and "? " in row["claim"]]
    return [(row["premise"], *row["claim"].removesuffix(".").split("? ", 1)) for row in rows]


def sentences(pairs: Path, each: int) -> Iterator[Labelled]:
    """Sentences with the answer that they give to a question, and with that to a question that begins alike."""
    chance, asked = random.Random(SEED), qamr(pairs)
    alike: dict[str, list[str]] = defaultdict(list)
    for _, query, answer in asked:
        alike[query.split()[0]].append(answer)
    for part in "ef":
        own = [one for one in asked if part_of(one[0][:80]) == part]
        for place, (premise, query, answer) in enumerate(chance.sample(own, each)):
            words = set(answer.lower().split())
            others = (chance.choice(alike[query.split()[0]]) for _ in range(100))
            other = next(one for one in others if words.isdisjoint(one.lower().split()))
            text = [premise]
            if place % 2:
                text += [one[0] for one in chance.sample(asked, 2)]
                chance.shuffle(text)
            for reference, label in ((answer, "right"), (other, "wrong")):
                yield Correct(f"{query}?", " ".join(text), (reference,)), label, part, "sentences"
        for premise, query, answer in chance.sample(own, len(own)):
            other = other_month(answer, [], chance) or other_number(answer, [premise], chance)
            for reference, label in ((answer, "right"), (other, "wrong")) if other else ():
                yield Correct(f"{query}?", premise, (reference,)), label, part, "numbers"


def short(pairs: Path, each: int) -> Iterator[Labelled]:
    """Answers of a few words: the reference itself, or the last of its names, in a frame; and another of its sort."""
    chance, asked = random.Random(SEED), qamr(pairs)
    alike: dict[str, list[str]] = defaultdict(list)
    for _, _, answer in asked:
        alike[sort(answer)].append(answer)
    for part in "ef":
        own = [one for one in asked if part_of(one[0][:80]) == part and len(one[2].split()) <= BRIEF]
        for _, query, answer in chance.sample(own, 2 * each):
            words = set(answer.lower().split())
            drawn = (chance.choice(alike[sort(answer)]) for _ in range(100))
            other = next((one for one in drawn if words.isdisjoint(one.lower().split())), None)
            names = answer.split()
            same = names[-1] if len(names) > 1 and all(name[0].isupper() for name in names) else answer
            for text, label in ((same, "right"), (other, "wrong")):
                if text:
                    response = chance.choice(FORMS).format(text)
                    yield Correct(f"{query}?", response, (answer,)), label, part, "short"


def others(answers: Sequence[Labelled]) -> Iterator[Labelled]:
    """Right written answers that repeat a reference, and the same with another number, month, or reference of its sort
    in its place."""
    chance = random.Random(SEED)
    own = [row for row in answers if row[3] == "answers" and row[1] == "right"]
    alike: dict[str, set[str]] = defaultdict(set)
    for reference in (one for row in own for one in row[0].references):
        if len(reference.split()) <= BRIEF:
            alike[sort(reference)].add(reference)
    for question, label, part, _ in own:
        texts = [text for text in alike["number"] | alike["name"] | alike["other"] if text in question.response]
        text = max(texts, key=lambda text: (text in question.references, len(text), text), default="")
        if text not in question.references:
            continue
        yield question, label, part, "others"
        drawn = chance.choice(sorted(alike[sort(text)] - {*question.references}))
        other = other_month(text, [], chance) or other_number(text, [], chance) or drawn
        if sort(text) == "name" and len(text.split()) > 1 and chance.random() < NAMESAKES:
            other = f"{text.rpartition(' ')[0]} {drawn.split()[-1]}"
        response = question.response.replace(text, other)
        yield Correct(question.query, response, question.references), "wrong", part, "others"


def sort(answer: str) -> str:
    """What an answer is, roughly: a number, a yes or no, a name, or something else."""
    if any(character.isdigit() for character in answer):
        return "number"
    if answer.lower().split()[0].strip(",.") in ("yes", "no"):
        return answer.lower()[:2]
    return "name" if any(word[0].isupper() for word in answer.split()[1:] or answer.split()) else "other"


def valued(rows: Sequence[Labelled]) -> Iterator[tuple[Example, str]]:
    """The values of the answers that the encoder decides, by the reference nearest to each, with their labels."""
    backend = Trained()
    for start in range(0, len(rows), BATCH):
        batch = [row for row in rows[start : start + BATCH] if not decided(row[0])]
        list(backend.prepare([question for question, *_ in batch]))
        for question, label, part, kind in batch:
            if values := backend.answered(question):
                nearest = max(values, key=lambda by_name: sum(by_name.values()))
                yield Example(nearest, float(label == "right"), part == "f", kind, kind), label


def confusion(examples: Sequence[tuple[Example, str]], layers: Any) -> None:
    """Print how written answers of part "f" are labelled, a line for each of their own labels."""
    for wanted in LABELS:
        own = [one.values for one, label in examples if one.held and one.kind == "answers" and label == wanted]
        right = np.array([linear(layers["right"], values) >= 0 for values in own])
        partly = np.array([linear(layers["partly"], values) >= 0 for values in own]) & ~right
        print(f"{wanted:12}{len(own):6}  right {right.mean():.2f}, partly {partly.mean():.2f}")


if __name__ == "__main__":
    main()
