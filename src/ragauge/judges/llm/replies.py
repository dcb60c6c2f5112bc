"""Replies of a model, parsed as answers to the questions of a pack and faults of the rest."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from math import exp
from typing import Any

import msgspec

from ragauge.errors import BadData
from ragauge.judges.llm.messages import ReplyToken
from ragauge.judges.llm.prompts import Pack, example_item, examples_of
from ragauge.kinds.call import CUT_OFF, REPEATED, CutOff, InvalidItem, PromptStyle, ReplyItem, word
from ragauge.kinds.windows import SplitQuestion
from ragauge.questions import KIND_TYPES
from ragauge.redaction import redacted
from ragauge.types import POSITIVE, Answer, Label, Verdict

#: Characters of a reply after which nothing is read: several times as many as the longest answer has.
MAX_CHARS = 100_000

_STRING = r'"(?:[^"\\]|\\.)*+(?:"|\Z)'
_OPENING = re.compile(r'\{\s*"')
_MARK = re.compile(rf"{_STRING}|[{{}}\[\],]", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"({_STRING})|,(?=\s*[}}\]])", re.DOTALL)

#: The most scans of a text, so that its length alone bounds the time.
_MAX_SCANS = 4


def extract_object(text: str, keys: Collection[str]) -> dict[str, Any]:
    """The JSON object in a text that has most of these keys; empty where none has any.

    Fences, prose, wrapping objects and trailing commas do not hide it, and reasoning before the answer is skipped. Of
    an object that the end of the text cuts off, the complete values are kept, and of a list the complete objects,
    followed by CUT_OFF. Objects that have as many of the keys are read as one; a value in which they differ is
    REPEATED, as is the value of a key that an object has twice: which one is meant cannot be known. A text of more than
    MAX_CHARS, reasoning aside, has no object.
    """
    answer = text if text.lstrip().startswith("{") else text.rpartition("</think>")[2]
    if len(answer) > MAX_CHARS:
        return {}
    wanted = set(keys)
    objects = _holding(_decoded(answer), wanted) or _objects(answer, wanted)
    most = max((len(candidate.keys() & wanted) for candidate in objects), default=0)
    merged: dict[str, Any] = {}
    for candidate in objects:
        if len(candidate.keys() & wanted) == most:
            ambiguous = [key for key in candidate.keys() & merged if candidate[key] != merged[key]]
            merged = {**candidate, **merged, **dict.fromkeys(ambiguous, REPEATED)}
    return merged


def _objects(text: str, keys: Set[str]) -> list[dict[str, Any]]:
    """The outermost objects of a text that have any of these keys; none where too much else has to be scanned."""
    objects: list[dict[str, Any]] = []
    start, budget = 0, _MAX_SCANS * len(text)
    while opening := _OPENING.search(text, start):
        written, end = _complete_part(text, opening.start())
        budget -= end - opening.start()
        if budget < 0:
            return []
        value = _decoded(_TRAILING_COMMA.sub(lambda match: match[1] or "", written))
        objects += _holding(value, keys)
        start = end if value else opening.end()
    return objects


def _complete_part(text: str, start: int) -> tuple[str, int]:
    """The object that starts here, up to its last complete value where it is cut off, and where it ends."""
    depth, complete, closing, in_list = 0, start + 1, "}", False
    for match in _MARK.finditer(text, start):
        mark = match[0]
        if mark in "{[":
            depth += 1
            in_list = mark == "[" if depth == 2 else in_list
        elif mark in "}]":
            depth -= 1
            if not depth:
                return text[start : match.end()], match.end()
            if depth == 1:
                complete, closing = match.end(), "}"
            elif depth == 2 and in_list:
                complete, closing = match.end(), f', "{CUT_OFF}"]}}'
        elif mark == "," and depth == 1:
            complete, closing = match.start(), "}"
    return text[start:complete] + closing, len(text)


def _holding(value: object, keys: Set[str]) -> list[dict[str, Any]]:
    """The outermost objects of a value that have any of these keys, in their order."""
    objects, rest = [], [value]
    while rest:
        value = rest.pop()
        if isinstance(value, dict) and value.keys() & keys:
            objects.append(value)
        elif isinstance(value, dict | list):
            rest += reversed(list(value.values()) if isinstance(value, dict) else value)
    return objects


def _decoded(text: str) -> Any:
    """The value of a JSON text, in which the value of a key that its object has twice is REPEATED; None for others.

    Keys of this process that escapes hid in the text are removed.
    """
    try:
        value = _DECODER.decode(text)
        written = msgspec.json.encode(value).decode()  # half of a surrogate pair is no text
        without_keys = redacted(written)
        return value if without_keys == written else _DECODER.decode(without_keys)
    except (ValueError, RecursionError):
        return None


def _marking_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        members.update((key, REPEATED) for key, times in Counter(key for key, _ in pairs).items() if times > 1)
    return members


_DECODER = json.JSONDecoder(object_pairs_hook=_marking_repeats, strict=False)

_FENCE = re.compile(r"^\s*```\w*|```\s*$")

#: All fields of items.
_ITEM_FIELDS = {"why", "quote"}.union(*(kind.item_fields for kind in KIND_TYPES.values()))

#: The value, in JSON, of a key that an item, or an object within it, has more than once.
_REPEATED = msgspec.json.encode(REPEATED)


class ParsedReply(msgspec.Struct, frozen=True):
    """A reply, parsed. Answers and faults are keyed by position in the pack; each position is in one of them.

    faults: in sentences without any words of the reply, which can be sent to the model. well_formed: whether there is
    an object with any of the keys. partial: for a list that is cut off, the answer to the first part of its question,
    and the question in that part and the rest.
    """

    answers: dict[int, Answer]
    faults: dict[int, str]
    well_formed: bool
    partial: dict[int, tuple[Answer, SplitQuestion]] = {}


def parse_reply(pack: Pack, text: str, style: PromptStyle, tokens: Sequence[ReplyToken] = ()) -> ParsedReply:
    """The answers that a reply gives to the questions of a pack. Never raises, whatever the text.

    tokens: of the reply, with log-probabilities, which give verdicts their probabilities.
    """
    items = extract_object(text, pack.keys) or _in_order(pack, text)
    labels = {key: question.labels for key, question in zip(pack.keys, pack.questions, strict=True) if question.labels}
    probabilities = label_probabilities(tokens, items, labels) if tokens else {}
    reply = ParsedReply({}, {}, bool(items), {})
    repeats = _REPEATED in msgspec.json.encode(items)
    missing = "is missing" if items else "is missing: there is no JSON object that holds any of the keys"
    for position, (key, question) in enumerate(zip(pack.keys, pack.questions, strict=True)):
        try:
            if key not in items:
                raise InvalidItem(missing)
            answer = question.parse(items[key], pack, style)
            if repeats and _REPEATED in msgspec.json.encode(items[key]):
                raise InvalidItem("has a field that is given more than once")
            if key in probabilities and isinstance(answer, Verdict):
                answer = msgspec.structs.replace(answer, probability=probabilities[key])
            reply.answers[position] = answer
        except InvalidItem as invalid:
            reply.faults[position] = f"the answer {'; it '.join(dict.fromkeys(invalid.args))}"
            if isinstance(invalid, CutOff):
                reply.partial[position] = invalid.answer, invalid.split
    return reply


_LABEL = re.compile(r'(?<!\\)"label"\s*:\s*"([^"\\]*)"')


def label_probabilities(
    tokens: Sequence[ReplyToken], items: Mapping[str, Any], labels: Mapping[str, Mapping[str, Label]]
) -> dict[str, float]:
    """The probability of the positive label, by the key of the verdict; a verdict without one is left out.

    A reply is the text of its tokens. Where a label begins, the tokens that the model might have written instead say
    which other label it would have begun; the probability is the share of "entailed", "yes" or "right" among all labels
    there. A reason that stands before a label has decided much of it: without reasons probabilities are milder.

    Args:
        tokens: of the whole reply.
        items: what the reply answers, by key, in its order.
        labels: what each key may be answered by, by the words of the reply.
    """
    text = "".join(token.text for token in tokens)
    written = [(key, word(item["label"])) for key, item in items.items() if isinstance(item, dict) and "label" in item]
    places = [(match.start(1), word(match[1])) for match in _LABEL.finditer(text)]
    if [label for _, label in written] != [label for _, label in places]:
        return {}  # the object that was read is not all of the reply
    starts = {key: place for (key, _), (place, _) in zip(written, places, strict=True) if key in labels}
    probabilities = ((key, _probability(tokens, start, labels[key])) for key, start in starts.items())
    return {key: probability for key, probability in probabilities if probability is not None}


def _probability(tokens: Sequence[ReplyToken], start: int, labels: Mapping[str, Label]) -> float | None:
    """The share of positive labels at a place of the reply; None where the tokens there begin no label."""
    end = 0
    for token in tokens:
        end += len(token.text)
        if end > start:
            break
    before = token.text[: len(token.text) - (end - start)]
    shares: defaultdict[Label, float] = defaultdict(float)
    for text, logprob in token.alternatives.items():
        if text.startswith(before) and (begun := _begun(word(text[len(before) :]), labels)):
            shares[labels[begun]] += exp(logprob)
    total = sum(shares.values())
    return min(sum(shares[label] for label in POSITIVE) / total, 1.0) if total else None


def _begun(piece: str, labels: Iterable[str]) -> str | None:
    """The label that a token begins; None where it could be several, or none."""
    fitting = [label for label in labels if piece and (label.startswith(piece) or piece.startswith(label))]
    return fitting[0] if len(fitting) == 1 else None


def check_examples(text: str, where: str) -> None:
    """Raise BadData unless each line of a text is a question with an answer that a reply could give to it."""
    style = PromptStyle(quotes=True)
    for row, (question, item) in enumerate(examples_of(text, where), 1):
        pack = Pack((question,))
        reply = {pack.keys[0]: example_item(pack, question, item, style)}
        for fault in parse_reply(pack, json.dumps(reply), style).faults.values():
            raise BadData(f"{where}, line {row}: {fault}")


def _in_order(pack: Pack, text: str) -> ReplyItem:
    """The answers of a list in the order of the questions, or of a single answer without its key; else empty."""
    body = _FENCE.sub("", text.rpartition("</think>")[2]).strip()
    if len(body) > MAX_CHARS:
        return {}
    value = _decoded(body)
    value = (_one_a_line(body, pack.keys) or body) if value is None else value
    if isinstance(value, dict) and len(value) == 1 and value.keys().isdisjoint(_ITEM_FIELDS):
        value = next(iter(value.values()))
    if len(pack.keys) == 1 and not (isinstance(value, list) and len(value) == 1 and pack.questions[0].answer_field):
        value = [value]
    if not isinstance(value, list) or len(value) != len(pack.keys):
        return {}
    if not all(any(kind.looks_like_item(item) for kind in KIND_TYPES.values()) for item in value):
        return {}
    return dict(zip(pack.keys, value, strict=True))


def _one_a_line(body: str, keys: Sequence[str]) -> list[Any] | None:
    """The answers of a text with one object a line: by their keys, or in the order of the questions where none has one.

    None for any other text.
    """
    lines = [_decoded(line.strip().rstrip(",")) for line in body.splitlines() if line.strip()]
    if len(lines) != len(keys) or not all(isinstance(line, dict) for line in lines):
        return None
    named = {str(line.pop(name)): line for line in lines for name in ("id", "key", "item") if name in line}
    if named.keys() == set(keys):
        return [named[key] for key in keys]
    return None if named else lines
