"""True claims that repeat a text: its sentences whole, shortened, or two as one; and some with a number changed."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any

from claims import claimed

from ragauge.text.sentences import sentences

Group = dict[str, Any]

SHARE = 1 / 3  # copies to each other true claim: a quarter of all
WRONG = 0.25  # wrong copies to each copy
_WORDS = range(4, 45)
_NUMBER = re.compile(r"(?<![\w.,])\d{1,6}(?![\w,]|\.\d)")
#: What may be left out of a sentence without making it false: brackets, the opening, what follows a comma at the end.
_LEFT_OUT = (
    re.compile(r" \([^()]{3,80}\)"),
    re.compile(
        r"^(?:However|Moreover|Furthermore|In addition|Also|For example|Therefore|Thus|Meanwhile|Finally|Overall), "
    ),
    re.compile(r"^(?:In|On|Since|During|By) [^,;:]{0,40}\d{4}, (?=[A-Z])"),
    re.compile(r", (?:which|where|who|whose|while|although) [^;:]{8,120}(?=[.!]$)"),
    re.compile(r",? (?:including|such as|because) [^;:]{8,120}(?=[.!]$)"),
    re.compile(r"(?:, and|;|, but| –| —) (?:he |she |it |they |the |we )[^;:]{8,120}(?=[.!]$)"),
)
_CONDITION = re.compile(r"\b(?:if|unless|only|except|not|no|never|nor|until|without|or|any|every|all)\b", re.I)


def with_copies(group: Group, chance: random.Random) -> Group:
    """A group with copies among its claims, as many as are a quarter of its true ones on average."""
    true = sum(claim["label"] == "entailment" for claim in group["claims"])
    wanted = sum(chance.random() < SHARE for _ in range(true))
    own = [text for text in _sentences(group["premise"]) if len(text.split()) in _WORDS]
    if not own or group["held"]:
        return group
    claims = [claimed(_copy(own, chance), "entailment", None, "copy") for _ in range(wanted)]
    if chance.random() < WRONG * wanted:
        claims += [
            claimed(text, "contradiction", None, "copy_number") for text in other_number(group["premise"], chance)
        ]
    return group | {"claims": chance.sample(found := [*group["claims"], *claims], len(found))}


def _sentences(text: str) -> list[str]:
    return [text[start:end].strip() for start, end in sentences(text)]


def long_sentences(text: str) -> list[str]:
    """The sentences of more than 20 characters; the text itself where it has none."""
    return [one for one in _sentences(text) if len(one) > 20] or [text]


def _copy(own: list[str], chance: random.Random) -> str:
    text, way = chance.choice(own), chance.random()
    if way < 0.4:
        return text
    if way < 0.7 and len(own) > 1:
        first, second = chance.sample(own, 2)
        if len(first.split()) + len(second.split()) < max(_WORDS):
            return first.rstrip(". ") + chance.choice((" and ", ". ", ", and ", "; ")) + second
    return shortened(text, chance)


def shortened(text: str, chance: random.Random) -> str:
    """A sentence without what can be left out of it, where it has that; its form otherwise."""
    for pattern in chance.sample(_LEFT_OUT, len(_LEFT_OUT)):
        left = pattern.sub("", text, count=1)
        if left != text and len(left.split()) in _WORDS and not _CONDITION.search(text):
            return left[0].upper() + left[1:]
    return chance.choice((text.rstrip("."), text.strip("-*• "), text))


def other_number(text: str, chance: random.Random) -> Iterator[str]:
    """A sentence of a text with one of its numbers replaced by another that its text does not have there."""
    numbered = [one for one in long_sentences(text) if _NUMBER.search(one)]
    if numbered:
        sentence = chance.choice(numbered)
        found = chance.choice(list(_NUMBER.finditer(sentence)))
        others = sorted({number for number in _NUMBER.findall(text) if number not in sentence})
        value = chance.choice(others) if others and chance.random() < 0.5 else str(int(found[0]) + chance.randint(1, 9))
        yield sentence[: found.start()] + value + sentence[found.end() :]
