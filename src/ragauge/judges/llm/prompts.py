"""Prompts: all that a call says to a model, from the sections on its kinds of question to the schema of its reply.

A system message is the preamble, the sections of the kinds that occur, in the order of `questions.KINDS`, the sections
on rationales and quotes, and a worked example of those kinds. It depends on nothing else: calls that ask the same kinds
have the same prefix, which servers that cache prefixes of any length (vLLM, llama.cpp, SGLang) read once. OpenAI and
Anthropic cache none below 1,024 tokens, which it reaches only where one call judges claims, relevance and traits, and
where a schema is sent they put it before the message. All texts of a sample are JSON strings of one document, the user
message.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import msgspec

from ragauge.errors import BadData, UnknownName
from ragauge.judges.llm.messages import Prompt, Turn
from ragauge.judges.llm.packing import Pack, PackLimits, packs
from ragauge.kinds.call import Document, Json, PromptStyle, ReplyForm, object_schema, reply_schema
from ragauge.questions import KIND_TYPES, KINDS, Question

#: Increased whenever layout, schema or parsing changes what a model sees, or what its answers mean.
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

_encode = msgspec.json.Encoder().encode


def file_name(section: str) -> str:
    """The name of a section's file."""
    return "examples.jsonl" if section == "examples" else f"{section}.md"


@cache
def packaged(name: str) -> str:
    """The text of a section in this package."""
    if name in KIND_TYPES:
        return KIND_TYPES[name].prompt
    if name == "examples":
        return "\n".join(kind.examples for kind in KIND_TYPES.values())
    return (files(__package__) / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


def section(name: str, style: PromptStyle) -> str:
    """The text of a section, the user's or the packaged one, with the lines that apply to the style."""
    own = dict(style.sections)
    text = own[name] if name in own else packaged(name)
    return _CONDITION.sub(lambda line: line[3] if _chosen(style, line[1]) == line[2] else "", text).strip()


def _chosen(style: PromptStyle, option: str) -> str:
    return str(getattr(style, option, "")).lower()


def check_lines(style: PromptStyle) -> None:
    """Raise UnknownName or BadData where lines of a user's section do not fit the options of the style."""
    for name, text in style.sections:
        marks, ours = ({line.group(1, 2) for line in _CONDITION.finditer(words)} for words in (text, packaged(name)))
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
    asked = [kind for name, kind in KIND_TYPES.items() if name in kinds]
    named = ["preamble", *(kind.kind for kind in asked)]
    if style.rationales and (not asked or any(kind.explained for kind in asked)):
        named.append("why")
    if style.quotes and any(kind.quoted for kind in asked):
        named.append("quote")
    texts = [section(name, style) for name in named]
    for pack, reply in example_calls(style, kinds):
        document, _ = _filled(pack)
        texts.append(f"Example:\n{_encode(document).decode()}\nReply:\n{_encode(reply).decode()}")
    return "\n\n".join(texts)


class Example(NamedTuple):
    """A question, and the item of a reply that answers it; sources are numbered as in the premise, from 1."""

    question: Question
    item: Any


def examples_of(text: str, where: str) -> list[Example]:
    """The examples in JSON lines. where: the file, for messages. Raises BadData for any other line."""
    examples = []
    for row, line in enumerate(text.splitlines(), 1):
        try:
            fields = msgspec.json.decode(line)
            item = fields.pop("answer")
            examples.append(Example(msgspec.convert(fields, Question), item))
        except (msgspec.MsgspecError, AttributeError, KeyError, TypeError) as error:
            raise BadData(
                f"{where}, line {row}: {error}; write a question and its answer, such as "
                '{"kind": "classify", "text": "You fool.", "trait": "toxic", "answer": {"label": "yes"}}'
            ) from None
    return examples


def example_calls(style: PromptStyle, kinds: frozenset[str] = frozenset(KINDS)) -> Iterator[tuple[Pack, Json]]:
    """The calls that ask the examples of these kinds, and their replies."""
    items = dict(examples_of(_examples_of(kinds, style), "examples"))
    for pack in packs(items, PackLimits(verdicts=len(items))):
        pairs = zip(pack.keys, pack.questions, strict=True)
        yield pack, {key: example_item(pack, question, items[question], style) for key, question in pairs}


def example_item(pack: Pack, question: Question, item: Any, style: PromptStyle) -> Any:
    """The answer of an example as in a reply: with ids of sources, and no more fields than the style asks for."""
    if not isinstance(item, dict):
        return item
    omitted = {name for name, asked in (("why", style.rationales), ("quote", style.quotes)) if not asked}
    kept = {name: value for name, value in item.items() if name not in omitted}
    return question.with_source_ids(kept, pack.sources)


@lru_cache(maxsize=64)
def digest(style: PromptStyle) -> str:
    """The version of the prompts on the first kinds, and which sections are not the packaged ones."""
    texts = [section(name, style) for name in _FIRST_SECTIONS]
    return _digest([*texts, _examples_of(_FIRST_KINDS, style)], [name for name, _ in style.sections])


@lru_cache(maxsize=256)
def kind_digest(kind: str, style: PromptStyle) -> str:
    """The version of the prompts on a kind of question, and which of their sections are not the packaged ones."""
    own, packaged_style = _sections_of(kind, style), msgspec.structs.replace(style, sections=())
    changed = [name for name, text in _sections_of(kind, packaged_style).items() if text != own[name]]
    asked = KIND_TYPES[kind]
    more = [name for name, is_used in (("why", asked.explained), ("quote", asked.quoted)) if is_used]
    packaged_texts = [packaged("preamble"), asked.prompt, asked.examples, *map(packaged, more)]  # in any style
    if not changed and _digest(packaged_texts) in _FIRST_PROMPTS:
        return _FIRST_DIGESTS[style.sources, style.conflicts]
    return _digest(own.values(), changed)


#: Judgments were first stored under one digest of the prompts on all kinds of the time; for packaged prompts it depends
#: on `sources` and `conflicts`. A kind keeps it, and its judgments, as long as no packaged section on it changes.
#: _FIRST_PROMPTS are the digests of the packaged sections on each of these kinds.
_FIRST_KINDS = ("decompose", "entail", "relevant", "classify", "rate", "correct")
_FIRST_SECTIONS = ("preamble", *_FIRST_KINDS, "why", "quote")
_FIRST_DIGESTS = {
    ("ignore", "contradicted"): "a3ba5a92",
    ("ignore", "entailed"): "ca6f03f5",
    ("claim", "contradicted"): "0001771b",
    ("claim", "entailed"): "52db47a5",
}
_FIRST_PROMPTS = frozenset({"4bb63dfd", "fabcb96b", "73b85a3d", "621b3c14", "594c7d56", "2ca665e7"})


def _sections_of(kind: str, style: PromptStyle) -> dict[str, str]:
    """The sections that bear on a kind, with its examples alone."""
    asked = KIND_TYPES[kind]
    why = ["why"] if style.rationales and asked.explained else []
    quote = ["quote"] if style.quotes and asked.quoted else []
    texts = {name: section(name, style) for name in ("preamble", kind, *why, *quote)}
    return texts | {"examples": _examples_of([kind], style)}


def _examples_of(kinds: Collection[str], style: PromptStyle) -> str:
    """The lines of the worked examples of some kinds."""
    lines = section("examples", style).splitlines()
    return "\n".join(line for line in lines if msgspec.json.decode(line)["kind"] in kinds)


def _digest(texts: Iterable[str], changed: Sequence[str] = ()) -> str:
    short = hashlib.sha256("\0".join([str(FORM), *texts]).encode()).hexdigest()[:8]
    return f"{short} ({', '.join(changed)} changed)" if changed else short


#: Special tokens of one word; those of several words are recognised by their form.
_WORDS = "s|bos|eos|sop|eop|unk|pad|sep|cls|think|unused[0-9]+"
_CAPITALS = "INST|IMG|AUDIO|THINK|ARGS|BOS|EOS|UNK|PAD|SEP|CLS|g?MASK|PREFIX|MIDDLE|SUFFIX"

#: The first character of control tokens of chat templates: <|im_end|> and <｜User｜>, </s> and <seed:bos>, <<SYS>>,
#: <start_of_turn>, [|system|], [INST], [TOOL_CALLS]. No tag of HTML has an underscore in its name.
_CONTROL_TOKENS = {
    r"\\u003c": re.compile(rf"<(?=[|｜]|/?(?:[a-z]+:)?(?:{_WORDS})>|/?[A-Za-z]{{2,}}(?:_[A-Za-z0-9]+)+>|</?[A-Z]+>>)"),
    r"\\u005b": re.compile(rf"\[(?=\|[A-Za-z_]{{2,}}\|\]|/?(?:{_CAPITALS})\]|/?[A-Z]{{2,}}(?:_[A-Z]{{2,}})+\])"),
}


def prompt_of(pack: Pack, style: PromptStyle) -> Prompt:
    """The call that asks the questions of a pack."""
    document, forms = _filled(pack)
    schema = reply_schema(pack.keys, forms, style)
    return Prompt(system(pack.kinds, style), escaped(_encode(document).decode()), schema)


def _filled(pack: Pack) -> tuple[Json, tuple[ReplyForm, ...]]:
    """The document of a call, and the forms of its answers."""
    document = Document(pack.sources, KINDS, pack.shuffle is not None)
    forms = [question.add_to(document, key) for key, question in zip(pack.keys, pack.questions, strict=True)]
    return document.content(), tuple(forms)


def repeat_prompt(prompt: Prompt, reply: str, faults: Mapping[int, str]) -> Prompt:
    """The same call once more, with the reply and its faults; it asks only for the missing answers.

    prompt: that of a pack. faults: by the position of the question in the pack, as in `ParsedReply`; they hold no words
    of the reply, which could be those of a text that poses as an instruction.
    """
    prefix = next(iter(prompt.schema["properties"])).rstrip("0123456789")
    by_key = {f"{prefix}{position + 1}": fault for position, fault in sorted(faults.items())}
    listed = "".join(f'\n- "{key}": {fault}' for key, fault in by_key.items())
    keys = ", ".join(f'"{key}"' for key in by_key)
    turn = Turn(
        escaped(reply.strip()) or "(no reply)",
        f"This cannot be used:{listed}\n"
        f"Reply with one JSON object in the form described and exactly these keys: {keys}.",
    )
    properties, definitions = prompt.schema["properties"], prompt.schema["$defs"]
    schema = {**object_schema({key: properties[key] for key in by_key}), "$defs": definitions}
    return Prompt(prompt.system, prompt.user, schema, (*prompt.turns, turn))


def escaped(document: str) -> str:
    """Equivalent JSON in which no server finds a control token of its chat template.

    Texts without one, such as HTML, Markdown and mathematics, are left as they are.
    """
    for escape, opening in _CONTROL_TOKENS.items():
        document = opening.sub(escape, document)
    return document
