"""A call to a model, as far as kinds of question have a part in it: its document, and the forms and items of its reply.

Faults of items are described in words that quote nothing of the reply, since they are sent to the model.

Schemas use only what strict modes and grammars of servers have in common: all properties required and no others,
`$defs`, enums, and bounds for numbers only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, TypeVar

import msgspec

from ragauge.kinds.windows import SplitQuestion
from ragauge.types import Answer, Label, Span

if TYPE_CHECKING:
    from ragauge.kinds.base import BaseQuestion

Json = dict[str, Any]
Schema = dict[str, Any]
ReplyItem = dict[str, Any]

P = ParamSpec("P")
T = TypeVar("T")

STRING: Schema = {"type": "string"}


class PromptStyle(msgspec.Struct, frozen=True, cache_hash=True):
    """What a judge is asked for beyond a label or grade, and the choices and texts of its prompts.

    rationales: a short reason before each verdict. quotes: the words of a source that decide, for entailment and
    relevance. sources: whether what a text says about its own sources is a claim. conflicts: the label of a claim that
    one source entails and another contradicts. sections: the sections that are not the packaged ones, with their text.
    shuffle: the seed of the order in which a call gives claims and sources; None for that of the questions.
    """

    rationales: bool = True
    quotes: bool = False
    sources: Literal["ignore", "claim"] = "ignore"
    conflicts: Literal["contradicted", "entailed"] = "contradicted"
    sections: tuple[tuple[str, str], ...] = ()
    shuffle: int | None = None

    @property
    def support_outweighs(self) -> bool:
        """Whether a claim that one source entails and another contradicts is entailed."""
        return self.conflicts == "entailed"


class AskedCall(Protocol):
    """The questions of a call, and the id of each text that is not inlined in one."""

    @property
    def questions(self) -> Sequence[BaseQuestion]:
        """The questions, in their order."""

    @property
    def sources(self) -> Mapping[str, str]:
        """The id ("S1", "S2" ...) of each source, by its text."""


@dataclass
class SourceTexts:
    """The texts of a call that get an id, collected in the order of the kinds.

    together: chunks that are judged together. passages: texts that are judged one by one. others: all else. seen: what
    was added to `together` and `others` as a whole. named: the texts of these.
    """

    together: list[str] = field(default_factory=list)
    passages: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    seen: set[tuple[str, ...]] = field(default_factory=set)
    named: set[str] = field(default_factory=set)


#: Names what was said before queries in a call, and says what it is for: not in the prompt, so that keys hold.
HISTORIES = "histories (said before the query: they explain pronouns and what is left out, and are no sources)"


class Document:
    """The document of a call, filled question by question; questions that share texts are grouped.

    sources: ids by text. shuffled: whether sources have an order of their own. top: what stands outside of groups.
    """

    def __init__(self, sources: Mapping[str, str], kinds: Iterable[str], shuffled: bool = False) -> None:
        self.sources, self.shuffled = sources, shuffled
        self.top: Json = {}
        self._queries: dict[str, str] = {}
        self._histories: dict[tuple[str, ...], str] = {}
        self._groups: dict[str, dict[object, Json]] = {kind: {} for kind in kinds}

    def content(self) -> Json:
        """All that was added, sources first, and groups by kind."""
        content: Json = {}
        if self.sources:
            content["sources"] = {id: text for text, id in self.sources.items()}
        if self._queries:
            content["queries"] = {id: query for query, id in self._queries.items()}
        if self._histories:
            content[HISTORIES] = {id: list(said) for said, id in self._histories.items()}
        content |= self.top
        content.update((kind, list(groups.values())) for kind, groups in self._groups.items() if groups)
        return content

    def group(self, question: BaseQuestion) -> Json:
        """The group of a question; empty where it is the first."""
        return self._groups[question.kind].setdefault(question.group, {})

    def query(self, query: str | None, history: Sequence[str] = ()) -> Json:
        """The fields of a group that name its query, and what was said before, if it has them."""
        named = {} if query is None else {"query": self.query_id(query)}
        return {**named, **({"history": self.history_id(history)} if history else {})}

    def history_id(self, history: Sequence[str]) -> str:
        """The id of what was said before a query ("H1", "H2" ...), which a call shows once."""
        return self._histories.setdefault(tuple(history), f"H{len(self._histories) + 1}")

    def query_id(self, query: str) -> str:
        """The id of a query ("Q1", "Q2" ...)."""
        return self._queries.setdefault(query, f"Q{len(self._queries) + 1}")


class ReplyForm(msgspec.Struct, frozen=True, cache_hash=True):
    """The form of one answer in a reply. name: of its definition in the schema."""

    name: str

    def definition(self, style: PromptStyle) -> Schema:
        """The schema of the form, which answers of one form share."""
        raise NotImplementedError

    def at_key(self, reference: Schema) -> Schema:
        """The schema of the answer. reference: to the definition."""
        return reference


class LabelForm(ReplyForm, frozen=True, cache_hash=True):
    """A label. quoted: whether it may come with a quote."""

    labels: tuple[str, ...] = ()
    quoted: bool = False

    def definition(self, style: PromptStyle) -> Schema:
        """The schema of an object with the label, and a reason and a quote before it where the style asks for them."""
        return object_schema(self.fields(style))

    def fields(self, style: PromptStyle) -> Schema:
        """The fields of that object."""
        quote = {"quote": STRING} if style.quotes and self.quoted else {}
        return {**explanation(style), **quote, "label": enum(self.labels)}


@lru_cache(maxsize=512)
def reply_schema(keys: tuple[str, ...], forms: tuple[ReplyForm, ...], style: PromptStyle) -> Schema:
    """The schema of a reply with an answer of its form under each key. It is shared: do not modify it."""
    names: dict[ReplyForm, str] = {}
    for form in forms:
        names.setdefault(form, f"{form.name}{len(names) + 1}")
    references = {form: form.at_key({"$ref": f"#/$defs/{name}"}) for form, name in names.items()}
    schema = object_schema({key: references[form] for key, form in zip(keys, forms, strict=True)})
    schema["$defs"] = {name: form.definition(style) for form, name in names.items()}
    return schema


def explanation(style: PromptStyle) -> Schema:
    """The field of a reason, where the style asks for one."""
    return {"why": STRING} if style.rationales else {}


def object_schema(properties: Schema) -> Schema:
    """The schema of an object with exactly these properties."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def enum(values: Iterable[str]) -> Schema:
    """The schema of one of several words."""
    return {"type": "string", "enum": list(values)}


#: The value of a key that occurs more than once in its object.
REPEATED = "(given more than once)"

#: Stands in a list for what the end of the reply cut off.
CUT_OFF = "(cut off)"


class InvalidItem(Exception):
    """A part of a reply that is no answer; each argument completes "the answer ..."."""


class CutOff(InvalidItem):
    """A list without its end. answer: to the first part of the question. split: into that part and the rest."""

    def __init__(self, answer: Answer, split: SplitQuestion) -> None:
        super().__init__("is cut off")
        self.answer, self.split = answer, split


def tried(faults: list[str], parse: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
    """The part that `parse` finds; None where it is invalid, and `faults` then say why."""
    try:
        return parse(*args, **kwargs)
    except InvalidItem as invalid:
        faults += invalid.args
        return None


def item_of(value: object, field: str) -> ReplyItem:
    """The object of an answer; a bare label or grade stands for one. field: that it would have there."""
    if isinstance(value, dict):
        return value
    if value != REPEATED and isinstance(value, str | int | float) and not isinstance(value, bool):
        return {field: value}
    raise not_a("object", value)


#: What models write in place of a label, where that can mean nothing else -> the label.
_SAME_LABEL: Mapping[str, str] = {
    **dict.fromkeys(("supported", "entails", "entailment", "fully supported"), "entailed"),
    **dict.fromkeys(("unsupported", "not supported", "not_supported", "not mentioned"), "neutral"),
    **dict.fromkeys(("contradicts", "contradiction", "contradictory", "refuted"), "contradicted"),
    "true": "yes",
    "false": "no",
}


def label_of(item: ReplyItem, labels: Mapping[str, Label]) -> Label:
    """The label of an answer."""
    value = item.get("label")
    said = word(str(value) if isinstance(value, bool) else value)
    label = labels.get(_SAME_LABEL.get(said, said))
    if label is None:
        raise InvalidItem(f'has as its "label" {described(value)}, not one of {", ".join(labels)}')
    return label


def rationale_of(item: ReplyItem, style: PromptStyle) -> str | None:
    """The reason, where it was asked for and is given."""
    why = item.get("why") if style.rationales else None
    return why.strip() or None if isinstance(why, str) else None


def quote_of(item: ReplyItem, style: PromptStyle) -> str:
    """The quote, "" where none was asked for or is given."""
    quote = item.get("quote") if style.quotes else None
    return quote.strip() if isinstance(quote, str) else ""


def locate_quote(quote: str, text: str) -> Span | None:
    """Where a text contains these words, up to white space and case; None where it does not."""
    start = text.find(quote)
    if start >= 0:
        return start, start + len(quote)
    match = re.search(r"\s+".join(map(re.escape, quote.split())), text, re.IGNORECASE)
    return match.span() if match else None


def listing(values: Sequence[object]) -> str:
    """Values for a message."""
    return ", ".join(map(str, values))


def not_a(wanted: str, value: object) -> InvalidItem:
    """The fault of a value that is not what was wanted."""
    if value == REPEATED:
        return InvalidItem("is given more than once")
    return InvalidItem(f"is {described(value)}, not {'an' if wanted[0] in 'aeiou' else 'a'} {wanted}")


def word(value: object) -> str:
    """A word of a reply, without the marks around it."""
    return value.strip(" \t\r\n.!:*_'\"`").lower() if isinstance(value, str) else ""


def number(value: object) -> float | None:
    """A number of a reply, also one that is written as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def described(value: object) -> str:
    """A value of a reply: numbers, true, false and null as they are, others by their type alone."""
    if isinstance(value, str):
        return "some text"
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return f"{msgspec.json.encode(value).decode():.20}"
