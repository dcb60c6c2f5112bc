"""Layout: a pack as a prompt. All texts of a sample are JSON strings of one document, the user message."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from ragauge.judges.llm.messages import Prompt, Turn
from ragauge.judges.llm.packing import Pack
from ragauge.judges.llm.prompts import (
    PromptStyle,
    Schema,
    VerdictForm,
    subschema,
    system,
    texts_schema,
    verdicts_schema,
)
from ragauge.questions import Classify, Decompose, Entail, Question, Rate, Relevant

Json = dict[str, Any]

_encode = msgspec.json.Encoder().encode

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
    return Prompt(prompt.system, prompt.user, subschema(prompt.schema, tuple(by_key)), (*prompt.turns, turn))


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
    document = _Document(pack.sources)
    forms = [
        _ADD[type(question)](document, key, question) for key, question in zip(pack.keys, pack.questions, strict=True)
    ]
    return document.content(), verdicts_schema(pack.keys, tuple(forms), style)


class _Document:
    """The document of a call, filled question by question; questions that share texts are grouped.

    The methods of the kinds add a question under its key, and return the form of its verdict.
    """

    def __init__(self, sources: dict[str, str]) -> None:
        self._sources = sources
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

    def entail(self, key: str, question: Entail) -> VerdictForm:
        premise = question.premise
        groups = self._groups["entail"]
        group = groups.get((premise, question.query))
        if group is None:
            ids = list(dict.fromkeys([self._sources[text] for text in premise]))
            group = groups[premise, question.query] = {**self._query(question.query), "sources": ids, "claims": {}}
            if len(ids) > 1:
                self._forms[premise] = VerdictForm("joint", tuple(ids))
        group["claims"][key] = question.hypothesis
        return self._forms.get(premise, _ENTAIL)

    def relevant(self, key: str, question: Relevant) -> VerdictForm:
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

    def classify(self, key: str, question: Classify) -> VerdictForm:
        group = self._groups["classify"].setdefault(question.trait, {"trait": question.trait, "opinions": {}})
        group["opinions"][key] = question.text
        return _REMARK

    def rate(self, key: str, question: Rate) -> VerdictForm:
        rubric = question.rubric
        groups = self._groups["rate"]
        if rubric not in groups:
            description = {name: getattr(rubric, name) for name in ("name", "wording", "low", "high", "whole")}
            groups[rubric] = {"rubric": description, "items": {}}
        groups[rubric]["items"][key] = {
            field: self._query_id(text) if field == "query" else self._sources[text] for field, text in question.texts
        }
        return VerdictForm("grade", low=rubric.low, high=rubric.high, whole=rubric.whole)

    def _query(self, query: str | None) -> Json:
        return {} if query is None else {"query": self._query_id(query)}

    def _query_id(self, query: str) -> str:
        return self._queries.setdefault(query, f"Q{len(self._queries) + 1}")


_ADD: dict[type[Question], Any] = {
    Entail: _Document.entail,
    Relevant: _Document.relevant,
    Classify: _Document.classify,
    Rate: _Document.rate,
}
