"""What a run is asked to do, settled before any judge is: which metrics can be measured, and which cannot and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ragauge.errors import MissingField, UnanswerableNeed
from ragauge.judges.bench import Bench
from ragauge.metrics.catalogue import METRICS, chosen
from ragauge.metrics.metric import Measure
from ragauge.nouns.samples import Sample
from ragauge.waves import missing_fields, unanswerable

MetricsLike = str | Measure | Iterable[str | Measure] | None

#: What each field is called for people who have to add it to their data.
_WANTED = {"contexts": "the retrieved chunks", "references": "correct answers", "source": "the text that was summarised"}


class Settings:
    """The metrics of a run. Those asked for by name must all be measurable; of the default set, those that are."""

    def __init__(self, metrics: MetricsLike, bench: Bench, samples: Sequence[Sample]) -> None:
        """samples: the first of the data set, enough to see which fields it has.

        Raises MissingField or UnanswerableNeed for a metric asked for by name.
        """
        self.by_name = metrics is not None
        self.left_out: dict[str, str] = {}
        self._bench = bench
        self.metrics: tuple[Measure, ...] = METRICS if metrics is None else chosen(metrics)
        self._keep(lambda metric: _missing(metric, samples), MissingField)
        self.check_judges()
        if not self.metrics:
            raise MissingField(f"no metric can be measured on this data: {'; '.join(self.left_out.values())}")

    def check_judges(self) -> bool:
        """Leave out what the judges cannot answer, and say whether anything was.

        A function shows only by its first reply that it is two-way, so this is asked again while the run goes on.
        Raises UnanswerableNeed for a metric asked for by name.
        """
        return self._keep(lambda metric: _unanswerable(metric, self._bench), UnanswerableNeed)

    def _keep(self, fault_of: object, error: type[Exception]) -> bool:
        faults = {metric.key: fault_of(metric) for metric in self.metrics}  # type: ignore[operator]
        faults = {key: fault for key, fault in faults.items() if fault}
        if faults and self.by_name:
            raise error("; ".join(f"{key}: {fault}" for key, fault in faults.items()))
        self.left_out.update(faults)
        self.metrics = tuple(metric for metric in self.metrics if metric.key not in faults)
        return bool(faults)


def _missing(metric: Measure, samples: Sequence[Sample]) -> str | None:
    fields = missing_fields(metric.needs, samples)
    if not fields:
        return None
    named = " and ".join(f"{field!r}" + (f" ({_WANTED[field]})" if field in _WANTED else "") for field in fields)
    return f"no sample has {named}; name the column with --map {fields[0]}=COLUMN if it is there under another name"


def _unanswerable(metric: Measure, bench: Bench) -> str | None:
    topics = unanswerable(metric.needs, bench.can)
    if not topics:
        return None
    names = sorted({str(judge.identity) for judge in bench.judges.values()})
    return f"{' and '.join(names)} cannot answer {', '.join(topics)}; choose a judge that can"
