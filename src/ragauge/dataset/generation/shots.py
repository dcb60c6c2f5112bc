"""Shots: answered samples that show a model what is wanted, drawn with a seed."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import msgspec

from ragauge.dataset.generation.prompts import Brief
from ragauge.errors import BadData
from ragauge.needs.checks import refusal_text
from ragauge.text import trust_eval
from ragauge.text.refusals import refusal
from ragauge.types import Sample


def with_shots(brief: Brief, samples: Sequence[Sample], count: int, seed: int, top: int | None = None) -> Brief:
    """The brief with `count` of these samples as examples, in an order that the seed decides.

    Half of them, rounded down, refuse, where refusals are wanted, as in Trust-Eval; of a kind that there is too little
    of, the other takes the place. A refusal is shown in the words that are asked for. A sample without a response is
    shown with its first reference. top: documents of each that are shown.

    Raises BadData where there are fewer samples than that with a question, documents and an answer.
    """
    usable = [shown for one in samples if (shown := _shown(one, brief, top))]
    answers = [one for one in usable if one.response != brief.refusal]
    refusals = [one for one in usable if brief.refusal and one.response == brief.refusal]
    if len(answers) + len(refusals) < count:
        raise BadData(
            f"{len(answers) + len(refusals)} of {len(samples)} samples can be shown, {count} are wanted; each needs a "
            "query, contexts, and a response or reference"
        )
    chance = Random(seed)
    declined = min(len(refusals), max(count // 2 if brief.refusal else 0, count - len(answers)))
    drawn = [*chance.sample(refusals, declined), *chance.sample(answers, count - declined)]
    chance.shuffle(drawn)
    return msgspec.structs.replace(brief, shots=tuple(drawn))


def _shown(sample: Sample, brief: Brief, top: int | None) -> Sample | None:
    """What of a sample is shown; None where something is missing, or where it refuses and nothing is to."""
    response = sample.response or next(iter(sample.references or ()), "")
    if not (sample.query and sample.contexts and response):
        return None
    if refusal(response, refusal_text(sample)) or trust_eval.is_refusal(response):
        response = brief.refusal
    shown = Sample(sample.id, sample.query, response, sample.contexts[:top])
    return shown if response else None
