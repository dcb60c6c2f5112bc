"""Replies: what a model wrote, as answers to the questions of a pack, and what is wrong with the rest."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import msgspec

from ragauge.judges.llm.packing import Pack
from ragauge.judges.llm.prompts import Style
from ragauge.judges.llm.salvage import REPEATED, salvaged
from ragauge.questions import Classify, Decompose, Entail, Question, Rate, Relevant
from ragauge.text.decoding import decoded
from ragauge.types import Answer, ChunkVerdict, Decomposition, Grade, Label, Span, Statement, Verdict

Item = dict[str, Any]

_ENTAILMENT = {label.value: label for label in (Label.ENTAILED, Label.NEUTRAL, Label.CONTRADICTED)}
_YES_NO = {label.value: label for label in (Label.YES, Label.NO)}
_PLAIN = {label: ChunkVerdict(label) for label in _ENTAILMENT.values()}
_FLAGS = {"claim": (True, False), "opinion": (False, True), "both": (True, True), "neither": (False, False)}
_ANYTHING = msgspec.json.Decoder()


class Reading(msgspec.Struct, frozen=True):
    """A reply read. Answers and faults are keyed by positions in the pack, and each position is in one of them.

    answers: what can be used. faults: what is wrong with the other answers, in a sentence that holds no words of the
    reply, so that it can be told to the model. in_form: whether there is an object with any of the keys at all.
    """

    answers: dict[int, Answer]
    faults: dict[int, str]
    in_form: bool


class _Unfit(Exception):
    """A part of a reply that is no answer; the message completes "the answer ..."."""


def read(pack: Pack, text: str, style: Style) -> Reading:
    """The answers that a reply gives to the questions of a pack. Never raises, whatever the text."""
    reader = _Reader(pack, style)
    found = _found(pack, text)
    reading = Reading({}, {}, bool(found))
    missing = "the answer is missing" + ("" if found else ": there is no JSON object that holds any of the keys")
    for position, (key, question) in enumerate(zip(pack.keys, pack.questions, strict=True)):
        if key not in found:
            reading.faults[position] = missing
            continue
        try:
            reading.answers[position] = _READ[type(question)](reader, question, found[key])
        except _Unfit as unfit:
            reading.faults[position] = f"the answer {unfit}"
    return reading


def _found(pack: Pack, text: str) -> Item:
    """The object of a text that answers the pack; empty where there is none."""
    try:
        found: Any = decoded(text, _ANYTHING)
    except ValueError:
        found = None
    if isinstance(found, dict) and pack.keys[0] in found and not _may_repeat(pack, text):
        return found
    return salvaged(text, pack.keys)


def _may_repeat(pack: Pack, text: str) -> bool:
    """Whether a key may occur twice, of which a plain decoder shows the last value alone."""
    if pack.decomposes:
        return any(text.count(f'"{key}"') > 1 for key in pack.keys)
    return text.count('"label"') + text.count('"grade"') > len(pack.questions)


class _Reader:
    """Reads the items of a reply to one pack. Each method raises _Unfit where an item is no answer to its question."""

    def __init__(self, pack: Pack, style: Style) -> None:
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
        span = located(quote, question.text) if quote else None
        return Verdict(_label(item, _YES_NO), span=span, rationale=self._why(item))

    def trait(self, question: Classify, said: object) -> Verdict:
        item = _item(said)
        return Verdict(_label(item, _YES_NO), rationale=self._why(item))

    def grade(self, question: Rate, said: object) -> Grade:
        item = _item(said)
        rubric, value = question.rubric, _number(item.get("grade"))
        if value is None or not rubric.low <= value <= rubric.high or (rubric.whole and value != int(value)):
            scale = f"a {'whole ' if rubric.whole else ''}number from {rubric.low:g} to {rubric.high:g}"
            raise _Unfit(f'has as its "grade" {_shown(item.get("grade"))}, not {scale}')
        return Grade(value, self._why(item))

    def _ids_of(self, premise: tuple[str, ...]) -> list[str]:
        if premise not in self._ids:
            self._ids[premise] = [self._pack.sources[text] for text in premise]
        return self._ids[premise]

    def _why(self, item: Item) -> str | None:
        said = item.get("why") if self._style.rationales else None
        return said.strip() or None if isinstance(said, str) else None

    def _quote(self, item: Item) -> str:
        said = item.get("quote") if self._style.quotes else None
        return said.strip() if isinstance(said, str) else ""


_READ: dict[type[Question], Callable[[_Reader, Any, object], Answer]] = {
    Decompose: _Reader.decomposition,
    Entail: _Reader.entailment,
    Relevant: _Reader.relevance,
    Classify: _Reader.trait,
    Rate: _Reader.grade,
}


def _statement(text: str, spans: Sequence[Span], said: object) -> tuple[int, Statement]:
    """The number of a statement's sentence, and the statement."""
    item = _item(said)
    number, wording, kind = _number(item.get("s")), item.get("text"), _word(item.get("kind"))
    if number is None or number not in range(1, len(spans) + 1):
        raise _Unfit(f'has a statement whose "s" is {_shown(item.get("s"))}; its sentences are 1 to {len(spans)}')
    if not isinstance(wording, str):
        raise _Unfit(f'has a statement whose "text" is {_shown(wording)}, not a string')
    if kind not in _FLAGS:
        raise _Unfit(f'has a statement whose "kind" is {_shown(item.get("kind"))}, not one of {", ".join(_FLAGS)}')
    wording, place = wording.strip(), int(number)
    return place, Statement(wording, _placed(wording, text, spans[place - 1]), *_FLAGS[kind])


def _placed(wording: str, text: str, sentence: Span) -> Span:
    """Where a sentence has the wording of a statement, with or without its full stop; else the whole sentence."""
    for words in (wording, wording.removesuffix(".")):
        at = text.find(words, *sentence)
        if at >= 0:
            return at, at + len(words)
    return sentence


def _each(item: Item, known: set[str]) -> dict[str, Label]:
    """What single sources say; one that is said to do both contradicts."""
    found = dict.fromkeys(_listed(item, "supports", known), Label.ENTAILED)
    found.update(dict.fromkeys(_listed(item, "contradicts", known), Label.CONTRADICTED))
    return found


def _listed(item: Item, name: str, known: set[str]) -> list[str]:
    listed = item.get(name)
    if not isinstance(listed, list):
        raise _Unfit(f'has no list "{name}"' if listed is None else f'has as "{name}" {_shown(listed)}, not a list')
    for source in listed:
        if not isinstance(source, str) or source not in known:
            raise _Unfit(f'has in "{name}" {_shown(source)}, not one of its sources {", ".join(sorted(known))}')
    return listed


def _mark(chunks: list[ChunkVerdict], premise: Sequence[str], label: Label, quote: str) -> None:
    """Give the span of the quote to the first chunk that has it, those first that say what is said of all."""
    for place in sorted(range(len(chunks)), key=lambda place: chunks[place].label != label):
        if span := located(quote, premise[place]):
            chunks[place] = ChunkVerdict(chunks[place].label, span=span)
            return


def located(quote: str, text: str) -> Span | None:
    """Where a text has these words, up to white space and case; None where it has not."""
    at = text.find(quote)
    if at >= 0:
        return at, at + len(quote)
    found = re.search(r"\s+".join(map(re.escape, quote.split())), text, re.IGNORECASE)
    return found.span() if found else None


def _item(said: object) -> Item:
    if not isinstance(said, dict):
        raise _no("object", said)
    return said


def _no(wanted: str, said: object) -> _Unfit:
    if said == REPEATED:
        return _Unfit("is given more than once")
    return _Unfit(f"is {_shown(said)}, not {'an' if wanted[0] in 'aeiou' else 'a'} {wanted}")


def _label(item: Item, labels: Mapping[str, Label]) -> Label:
    said = item.get("label")
    found = labels.get(_word(said))
    if found is None:
        raise _Unfit(f'has as its "label" {_shown(said)}, not one of {", ".join(labels)}')
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
