"""Needs about gold claims: which of them does the response hold?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from ragauge.needs.findings import Statements, Support
from ragauge.needs.need import Flow, Need, NothingToCount
from ragauge.needs.statements import cited_as, response_of
from ragauge.needs.support import support
from ragauge.scores import Evidence
from ragauge.text import trust_eval
from ragauge.text.citations import CitationStyle
from ragauge.text.cited import cited_items, without_citations
from ragauge.text.overlap import squad_normalise
from ragauge.types import Label, Sample, Statement

#: How gold claims are looked for in a response: by entailment ("cm"), as strings ("em"), as items of a list ("em5").
Correctness = Literal["cm", "em", "em5"]

#: Whose reading of texts: ours, Trust-Eval's, or ALCE's, which differs from Trust-Eval's in citations alone.
Variant = Literal["default", "trust_eval", "alce"]

#: Gold claims, each a tuple of wordings.
Answers = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Matched:
    """What the response holds: for each gold claim whether it is there; for a list also its items, right or wrong."""

    claims: tuple[bool, ...]
    evidence: tuple[Evidence, ...]
    items: tuple[str, ...] = ()
    gold: tuple[tuple[str, ...], ...] = ()


def answers_of(sample: Sample) -> Answers:
    """The gold claims. Raises NothingToCount where there are none, or one without wording."""
    if not sample.answers:
        raise NothingToCount("the sample has no gold claim in 'answers'")
    if not all(sample.answers):
        raise NothingToCount("a gold claim in 'answers' has no wording")
    return sample.answers


def wordings_asked(answers: Answers, texts: Sequence[str]) -> list[tuple[int, str]]:
    """The wordings of the gold claims that a judge is asked about, each with the position of its claim.

    They are those that stand in some text as whole words; of a claim of which none does, all.
    """
    plain = [_plain(text) for text in texts] if any(len(wordings) > 1 for wordings in answers) else []
    return [(place, wording) for place, wordings in enumerate(answers) for wording in _standing(wordings, plain)]


def _standing(wordings: Sequence[str], plain: Sequence[str]) -> Sequence[str]:
    different = list({squad_normalise(wording) or wording: wording for wording in wordings}.values())
    return [one for one in different if any(_stands(one, text) for text in plain)] or different


def by_claim(flags: Iterable[bool], places: Sequence[int], claims: int) -> tuple[bool, ...]:
    """For each of so many claims whether the flag of some wording is set; places: the claim of each flag."""
    found = {place for place, flag in zip(places, flags, strict=True) if flag}
    return tuple(place in found for place in range(claims))


def _found(yes: bool) -> Label:
    return Label.YES if yes else Label.NO


@cache
def claims_in_response(
    correctness: Correctness = "cm", variant: Variant = "default", style: CitationStyle = "brackets"
) -> Need[Matched]:
    """Which gold claims does the response hold, once its citations are left out? style: how these are written."""
    asks = frozenset({"entail:support"} if correctness == "cm" else ())
    flow = _FLOWS[correctness]
    name = f"claims_in_response({correctness},{variant},{style})"
    return Need(name, ("response", "answers"), asks, lambda sample: flow(sample, variant, style))


def claims_entailed(variant: Variant = "default", style: CitationStyle = "brackets") -> Need[Matched]:
    """Which gold claims does the response entail?"""
    return claims_in_response("cm", variant, style)


def claims_present(variant: Variant = "default", style: CitationStyle = "brackets") -> Need[Matched]:
    """Of which gold claims does some wording stand in the response?"""
    return claims_in_response("em", variant, style)


def claims_listed(variant: Variant = "default", style: CitationStyle = "brackets") -> Need[Matched]:
    """Which gold claims are among the items of the response, which is a list?"""
    return claims_in_response("em5", variant, style)


def _entailed(sample: Sample, variant: Variant, style: CitationStyle) -> Flow[Matched]:
    """Wordings of each claim held against the response; in the other variants the first alone."""
    answers, text, own = answers_of(sample), _bare(sample, variant, style), variant == "default"
    asked = wordings_asked(answers, [text]) if own else [(i, wordings[0]) for i, wordings in enumerate(answers)]
    statements = Statements("answers", tuple(Statement(wording) for _, wording in asked))
    found: Support = yield from support(statements, "response", [("response", text)], sample.query if own else None)
    entailed = found.entailed if own else tuple(v.label is Label.ENTAILED for v in found.verdicts)
    return Matched(by_claim(entailed, [place for place, _ in asked], len(answers)), found.evidence)


def _present(sample: Sample, variant: Variant, style: CitationStyle) -> Flow[Matched]:
    """Any wording of each claim as a part of the response."""
    yield from ()
    answers, text = answers_of(sample), _bare(sample, variant, style)
    holds = _holds_words if variant == "default" else trust_eval.holds
    claims = tuple(holds(text, wordings) for wordings in answers)
    return Matched(claims, _matches(answers, claims))


def _listed(sample: Sample, variant: Variant, style: CitationStyle) -> Flow[Matched]:
    """Any wording of each claim as one of the response's items; both normalised as in SQuAD."""
    yield from ()
    answers = answers_of(sample)
    items = tuple(item for item in map(squad_normalise, _items(sample, variant, style)) if item)
    gold = tuple(tuple(map(squad_normalise, wordings)) for wordings in answers)
    claims = tuple(any(wording in items for wording in wordings) for wordings in gold)
    return Matched(claims, _matches(answers, claims), items, gold)


def _items(sample: Sample, variant: Variant, style: CitationStyle) -> list[str]:
    if variant == "default":
        return [one.text for one in cited_items(response_of(sample), cited_as(sample), style)]
    bare = _bare(sample, variant, style)
    return [bare[slice(*span)] for span in trust_eval.listed(bare)]


_FLOWS: dict[Correctness, Callable[[Sample, Variant, CitationStyle], Flow[Matched]]] = {
    "cm": _entailed,
    "em": _present,
    "em5": _listed,
}


def _bare(sample: Sample, variant: Variant, style: CitationStyle) -> str:
    if variant == "default":
        return without_citations(response_of(sample), cited_as(sample), style)
    return trust_eval.bare(response_of(sample))


def _holds_words(text: str, wordings: Sequence[str]) -> bool:
    """Whether any wording stands in the text as whole words; one that is nothing but articles stands nowhere."""
    plain = _plain(text)
    return any(_stands(wording, plain) for wording in wordings)


def _plain(text: str) -> str:
    return f" {squad_normalise(text)} "


def _stands(wording: str, plain: str) -> bool:
    words = squad_normalise(wording)
    return bool(words) and f" {words} " in plain


def _matches(answers: Sequence[Sequence[str]], claims: Sequence[bool]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(wordings[0], f"answers[{i}]", against="response", label=_found(yes))
        for i, (wordings, yes) in enumerate(zip(answers, claims, strict=True))
    )
