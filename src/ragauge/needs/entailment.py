"""Needs about entailment: are the statements of one text supported by other texts?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Annotated, Literal

from ragauge.needs.base import Need, NothingToCount, QuestionFlow, Statements, Support, Supports, Texts, gather, need
from ragauge.questions import Decompose, Entail
from ragauge.text.sentences import sentences
from ragauge.types import Sample, Statement


def response_of(sample: Sample) -> str:
    """The response; a need that reads "response" may rely on it."""
    assert sample.response is not None
    return sample.response


def references_of(sample: Sample) -> dict[str, str]:
    """The non-blank references by field name. Raises NothingToCount where there are none."""
    references = {f"references[{i}]": text for i, text in enumerate(sample.references or ()) if text.strip()}
    if not references:
        raise NothingToCount("the sample has no reference")
    return references


#: The most turns of a conversation that are shown with a question, and the most characters of each.
_MAX_TURNS, _MAX_TURN_CHARS = 10, 2000


def history(sample: Sample) -> tuple[str, ...]:
    """What user and assistant said before the query, oldest first; only the end of a long conversation or turn."""
    turns = [turn for turn in sample.turns or () if turn.role != "system" and turn.text.strip()]
    return tuple(f"{turn.role.capitalize()}: {turn.text[-_MAX_TURN_CHARS:]}" for turn in turns[-_MAX_TURNS:])


def response_statements(sample: Sample) -> QuestionFlow[Statements]:
    """The statements of the response; an empty response has none."""
    text = response_of(sample)
    if not text.strip():
        return Statements("response", ())
    (judgment,) = yield [Decompose(text, sample.query, history(sample))]
    return Statements.of("response", judgment)


def response_sentences(sample: Sample) -> QuestionFlow[Statements]:
    """The sentences of the response, each a claim; no judge is asked."""
    yield from ()
    text = response_of(sample)
    return Statements("response", tuple(Statement(text[slice(*span)], span) for span in sentences(text)))


#: Whose claims are looked for: those of each reference, or of the text that was summarised.
ClaimsOf = Literal["references", "source"]


def _source_of(sample: Sample) -> str:
    if not (sample.source or "").strip():
        raise NothingToCount("the source is empty")
    return sample.source or ""


def reference_statements(sample: Sample, of: ClaimsOf = "references") -> QuestionFlow[tuple[Statements, ...]]:
    """The statements of each reference, or of the source."""
    references = references_of(sample) if of == "references" else {"source": _source_of(sample)}
    judgments = yield [Decompose(text, sample.query, history(sample)) for text in references.values()]
    return tuple(map(Statements.of, references, judgments))


@need(reads=["response", "references"])
def response_and_references(sample: Sample) -> QuestionFlow[Texts]:
    """The texts of the response and its references."""
    yield from ()
    return Texts(response_of(sample), tuple(references_of(sample).values()))


def support(
    statements: Statements,
    against: str,
    chunks: Sequence[tuple[str, str]],
    query: str | None,
    turns: tuple[str, ...] = (),
) -> QuestionFlow[Support]:
    """Is each statement supported by a premise? Nothing is asked if all its texts are blank.

    Args:
        statements: the hypotheses.
        against: where the chunks come from, such as "contexts".
        chunks: the premise, pairs of an id and a text.
        query: what the statements answer, if anything.
        turns: the conversation before the query, as `history` gives it.
    """
    ids, premise = tuple(id for id, _ in chunks), tuple(text for _, text in chunks)
    if not statements.pieces or not any(text.strip() for text in premise):
        return Support(statements, against, ids, ())
    judgments = yield [Entail(premise, piece.text, query, turns) for piece in statements.pieces]
    return Support(statements, against, ids, tuple(judgments))


#: The fields that tell which tools were called; a sample needs one of them.
CALLED = "tool_calls or turns"

#: A text of statements' premise, and its id.
_Passage = tuple[str, str]


def _retrieved(sample: Sample) -> list[_Passage]:
    return [(chunk.id, chunk.passage) for chunk in sample.contexts or ()]


def _remembered(sample: Sample) -> list[_Passage]:
    """All that was retrieved or that the user said up to the response; each passage once."""
    passages: dict[str, str] = {}
    for number, turn in enumerate(sample.turns or (), start=1):
        if turn.role == "user" and turn.text.strip():
            passages.setdefault(f"The user said: {turn.text}", f"turn {number}")
        for chunk in turn.contexts or ():
            passages.setdefault(chunk.passage, f"turn {number}: {chunk.id}")
    own = {chunk.passage: chunk.id for chunk in sample.contexts or ()}
    return [(id, text) for text, id in (passages | own).items()]


def _called(sample: Sample) -> list[_Passage]:
    return [(field, call.passage) for field, call in sample.calls.items()]


#: What statements are compared with -> each premise by the name of what it is, as evidence has it.
_PREMISES: Mapping[str, Callable[[Sample], Mapping[str, list[_Passage]]]] = {
    "contexts": lambda sample: {"contexts": _retrieved(sample)},
    "conversation": lambda sample: {"contexts": _remembered(sample)},
    "references": lambda sample: {name: [(name, text)] for name, text in references_of(sample).items()},
    "response": lambda sample: {"response": [("response", response_of(sample))]},
    "source": lambda sample: {"source": [("source", _source_of(sample))]},
    "calls": lambda sample: {"calls": _called(sample)},
    "trial": lambda sample: {"trial": [*_called(sample), ("response", response_of(sample))]},
    "query": lambda sample: {"query": [("query", sample.query or "")]},
}


def _supported(sample: Sample, statements: Statements, against: str, chunks: list[_Passage]) -> QuestionFlow[Support]:
    """Is each statement supported by a premise? The query goes with it, unless it is the premise."""
    query = None if against == "query" else sample.query
    turns = () if against in ("query", "source", "calls", "trial") else history(sample)
    return (yield from support(statements, against, chunks, query, turns))


_ASKS, _ASKS_OF_SENTENCES = frozenset({"decompose", "entail:support"}), frozenset({"entail:support"})


#: What is to support the claims of the response -> the fields that must be present.
_FIELDS = {"contexts": "contexts", "conversation": "contexts or turns", "source": "source", "calls": CALLED}


@cache
def response_in_contexts(
    units: Annotated[Literal["claims", "sentences"], "what is counted: claims, or sentences split by rule"] = "claims",
    against: Annotated[
        Literal["contexts", "source", "calls"], "what is to support them; calls: what the tools did"
    ] = "contexts",
    memory: Annotated[
        Literal["turn", "all"], "whose contexts count: the turn's, or all so far and what the user said"
    ] = "turn",
) -> Need[Support]:
    """Are the claims of the response, or its sentences, supported by the contexts or other texts?

    Args:
        units: "claims", or "sentences" split by rule.
        against: "contexts", "source" for a summary, or "calls" for what an agent's tools did.
        memory: "turn", or "all" for what earlier turns of the conversation retrieved and the user said in them.

    Returns:
        The need, which a metric function reads as its `Support`.
    """
    place = "conversation" if against == "contexts" and memory == "all" else against

    def flow(sample: Sample) -> QuestionFlow[Support]:
        statements = yield from (response_statements if units == "claims" else response_sentences)(sample)
        ((name, chunks),) = _PREMISES[place](sample).items()
        return (yield from _supported(sample, statements.claims, name, chunks))

    asks = _ASKS if units == "claims" else _ASKS_OF_SENTENCES
    return Need(f"response_in_{place}({units})", ("response", _FIELDS[place]), asks, flow)


def _claims_in_turns_of(role: str, speech: str, name: str) -> Need[Support]:
    """Which claims of the response does an earlier turn of a speaker entail or contradict? speech: a turn, in words."""

    def flow(sample: Sample) -> QuestionFlow[Support]:
        turns = enumerate(sample.turns or (), start=1)
        chunks = [(f"turn {number}", turn.text) for number, turn in turns if turn.role == role and turn.text.strip()]
        if not chunks:
            raise NothingToCount(f"there is no {speech}")
        statements = yield from response_statements(sample)
        return (yield from support(statements.claims, "turns", chunks, sample.query, history(sample)))

    asks = frozenset({"decompose", "entail:contradiction", "entail:conversation"})
    return Need(name, ("response", "turns"), asks, flow)


response_claims_in_answers = _claims_in_turns_of("assistant", "earlier answer", "response_claims_in_answers")
response_claims_in_requests = _claims_in_turns_of("user", "earlier turn of the user", "response_claims_in_requests")


@need(reads=["response"], asks=_ASKS)
def response_claims_in_query(sample: Sample) -> QuestionFlow[Support]:
    """Which claims of the response does the query already presuppose?"""
    statements = yield from response_statements(sample)
    return (yield from support(statements.claims, "query", [("query", sample.query or "")], None))


def _supports(
    name: str,
    reads: tuple[str, ...],
    of: Literal["response", ClaimsOf],
    premise: str,
    claims: bool = False,
) -> Need[Supports]:
    """Are the statements, or claims, of one text in each of several premises, or those of several texts in one?"""

    def flow(sample: Sample) -> QuestionFlow[Supports]:
        if of == "response":
            texts: tuple[Statements, ...] = ((yield from response_statements(sample)),)
        else:
            texts = yield from reference_statements(sample, of)
        hypotheses = [text.claims for text in texts] if claims else texts
        pairs = product(hypotheses, _PREMISES[premise](sample).items())
        flows = [_supported(sample, statements, name, chunks) for statements, (name, chunks) in pairs]
        return Supports((yield from gather(flows)))

    return Need(name, reads, _ASKS, flow)


_BOTH, _RETRIEVED = ("response", "references"), ("references", "contexts")
response_in_references = _supports("response_in_references", _BOTH, "response", "references")
response_claims_in_references = _supports("response_claims_in_references", _BOTH, "response", "references", claims=True)
references_in_response = _supports("references_in_response", _BOTH, "references", "response")
references_in_contexts = _supports("references_in_contexts", _RETRIEVED, "references", "contexts")
reference_claims_in_contexts = _supports(
    "reference_claims_in_contexts", _RETRIEVED, "references", "contexts", claims=True
)
reference_claims_in_trial = _supports("reference_claims_in_trial", (*_BOTH, CALLED), "references", "trial", claims=True)


@cache
def claims_in_response(
    of: Annotated[ClaimsOf, "whose claims are looked for: each reference's, or the source's"] = "references",
) -> Need[Supports]:
    """Are the claims of each reference, or of the source, supported by the response?"""
    return _supports(f"{of.removesuffix('s')}_claims_in_response", ("response", of), of, "response", claims=True)


@cache
def claims_in_query(of: ClaimsOf = "references") -> Need[Supports]:
    """Which claims of each reference, or of the source, does the query already presuppose?"""
    return _supports(f"{of.removesuffix('s')}_claims_in_query", (of,), of, "query", claims=True)


reference_claims_in_response, reference_claims_in_query = claims_in_response(), claims_in_query()
