"""Needs about gold claims: which of them the documents hold, and which of them the response holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from ragauge.needs.findings import Statements, Support
from ragauge.needs.need import Flow, Need, NothingToCount
from ragauge.needs.statements import response_of
from ragauge.needs.support import support
from ragauge.nouns.answers import Label, Verdict
from ragauge.nouns.samples import Chunk, Sample
from ragauge.nouns.scores import Evidence
from ragauge.nouns.statements import Statement
from ragauge.text import trust_eval
from ragauge.text.cited import cited_items, without_citations
from ragauge.text.squad import normalise

#: Where labels come from that the data lacks: a judge is "asked", or only what is "given" counts.
Labels = Literal["asked", "given"]

#: How gold claims are looked for in a response: by entailment ("cm"), as strings ("em"), as items of a list ("em5").
Correctness = Literal["cm", "em", "em5"]

#: Whose reading of texts: ours, Trust-Eval's, or ALCE's, which differs from Trust-Eval's in citations alone.
Variant = Literal["default", "trust_eval", "alce"]


@dataclass(frozen=True)
class Held:
    """What the documents hold.

    claims: for each gold claim whether some document holds it; empty where only the whole is known.
    answerable: whether some document holds some gold claim.
    """

    claims: tuple[bool, ...]
    answerable: bool
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class Matched:
    """What the response holds: for each gold claim whether it is there; for a list also its items, right or wrong."""

    claims: tuple[bool, ...]
    evidence: tuple[Evidence, ...]
    items: tuple[str, ...] = ()
    gold: tuple[tuple[str, ...], ...] = ()


def answers_of(sample: Sample) -> tuple[tuple[str, ...], ...]:
    """The gold claims. Raises NothingToCount where there are none, or one without wording."""
    if not sample.answers:
        raise NothingToCount("the sample has no gold claim in 'answers'")
    if not all(sample.answers):
        raise NothingToCount("a gold claim in 'answers' has no wording")
    return sample.answers


@cache
def answerability(labels: Labels = "asked") -> Need[Held]:
    """Do the documents hold an answer? By the label of the sample, else those of the documents, else a judge."""

    def flow(sample: Sample) -> Flow[Held]:
        if sample.answerable is not None:
            return Held((), sample.answerable, _label(sample.answerable))
        if not sample.answers:
            raise NothingToCount("the sample has neither an 'answerable' label nor a gold claim in 'answers'")
        return (yield from _held(sample, labels))

    return Need(f"answerability({labels})", (), _asks(labels), flow)


@cache
def claims_in_documents(labels: Labels = "asked") -> Need[Held]:
    """Which gold claims does some document hold? By the documents' labels `answers_found`, or a judge.

    Where the sample is labelled unanswerable, none.
    """
    return Need(f"claims_in_documents({labels})", (), _asks(labels), lambda sample: _held(sample, labels))


def _asks(labels: Labels) -> frozenset[str]:
    return frozenset({"entail:support"} if labels == "asked" else ())


def _held(sample: Sample, labels: Labels) -> Flow[Held]:
    answers = answers_of(sample)
    if sample.answerable is False:
        return Held((False,) * len(answers), False, _label(False))
    if sample.contexts is None:
        raise NothingToCount("the sample has no contexts, so that nobody can tell whether they hold an answer")
    found = [_found_in(chunk, len(answers), place) for place, chunk in enumerate(sample.contexts, 1)]
    known = [each for each in found if each is not None]
    if len(known) == len(found):
        claims = tuple(any(column) for column in zip(*known, strict=True)) or (False,) * len(answers)
        return Held(claims, any(claims) or sample.answerable is True, _labelled(answers, claims))
    if labels == "given":
        raise NothingToCount("a document has no 'answers_found'; labels=asked lets the judge tell")
    return (yield from _asked(sample, answers))


def _asked(sample: Sample, answers: Sequence[Sequence[str]]) -> Flow[Held]:
    statements = Statements("answers", tuple(Statement(wordings[0]) for wordings in answers))
    chunks = [(chunk.id, chunk.passage) for chunk in sample.contexts or ()]
    found = yield from support(statements, "contexts", chunks, sample.query)
    claims = tuple(map(_holds, found.verdicts))
    return Held(claims, any(claims) or sample.answerable is True, found.evidence)


def _holds(verdict: Verdict) -> bool:
    """Whether some document alone entails the claim; people may have judged all of them together."""
    return any(one.label is Label.ENTAILED for one in verdict.chunks or (verdict,))


def labels_of(chunk: Chunk) -> tuple[bool, ...]:
    """The labels `answers_found` of a document, one for each gold claim; none where it has none, or other values."""
    given: Any = chunk.metadata.get("answers_found")
    labels = given if isinstance(given, list | tuple) else [given]
    return tuple(map(bool, labels)) if all(label in (0, 1) for label in labels) else ()


def _found_in(chunk: Chunk, claims: int, place: int) -> tuple[bool, ...] | None:
    """The labels of a document, None where it has none. Raises NothingToCount where they are not one for each claim."""
    given = chunk.metadata.get("answers_found")
    if given is None:
        return None
    labels = labels_of(chunk)
    if len(labels) != claims:
        raise NothingToCount(
            f"'answers_found' of document {place} is {given!r}, not 0 or 1 for each of {claims} answers"
        )
    return labels


def _label(answerable: bool) -> tuple[Evidence, ...]:
    return (Evidence("answerable", "answerable", label=Label.YES if answerable else Label.NO),)


def _labelled(answers: Sequence[Sequence[str]], claims: Sequence[bool]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(wordings[0], f"answers[{i}]", against="contexts", label=_found(yes), rationale="labelled in the data")
        for i, (wordings, yes) in enumerate(zip(answers, claims, strict=True))
    )


def _found(yes: bool) -> Label:
    return Label.YES if yes else Label.NO


@cache
def claims_in_response(correctness: Correctness = "cm", variant: Variant = "default") -> Need[Matched]:
    """Which gold claims does the response hold, once its citations are left out?"""
    asks = frozenset({"entail:support"} if correctness == "cm" else ())
    flow = _FLOWS[correctness]
    name = f"claims_in_response({correctness},{variant})"
    return Need(name, ("response", "answers"), asks, lambda sample: flow(sample, variant))


def claims_entailed(variant: Variant = "default") -> Need[Matched]:
    """Which gold claims does the response entail?"""
    return claims_in_response("cm", variant)


def claims_present(variant: Variant = "default") -> Need[Matched]:
    """Of which gold claims does some wording stand in the response?"""
    return claims_in_response("em", variant)


def claims_listed(variant: Variant = "default") -> Need[Matched]:
    """Which gold claims are among the items of the response, which is a list?"""
    return claims_in_response("em5", variant)


def _entailed(sample: Sample, variant: Variant) -> Flow[Matched]:
    """The first wording of each claim held against the response."""
    answers = answers_of(sample)
    statements = Statements("answers", tuple(Statement(wordings[0]) for wordings in answers))
    query = sample.query if variant == "default" else None
    found: Support = yield from support(statements, "response", [("response", _bare(sample, variant))], query)
    entailed = found.entailed if variant == "default" else tuple(v.label is Label.ENTAILED for v in found.verdicts)
    return Matched(entailed, found.evidence)


def _present(sample: Sample, variant: Variant) -> Flow[Matched]:
    """Any wording of each claim as a part of the response."""
    yield from ()
    answers, text = answers_of(sample), _bare(sample, variant)
    holds = _holds_words if variant == "default" else trust_eval.holds
    claims = tuple(holds(text, wordings) for wordings in answers)
    return Matched(claims, _matches(answers, claims))


def _listed(sample: Sample, variant: Variant) -> Flow[Matched]:
    """Any wording of each claim as one of the response's items; both normalised as in SQuAD."""
    yield from ()
    answers = answers_of(sample)
    items = tuple(item for item in map(normalise, _items(sample, variant)) if item)
    gold = tuple(tuple(map(normalise, wordings)) for wordings in answers)
    claims = tuple(any(wording in items for wording in wordings) for wordings in gold)
    return Matched(claims, _matches(answers, claims), items, gold)


def _items(sample: Sample, variant: Variant) -> list[str]:
    if variant == "default":
        return [one.text for one in cited_items(response_of(sample), [""] * len(sample.contexts or ()))]
    bare = _bare(sample, variant)
    return [bare[slice(*span)] for span in trust_eval.listed(bare)]


_FLOWS: dict[Correctness, Callable[[Sample, Variant], Flow[Matched]]] = {
    "cm": _entailed,
    "em": _present,
    "em5": _listed,
}


def _bare(sample: Sample, variant: Variant) -> str:
    if variant == "default":
        return without_citations(response_of(sample), [""] * len(sample.contexts or ()))
    return trust_eval.bare(response_of(sample))


def _holds_words(text: str, wordings: Sequence[str]) -> bool:
    """Whether any wording stands in the text as whole words; one that is nothing but articles stands nowhere."""
    plain = f" {normalise(text)} "
    return any(f" {words} " in plain for words in map(normalise, wordings) if words)


def _matches(answers: Sequence[Sequence[str]], claims: Sequence[bool]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(wordings[0], f"answers[{i}]", against="response", label=_found(yes))
        for i, (wordings, yes) in enumerate(zip(answers, claims, strict=True))
    )
