"""Metrics of an answer within its conversation."""

from __future__ import annotations

from typing import Any

import pytest

import ragauge as rg
from ragauge.errors import MissingField, UsageError
from ragauge.questions import Decompose, Entail, Relevant, judgment_key
from ragauge.types import Identity

CHAT: list[dict[str, Any]] = [
    {"role": "user", "content": "I am vegan. What is it made of?"},
    {"role": "assistant", "content": "It is made of oats.", "contexts": ["It is made of oats."]},
    {"role": "user", "content": "Does it have nuts?"},
    {"role": "assistant", "content": "It is made of oats.", "contexts": ["Nuts are in it."]},
]


def entail(premise: str, hypothesis: str) -> str:
    """Entailed if the premise has the words; contradicted if it has them after "not: "."""
    if f"not: {hypothesis}" in premise:
        return "contradicted"
    return "entailed" if hypothesis in premise else "neutral"


def scored(metrics: str, chat: list[dict[str, Any]], **options: Any) -> list[rg.SampleScores]:
    """The scores of each answer of a conversation, by a judge that compares words."""
    judge = rg.judge_from(decompose=lambda text: [text], entail=entail, relevant=lambda query, text: "oats" in text)
    return list(rg.evaluate([{"id": "c", "messages": chat}], metrics, judge, per="turn", **options).scores)


def test_memory_counts_what_was_retrieved_before() -> None:
    """A fact of an earlier turn's contexts supports a claim only with memory=all."""
    first, second = scored("faithfulness,faithfulness(memory=all)", CHAT)
    assert (first["faithfulness"].value, second["faithfulness"].value) == (1, 0)
    assert second["faithfulness(memory=all)"].value == 1


@pytest.mark.parametrize(("metric", "role"), [("self_consistency", 1), ("retention", 0)])
def test_contradictions_of_what_was_said(metric: str, role: int) -> None:
    """A claim that an earlier answer, or the user, contradicts counts against it; a first answer has nothing before."""
    chat = [dict(message) for message in CHAT]
    fine = scored(metric, chat)[1]
    chat[role]["content"] = "not: It is made of oats."
    _, contradicted = scored(metric, chat)
    assert (fine[metric].value, contradicted[metric].value) == (1, 0)
    if metric == "self_consistency":
        assert scored(metric, chat)[0][metric].undefined


def test_requests_are_answered_or_not() -> None:
    """Each answer is 1 if it helps with its request."""
    assert [scores["answered_requests"].value for scores in scored("answered_requests", CHAT)] == [1, 1]


def test_a_request_that_nobody_answered_counts() -> None:
    """Without a response, or with an empty one, a request is not answered; data without any response are refused."""
    unanswered = [{"id": "d", "messages": CHAT[:1]}, {"id": "e", "messages": [CHAT[0], {**CHAT[1], "content": ""}]}]
    judge = rg.judge_from(relevant=lambda query, text: "oats" in text)
    rows = [{"id": "c", "messages": CHAT[:3]}, *unanswered]
    estimate = rg.evaluate(rows, "answered_requests", judge, per="turn").estimates["answered_requests"]
    assert (estimate.value, estimate.n) == (0.25, 4)
    with pytest.raises(MissingField, match="no sample has 'response'"):
        rg.evaluate(unanswered[:1], "answered_requests", judge)


def test_questions_without_history_keep_their_keys() -> None:
    """An absent history is no part of a key, so that stored judgments are found; a present one is."""
    judge = Identity("j")
    for plain in (Decompose("T.", "q"), Entail(("p",), "h", "q"), Relevant("q", "t")):
        told = type(plain)(
            **{**{name: getattr(plain, name) for name in plain.__struct_fields__}, "history": ("User: a",)}
        )
        assert judgment_key(plain, judge) != judgment_key(told, judge)
    assert judgment_key(Decompose("T.", "q"), judge) == "524eda3f6ca1a53976706ca2214c5fa2"
    assert judgment_key(Entail(("p",), "h", "q"), judge) == "438c4e23de1cb30c8563de1563eb982f"
    assert judgment_key(Relevant("q", "t"), judge) == "ced77d2d8298b3094dd2b1806db566a3"


def test_a_criterion_over_a_conversation() -> None:
    """With reads=conversation the judge sees all that was said, by speaker."""
    seen: list[str] = []

    def rate(name: str, conversation: str, wording: str) -> float:
        seen.append(conversation)
        return float(wording == "It is kind")

    run = rg.evaluate([{"messages": CHAT}], 'criterion("It is kind",0-1,reads=conversation)', rg.judge_from(rate=rate))
    assert run.estimates["criterion"].value == 1
    assert "User: I am vegan." in str(seen)
    assert "Assistant: It is made of oats." in str(seen)


@pytest.mark.parametrize("per", [None, "conversation"])
def test_a_metric_of_earlier_turns_names_the_option_that_keeps_them(per: Any) -> None:
    """Where no sample has turns, because of the option or of the data, the error names --per turn."""
    with pytest.raises(MissingField, match="--per turn makes a sample of each answer"):
        rg.evaluate([{"messages": CHAT if per else CHAT[:2]}], "self_consistency", per=per)


@pytest.mark.parametrize("metric", ["self_consistency", "retention", "answered_requests"])
def test_the_embedded_judge_refuses_what_it_is_no_judge_of(metric: str) -> None:
    """One line names another judge; no number is printed that means nothing."""
    with pytest.raises(UsageError, match=r"embedded does not answer \w+:conversation; choose a judge that does"):
        rg.evaluate([{"id": "c", "messages": CHAT}], metric, per="turn")


def test_turns_are_numbered_so_that_slices_can_tell_them_apart() -> None:
    """Each answer of a conversation knows its turn."""
    assert [sample.metadata["turn"] for sample in rg.read([{"id": "c", "messages": CHAT}], per="turn")] == [1, 2]
