"""The form of a metric: its parameters, its values, and what becomes of each kind of result."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ragauge.errors import BadParameter, UnknownName
from ragauge.metrics.base import Measure, Metric, MetricResult, metric
from ragauge.metrics.checks import bleu, chrf, rouge
from ragauge.metrics.claims import faithfulness, hallucination
from ragauge.metrics.registry import METRICS
from ragauge.needs.base import Failed, NeedOutcome, Texts, Undefined
from ragauge.needs.entailment import response_and_references
from ragauge.scores import F1Counts, Incidence, PrecisionRecall, Score, Share

TEXTS = Texts("r", ("g",))
ENDED: Mapping[str, NeedOutcome] = {"response_and_references": TEXTS}


def returning(result: MetricResult) -> Metric:
    """A metric that returns `result` whatever it is given."""

    def fixed(texts: Texts) -> MetricResult:
        return result

    parts = tuple(result) if isinstance(result, Mapping) else ()
    return metric(response_and_references, name="fixed", parts=parts)(fixed)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (0.25, Score(0.25)),
        (1, Score(1.0)),
        (Share(1, 4), Score(0.25, counts=(1, 4))),
        (Share(0, 0), Score(undefined="nothing to count")),
        (Incidence(0, 0), Score(0.0, counts=(0, 0))),
        (F1Counts(0, 0, 0), Score(0.0, counts=(0, 0, 0))),
        (F1Counts(1, 1, 1), Score(0.5, counts=(1, 1, 1))),
        (PrecisionRecall(1, 2, 1, 2), Score(0.5, counts=(1, 2, 1, 2))),
        (PrecisionRecall(1, 2, 0, 0), Score(undefined="nothing to count")),
        (PrecisionRecall(0, 2, 0, 0), Score(0.0, counts=(0, 2, 0, 0))),
        (PrecisionRecall(0, 0, 0, 3), Score(0.0, counts=(0, 0, 0, 3))),
        (PrecisionRecall(0, 0, 0, 0), Score(undefined="nothing to count")),
        (Undefined("why"), Score(undefined="why")),
        (Failed("why"), Score(failed="why")),
    ],
)
def test_each_kind_of_result_becomes_a_score(result: MetricResult, expected: Score) -> None:
    """Counts and numbers become values, reasons stay reasons, and nothing to count is never a number."""
    assert returning(result).scores(ENDED) == {"fixed": expected}


def test_a_metric_of_several_values_scores_each_by_its_part() -> None:
    """The parts of a mapping are scored under key.part, each in its own way."""
    several = returning({"one": 0.5, "two": Share(1, 2), "three": Undefined("why")})
    assert several.scores(ENDED) == {
        "fixed.one": Score(0.5),
        "fixed.two": Score(0.5, counts=(1, 2)),
        "fixed.three": Score(undefined="why"),
    }
    assert several.renamed("mine").values == ("mine.one", "mine.two", "mine.three")


@pytest.mark.parametrize(
    ("outcome", "expected"), [(Undefined("no text"), Score(undefined="no text")), (Failed("no"), Score(failed="no"))]
)
def test_a_need_that_did_not_end_well_is_not_counted(outcome: NeedOutcome, expected: Score) -> None:
    """Where a need is undefined or failed, every value of the metric is, with the need's reason."""
    ended = {"response_and_references": outcome}
    assert returning({"one": 1.0, "two": 1.0}).scores(ended) == {"fixed.one": expected, "fixed.two": expected}


def test_a_failure_outweighs_having_nothing_to_count() -> None:
    """With one need undefined and another failed the score is failed: asking again may yet define it."""
    metric = next(one for one in METRICS if len(one.needs) == 2)
    first, second = (need.name for need in metric.needs)
    scores = metric.scores({first: Undefined("u"), second: Failed("f")})
    assert {score.failed for score in scores.values()} == {"f"}


def test_a_metric_is_called_for_other_parameters() -> None:
    """Calling a metric binds parameters to a new metric; the old one keeps its own, and defaults are not written."""
    stemmed = rouge(stemmer=True, types=["rouge1"])
    assert stemmed.values == ("rouge.rouge1",)
    assert stemmed.spec == "rouge(stemmer=true,types=rouge1)"
    assert rouge.spec == "rouge"
    assert stemmed(types=rouge.defaults["types"]).spec == "rouge(stemmer=true)"
    assert stemmed(stemmer=False)(types="rouge1+rougeL").values == ("rouge.rouge1", "rouge.rougeL")
    assert bleu(weights=(0.5, 0.5)).spec == "bleu(weights=0.5+0.5)"
    assert bleu(weights="1").params == {"weights": (1.0,)}
    assert faithfulness(units="sentences").needs[0].name == "response_in_contexts(sentences)"


@pytest.mark.parametrize(
    ("one", "parameter", "value", "message"),
    [
        (rouge, "types", "rouge10", "choose from rouge1, .*rougeLsum"),
        (rouge, "types", (), "choose from"),
        (rouge, "types", "", "choose from"),
        (rouge, "stemmer", "maybe", "bool"),
        (rouge, "tokenizer", "nltk", "choose from rouge, unicode"),
        (bleu, "weights", "", "length"),
        (bleu, "weights", (), "length"),
        (bleu, "weights", (-0.1,), ">= 0"),
        (bleu, "weights", (float("nan"),), ">= 0"),
        (bleu, "smoothing", "method2", "choose from none, method1"),
        (chrf, "order", 0, ">= 1"),
        (chrf, "words", -1, "at least 0"),
        (chrf, "beta", 0, "> 0"),
        (chrf, "beta", "nan", "> 0"),
        (chrf, "beta", float("inf"), "<= 100"),
        (faithfulness, "units", "words", "choose from claims, sentences"),
    ],
)
def test_a_parameter_out_of_range_is_refused_before_the_run(
    one: Metric, parameter: str, value: object, message: str
) -> None:
    """A wrong value is refused when the metric is bound, with the metric, the parameter and what would fit."""
    with pytest.raises(BadParameter, match=rf"{one.name}\({parameter}=.*{message}"):
        one(**{parameter: value})


def test_an_unknown_parameter_is_refused_with_close_names() -> None:
    """A misspelt parameter is refused and the right one suggested."""
    with pytest.raises(UnknownName, match="unknown parameter of rouge 'type'; did you mean 'types'"):
        rouge(type="rouge1")
    with pytest.raises(UnknownName, match="unknown parameter of hallucination 'units'"):
        hallucination(units="sentences")


@pytest.mark.parametrize("one", METRICS, ids=lambda one: one.name)
def test_every_metric_says_what_it_is(one: Metric) -> None:
    """Each metric of the catalogue has a one-line summary, a scale, unique values, and parameters with defaults."""
    assert one.summary.endswith((".", ":"))
    assert one.scale[0] < one.scale[1]
    assert isinstance(one, Measure)
    assert len(set(one.values)) == len(one.values)
    assert one(**one.defaults).spec == one.spec == one.name
    assert len({need.name for need in one.needs}) == len(one.needs)
