from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest

import ragauge as rg
from ragauge.errors import BadData, BadParameter, MissingField, UnanswerableNeed, UnknownName
from ragauge.run.scoring import WRITE_BATCH

Make = Callable[..., Any]

ROWS = [
    {"query": "who", "response": "Ada. Bob.", "contexts": ["Ada.", "not: Bob."], "references": ["Ada."]},
    {"query": "when", "response": "1901. 1902.", "contexts": ["1901. 1902."], "references": ["1901."]},
]


def _values(run: rg.Run) -> dict[str, float | None]:
    return {key: estimate.value for key, estimate in run.estimates.items()}


def test_scores_and_estimates_of_known_samples(judge: Any) -> None:
    """Values counted by hand: each score, each estimate, and what stands behind them."""
    run = rg.evaluate(ROWS, "faithfulness,hallucination,answer_correctness,context_recall", judge)
    assert [scores["faithfulness"].value for scores in run.scores] == [0.5, 1.0]
    assert [scores["hallucination"].value for scores in run.scores] == [0.5, 0.0]
    assert [scores["answer_correctness"].value for scores in run.scores] == [2 / 3, 2 / 3]
    assert _values(run) == {
        "faithfulness": 0.75,
        "hallucination": 0.25,
        "answer_correctness": pytest.approx(2 / 3),
        "context_recall": 1.0,
    }
    assert all(one.n == 2 and one.undefined == one.failed == 0 for one in run.estimates.values())
    assert all(one.low is not None and one.low < one.high for one in run.estimates.values() if one.high is not None)


def test_every_form_of_data_gives_the_same_run(judge: Any, tmp_path: Path) -> None:
    """A list, a frame, samples, a generator, and files named as text or as a path are measured alike."""
    written = tmp_path / "rows.jsonl"
    written.write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    samples = list(rg.read(ROWS))
    forms = [ROWS, samples, iter(ROWS), pandas.DataFrame(ROWS), written, str(written)]
    runs = [rg.evaluate(form, "faithfulness,rouge", judge) for form in forms]
    assert len({run.record.data_hash for run in runs}) == 1
    assert all(run.estimates == runs[0].estimates for run in runs)
    assert all(list(run.scores) == list(runs[0].scores) for run in runs)


def test_the_record_says_what_was_done(judge: Any, tmp_path: Path) -> None:
    """The record names data, metrics, judge and counts, and the store keeps it as it is."""
    run = rg.evaluate(ROWS, ["faithfulness", "rouge(types=rougeL)"], judge, tmp_path, name="first")
    record = run.record
    assert (record.data, record.name, record.samples, record.status) == ("list of 2 rows", "first", 2, "finished")
    assert record.metrics == ("faithfulness", "rouge(types=rougeL)")
    assert {topic: str(one) for topic, one in record.judges.items()} == {"*": "stub"}
    assert record.asked == len(judge.asked) == len(set(judge.asked))
    assert record.started <= record.finished
    assert rg.Run.open(tmp_path).record == record


def test_the_default_set_leaves_out_what_the_data_lacks(judge: Any) -> None:
    """Without references and contexts the metrics that read them are left out, each with the reason and the fix."""
    run = rg.evaluate([{"query": "who", "response": "Ada."}], judge=judge)
    assert "answer_relevance" in run.estimates
    assert not {"faithfulness", "bleu", "context_recall"} & set(run.estimates)
    assert "no sample has 'contexts' (the retrieved chunks)" in run.left_out["faithfulness"]
    assert "--map references=COLUMN" in run.left_out["bleu"]


def test_the_default_set_leaves_out_what_the_judge_cannot_answer(stub: Make) -> None:
    """A judge that neither classifies nor rates is asked only what it answers."""
    judge = stub(frozenset({"decompose", "entail", "relevant"}))
    run = rg.evaluate(ROWS, judge=judge)
    assert "stub" in run.left_out["bias"]
    assert "classify" in run.left_out["bias"]
    assert "faithfulness" in run.estimates
    assert judge.kinds == {"decompose", "entail", "relevant"}


def test_what_is_left_out_is_reported_in_print(judge: Any) -> None:
    """The printed run names the metrics that were not measured."""
    run = rg.evaluate([{"query": "who", "response": "Ada."}], judge=judge)
    assert "Not measured:" in str(run)
    assert "faithfulness" in str(run)


def test_a_named_metric_without_its_field_asks_nobody(judge: Any) -> None:
    """A metric asked for by name whose field no sample has ends the run before any judge is asked."""
    with pytest.raises(MissingField, match=r"bleu: no sample has 'references'.*--map references=COLUMN"):
        rg.evaluate([{"query": "who", "response": "Ada."}], "answer_relevance,bleu", judge)
    assert judge.asked == []


def test_a_named_metric_that_the_judge_cannot_answer_asks_nobody(stub: Make) -> None:
    """A metric asked for by name whose kind no judge answers ends the run before any judge is asked."""
    judge = stub(frozenset({"decompose", "entail"}))
    with pytest.raises(UnanswerableNeed, match=r"bias: stub .* classify"):
        rg.evaluate(ROWS, "faithfulness,bias", judge)
    assert judge.asked == []


@pytest.mark.parametrize(
    ("metrics", "error", "message"),
    [
        ("faithfulnes", UnknownName, "did you mean 'faithfulness'"),
        ("rouge(types=rougeX)", BadParameter, "rouge"),
        ("bleu(weight=1)", UnknownName, "did you mean 'weights'"),
        ("", BadParameter, "no metric was requested"),
    ],
)
def test_wrong_metrics_ask_nobody(judge: Any, metrics: str, error: type[Exception], message: str) -> None:
    """A metric or parameter that does not exist is refused, with a suggestion, before any judge is asked."""
    with pytest.raises(error, match=message):
        rg.evaluate(ROWS, metrics, judge)
    assert judge.asked == []


@pytest.mark.parametrize(
    ("spec", "error"),
    [("embeded", UnknownName), (7, BadParameter), ({"entails": "embedded"}, UnknownName), ({}, BadParameter)],
)
def test_wrong_judges_are_refused(spec: Any, error: type[Exception]) -> None:
    """An unknown judge, something that is no judge, and an unknown kind are refused."""
    with pytest.raises(error):
        rg.evaluate(ROWS, "faithfulness", spec)


def test_a_missing_recording_is_refused(tmp_path: Path) -> None:
    """A recording that is not there is named."""
    with pytest.raises(BadData, match=r"recording '.*none\.jsonl' does not exist"):
        rg.evaluate(ROWS, "faithfulness", f"recording:{tmp_path / 'none.jsonl'}")


def test_no_data_is_refused(judge: Any) -> None:
    """Nothing to measure is an error, not an empty run."""
    with pytest.raises(BadData, match="no rows"):
        rg.evaluate([], "faithfulness", judge)


def test_metrics_of_ones_own(judge: Any) -> None:
    """A metric and a rubric of the caller's own are measured together with ours, on their own scale."""
    from ragauge.needs.entailment import response_and_references

    @rg.metric(response_and_references, scale=(0, 100))
    def length(texts: Any) -> float:
        """Characters of the response."""
        return float(len(texts.response))

    tone = rg.graded(rg.questions.Rubric("tone", ("response",), 1, 7, "1: cold. 7: warm."))
    run = rg.evaluate(ROWS, [length, tone, "bleu"], judge)
    assert _values(run) == {"length": 10.0, "tone": 7.0, "bleu": run.estimates["bleu"].value}


def test_variants_of_one_metric_stand_side_by_side(judge: Any) -> None:
    """Two settings of a metric in one run are keyed apart, and share what was asked."""
    run = rg.evaluate(ROWS, "faithfulness,faithfulness(units=sentences),pooled(faithfulness)", judge)
    assert list(run.estimates) == ["faithfulness", "faithfulness(units=sentences)", "pooled(faithfulness)"]
    assert run.estimates["pooled(faithfulness)"].value == 3 / 4


def test_questions_are_asked_once(judge: Any, rows: Make) -> None:
    """Twenty-odd metrics over two windows put no question twice."""
    run = rg.evaluate(rows(WRITE_BATCH + 3), judge=judge)
    assert len(judge.asked) == len(set(judge.asked)) == run.record.asked


def test_progress_is_reported(judge: Any, rows: Make) -> None:
    """The caller hears of every sample, in order."""
    heard: list[int] = []
    rg.evaluate(rows(2 * WRITE_BATCH + 1), "bleu", judge, progress=heard.append)
    assert heard == list(range(1, 2 * WRITE_BATCH + 2))


def test_limit_measures_the_first_samples(judge: Any, rows: Make) -> None:
    """With a limit only the first samples are read and judged."""
    run = rg.evaluate(rows(10), "faithfulness", judge, limit=4)
    assert [scores.sample.id for scores in run.scores] == ["1", "2", "3", "4"]
    with pytest.raises(BadParameter, match="limit is 0"):
        rg.evaluate(rows(10), "faithfulness", judge, limit=0)


def test_columns_can_be_named(judge: Any) -> None:
    """`map` takes a field from a column of another name; a column that is not there is refused with a suggestion."""
    data = [{"query": "who", "reply": "Ada.", "found": ["Ada."]}]
    run = rg.evaluate(data, "faithfulness", judge, map={"response": "reply", "contexts": "found"})
    assert _values(run) == {"faithfulness": 1.0}
    with pytest.raises(UnknownName, match="did you mean 'reply'"):
        rg.evaluate(data, "faithfulness", judge, map={"response": "replie"})


def test_groups_widen_intervals(judge: Any) -> None:
    """Samples that belong together count as one draw: the interval is wider, the value the same."""
    data = [
        {"query": "q", "response": "Ada.", "contexts": ["Ada." if n < 20 else "Bob."], "document": str(n // 10)}
        for n in range(40)
    ]
    alone = rg.evaluate(data, "faithfulness,pooled(faithfulness)", judge)
    grouped = rg.evaluate(data, "faithfulness,pooled(faithfulness)", judge, group="document")
    for key, one in alone.estimates.items():
        other = grouped.estimates[key]
        assert one.value == other.value == 0.5
        assert other.low < one.low < one.high < other.high  # type: ignore[operator]
        assert "clusters" in other.method
