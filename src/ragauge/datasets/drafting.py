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

#: What the answer to a question takes: one passage; two linked or compared passages; one that the corpus does not have;
#: one passage and the conversation before the question.
AskedKind = Literal["single", "bridge", "comparison", "unanswerable", "follow-up"]
ASKED_KINDS: tuple[AskedKind, ...] = get_args(AskedKind)

#: The kind of a question that a user asked.
REAL = "real"

#: How many passages the model is shown, where it is more than one.
PASSAGES_SHOWN: Mapping[str, int] = {"bridge": 2, "comparison": 2, "unanswerable": 3}

#: The key of a follow-up's metadata that holds the same question in full.
STANDALONE = "standalone"

_FIELDS: Mapping[str, tuple[str, ...]] = {
    "unanswerable": ("question", "missing"),
    STANDALONE: ("question",),
    "follow-up": ("earlier_question", "earlier_answer", "question", "standalone", "answer"),
}


def _fields(kind: str) -> tuple[str, ...]:
    return _FIELDS.get(kind, ("question", "answer"))


def draft_prompt(kind: str, passages: Sequence[Chunk], language: str | None = None, style: str | None = None) -> Prompt:
    """The prompt for a question about passages.

    language: of the question; None: that of the passages. style: of the person who asks, in a line.
    """
    document: dict[str, Any] = {}
    if language:
        document["language"] = language
    if style:
        document["style"] = style
    document["passages"] = {str(number): passage.passage for number, passage in enumerate(passages, start=1)}
    system = f"{prompt_section('questions/preamble')}\n\n{prompt_section(f'questions/{kind}')}"
    return _prompt(system, _fields(kind), document)


def draft_form(kind: str) -> Form:
    """The form of the reply, which is a JSON object of texts."""

    def parse(completion: Completion) -> Outcome:
        fields = _fields(kind)
        reply = extract_object(completion.text, fields)
        texts = {name: reply.get(name) for name in fields}
        is_complete = all(isinstance(text, str) and text != REPEATED for text in texts.values())
        if is_complete and completion.finish == "stop":
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
    references = (texts["answer"],)
    draft = Sample("", texts["question"], references=references, reference_contexts=tuple(passages), answerable=True)
    if kind == "follow-up":
        turns = (Turn("user", texts["earlier_question"]), Turn("assistant", texts["earlier_answer"]))
        return msgspec.structs.replace(draft, turns=turns, metadata={STANDALONE: texts["standalone"]})
    return draft


def unaided_prompt(query: str) -> Prompt:
    """The prompt for an answer without any document."""
    return _prompt(prompt_section("known"), ("answer",), {"question": query})


def standalone_prompt(question: Sample) -> Prompt:
    """The prompt to word a question that continues a conversation so that it is understood without it."""
    conversation = graded_text(msgspec.structs.replace(question, query=None), "conversation")
    document = {"conversation": conversation, "question": question.query}
    return _prompt(prompt_section(STANDALONE), _fields(STANDALONE), document)


def _prompt(system: str, fields: Sequence[str], document: Mapping[str, Any]) -> Prompt:
    instructions = f"{system}\n\nReply with one JSON object and nothing else: {_example(fields)}"
    return prompt_about(document, instructions, fields)


def prompts_digest() -> str:
    """A hash of the instructions for writing questions."""
    names = [f"questions/{name}" for name in ("preamble", *ASKED_KINDS)]
    return sha256("\n".join(map(prompt_section, names)).encode()).hexdigest()[:12]


def _example(fields: Sequence[str]) -> str:
    """The JSON object of a reply, with "..." for each text."""
    return "{" + ", ".join(f'"{name}": "..."' for name in fields) + "}"
