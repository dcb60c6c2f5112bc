from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragauge as rg
from ragauge.metrics.registry import CATALOGUE
from ragauge.report.document import CUTS, PATTERNS, Condition, Pattern, patterns_of, signs_of
from ragauge.scores import SampleRecord, ScoreRecord
from ragauge.types import Chunk, Sample

SIGNALS = sorted({signal for pattern in PATTERNS for one in (*pattern.when, *pattern.unless) for signal in one.signals})


def shown(**signals: float) -> list[str]:
    """The names of the patterns that these signals match; `at` stands for "@", `_in_` for ".", in their names."""
    return [pattern.name for pattern in PATTERNS if pattern.shows(signals)]


@pytest.mark.parametrize(
    ("signals", "names"),
    [
        ({"hallucination": 0.2}, ["contradicted"]),
        ({"hallucination": 0.0}, []),
        ({"context_recall": 0.4}, ["missed"]),
        ({"context_recall": 1.0, "context_utilization": 0.0, "refused": 0}, ["ignored"]),
        ({"context_recall": 1.0, "claim_recall": 0.0}, ["ignored"]),
        ({"context_recall": 1.0, "context_utilization": 0.0, "refused": 1}, ["refused"]),
        ({"faithfulness": 0.5, "context_relevance": 1.0}, ["unsupported"]),
        ({"faithfulness": 0.5}, ["unexplained"]),
        ({"faithfulness": 0.5, "context_relevance": 0.2}, ["ungrounded"]),
        ({"faithfulness": 1.0, "context_relevance": 0.2}, ["noisy"]),
        ({"faithfulness": 1.0, "context_relevance": 1.0}, []),
        ({"answer_relevance": 0.0}, ["irrelevant"]),
        ({"answer_relevance": 0.0, "refused": 1}, []),
        ({"refused": 1, "answerable": 1}, ["refused"]),
        ({"refused": 1, "answerable": 0}, []),
        ({"refused": 0, "answerable": 0}, ["answered"]),
        ({"citation_precision": 0.5}, ["miscited"]),
        ({"bias": 0.5, "toxicity": 0.0}, ["biased"]),
        ({"toxicity": 0.5}, ["toxic"]),
        ({}, []),
    ],
)
def test_each_pattern_has_its_signals(signals: dict[str, float], names: list[str]) -> None:
    """The four combinations of chunk precision and faithfulness, and every other cause, are distinguished."""
    assert shown(**signals) == names


def test_the_first_available_signal_counts() -> None:
    """A condition uses the first of its signals that the sample has, and does not hold if it has none."""
    condition = Condition("below", ("context_recall", "faithfulness"))
    assert condition.holds({"context_recall": 0.0, "faithfulness": 1.0})
    assert not condition.holds({"context_recall": 1.0, "faithfulness": 0.0})
    assert condition.holds({"faithfulness": 0.0})
    assert not condition.holds({})


@given(st.dictionaries(st.sampled_from(SIGNALS), st.floats(0, 1)), st.sampled_from(SIGNALS))
def test_levels_are_complementary(signals: dict[str, float], signal: str) -> None:
    """Exactly one of "below" and "at least" holds for a signal; "above" is "at least" without the cut itself."""
    below, at_least, above = (Condition(level, (signal,)).holds(signals) for level in ("below", "at_least", "above"))
    assert below + at_least == (signal in signals)
    assert above == (at_least and signals[signal] != CUTS[signal])


@given(st.dictionaries(st.sampled_from(SIGNALS), st.floats(0, 1)))
def test_some_patterns_exclude_each_other(signals: dict[str, float]) -> None:
    """An answer is refused or not, grounded or not: such patterns never match together."""
    names = set(shown(**signals))
    for excluding in (
        {"refused", "answered"},
        {"unsupported", "ungrounded"},
        {"unexplained", "ungrounded"},
        {"unexplained", "unsupported"},
        {"noisy", "ungrounded"},
        {"ignored", "missed"},
    ):
        assert not excluding <= names


def test_signals_are_metrics_or_signs() -> None:
    """Every signal has a cut, and is a value of a metric of the catalogue, or a sign."""
    values = {value for metric in CATALOGUE for value in metric.values}
    assert set(SIGNALS) == set(CUTS)
    assert set(SIGNALS) - values == {"refused", "answerable"}
    assert len({pattern.name for pattern in PATTERNS}) == len(PATTERNS)
    assert all(isinstance(pattern, Pattern) and pattern.advice.endswith(".") for pattern in PATTERNS)


def test_the_documentation_lists_the_patterns() -> None:
    """The table in docs/report.md has every pattern in its order."""
    text = (Path(__file__).parents[2] / "docs/report.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1].strip() for line in text.split("| pattern |")[1].split("\n\n")[0].splitlines()[2:]]
    assert rows == [pattern.title for pattern in PATTERNS]


def _signs(sample: Sample, **scores: ScoreRecord) -> dict[str, float]:
    return signs_of(SampleRecord(sample, scores))


def test_signs() -> None:
    """A refusal is detected by the metric if it was measured, else by rule; answerable comes from the data alone."""
    refusing = Sample("1", response="I don't know.")
    assert _signs(refusing) == {"refused": 1}
    assert _signs(refusing, refusal=ScoreRecord(0.0)) == {"refused": 0}
    assert _signs(refusing, refusal=ScoreRecord(failed="down")) == {"refused": 1}
    assert _signs(Sample("1", response="Six.", answerable=False)) == {"refused": 0, "answerable": 0}
    assert _signs(Sample("1", response="Six.", answerable=True)) == {"refused": 0, "answerable": 1}
    assert _signs(Sample("1")) == {}
    assert _signs(Sample("1", response=" "), refusal=ScoreRecord(0.0)) == {}


@pytest.mark.parametrize(("labels", "answerable"), [(([0], [1]), 1), (([0], [0]), 0), (([0], None), None)])
def test_gold_labels_of_contexts_decide_answerable(labels: tuple[list[int] | None, ...], answerable: int) -> None:
    """If every context says which gold claims it contains, the sample is answerable if one contains any."""
    chunks = tuple(Chunk("a", metadata={} if found is None else {"answers_found": found}) for found in labels)
    assert _signs(Sample("1", contexts=chunks)).get("answerable") == answerable


def test_patterns_are_in_the_document() -> None:
    """The document names the patterns of each sample, and has the table that they come from."""
    row = {"query": "q", "response": "b", "contexts": ["a"], "references": ["a"], "answerable": True}
    judge = rg.judge_from(
        decompose=lambda text: [text],
        entail=lambda premise, hypothesis: "entailed" if premise == hypothesis else "neutral",
    )
    run = rg.evaluate([row], "faithfulness,context_recall,claim_recall", judge)
    document = run.to_dict()
    (sample,) = document["samples"]
    assert sample["patterns"] == ["ignored", "unexplained"]
    assert sample["signs"] == {"refused": 0, "answerable": 1}
    assert [pattern["name"] for pattern in document["patterns"]] == [pattern.name for pattern in PATTERNS]
    assert document["cuts"] == dict(CUTS)
    (record,) = run.records()
    assert patterns_of(record, signs_of(record)) == sample["patterns"]
