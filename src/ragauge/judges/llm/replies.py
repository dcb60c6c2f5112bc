"""Replies: what a model wrote, parsed as answers to the questions of a pack, and what is wrong with the rest."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Set
from typing import Any

import msgspec

from ragauge.errors import BadData
from ragauge.host import decoded
from ragauge.judges.llm.packing import Pack
from ragauge.judges.llm.prompts import example_item, examples_of
from ragauge.kinds.call import CUT_OFF, REPEATED, CutOff, InvalidItem, PromptStyle, ReplyItem
from ragauge.kinds.windows import SplitQuestion
from ragauge.questions import KIND_TYPES
from ragauge.types import Answer

_STRING = r'"(?:[^"\\]|\\.)*+(?:"|\Z)'
_OPENING = re.compile(r'\{\s*"')
_MARK = re.compile(rf"{_STRING}|[{{}}\[\],]", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"({_STRING})|,(?=\s*[}}\]])", re.DOTALL)

#: How many objects without any of the keys are parsed.
_MAX_OTHER_OBJECTS = 50


def extract_object(text: str, keys: Collection[str]) -> dict[str, Any]:
    """The JSON object in a text that has most of these keys; empty where none has any.

    Fences, prose, wrapping objects and trailing commas do not hide it, and reasoning before the answer is skipped. Of
    an object that the end of the text cuts off, the complete values are kept, and of a list the complete objects,
    followed by CUT_OFF. Where several objects have as many of
    the keys, a value in which they differ is REPEATED: which one is meant cannot be known.
    """
    answer = text if text.lstrip().startswith("{") else text.rpartition("</think>")[2]
    objects = _objects(answer, set(keys))
    most = max((len(found.keys() & keys) for found in objects), default=0)
    first, *others = [found for found in objects if len(found.keys() & keys) == most] or [{}]
    ambiguous = [key for other in others for key in keys if other.get(key) != first.get(key)]
    return {**first, **dict.fromkeys(ambiguous, REPEATED)}


def _objects(text: str, keys: Set[str]) -> list[dict[str, Any]]:
    """The outermost objects of a text that have any of these keys; none where there are too many others."""
    objects: list[dict[str, Any]] = []
    start = others = 0
    while opening := _OPENING.search(text, start):
        written, end = _complete_part(text, opening.start())
        found = _decoded(written)
        start = opening.end()
        if found.keys() & keys:
            objects.append(found)
            start = end
        elif (others := others + 1) == _MAX_OTHER_OBJECTS:
            return []
    return objects


def _complete_part(text: str, start: int) -> tuple[str, int]:
    """The object that starts here, up to its last complete value where it is cut off, and where it ends."""
    open_brackets, complete, closing = "", start + 1, "}"
    for found in _MARK.finditer(text, start):
        mark = found[0]
        if mark in "{[":
            open_brackets += mark
        elif mark in "}]":
            open_brackets = open_brackets[:-1]
            if not open_brackets:
                return text[start : found.end()], found.end()
            if open_brackets == "{":
                complete, closing = found.end(), "}"
            elif open_brackets == "{[":
                complete, closing = found.end(), f', "{CUT_OFF}"]}}'
        elif mark == "," and open_brackets == "{":
            complete, closing = found.start(), "}"
    return text[start:complete] + closing, len(text)


def _decoded(written: str) -> dict[str, Any]:
    plain = _TRAILING_COMMA.sub(lambda found: found[1] or "", written)
    try:
        found: dict[str, Any] = _decoder.decode(plain)
        msgspec.json.encode(found)  # half of a surrogate pair is no text
    except (ValueError, RecursionError):
        return {}
    return found


def _marking_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        found.update((key, REPEATED) for key, times in Counter(key for key, _ in pairs).items() if times > 1)
    return found


_decoder = json.JSONDecoder(object_pairs_hook=_marking_repeats, strict=False)


_DECODER = msgspec.json.Decoder()
_FENCE = re.compile(r"^\s*```\w*|```\s*$")

#: The fields of items that hold an answer; all fields of items.
_ANSWER_FIELDS = {kind.answer_field for kind in KIND_TYPES.values()} - {""}
_ITEM_FIELDS = {"why", "quote"}.union(*(kind.item_fields for kind in KIND_TYPES.values()))


class ParsedReply(msgspec.Struct, frozen=True):
    """A reply, parsed. Answers and faults are keyed by position in the pack; each position is in one of them.

    faults: what is wrong, in a sentence without any words of the reply, so that it can be sent to the model.
    well_formed: whether there is an object with any of the keys. partial: of a list that is cut off, the answer to
    the first part of its question, and the question in that part and the rest.
    """

    answers: dict[int, Answer]
    faults: dict[int, str]
    well_formed: bool
    partial: dict[int, tuple[Answer, SplitQuestion]] = {}


def parse_reply(pack: Pack, text: str, style: PromptStyle) -> ParsedReply:
    """The answers that a reply gives to the questions of a pack. Never raises, whatever the text."""
    items = _items(pack, text)
    reply = ParsedReply({}, {}, bool(items), {})
    missing = "is missing" if items else "is missing: there is no JSON object that holds any of the keys"
    for position, (key, question) in enumerate(zip(pack.keys, pack.questions, strict=True)):
        try:
            if key not in items:
                raise InvalidItem(missing)
            reply.answers[position] = question.parse(items[key], pack, style)
        except InvalidItem as invalid:
            reply.faults[position] = f"the answer {'; it '.join(dict.fromkeys(invalid.args))}"
            if isinstance(invalid, CutOff):
                reply.partial[position] = invalid.answer, invalid.split
    return reply


def check_examples(text: str, where: str) -> None:
    """Raise BadData unless each line of a text is a question with an answer that a reply could give to it."""
    style = PromptStyle(quotes=True)
    for row, (question, item) in enumerate(examples_of(text, where), 1):
        pack = Pack((question,))
        reply = {pack.keys[0]: example_item(pack, question, item, style)}
        for fault in parse_reply(pack, json.dumps(reply), style).faults.values():
            raise BadData(f"{where}, line {row}: {fault}")


def _items(pack: Pack, text: str) -> ReplyItem:
    """The object of a text that answers the pack; empty where there is none."""
    try:
        found: Any = decoded(text, _DECODER)
    except ValueError:
        found = None
    if isinstance(found, dict) and pack.keys[0] in found and not _may_repeat(pack, text):
        return found
    return extract_object(text, pack.keys) or _in_order(pack, text)


def _in_order(pack: Pack, text: str) -> ReplyItem:
    """The answers of a list in the order of the questions, or of a single answer without its key; else empty."""
    body = _FENCE.sub("", text.rpartition("</think>")[2]).strip()
    try:
        found: Any = _decoder.decode(body)
    except (ValueError, RecursionError):
        found = body
    if isinstance(found, dict) and len(found) == 1 and found.keys().isdisjoint(_ITEM_FIELDS):
        found = next(iter(found.values()))
    if len(pack.keys) == 1 and not (isinstance(found, list) and len(found) == 1 and pack.questions[0].answer_field):
        found = [found]
    if not isinstance(found, list) or len(found) != len(pack.keys):
        return {}
    return dict(zip(pack.keys, found, strict=True)) if all(map(_is_item, found)) else {}


def _is_item(value: object) -> bool:
    """Whether a value without a key can be an answer."""
    return any(kind.looks_like_item(value) for kind in KIND_TYPES.values())


def _may_repeat(pack: Pack, text: str) -> bool:
    """Whether a key may occur twice, of which a plain decoder keeps only the last value."""
    if not pack.questions[0].answer_field:
        return any(text.count(f'"{key}"') > 1 for key in pack.keys)
    return sum(text.count(f'"{field}"') for field in _ANSWER_FIELDS) > len(pack.questions)
