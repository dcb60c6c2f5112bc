"""Why a score is what it is: what decides it, the worst samples, unsupported claims, failing gates."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from ragauge.report.wording import GOOD, chunk_words, counted, flat, interval, number, one_line, shortened
from ragauge.scores import Better, Estimate, Evidence, Gate, RunRecord, SampleRecord, Score, ScoreRecord
from ragauge.types import Label

#: The most pieces that an explanation lists.
MAX_PIECES = 5

_WORDS = {
    Label.ENTAILED: "supported by",
    Label.NEUTRAL: "not supported by",
    Label.NOT_ENTAILED: "not supported by",
    Label.CONTRADICTED: "contradicted by",
    Label.YES: "yes for",
    Label.NO: "no for",
}

_FAULTS = frozenset({Label.CONTRADICTED, Label.YES})
_UNSUPPORTED = frozenset({Label.NEUTRAL, Label.NOT_ENTAILED})

#: Labels that a single chunk can cause, so that the chunk is named.
_DECIDING = (Label.ENTAILED, Label.CONTRADICTED)


def explain(score: Score, better: Better = "higher") -> str:
    """Explain a score in words: its value and counts, and the pieces that count against the text.

        rg.explain(run.scores[0]["faithfulness"])
        '0.500 (1 of 2); not supported by contexts: “Bob sang.”'

    Args:
        score: The score, with its evidence.
        better: Which way the metric is better, as its Estimate has it. If lower is, the counted pieces are listed.

    Returns:
        One line. It lists at most five pieces, grades with their rationale. A score without a value gives the reason,
        and the contribution of a sample to a metric over the data set gives its counts.
    """
    if score.undefined or score.failed:
        return flat(f"undefined: {score.undefined}" if score.undefined else f"failed: {score.failed}")
    if score.value is None:
        value = f"counts {', '.join(f'{count:g}' for count in score.counts)}"
    else:
        value = number(score.value) + (f" ({score.counts[0]:g} of {score.counts[1]:g})" if is_share(score) else "")
    return "; ".join([value, *pieces_words(decisive(score, raising=better == "lower", better=better))])


def pieces_words(pieces: Sequence[Evidence]) -> list[str]:
    """The first pieces in words, and how many more there are."""
    more = [f"and {len(pieces) - MAX_PIECES} more"] if len(pieces) > MAX_PIECES else []
    return [*map(piece_words, pieces[:MAX_PIECES]), *more]


def decisive(score: Score, raising: bool, better: Better = "higher") -> list[Evidence]:
    """The pieces that raise a score, or else those that lower it, contradicted ones first; grades do both.

    A metric of which lower is better counts pieces that are contradicted or have the trait, or else unsupported ones.
    Entailments by the query are left out: they decide whether a claim counts, not how.
    """
    verdicts = (Label.YES, Label.NO, None)
    pieces = [piece for piece in score.evidence if piece.against != "query" or piece.label in verdicts]
    graded = [piece for piece in pieces if piece.value is not None]
    if graded:
        return graded
    counted: frozenset[Label | None] = GOOD
    if better == "lower":
        faults = (_FAULTS, _UNSUPPORTED)
        counted = next((labels for labels in faults if any(piece.label in labels for piece in pieces)), _UNSUPPORTED)
    labelled = [piece for piece in pieces if piece.label is not None and (piece.label in counted) == raising]
    return sorted(labelled, key=lambda piece: piece.label is not Label.CONTRADICTED)


def piece_words(piece: Evidence) -> str:
    """One piece with its verdict: “not supported by contexts: ...”, “no for query: ...”, or a grade and why."""
    if piece.label is None:
        reason = f": {shortened(piece.rationale)}" if piece.rationale else ""
        return f"{piece.against} {piece.value:g}{reason}"
    chunks = [chunk.chunk for chunk in piece.chunks if chunk.label is piece.label and piece.against == "contexts"]
    named = f"context {flat(' and '.join(chunks))}" if chunks and piece.label in _DECIDING else piece.against
    reason = f" ({shortened(piece.rationale)})" if piece.rationale else ""
    verdict = f"{_WORDS[piece.label]} {named}" if named else piece.label.value
    return f"{verdict}: “{shortened(piece.text)}”{reason}"


def is_share(score: Score | ScoreRecord) -> bool:
    """Whether a score is a share of counted pieces."""
    return len(score.counts) == 2 and score.counts[1] > 0 and score.value == score.counts[0] / score.counts[1]


#: The metrics that choose the worst samples: the first of these that was measured, else any other.
CHOOSERS = ("faithfulness", "answer_correctness", "claim_f1", "context_recall", "answer_relevance", "rouge.rougeL")


def chooser(run: RunRecord) -> str | None:
    """The metric by which the worst samples of a run are chosen; None if no metric gives samples a value."""
    measured = [key for key, estimate in run.estimates.items() if estimate.over == "samples" and estimate.n]
    return next((key for key in (*CHOOSERS, *measured) if key in measured), None)


def worst(samples: Iterable[SampleRecord], key: str, better: Better, count: int) -> list[SampleRecord]:
    """The `count` worst samples by one metric, worst first; samples without a value are left out."""
    sign = 1 if better == "higher" else -1
    valued = ((record.scores[key].value, i, record) for i, record in enumerate(samples) if key in record.scores)
    ranked = ((sign * value, i, record) for value, i, record in valued if value is not None)
    return [record for _, _, record in heapq.nsmallest(count, ranked, key=lambda each: each[:2])]


#: contradicted: by the contexts, what it cites, or a reference. unsupported: by the contexts, or what it cites.
ClaimProblem = Literal["contradicted", "unsupported"]

_ENTAILMENT = (Label.ENTAILED, Label.NEUTRAL, Label.NOT_ENTAILED, Label.CONTRADICTED)


class UnsupportedClaim(NamedTuple):
    """A claim that is contradicted or not supported. piece: its evidence."""

    kind: ClaimProblem
    piece: Evidence


def unsupported_claims(record: SampleRecord) -> list[UnsupportedClaim]:
    """The claims of the response that the contexts or the cited chunks contradict or do not support; each once.

    A claim that one chunk supports and another contradicts is contradicted, as for faithfulness. References are
    alternatives: a claim that one reference contradicts counts unless another supports it, and one that they do not
    mention does not count.
    """
    evidence = (piece for pieces in record.evidence.values() for piece in pieces)
    claims = [piece for piece in evidence if piece.field == "response" and piece.label in _ENTAILMENT]
    right = {_claim(piece) for piece in claims if _on_reference(piece) and piece.label is Label.ENTAILED}
    found: dict[object, UnsupportedClaim] = {}
    for piece in claims:
        contradicted = Label.CONTRADICTED in (piece.label, *(chunk.label for chunk in piece.chunks))
        given = piece.against in ("contexts", "citations")
        if contradicted and (given or (_on_reference(piece) and _claim(piece) not in right)):
            if (known := found.get(_claim(piece))) is None or known.kind == "unsupported":
                found[_claim(piece)] = UnsupportedClaim("contradicted", piece)
        elif given and piece.label is not Label.ENTAILED:
            found.setdefault(_claim(piece), UnsupportedClaim("unsupported", piece))
    return list(found.values())


def unsupported_claim_words(problem: UnsupportedClaim, record: SampleRecord) -> str:
    """The problem in one sentence: the claim, what contradicts it, and the judge's rationale."""
    by = [line for line in chunk_words(problem.piece, record) if line.startswith(Label.CONTRADICTED.value)]
    against = f"{problem.kind if problem.kind == 'contradicted' else 'not supported'} by {problem.piece.against}"
    reason = f" ({shortened(problem.piece.rationale)})" if problem.piece.rationale else ""
    return f"“{shortened(problem.piece.text)}” is {' and '.join(by) or against}{reason}."


def _on_reference(piece: Evidence) -> bool:
    return piece.against.startswith("references[")


def _claim(piece: Evidence) -> object:
    return piece.span, piece.text


def failing(run: RunRecord, gates: Sequence[Gate], samples: Iterable[SampleRecord]) -> list[tuple[Gate, str]]:
    """The gates that the run fails, each with lines on what is wrong and its worst samples with their evidence.

    The samples are read once, and not at all if every gate is met.
    """
    failed = [(gate, failure) for gate in gates if (failure := gate.failure(run.estimates))]
    better = {gate.metric: _better(run, gate.metric) for gate, _ in failed}
    worst_of: dict[str, list[SampleRecord]] = {metric: [] for metric in better}
    for record in samples if failed else ():
        for metric, records in worst_of.items():
            worst_of[metric] = worst([*records, record], metric, better[metric], MAX_PIECES)
    texts = []
    for gate, failure in failed:
        lines = [failure + _because(run, gate.metric)]
        for record in worst_of[gate.metric]:
            query = f" “{shortened(record.sample.query, 80)}”" if record.sample.query else ""
            lines.append(f"  {record.sample.id}{query}: {explain(record.score(gate.metric), better[gate.metric])}")
        texts.append((gate, "\n".join(map(one_line, lines))))
    return texts


def _better(run: RunRecord, metric: str) -> Better:
    return run.estimates[metric].better if metric in run.estimates else "higher"


def _because(run: RunRecord, metric: str) -> str:
    """The interval and n of an estimate, and why samples are missing from it."""
    estimate = run.estimates.get(metric)
    if estimate is None:
        return f": {run.left_out[metric]}" if metric in run.left_out else ": it was not measured"
    reasons = {"undefined": run.undefined.get(metric), "failed": run.failures.get(metric)}
    known = {why: reason for why, reason in reasons.items() if reason}
    missing = [f"{getattr(estimate, why)} {why}, the first because: {reason}" for why, reason in known.items()]
    within = f" {interval(estimate)}" if estimate.n else ""
    return "; ".join([f"{within}; {counted(estimate.n, 'sample')}", *missing])


def estimate_numbers(estimate: Estimate) -> dict[str, float]:
    """An estimate as named numbers: value and interval if it has them, n, undefined and failed."""
    numbers = {name: getattr(estimate, name) for name in ("value", "low", "high", "n", "undefined", "failed")}
    return {name: number for name, number in numbers.items() if number is not None}
