"""Requests and replies of decisions endpoints, pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache

import msgspec

from ragauge.judges.llm.calls import Usage
from ragauge.judges.llm.decisions import wording
from ragauge.judges.llm.decisions.asks import Ask, Said, Sheet, checked
from ragauge.judges.llm.decisions.dialects import Dialect
from ragauge.nouns.answers import Failure
from ragauge.questions import Classify, Entail, Rate, Relevant
from ragauge.rubrics import COHERENCE, TOPICAL_MATCH


def request(dialect: Dialect, model: str, sources: Mapping[str, str], asks: Sequence[Ask]) -> bytes:
    """The body of a request.

    The shared evidence is one JSON text with the sources that the asks name; the asks are named "1", "2" and so on.
    """
    used = dict.fromkeys(id for ask in asks for id in ask.sources)
    evidence = {"note": wording.NOTE, "sources": {id: sources[id] for id in used}}
    named = {str(number): ask for number, ask in enumerate(asks, start=1)}
    return msgspec.json.encode(dialect.body(model, msgspec.json.encode(evidence).decode(), named))


class Reply(msgspec.Struct, frozen=True):
    """What a reply says to each ask, in order; usage: None where the server does not tell; model: as it names it."""

    said: tuple[Said | Failure, ...]
    usage: Usage | None = None
    model: str = ""


def read(dialect: Dialect, body: bytes, asks: Sequence[Ask]) -> Reply:
    """The reply to a request of these asks; a Failure stands for each ask to which it says nothing usable."""
    try:
        envelope = _ENVELOPE.decode(body)
        answers = _by_name(envelope.answers)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return Reply((_fault(f"the reply cannot be read: {error}", body),) * len(asks))
    said = tuple(_said(dialect, ask, answers.get(str(number))) for number, ask in enumerate(asks, start=1))
    return Reply(said, envelope.usage.counted if envelope.usage else None, envelope.model)


def _said(dialect: Dialect, ask: Ask, answer: msgspec.Raw | None) -> Said | Failure:
    if answer is None:
        return Failure("invalid_answer", "the reply leaves a question out")
    try:
        said = dialect.answer(answer)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return _fault(f"an answer cannot be read: {error}", bytes(answer))
    found = said if isinstance(said, Failure) else checked(ask, said)
    return msgspec.structs.replace(found, raw=_shown(bytes(answer))) if isinstance(found, Failure) else found


def _fault(detail: str, raw: bytes) -> Failure:
    return Failure("invalid_answer", detail, raw=_shown(raw))


def _shown(raw: bytes) -> str:
    return raw.decode(errors="replace")[:2000]


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


class _Envelope(msgspec.Struct):
    """What the replies of both protocols share."""

    answers: list[msgspec.Raw] | dict[str, msgspec.Raw]
    usage: _Tokens | None = None
    model: str = ""


class _Named(msgspec.Struct):
    name: str | None = None


_ENVELOPE = msgspec.json.Decoder(_Envelope)
_NAMED = msgspec.json.Decoder(_Named)


def _by_name(answers: list[msgspec.Raw] | dict[str, msgspec.Raw]) -> dict[str, msgspec.Raw]:
    """Answers under their questions' names, which those of a list bear."""
    if isinstance(answers, dict):
        return answers
    return {_NAMED.decode(answer).name or "": answer for answer in answers}


@cache
def digest(dialect: Dialect) -> str:
    """A short hash of all that is said beside the texts: of a request with asks of every form."""
    texts = (("query", "q"), ("response", "r"))
    sheet = Sheet(
        [
            Entail(("a", "b"), "c"),
            Entail(("a",), "c", "q"),
            Relevant("q", "a"),
            Relevant("q", "a", "b"),
            *(Classify("o", trait) for trait in (*wording.TRAITS, "other")),
            Rate(TOPICAL_MATCH, texts),
            Rate(COHERENCE, (("source", "a"), ("response", "r"))),
        ]
    )
    return hashlib.sha256(request(dialect, "", sheet.sources, sheet.asks)).hexdigest()[:8]
