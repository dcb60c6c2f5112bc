"""What makes two runs less than comparable, which a reader must know first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ragauge.metrics.base import Measure
from ragauge.questions import KINDS
from ragauge.report.wording import counted, shortened
from ragauge.scores import RunRecord
from ragauge.types import Identity


def cautions(a: RunRecord, b: RunRecord, measures: Sequence[Measure | None]) -> Iterator[str]:
    """One sentence or two for each reason. measures: what is compared, None for a metric of one's own."""
    if a.id == b.id:
        yield "A and B are the same run."
    yield from _judges(a, b, _topics(measures))
    if a.labelled or b.labelled:
        yield f"People answered {counted(a.labelled, 'question')} of A and {b.labelled} of B, judges the others."
    if a.version != b.version:
        yield f"A was made by ragauge {a.version} and B by {b.version}, which may measure otherwise."
    for name, run in (("A", a), ("B", b)):
        if run.status != "finished":
            yield f"{name} is {run.status}: only its first {counted(run.samples, 'sample')} are compared."


def _topics(measures: Sequence[Measure | None]) -> list[str]:
    """What judges were asked for the metrics; anything for a metric of one's own."""
    if None in measures:
        return list(KINDS)
    return sorted({topic for one in measures if one for need in one.needs for topic in need.asks})


def _judges(a: RunRecord, b: RunRecord, topics: Sequence[str]) -> Iterator[str]:
    """A sentence for each pair of judges that answered the same topics."""
    kinds: dict[tuple[Identity | None, Identity | None], dict[str, None]] = {}
    for topic in topics:
        pair = _judge(a.judges, topic), _judge(b.judges, topic)
        kinds.setdefault(pair, {})[topic.partition(":")[0]] = None
    for (one, other), asked in kinds.items():
        if one != other:
            of_kinds = f" ({', '.join(asked)})" if len(kinds) > 1 else ""
            said = " and ".join(_told_apart(one, other))
            yield f"Different judges{of_kinds}: {said}. What differs may be the judges, not the systems."


def _judge(judges: Mapping[str, Identity], topic: str) -> Identity | None:
    """Who answered a topic; see `Bench`."""
    keys = (topic, topic.partition(":")[0], "*")
    return next((judges[key] for key in keys if key in judges), None)


def _told_apart(one: Identity | None, other: Identity | None) -> tuple[str, str]:
    """The names of two judges, of one name with the settings that differ."""
    if one is None or other is None or one.name != other.name:
        return str(one or "nobody"), str(other or "nobody")
    return _settings(one, other), _settings(other, one)


def _settings(judge: Identity, other: Identity) -> str:
    own = [f"{key}={shortened(value, 40)}" for key, value in judge.settings if (key, value) not in other.settings]
    return f"{judge} with {', '.join(own) or 'no more'}"
