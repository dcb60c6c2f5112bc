"""The prompts: what each kind of question asks of a model, in our own words, one file a section.

A system message is the preamble, the sections of the kinds that occur, in the order of `questions.KINDS`, and what a
reply carries beside its answers. It depends on nothing else: calls that ask the same kinds have the same prefix, which
servers that cache prefixes of any length (vLLM, llama.cpp, SGLang) read once. OpenAI and Anthropic cache none below
1,024 tokens, which it does not reach, and where a schema is sent they put it before it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.resources import files

import msgspec

from ragauge.questions import KINDS

#: Raised by one whenever layout, schema or the reading of replies changes what a model sees or what its answers mean.
FORM = 2

_SECTIONS = ("preamble", *KINDS, "why", "quote")


class Style(msgspec.Struct, frozen=True):
    """What a verdict carries beside its label or grade.

    rationales: a short reason before it. quotes: the words of a source that decide, for entailment and relevance.
    """

    rationales: bool = True
    quotes: bool = False


@cache
def _section(name: str) -> str:
    return (files(__package__) / f"prompts/{name}.md").read_text(encoding="utf-8").strip()


@lru_cache(maxsize=256)
def system(kinds: frozenset[str], style: Style) -> str:
    """The system message of a call that asks questions of these kinds."""
    named = ["preamble", *(kind for kind in KINDS if kind in kinds)]
    if style.rationales and kinds != {"decompose"}:
        named.append("why")
    if style.quotes and not kinds.isdisjoint(("entail", "relevant")):
        named.append("quote")
    return "\n\n".join(map(_section, named))


def _digest(texts: Iterable[str]) -> str:
    """A short hash that changes with every text and with the form of messages."""
    return hashlib.sha256("\0".join([str(FORM), *texts]).encode()).hexdigest()[:8]


#: Tells versions of the prompts apart; part of the identity of every judge that uses them.
DIGEST = _digest(map(_section, _SECTIONS))
