"""One cell of a table or JSON object: missing, text, boolean, a list, contexts, references, claims, or any JSON."""

from __future__ import annotations

import ast
import io
import json
import math
import re
import tokenize
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec

from ragauge.types import Chunk, Criterion

#: How deep objects and lists may be nested, since encoders and decoders recurse.
MAX_DEPTH = 100


class Malformed(Exception):
    """A value or row cannot be read. The caller that knows its place adds it."""

    def __init__(self, problem: str, fix: str) -> None:
        self.problem, self.fix = problem, fix
        super().__init__(f"{problem}; {fix}")


def native(value: Any) -> Any:
    """The value as plain Python: numpy and series to numbers or lists; NaN, NaT and pandas.NA to None."""
    if type(value) is str:
        return value
    unboxed = getattr(value, "tolist", None) or getattr(value, "to_list", None)
    value = unboxed() if callable(unboxed) else value
    missing = (isinstance(value, float) and math.isnan(value)) or type(value).__name__ in ("NAType", "NaTType")
    return None if missing else value


def text(value: Any) -> str:
    """The text of a cell that is not missing; whole numbers lose their decimal point (411.0 is "411")."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            problem = f"character {error.start + 1} is half of a surrogate pair, which is not text"
            raise Malformed(problem, "write the whole character, or leave it out") from None
        return str(value)
    if isinstance(value, bool):
        raise Malformed("a boolean, not text", 'write it as text, such as "yes" or "no"')
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, int | Decimal | date | time | UUID) or (isinstance(value, float) and math.isfinite(value)):
        return str(value)
    raise Malformed(f"{describe(value)}, not text", "give it as one string")


def text_or_none(value: Any) -> str | None:
    """The text of a cell, or None where the cell is missing or blank."""
    value = native(value)
    return None if is_blank(value) else text(value)


def is_blank(value: Any) -> bool:
    """Whether a value is None or a text without anything but white space."""
    return value is None or (isinstance(value, str) and not value.strip())


def boolean(value: Any) -> bool | None:
    """True or false, from booleans, 1 and 0, or the words true, false, yes and no; None where missing or blank."""
    value = native(value)
    if isinstance(value, bool):
        return value
    if (word := text_or_none(value)) is None:
        return None
    booleans = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if (answer := booleans.get(word.strip().casefold())) is None:
        raise Malformed(f"{word!r} is neither yes nor no", "write true or false")
    return answer


def jsonable(value: Any, depth: int = 0) -> Any:
    """The value as JSON can hold it: dates and unknown objects as text, missing values as None."""
    value = native(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if not isinstance(value, Mapping | list | tuple | set | frozenset):
        return str(value).encode("utf-8", "replace").decode()
    if value and depth >= MAX_DEPTH:
        raise Malformed(f"objects or lists nested more than {MAX_DEPTH} levels deep", "keep only the needed parts")
    if isinstance(value, Mapping):
        return {str(key): jsonable(item, depth + 1) for key, item in value.items()}
    return [jsonable(item, depth + 1) for item in value]


def describe(value: Any) -> str:
    """The type of a value in words, for messages."""
    if isinstance(value, Mapping):
        return "an object"
    words = {"NoneType": "null", "list": "a list", "bool": "a boolean", "str": "a text", "int": "a number"}
    name = type(value).__name__
    return words.get(name, f"a value of type {name}")


#: A list of strings or objects starts like this. "[1] A footnote" and "[[wiki link]]" do not.
_LIST = re.compile(r"""\s*\[\s*(["'{]|\[\s*["'{\]]|(null|None|nan)\s*[,\]]|\]\s*$)""")
_OBJECT = re.compile(r"""\s*\{\s*["'}]""")


def parse_list(text: str) -> list[Any] | None:
    """The list that is written in a text as JSON, Python or NumPy print it; None where it is another text."""
    if not _LIST.match(text):
        return None
    parsed = _parsed(text.strip())
    if isinstance(parsed, list):
        return parsed
    is_cut = not text.rstrip().endswith("]")
    raise Malformed(f"a broken list{', probably cut off' if is_cut else ''}", 'write it as JSON: ["first", "second"]')


def parse_object(text: str) -> dict[str, Any] | None:
    """The object that is written in a text; None where it is another text."""
    parsed = _parsed(text.strip()) if _OBJECT.match(text) else None
    return parsed if isinstance(parsed, dict) else None


def list_items(value: Any, written: bool = True) -> Sequence[Any] | None:
    """The items of a list, or with `written` of a list that is written in a text; None for other values."""
    listed = parse_list(value) if written and isinstance(value, str) else value
    return listed if isinstance(listed, list | tuple) else None


def object_under(fields: Mapping[str, Any], keys: Iterable[str]) -> Mapping[str, Any] | None:
    """The first object under some keys of another; None where there is none."""
    return next((value for key in keys if isinstance(value := fields.get(key), Mapping)), None)


def list_of(value: Any) -> Sequence[Any] | None:
    """As `list_items`, but None for a text that only begins as a list does."""
    try:
        return list_items(native(value))
    except Malformed:
        return None


def is_texts(value: Any) -> bool:
    """Whether a value is a list of texts."""
    listed = list_items(native(value), written=False)
    return bool(listed) and all(isinstance(item, str) for item in listed or ())


def _parsed(text: str) -> Any:
    for parse in (json.loads, _parse_numpy, ast.literal_eval):
        with suppress(ValueError, SyntaxError, tokenize.TokenError, RecursionError, MemoryError):
            return parse(text)
    return None


def _parse_numpy(text: str) -> list[Any]:
    """Parse "['a' 'b']", which to Python is a list of one item, 'ab', and so must be tried before Python's parser."""
    layout = (tokenize.NEWLINE, tokenize.NL, tokenize.ENDMARKER)
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in layout]
    first, *items, last = tokens
    if (first.string, last.string) != ("[", "]") or any(token.type != tokenize.STRING for token in items):
        raise ValueError(text)
    return [ast.literal_eval(token.string) for token in items]


TEXT_KEYS = ("text", "content", "contents", "page_content", "chunk", "passage", "body", "snippet", "context")
ID_KEYS = ("id", "doc_id", "chunk_id", "document_id", "node_id", "id_", "_id", "doc_uri")
METADATA_KEYS = ("metadata", "meta")


def to_chunks(value: Any, delimiter: re.Pattern[str] | None = None) -> tuple[Chunk, ...] | None:
    """The chunks of a cell in order, or None where the cell is missing or blank.

    value: one text, object or document; a list of them; or a list or object written as text.
    delimiter: separates the chunks in a text that is not a list; None where a text is one chunk.
    """
    value = native(value)
    if is_blank(value):
        return None
    return tuple(_chunk(native(item), position) for position, item in enumerate(items(value, delimiter), start=1))


def is_single(value: Any) -> bool:
    """Whether a value is one text, object or document rather than several."""
    return isinstance(value, str | bytes) or bool(_fields(value))


def with_ids(chunks: tuple[Chunk, ...], ids: Any) -> tuple[Chunk, ...]:
    """The chunks with the ids of a separate column, matched by position."""
    names = to_ids(ids, several=len(chunks) > 1)
    if names is None:
        return chunks
    if isinstance(names, dict) or len(names) != len(chunks):
        problem = "an object, not a list" if isinstance(names, dict) else f"{len(names)} ids for {len(chunks)} contexts"
        raise Malformed(problem, "give one id for each, in the same order")
    named = zip(chunks, names, strict=True)
    return tuple(msgspec.structs.replace(chunk, id=name) for chunk, name in named)


_BETWEEN_IDS = re.compile(r"\s*[,;]\s*")


def to_ids(value: Any, several: bool = True) -> list[str] | dict[str, Any] | None:
    """The ids of a cell, or an object from id to grade; None where the cell is missing or blank.

    A text is a list or object as JSON or Python print it, or ids with commas or semicolons between them. An item of a
    list may be an object with an id; null is left out.
    several: whether a text that is no list may hold more than one id.
    """
    value = native(value)
    if is_blank(value):
        return None
    if isinstance(value, str) and value.lstrip()[0] in "[{":
        if not isinstance(parsed := _parsed(value.strip()), list | dict):
            raise Malformed("a broken list of ids", 'write it as JSON: ["d1", "d2"]')
        value = parsed
    elif isinstance(value, str) and several:
        pieces = [piece for piece in _BETWEEN_IDS.split(value.strip()) if piece]
        value = pieces if not any(re.search(r"\s|://", piece) for piece in pieces) else value
    if isinstance(value, Mapping):
        return {text(id): jsonable(grade) for id, grade in value.items()}
    listed = value if isinstance(value, list | tuple) else [value]
    return list(_texts([_id_of(native(item)) for item in listed if native(item) is not None]))


def _id_of(item: Any) -> Any:
    """The id of an item that is an object with one, else the item itself."""
    fields = item if isinstance(item, Mapping) else {}
    return next((fields[key] for key in ID_KEYS if key in fields), item)


def merge_metadata(cell: Any, other: dict[str, Any]) -> dict[str, Any]:
    """The metadata of a column (an object, or one written as text) together with the values of unused columns.

    Where the two share a name, or the column's value is not an object, it is kept whole under "metadata".
    """
    cell = native(cell)
    if cell is None or cell == "":
        return other
    parsed = parse_object(cell) if isinstance(cell, str) else None
    cell = cell if parsed is None else parsed
    if isinstance(cell, Mapping) and other.keys().isdisjoint(cell):
        return {**jsonable(cell), **other}
    return {**other, "metadata": jsonable(cell)}


def items(value: Any, delimiter: re.Pattern[str] | None = None) -> Sequence[Any]:
    """The items of a cell of contexts, each a text, an object or a document."""
    if (items := list_items(value)) is not None:
        return items
    if isinstance(value, str) and delimiter:
        return [piece for piece in delimiter.split(value) if piece.strip()]
    if isinstance(value, str):  # an object without a text may be what was retrieved
        document = parse_object(value)
        return [document if document and any(key in document for key in TEXT_KEYS) else value]
    if isinstance(value, Mapping):  # {"text": [...], "title": [...]}, as `datasets` stores a sequence of objects
        columns = [native(column) for column in value.values()]
        is_listed = all(isinstance(column, list | tuple) for column in columns)
        if is_listed and len(set(map(len, columns))) == 1:
            return [dict(zip(value, row, strict=True)) for row in zip(*columns, strict=True)]
    return [value]


def _chunk(item: Any, position: int) -> Chunk:
    if isinstance(item, Chunk):
        return item if item.id else msgspec.structs.replace(item, id=str(position))
    if isinstance(item, list | tuple) and len(item) == 2 and is_texts(item[1]):  # HotpotQA's title and sentences
        item = dict(zip(("title", "sentences"), item, strict=True))
    fields: Mapping[Any, Any] = _fields(item)
    if not fields:
        return Chunk(_item_text(item, position), str(position))
    text_key, id_key, metadata_key = (
        next((key for key in keys if native(fields.get(key)) is not None), None)
        for keys in (TEXT_KEYS, ID_KEYS, METADATA_KEYS)
    )
    content = native(fields.get(text_key or "sentences"))
    if text_key is None and is_texts(content):
        text_key, content = "sentences", " ".join(map(str.strip, list_items(content) or ()))
    if text_key is None:
        problem = f"item {position} has no text among {', '.join(map(repr, fields))}"
        raise Malformed(problem, f"give its text under {TEXT_KEYS[0]!r}")
    taken = (text_key, id_key, metadata_key, "title")
    rest = {key: jsonable(cell) for key, cell in fields.items() if key not in taken and native(cell) is not None}
    metadata = merge_metadata(fields.get(metadata_key), rest)
    inner = metadata.get("title")  # where LangChain's loaders put it
    return Chunk(
        text=_item_text(content, position),
        id=text_or_none(fields.get(id_key)) or str(position),
        title=text_or_none(fields.get("title")) or (inner if isinstance(inner, str) else ""),
        metadata=metadata,
    )


def _fields(item: Any) -> Mapping[str, Any]:
    """The fields of an object or document, with those of a node or of content in it; empty for other values."""
    if isinstance(item, str):
        return {}
    if not isinstance(item, Mapping):
        return {**_attributes(item), **_attributes(getattr(item, "node", None))}
    inner = object_under(item, ("node", "content"))
    if inner is None:
        return item
    return {**inner, **{key: value for key, value in item.items() if value is not inner}}


def _attributes(document: Any) -> dict[str, Any]:
    names = (*TEXT_KEYS, *ID_KEYS, *METADATA_KEYS, "title", "score")
    attributes = {key: getattr(document, key, None) for key in names}
    return {key: value for key, value in attributes.items() if value is not None and not callable(value)}


def _item_text(item: Any, position: int) -> str:
    if item is None:
        raise Malformed(f"item {position} is null", "leave it out, or give its text")
    try:
        return text(item)
    except Malformed as error:
        raise Malformed(f"item {position}: {error.problem}", error.fix) from None


def to_references(value: Any, plural: bool) -> tuple[str, ...] | None:
    """The correct answers of a cell, without blank ones, or None where the cell is missing or blank.

    value: a text, a list of texts, an object with either under "text" (SQuAD), or a list of objects with a text under
    "long_answer" (ASQA's annotations).
    plural: whether the column's name promises several, so that a list written as text is read as a list.
    """
    value = native(value)
    if isinstance(value, Mapping) and "text" in value:
        value = native(value["text"])
    if is_blank(value):
        return None
    items = _one_or_more(value, written=plural)
    return tuple(text for text in _texts([_field(item, "long_answer") for item in items]) if text.strip())


def to_gold_claims(value: Any) -> tuple[tuple[str, ...], ...] | None:
    """The gold claims of a cell: each a list of wordings, one wording, a question with its short answers (ASQA), or an
    object with its text or wordings, and with how much it counts; see `to_weights`."""
    value = native(value)
    if is_blank(value):
        return None
    wordings = [_wordings(native(item), position) for position, item in enumerate(_one_or_more(value), start=1)]
    return tuple(_texts(_one_or_more(item, written=False)) for item in wordings)


#: The fields of a gold claim that say how much it counts, and the weights of nuggetizer's words.
IMPORTANCE = frozenset({"weight", "vital", "importance"})
_WEIGHTS = {"vital": 1.0, "okay": 0.5}


def _wordings(item: Any, position: int) -> Any:
    if not isinstance(item, Mapping) or "short_answers" in item:
        return _field(item, "short_answers")
    wordings = [native(item.get("text")), *_one_or_more(item.get("wordings") or [], written=False)]
    texts = list(dict.fromkeys(wording for wording in wordings if not is_blank(wording)))
    if not texts:
        raise Malformed(f"item {position} has no text", 'write {"text": ..., "vital": true}')
    return texts


def to_weights(value: Any) -> tuple[float, ...] | None:
    """How much each gold claim of a cell counts: "weight", "vital" (1, else 0.5) or "importance" of an object.

    None where no item says so; an item that does not counts 1.
    """
    listed = [] if is_blank(value := native(value)) else [native(item) for item in _one_or_more(value)]
    if not any(isinstance(item, Mapping) and not IMPORTANCE.isdisjoint(item) for item in listed):
        return None
    return tuple(_weight(item, position) for position, item in enumerate(listed, start=1))


def _weight(item: Any, position: int) -> float:
    fields = item if isinstance(item, Mapping) else {}
    weight = native(fields.get("weight"))
    if weight is None:
        word = fields.get("importance", "okay" if boolean(fields.get("vital")) is False else "vital")
        weight = _WEIGHTS.get(word, word) if isinstance(word, str) else word
    return _number(weight, position, "weight", "give a number above 0, or vital or okay", above=0)


def _number(value: Any, position: int, what: str, fix: str, above: float = -math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, float | int) or not above < value < math.inf:
        raise Malformed(f"item {position} has the {what} {value!r}", fix)
    return float(value)


def to_criteria(value: Any) -> tuple[Criterion, ...] | None:
    """The criteria of a cell: texts, or objects with "text" (or "criterion", as in HealthBench) and "points".

    "weight" is read as points. Without either, another number, such as of a misspelt key, is refused.
    """
    value = native(value)
    listed = () if is_blank(value) else _one_or_more(value)
    return tuple(_criterion(native(item), position) for position, item in enumerate(listed, start=1)) or None


def _criterion(item: Any, position: int) -> Criterion:
    if isinstance(item, Criterion):
        return item
    fields = item if isinstance(item, Mapping) else {"text": item}
    words = text_or_none(fields.get("text", fields.get("criterion")))
    if words is None:
        raise Malformed(f"criterion {position} has no text", 'write {"text": ..., "points": ...}')
    points = native(fields.get("points"))
    points = native(fields.get("weight")) if points is None else points
    for key, number in fields.items():
        if points is None and key != "id" and type(native(number)) in (int, float):
            raise Malformed(f"criterion {position} has the number {key!r}", "call it points")
    points = 1 if points is None else points
    return Criterion(words, _number(points, position, "points", "give a number, below 0 for a fault"))


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
