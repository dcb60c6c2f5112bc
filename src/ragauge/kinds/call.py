"""The parts of a call that depend on kinds of question: its document, and the forms and items of its reply.

Faults of items are sent to the model, so they quote nothing of its reply.

Schemas use only what strict modes and grammars of servers all support: every property required and no other allowed,
`$defs`, enums, and bounds for numbers only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, ParamSpec, Protocol, TypeVar

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
    """What a judge gives beyond a label or grade, and the choices and texts of its prompts.

    rationales: a short reason before each verdict. quotes: the words of a source that decide, for entailment and
    relevance. sources: whether what a text says about its own sources is a claim. conflicts: the label of a claim that
    one source entails and another contradicts. sections: the user's own sections in place of packaged ones, by name.
    shuffle: the seed of the order of claims and sources in a call; None for the order of the questions.
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
    """The questions of a call, and the id of each text that no question has inline."""

    @property
    def questions(self) -> Sequence[BaseQuestion]:
        """The questions, in their order."""

    @property
    def sources(self) -> Mapping[str, str]:
        """The id ("S1", "S2" ...) of each source, by its text."""


@dataclass
class SourceTexts:
    """The texts of a call that get an id, collected in the order of the kinds.

    together: chunks that are judged together. passages: texts that are judged one by one. others: all other texts.
    premises: those whose chunks were added. chunks: the chunks of all premises.
    """

    together: list[str] = field(default_factory=list)
    passages: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    premises: set[tuple[str, ...]] = field(default_factory=set)
    chunks: set[str] = field(default_factory=set)


#: The key of the conversations before queries, which says what they are for: a line in the prompt would change the keys
#: of stored judgments.
HISTORIES = "histories (said before the query: they explain pronouns and what is left out, and are no sources)"


class Document:
    """The document of a call, filled question by question; questions that share texts are grouped.

    sources: ids by text. shuffled: whether sources have an order of their own. top: the fields outside of groups.
    """

    def __init__(self, sources: Mapping[str, str], kinds: Iterable[str], shuffled: bool = False) -> None:
        self.sources, self.shuffled = sources, shuffled
        self.top: Json = {}
        self._queries: dict[str, str] = {}
        self._histories: dict[tuple[str, ...], str] = {}
        self._groups: dict[str, dict[object, Json]] = {kind: {} for kind in kinds}

    def content(self) -> Json:
        """The whole document: sources first, groups by kind last."""
        content: Json = {}
        if self.sources:
            content["sources"] = {id: text for text, id in self.sources.items()}
        if self._queries:
            content["queries"] = {id: query for query, id in self._queries.items()}
        if self._histories:
            content[HISTORIES] = {id: list(turns) for turns, id in self._histories.items()}
        content |= self.top
        content.update((kind, list(groups.values())) for kind, groups in self._groups.items() if groups)
        return content

    def group(self, question: BaseQuestion) -> Json:
        """The group of a question; empty until its first question is added."""
        return self._groups[question.kind].setdefault(question.group, {})

    def query(self, query: str | None, history: Sequence[str] = ()) -> Json:
        """The fields of a group for its query and the turns before it, where it has them."""
        fields = {} if query is None else {"query": self.query_id(query)}
        return fields | ({"history": self.history_id(history)} if history else {})

    def history_id(self, history: Sequence[str]) -> str:
        """The id ("H1", "H2" ...) of the turns before a query, which a call shows once."""
        return self._histories.setdefault(tuple(history), f"H{len(self._histories) + 1}")

    def query_id(self, query: str) -> str:
        """The id of a query ("Q1", "Q2" ...)."""
        return self._queries.setdefault(query, f"Q{len(self._queries) + 1}")


class ReplyForm(msgspec.Struct, frozen=True, cache_hash=True):
    """The form of an answer in a reply.

    name: what its definition in the schema is called. quoted: whether it may come with a quote.
    """

    name: str
    quoted: bool = False

    #: Whether it may come with a reason; whether it is a list.
    explained: ClassVar[bool] = True
    listed: ClassVar[bool] = False

    def fields(self) -> Schema:
        """The fields of the object that it is, or that its items are, besides reason and quote."""
        raise NotImplementedError

    def definition(self, style: PromptStyle) -> Schema:
        """The schema of that object; a reason and a quote, where the style asks for them, come first."""
        why = {"why": STRING} if style.rationales and self.explained else {}
        quote = {"quote": STRING} if style.quotes and self.quoted else {}
        return object_schema({**why, **quote, **self.fields()})


class LabelForm(ReplyForm, frozen=True, cache_hash=True):
    """A label."""

    labels: tuple[str, ...] = ()

    def fields(self) -> Schema:
        return {"label": enum(self.labels)}


@lru_cache(maxsize=512)
def reply_schema(keys: tuple[str, ...], forms: tuple[ReplyForm, ...], style: PromptStyle) -> Schema:
    """The schema of a reply. It is shared: do not modify it.

    Args:
        keys: the keys of the answers, in order.
        forms: the form of the answer under each key.
        style: whether answers have reasons and quotes.
    """
    names: dict[ReplyForm, str] = {}
    for form in forms:
        names.setdefault(form, f"{form.name}{len(names) + 1}")
    references: dict[ReplyForm, Schema] = {}
    for form, name in names.items():
        reference = {"$ref": f"#/$defs/{name}"}
        references[form] = {"type": "array", "items": reference} if form.listed else reference
    schema = object_schema({key: references[form] for key, form in zip(keys, forms, strict=True)})
    schema["$defs"] = {name: form.definition(style) for form, name in names.items()}
    return schema


def object_schema(properties: Schema) -> Schema:
    """The schema of an object with exactly these properties."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def enum(values: Iterable[str]) -> Schema:
    """The schema of a string that is one of several words."""
    return {"type": "string", "enum": list(values)}


#: The value of a key that occurs more than once in its object.
REPEATED = "(given more than once)"

#: Stands in a list for what the end of the reply cut off.
CUT_OFF = "(cut off)"


class InvalidItem(Exception):
    """A part of a reply that is no answer; each argument completes "the answer ..."."""


class CutOff(InvalidItem):
    """A list whose end is missing. answer: to the first part of the question. split: into that part and the rest."""

    def __init__(self, answer: Answer, split: SplitQuestion) -> None:
        super().__init__("is cut off")
        self.answer, self.split = answer, split


def parse_part(faults: list[str], parse: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
    """A part of a reply, as `parse` returns it; None where it is invalid, and why is added to `faults`."""
    try:
        return parse(*args, **kwargs)
    except InvalidItem as invalid:
        faults += invalid.args
        return None


def item_of(value: object, field: str) -> ReplyItem:
    """An answer as an object; a bare label or grade becomes its `field`."""
    if isinstance(value, dict):
        return value
    if value != REPEATED and isinstance(value, str | int | float) and not isinstance(value, bool):
        return {field: value}
    raise wrong_type("object", value)


#: The label by words that models and people write in its place, where these can mean nothing else.
LABEL_BY_SYNONYM: Mapping[str, str] = {
    **dict.fromkeys(("supported", "entails", "entailment", "fully supported"), "entailed"),
    **dict.fromkeys(("unsupported", "not supported", "not_supported", "not mentioned"), "neutral"),
    **dict.fromkeys(("contradicts", "contradiction", "contradictory", "refuted"), "contradicted"),
    "true": "yes",
    "false": "no",
}


def label_of(item: ReplyItem, labels: Mapping[str, Label]) -> Label:
    """The label of an answer."""
    value = item.get("label")
    name = word(str(value) if isinstance(value, bool) else value)
    label = labels.get(LABEL_BY_SYNONYM.get(name, name))
    if label is None:
        raise InvalidItem(f'has as its "label" {described(value)}, not one of {", ".join(labels)}')
    return label


def rationale_of(item: ReplyItem, style: PromptStyle) -> str | None:
    """The reason, where it was asked for and is given."""
    why = item.get("why") if style.rationales else None
    return why.strip() or None if isinstance(why, str) else None


def quote_of(item: ReplyItem) -> str:
    """The quote, "" where none is given."""
    quote = item.get("quote")
    return quote.strip() if isinstance(quote, str) else ""


def locate_quote(quote: str, text: str) -> Span | None:
    """Where a text contains these words, up to white space and case; None where it does not."""
    start = text.find(quote)
    if start >= 0:
        return start, start + len(quote)
    match = re.search(r"\s+".join(map(re.escape, quote.split())), text, re.IGNORECASE)
    return match.span() if match else None


def wrong_type(wanted: str, value: object) -> InvalidItem:
    """The fault of a value that is not of the wanted type."""
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
