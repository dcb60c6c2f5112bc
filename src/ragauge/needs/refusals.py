"""Needs about refusals: does the response decline to answer?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

from ragauge.needs.checks import grade_of
from ragauge.needs.findings import Grades
from ragauge.needs.need import Flow, Need
from ragauge.needs.statements import response_of
from ragauge.questions import REFUSAL
from ragauge.scores import Evidence
from ragauge.text import trust_eval
from ragauge.text.refusals import refusal
from ragauge.types import Label, Sample

#: Who tells a refusal: "rules" (ours), "trust_eval" (a fuzzy match with the sentence that it prescribes), "judge".
Refusals = Literal["rules", "trust_eval", "judge"]


#: Where a sample's metadata says what its system was told to say in place of an answer.
SENTENCE = "refusal_sentence"


def told(sample: Sample) -> str:
    """What the system was told to say in place of an answer; "" where that is not known."""
    sentence = sample.metadata.get(SENTENCE)
    return sentence if isinstance(sentence, str) else ""


@dataclass(frozen=True)
class Refused:
    """Whether the response is a refusal.

    bare: whether it would be one without its citations, which is what Trust-Eval goes by where it counts gold claims.
    """

    refused: bool
    bare: bool
    evidence: tuple[Evidence, ...]


@cache
def refusals(refusals: Refusals = "rules") -> Need[Refused]:
    """Does the response decline to answer? Nothing is asked unless a judge is to tell."""
    name = f"refusals({refusals})"
    if refusals == "judge":
        graded = grade_of(REFUSAL)
        return Need(name, graded.reads, graded.asks, lambda sample: _graded(graded, sample))
    return Need(name, ("response",), frozenset(), _matched if refusals == "trust_eval" else _by_rule)


def _graded(graded: Need[Grades], sample: Sample) -> Flow[Refused]:
    grades = yield from graded.flow(sample)
    refused = grades.values[0] >= (REFUSAL.low + REFUSAL.high) / 2
    return Refused(refused, refused, grades.evidence)


def _matched(sample: Sample) -> Flow[Refused]:
    yield from ()
    text = response_of(sample)
    refused = trust_eval.is_refusal(text)
    return Refused(refused, trust_eval.is_refusal(trust_eval.bare(text)), _whole(text, refused))


def _by_rule(sample: Sample) -> Flow[Refused]:
    yield from ()
    text = response_of(sample)
    spans = refusal(text, told(sample))
    declined = tuple(Evidence(text[start:end], "response", (start, end), "refusal", Label.YES) for start, end in spans)
    return Refused(bool(spans), bool(spans), declined or _whole(text, refused=False))


def _whole(text: str, refused: bool) -> tuple[Evidence, ...]:
    return (Evidence(text, "response", (0, len(text)), "refusal", Label.YES if refused else Label.NO),)
