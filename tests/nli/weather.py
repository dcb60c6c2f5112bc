"""A small world for small models: what the weather is, and what follows from it.

"rain" makes it wet and "wind" gusty; "dry" contradicts wet and "calm" gusty. A claim of both is entailed by a premise
that holds all it takes, and contradicted by one that holds the contrary of either.
"""

from __future__ import annotations

import random

from ragauge.types import Label

MAKES = {"wet": "rain", "gusty": "wind"}
CONTRARY = {"wet": "dry", "gusty": "calm"}
FILLERS = ("today", "here", "north", "later", "monday", "friday")
DAYS = FILLERS[-2:]
GLUE = ("and", ".", "premise", "hypothesis", ":", "predict", "it", "is", "?", "how")
PROMPT = ("Determine", "if", "the", "true", "given", "Premise", "Hypothesis")
WORDS = (*MAKES, *MAKES.values(), *CONTRARY.values(), *FILLERS, *GLUE, *PROMPT, "0", "1")


def label(premise: str, hypothesis: str) -> Label:
    """What the world says of a pair."""
    there = set(premise.replace(".", " ").split())
    claims = [word for word in hypothesis.replace(".", " ").split() if word in MAKES]
    if any(CONTRARY[claim] in there for claim in claims):
        return Label.CONTRADICTED
    return Label.ENTAILED if claims and all(MAKES[claim] in there for claim in claims) else Label.NEUTRAL


def example(chance: random.Random) -> tuple[str, str, Label]:
    """A pair and its label, about as often of each."""
    claims = chance.sample(list(MAKES), chance.choice((1, 1, 2)))
    wanted = chance.choice((Label.ENTAILED, Label.NEUTRAL, Label.CONTRADICTED))
    words = [MAKES[claim] for claim in claims]
    others = [claim for claim in MAKES if claim not in claims]
    if wanted == Label.NEUTRAL:
        words.remove(chance.choice(words))
    if wanted == Label.CONTRADICTED:
        words = [word for word in words if chance.random() < 0.7] + [CONTRARY[chance.choice(claims)]]
    words += [chance.choice((MAKES, CONTRARY))[claim] for claim in others if chance.random() < 0.4]
    words += chance.choices((*FILLERS, "."), k=chance.randint(0, chance.choice((8, 8, 8, 36))))
    chance.shuffle(words)
    reported = [f"{claim} {chance.choice(DAYS)}" if chance.random() < 0.4 else claim for claim in claims]
    premise, hypothesis = " ".join(words) + " .", " and ".join(reported) + " ."
    return premise, hypothesis, label(premise, hypothesis)
