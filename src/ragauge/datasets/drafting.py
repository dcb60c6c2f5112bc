"""What a model is asked to write: a question about passages, with its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal, get_args

import msgspec

from ragauge.datasets.calls import Form, Outcome, prompt_about, prompt_section
from ragauge.judges.llm.judge import unanswered
from ragauge.judges.llm.messages import Completion, Prompt
from ragauge.judges.llm.replies import extract_object
from ragauge.kinds.call import REPEATED
from ragauge.needs.checks import graded_text
from ragauge.types import Chunk, Sample, Turn

#: What a question takes: one passage; two, linked or compared; none that there is; the conversation before it.
AskedKind = Literal["single", "bridge", "comparison", "unanswerable", "follow-up"]
ASKED_KINDS: tuple[AskedKind, ...] = get_args(AskedKind)

#: The kind of a question that a user asked.
REAL = "real"

#: How many passages the model is shown.
SHOWN: Mapping[str, int] = {"bridge": 2, "comparison": 2, "unanswerable": 3}

#: The key of a follow-up's metadata for the same question in full.
STANDALONE = "standalone"

_FIELDS: Mapping[str, tuple[str, ...]] = {
    "unanswerable": ("question", "missing"),
    STANDALONE: ("question",),
    "follow-up": ("earlier_question", "earlier_answer", "question", "standalone", "answer"),
}


def _fields(kind: str) -> tuple[str, ...]:
    return _FIELDS.get(kind, ("question", "answer"))


def draft_prompt(kind: str, passages: Sequence[Chunk], language: str | None = None, style: str | None = None) -> Prompt:
    """The prompt for a question of a kind. style: of the person who asks, in a line."""
    told = {"language": language, "style": style}
    texts = {str(number): passage.passage for number, passage in enumerate(passages, start=1)}
    document = {**{name: text for name, text in told.items() if text}, "passages": texts}
    system = f"{prompt_section('questions/preamble')}\n\n{prompt_section(f'questions/{kind}')}"
    return _prompt(system, _fields(kind), document)


def draft_form(kind: str) -> Form:
    """The form of the reply, whose text is its JSON object."""

    def parse(completion: Completion) -> Outcome:
        fields = _fields(kind)
        reply = extract_object(completion.text, fields)
        texts = {name: reply.get(name) for name in fields}
        if completion.finish == "stop" and all(isinstance(text, str) and text != REPEATED for text in texts.values()):
            return msgspec.json.encode(texts).decode()
        return unanswered(completion, f"it has no texts under {', '.join(fields)}")

    return Form(parse, _example(_fields(kind)))


def draft_of(kind: str, reply: str, passages: Sequence[Chunk]) -> Sample | None:
    """The question in a reply, without an id; None where the model found none."""
    texts = {name: text.strip() for name, text in msgspec.json.decode(reply, type=dict[str, str]).items()}
    if not all(texts.values()):
        return None
    if kind == "unanswerable":
        return Sample("", texts["question"], answerable=False, metadata={"missing": texts["missing"]})
    answer = (texts["answer"],)
    draft = Sample("", texts["question"], references=answer, reference_contexts=tuple(passages), answerable=True)
    if kind == "follow-up":
        said = (Turn("user", texts["earlier_question"]), Turn("assistant", texts["earlier_answer"]))
        return msgspec.structs.replace(draft, turns=said, metadata={STANDALONE: texts["standalone"]})
    return draft


def known_prompt(query: str) -> Prompt:
    """The prompt for an answer without any document."""
    return _prompt(prompt_section("known"), ("answer",), {"question": query})


def standalone_prompt(question: Sample) -> Prompt:
    """The prompt for a question that goes on from a conversation, in full."""
    said = graded_text(msgspec.structs.replace(question, query=None), "conversation")
    document = {"conversation": said, "question": question.query}
    return _prompt(prompt_section(STANDALONE), _fields(STANDALONE), document)


def _prompt(system: str, fields: Sequence[str], document: Mapping[str, Any]) -> Prompt:
    asked = f"{system}\n\nReply with one JSON object and nothing else: {_example(fields)}"
    return prompt_about(document, asked, fields)


def prompts_digest() -> str:
    """A hash of all that is said to the model that writes questions."""
    names = [f"questions/{name}" for name in ("preamble", *ASKED_KINDS)]
    return sha256("\n".join(map(prompt_section, names)).encode()).hexdigest()[:12]


def _example(fields: Sequence[str]) -> str:
    return "{" + ", ".join(f'"{name}": "..."' for name in fields) + "}"
