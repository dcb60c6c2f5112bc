"""Why a score is what it is: what decides it, the worst samples, unsupported claims, failing gates."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from math import inf

from ragauge.report.wording import (
    chunk_words,
    counted,
    deciding_quote,
    flat,
    interval,
    number,
    one_line,
    samples_words,
    shortened,
)
from ragauge.scores import Better, Estimate, Evidence, Gate, RunRecord, SampleRecord, Score, ScoreRecord
from ragauge.types import POSITIVE, Label, Sample

#: The most pieces that an explanation lists.
MAX_PIECES = 5

_VERDICT_WORDS = {
    Label.ENTAILED: "supported by",
    Label.NEUTRAL: "not supported by",
    Label.NOT_ENTAILED: "not supported by",
    Label.YES: "yes for",
    Label.NO: "no for",
    Label.RIGHT: "right by",
    Label.PARTLY: "partly right by",
    Label.WRONG: "wrong by",
    Label.UNDECIDED: "not decided by",
}

_FAULTS = frozenset({Label.CONTRADICTED, Label.YES})
_UNSUPPORTED = frozenset({Label.NEUTRAL, Label.NOT_ENTAILED})


def explain(score: Score, better: Better = "higher", sample: Sample | None = None) -> str:
    """Explain a score in words: its value and counts, and the pieces that count against the text.

        rg.explain(run.scores[0]["faithfulness"])
        '0.500 (1 of 2); not supported by contexts: “Bob sang.”'

    Args:
        score: The score, with its evidence.
        better: Which way the metric is better, as its Estimate has it. If lower is, the counted pieces are listed.
        sample: The sample, to quote what contradicts a claim; `run.scores[0].explain("faithfulness")` has it.

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
    pieces = decisive(score, raising=better == "lower", better=better)
    more = [f"and {len(pieces) - MAX_PIECES} more"] if len(pieces) > MAX_PIECES else []
    return "; ".join([value, *(piece_words(piece, sample) for piece in pieces[:MAX_PIECES]), *more])


def decisive(score: Score, raising: bool, better: Better = "higher") -> list[Evidence]:
    """The pieces that raise a score, or else those that lower it, contradicted ones first; grades do both.

    A metric for which lower is better counts contradicted pieces and traits, or else unsupported pieces. Entailments by
    the query are left out: they decide whether a claim counts, not how.
    """
    not_entailments = (Label.YES, Label.NO, None)
    pieces = [piece for piece in score.evidence if piece.against != "query" or piece.label in not_entailments]
    graded = [piece for piece in pieces if piece.value is not None]
    if graded:
        return graded
    raising_labels: frozenset[Label | None] = POSITIVE
    if better == "lower":
        has_faults = any(piece.label in _FAULTS for piece in pieces)
        raising_labels = _FAULTS if has_faults else _UNSUPPORTED
    labelled = [piece for piece in pieces if piece.label is not None and (piece.label in raising_labels) == raising]
    return sorted(labelled, key=lambda piece: piece.label is not Label.CONTRADICTED)


def piece_words(piece: Evidence, sample: Sample | None = None) -> str:
    """One piece with its verdict: “not supported by contexts: ...”, “no for query: ...”, or a grade and why.

    A contradicted piece comes before what contradicts it, which is quoted from the sample.
    """
    if piece.label is None:
        reason = f": {shortened(piece.rationale)}" if piece.rationale else ""
        return f"{piece.against} {piece.value:g}{reason}"
    reason = f" ({shortened(piece.rationale)})" if piece.rationale else ""
    chunks = [chunk for chunk in piece.chunks if chunk.label is piece.label]
    if piece.label is Label.CONTRADICTED:
        kind = "context " if piece.against == "contexts" else ""
        sources = []
        for chunk in chunks:
            quote = deciding_quote(piece, chunk, sample) if sample else ""
            sources.append(": ".join(filter(None, (f"{kind}{flat(chunk.chunk)}", quote))))
        return f"“{shortened(piece.text)}” is contradicted by {' and '.join(sources) or piece.against}{reason}"
    against = piece.against
    if piece.label is Label.ENTAILED and against == "contexts" and chunks:
        against = f"context {flat(' and '.join(chunk.chunk for chunk in chunks))}"
    verdict = f"{_VERDICT_WORDS[piece.label]} {against}" if against else piece.label.value
    return f"{verdict}: {f'“{shortened(piece.text)}”' if piece.text else '(empty)'}{reason}"


def is_share(score: Score | ScoreRecord) -> bool:
    """Whether a score is a share of counted pieces."""
    return len(score.counts) == 2 and score.counts[1] > 0 and score.value == score.counts[0] / score.counts[1]


#: The metrics that are shown first; the first of these that was measured chooses the worst samples.
HEADLINE = """faithfulness contradicted_claims correctness answer_relevance context_recall context_precision
    faithfulness(against=source) claim_recall(of=source) trust_score summary_coherence answer_correctness claim_f1
    rouge.rougeL token_f1 exact_match""".split()

#: The most metrics that are shown first.
MAX_HEADLINES = 6


def headline_metrics(run: RunRecord) -> list[str]:
    """The six metrics to show first, of those with a value, in the order of the run."""
    return headline([key for key, estimate in run.estimates.items() if estimate.n])


def compared_metrics(run: RunRecord) -> list[str]:
    """The metrics that slices are compared by: all that were named, or else the six to show first."""
    return [key for key, estimate in run.estimates.items() if estimate.n] if run.named else headline_metrics(run)


def slice_comparisons(run: RunRecord, slices: int) -> int:
    """How many differences between slices and all other samples are tested; of two slices it is the same."""
    return len(compared_metrics(run)) * (slices if slices > 2 else slices - 1)


def headline(measured: Sequence[str]) -> list[str]:
    """The six to show first of the keys of metrics, in their order."""
    ranks = {key: rank for rank, key in enumerate(HEADLINE)}
    first = sorted(measured, key=lambda key: ranks.get(key, len(HEADLINE)))[:MAX_HEADLINES]
    return [key for key in measured if key in first]


def chooser(run: RunRecord) -> str | None:
    """The metric by which the worst samples of a run are chosen: that of a failed gate, or else the usual one.

    None if no metric gives samples a value.
    """
    measured = [key for key, estimate in run.estimates.items() if estimate.over == "samples" and estimate.n]
    failed = [gate.metric for gate in run.gates if gate.failure(run)]
    return next((key for key in (*failed, *HEADLINE, *measured) if key in measured), None)


#: The scale of `preference`, where 0 is a tie.
_PREFERENCE = (-2.0, 2.0)


def worst(samples: Iterable[SampleRecord], key: str, estimate: Estimate, count: int) -> list[SampleRecord]:
    """The `count` worst samples by one metric, worst first.

    Samples without a value are left out, and so are perfect ones, and those that the other text is not preferred to. Of
    samples with equal values those with a contradicted claim come first, then those about which the judge is surest.

    estimate: that of the metric, which says which way it is better, and its scale.
    """
    better = estimate.better
    sign = 1 if better == "higher" else -1
    scale = (0.0, 0.0) if estimate.scale == _PREFERENCE else estimate.scale or (-inf, inf)
    best = max(sign * end for end in scale)

    def rank(position: int, record: SampleRecord) -> tuple[float, bool, float, int] | None:
        value = record.scores[key].value if key in record.scores else None
        if value is None or sign * value >= best:
            return None
        piece = deciding(record.score(key), better)
        contradicted = piece is not None and piece.label is Label.CONTRADICTED
        return sign * value, not contradicted, -certainty(piece), position

    ranked = ((rank(i, record), record) for i, record in enumerate(samples))
    valued = ((place, record) for place, record in ranked if place is not None)
    return [record for _, record in heapq.nsmallest(count, valued, key=lambda ranking: ranking[0])]


def deciding(score: Score, better: Better) -> Evidence | None:
    """The piece that counts most against the text: a contradicted piece, else that about which the judge is surest."""
    pieces = decisive(score, raising=better == "lower", better=better)
    graded = [piece for piece in pieces if piece.value is not None]
    if graded:
        return min(graded, key=lambda piece: (piece.value or 0) * (1 if better == "higher" else -1))
    return min(pieces, key=lambda piece: (piece.label is not Label.CONTRADICTED, -certainty(piece)), default=None)


def certainty(piece: Evidence | None) -> float:
    """The probability of the label of a piece; 0 where the judge gave none."""
    if piece is None or piece.probability is None:
        return 0.0
    return piece.probability if piece.label in POSITIVE else 1 - piece.probability


#: The probabilities between which a judge is unsure: a calibrated one is right in fewer than four of five there.
UNSURE_PROBABILITIES = (0.2, 0.8)


def certainty_words(samples: Iterable[SampleRecord], key: str) -> str:
    """How sure the judge was of its verdicts behind one metric; empty where it gave no probabilities."""
    pieces = (piece for record in samples if key in record.scores for piece in record.score(key).evidence)
    probabilities = [piece.probability for piece in pieces if piece.label and piece.probability is not None]
    if not probabilities:
        return ""
    low, high = UNSURE_PROBABILITIES
    unsure = sum(low < probability < high for probability in probabilities)
    between = f"probability between {low:g} and {high:g}"
    return f"The judge was unsure of {unsure} of the {counted(len(probabilities), 'verdict')} behind {key} ({between})."


_ENTAILMENT = (Label.ENTAILED, Label.NEUTRAL, Label.NOT_ENTAILED, Label.CONTRADICTED)


def unsupported_claims(record: SampleRecord) -> list[tuple[str, Evidence]]:
    """The claims of the response, once each, that contexts, cited chunks, source or calls contradict or do not support.

    A claim that one chunk contradicts is contradicted. References are alternatives: a claim that one contradicts counts
    unless another supports it, and a claim that they do not mention does not count.

    Returns "contradicted" or "unsupported", with the evidence.
    """
    evidence = (piece for pieces in record.evidence.values() for piece in pieces)
    claims = [piece for piece in evidence if piece.field == "response" and piece.label in _ENTAILMENT]
    by_reference = [piece for piece in claims if piece.against.startswith("references[")]
    right = {(piece.span, piece.text) for piece in by_reference if piece.label is Label.ENTAILED}
    problems: dict[object, tuple[str, Evidence]] = {}
    for piece in claims:
        claim = piece.span, piece.text
        is_contradicted = Label.CONTRADICTED in (piece.label, *(chunk.label for chunk in piece.chunks))
        is_grounding = piece.against in ("contexts", "citations", "source", "calls")
        if is_contradicted and (is_grounding or (piece in by_reference and claim not in right)):
            if claim not in problems or problems[claim][0] == "unsupported":
                problems[claim] = "contradicted", piece
        elif is_grounding and piece.label is not Label.ENTAILED:
            problems.setdefault(claim, ("unsupported", piece))
    return list(problems.values())


def unsupported_claim_words(kind: str, piece: Evidence, record: SampleRecord) -> str:
    """The problem in one sentence: the claim, what contradicts it, and the judge's rationale."""
    by_chunks = [line for line in chunk_words(piece, record.sample) if line.startswith(Label.CONTRADICTED.value)]
    verdict = "contradicted" if kind == "contradicted" else "not supported"
    problem = " and ".join(by_chunks) or f"{verdict} by {piece.against}"
    reason = f" ({shortened(piece.rationale)})" if piece.rationale else ""
    return f"“{shortened(piece.text)}” is {problem}{reason}."


def failing(run: RunRecord, gates: Sequence[Gate], samples: Iterable[SampleRecord]) -> list[tuple[Gate, str]]:
    """The gates that the run fails, with their worst samples and evidence. No sample is read if it passes all gates."""
    failed = {gate: failure for gate in gates if (failure := gate.failure(run))}
    if not failed:
        return []
    worst_of: dict[Gate, list[SampleRecord]] = {gate: [] for gate in failed if gate.metric in run.estimates}
    for record in samples:
        for gate, records in worst_of.items():
            if gate.covers(record.sample, run):
                worst_of[gate] = worst([*records, record], gate.metric, run.estimates[gate.metric], MAX_PIECES)
    texts = []
    for gate, failure in failed.items():
        lines = [failure + _because(run, gate)]
        for record in worst_of.get(gate, []):
            query = f" “{shortened(record.sample.query, 80)}”" if record.sample.query else ""
            words = explain(record.score(gate.metric), run.estimates[gate.metric].better, record.sample)
            lines.append(f"  {record.sample.id}{query}: {words}")
        texts.append((gate, "\n".join(map(one_line, lines))))
    return texts


def _because(run: RunRecord, gate: Gate) -> str:
    """The interval and n of the estimate of a gate, and why samples are missing from it."""
    metric, estimate = gate.metric, gate.estimate(run)
    if estimate is None and gate.column:
        return ""
    if estimate is None:
        return f": {run.left_out[metric]}" if metric in run.left_out else ": it was not measured"
    interval_words = f" {interval(estimate)}" if estimate.n else ""
    parts = [interval_words, samples_words(estimate)]
    if estimate.undefined and (reason := run.undefined.get(metric)):
        parts.append(f"{estimate.undefined} undefined{'' if gate.column else f': {reason}'}")
    if estimate.failed and (reason := run.failures.get(metric)):
        parts.append(f"{estimate.failed} failed, the first because: {reason}")
    return "; ".join(parts)


def estimate_numbers(estimate: Estimate) -> dict[str, float]:
    """An estimate as named numbers: value and interval if it has them, n, undefined and failed."""
    fields = {name: getattr(estimate, name) for name in ("value", "low", "high", "n", "undefined", "failed")}
    return {name: value for name, value in fields.items() if value is not None}
