"""The worst samples of a run: where a reader should look first."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from ragauge.scores import Better, RunRecord, SampleRecord

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
