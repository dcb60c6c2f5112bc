"""Retrieved contexts as chunks, and references and gold claims, in every form they come in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ragauge.readers.values import (
    Malformed,
    describe,
    list_in,
    native,
    object_in,
    plain,
    text,
    text_or_none,
    without_missing,
)
from ragauge.types import Chunk

TEXT_KEYS = ("text", "content", "contents", "page_content", "chunk", "passage", "body", "snippet", "context")
ID_KEYS = ("id", "doc_id", "chunk_id", "document_id", "node_id", "id_", "doc_uri")
METADATA_KEYS = ("metadata", "meta")

_READ_FROM_OBJECTS = (*TEXT_KEYS, *ID_KEYS, *METADATA_KEYS, "title", "score")


def chunks_in(value: Any, delimiter: re.Pattern[str] | None = None) -> tuple[Chunk, ...] | None:
    """The chunks of one cell in their order, or None where the cell is absent or blank.

    value: one text, object or document; a list of them; or a list or object written as text (see `written`).
    delimiter: what separates the chunks in a text that is no list, if it holds several.
    Raises Malformed for a null item, an item without text, and a list inside the list.
    """
    value = native(value)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    return tuple(
        _chunk(native(item), position) for position, item in enumerate(_contexts_items(value, delimiter), start=1)
    )


def is_single(value: Any) -> bool:
    """Whether a value is one text, object or document, and not several of them."""
    return isinstance(value, str | bytes) or bool(_fields(value))


def named(given: tuple[Chunk, ...], ids: Any) -> tuple[Chunk, ...]:
    """The chunks under the ids of a separate column, matched by position."""
    ids = native(ids)
    if ids is None:
        return given
    names = _contexts_items(ids)
    if len(names) != len(given):
        raise Malformed(f"{len(names)} ids for {len(given)} contexts", "give one id for each, in the same order")
    return tuple(
        Chunk(chunk.text, text(native(name)), chunk.title, chunk.metadata)
        for chunk, name in zip(given, names, strict=True)
    )


def merged(given: Any, other: dict[str, Any]) -> dict[str, Any]:
    """One metadata from a metadata object (which may be written as JSON) and the columns that nothing else uses.

    Where the two share a name, or the metadata is no object, it is kept whole under "metadata".
    """
    given = native(given)
    if given is None or given == "":
        return other
    spelled = object_in(given) if isinstance(given, str) else None
    given = given if spelled is None else spelled
    if isinstance(given, Mapping) and other.keys().isdisjoint(given):
        return {**plain(given), **other}
    return {**other, "metadata": plain(given)}


def _contexts_items(value: Any, delimiter: re.Pattern[str] | None = None) -> Sequence[Any]:
    if isinstance(value, str):
        found = list_in(value)
        if found is None and delimiter:
            return [piece for piece in delimiter.split(value) if piece.strip()]
        return [_spelled(value)] if found is None else found
    if isinstance(value, Mapping):
        rows = _rows_of({key: native(column) for key, column in value.items()})
        return [value] if rows is None else rows
    return value if isinstance(value, list | tuple) else [value]


def _spelled(written: str) -> Any:
    """The object that a text spells if that has a text in turn; a retrieved piece of JSON is a text itself."""
    found = object_in(written)
    return found if found and any(key in found for key in TEXT_KEYS) else written


def _rows_of(columns: Mapping[str, Any]) -> Sequence[Any] | None:
    """Objects kept column by column, {"text": [...], "title": [...]}, as `datasets` keeps a sequence of objects."""
    lists = [column for column in columns.values() if isinstance(column, list | tuple)]
    if not lists or len(lists) < len(columns) or len({len(column) for column in lists}) > 1:
        return None
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def _chunk(item: Any, position: int) -> Chunk:
    if isinstance(item, Chunk):
        return item if item.id else Chunk(item.text, str(position), item.title, item.metadata)
    fields = _fields(item)
    if not fields:
        return Chunk(_contexts_text_at(item, position), str(position))
    text_key, id_key, metadata_key = (_first(keys, fields) for keys in (TEXT_KEYS, ID_KEYS, METADATA_KEYS))
    if text_key is None:
        problem = f"item {position} has no text among {', '.join(map(repr, fields))}"
        raise Malformed(problem, f"give its text under {TEXT_KEYS[0]!r}")
    known = (text_key, id_key, metadata_key, "title")
    rest = without_missing((key, value) for key, value in fields.items() if key not in known)
    metadata = merged(fields[metadata_key] if metadata_key else None, rest)
    return Chunk(
        text=_contexts_text_at(native(fields[text_key]), position),
        id=(text_or_none(fields[id_key]) if id_key else None) or str(position),
        title=text_or_none(fields.get("title")) or _title_in(metadata),
        metadata=metadata,
    )


def _title_in(metadata: Mapping[str, Any]) -> str:
    """The title where LangChain's loaders put it."""
    title = metadata.get("title")
    return title if isinstance(title, str) else ""


def _fields(item: Any) -> Mapping[str, Any]:
    """What an object or document holds by name, a scored node with what its node holds; nothing for other values."""
    if isinstance(item, str):
        return {}
    if not isinstance(item, Mapping):
        return {**_attributes(item), **_attributes(getattr(item, "node", None))}
    node = item.get("node")
    own = {key: value for key, value in item.items() if key != "node"}
    return {**node, **own} if isinstance(node, Mapping) else item


def _attributes(document: Any) -> dict[str, Any]:
    keys = (*TEXT_KEYS, *ID_KEYS, *METADATA_KEYS, "title", "score")
    found = {key: getattr(document, key, None) for key in keys}
    return {key: value for key, value in found.items() if value is not None and not callable(value)}


def _first(keys: Iterable[str], fields: Mapping[str, Any]) -> str | None:
    return next((key for key in keys if native(fields.get(key)) is not None), None)


def _contexts_text_at(value: Any, position: int) -> str:
    if value is None:
        raise Malformed(f"item {position} is null", "leave it out, or give its text")
    try:
        return text(value)
    except Malformed as error:
        raise Malformed(f"item {position}: {error.problem}", error.fix) from None


def references_in(value: Any, plural: bool) -> tuple[str, ...] | None:
    """Alternatives: a list, an object with a list under "text" (SQuAD), or one text. Blank ones are left out.

    An item may be an object with its text under "long_answer" (ASQA's annotations).
    plural: the column's name promises several, so a list written as text is read as a list.
    """
    value = native(value)
    if isinstance(value, Mapping) and "text" in value:
        value = native(value["text"])
    found = _golden_items(value, spelled=plural)
    if found is None:
        return None
    return tuple(reference for reference in _texts([_long(native(item)) for item in found]) if reference.strip())


def gold_claims(value: Any) -> tuple[tuple[str, ...], ...] | None:
    """Gold claims: each a list of wordings, one wording, or a question with its short answers (ALCE's ASQA)."""
    found = _golden_items(native(value), spelled=True)
    return None if found is None else tuple(_wordings(native(item)) for item in found)


def _long(item: Any) -> Any:
    return native(item["long_answer"]) if isinstance(item, Mapping) and "long_answer" in item else item


def _golden_items(value: Any, spelled: bool) -> Sequence[Any] | None:
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
    return tuple(_golden_text_at(native(item), position) for position, item in enumerate(items, start=1))


def _golden_text_at(item: Any, position: int) -> str:
    if item is None or isinstance(item, Mapping | list | tuple):
        raise Malformed(f"item {position} is {describe(item)}, not text", "give each item as one string")
    return text(item)
