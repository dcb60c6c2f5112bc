"""Replies: what a model wrote, as answers to the questions of a pack, and what is wrong with the rest."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from operator import itemgetter
from typing import Any

import msgspec

from ragauge.judges.llm.packing import Pack
from ragauge.judges.llm.prompts import PromptStyle
from ragauge.questions import Classify, Decompose, Entail, Question, Rate, Relevant
from ragauge.text.decoding import decoded
from ragauge.types import Answer, ChunkVerdict, Decomposition, Grade, Label, Span, Statement, Verdict

#: Stands in place of a value whose key occurs more than once in its object.
REPEATED = "(given more than once)"

_STRING = r'"(?:[^"\\]|\\.)*+(?:"|\Z)'
_OPENING = re.compile(r'\{\s*"')
_MARK = re.compile(rf"{_STRING}|[{{}}\[\],]", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"({_STRING})|,(?=\s*[}}\]])", re.DOTALL)

#: Objects without any of the keys that are looked at.
_TRIES = 50


def extract_object(text: str, keys: Collection[str]) -> dict[str, Any]:
    """The JSON object in a text that has most of these keys; empty where none has any.

    Fences, prose, wrapping objects and trailing commas do not hide it, and what was thought aloud before the answer is
    left out. Of an object that the end of the text cuts off, the values that are whole are kept. Where several objects
    have as many of the keys, a value in which they differ is REPEATED: which one is meant cannot be known.
    """
    said = text if text.lstrip().startswith("{") else text.rpartition("</think>")[2]
    objects = _objects(said, set(keys))
    most = max((len(found.keys() & keys) for found in objects), default=0)
    first, *others = [found for found in objects if len(found.keys() & keys) == most] or [{}]
    disputed = [key for other in others for key in keys if other.get(key) != first.get(key)]
    return {**first, **dict.fromkeys(disputed, REPEATED)}


def _objects(text: str, keys: Set[str]) -> list[dict[str, Any]]:
    """The outermost objects of a text that have any of these keys; none where there are too many others to look at."""
    objects: list[dict[str, Any]] = []
    start = tries = 0
    while opening := _OPENING.search(text, start):
        written, end = _whole_part(text, opening.start())
        found = _decoded(written)
        start = opening.end()
        if found.keys() & keys:
            objects.append(found)
            start = end
        elif (tries := tries + 1) == _TRIES:
            return []
    return objects


def _whole_part(text: str, start: int) -> tuple[str, int]:
    """The object that starts here, if it is cut off up to its last whole value; and where it ends."""
    depth, whole = 0, start + 1
    for found in _MARK.finditer(text, start):
        mark = found[0]
        if mark in "{[":
            depth += 1
        elif mark in "}]":
            depth -= 1
            if not depth:
                return text[start : found.end()], found.end()
            if depth == 1:
                whole = found.end()
        elif mark == "," and depth == 1:
            whole = found.start()
    return text[start:whole] + "}", len(text)


def _decoded(written: str) -> dict[str, Any]:
    plain = _TRAILING_COMMA.sub(lambda found: found[1] or "", written)
    try:
        found: dict[str, Any] = _decoder.decode(plain)
        msgspec.json.encode(found)  # half of a surrogate pair is no text
    except (ValueError, RecursionError):
        return {}
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        found.update((key, REPEATED) for key, times in Counter(key for key, _ in pairs).items() if times > 1)
    return found


_decoder = json.JSONDecoder(object_pairs_hook=_once, strict=False)


ReplyItem = dict[str, Any]

_ENTAILMENT = {label.value: label for label in (Label.ENTAILED, Label.NEUTRAL, Label.CONTRADICTED)}
_YES_NO = {label.value: label for label in (Label.YES, Label.NO)}
_PLAIN = {label: ChunkVerdict(label) for label in _ENTAILMENT.values()}
_FLAGS = {"claim": (True, False), "opinion": (False, True), "both": (True, True), "neither": (False, False)}
_ANYTHING = msgspec.json.Decoder()


class ParsedReply(msgspec.Struct, frozen=True):
    """A reply read. Answers and faults are keyed by positions in the pack, and each position is in one of them.

    answers: what can be used. faults: what is wrong with the other answers, in a sentence that holds no words of the
    reply, so that it can be told to the model. in_form: whether there is an object with any of the keys at all.
    """

    answers: dict[int, Answer]
    faults: dict[int, str]
    in_form: bool


class _InvalidItem(Exception):
    """A part of a reply that is no answer; the message completes "the answer ..."."""


def parse_reply(pack: Pack, text: str, style: PromptStyle) -> ParsedReply:
    """The answers that a reply gives to the questions of a pack. Never raises, whatever the text."""
    reader = _AnswerParser(pack, style)
    found = _found(pack, text)
    reading = ParsedReply({}, {}, bool(found))
    missing = "the answer is missing" + ("" if found else ": there is no JSON object that holds any of the keys")
    for position, (key, question) in enumerate(zip(pack.keys, pack.questions, strict=True)):
        if key not in found:
            reading.faults[position] = missing
            continue
        try:
            reading.answers[position] = _READ[type(question)](reader, question, found[key])
        except _InvalidItem as unfit:
            reading.faults[position] = f"the answer {unfit}"
    return reading


def _found(pack: Pack, text: str) -> ReplyItem:
    """The object of a text that answers the pack; empty where there is none."""
    try:
        found: Any = decoded(text, _ANYTHING)
    except ValueError:
        found = None
    if isinstance(found, dict) and pack.keys[0] in found and not _may_repeat(pack, text):
        return found
    return extract_object(text, pack.keys)


def _may_repeat(pack: Pack, text: str) -> bool:
    """Whether a key may occur twice, of which a plain decoder shows the last value alone."""
    if pack.decomposes:
        return any(text.count(f'"{key}"') > 1 for key in pack.keys)
    return text.count('"label"') + text.count('"grade"') > len(pack.questions)


class _AnswerParser:
    """Reads the items of a reply to one pack. Each method raises _Unfit where an item is no answer to its question."""

    def __init__(self, pack: Pack, style: PromptStyle) -> None:
        self._pack = pack
        self._style = style
        self._ids: dict[tuple[str, ...], list[str]] = {}

    def decomposition(self, question: Decompose, said: object) -> Decomposition:
        if not isinstance(said, list):
            raise _no("list of statements", said)
        spans = self._pack.sentences[self._pack.questions.index(question)]
        placed = sorted((_statement(question.text, spans, piece) for piece in said), key=itemgetter(0))
        return Decomposition(tuple(dict.fromkeys(piece for _, piece in placed if piece.text)))

    def entailment(self, question: Entail, said: object) -> Verdict:
        item = _item(said)
        label = _label(item, _ENTAILMENT)
        ids = self._ids_of(question.premise)
        known = set(ids)
        each = _each(item, known) if len(known) > 1 else dict.fromkeys(ids, label)
        chunks = [_PLAIN[each.get(name, Label.NEUTRAL)] for name in ids]
        if quote := self._quote(item):
            _mark(chunks, question.premise, label, quote)
        return Verdict(label, chunks=tuple(chunks), rationale=self._why(item))

    def relevance(self, question: Relevant, said: object) -> Verdict:
        item = _item(said)
        quote = self._quote(item)
        span = locate_quote(quote, question.text) if quote else None
        return Verdict(_label(item, _YES_NO), span=span, rationale=self._why(item))

    def trait(self, question: Classify, said: object) -> Verdict:
        item = _item(said)
        return Verdict(_label(item, _YES_NO), rationale=self._why(item))

    def grade(self, question: Rate, said: object) -> Grade:
        item = _item(said)
        rubric, value = question.rubric, _number(item.get("grade"))
        if value is None or not rubric.low <= value <= rubric.high or (rubric.whole and value != int(value)):
            scale = f"a {'whole ' if rubric.whole else ''}number from {rubric.low:g} to {rubric.high:g}"
            raise _InvalidItem(f'has as its "grade" {_shown(item.get("grade"))}, not {scale}')
        return Grade(value, self._why(item))

    def _ids_of(self, premise: tuple[str, ...]) -> list[str]:
        if premise not in self._ids:
            self._ids[premise] = [self._pack.sources[text] for text in premise]
        return self._ids[premise]

    def _why(self, item: ReplyItem) -> str | None:
        said = item.get("why") if self._style.rationales else None
        return said.strip() or None if isinstance(said, str) else None

    def _quote(self, item: ReplyItem) -> str:
        said = item.get("quote") if self._style.quotes else None
        return said.strip() if isinstance(said, str) else ""


_READ: dict[type[Question], Callable[[_AnswerParser, Any, object], Answer]] = {
    Decompose: _AnswerParser.decomposition,
    Entail: _AnswerParser.entailment,
    Relevant: _AnswerParser.relevance,
    Classify: _AnswerParser.trait,
    Rate: _AnswerParser.grade,
}


def _statement(text: str, spans: Sequence[Span], said: object) -> tuple[int, Statement]:
    """The number of a statement's sentence, and the statement."""
    item = _item(said)
    number, wording, kind = _number(item.get("s")), item.get("text"), _word(item.get("kind"))
    if number is None or number not in range(1, len(spans) + 1):
        raise _InvalidItem(f'has a statement whose "s" is {_shown(item.get("s"))}; its sentences are 1 to {len(spans)}')
    if not isinstance(wording, str):
        raise _InvalidItem(f'has a statement whose "text" is {_shown(wording)}, not a string')
    if kind not in _FLAGS:
        raise _InvalidItem(
            f'has a statement whose "kind" is {_shown(item.get("kind"))}, not one of {", ".join(_FLAGS)}'
        )
    wording, place = wording.strip(), int(number)
    return place, Statement(wording, _placed(wording, text, spans[place - 1]), *_FLAGS[kind])


def _placed(wording: str, text: str, sentence: Span) -> Span:
    """Where a sentence has the wording of a statement, with or without its full stop; else the whole sentence."""
    for words in (wording, wording.removesuffix(".")):
        at = text.find(words, *sentence)
        if at >= 0:
            return at, at + len(words)
    return sentence


def _each(item: ReplyItem, known: set[str]) -> dict[str, Label]:
    """What single sources say; one that is said to do both contradicts."""
    found = dict.fromkeys(_listed(item, "supports", known), Label.ENTAILED)
    found.update(dict.fromkeys(_listed(item, "contradicts", known), Label.CONTRADICTED))
    return found


def _listed(item: ReplyItem, name: str, known: set[str]) -> list[str]:
    listed = item.get(name)
    if not isinstance(listed, list):
        raise _InvalidItem(
            f'has no list "{name}"' if listed is None else f'has as "{name}" {_shown(listed)}, not a list'
        )
    for source in listed:
        if not isinstance(source, str) or source not in known:
            raise _InvalidItem(f'has in "{name}" {_shown(source)}, not one of its sources {", ".join(sorted(known))}')
    return listed


def _mark(chunks: list[ChunkVerdict], premise: Sequence[str], label: Label, quote: str) -> None:
    """Give the span of the quote to the first chunk that has it, those first that say what is said of all."""
    for place in sorted(range(len(chunks)), key=lambda place: chunks[place].label != label):
        if span := locate_quote(quote, premise[place]):
            chunks[place] = ChunkVerdict(chunks[place].label, span=span)
            return


def locate_quote(quote: str, text: str) -> Span | None:
    """Where a text has these words, up to white space and case; None where it has not."""
    at = text.find(quote)
    if at >= 0:
        return at, at + len(quote)
    found = re.search(r"\s+".join(map(re.escape, quote.split())), text, re.IGNORECASE)
    return found.span() if found else None


def _item(said: object) -> ReplyItem:
    if not isinstance(said, dict):
        raise _no("object", said)
    return said


def _no(wanted: str, said: object) -> _InvalidItem:
    if said == REPEATED:
        return _InvalidItem("is given more than once")
    return _InvalidItem(f"is {_shown(said)}, not {'an' if wanted[0] in 'aeiou' else 'a'} {wanted}")


def _label(item: ReplyItem, labels: Mapping[str, Label]) -> Label:
    said = item.get("label")
    found = labels.get(_word(said))
    if found is None:
        raise _InvalidItem(f'has as its "label" {_shown(said)}, not one of {", ".join(labels)}')
    return found


def _word(said: object) -> str:
    return said.strip().lower() if isinstance(said, str) else ""


def _number(said: object) -> float | None:
    if isinstance(said, bool) or not isinstance(said, int | float | str):
        return None
    try:
        return float(said)
    except (ValueError, OverflowError):
        return None


def _shown(said: object) -> str:
    """What a piece of a reply is: a number, true, false and null as they are, others by their type alone."""
    if isinstance(said, str):
        return "some text"
    if isinstance(said, list | dict):
        return "a list" if isinstance(said, list) else "an object"
    return f"{msgspec.json.encode(said).decode():.20}"
