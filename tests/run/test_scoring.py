"""Samples that are scored one at a time."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import ragauge as rg
from ragauge.questions import Entail, Question
from ragauge.types import Answer, Failure, Identity

ADA: dict[str, Any] = {
    "query": "Who wrote it?",
    "response": "Ada wrote it. Bob sang.",
    "contexts": ["Ada wrote it."],
}


class Unsteady:
    """The embedded judge, but that its first rounds of entailment fail. loops: on which it was asked."""

    identity = Identity("unsteady")
    answers = frozenset({"decompose", "entail", "relevant"})

    def __init__(self, fails: int = 0) -> None:
        self._fails, self._judge = fails, rg.load_judge("embedded")
        self.asked: list[Question] = []
        self.loops: set[int] = set()

    async def answer(self, questions: Any) -> list[Answer | Failure]:
        """Its answers."""
        self.asked += questions
        self.loops.add(id(asyncio.get_running_loop()))
        entailing = any(isinstance(question, Entail) for question in questions)
        self._fails -= entailing
        if entailing and self._fails >= 0:
            return [Failure("timeout")] * len(questions)
        return list(await self._judge.answer(questions))


def test_a_sample_has_the_scores_of_a_run() -> None:
    """`score` gives what `evaluate` gives for the sample, for a dict and for a Sample, and keeps the sample."""
    scores = rg.score(ADA, "faithfulness,answer_relevance")
    run = rg.evaluate([ADA], "faithfulness,answer_relevance")
    assert dict(scores) == dict(run.scores[0])
    assert dict(rg.score(scores.sample, ["faithfulness"])) == {"faithfulness": scores["faithfulness"]}


def test_a_score_in_words_knows_which_way_is_better() -> None:
    """`explain` of a sample's scores names the pieces that count against it, also where less is better."""
    scores = rg.score({**ADA, "response": "Ada did not write it."}, "faithfulness,hallucination")
    assert scores.explain("faithfulness") == rg.explain(scores["faithfulness"], "higher", scores.sample)
    assert scores.explain("hallucination") == rg.explain(scores["hallucination"], "lower", scores.sample)
    with pytest.raises(KeyError, match="no score is called 'bleu'"):
        scores.explain("bleu")


def test_attempts_ask_only_for_what_is_missing() -> None:
    """A score that fails is tried as often as one says, and what was answered is not asked again."""
    judge = Unsteady(fails=2)
    assert rg.score(ADA, "faithfulness", judge, attempts=3)["faithfulness"].value == 0.5
    assert sum(not isinstance(question, Entail) for question in judge.asked) == 1


def test_strictly_a_failure_raises() -> None:
    """With strict=True a score that fails is an error that names the metric; without it stands in the score."""
    assert rg.score(ADA, "faithfulness", Unsteady(fails=1))["faithfulness"].failed
    with pytest.raises(rg.errors.RunFailed, match="faithfulness: timeout"):
        rg.score(ADA, "faithfulness", Unsteady(fails=1), strict=True)
    assert rg.score(ADA, "faithfulness", Unsteady(fails=1), strict=True, attempts=2)["faithfulness"].value == 0.5


def test_threads_share_a_judge_on_one_loop() -> None:
    """`score` asks a judge from all threads on one loop, also from under a running one; results are each its own."""
    judge = Unsteady()

    def measured(number: int) -> float | None:
        return rg.score({**ADA, "response": "Ada wrote it." * (number % 2)}, "faithfulness", judge)[
            "faithfulness"
        ].value

    async def notebook() -> float | None:
        return measured(1)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(measured, range(8))) == [None, 1.0] * 4
    assert asyncio.run(notebook()) == 1.0
    assert len(judge.loops) == 1


def test_what_runs_on_the_shared_loop_may_score_too() -> None:
    """A judge that scores something itself, while it is asked, does not wait for itself for ever."""

    def relevant(query: str, text: str) -> bool:
        return rg.score(ADA, "faithfulness")["faithfulness"].value == 0.5

    sample = {"query": "q", "contexts": ["c"]}
    assert rg.score(sample, "context_relevance", rg.judge_from(relevant=relevant))["context_relevance"].value == 1.0


def test_an_error_reaches_who_waits() -> None:
    """What `evaluate` would raise is raised where `score` was called."""
    with pytest.raises(rg.errors.UnknownName, match="unknown metric 'faith'"):
        rg.score(ADA, "faith")
    with pytest.raises(rg.errors.MissingField, match="context_recall"):
        rg.score(ADA, "context_recall")
    with pytest.raises(rg.errors.BadParameter, match="attempts=0 must be 1 or more"):
        rg.score(ADA, "faithfulness", attempts=0)


def test_metrics_asked_for_one_by_one_cost_one_run() -> None:
    """A Scorer takes a sample apart once for all its metrics, asked for side by side or one after the other."""
    judge = Unsteady()
    scorer = rg.Scorer(["faithfulness", "answer_relevance", "rouge.rougeL"], judge)

    async def together() -> list[Any]:
        return list(await asyncio.gather(*(scorer.score_async(name, ADA) for name in list(scorer.values)[:2])))

    one, other = asyncio.run(together())
    assert one["faithfulness"].value == other["faithfulness"].value == 0.5
    asked = len(judge.asked)
    assert len(set(judge.asked)) == asked
    assert scorer.score("answer_relevance", ADA)["answer_relevance"] == other["answer_relevance"]
    _, key = scorer.values["rouge.rougeL"]
    assert scorer.score("rouge.rougeL", {**ADA, "reference": "Ada wrote it."})[key].value == pytest.approx(0.75)
    assert len(judge.asked) == asked


def test_a_scorer_needs_only_the_fields_of_the_metric_asked_for() -> None:
    """Metrics that the sample lacks something for are left out, unless it is they that are asked for."""
    scorer = rg.Scorer(["faithfulness", "exact_match"])
    scores = scorer.score("faithfulness", ADA)
    assert list(scores) == ["faithfulness"]
    with pytest.raises(rg.errors.MissingField, match="exact_match"):
        scorer.score("exact_match", ADA)


def test_what_no_scorer_can_be_made_of() -> None:
    """What is no single value of a metric, and no judge, is reported when the scorer is made."""
    with pytest.raises(rg.errors.UnknownName, match=r"known: rouge\.rouge1"):
        rg.Scorer(["rouge"])
    with pytest.raises(rg.errors.BadParameter, match="not a judge"):
        rg.Scorer(["faithfulness"], 7)  # type: ignore[arg-type]


def test_one_thread_does_the_work() -> None:
    """However often `score` is called, no further thread is begun."""
    rg.score({**ADA, "reference": "Ada."}, "bleu")
    before = threading.active_count()
    for _ in range(3):
        rg.score({**ADA, "reference": "Ada."}, "bleu")
    assert threading.active_count() == before
