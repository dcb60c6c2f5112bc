"""Requests and replies of decisions endpoints, pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache

import msgspec

from ragauge.judges.llm.calls import Completion, Usage
from ragauge.judges.llm.decisions import wording
from ragauge.judges.llm.decisions.asks import Ask, Said, Sheet, checked
from ragauge.judges.llm.decisions.dialects import Dialect, said
from ragauge.judges.llm.layout import defused
from ragauge.questions import COHERENCE, TOPICAL_MATCH, Classify, Entail, Question, Rate, Relevant
from ragauge.text.decoding import decoded
from ragauge.types import Failure

#: Characters of a reply that a failure keeps.
_RAW = 2000


def request(dialect: Dialect, model: str, sources: Mapping[str, str], asks: Sequence[Ask]) -> str:
    """The body of a request.

    The shared evidence is one JSON text with the sources that the asks name; the asks are named "1", "2" and so on.
    """
    used = dict.fromkeys(id for ask in asks for id in ask.sources)
    evidence = {"note": wording.NOTE, "sources": {id: sources[id] for id in used}}
    named = {str(number): ask for number, ask in enumerate(asks, start=1)}
    return msgspec.json.encode(dialect.body(model, defused(msgspec.json.encode(evidence).decode()), named)).decode()


def received(body: bytes) -> Completion:
    """A reply as it came, with its tokens and the model's name where it tells them."""
    text = body.decode(errors="replace")
    try:
        bill = decoded(text, _BILL)
    except ValueError:
        return Completion(text)
    return Completion(text, usage=bill.usage.counted if bill.usage else None, model=bill.model)


def read(text: str, asks: Sequence[Ask]) -> list[Said | Failure]:
    """What a reply says to each of the asks of its request; a Failure where that is nothing usable."""
    try:
        answers = _by_name(decoded(text, _ENVELOPE).answers)
    except ValueError as error:
        return [_fault(f"the reply cannot be read: {error}", text)] * len(asks)
    return [_said(ask, answers.get(str(number))) for number, ask in enumerate(asks, start=1)]


def _said(ask: Ask, answer: msgspec.Raw | None) -> Said | Failure:
    if answer is None:
        return Failure("invalid_answer", "the reply leaves a question out")
    raw = bytes(answer).decode()
    try:
        heard = said(answer)
    except ValueError as error:
        return _fault(f"an answer cannot be read: {error}", raw)
    found = heard if isinstance(heard, Failure) else checked(ask, heard)
    return msgspec.structs.replace(found, raw=raw[:_RAW]) if isinstance(found, Failure) else found


def _fault(detail: str, raw: str) -> Failure:
    return Failure("invalid_answer", detail, raw=raw[:_RAW])


class _Details(msgspec.Struct):
    cached_tokens: int = 0


class _Tokens(msgspec.Struct):
    input_tokens: int = 0
    output_tokens: int = 0
    input_tokens_details: _Details | None = None

    @property
    def counted(self) -> Usage:
        details = self.input_tokens_details
        return Usage(self.input_tokens, self.output_tokens, details.cached_tokens if details else 0)


class _Bill(msgspec.Struct):
    """What the replies of both protocols say beside the answers."""

    usage: _Tokens | None = None
    model: str = ""


class _Envelope(msgspec.Struct):
    """Where the answers stand in the replies of both protocols."""

    answers: list[msgspec.Raw] | dict[str, msgspec.Raw]


class _Named(msgspec.Struct):
    name: str | None = None


_BILL = msgspec.json.Decoder(_Bill)
_ENVELOPE = msgspec.json.Decoder(_Envelope)
_NAMED = msgspec.json.Decoder(_Named)


def _by_name(answers: list[msgspec.Raw] | dict[str, msgspec.Raw]) -> dict[str, msgspec.Raw]:
    """Answers under their questions' names, which those of a list bear."""
    if isinstance(answers, dict):
        return answers
    return {decoded(answer, _NAMED).name or "": answer for answer in answers}


@cache
def digest(dialect: Dialect) -> str:
    """A short hash of all that is said beside the texts: of a request with asks of every form."""
    texts = (("query", "q"), ("response", "r"))
    questions: list[Question] = [
        Entail(("a", "b"), "c"),
        Entail(("a",), "c", "q"),
        Relevant("q", "a"),
        Relevant("q", "a", "b"),
        *(Classify("o", trait) for trait in (*wording.TRAITS, "other")),
        Rate(TOPICAL_MATCH, texts),
        Rate(COHERENCE, (("source", "a"), ("response", "r"))),
    ]
    sheet = Sheet()
    asks = sheet.take(questions)
    return hashlib.sha256(request(dialect, "", sheet.sources, asks).encode()).hexdigest()[:8]
