from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ragauge as rg
from ragauge.errors import BadData, BadParameter, UnanswerableNeed
from ragauge.questions import Entail
from ragauge.store import label
from ragauge.types import Failure, Label, Verdict

Make = Callable[..., Any]

QUESTION = {"kind": "entail", "premise": ["1 is a number.", "not: 1 is red.", "bees."], "query": "what is 1"}


def _sentences(text: str) -> list[str]:
    return [piece.strip() for piece in text.split(".") if piece.strip()]


def _holds(premise: str, hypothesis: str) -> bool:
    return hypothesis in premise and "not:" not in premise


def _values(run: rg.Run) -> dict[str, float | None]:
    return {key: estimate.value for key, estimate in run.estimates.items()}


def test_labels_beat_the_judge(judge: Any, rows: Make) -> None:
    """What people answered is taken, the judge is not asked it, and the evidence says who answered."""
    chunks = ("1 is a number.", "not: 1 is red.", "bees.")
    given = label(Entail(chunks, "1 is old", "what is 1"), Verdict(Label.ENTAILED), "ann")
    plain = rg.evaluate(rows(1), "faithfulness", judge)
    judge.asked.clear()
    run = rg.evaluate(rows(1), "faithfulness", judge, labels=[given])
    assert (_values(plain), _values(run)) == ({"faithfulness": 1 / 3}, {"faithfulness": 2 / 3})
    assert given.question not in judge.asked
    assert given.key in [piece.judgment for piece in run.scores[0]["faithfulness"].evidence]


def test_labels_beat_stored_judgments(judge: Any, rows: Make, tmp_path: Path) -> None:
    """A label is taken although the store holds the judge's answer; without the label that answer is there again."""
    rg.evaluate(rows(1), "faithfulness", judge, tmp_path)
    labels = tmp_path / "labels.jsonl"
    line = {"question": {**QUESTION, "hypothesis": "1 is old"}, "answer": "entailed", "by": "ann"}
    labels.write_text(json.dumps(line), encoding="utf-8")
    judge.asked.clear()
    assert _values(rg.evaluate(rows(1), "faithfulness", judge, tmp_path, labels=labels)) == {"faithfulness": 2 / 3}
    assert _values(rg.evaluate(rows(1), "faithfulness", judge, tmp_path)) == {"faithfulness": 1 / 3}
    assert judge.asked == []


def test_labels_kept_in_the_store_count(judge: Any, rows: Make, tmp_path: Path) -> None:
    """Labels that the store holds go before its judgments without being named; the latest counts."""
    store = rg.Store.open(tmp_path)
    chunks = ("1 is a number.", "not: 1 is red.", "bees.")
    rg.evaluate(rows(1), "faithfulness", judge, store)
    for answer in (Label.NEUTRAL, Label.ENTAILED):
        store.keep_labels([label(Entail(chunks, "1 is old", "what is 1"), Verdict(answer), "ann")])
    assert _values(rg.evaluate(rows(1), "faithfulness", judge, store)) == {"faithfulness": 2 / 3}


def test_labels_alone_can_answer_everything(stub: Make, rows: Make) -> None:
    """Where every question has a label the judge is not asked at all."""
    judge = stub()
    first = rg.evaluate(rows(2), "faithfulness", judge)
    judgments = list(first.store.judgments())
    labels = [label(one.question, one.answer, "ann") for one in judgments if not isinstance(one.answer, Failure)]
    assert len(labels) == len(judgments)
    silent = stub(name="silent")
    run = rg.evaluate(rows(2), "faithfulness", silent, labels=labels)
    assert (silent.asked, run.record.asked) == ([], 0)
    assert run.estimates == first.estimates


def test_a_broken_label_file_asks_nobody(judge: Any, rows: Make, tmp_path: Path) -> None:
    """A label that does not fit its question is named with its line before any judge is asked."""
    labels = tmp_path / "labels.jsonl"
    labels.write_text(json.dumps({"question": {**QUESTION, "hypothesis": "a"}, "answer": "yes", "by": "ann"}))
    with pytest.raises(BadData, match=r"labels\.jsonl, line 1: "):
        rg.evaluate(rows(1), "faithfulness", judge, labels=labels)
    assert judge.asked == []


def test_judges_share_the_work_by_kind(stub: Make, rows: Make) -> None:
    """Each kind goes to the judge named for it, a topic before its kind, and the rest to "*"."""
    splitter, verifier, critic, rest = (stub(name=name) for name in ("splitter", "verifier", "critic", "rest"))
    judges = {"decompose": splitter, "entail": verifier, "classify:toxic": critic, "*": rest}
    sample = rows(1, response="I hate 1. 1 is a number.")
    run = rg.evaluate(sample, "faithfulness,bias,toxicity,answer_relevance", judges)
    assert (splitter.kinds, verifier.kinds, rest.kinds) == ({"decompose"}, {"entail"}, {"relevant", "classify"})
    assert [question.trait for question in critic.asked] == ["toxic"]
    assert {topic: str(identity) for topic, identity in run.record.judges.items()} == {
        "decompose": "splitter",
        "entail": "verifier",
        "classify:toxic": "critic",
        "*": "rest",
    }


def test_a_kind_without_a_judge(stub: Make, rows: Make) -> None:
    """Without a judge for a kind the default set leaves out what needs it, and a named metric is refused."""
    judges = {"decompose": stub(), "entail": stub()}
    run = rg.evaluate(rows(1), judge=judges)
    assert "answer_relevance" in run.left_out
    assert "faithfulness" in run.estimates
    with pytest.raises(UnanswerableNeed, match="answer_relevance"):
        rg.evaluate(rows(1), "answer_relevance", judges)


def test_one_judge_changed_asks_only_its_kind(stub: Make, rows: Make, tmp_path: Path) -> None:
    """With another judge of entailment the statements found before are used again."""
    rg.evaluate(rows(2), "faithfulness", {"decompose": stub(), "entail": stub(name="one")}, tmp_path)
    splitter, other = stub(), stub(name="other")
    run = rg.evaluate(rows(2), "faithfulness", {"decompose": splitter, "entail": other}, tmp_path)
    assert splitter.asked == []
    assert (run.record.asked, len(other.asked)) == (6, 6)


def test_functions_judge(rows: Make) -> None:
    """Plain functions, sync and async, are a judge; only what they can answer is measured."""

    async def entail(premise: str, hypothesis: str) -> str:
        return "contradicted" if f"not: {hypothesis}" in premise else "entailed" if hypothesis in premise else "neutral"

    run = rg.evaluate(rows(2), judge=rg.judge_from(decompose=_sentences, entail=entail))
    assert run.estimates["faithfulness"].value == run.estimates["hallucination"].value == pytest.approx(1 / 3)
    assert {"answer_relevance", "bias", "summary_coherence"} <= set(run.left_out)


def test_a_bool_cannot_tell_contradiction(rows: Make) -> None:
    """A function that answers True or False leaves hallucination out of the default set, and says why."""
    run = rg.evaluate(rows(40), judge=rg.judge_from(decompose=_sentences, entail=_holds))
    assert "hallucination" not in run.estimates
    assert "entail:contradiction" in run.left_out["hallucination"]
    assert run.estimates["faithfulness"].n == 40


def test_a_bool_ends_a_run_that_needs_contradiction(rows: Make) -> None:
    """Asked for by name, a metric of contradiction with a two-way judge is refused at its first answer, never 0."""
    asked: list[str] = []

    def entail(premise: str, hypothesis: str) -> bool:
        asked.append(hypothesis)
        return hypothesis in premise

    with pytest.raises(UnanswerableNeed, match="hallucination: function does not answer entail:contradiction"):
        rg.evaluate(rows(40), "hallucination", rg.judge_from(decompose=_sentences, entail=entail))
    assert len(asked) < 40 * 3 * 4


def test_a_bool_remembered_cannot_tell_contradiction_either(rows: Make, tmp_path: Path) -> None:
    """A second run, whose judgments all come from the store, leaves out and refuses what the first did."""

    def judge() -> Any:
        return rg.judge_from(decompose=_sentences, entail=_holds, name="two-way")

    first = rg.evaluate(rows(40), judge=judge(), store=tmp_path)
    second = rg.evaluate(rows(40), judge=judge(), store=tmp_path)
    assert second.record.asked == 0
    assert second.left_out == first.left_out
    assert second.estimates == first.estimates
    with pytest.raises(UnanswerableNeed, match="hallucination"):
        rg.evaluate(rows(40), "hallucination", judge(), tmp_path)


def test_a_bool_recorded_cannot_tell_contradiction_either(rows: Make, tmp_path: Path) -> None:
    """A recording of a two-way judge does not measure contradiction."""
    rg.evaluate(rows(2), judge=rg.judge_from(decompose=_sentences, entail=_holds), store=tmp_path)
    with pytest.raises(UnanswerableNeed, match="hallucination"):
        rg.evaluate(rows(2), "hallucination", f"recording:{tmp_path}")


def test_a_function_that_gives_nonsense_fails(rows: Make) -> None:
    """A reply of the wrong form and an exception become failed scores with the reason; other samples are unharmed."""

    def entail(premise: str, hypothesis: str) -> Any:
        if hypothesis.startswith("1"):
            return "maybe"
        return 1 / 0 if hypothesis.startswith("2") else "entailed"

    run = rg.evaluate(rows(3), "faithfulness", rg.judge_from(decompose=_sentences, entail=entail))
    assert "entail() must return a bool" in str(run.scores[0]["faithfulness"].failed)
    assert "ZeroDivisionError" in str(run.scores[1]["faithfulness"].failed)
    assert run.scores[2]["faithfulness"].value == 1.0


def test_a_mapping_that_names_nobody_for_a_kind_says_so() -> None:
    """The message names the kind that no judge was given for, not a judge that was never asked."""
    with pytest.raises(UnanswerableNeed, match="no judge was given for decompose; add one"):
        rg.evaluate([{"response": "a", "contexts": ["a"]}], ["faithfulness"], judge={"entail": "embedded"})


def test_a_wrong_argument_is_of_the_function_that_was_called() -> None:
    """A bad keyword is reported as that of `evaluate`, and help lists the arguments one a line."""
    with pytest.raises(TypeError, match=r"^evaluate\(\) got an unexpected keyword argument 'judgee'"):
        rg.evaluate([], judgee="embedded")  # type: ignore[call-arg]
    lines = str(inspect.signature(rg.evaluate)).splitlines()
    assert lines[:2] == ["(", "    data: Any,"]
    assert lines[-1] == ") -> Run"


class Yes:
    """A judge with an identity that is no identity."""

    identity: Any = "mine"
    answers = frozenset({"entail:support"})

    def answer(self, questions: Any) -> Any:
        """The verdicts, not to be awaited."""
        return [Verdict(Label.ENTAILED) for _ in questions]


def test_a_judge_of_the_wrong_form_is_told_what_to_write() -> None:
    """A text as identity is refused before the run, and an `answer` that cannot be awaited fails its scores."""
    row = {"query": "q", "response": "It is red.", "contexts": ["red"]}
    with pytest.raises(BadParameter, match=r"Yes.identity is 'mine'; write rg.types.Identity\('yes'\)"):
        rg.score(row, "faithfulness", judge={"entail": Yes(), "*": "embedded"})
    judge = Yes()
    judge.identity = rg.types.Identity("mine")
    score = rg.score(row, "faithfulness", judge={"entail": judge, "*": "embedded"})["faithfulness"]
    assert "answer() is not asynchronous; write it with `async def answer`" in str(score.failed)
