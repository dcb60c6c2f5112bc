"""How far the judge's own error can move an estimate, by people's labels of questions that the judge answered too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import msgspec

from ragauge.metrics.base import DatasetMetric, Measure
from ragauge.questions import Judgment, Question, judgment_key
from ragauge.report.wording import counted
from ragauge.scores import Evidence, JudgeError, RunRecord, SampleRecord
from ragauge.statistics.agreement import corrected_share
from ragauge.statistics.intervals import Interval, mean_interval
from ragauge.store import Store
from ragauge.types import POSITIVE, Answer, Failure, Identity, Label, Verdict

#: Topics of which a metric can be a share of positive verdicts.
_VERDICTS = ("entail:support", "relevant", "classify:")

#: How many samples show whether a metric is the share of its verdicts.
_CHECKED = 1000

#: Up to this share of answers from people, an estimate is taken to be the judge's.
_FEW = 0.05


class ErrorRates(NamedTuple):
    """How often a judge's verdict is positive, and negative, where people's labels are; labels: how many there are."""

    sensitivity: Interval
    specificity: Interval
    labels: int


def stored_judgments(
    questions: Iterable[Question], judge_of: Callable[[str], Identity | None], store: Store
) -> dict[Question, Judgment]:
    """The judgments in a store of those of the questions that judges were asked. judge_of: a topic -> its judge."""
    judges = {question: judge_of(question.topic) for question in questions}
    keys = {judgment_key(question, judge): question for question, judge in judges.items() if judge}
    return {keys[key]: judgment for key, judgment in store.find(list(keys)).items()}


def state_judge_errors(
    record: RunRecord, metrics: Iterable[Measure], labels: Mapping[Question, Answer | Failure], store: Store
) -> None:
    """Say in the estimates of a run how far the judge's error can move them, or in its notes why labels do not show it.

    It is stated of metrics whose value on each sample is the share of positive verdicts, such as faithfulness.

    Args:
        record: of a run whose samples are in the store.
        metrics: of the run.
        labels: people's answers.
        store: with the judge's answers to the same questions.
    """
    if record.labelled > _FEW * (record.asked + record.reused):
        return
    topics = {metric.values[0]: topic for metric in metrics if (topic := _topic_of(metric))}
    rates = {topic: _error_rates(topic, labels, record.judge_of(topic), store) for topic in {*topics.values()}}
    stated = {key for key, topic in topics.items() if rates[topic].labels and record.estimates[key].n}
    for sample in store.samples(record.id, 0, _CHECKED) if stated else ():
        stated = {key for key in stated if _is_share_of_verdicts(sample, key)}
    for key in sorted(stated):
        estimate, (sensitivity, specificity, count) = record.estimates[key], rates[topics[key]]
        share = Interval(estimate.value, estimate.low, estimate.high, estimate.method)
        value, low, high, _ = msgspec.structs.astuple(corrected_share(share, sensitivity, specificity))
        if value is not None:
            error = JudgeError(value, low, high, sensitivity.value or 0.0, specificity.value or 0.0, count)
            record.estimates[key] = msgspec.structs.replace(estimate, judge_error=error)
        else:
            record.notes += (
                f"How far the judge's error can move {key} is not known: {counted(count, 'label')} of its verdicts do "
                "not show that it is better than guessing, or do not fit those given here; have it judge more texts "
                "like these, and label with `ragauge label`.",
            )


def _topic_of(metric: Measure) -> str:
    """The topic of the only verdicts that a metric over samples asks for; "" for any other metric."""
    asked = {topic for need in metric.needs for topic in need.asks if topic != "decompose"}
    topic = asked.pop() if len(asked) == 1 else ""
    return "" if isinstance(metric, DatasetMetric) or not topic.startswith(_VERDICTS) else topic


def _error_rates(
    topic: str, labels: Mapping[Question, Answer | Failure], judge: Identity | None, store: Store
) -> ErrorRates:
    """The error rates of a judge on the labelled questions of a topic; questions on one text are clusters."""
    asked = [question for question in labels if question.topic == topic or topic.startswith(f"{question.topic}:")]
    said: dict[bool, list[tuple[float, str]]] = {True: [], False: []}
    for question, judgment in stored_judgments(asked, lambda _: judge, store).items():
        label, answer = labels[question], judgment.answer
        if isinstance(label, Verdict) and isinstance(answer, Verdict):
            positive = _is_positive(label)
            said[positive].append((float(_is_positive(answer) == positive), question.subject))
    sensitivity, specificity = (
        mean_interval([right for right, _ in agreed], clusters=[text for _, text in agreed]) for agreed in said.values()
    )
    return ErrorRates(sensitivity, specificity, sum(map(len, said.values())))


def _is_share_of_verdicts(sample: SampleRecord, key: str) -> bool:
    """Whether a score, if it has a value, is the share of positive verdicts, all of them a judge's."""
    score = sample.score(key)
    asked = [piece for piece in score.evidence if piece.judgment and piece.label]
    if score.value is None:
        return True
    positive = sum(map(_is_positive, asked))
    return len(asked) == len(score.evidence) > 0 and abs(score.value - positive / len(asked)) < 1e-9


def _is_positive(verdict: Verdict | Evidence) -> bool:
    """Whether a verdict is positive, and no chunk contradicts it."""
    return verdict.label in POSITIVE and Label.CONTRADICTED not in [chunk.label for chunk in verdict.chunks]
