"""Claims that a language model wrote about passages, as training pairs.

    python training/written.py PAIRS    (counts them)

training/written.jsonl.gz has what training/write_claims.py was told. What the model wrote with a passage before it is
taken for supported, unless words tell otherwise: a number that the passage lacks is not supported, and what lacks a
name is left out, since a small model errs. What it wrote of the title alone is taken for not supported, unless by words
the passage says it. Most supported claims also stand with a word exchanged. One passage in four
is kept for fitting the layer that weighs what the reader says.
"""

from __future__ import annotations

import random
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import edits
from fit_lexical import read
from write_claims import SOURCES, answers, key, plain

from ragauge.judges.embedded.lexical.alignment import Claim, find, merged
from ragauge.judges.embedded.lexical.heart import Lexical
from ragauge.judges.embedded.lexical.passages import passage
from ragauge.judges.embedded.lexical.words import Kind, words

FILE = Path(__file__).parent / "written.jsonl.gz"
SOURCE = "written"
_LIKELY = 0.6  # probability by words above which a claim of the title alone is left out
_EDITED = 0.6  # share of the supported claims that also stand edited

Row = dict[str, Any]


def written(rows: Mapping[str, Sequence[Row]], chance: random.Random, *, for_layer: bool = False) -> list[Row]:
    """The claims as rows of one source: premise, claim, label3.

    for_layer: of the passages that are kept from the reader, in place of those that it learns from.
    """
    premises = [plain(row["premise"], source) for source in sorted(SOURCES) for row in rows[source]]
    texts = {key(text): text for text in premises if _kept(text) == for_layer}
    found: list[Row] = []
    for answer in answers(FILE):
        text = texts.get(answer["premise"], "")
        for told in answer["claims"] if text else ():
            label = _unseen(text, told) if answer["kind"] == "unseen" else _seen(text, told)
            if label is not None:
                found.append(_row(text, told, label))
    supported = [row for row in found if row["label3"] == "entailment"]
    for row in chance.sample(supported, int(_EDITED * len(supported))):
        found += _edited(row, chance)
    return found


def _kept(text: str) -> bool:
    """Whether the reader does not learn from a passage."""
    return zlib.crc32(text[:60].encode()) % 4 == 1


def _row(text: str, told: str, label: str) -> Row:
    return {"premise": text, "claim": told, "label3": label, "source": SOURCE}


def _seen(text: str, told: str) -> str | None:
    """The label of a claim written with the passage before it."""
    missing = _missing(text, told)
    if Kind.NUMBER in missing:
        return "not_entailment"
    return None if Kind.NAME in missing else "entailment"


def _unseen(text: str, told: str) -> str | None:
    """The label of a claim written without the passage."""
    return None if (Lexical().entail((text,), told, None).probability or 0.0) > _LIKELY else "neutral"


def _missing(text: str, told: str) -> set[Kind]:
    """The kinds of words that a claim has and the passage lacks."""
    claim = Claim(words(told))
    there = merged(*(one.credits for one in find(claim, passage(text))))
    return {word.kind for at, word in enumerate(claim.items) if at not in there}


def _edited(row: Row, chance: random.Random) -> Iterator[Row]:
    """The claim with one of its facts exchanged for another of the passage or elsewhere."""
    others = edits.plain_sentences(row["premise"])
    against = chance.random() < 0.65
    for edit in chance.sample(edits.AGAINST if against else edits.NEUTRAL, 3):
        told = edit(row["claim"], others, chance)
        if told and told != row["claim"] and told not in row["premise"]:
            yield _row(row["premise"], told, "contradiction" if against else "not_entailment")
            return


def main(pairs: Path) -> None:
    """Count the claims by label."""
    rows = read(pairs)
    for kept in (False, True):
        found = written(rows, random.Random(1), for_layer=kept)
        print(Counter(row["label3"] for row in found), len({row["premise"] for row in found}), "passages")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
