"""The prompts: what each kind of question asks of a model, in our own words, and the schema of the reply.

A system message is the preamble, the sections of the kinds that occur, in the order of `questions.KINDS`, and the
sections on rationales and quotes. It depends on nothing else: calls that ask the same kinds have the same prefix, which
servers that cache prefixes of any length (vLLM, llama.cpp, SGLang) read once. OpenAI and Anthropic cache none below
1,024 tokens, which it does not reach, and where a schema is sent they put it before the message.

Schemas use only what strict modes and grammars of servers have in common: all properties required and no others,
`$defs`, enums, and bounds for numbers only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.resources import files
from math import ceil, floor
from typing import Any, Literal, NamedTuple

import msgspec

from ragauge.questions import KINDS

#: Increased whenever layout, schema or parsing changes what a model sees or what its answers mean.
FORM = 2

_SECTIONS = ("preamble", *KINDS, "why", "quote")


class PromptStyle(msgspec.Struct, frozen=True):
    """What a verdict holds in addition to its label or grade.

    rationales: a short reason before it. quotes: the words of a source that decide, for entailment and relevance.
    """

    rationales: bool = True
    quotes: bool = False


@cache
def _section(name: str) -> str:
    return (files(__package__) / f"prompts/{name}.md").read_text(encoding="utf-8").strip()


@lru_cache(maxsize=256)
def system(kinds: frozenset[str], style: PromptStyle) -> str:
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


#: The version of the prompts; part of the identity of every judge that uses them.
DIGEST = _digest(map(_section, _SECTIONS))


Schema = dict[str, Any]

STATEMENT_KINDS = ("claim", "opinion", "both", "neither")

_LABELS: dict[str, tuple[str, ...]] = {
    "entail": ("entailed", "neutral", "contradicted"),
    "joint": ("entailed", "neutral", "contradicted"),
    "passage": ("yes", "no"),
    "remark": ("yes", "no"),
}
_STRING: Schema = {"type": "string"}


class VerdictForm(NamedTuple):
    """The form of one verdict.

    kind: entailment by one source ("entail") or several ("joint"), whose ids are `sources`; yes or no on a source
    ("passage") or on a text that is inlined in its question ("remark"); or a grade, from `low` to `high`.
    """

    kind: Literal["entail", "joint", "passage", "remark", "grade"]
    sources: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 0.0
    whole: bool = False


@lru_cache(maxsize=512)
def verdicts_schema(keys: tuple[str, ...], forms: tuple[VerdictForm, ...], style: PromptStyle) -> Schema:
    """The schema of a reply with a verdict of its form under each key. It is shared: do not modify it."""
    names: dict[VerdictForm, str] = {}
    for form in forms:
        names.setdefault(form, f"{form.kind}{len(names) + 1}")
    whole = _object({key: _reference(names[form]) for key, form in zip(keys, forms, strict=True)})
    whole["$defs"] = {name: _verdict(form, style) for form, name in names.items()}
    return whole


@lru_cache(maxsize=512)
def texts_schema(keys: tuple[str, ...], sentences: tuple[int, ...]) -> Schema:
    """The schema of a reply that decomposes texts. It is shared: do not modify it.

    sentences: the number of sentences of each text.
    """
    names = {count: f"statement{place}" for place, count in enumerate(dict.fromkeys(sentences), 1)}
    lists = ({"type": "array", "items": _reference(names[count])} for count in sentences)
    whole = _object(dict(zip(keys, lists, strict=True)))
    whole["$defs"] = {name: _statement(count) for count, name in names.items()}
    return whole


def subschema(schema: Schema, keys: tuple[str, ...]) -> Schema:
    """The schema with these keys only."""
    return {**_object({key: schema["properties"][key] for key in keys}), "$defs": schema["$defs"]}


def _object(properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _reference(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _enum(values: tuple[str, ...]) -> Schema:
    return {"type": "string", "enum": list(values)}


def _statement(sentences: int) -> Schema:
    number = {"type": "integer", "enum": list(range(1, sentences + 1))}
    return _object({"s": number, "text": _STRING, "kind": _enum(STATEMENT_KINDS)})


def _verdict(form: VerdictForm, style: PromptStyle) -> Schema:
    fields: Schema = {"why": _STRING} if style.rationales else {}
    if form.kind == "grade":
        return _object({**fields, "grade": _grade(form)})
    if style.quotes and form.kind != "remark":
        fields["quote"] = _STRING
    fields["label"] = _enum(_LABELS[form.kind])
    if form.kind == "joint":
        listed = {"type": "array", "items": _enum(form.sources)}
        fields |= {"supports": listed, "contradicts": listed}
    return _object(fields)


def _grade(form: VerdictForm) -> Schema:
    if form.whole:
        return {"type": "integer", "minimum": ceil(form.low), "maximum": floor(form.high)}
    return {"type": "number", "minimum": form.low, "maximum": form.high}
