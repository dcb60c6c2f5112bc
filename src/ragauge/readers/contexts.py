"""Cells of retrieved contexts, references and gold claims, in the forms in which data sets have them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ragauge.readers.values import (
    Malformed,
    is_blank,
    jsonable,
    list_items,
    native,
    parse_object,
    text,
    text_or_none,
    without_missing,
)
from ragauge.types import Chunk

TEXT_KEYS = ("text", "content", "contents", "page_content", "chunk", "passage", "body", "snippet", "context")
ID_KEYS = ("id", "doc_id", "chunk_id", "document_id", "node_id", "id_", "doc_uri")
METADATA_KEYS = ("metadata", "meta")

#: Attributes that are read from objects other than mappings.
_ATTRIBUTES = (*TEXT_KEYS, *ID_KEYS, *METADATA_KEYS, "title", "score")


def to_chunks(value: Any, delimiter: re.Pattern[str] | None = None) -> tuple[Chunk, ...] | None:
    """The chunks of a cell in order, or None where the cell is missing or blank.

    Args:
        value: one text, object or document; a list of them; or a list or object written as text.
        delimiter: separates the chunks in a text that is not a list; None where a text is one chunk.

    Raises:
        Malformed: for a null item, an item without text, or a list inside the list.
    """
    value = native(value)
    if is_blank(value):
        return None
    return tuple(_chunk(native(item), position) for position, item in enumerate(items(value, delimiter), start=1))


def is_single(value: Any) -> bool:
    """Whether a value is one text, object or document rather than several."""
    return isinstance(value, str | bytes) or bool(_fields(value))


def with_ids(given: tuple[Chunk, ...], ids: Any) -> tuple[Chunk, ...]:
    """The chunks with the ids of a separate column, matched by position."""
    ids = native(ids)
    if ids is None:
        return given
    names = items(ids)
    if len(names) != len(given):
        raise Malformed(f"{len(names)} ids for {len(given)} contexts", "give one id for each, in the same order")
    named = zip(given, names, strict=True)
    return tuple(msgspec.structs.replace(chunk, id=text(native(name))) for chunk, name in named)


def merge_metadata(given: Any, other: dict[str, Any]) -> dict[str, Any]:
    """The metadata of a column (an object, or one written as text) together with the values of unused columns.

    Where the two share a name, or the column's value is not an object, it is kept whole under "metadata".
    """
    given = native(given)
    if given is None or given == "":
        return other
    parsed = parse_object(given) if isinstance(given, str) else None
    given = given if parsed is None else parsed
    if isinstance(given, Mapping) and other.keys().isdisjoint(given):
        return {**jsonable(given), **other}
    return {**other, "metadata": jsonable(given)}


def items(value: Any, delimiter: re.Pattern[str] | None = None) -> Sequence[Any]:
    """The items of a cell of contexts, each a text, an object or a document."""
    if (items := list_items(value)) is not None:
        return items
    if isinstance(value, str) and delimiter:
        return [piece for piece in delimiter.split(value) if piece.strip()]
    if isinstance(value, str):  # an object without a text may be what was retrieved
        found = parse_object(value)
        return [found if found and any(key in found for key in TEXT_KEYS) else value]
    if isinstance(value, Mapping):
        rows = _rows_of({key: native(column) for key, column in value.items()})
        return [value] if rows is None else rows
    return [value]


def _rows_of(columns: Mapping[str, Any]) -> Sequence[Any] | None:
    """The objects of {"text": [...], "title": [...]}, as `datasets` stores a sequence of objects; None for others."""
    lists = [column for column in columns.values() if isinstance(column, list | tuple)]
    if not lists or len(lists) < len(columns) or len({len(column) for column in lists}) > 1:
        return None
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def _chunk(item: Any, position: int) -> Chunk:
    if isinstance(item, Chunk):
        return item if item.id else msgspec.structs.replace(item, id=str(position))
    fields = _fields(item)
    if not fields:
        return Chunk(_item_text(item, position), str(position))
    text_key, id_key, metadata_key = (
        next((key for key in keys if native(fields.get(key)) is not None), None)
        for keys in (TEXT_KEYS, ID_KEYS, METADATA_KEYS)
    )
    if text_key is None:
        problem = f"item {position} has no text among {', '.join(map(repr, fields))}"
        raise Malformed(problem, f"give its text under {TEXT_KEYS[0]!r}")
    known = (text_key, id_key, metadata_key, "title")
    rest = without_missing((key, value) for key, value in fields.items() if key not in known)
    metadata = merge_metadata(fields[metadata_key] if metadata_key else None, rest)
    inner = metadata.get("title")  # where LangChain's loaders put it
    return Chunk(
        text=_item_text(native(fields[text_key]), position),
        id=(text_or_none(fields[id_key]) if id_key else None) or str(position),
        title=text_or_none(fields.get("title")) or (inner if isinstance(inner, str) else ""),
        metadata=metadata,
    )


def _fields(item: Any) -> Mapping[str, Any]:
    """The fields of an object or document, for a scored node those of its node too; empty for other values."""
    if isinstance(item, str):
        return {}
    if not isinstance(item, Mapping):
        return {**_attributes(item), **_attributes(getattr(item, "node", None))}
    node = item.get("node")
    own = {key: value for key, value in item.items() if key != "node"}
    return {**node, **own} if isinstance(node, Mapping) else item


def _attributes(document: Any) -> dict[str, Any]:
    found = {key: getattr(document, key, None) for key in _ATTRIBUTES}
    return {key: value for key, value in found.items() if value is not None and not callable(value)}


def _item_text(item: Any, position: int) -> str:
    if item is None:
        raise Malformed(f"item {position} is null", "leave it out, or give its text")
    try:
        return text(item)
    except Malformed as error:
        raise Malformed(f"item {position}: {error.problem}", error.fix) from None


def to_references(value: Any, plural: bool) -> tuple[str, ...] | None:
    """The correct answers of a cell, without blank ones, or None where the cell is missing or blank.

    Args:
        value: a text, a list of texts, an object with either under "text" (SQuAD), or a list of objects with a text
            under "long_answer" (ASQA's annotations).
        plural: whether the column's name promises several, so that a list written as text is read as a list.

    Raises:
        Malformed: for an item that is not text.
    """
    value = native(value)
    if isinstance(value, Mapping) and "text" in value:
        value = native(value["text"])
    if is_blank(value):
        return None
    items = _one_or_more(value, written=plural)
    return tuple(text for text in _texts([_field(item, "long_answer") for item in items]) if text.strip())


def to_gold_claims(value: Any) -> tuple[tuple[str, ...], ...] | None:
    """The gold claims of a cell: each a list of wordings, one wording, or a question with its short answers (ASQA)."""
    value = native(value)
    if is_blank(value):
        return None
    wordings = (_field(item, "short_answers") for item in _one_or_more(value))
    return tuple(_texts(_one_or_more(item, written=False)) for item in wordings)


def _one_or_more(value: Any, written: bool = True) -> Sequence[Any]:
    """The items of a list, or the one value; `written` as for `list_items`."""
    items = list_items(value, written)
    return [value] if items is None else items


def _field(item: Any, name: str) -> Any:
    """The field of an item that is an object with that field, else the item itself."""
    item = native(item)
    return native(item[name]) if isinstance(item, Mapping) and name in item else item


def _texts(items: Sequence[Any]) -> tuple[str, ...]:
    return tuple(_item_text(native(item), position) for position, item in enumerate(items, start=1))
