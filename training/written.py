"""Groups out of the written data: a premise with its labelled claims, for training/train_encoder.py.

    python training/written.py OUT FOLDER... [--kinds documents,long_claims] [--seed 1]

FOLDER: where documents.jsonl.gz, long_claims.jsonl.gz and so on are (see training/written/README.md). "held" of a group
is "dev" where sha1(id) begins with f: these choose checkpoints; "fit" where it begins with e: these fit the layers; and
"" where the encoder is trained on it. The seed fixes all.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import rows
from claims import Claim, claimed
from copies import long_sentences, other_number, with_copies

from ragauge.judges.embedded.passages import windows

Group = dict[str, Any]

LABELS = {"entailed": "entailment", "neutral": "neutral", "contradicted": "contradiction"}
ANSWERS = {"right": "entailment", "wrong": "contradiction", "partly": "not_entailment"}
SENTENCES = {"supported": "entailment", "unsupported": "neutral", "contradicted": "contradiction"}
MOST = 10  # claims of a group with parts
WINDOW = 190  # words of a text that is read at once
SHORT = 8  # words up to which a claim is read after its query, as the judge does


def held(row_id: str) -> str:
    """What a row is kept aside for: "dev", choosing checkpoints, "fit", fitting the layer, or "" for training."""
    return {"e": "fit", "f": "dev"}.get(hashlib.sha1(row_id.encode()).hexdigest()[0], "")


def claim(text: str, label: str, source: str) -> Claim:
    """A claim as the trainer reads it."""
    return claimed(text, label, None, source)


def after_query(query: str | None, text: str) -> str:
    """A short text behind the query that it answers, as the judge reads it."""
    return f"{query.strip()} {text}" if query and len(text.split()) <= SHORT else text


def documents(found: list[Group], chance: random.Random) -> Iterator[Group]:
    """Each document with its claims, one of its sentences, and a claim and a sentence of another."""
    for row in found:
        claims = [claim(one["text"], LABELS[one["label"]], "documents") for one in row["claims"]]
        other = chance.choice(found)
        if _apart(row, other):
            easy = [chance.choice(other["claims"])["text"], chance.choice(long_sentences(other["text"]))]
            claims += [claim(text, "neutral", "documents_easy") for text in easy]
            claims.append(claim(chance.choice(long_sentences(row["text"])), "entailment", "documents_easy"))
        if row.get("query") and row.get("answer"):
            claims.append(claim(after_query(row["query"], row["answer"]), "entailment", "documents_answer"))
        claims += [claim(text, "contradiction", "documents_number") for text in other_number(row["text"], chance)]
        claims += [claim(text, label, "documents_joined") for text, label in joined(row, chance)]
        claims += _queries(row, found, chance)
        yield _group(row, _premise(row, chance), claims, chance)


def long_claims(found: list[Group], chance: random.Random) -> Iterator[Group]:
    """Each document with its long claims and their parts, and a claim of another."""
    for row in found:
        claims: list[Claim] = []
        for one in row["claims"]:
            parts = one["parts"] if len(one["parts"]) > 1 else []
            claims.append(claim(one["text"], LABELS[one["label"]], "long" if parts else "long_short"))
            claims += [claim(part["text"], LABELS[part["label"]], "long_part") for part in parts]
        chance.shuffle(claims)
        other = chance.choice(found)
        if _apart(row, other):
            claims.append(claim(chance.choice(other["claims"])["text"], "neutral", "long_easy"))
        premise = _premise(row, chance)
        for start in range(0, len(claims), MOST):
            yield _group(row, premise, claims[start : start + MOST], chance)


def _apart(row: Group, other: Group) -> bool:
    """Whether `other` is another row that is kept aside for the same, so that it may lend a claim."""
    return other is not row and held(other["id"]) == held(row["id"])


def _premise(row: Group, chance: random.Random) -> str:
    """The text of a document, every second time below its title."""
    return f"{row['title']}\n{row['text']}" if row.get("title") and chance.random() < 0.5 else row["text"]


def joined(row: Group, chance: random.Random) -> Iterator[tuple[str, str]]:
    """Claims of a document joined into long ones, as people write them, with their labels.

    Two or three true ones, and the same with one among them that is not.
    """
    true = [one["text"] for one in row["claims"] if one["label"] == "entailed"]
    false = [one for one in row["claims"] if one["label"] != "entailed"]
    if len(true) > 3 and false:
        yield _one_claim(chance.sample(true, chance.choice((2, 2, 3))), chance), "entailment"
        wrong = chance.choice(false)
        parts = [wrong["text"], *chance.sample(true, chance.choice((1, 1, 2)))]
        yield _one_claim(chance.sample(parts, len(parts)), chance), LABELS[wrong["label"]]


def _one_claim(texts: list[str], chance: random.Random) -> str:
    first, *rest = (text.rstrip(". ") for text in texts)
    for text in rest:
        opening = text.split(" ", 1)[0]
        text = text[0].lower() + text[1:] if opening in _LOWERED else text
        first += chance.choice((", and ", ", and ", "; ", ", while ")) + text
    return f"{first}."


def _queries(row: Group, found: list[Group], chance: random.Random) -> Iterator[Claim]:
    """The query that a text answers, and that of another, which it does not: so the encoder learns relevance too."""
    other = chance.choice(found)
    if row.get("query"):
        yield claim(row["query"], "entailment", "query")
    if other.get("query") and _apart(row, other):
        yield claim(other["query"], "neutral", "query")


def short_premises(found: list[Group], chance: random.Random) -> Iterator[Group]:
    """Each premise by itself; and, of those that are trained on, several as one text."""
    for row in found:
        yield _group(row, row["text"], [*_short_claims(row), *_queries(row, found, chance)], chance)
    learnt = [row for row in found if not held(row["id"])]
    chance.shuffle(learnt)
    while len(learnt) > 4:
        several = [learnt.pop() for _ in range(chance.randint(2, 4))]
        claims = [one for row in several for one in _short_claims(row)]
        yield _group(several[0], " ".join(row["text"] for row in several), chance.sample(claims, 8), chance)


def _short_claims(row: Group) -> list[Claim]:
    claims = row["claims"]
    return [claim(after_query(row.get("query"), one["text"]), LABELS[one["label"]], "short") for one in claims]


def answers(found: list[Group], chance: random.Random) -> Iterator[Group]:
    """Each reference with the answers held against it, and each answer with the references held against it."""
    for row in found:
        query, labelled = row["query"].strip(), [(one["text"], ANSWERS[one["label"]]) for one in row["answers"]]
        for reference in row["references"]:
            claims = [claim(f"{query} {text}", label, "answers") for text, label in labelled]
            other = chance.choice(found)
            claims.append(claim(f"{query} {chance.choice(row['references'])}", "entailment", "answers_easy"))
            if _apart(row, other):
                claims.append(claim(f"{query} {other['references'][0]}", "contradiction", "answers_easy"))
            yield _group(row, f"{query} {reference}", claims, chance)
        other = chance.choice(found)
        if held(other["id"]) == held(row["id"]):
            asked = [claim(query, "entailment", "query"), claim(other["query"], "neutral", "query")]
            yield _group(row, chance.choice(labelled)[0], asked[: 1 + (other is not row)], chance)
        for text, label in labelled:
            claims = [claim(f"{query} {one}", label, "answers_back") for one in row["references"]]
            yield _group(row, f"{query} {text}", claims, chance)


def responses(found: list[Group], chance: random.Random) -> Iterator[Group]:
    """The sentences of a response with all its chunks, and with each chunk alone where that decides."""
    for row in found:
        judged = [one for one in row["sentences"] if one["label"] in SENTENCES]
        claims = [claim(one["text"], SENTENCES[one["label"]], "responses") for one in judged]
        claims += [claim(one["fixed"], "entailment", "responses") for one in judged if one.get("fixed")]
        texts = row["contexts"]
        for start in range(0, len(claims), 8):
            order = chance.sample(texts, len(texts))
            yield _group(row, "\n\n".join(order), claims[start : start + 8], chance)
        for number, text in enumerate(texts, 1):
            alone = [one for one in judged if one["chunks"] == [number]]
            claims = [claim(one["text"], SENTENCES[one["label"]], "responses_chunk") for one in alone]
            if claims:
                yield _group(row, text, claims, chance)


def bots(found: list[Group], chance: random.Random) -> Iterator[Group]:
    """The sentences of an assistant with all chunks or any two, and with the chunk alone that decides.

    Of a case that is kept aside each sentence is held once against the window that has most of its words.
    """
    for row in found:
        texts = row["chunks"]
        labelled = [(one, claim(one["text"], LABELS[one["label"]], "bots")) for one in row["claims"]]
        if held(row["id"]):
            whole = "\n\n".join(texts)
            claims: dict[str, list[Claim]] = defaultdict(list)
            for _, made in labelled:
                claims[window(whole, made["text"])].append(made)
            yield from (_group(row, text, several, chance) for text, several in claims.items())
            continue
        places = range(len(texts))
        short = sum(len(text.split()) for text in texts) <= WINDOW
        for view in [tuple(places)] if short else combinations(places, 2):
            seen = [made for one, made in labelled if set(one.get("chunks") or []) <= set(view)]
            yield _group(row, "\n\n".join(texts[at] for at in chance.sample(view, len(view))), seen, chance)
        for place in places:
            alone = [made for one, made in labelled if one.get("chunks") == [place]]
            if alone:
                yield _group(row, texts[place], alone, chance)


def window(text: str, claim: str) -> str:
    """The window of a text, as the judge reads it, that has most of a claim's words."""
    asked = _words(claim)
    return max((one.text for one in windows(text)), key=lambda one: len(asked & _words(one)), default=text)


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w{3,}|\d+", text.lower()))


def _group(row: Group, premise: str, claims: list[Claim], chance: random.Random) -> Group:
    chance.shuffle(claims)
    return {"premise": premise, "claims": claims, "held": held(row["id"])}


_LOWERED = frozenset(
    "The A An It She He They In On At After Before When If This There Its His Her Their One Both".split()
)
KINDS = {
    "documents": documents,
    "long_claims": long_claims,
    "short_premises": short_premises,
    "answers": answers,
    "responses": responses,
    "bots": bots,
}


def main() -> None:
    """Read all folders, write the groups in a drawn order, count the claims."""
    options = argparse.ArgumentParser()
    options.add_argument("out", type=Path)
    options.add_argument("folders", type=Path, nargs="+")
    options.add_argument("--kinds", default=",".join(KINDS))
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    chance, found = random.Random(given.seed), []
    for name, made in ((name, KINDS[name]) for name in given.kinds.split(",")):
        files = [folder / f"{name}.jsonl.gz" for folder in given.folders]
        found += made([row for file in files if file.exists() for row in rows.read(file)], chance)
    chance.shuffle(found)
    rows.write_groups(given.out, [with_copies(group, chance) for group in found])


if __name__ == "__main__":
    main()
