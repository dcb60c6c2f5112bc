"""The prompts of answers: what a system under test is told, in our own words, one file a section."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import msgspec

from ragauge.judges.llm.layout import defused
from ragauge.judges.llm.messages import Prompt
from ragauge.text.trust_eval import REFUSAL
from ragauge.types import Chunk, Sample

#: How an answer is written: sentences, or items with commas between them.
AnswerForm = Literal["prose", "list"]

#: What a system is told to say where the documents hold no answer. Trust-Eval knows a refusal by how it begins.
REFUSAL_SENTENCE = f"{REFUSAL} in the documents."

_SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}


class Brief(msgspec.Struct, frozen=True):
    """What a system is told of how to answer. refusal: the sentence that declines; "" where nothing is to be declined.

    shots: answered samples that are shown before each question.
    """

    form: AnswerForm = "prose"
    refusal: str = REFUSAL_SENTENCE
    shots: tuple[Sample, ...] = ()


def prompt(sample: Sample, brief: Brief) -> Prompt:
    """The call that asks for an answer; all texts stand in JSON strings of one document, the user's message."""
    document: dict[str, Any] = {}
    if brief.shots:
        document["examples"] = [{**_asked(shot), "answer": shot.response} for shot in brief.shots]
    return Prompt(_system(brief), defused(msgspec.json.encode({**document, **_asked(sample)}).decode()), _SCHEMA)


def _system(brief: Brief) -> str:
    declined = f"{_section('refuse')}\n\n{brief.refusal}" if brief.refusal else _section("always")
    shown = [_section("examples")] if brief.shots else []
    return "\n\n".join([_section("preamble"), _section(brief.form), declined, *shown, _section("reply")])


def _asked(sample: Sample) -> dict[str, Any]:
    return {"question": sample.query, "documents": _documents(sample.contexts or ())}


def _documents(chunks: Sequence[Chunk]) -> dict[str, dict[str, str]]:
    return {
        str(number): {**({"title": chunk.title} if chunk.title else {}), "text": chunk.text}
        for number, chunk in enumerate(chunks, start=1)
    }


@cache
def _section(name: str) -> str:
    return (files(__package__) / f"prompts/{name}.md").read_text(encoding="utf-8").strip()
