"""What calls ask: questions packed into as few as they fit in, and the prompt of each.

Packing is a function of the questions and the limits alone.

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
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import msgspec

from ragauge.errors import BadData, BadParameter, UnknownName
from ragauge.judges.llm.messages import Prompt, Turn
from ragauge.kinds.call import Document, Json, PromptStyle, ReplyForm, SourceTexts, object_schema, reply_schema
from ragauge.kinds.windows import SplitQuestion
from ragauge.questions import KIND_TYPES, KINDS, Question


class PackLimits(msgspec.Struct, frozen=True):
    """The most that one call may hold.

    prompt_chars: characters of texts in a call that asks for verdicts or grades. verdicts: such questions in a call.
    decompose_chars: characters of texts that one call decomposes; its reply repeats them.
    """

    prompt_chars: int = 48_000
    verdicts: int = 30
    decompose_chars: int = 8_000

    def limit(self, question: Question) -> int:
        """The characters of texts that a call may hold for this question; longer ones must be split."""
        return int(getattr(self, question.limited_by))


@dataclass(frozen=True)
class Pack:
    """The questions of one call: those that come first never with others, and the rest in any order.

    shuffle: as in PromptStyle.
    """

    questions: tuple[Question, ...]
    shuffle: int | None = None

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The keys of the questions in the call and in its reply: "T1", "T2" ... or "1", "2" ..."""
        return _keys(self.questions[0].key_prefix, len(self.questions))

    @cached_property
    def sources(self) -> dict[str, str]:
        """The id ("S1", "S2" ...) of each text that is not inlined in a question: chunks first, each text once."""
        cited = SourceTexts()
        for question in sorted(self.questions, key=attrgetter("order")):
            question.cite(cited)
        orders: Iterable[list[str]] = (cited.together, cited.passages, cited.others)
        if self.shuffle is not None:
            orders = (shuffled(texts, self.shuffle) for texts in orders)
        texts = dict.fromkeys(chain.from_iterable(orders))
        return dict(zip(texts, _keys("S", len(texts)), strict=True))


@lru_cache(maxsize=256)
def _keys(letter: str, count: int) -> tuple[str, ...]:
    return tuple(f"{letter}{number}" for number in range(1, count + 1))


_T = TypeVar("_T")


def shuffled(items: Iterable[_T], seed: int) -> list[_T]:
    """Questions or texts ordered by a hash of each with the seed."""
    return sorted(items, key=lambda item: hashlib.sha256(msgspec.json.encode((seed, item))).digest())


def packs(
    questions: Iterable[Question], limits: PackLimits, alone: bool = False, shuffle: int | None = None
) -> list[Pack]:
    """The calls that ask these questions, those to decompose first; a question that is given twice is asked once.

    Questions that share texts are packed together, so that few texts are sent twice. A question that alone exceeds the
    limits gets a call of its own. alone: each question does. shuffle: as in PromptStyle; texts to decompose keep their
    order.
    """
    groups: dict[object, list[Question]] = {}
    for question in dict.fromkeys(questions):
        groups.setdefault(question.group, []).append(question)
    if alone:
        return [Pack((question,), shuffle) for group in groups.values() for question in group]
    first = [group for group in groups.values() if group[0].comes_first]
    others = [group for group in groups.values() if not group[0].comes_first]
    if shuffle is not None:
        others = [shuffled(group, shuffle) for group in others]
    ranked = sorted(others, key=lambda group: (group[0].order, group[0].rank))
    calls = chain.from_iterable(_calls(questions, limits) for questions in (*first, chain.from_iterable(ranked)))
    return [Pack(tuple(call), shuffle) for call in calls]


def _calls(questions: Iterable[Question], limits: PackLimits) -> Iterator[list[Question]]:
    """The calls for questions in their order; a text or query that several questions of a call share counts once."""
    call: list[Question] = []
    chars, texts, queries = 0, set[str](), set[str]()
    for question in questions:
        shared, query, own_chars = question.packing_parts()
        size = own_chars + sum([len(text) for text in shared if text not in texts])
        size += 0 if query in queries else len(query)
        full = len(call) >= limits.verdicts and not question.comes_first
        if call and (full or chars + size > limits.limit(question)):
            yield call
            call, chars, texts, queries = [], 0, set(), set()
            size = own_chars + sum(map(len, shared)) + len(query)
        call.append(question)
        chars += size
        texts.update(shared)
        queries.add(query)
    if call:
        yield call


#: Tokens of the smallest window that holds the instructions, a reply, and some text.
MIN_CONTEXT = 4000

#: Tokens that the instructions and the reply to a full call take; those of the instructions alone.
_INSTRUCTIONS_AND_REPLY, _INSTRUCTIONS = 3000, 1500

#: A lower bound of the average characters a token; English has four.
_CHARS_PER_TOKEN = 2

#: The most characters of texts in a call, however large the window: above 100,000 tokens some providers charge more.
_MAX_CHARS = _CHARS_PER_TOKEN * 100_000


def pack_limits(context: int | None) -> PackLimits:
    """The limits of calls for a window of `context` tokens. Raises BadParameter if it is too small."""
    default = PackLimits()
    if context is None:
        return default
    if context < MIN_CONTEXT:
        raise BadParameter(f"context={context} must be {MIN_CONTEXT} tokens or more, for instructions and a reply")
    prompt_chars = _CHARS_PER_TOKEN * (context - _INSTRUCTIONS_AND_REPLY)
    # The reply repeats the text, in a form three times as long.
    decompose_chars = _CHARS_PER_TOKEN * (context - _INSTRUCTIONS) // 4
    return PackLimits(min(prompt_chars, _MAX_CHARS), default.verdicts, min(decompose_chars, default.decompose_chars))


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
    return _CONDITION.sub(
        lambda line: line[3] if line[2] == str(getattr(style, line[1], "")).lower() else "", text
    ).strip()


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
            chosen, usual = (str(getattr(options, option)).lower() for options in (style, PromptStyle()))
            if chosen == value != usual:
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
    kinds = frozenset([question.kind for question in pack.questions])
    return Prompt(system(kinds, style), escaped(_encode(document).decode()), schema)


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


class PackingPolicy(msgspec.Struct, frozen=True):
    """How questions are put into calls."""

    limits: PackLimits
    alone: bool
    style: PromptStyle

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """The settings that can change an answer, for an identity."""
        style, limits = self.style, self.limits
        chosen = ((name, getattr(style, name)) for name in ("sources", "conflicts", "shuffle"))
        room = f"{limits.prompt_chars}/{limits.decompose_chars}"
        whole = digest(style)  # of the first prompts
        by_kind = ((f"prompts.{kind}", kind_digest(kind, style)) for kind in KINDS)
        return (
            ("pack", "alone" if self.alone else "together"),
            ("prompts", whole),
            *(setting for setting in by_kind if setting[1] != whole),
            ("quotes", str(style.quotes).lower()),
            ("rationales", str(style.rationales).lower()),
            *((name, str(value)) for name, value in chosen if value != getattr(PromptStyle(), name)),
            *((("room", room),) if limits != PackLimits() else ()),
        )

    def packs(self, questions: Iterable[Question]) -> list[Pack]:
        """The calls that ask these questions."""
        return packs(questions, self.limits, self.alone, self.style.shuffle)

    def calls(self, questions: Sequence[Question]) -> tuple[list[Pack], dict[Question, SplitQuestion]]:
        """The calls that ask these questions, and the parts of those questions that are too long for a call."""
        calls = self.packs(questions)
        splits = {}
        for question in [pack.questions[0] for pack in calls if len(pack.questions) == 1]:  # those too long are alone
            if split := question.in_parts(self.limits.limit(question), self.style.support_outweighs):
                splits[question] = split
        if splits:
            parts = [splits[question].parts if question in splits else (question,) for question in questions]
            calls = self.packs(chain.from_iterable(parts))
        return calls, splits
