"""Replies: what a model wrote, parsed as answers to the questions of a pack, and what is wrong with the rest."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from operator import itemgetter
from typing import Any, ParamSpec, TypeVar

import msgspec

from ragauge.errors import BadData
from ragauge.host import decoded
from ragauge.judges.llm.packing import Pack, PromptStyle
from ragauge.judges.llm.prompts import example_item, examples_of
from ragauge.questions import Classify, Decompose, Entail, Question, Rate, Relevant
from ragauge.types import Answer, ChunkVerdict, Decomposition, Grade, Label, Span, Statement, Verdict

#: The value of a key that occurs more than once in its object.
REPEATED = "(given more than once)"

#: Stands in a list for what the end of the reply cut off.
CUT_OFF = "(cut off)"

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


ReplyItem = dict[str, Any]

P = ParamSpec("P")
T = TypeVar("T")

_ENTAILMENT = {label.value: label for label in (Label.ENTAILED, Label.NEUTRAL, Label.CONTRADICTED)}
_YES_NO = {label.value: label for label in (Label.YES, Label.NO)}
_CHUNK_VERDICTS = {label: ChunkVerdict(label) for label in _ENTAILMENT.values()}
_FLAGS = {"claim": (True, False), "opinion": (False, True), "both": (True, True), "neither": (False, False)}
_DECODER = msgspec.json.Decoder()
_FENCE = re.compile(r"^\s*```\w*|```\s*$")
_STATEMENT_FIELDS = {"s", "text", "kind"}
_VERDICT_FIELDS = {"why", "quote", "label", "supports", "contradicts", "grade"}
_NAME = re.compile(r"[\d_a-z]*+[^\W\d_a-z]\w*|\d[\d.,]*")


class ParsedReply(msgspec.Struct, frozen=True):
    """A reply, parsed. Answers and faults are keyed by position in the pack; each position is in one of them.

    faults: what is wrong, in a sentence without any words of the reply, so that it can be sent to the model.
    well_formed: whether there is an object with any of the keys. partial: of a list of statements that is cut off,
    those of whole sentences, and the character where the next sentence begins.
    """

    answers: dict[int, Answer]
    faults: dict[int, str]
    well_formed: bool
    partial: dict[int, tuple[Decomposition, int]] = {}


class _InvalidItem(Exception):
    """A part of a reply that is no answer; each argument completes "the answer ..."."""


class _CutOff(_InvalidItem):
    """A list of statements without its end. partial: as in ParsedReply."""

    def __init__(self, partial: tuple[Decomposition, int]) -> None:
        super().__init__("is cut off")
        self.partial = partial


def parse_reply(pack: Pack, text: str, style: PromptStyle) -> ParsedReply:
    """The answers that a reply gives to the questions of a pack. Never raises, whatever the text."""
    parser, items = _AnswerParser(pack, style), _items(pack, text)
    reply = ParsedReply({}, {}, bool(items), {})
    missing = "is missing" if items else "is missing: there is no JSON object that holds any of the keys"
    for position, (key, question) in enumerate(zip(pack.keys, pack.questions, strict=True)):
        try:
            if key not in items:
                raise _InvalidItem(missing)
            reply.answers[position] = _PARSERS[type(question)](parser, question, items[key])
        except _InvalidItem as invalid:
            reply.faults[position] = f"the answer {'; it '.join(dict.fromkeys(invalid.args))}"
            if isinstance(invalid, _CutOff):
                reply.partial[position] = invalid.partial
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
    if isinstance(found, dict) and len(found) == 1 and found.keys().isdisjoint(_VERDICT_FIELDS):
        found = next(iter(found.values()))
    if len(pack.keys) == 1 and not (isinstance(found, list) and len(found) == 1 and not pack.decomposes):
        found = [found]
    if not isinstance(found, list) or len(found) != len(pack.keys):
        return {}
    return dict(zip(pack.keys, found, strict=True)) if all(map(_is_item, found)) else {}


def _is_item(value: object) -> bool:
    """Whether a value without a key can be an answer: it has nothing but the fields of one."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(one, dict) and one.keys() == _STATEMENT_FIELDS for one in value)
    if isinstance(value, dict):
        return bool(value) and value.keys() <= _VERDICT_FIELDS
    return _word(value) in _ENTAILMENT or _word(value) in _YES_NO


def _may_repeat(pack: Pack, text: str) -> bool:
    """Whether a key may occur twice, of which a plain decoder keeps only the last value."""
    if pack.decomposes:
        return any(text.count(f'"{key}"') > 1 for key in pack.keys)
    return text.count('"label"') + text.count('"grade"') > len(pack.questions)


class _AnswerParser:
    """Parses the items of a reply to one pack. Each method raises _InvalidItem for what is no answer."""

    def __init__(self, pack: Pack, style: PromptStyle) -> None:
        self._pack = pack
        self._style = style
        self._ids_by_premise: dict[tuple[str, ...], list[str]] = {}

    def decomposition(self, question: Decompose, value: object) -> Decomposition:
        if not isinstance(value, list):
            raise _not_a("list of statements", value)
        spans = self._pack.sentences[self._pack.questions.index(question)]
        cut = bool(value) and value[-1] == CUT_OFF
        faults: list[str] = []
        pieces = [_tried(faults, _statement, question.text, spans, one) for one in (value[:-1] if cut else value)]
        numbered = sorted(filter(None, pieces), key=itemgetter(0))
        stated = {number for number, piece in numbered if piece.text}
        end = max(stated) if cut and stated else len(spans) + 1
        if foreign := sorted({n for n, piece in numbered if self._from_another_text(question, piece.text)}):
            faults.append(f'names in statements with "s" {_listing(foreign)} what stands in another text alone')
        written = {n for n, span in enumerate(spans, 1) if n < end and question.text[slice(*span)].strip()}
        if not faults and (missing := sorted(written - stated)):
            faults.append(
                f'has no statement whose "s" is {_listing(missing)}; enter a sentence that states nothing as it is, '
                'with "kind" "neither"'
            )
        if faults:
            raise _InvalidItem(*faults)
        found = Decomposition(tuple(dict.fromkeys(piece for n, piece in numbered if piece.text and n < end)))
        if cut:
            raise _CutOff((found, spans[end - 1][0])) if stated and end > 1 else _InvalidItem("is cut off")
        return found

    def _from_another_text(self, question: Decompose, statement: str) -> bool:
        """Whether a name or number of a statement occurs in another text of the call alone.

        The first word, which has a capital in any case, is a name where another text has it within a sentence.
        """
        own = f"{question.text} {question.query or ''}".casefold()
        others = " ".join(one.text for one in self._pack.questions if one is not question)  # type: ignore[union-attr]
        if not others:
            return False
        foreign = [
            found for found in _NAME.finditer(statement) if found[0].casefold() not in own and found[0] in others
        ]
        first = len(statement.partition(" ")[0])
        return any(found.start() > first or re.search(rf"[\w,;] {re.escape(found[0])}\b", others) for found in foreign)

    def entailment(self, question: Entail, value: object) -> Verdict:
        item = _item(value)
        ids = self._ids_by_premise.get(question.premise)
        if ids is None:
            ids = self._ids_by_premise[question.premise] = [self._pack.sources[text] for text in question.premise]
        if len(ids) > 1 and len(known := set(ids)) > 1:
            label, by_id = _joint(item, known, self._style.support_outweighs)
            chunks = [_CHUNK_VERDICTS[by_id.get(id, Label.NEUTRAL)] for id in ids]
        else:
            label = _label(item, _ENTAILMENT)
            chunks = [_CHUNK_VERDICTS[label]] * len(ids)
        quote, span = self._quote(item), None
        if quote:  # it is of the first chunk that contains it, preferably one with the label of the whole
            for place in sorted(range(len(chunks)), key=lambda place: chunks[place].label != label):
                if span := locate_quote(quote, question.premise[place]):
                    chunks[place] = ChunkVerdict(chunks[place].label, span=span)
                    break
        return Verdict(label, chunks=tuple(chunks), rationale=self._rationale(item))

    def yes_or_no(self, question: Relevant | Classify, value: object) -> Verdict:
        item = _item(value)
        quote = self._quote(item) if isinstance(question, Relevant) else ""
        span = locate_quote(quote, question.text) if quote else None
        return Verdict(_label(item, _YES_NO), span=span, rationale=self._rationale(item))

    def grade(self, question: Rate, value: object) -> Grade:
        item = _item(value, "grade")
        rubric, grade = question.rubric, _number(item.get("grade"))
        if grade is None or not rubric.low <= grade <= rubric.high or (rubric.whole and grade != int(grade)):
            scale = f"a {'whole ' if rubric.whole else ''}number from {rubric.low:g} to {rubric.high:g}"
            raise _InvalidItem(f'has as its "grade" {_describe(item.get("grade"))}, not {scale}')
        return Grade(grade, self._rationale(item))

    def _rationale(self, item: ReplyItem) -> str | None:
        why = item.get("why") if self._style.rationales else None
        return why.strip() or None if isinstance(why, str) else None

    def _quote(self, item: ReplyItem) -> str:
        quote = item.get("quote") if self._style.quotes else None
        return quote.strip() if isinstance(quote, str) else ""


_PARSERS: dict[type[Question], Callable[[_AnswerParser, Any, object], Answer]] = {
    Decompose: _AnswerParser.decomposition,
    Entail: _AnswerParser.entailment,
    Relevant: _AnswerParser.yes_or_no,
    Classify: _AnswerParser.yes_or_no,
    Rate: _AnswerParser.grade,
}


def _tried(faults: list[str], parse: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
    """The part that `parse` finds; None where it is invalid, and `faults` then say why."""
    try:
        return parse(*args, **kwargs)
    except _InvalidItem as invalid:
        faults += invalid.args
        return None


def _statement(text: str, spans: Sequence[Span], value: object) -> tuple[int, Statement]:
    """The number of a statement's sentence, and the statement."""
    if not isinstance(value, dict):
        raise _InvalidItem(f"has as a statement {_describe(value)}, not an object")
    number, statement, kind = _number(value.get("s")), value.get("text"), _word(value.get("kind"))
    faults = []
    if number is None or number not in range(1, len(spans) + 1):
        faults.append(f'has a statement whose "s" is {_describe(value.get("s"))}; its sentences are 1 to {len(spans)}')
    if not isinstance(statement, str):
        faults.append(f'has a statement whose "text" is {_describe(statement)}, not a string')
    if kind not in _FLAGS:
        faults.append(f'has a statement whose "kind" is {_describe(value.get("kind"))}, not one of {", ".join(_FLAGS)}')
    if faults or number is None or not isinstance(statement, str):
        raise _InvalidItem(*faults)
    statement, sentence = statement.strip(), int(number)
    return sentence, Statement(statement, _located(statement, text, spans[sentence - 1]), *_FLAGS[kind])


def _located(statement: str, text: str, sentence: Span) -> Span:
    """Where a sentence contains a statement, with or without its full stop; else the whole sentence."""
    for words in (statement, statement.removesuffix(".")):
        at = text.find(words, *sentence)
        if at >= 0:
            return at, at + len(words)
    return sentence


def _joint(item: ReplyItem, known: set[str], support_outweighs: bool) -> tuple[Label, dict[str, Label]]:
    """The label of a claim by all its sources, and those by single ones; a source in both lists contradicts.

    support_outweighs: of an entailed claim no source counts as contradicting, since that would make it unsupported.
    """
    faults: list[str] = []
    label = _tried(faults, _label, item, _ENTAILMENT)
    supports, contradicts = (
        _tried(faults, _listed, item, name, known, label is Label.NEUTRAL) for name in ("supports", "contradicts")
    )
    if label is None or supports is None or contradicts is None:
        raise _InvalidItem(*faults)
    if label is Label.NEUTRAL and (supports or contradicts):
        raise _InvalidItem('has the "label" neutral, and yet lists sources that entail or contradict the claim')
    if label is Label.ENTAILED and contradicts and not supports:
        raise _InvalidItem('has the "label" entailed, and yet lists only sources that contradict the claim')
    if label is Label.CONTRADICTED and supports and not contradicts:
        raise _InvalidItem('has the "label" contradicted, and yet lists only sources that entail the claim')
    if support_outweighs and label is Label.CONTRADICTED and supports:
        raise _InvalidItem('has the "label" contradicted, and yet lists sources that entail the claim, which decide')
    if support_outweighs and label is Label.ENTAILED:
        contradicts = []
    return label, dict.fromkeys(supports, Label.ENTAILED) | dict.fromkeys(contradicts, Label.CONTRADICTED)


def _listed(item: ReplyItem, name: str, known: set[str], optional: bool) -> list[str]:
    if name not in item and not optional:
        raise _InvalidItem(f'has no list "{name}"')
    value = item.get(name)
    listed = [] if value is None else [value] if isinstance(value, str) and value in known else value
    if not isinstance(listed, list):
        raise _InvalidItem(f'has as "{name}" {_describe(listed)}, not a list of its sources {_listing(sorted(known))}')
    for source in listed:
        if not isinstance(source, str) or source not in known:
            sources = _listing(sorted(known))
            raise _InvalidItem(f'has in "{name}" {_describe(source)}, not one of its sources {sources}')
    return listed


def locate_quote(quote: str, text: str) -> Span | None:
    """Where a text contains these words, up to white space and case; None where it does not."""
    at = text.find(quote)
    if at >= 0:
        return at, at + len(quote)
    found = re.search(r"\s+".join(map(re.escape, quote.split())), text, re.IGNORECASE)
    return found.span() if found else None


def _item(value: object, field: str = "label") -> ReplyItem:
    """The object of an answer; a bare label or grade stands for one."""
    if isinstance(value, dict):
        return value
    if value != REPEATED and isinstance(value, str | int | float) and not isinstance(value, bool):
        return {field: value}
    raise _not_a("object", value)


def _listing(values: Sequence[object]) -> str:
    return ", ".join(map(str, values))


def _not_a(wanted: str, value: object) -> _InvalidItem:
    if value == REPEATED:
        return _InvalidItem("is given more than once")
    return _InvalidItem(f"is {_describe(value)}, not {'an' if wanted[0] in 'aeiou' else 'a'} {wanted}")


def _label(item: ReplyItem, labels: Mapping[str, Label]) -> Label:
    value = item.get("label")
    found = labels.get(_word(value))
    if found is None:
        raise _InvalidItem(f'has as its "label" {_describe(value)}, not one of {", ".join(labels)}')
    return found


def _word(value: object) -> str:
    """A word of a reply, without the marks around it."""
    return value.strip(" \t\r\n.!:*_'\"`").lower() if isinstance(value, str) else ""


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _describe(value: object) -> str:
    """A value of a reply: numbers, true, false and null as they are, others by their type alone."""
    if isinstance(value, str):
        return "some text"
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return f"{msgspec.json.encode(value).decode():.20}"
