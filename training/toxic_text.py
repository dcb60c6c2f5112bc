"""Sentences that are hostile or only look like it, made from the frames of toxic_text.txt. Seeded; only for fitting."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

_FRAMES = Path(__file__).with_suffix(".txt")
_SLOT = re.compile(r"\{(\w+)\}")
_ARTICLE = re.compile(r"\{a\} +(?=(\W*)(\w))")
_SPACES = re.compile(r" {2,}")

_OPENINGS = (
    "Honestly,|Look,|I think|In my opinion,|Well,|tbh|lol|And|But|Listen:|So|Let me be clear:|Everyone knows that|"
    "I read that|Today somebody told me something.|Just my two cents:|Sorry, but|OK,|Dear editor,|My point is that|"
    "Remember:|PSA:|Seriously,|Yesterday I wrote this:|imo|Hey,"
).split("|")
_ENDINGS = "!|!!!| lol| :)|...| smh| #truth|, you know.| 😂|, period.| (and I mean it)|, I guess.".split("|")


class Family(NamedTuple):
    """Frames of one kind, and whether what they say is hostile."""

    name: str
    toxic: bool
    frames: tuple[str, ...]


class Example(NamedTuple):
    """A text, whether it is toxic, and the family it was made from."""

    family: str
    toxic: bool
    text: str


@cache
def families() -> tuple[Family, ...]:
    """All families, in the order of the file."""
    return tuple(Family(head[2:], head[0] == "+", tuple(lines)) for head, *lines in _paragraphs() if head[0] in "+-")


@cache
def slots() -> dict[str, tuple[str, ...]]:
    """What may stand in each slot."""
    return {
        head[2:]: tuple(filler.strip() for filler in " ".join(lines).split("|"))
        for head, *lines in _paragraphs()
        if head[0] == "="
    }


def _paragraphs() -> list[list[str]]:
    paragraphs = _FRAMES.read_text(encoding="utf-8").split("\n\n")
    return [lines for paragraph in paragraphs if (lines := paragraph.strip().splitlines()) and lines[0][0] != "#"]


def examples(per_frame: int, chance: random.Random) -> Iterator[Example]:
    """Every frame of every family, filled and styled `per_frame` times."""
    for family in families():
        for frame in family.frames:
            for _ in range(per_frame if "{" in frame else max(1, per_frame // 3)):
                yield Example(family.name, family.toxic, styled(filled(frame, chance), chance))


def filled(frame: str, chance: random.Random) -> str:
    """The frame with something in each slot, and "a" or "an" where it has {a}."""
    text = _SLOT.sub(lambda slot: slot[0] if slot[1] == "a" else chance.choice(slots()[slot[1]]), frame)
    text = _ARTICLE.sub(lambda found: ("an " if found[2] in "aeiouAEIOU" else "a ") + found[1], text)
    text = _SPACES.sub(" ", text).strip()
    return text[0].upper() + text[1:] if frame[0] == "{" or frame[0].isupper() else text


def styled(text: str, chance: random.Random) -> str:
    """The text as it stands, or as people write it on the net: another opening, ending or case."""
    kind = chance.random()
    if kind < 0.12:
        opening = chance.choice(_OPENINGS)
        text = f"{opening} {text if opening[-1] in ':.' or text[:2] == 'I ' else text[0].lower() + text[1:]}"
    elif kind < 0.24 and text[-1] in ".!":
        text = text.rstrip(".!") + chance.choice(_ENDINGS)
    case = chance.random()
    if case < 0.15:
        return text.lower().rstrip(".")
    return text.upper() if case > 0.97 else text
