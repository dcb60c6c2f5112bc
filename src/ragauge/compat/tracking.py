"""What trackers have in common: the numbers of a run, and people's feedback as labels."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ragauge.errors import RagaugeError
from ragauge.kinds.base import BaseQuestion
from ragauge.kinds.verdict import VerdictQuestion
from ragauge.metrics.registry import select_metrics
from ragauge.needs.base import Rounds
from ragauge.questions import Judgment
from ragauge.scores import RunRecord
from ragauge.store import label
from ragauge.types import Grade, Identity, Sample, Verdict

#: The rows of a table of claims in a tracker.
MOST_CLAIMS = 10_000


class TrackerError(RagaugeError):
    """A tracker could not be reached, or refused what it was sent."""

    def __init__(self, place: str, error: Exception | str) -> None:
        first = next(iter(str(error).splitlines()), type(error).__name__)
        super().__init__(f"{place}: {first[:300]}; check the tracker's address and that it runs")


class Feedback(NamedTuple):
    """What a person said about a trace. is_expectation: whether it is what the answer should have been."""

    trace: str
    name: str
    value: Any
    by: str
    is_expectation: bool = False


def tracked_name(key: str) -> str:
    """A key as trackers take names."""
    return re.sub(r"[^\w.:/ -]+", "_", key)


def numbers(run: RunRecord) -> dict[str, float]:
    """The numbers of a run by names that trackers take; those that do not exist are left out.

    Of each estimate: its value, `.low`, `.high`, `.n`, `.undefined` and `.failed`; and the dollars and seconds of all.
    """
    named: dict[str, float | None] = {"seconds": run.seconds, "cost": run.spent.cost, "samples": run.samples}
    for key, estimate in run.estimates.items():
        name = tracked_name(key)
        named[name] = estimate.value
        for part in ("low", "high", "n", "undefined", "failed"):
            named[f"{name}.{part}"] = getattr(estimate, part)
    return {name: float(value) for name, value in named.items() if value is not None}


def parameters(run: RunRecord) -> dict[str, str]:
    """What a run was made with: the data with its hash, the metrics, the version, and the judge of each kind."""
    judges = {
        "judge" if kind == "*" else tracked_name(f"judge.{kind}"): str(judge) for kind, judge in run.judges.items()
    }
    facts = {"ragauge": run.version, "run": run.id, "data": run.data, "data_hash": run.data_hash}
    return {**facts, "metrics": ", ".join(run.metrics), **judges}


def identities(judges: Mapping[str, Any]) -> str:
    """The names of judges, each once."""
    named = (judge if isinstance(judge, Identity) else judge.identity for judge in judges.values())
    return ", ".join(dict.fromkeys(map(str, named)))


def labels_of(samples: Iterable[Sample], feedback: Sequence[Feedback], metrics: Any) -> list[Judgment]:
    """People's feedback as labels, where it answers what a metric asks.

    Feedback named as a metric, such as "correctness", is a label of the question that the metric asks about the trace,
    if that is a single one: yes and no, or a grade. Other feedback is not.
    """
    of_trace: defaultdict[str, list[Feedback]] = defaultdict(list)
    for remark in feedback:
        of_trace[remark.trace].append(remark)
    measure_of = {key: metric for metric in select_metrics(metrics) for key in metric.values}
    labels = []
    for sample in samples:
        for remark in of_trace.get(str(sample.metadata.get("trace_id")), ()):
            if remark.name in measure_of and not remark.is_expectation:
                questions = Rounds(sample, measure_of[remark.name].needs).questions
                answer = _answer(questions[0], remark.value) if len(questions) == 1 else None
                if answer is not None:
                    labels.append(label(questions[0], answer, remark.by))
    return labels


#: Words of people -> yes or no.
_WORDS = {
    **dict.fromkeys(("yes", "true", "correct", "right", "pass", "good", "1", "1.0"), True),
    **dict.fromkeys(("no", "false", "incorrect", "wrong", "fail", "bad", "0", "0.0"), False),
}


def _answer(question: BaseQuestion, value: Any) -> Verdict | Grade | None:
    """What a person said as the answer to a question; None where it is no answer to it."""
    if question.scale:
        low, high = question.scale
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return Grade(float(value)) if is_number and low <= value <= high else None
    if not isinstance(question, VerdictQuestion):
        return None
    word = str(value).strip().casefold()
    labels = {choice.label.value: choice.label for choice in question.choices}
    if word in _WORDS:
        word = question.no_and_yes[_WORDS[word]].value
    return Verdict(labels[word]) if word in labels else None
