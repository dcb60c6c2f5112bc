"""The items of a reply: what they hold, and what is wrong with them, in words that quote nothing of the reply."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

import msgspec

from ragauge.kinds.call import PromptStyle
from ragauge.kinds.windows import SplitQuestion
from ragauge.types import Answer, Label, Span

ReplyItem = dict[str, Any]

P = ParamSpec("P")
T = TypeVar("T")

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


def label_of(item: ReplyItem, labels: Mapping[str, Label]) -> Label:
    """The label of an answer."""
    value = item.get("label")
    label = labels.get(word(value))
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
