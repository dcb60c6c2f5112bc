"""Prompts: what a call says to a model, from the sections on its kinds of question to the schema of its reply.

A system message is the preamble, the sections of the kinds that occur, in the order of `questions.KINDS`, the sections
on rationales and quotes, and a worked example of those kinds. It depends on nothing else: calls that ask the same kinds
have the same prefix, which servers that cache prefixes of any length (vLLM, llama.cpp, SGLang) read once. OpenAI and
Anthropic cache none below 1,024 tokens, which it reaches only where one call judges claims, relevance and traits, and
where a schema is sent they put it before the message. All texts of a sample are JSON strings of one document, the user
message.

Schemas use only what strict modes and grammars of servers have in common: all properties required and no others,
`$defs`, enums, and bounds for numbers only.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from math import ceil, floor
from typing import Any, Literal, NamedTuple

import msgspec

from ragauge.errors import BadData, UnknownName
from ragauge.judges.llm.messages import Prompt, Turn
from ragauge.judges.llm.packing import Pack, PackLimits, PromptStyle, packs
from ragauge.questions import KINDS, Classify, Decompose, Entail, Question, Rate, Relevant, kind

#: Increased whenever layout, schema or parsing changes what a model sees or what its answers mean.
FORM = 3

#: The sections of a system message; the last one holds worked examples, the others text.
SECTIONS = ("preamble", *KINDS, "why", "quote", "examples")

#: The mark of a line that only counts where an option has that value, as in "[sources=claim] ...".
_CONDITION = re.compile(r"^\[(\w+)=(\w+)\] ?(.*\n?)", re.MULTILINE)

#: The options that a line may depend on, with their values.
_CHOICES = {
    **dict.fromkeys(("rationales", "quotes"), ("true", "false")),
    "sources": ("ignore", "claim"),
    "conflicts": ("contradicted", "entailed"),
}

Json = dict[str, Any]

_encode = msgspec.json.Encoder().encode


def file_name(section: str) -> str:
    """The name of a section's file."""
    return "examples.jsonl" if section == "examples" else f"{section}.md"


@cache
def packaged(name: str) -> str:
    """The text of a section in this package."""
    return (files(__package__) / "prompts" / file_name(name)).read_text(encoding="utf-8").strip()


def sections(style: PromptStyle) -> dict[str, str]:
    """The sections as they are in files, the user's or the packaged ones."""
    return {name: packaged(name) for name in SECTIONS} | dict(style.sections)


def section(name: str, style: PromptStyle) -> str:
    """The text of a section, with the lines that apply to the style."""
    text = sections(style)[name]
    return _CONDITION.sub(lambda found: found[3] if _chosen(style, found[1]) == found[2] else "", text).strip()


def _chosen(style: PromptStyle, option: str) -> str:
    return str(getattr(style, option, "")).lower()


def check_lines(style: PromptStyle) -> None:
    """Raise UnknownName or BadData where lines of a user's section do not fit the options of the style."""
    for name, text in style.sections:
        marks, ours = ({found.group(1, 2) for found in _CONDITION.finditer(one)} for one in (text, packaged(name)))
        for option, value in sorted(marks):
            if option not in _CHOICES:
                raise UnknownName(f"option at a line of {file_name(name)}", option, _CHOICES)
            if value not in _CHOICES[option]:
                raise UnknownName(f"value of {option} at a line of {file_name(name)}", value, _CHOICES[option])
        for option, value in sorted(ours - marks):
            if _chosen(style, option) == value != _chosen(PromptStyle(), option):
                fix = f"begin one with [{option}={value}], or leave the option out"
                raise BadData(f"{file_name(name)}: no line of the section is for {option}={value}; {fix}")


@lru_cache(maxsize=256)
def system(kinds: frozenset[str], style: PromptStyle) -> str:
    """The system message of a call that asks questions of these kinds."""
    named = ["preamble", *(kind for kind in KINDS if kind in kinds)]
    if style.rationales and kinds != {"decompose"}:
        named.append("why")
    if style.quotes and not kinds.isdisjoint(("entail", "relevant")):
        named.append("quote")
    return "\n\n".join([*(section(name, style) for name in named), *_worked_examples(kinds, style)])


class Example(NamedTuple):
    """A question, and the item of a reply that answers it; sources are numbered as in the premise, from 1."""

    question: Question
    item: Any


def examples_of(text: str, where: str) -> list[Example]:
    """The examples of JSON lines. where: the file, for messages. Raises BadData for a line that is none."""
    found = []
    for row, line in enumerate(text.splitlines(), 1):
        try:
            fields = msgspec.json.decode(line)
            item = fields.pop("answer")
            found.append(Example(msgspec.convert(fields, Question), item))
        except (msgspec.MsgspecError, AttributeError, KeyError, TypeError) as error:
            raise BadData(
                f"{where}, line {row}: {error}; write a question and its answer, such as "
                '{"kind": "classify", "text": "You fool.", "trait": "toxic", "answer": {"label": "yes"}}'
            ) from None
    return found


def example_calls(style: PromptStyle, kinds: frozenset[str] = frozenset(KINDS)) -> Iterator[tuple[Pack, Json]]:
    """The calls that ask the examples of these kinds, and their replies."""
    found = examples_of(section("examples", style), "examples")
    items = {question: item for question, item in found if kind(question) in kinds}
    for pack in packs(items, PackLimits(verdicts=len(items))):
        pairs = zip(pack.keys, pack.questions, strict=True)
        yield pack, {key: example_item(pack, question, items[question], style) for key, question in pairs}


def example_item(pack: Pack, question: Question, item: Any, style: PromptStyle) -> Any:
    """The answer of an example as a reply gives it: without what the style leaves out, with the ids of sources."""
    if not isinstance(item, dict):
        return item
    omitted = {name for name, asked in (("why", style.rationales), ("quote", style.quotes)) if not asked}
    found = {name: value for name, value in item.items() if name not in omitted}
    for name in ("supports", "contradicts"):
        if isinstance(question, Entail) and isinstance(listed := found.get(name), list):
            ids = {place: pack.sources[text] for place, text in enumerate(question.premise, 1)}
            found[name] = [ids.get(place, place) for place in listed]
    return found


def _worked_examples(kinds: frozenset[str], style: PromptStyle) -> Iterator[str]:
    for pack, reply in example_calls(style, kinds):
        document = _decomposition(pack)[0] if pack.decomposes else _verdicts(pack, style)[0]
        yield f"Example:\n{_encode(document).decode()}\nReply:\n{_encode(reply).decode()}"


@lru_cache(maxsize=64)
def digest(style: PromptStyle) -> str:
    """The version of the prompts, and which sections are not the packaged ones; part of a judge's identity."""
    texts = [str(FORM), *(section(name, style) for name in SECTIONS)]
    short = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:8]
    changed = ", ".join(name for name, _ in style.sections)
    return f"{short} ({changed} changed)" if changed else short


Schema = dict[str, Any]

STATEMENT_KINDS = ("claim", "opinion", "both", "neither")

_LABELS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("entail", "joint"), ("entailed", "neutral", "contradicted")),
    **dict.fromkeys(("passage", "remark"), ("yes", "no")),
}
_STRING: Schema = {"type": "string"}


class VerdictForm(NamedTuple):
    """The form of one verdict.

    kind: entailment by one source ("entail") or several ("joint"), whose ids are `sources`; yes or no on a source
    ("passage") or on a text that is inlined in its question ("remark"); or a grade, from `low` to `high`.
    """

    kind: Literal["entail", "joint", "passage", "remark", "grade"]
    sources: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 0.0
    whole: bool = False


@lru_cache(maxsize=512)
def verdicts_schema(keys: tuple[str, ...], forms: tuple[VerdictForm, ...], style: PromptStyle) -> Schema:
    """The schema of a reply with a verdict of its form under each key. It is shared: do not modify it."""
    names: dict[VerdictForm, str] = {}
    for form in forms:
        names.setdefault(form, f"{form.kind}{len(names) + 1}")
    whole = _object({key: _reference(names[form]) for key, form in zip(keys, forms, strict=True)})
    whole["$defs"] = {name: _verdict(form, style) for form, name in names.items()}
    return whole


@lru_cache(maxsize=512)
def texts_schema(keys: tuple[str, ...], sentences: tuple[int, ...]) -> Schema:
    """The schema of a reply that decomposes texts. It is shared: do not modify it.

    sentences: the number of sentences of each text.
    """
    names = {count: f"statement{place}" for place, count in enumerate(dict.fromkeys(sentences), 1)}
    lists = ({"type": "array", "items": _reference(names[count])} for count in sentences)
    whole = _object(dict(zip(keys, lists, strict=True)))
    for count, name in names.items():
        number = {"type": "integer", "enum": list(range(1, count + 1))}
        fields = {"s": number, "text": _STRING, "kind": _enum(STATEMENT_KINDS)}
        whole.setdefault("$defs", {})[name] = _object(fields)
    return whole


def _object(properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _reference(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _enum(values: tuple[str, ...]) -> Schema:
    return {"type": "string", "enum": list(values)}


def _verdict(form: VerdictForm, style: PromptStyle) -> Schema:
    fields: Schema = {"why": _STRING} if style.rationales else {}
    if form.kind == "grade" and form.whole:
        grade = {"type": "integer", "minimum": ceil(form.low), "maximum": floor(form.high)}
        return _object({**fields, "grade": grade})
    if form.kind == "grade":
        return _object({**fields, "grade": {"type": "number", "minimum": form.low, "maximum": form.high}})
    if style.quotes and form.kind != "remark":
        fields["quote"] = _STRING
    fields["label"] = _enum(_LABELS[form.kind])
    if form.kind == "joint":
        listed = {"type": "array", "items": _enum(form.sources)}
        fields |= {"supports": listed, "contradicts": listed}
    return _object(fields)


#: Special tokens of one word; those of several words are recognised by their form.
_WORDS = "s|bos|eos|sop|eop|unk|pad|sep|cls|think|unused[0-9]+"
_CAPITALS = "INST|IMG|AUDIO|THINK|ARGS|BOS|EOS|UNK|PAD|SEP|CLS|g?MASK|PREFIX|MIDDLE|SUFFIX"

#: The first character of control tokens of chat templates: <|im_end|> and <｜User｜>, </s> and <seed:bos>, <<SYS>>,
#: <start_of_turn>, [|system|], [INST], [TOOL_CALLS]. No tag of HTML has an underscore in its name.
_CONTROL_TOKENS = {
    r"\\u003c": re.compile(rf"<(?=[|｜]|/?(?:[a-z]+:)?(?:{_WORDS})>|/?[A-Za-z]{{2,}}(?:_[A-Za-z0-9]+)+>|</?[A-Z]+>>)"),
    r"\\u005b": re.compile(rf"\[(?=\|[A-Za-z_]{{2,}}\|\]|/?(?:{_CAPITALS})\]|/?[A-Z]{{2,}}(?:_[A-Z]{{2,}})+\])"),
}

_ENTAIL, _PASSAGE, _REMARK = VerdictForm("entail"), VerdictForm("passage"), VerdictForm("remark")


def prompt_of(pack: Pack, style: PromptStyle) -> Prompt:
    """The call that asks the questions of a pack."""
    document, schema = _decomposition(pack) if pack.decomposes else _verdicts(pack, style)
    return Prompt(system(pack.kinds, style), escaped(_encode(document).decode()), schema)


def repeat_prompt(prompt: Prompt, reply: str, faults: Mapping[int, str]) -> Prompt:
    """The same call once more, with the reply it got and what is wrong there; it asks only for what is missing.

    prompt: that of a pack. faults: by the position of the question in the pack, as in `ParsedReply`; they hold no words
    of the reply, which could be those of a text that poses as an instruction.
    """
    letter = "T" if next(iter(prompt.schema["properties"])).startswith("T") else ""
    by_key = {f"{letter}{position + 1}": fault for position, fault in sorted(faults.items())}
    listed = "".join(f'\n- "{key}": {fault}' for key, fault in by_key.items())
    keys = ", ".join(f'"{key}"' for key in by_key)
    turn = Turn(
        escaped(reply.strip()) or "(no reply)",
        f"This cannot be used:{listed}\n"
        f"Reply with one JSON object in the form described and exactly these keys: {keys}.",
    )
    properties, definitions = prompt.schema["properties"], prompt.schema["$defs"]
    schema = {**_object({key: properties[key] for key in by_key}), "$defs": definitions}
    return Prompt(prompt.system, prompt.user, schema, (*prompt.turns, turn))


def escaped(document: str) -> str:
    """Equivalent JSON in which no server finds a control token of its chat template.

    Texts without one, such as HTML, Markdown and mathematics, are left as they are.
    """
    for escape, opening in _CONTROL_TOKENS.items():
        document = opening.sub(escape, document)
    return document


def _decomposition(pack: Pack) -> tuple[Json, Schema]:
    texts: Json = {}
    document: Json = {"texts": texts}
    for key, question, spans in zip(pack.keys, pack.questions, pack.sentences, strict=True):
        assert isinstance(question, Decompose)
        if question.query is not None:
            document = {"query": question.query, "texts": texts}
        texts[key] = {str(number): question.text[slice(*span)] for number, span in enumerate(spans, 1)}
    return document, texts_schema(pack.keys, tuple(map(len, pack.sentences)))


def _verdicts(pack: Pack, style: PromptStyle) -> tuple[Json, Schema]:
    document = _Document(pack)
    forms = tuple(document.add(*asked) for asked in zip(pack.keys, pack.questions, strict=True))
    return document.content(), verdicts_schema(pack.keys, forms, style)


class _Document:
    """The document of a call, filled question by question; questions that share texts are grouped."""

    def __init__(self, pack: Pack) -> None:
        self._sources, self._shuffled = pack.sources, pack.shuffle is not None
        self._queries: dict[str, str] = {}
        self._groups: dict[str, dict[object, Json]] = {"entail": {}, "relevant": {}, "classify": {}, "rate": {}}
        self._forms: dict[tuple[str, ...], VerdictForm] = {}

    def content(self) -> Json:
        """All that was added, sources first."""
        found: Json = {}
        if self._sources:
            found["sources"] = {name: text for text, name in self._sources.items()}
        if self._queries:
            found["queries"] = {name: text for text, name in self._queries.items()}
        found.update((kind, list(groups.values())) for kind, groups in self._groups.items() if groups)
        return found

    def add(self, key: str, question: Question) -> VerdictForm:
        """Add a question under its key; the form of its verdict."""
        match question:
            case Entail():
                return self._entail(key, question)
            case Relevant():
                return self._relevant(key, question)
            case Classify(trait=trait):
                group = self._groups["classify"].setdefault(trait, {"trait": trait, "opinions": {}})
                group["opinions"][key] = question.text
                return _REMARK
            case Rate(rubric=rubric):
                described = {name: getattr(rubric, name) for name in ("name", "wording", "low", "high", "whole")}
                group = self._groups["rate"].setdefault(rubric, {"rubric": described, "items": {}})
                group["items"][key] = {
                    field: self._query_id(text) if field == "query" else self._sources[text]
                    for field, text in question.texts
                }
                return VerdictForm("grade", low=rubric.low, high=rubric.high, whole=rubric.whole)
        raise AssertionError(f"{question} asks for no verdict")

    def _entail(self, key: str, question: Entail) -> VerdictForm:
        premise = question.premise
        groups = self._groups["entail"]
        group = groups.get((premise, question.query))
        if group is None:
            ids = list(dict.fromkeys([self._sources[text] for text in premise]))
            if self._shuffled:
                ids.sort(key=lambda name: int(name[1:]))
            group = groups[premise, question.query] = {**self._query(question.query), "sources": ids, "claims": {}}
            if len(ids) > 1:
                self._forms[premise] = VerdictForm("joint", tuple(ids))
        group["claims"][key] = question.hypothesis
        return self._forms.get(premise, _ENTAIL)

    def _relevant(self, key: str, question: Relevant) -> VerdictForm:
        groups = self._groups["relevant"]
        group = groups.get((question.query, question.reference))
        if group is None:
            group = groups[question.query, question.reference] = self._query(question.query)
            if question.reference is not None:
                group["reference"] = self._sources[question.reference]
        source = self._sources.get(question.text)
        if source is None:
            group.setdefault("texts", {})[key] = question.text
            return _REMARK
        group.setdefault("sources", {})[key] = source
        return _PASSAGE

    def _query(self, query: str | None) -> Json:
        return {} if query is None else {"query": self._query_id(query)}

    def _query_id(self, query: str) -> str:
        return self._queries.setdefault(query, f"Q{len(self._queries) + 1}")
