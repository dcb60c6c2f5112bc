"""Collages: natural claims read against more, or other, than the premise that people wrote them for.

A premise stands among its neighbours, or is missing among them, or has lost the sentences or rows that have most of a
claim's words; claims stand alone, or several as one. A claim whose premise is missing is not supported, and neither are
several as one when a single part is not.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from claims import Claim, claimed, natural_claim
from edits import plain_sentences
from held_out import held_out
from neighbours import Neighbours

#: Sources of premises of a sentence or two, which stand together; and of documents, which stand alone.
SENTENCES = frozenset(
    """olora/mnli conjnli_adv infotabs cad_nli/original olora/cb olora/rte fever_symmetric_dev dnc/kg_relations
    curriculum/kg_relations curriculum/syntactic_variation qamr snli_dev""".split()
)
DOCUMENTS = frozenset("boolq curriculum/control curriculum/drop curriculum/ester curriculum/coreference".split())
#: Sources whose claims say so little that many premises support them.
_VAGUE = frozenset("snli_dev cad_nli/original qamr curriculum/drop curriculum/ester".split())
_LENGTHS = (60, 110, 170, 170)  # words of a collage, of which one is drawn
_OWN, _ABSENT, _JOINED = 4, 2, 4  # claims of each kind at most
_ROBBED = frozenset("infotabs boolq".split())  # sources whose claims are each about one place of the premise
_GONE = "collage/absent"  # the source of claims whose support was left out
_NEAR = 12  # neighbours that are looked at
_WORD = re.compile(r"\w{4,}")


class Premise(NamedTuple):
    """A premise with what people said of it. claims: text and label."""

    source: str
    text: str
    claims: tuple[tuple[str, str], ...]


def collages(rows: Mapping[str, Sequence[Any]], count: int, chance: random.Random) -> Iterator[dict[str, Any]]:
    """Groups made around drawn premises."""
    premises = _premises(rows)
    near = Neighbours([premise.text for premise in premises], chance)
    short = [premise for premise in premises if premise.source in SENTENCES]
    for _ in range(count):
        at = chance.randrange(len(premises))
        if premises[at].source in _ROBBED and chance.random() < 0.5:
            yield from _robbed(premises[at], chance)
            continue
        others = [premises[place] for place in near.nearest(at, _NEAR)]
        group = _around(premises[at], others, short, chance)
        if group["claims"] and not held_out(group["premise"]):
            yield group


def _premises(rows: Mapping[str, Sequence[Any]]) -> list[Premise]:
    found: list[Premise] = []
    for source in sorted(SENTENCES | DOCUMENTS):
        claims: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for row in rows[source]:
            claims[row["premise"]].append((row["claim"], row["label3"]))
        learnt = [text for text in sorted(claims) if not held_out(text)]
        found += [Premise(source, text, tuple(claims[text])) for text in learnt]
    return found


def _around(
    premise: Premise, near: Sequence[Premise], short: Sequence[Premise], chance: random.Random
) -> dict[str, Any]:
    """The premise alone or with some of those near it, and claims of all these and of those left out."""
    alone = premise.source in DOCUMENTS
    inside = [premise] if alone else _filled(premise, near, short, chance)
    text = " ".join(one.text for one in chance.sample(inside, len(inside)))
    outside = [one for one in near if one not in inside]
    own = [
        (wording, label, one.source)
        for one in inside
        for wording, label in one.claims
        if label == "entailment" or one.source not in _VAGUE or len(inside) == 1
    ]
    absent = [
        (wording, "neutral", one.source)
        for one in outside
        if one.source not in _VAGUE
        for wording, label in one.claims
        if label == "entailment" and not _stands(wording, text)
    ]
    claims = [
        *(natural_claim(*one) for one in chance.sample(own, min(_OWN, len(own)))),
        *(natural_claim(wording, label, _GONE) for wording, label, _ in _likest(absent, text)),
    ]
    claims += [_joined(own, absent, chance, wrong=bool(turn % 2)) for turn in range(_JOINED)]
    known = [claim for claim in claims if claim is not None]
    return {"premise": text, "claims": chance.sample(known, len(known))}


def _filled(
    premise: Premise, near: Sequence[Premise], short: Sequence[Premise], chance: random.Random
) -> list[Premise]:
    """The premise and others up to a drawn length: every second of its neighbours, and some drawn from anywhere."""
    left = chance.choice(_LENGTHS) - len(premise.text.split())
    found = [premise]
    candidates = [one for one in near if one.source in SENTENCES and chance.random() < 0.5]
    while left > 0:
        one = candidates.pop(0) if candidates and chance.random() < 0.8 else chance.choice(short)
        if one not in found:
            found.append(one)
            left -= len(one.text.split())
    return found


def _joined(
    own: Sequence[tuple[str, str, str]], absent: Sequence[tuple[str, str, str]], chance: random.Random, *, wrong: bool
) -> Claim | None:
    """Two or three claims that hold, as one; or the same with one among them that does not."""
    true = [one for one in own if one[1] == "entailment" and "?" not in one[0]]
    false = [one for one in (*own, *absent) if one[1] != "entailment" and "?" not in one[0]]
    count = chance.choice((2, 2, 3)) - wrong
    if len(true) < count or (wrong and not false):
        return None
    parts = chance.sample(true, count)
    place = chance.randrange(count + 1)
    if wrong:
        parts.insert(place, chance.choice(false))
    join = chance.choice((". ", ". ", ", and ", "; "))
    texts = [wording.strip().rstrip(".") for wording, *_ in parts]
    start = sum(len(text) + len(join) for text in texts[:place])
    spans = [[start, start + len(texts[place])]] if wrong else []
    label = parts[place][1] if wrong else "entailment"
    return claimed(join.join(texts) + ".", label, spans, f"joined/{label}")


def _robbed(premise: Premise, chance: random.Random) -> Iterator[dict[str, Any]]:
    """The premise without what holds most of a claim that it supports, and what is left unharmed."""
    held = [wording for wording, label in premise.claims if label == "entailment"]
    parts = premise.text.split("\n") if premise.source == "infotabs" else plain_sentences(premise.text)
    if not held or len(parts) < 4:
        return
    claim = chance.choice(held)
    titles = parts[: premise.source == "infotabs"]
    rest, known = parts[len(titles) :], _words(" ".join(titles))
    asked = _words(claim) - known
    best = max((len(asked & _words(part)) for part in rest), default=0)
    kept = [*titles, *(part for part in rest if len(asked & _words(part)) < best)]
    if not best or len(kept) < 3:
        return
    text = "\n".join(kept) if premise.source == "infotabs" else " ".join(kept)
    claims = [natural_claim(claim, "neutral", _GONE)]
    for wording, label in premise.claims:
        mine = _words(wording) - known
        whole = mine and mine & _words(premise.text) == mine & _words(text)
        claims += [natural_claim(wording, label, premise.source)] if whole and wording != claim else []
    yield {"premise": text, "claims": claims}


def _likest(absent: Sequence[tuple[str, str, str]], text: str) -> list[tuple[str, str, str]]:
    """The claims that have most words of the text."""
    known = _words(text)
    return sorted(absent, key=lambda one: -len(_words(one[0]) & known) / (len(_words(one[0])) + 1))[:_ABSENT]


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}


def _stands(claim: str, text: str) -> bool:
    """Whether nearly all longer words of a claim are in a text, so that it may support it after all."""
    words = _words(claim)
    return len(words & _words(text)) >= 0.85 * len(words)
