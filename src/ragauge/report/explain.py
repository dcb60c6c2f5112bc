"""Why a score is what it is: what decides it, the worst samples, unsupported claims, failing gates."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from ragauge.report.wording import GOOD, chunk_words, counted, flat, interval, number, one_line, shortened
from ragauge.scores import Better, Estimate, Evidence, Gate, RunRecord, SampleRecord, Score, ScoreRecord
from ragauge.types import Label

#: How many pieces are told.
TOLD = 5

_WORDS = {
    Label.ENTAILED: "supported by",
    Label.NEUTRAL: "not supported by",
    Label.NOT_ENTAILED: "not supported by",
    Label.CONTRADICTED: "contradicted by",
    Label.YES: "yes for",
    Label.NO: "no for",
}

#: Labels that a chunk has of itself, so that it can be named.
_TELLING = (Label.ENTAILED, Label.CONTRADICTED)


def explain(score: Score, better: Better = "higher") -> str:
    """A score in words: its value with the counts behind it, and the pieces that count against the text that it judges.

        rg.explain(run.scores[0]["faithfulness"])
        '0.500 (1 of 2); not supported by contexts: “Bob sang.”'

    better: which way the metric is better, as its Estimate says; where lower is, the pieces that are counted are told.
    Up to five pieces are told, grades with their reasons. A score without a value is told by its reason, and what a
    sample adds to a metric over the data set by its counts.
    """
    if score.undefined or score.failed:
        return flat(f"undefined: {score.undefined}" if score.undefined else f"failed: {score.failed}")
    told = decisive(score, raising=better == "lower", better=better)
    more = [f"and {len(told) - TOLD} more"] if len(told) > TOLD else []
    return "; ".join([_value(score), *map(piece_words, told[:TOLD]), *more])


def decisive(score: Score, raising: bool, better: Better = "higher") -> list[Evidence]:
    """The pieces that raise a score, or else those that lower it, contradicted ones first; grades do both.

    What a claim owes to the query alone is left out: it says whether the claim counts, not how.
    """
    pieces = [piece for piece in score.evidence if not _is_presupposition(piece)]
    counted = _counted(pieces) if better == "lower" else [piece for piece in pieces if piece.label in GOOD]
    told = counted if raising else [piece for piece in pieces if piece not in counted]
    graded = [piece for piece in pieces if piece.value is not None]
    labelled = [piece for piece in told if piece.label is not None]
    return graded or sorted(labelled, key=lambda piece: piece.label is not Label.CONTRADICTED)


def piece_words(piece: Evidence) -> str:
    """One piece and what was said of it: “not supported by contexts: ...”, “no for query: ...”, or a grade and why."""
    if piece.label is None:
        reason = f": {shortened(piece.rationale)}" if piece.rationale else ""
        return f"{piece.against} {piece.value:g}{reason}"
    said = [chunk.chunk for chunk in piece.chunks if chunk.label is piece.label and piece.against == "contexts"]
    named = f"context {flat(' and '.join(said))}" if said and piece.label in _TELLING else piece.against
    reason = f" ({shortened(piece.rationale)})" if piece.rationale else ""
    said_of = f"{_WORDS[piece.label]} {named}" if named else piece.label.value
    return f"{said_of}: “{shortened(piece.text)}”{reason}"


def _value(score: Score) -> str:
    if score.value is None:
        return f"counts {', '.join(f'{count:g}' for count in score.counts)}"
    share = f" ({score.counts[0]:g} of {score.counts[1]:g})" if is_share(score) else ""
    return number(score.value) + share


def is_share(score: Score | ScoreRecord) -> bool:
    """Whether a score is so many pieces out of so many."""
    return len(score.counts) == 2 and score.counts[1] > 0 and score.value == score.counts[0] / score.counts[1]


def _is_presupposition(piece: Evidence) -> bool:
    return piece.against == "query" and piece.label not in (Label.YES, Label.NO, None)


def _counted(pieces: Sequence[Evidence]) -> list[Evidence]:
    """What a metric counts of which less is better: what is contradicted or has the trait, else what lacks support."""
    found = [piece for piece in pieces if piece.label in (Label.CONTRADICTED, Label.YES)]
    return found or [piece for piece in pieces if piece.label in (Label.NEUTRAL, Label.NOT_ENTAILED)]


#: The metrics that choose the worst samples, the first that was measured; any other where none of them was.
CHOOSERS = ("faithfulness", "answer_correctness", "claim_f1", "context_recall", "answer_relevance", "rouge.rougeL")


def chooser(run: RunRecord) -> str | None:
    """The metric by which the worst samples of a run are chosen, None where no metric gives samples a value."""
    measured = [key for key, estimate in run.estimates.items() if estimate.over == "samples" and estimate.n]
    return next((key for key in (*CHOOSERS, *measured) if key in measured), None)


def worst(samples: Iterable[SampleRecord], key: str, better: Better, count: int) -> list[SampleRecord]:
    """The `count` samples that are worst by one metric, worst first; samples without a value are left out."""
    sign = 1 if better == "higher" else -1
    valued = ((record.scores[key].value, i, record) for i, record in enumerate(samples) if key in record.scores)
    ranked = ((sign * value, i, record) for value, i, record in valued if value is not None)
    return [record for _, _, record in heapq.nsmallest(count, ranked, key=lambda each: each[:2])]


#: contradicted: by the contexts, what it cites, or a reference. unsupported: by the contexts, or what it cites.
ClaimProblem = Literal["contradicted", "unsupported"]

_ENTAILMENT = (Label.ENTAILED, Label.NEUTRAL, Label.NOT_ENTAILED, Label.CONTRADICTED)


class UnsupportedClaim(NamedTuple):
    """A claim that does not hold. piece: its verdict."""

    kind: ClaimProblem
    piece: Evidence


def unsupported_claims(record: SampleRecord) -> list[UnsupportedClaim]:
    """The claims of the response that the contexts, or what they cite, do not support or contradict; each once.

    A claim that one chunk supports and another contradicts is contradicted, as it is for faithfulness. References are
    alternatives: a claim that one contradicts is a fault unless another supports it. One that they do not mention is
    none.
    """
    pieces = [piece for evidence in record.evidence.values() for piece in evidence if _is_claim(piece)]
    right = {_claim(piece) for piece in pieces if _on_reference(piece) and piece.label is Label.ENTAILED}
    found: dict[object, UnsupportedClaim] = {}
    for fault in _of_pieces(pieces, right):
        known = found.setdefault(_claim(fault.piece), fault)
        if (known.kind, fault.kind) == ("unsupported", "contradicted"):
            found[_claim(fault.piece)] = fault
    return list(found.values())


def _of_pieces(pieces: Iterable[Evidence], right: Collection[object]) -> Iterator[UnsupportedClaim]:
    """right: the claims that a reference supports."""
    for piece in pieces:
        contradicted = _is_contradicted(piece)
        if piece.against in ("contexts", "citations") and (contradicted or piece.label is not Label.ENTAILED):
            yield UnsupportedClaim("contradicted" if contradicted else "unsupported", piece)
        elif _on_reference(piece) and contradicted and _claim(piece) not in right:
            yield UnsupportedClaim("contradicted", piece)


def unsupported_claim_words(fault: UnsupportedClaim, record: SampleRecord) -> str:
    """What is wrong in one sentence: the claim, what says otherwise, and the judge's reason."""
    said = [line for line in chunk_words(fault.piece, record) if line.startswith(Label.CONTRADICTED.value)]
    against = f"{fault.kind if fault.kind == 'contradicted' else 'not supported'} by {fault.piece.against}"
    reason = f" ({shortened(fault.piece.rationale)})" if fault.piece.rationale else ""
    return f"“{shortened(fault.piece.text)}” is {' and '.join(said) or against}{reason}."


def _is_claim(piece: Evidence) -> bool:
    return piece.field == "response" and piece.label in _ENTAILMENT


def _is_contradicted(piece: Evidence) -> bool:
    return Label.CONTRADICTED in (piece.label, *(said.label for said in piece.chunks))


def _on_reference(piece: Evidence) -> bool:
    return piece.against.startswith("references[")


def _claim(piece: Evidence) -> object:
    return piece.span, piece.text


#: How many samples are told for a gate that failed.


def failing(run: RunRecord, gates: Sequence[Gate], samples: Iterable[SampleRecord]) -> list[tuple[Gate, str]]:
    """The gates that the run fails, and for each some lines: what is wrong, and its worst samples with their evidence.

    The samples are gone through once, and not at all where every gate holds.
    """
    failed = [(gate, failure) for gate in gates if (failure := gate.failure(run.estimates))]
    found = _worst_of_each({gate.metric: _better(run, gate) for gate, _ in failed}, samples) if failed else {}
    return [
        (gate, "\n".join(map(one_line, _lines(gate, failure, run, found[gate.metric])))) for gate, failure in failed
    ]


def _better(run: RunRecord, gate: Gate) -> Better:
    return run.estimates[gate.metric].better if gate.metric in run.estimates else "higher"


def _worst_of_each(metrics: Mapping[str, Better], samples: Iterable[SampleRecord]) -> dict[str, list[SampleRecord]]:
    found: dict[str, list[SampleRecord]] = {metric: [] for metric in metrics}
    for record in samples:
        for metric, better in metrics.items():
            found[metric] = worst([*found[metric], record], metric, better, TOLD)
    return found


def _lines(gate: Gate, failure: str, run: RunRecord, records: Sequence[SampleRecord]) -> Iterator[str]:
    yield failure + _because(run, gate.metric)
    for record in records:
        query = f" “{shortened(record.sample.query, 80)}”" if record.sample.query else ""
        yield f"  {record.sample.id}{query}: {explain(record.score(gate.metric), _better(run, gate))}"


def _because(run: RunRecord, metric: str) -> str:
    """What stands behind an estimate, and why it does not stand on more."""
    estimate = run.estimates.get(metric)
    if estimate is None:
        return f": {run.left_out[metric]}" if metric in run.left_out else ": it was not measured"
    reasons = {"undefined": run.undefined.get(metric), "failed": run.failures.get(metric)}
    known = {why: reason for why, reason in reasons.items() if reason}
    missing = [f"{getattr(estimate, why)} {why}, the first because: {reason}" for why, reason in known.items()]
    within = f" {interval(estimate)}" if estimate.n else ""
    return "; ".join([f"{within}; {counted(estimate.n, 'sample')}", *missing])


def standing(estimate: Estimate) -> dict[str, float]:
    """An estimate as named numbers: value and interval where it has one, and how many samples stand behind it."""
    numbers = {name: getattr(estimate, name) for name in ("value", "low", "high", "n", "undefined", "failed")}
    return {name: number for name, number in numbers.items() if number is not None}
