from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragauge as rg
from ragauge.questions import Decompose, Question
from ragauge.run.scoring import WRITE_BATCH
from ragauge.types import Chunk, Decomposition, Failure, Grade, Identity, Label, Sample, Statement, Verdict

Make = Callable[..., Any]


class Odd:
    """A judge that answers each batch with whatever `reply` makes of it."""

    identity = Identity("odd")
    answers = frozenset({"decompose", "entail", "relevant"})
    batch = 1

    def __init__(self, reply: Callable[[Sequence[Question]], Any]) -> None:
        self._reply = reply

    async def answer(self, questions: Sequence[Question]) -> Any:
        """Whatever it was made to answer."""
        return self._reply(questions)


def _raise(questions: Sequence[Question]) -> Any:
    raise RuntimeError("out of order")


def test_a_judge_that_raises_costs_its_batch(judge: Any, rows: Make) -> None:
    """An exception fails the samples whose questions were in the batch, with the reason, and no others."""

    class Raising(Odd):
        async def answer(self, questions: Sequence[Question]) -> Any:
            if any("4 is a number" in repr(question) for question in questions):
                raise RuntimeError("out of order")
            return await judge.answer(questions)

    run = rg.evaluate(rows(6), "faithfulness", Raising(_raise))
    assert [scores["faithfulness"].value is None for scores in run.scores] == [n == 4 for n in range(1, 7)]
    assert run.scores[3]["faithfulness"].failed == "judge_error: odd raised RuntimeError: out of order"
    estimate = run.estimates["faithfulness"]
    assert estimate.value == pytest.approx(1 / 3)
    assert (estimate.n, estimate.failed) == (5, 1)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (_raise, "raised RuntimeError: out of order"),
        (lambda questions: [], "gave 0 answers to 1 questions"),
        (lambda questions: [Decomposition(())] * (len(questions) + 1), "gave 2 answers to 1 questions"),
        (lambda questions: None, "raised TypeError"),
        (lambda questions: ["Ada."], "a str does not answer"),
        (lambda questions: [None], "does not answer"),
        (lambda questions: [Verdict(Label.YES)], "a verdict does not answer"),
        (lambda questions: [Decomposition((Statement("Ada", (3, 99)),))], r"the span \(3, 99\) lies outside"),
        (lambda questions: [Failure("rate_limited", "try later")], "rate_limited: try later"),
    ],
)
def test_whatever_a_judge_does_the_score_fails_with_the_reason(
    reply: Callable[[Sequence[Question]], Any], reason: str
) -> None:
    """Exceptions, too few or too many answers, and answers of the wrong form become failed scores that say so."""
    run = rg.evaluate([{"query": "who", "response": "Ada.", "contexts": ["Ada."]}], "faithfulness", Odd(reply))
    score = run.scores[0]["faithfulness"]
    assert score.value is None
    assert score.undefined is None
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(score.failed)
    assert run.estimates["faithfulness"].value is None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.5, 9, -1])
def test_a_grade_off_its_scale_fails(value: float) -> None:
    """Coherence is a whole number from 1 to 5; anything else is a failed score, never a number."""

    class Rater(Odd):
        answers = frozenset({"rate"})

    run = rg.evaluate([{"source": "Ada.", "response": "A."}], "summary_coherence", Rater(lambda asked: [Grade(value)]))
    assert run.estimates["summary_coherence"].value is None
    assert "invalid_answer" in str(run.scores[0]["summary_coherence"].failed)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Verdict(Label.YES, probability="0.5"), "invalid_answer: it cannot be stored: Expected `float"),  # type: ignore[arg-type]
        (Verdict("perhaps"), "invalid_answer: it cannot be stored: Invalid enum value 'perhaps'"),  # type: ignore[arg-type]
        (Verdict(Label.YES, rationale=object()), "invalid_answer: it cannot be stored: Encoding"),  # type: ignore[arg-type]
        (Verdict(Label.YES, rationale="half a \ud83d"), "invalid_answer: it cannot be stored: "),
        (Verdict(Label.YES, probability=1.5), "invalid_answer: the probability 1.5 lies outside"),
    ],
)
def test_an_answer_that_cannot_be_kept_fails(answer: Verdict, reason: str) -> None:
    """An answer whose parts have the wrong type, or are no text, is a failure and not a wrong number."""
    run = rg.evaluate([{"query": "q", "contexts": ["a"]}], "context_relevance", Odd(lambda asked: [answer]))
    assert str(run.scores[0]["context_relevance"].failed).startswith(reason)


def test_a_label_may_be_written_as_text(tmp_path: Path) -> None:
    """A judge that writes "yes" for Label.YES is understood, in the run that asks and in the one that resumes."""
    judge = Odd(lambda asked: [Verdict("yes")])  # type: ignore[arg-type]
    rows = [{"query": "q", "contexts": ["a"]}]
    for asked in (1, 0):
        run = rg.evaluate(rows, "context_relevance", judge, tmp_path)
        assert (run.record.asked, run.estimates["context_relevance"].value) == (asked, 1.0)


def test_failures_are_not_kept(judge: Any, rows: Make, stub: Make, tmp_path: Any) -> None:
    """What failed is asked again by the next run, and only that."""
    samples = [*rows(2), Sample("3", "who", "Ada!", (Chunk("Ada.", "a"),))]
    first = rg.evaluate(samples, "faithfulness", judge, tmp_path)
    assert first.estimates["faithfulness"].failed == 1
    again = stub()
    second = rg.evaluate(samples, "faithfulness", again, tmp_path)
    assert again.asked == [Decompose("Ada!", "who")]
    assert second.estimates == first.estimates


def test_a_failed_judge_does_not_harm_metrics_that_ask_nobody(rows: Make) -> None:
    """Measures of wording have their values although no question was answered."""
    run = rg.evaluate(rows(3), "bleu,faithfulness", Odd(_raise))
    assert (run.estimates["bleu"].n, run.estimates["faithfulness"].failed) == (3, 3)


SENTENCES = st.sampled_from(["", " ", "Ada.", "Ada. Bob.", "Bob!", "not: Ada.", "I like Ada.", "\u202eAda 漢字.", "."])
FIELDS = {
    "query": SENTENCES,
    "contexts": st.lists(SENTENCES.map(Chunk), max_size=3).map(tuple),
    "references": st.lists(SENTENCES, max_size=2).map(tuple),
    "source": SENTENCES,
    "group": st.sampled_from("ab"),
}
RESPONSE: dict[str, st.SearchStrategy[Any]] = {"response": SENTENCES}
# A first sample with a response, so that something can be measured, and any others.
SAMPLES = st.tuples(
    st.fixed_dictionaries(RESPONSE, optional=FIELDS),
    st.lists(st.fixed_dictionaries({}, optional={**FIELDS, **RESPONSE}), max_size=4),
).map(lambda drawn: [Sample(str(n), **fields) for n, fields in enumerate([drawn[0], *drawn[1]])])


@given(samples=SAMPLES)
def test_every_sample_is_counted_once(stub: Make, samples: list[Sample]) -> None:
    """Whatever fields are missing and whatever fails, n + undefined + failed is the number of samples.

    And what an estimate counts is what the scores are.
    """
    run = rg.evaluate(samples, judge=stub())
    assert not {"rouge.rouge1", "faithfulness"} & set(run.estimates) & set(run.left_out)
    for key, estimate in run.estimates.items():
        scores = [scores[key] for scores in run.scores]
        assert estimate.n + estimate.undefined + estimate.failed == len(samples)
        assert estimate.n == sum(score.value is not None for score in scores)
        assert estimate.undefined == sum(bool(score.undefined) for score in scores)
        assert estimate.failed == sum(bool(score.failed) for score in scores)
        assert (estimate.value is None) == (estimate.n == 0)


@settings(max_examples=20)
@given(samples=SAMPLES, key=st.sampled_from(["faithfulness", "bleu", "claim_f1"]))
def test_a_score_does_not_depend_on_the_other_metrics(stub: Make, samples: list[Sample], key: str) -> None:
    """A metric measured alone gives the scores and the estimate that it gives among all others."""
    together = rg.evaluate(samples, judge=stub())
    if key in together.estimates:
        alone = rg.evaluate(samples, key, judge=stub())
        assert alone.estimates[key] == together.estimates[key]
        assert [scores[key] for scores in alone.scores] == [scores[key] for scores in together.scores]


def test_a_store_that_fails_ends_the_run(
    judge: Any, rows: Make, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where judgments can no longer be kept the run stops: it does not go on paying for what it cannot keep."""
    store = rg.Store.open(tmp_path)
    kept = store.keep

    def keep(judgments: Any, calls: Any = ()) -> None:
        if len(judge.asked) > WRITE_BATCH:
            raise rg.errors.StoreError("the disk is full")
        kept(judgments, calls)

    monkeypatch.setattr(store, "keep", keep)
    with pytest.raises(rg.errors.StoreError, match="the disk is full"):
        rg.evaluate(rows(4 * WRITE_BATCH), "faithfulness", judge, store)
    assert len(judge.asked) <= 2 * WRITE_BATCH
