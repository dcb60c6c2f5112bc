"""What people wrote as right: references, and gold claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ragauge.readers.values import Malformed, describe, native, text
from ragauge.readers.written import list_in


def references(value: Any, plural: bool) -> tuple[str, ...] | None:
    """Alternatives: a list, an object with a list under "text" (SQuAD), or one text. Blank ones are left out.

    An item may be an object with its text under "long_answer" (ASQA's annotations).
    plural: the column's name promises several, so a list written as text is read as a list.
    """
    value = native(value)
    if isinstance(value, Mapping) and "text" in value:
        value = native(value["text"])
    found = _items(value, spelled=plural)
    if found is None:
        return None
    return tuple(reference for reference in _texts([_long(native(item)) for item in found]) if reference.strip())


def claims(value: Any) -> tuple[tuple[str, ...], ...] | None:
    """Gold claims: each a list of wordings, one wording, or a question with its short answers (ALCE's ASQA)."""
    found = _items(native(value), spelled=True)
    return None if found is None else tuple(_wordings(native(item)) for item in found)


def _long(item: Any) -> Any:
    return native(item["long_answer"]) if isinstance(item, Mapping) and "long_answer" in item else item


def _items(value: Any, spelled: bool) -> Sequence[Any] | None:
    """The items of a list, or the one value; a list spelled as text counts if `spelled`."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    found = list_in(value) if spelled and isinstance(value, str) else value
    return found if isinstance(found, list | tuple) else [value]


def _wordings(item: Any) -> tuple[str, ...]:
    if isinstance(item, Mapping) and "short_answers" in item:
        item = native(item["short_answers"])
    return _texts(item if isinstance(item, list | tuple) else [item])


def _texts(items: Sequence[Any]) -> tuple[str, ...]:
    return tuple(_text_at(native(item), position) for position, item in enumerate(items, start=1))


def _text_at(item: Any, position: int) -> str:
    if item is None or isinstance(item, Mapping | list | tuple):
        raise Malformed(f"item {position} is {describe(item)}, not text", "give each item as one string")
    return text(item)
