"""Where the claims of references are lost on the way to the response: the retriever, or what comes after it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import groupby

from ragauge.report.sections import Section
from ragauge.report.wording import counted
from ragauge.scores import Evidence, RunRecord, SampleRecord
from ragauge.statistics.intervals import aggregate_interval
from ragauge.types import Label

#: The needs whose evidence tells it, and the metrics that have it.
_IN_CONTEXTS, _IN_RESPONSE = "reference_claims_in_contexts", "reference_claims_in_response"
_METRICS = ({"context_utilization"}, {"claim_recall", "claim_recall@contexts"})

#: What becomes of a claim; the last two are contradicted, once where it was retrieved and once where it was not.
_FATES = ("in the response", "not retrieved", "retrieved and not used", "contradicted", "contradicted, not retrieved")
_SAID, _NOT_RETRIEVED, _UNUSED, _CONTRADICTED, _CONTRADICTED_UNRETRIEVED = range(len(_FATES))

#: The rows of the table, each with the fates that it counts.
_ROWS = {
    "not retrieved": (_NOT_RETRIEVED,),
    "retrieved and not used": (_UNUSED,),
    "contradicted": (_CONTRADICTED, _CONTRADICTED_UNRETRIEVED),
    "in the response": (_SAID,),
    "with perfect retrieval at most": (_SAID, _NOT_RETRIEVED, _CONTRADICTED_UNRETRIEVED),
}

_TITLE = "Where reference claims are lost"


def loss_section(run: RunRecord, records: Iterable[SampleRecord]) -> Section | None:
    """What became of the references' claims; None where the run did not look for them in contexts and response.

    Of several references the one counts of which the response says most. A claim in the response counts as such,
    retrieved or not. Perfect retrieval could add what was not retrieved, and nothing else. Intervals are over samples,
    or over groups.
    """
    if not any(metrics <= run.estimates.keys() for metrics in _METRICS):
        return None
    rows, groups = list[tuple[int, ...]](), list[str | None]()
    for record in records:
        if any(row := _counts(record)):
            rows.append(row)
            groups.append(record.sample.group)
    if not rows:
        return None
    sums = [sum(column) for column in zip(*rows, strict=True)]
    shown = []
    for name, fates in _ROWS.items():
        interval = aggregate_interval(rows, partial(_share, fates), clusters=groups if any(groups) else None)
        shown.append((name, sum(sums[fate] for fate in fates), interval.value, interval.low, interval.high))
    claims = counted(sum(sums), "claim")
    about = f"Of {claims}. The first row is lost by the retriever, the next two by what comes after it."
    return Section(_TITLE, about, ("claims", "number", "share", "low", "high"), tuple(shown))


def _share(fates: Sequence[int], sums: Sequence[float]) -> float | None:
    total = sum(sums)
    return sum(sums[fate] for fate in fates) / total if total else None


def _counts(record: SampleRecord) -> tuple[int, ...]:
    """How many claims of the reference had each fate."""
    by_need = [
        [list(claims) for _, claims in groupby(record.evidence.get(need, ()), key=lambda piece: piece.field)]
        for need in (_IN_CONTEXTS, _IN_RESPONSE)
    ]
    counted = [_fates(in_contexts, in_response) for in_contexts, in_response in zip(*by_need, strict=False)]
    return max(counted, key=lambda row: row[_SAID] / max(1, sum(row)), default=(0,) * len(_FATES))


def _fates(in_contexts: Sequence[Evidence], in_response: Sequence[Evidence]) -> tuple[int, ...]:
    row = [0] * len(_FATES)
    for context, response in zip(in_contexts, in_response, strict=False):
        if response.entailed:
            fate = _SAID
        elif response.label is Label.CONTRADICTED:
            fate = _CONTRADICTED if context.entailed else _CONTRADICTED_UNRETRIEVED
        else:
            fate = _UNUSED if context.entailed else _NOT_RETRIEVED
        row[fate] += 1
    return tuple(row)
