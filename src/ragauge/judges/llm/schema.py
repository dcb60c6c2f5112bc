"""The JSON schema of a reply: every instance of it is an answer that can be used.

It keeps to what strict modes and grammars of servers have in common: all properties required, none beside them,
`$defs`, enums, and bounds for numbers only.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, floor
from typing import Any, Literal, NamedTuple

from ragauge.judges.llm.prompts import Style

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
    ("passage") or on a text that stands with its question ("remark"); or a grade, from `low` to `high`.
    """

    kind: Literal["entail", "joint", "passage", "remark", "grade"]
    sources: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 0.0
    whole: bool = False


@lru_cache(maxsize=512)
def verdicts_schema(keys: tuple[str, ...], forms: tuple[VerdictForm, ...], style: Style) -> Schema:
    """The schema of a reply with a verdict of its form under each key. It is shared: do not change it."""
    names: dict[VerdictForm, str] = {}
    for form in forms:
        names.setdefault(form, f"{form.kind}{len(names) + 1}")
    whole = _object({key: _reference(names[form]) for key, form in zip(keys, forms, strict=True)})
    whole["$defs"] = {name: _verdict(form, style) for form, name in names.items()}
    return whole


@lru_cache(maxsize=512)
def texts_schema(keys: tuple[str, ...], sentences: tuple[int, ...]) -> Schema:
    """The schema of a reply that takes texts apart, each of so many sentences. It is shared: do not change it."""
    names = {count: f"statement{place}" for place, count in enumerate(dict.fromkeys(sentences), 1)}
    lists = ({"type": "array", "items": _reference(names[count])} for count in sentences)
    whole = _object(dict(zip(keys, lists, strict=True)))
    whole["$defs"] = {name: _statement(count) for count, name in names.items()}
    return whole


def narrowed(schema: Schema, keys: tuple[str, ...]) -> Schema:
    """The schema with these keys alone."""
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


def _verdict(form: VerdictForm, style: Style) -> Schema:
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
