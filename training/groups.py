"""Groups: a premise with the claims that are read against it. Natural pairs by premise, and claims made from documents.

    python training/groups.py PAIRS OUT [--groups 40000] [--collages 0] [--seed 1]

Writes one group a line: {"premise", "claims": [{"text", "label", "wrong", "source"}]}. label: "entailment", "neutral",
"contradiction", or "not_entailment" where the source does not say which. wrong: the characters of the claim that the
premise does not support, [] for none, null where that is not known. The seed fixes everything.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path

import edits
from claims import Claim, claimed, natural_claim
from collages import collages
from neighbours import Neighbours
from rewordings import said_otherwise
from rows import Row, by_source, write_groups

Span = list[int]

#: Sources whose premises are documents, out of which claims are made.
DOCUMENTS = """boolq curriculum/control curriculum/drop curriculum/ester wice_train curriculum/coreference qamr
    infotabs curriculum/entailment_tree olora/mnli olora/cb olora/rte curriculum/syntactic_variation""".split()
#: How many pairs of a source are taken at most; others all. Large sets of one narrow pattern teach that pattern alone.
MOST = defaultdict(
    lambda: 1200,
    {
        "qamr": 16000, "infotabs": 14000, "conjnli_adv": 12000, "curriculum/coreference": 9000, "olora/mnli": 10467,
        "snli_dev": 9752, "cad_nli/revised_combined": 7386, "curriculum/control": 8157, "boolq": 5153,
        "curriculum/ester": 3203, "curriculum/syntactic_variation": 4069, "curriculum/drop": 4000,
        "curriculum/logiqa": 1500, "curriculum/analytic": 500, "curriculum/transitive": 800, "dnc/factuality": 800,
        "curriculum/sentiment": 600, "curriculum/ner": 2000, "curriculum/temporal": 1500, "curriculum/negation": 2000,
        "curriculum/entailment_tree": 1644, "cad_nli/original": 1639, "fever_symmetric_dev": 615, "olora/cb": 306,
        "curriculum/verbcorner": 200, "dnc/megaveridicality": 300,
    },
)  # fmt: skip
COLLAGE = frozenset(
    "snli_dev olora/mnli cad_nli/revised_combined cad_nli/original conjnli_adv qamr curriculum/ner".split()
)
CLAIMS, WORDS = 8, 190  # of a group: claims at most, and words of a premise made here
_FALSE = re.compile(r"^[^-]{2,60} -- ")


def main() -> None:
    """Make the groups, write them in a drawn order, count them."""
    options = argparse.ArgumentParser()
    options.add_argument("pairs", type=Path)
    options.add_argument("out", type=Path)
    options.add_argument("--groups", type=int, default=40000, help="groups made from documents")
    options.add_argument("--collages", type=int, default=0, help="groups of natural claims put together anew")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    chance = random.Random(given.seed)
    rows = by_source(given.pairs)
    found = [*natural(rows, chance), *made(rows, given.groups, chance), *collages(rows, given.collages, chance)]
    chance.shuffle(found)
    write_groups(given.out, found)


def natural(rows: dict[str, list[Row]], chance: random.Random) -> Iterator[Row]:
    """Pairs as they are, by premise; half of those with short premises several together, as one document."""
    for source, all_pairs in sorted(rows.items()):
        pairs = chance.sample(all_pairs, min(MOST[source], len(all_pairs)))
        claims: dict[str, list[Claim]] = defaultdict(list)
        for row in pairs:
            claims[row["premise"]].append(natural_claim(row["claim"], row["label3"], source))
        premises = sorted(claims)
        chance.shuffle(premises)
        while premises:
            several = chance.randint(2, 5) if source in COLLAGE and chance.random() < 0.5 else 1
            taken = [premises.pop() for _ in range(min(several, len(premises)))]
            found = [claim for premise in taken for claim in claims[premise]]
            chance.shuffle(found)
            for start in range(0, len(found), CLAIMS):
                yield {"premise": " ".join(taken), "claims": found[start : start + CLAIMS]}


def made(rows: dict[str, list[Row]], count: int, chance: random.Random) -> Iterator[Row]:
    """Documents, cut to a length, with true and false claims about them."""
    pool = {source: sorted({row["premise"] for row in rows[source]} - {""}) for source in DOCUMENTS}
    loose = [text for source in ("olora/mnli", "qamr", "curriculum/coreference") for text in pool[source]]
    long = [text for source in DOCUMENTS for text in pool[source] if len(edits.plain_sentences(text)) >= 3]
    near = Neighbours(long, chance)
    for _ in range(count):
        at = chance.randrange(len(long))
        document = " ".join(chance.sample(loose, chance.randint(3, 6))) if chance.random() < 0.15 else long[at]
        group = about(document, near.of(at), chance)
        if group:
            yield group


def about(document: str, neighbour: str, chance: random.Random) -> Row | None:
    """A stretch of the document with claims about it."""
    own = [_FALSE.sub("", text) for text in edits.plain_sentences(document)]
    if len(own) < 2:
        return None
    start = chance.randrange(max(1, len(own) - 1))
    kept, left = _stretch(own, start, chance.choice((50, 100, WORDS, WORDS)))
    taken = [kept.pop(chance.randrange(len(kept))) for _ in range(min(len(kept) // 3, 2))]
    others = [_FALSE.sub("", text) for text in edits.plain_sentences(neighbour)]
    claims = [claim for _ in range(CLAIMS // 2 - 2) for claim in _both(kept, left + others, chance)]
    claims += _several(kept, taken or left[:3], chance)
    claims += _elsewhere(kept, taken or left[:3] or others[:4], chance)
    kept, claims = _turned(kept, claims, others, chance)
    chance.shuffle(claims)
    return {"premise": " ".join(kept), "claims": claims[: CLAIMS + 1]} if claims else None


def _restated(text: str, chance: random.Random) -> str:
    """A sentence in other words: by several rewordings, or with words left out, put in and replaced."""
    text = said_otherwise(text, chance, most=5)
    return edits.restated([text], chance) if chance.random() < 0.3 else text


def _several(kept: list[str], far: list[str], chance: random.Random) -> list[Claim]:
    """Two or three sentences as one claim; and the same with one of them from elsewhere, or stated wrongly."""
    if len(kept) < 3 or not far:
        return []
    found = [_restated(text, chance).rstrip(".") for text in chance.sample(kept, chance.choice((2, 2, 3)))]
    at = chance.randrange(len(found))
    wrong = _edited(found[at], edits.AGAINST, kept + far, chance) if chance.random() < 0.5 else None
    label = "contradiction" if wrong else "neutral"
    false = [*found[:at], wrong or _restated(chance.choice(far), chance).rstrip("."), *found[at + 1 :]]
    join = chance.choice((" and ", ". ", ", and ", "; "))
    true_text, false_text = (join.join(parts) + "." for parts in (found, false))
    return [
        claimed(true_text, "entailment", [], "made/several_true"),
        claimed(false_text, label, changed(true_text, false_text) or None, "made/several_wrong"),
    ]


def _elsewhere(kept: list[str], far: list[str], chance: random.Random) -> list[Claim]:
    """What was taken out of the document, or stands elsewhere in it or in one like it; alone, and after what is so."""
    found = [claimed(_restated(text, chance), "neutral", None, "made/elsewhere") for text in far[:2]]
    if kept and far and chance.random() < 0.5:
        true, more = _restated(chance.choice(kept), chance), _restated(chance.choice(far), chance)
        wrong = [[len(true) + 1, len(true) + 1 + len(more)]]
        found.append(claimed(f"{true} {more}", "neutral", wrong, "made/half_elsewhere"))
    return found


def _stretch(own: list[str], start: int, words: int) -> tuple[list[str], list[str]]:
    """The sentences from `start` on up to `words` words, and the others."""
    end = start
    while end < len(own) and sum(len(text.split()) for text in own[start : end + 1]) <= words:
        end += 1
    end = max(end, start + 1)
    return own[start:end], own[:start] + own[end:]


def _both(kept: list[str], others: list[str], chance: random.Random) -> Iterator[Claim]:
    """A sentence in other words, and stated wrongly."""
    if not kept:
        return
    sentence = chance.choice(kept)
    two = len(kept) > 1 and chance.random() < 0.15
    second = " " + said_otherwise(chance.choice(kept), chance) if two else ""
    true = _restated(sentence, chance)
    yield claimed(true + second, "entailment", [], "made/true")
    base = said_otherwise(sentence, chance, most=2)
    kinds, label = (edits.AGAINST, "contradiction") if chance.random() < 0.65 else (edits.NEUTRAL, "not_entailment")
    wrong = _edited(base, kinds, kept + others, chance)
    if wrong and wrong not in " ".join(kept):
        spans = changed(base, wrong)
        yield claimed(wrong + second, label, spans or None, "made/wrong")


def _edited(text: str, kinds: Sequence[edits.Edit], others: Sequence[str], chance: random.Random) -> str | None:
    for edit in chance.sample(kinds, len(kinds)):
        new = edit(text, others, chance)
        if new and new != text:
            return new
    return None


def _turned(
    kept: list[str], claims: list[Claim], others: list[str], chance: random.Random
) -> tuple[list[str], list[Claim]]:
    """At times the document itself is edited: what stood there is wrong then, and the edited sentence is right."""
    at = chance.randrange(len(kept))
    wrong = _edited(kept[at], edits.AGAINST, kept + others, chance) if chance.random() < 0.4 else None
    if wrong is None:
        return kept, claims
    spans = changed(wrong, kept[at])
    about_it = [claim for claim in claims if not _shares(claim["text"], kept[at])]
    turned = [
        claimed(kept[at], "contradiction", spans or None, "made/turned_wrong"),
        claimed(said_otherwise(wrong, chance, most=1), "entailment", [], "made/turned_true"),
    ]
    return [*kept[:at], wrong, *kept[at + 1 :]], [*turned, *about_it]


def _shares(claim: str, sentence: str) -> bool:
    """Whether a claim may be about a sentence: most of its words stand there."""
    mine, theirs = set(re.findall(r"\w+", claim.lower())), set(re.findall(r"\w+", sentence.lower()))
    return len(mine & theirs) > 0.4 * len(mine)


def changed(before: str, after: str) -> list[Span]:
    """The characters of `after` that are not in `before`, by whole words."""
    old, new = [list(re.finditer(r"\w+|[^\w\s]", text)) for text in (before, after)]
    matcher = SequenceMatcher(None, [at[0] for at in old], [at[0] for at in new], autojunk=False)
    return [
        [new[first].start(), new[last - 1].end()]
        for kind, _, _, first, last in matcher.get_opcodes()
        if kind in ("replace", "insert")
    ]


if __name__ == "__main__":
    main()
