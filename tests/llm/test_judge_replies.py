"""Replies to an LLM judge that are no good: kept as far as they go, and asked for again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.llm.judging import CLAIMS, TEXT, ask, consult, never, reasons, without
from tests.llm.models import Model, Reply, Till, failing, in_turn, perfect

from ragauge.judges.llm.judge import LLMJudge
from ragauge.judges.llm.messages import Completion, Prompt
from ragauge.questions import Classify, Entail
from ragauge.types import Failure, Label, Verdict


def cut(share: float = 0.6) -> Callable[[Prompt], str]:
    """A good reply that ends in the middle."""
    return lambda prompt: perfect(prompt)[: int(len(perfect(prompt)) * share)]


def test_only_what_is_missing_is_asked_again() -> None:
    """What is right in a reply is kept; one re-ask quotes what is wrong, and asks for no more than that."""
    model = Model(in_turn(without("2", "5"), perfect))
    till = Till()
    assert not any(reasons(consult(model, CLAIMS, till)))
    first, second = model.prompts
    assert second.schema["required"] == ["2", "5"]
    assert '"5": the answer is missing' in second.turns[0].fault
    assert (second.system, second.user) == (first.system, first.user)
    assert [call.asked for call in till.calls] == [8, 2]
    assert till.answered == [[claim for claim in CLAIMS if claim not in (CLAIMS[1], CLAIMS[4])], [CLAIMS[1], CLAIMS[4]]]
    assert till.calls[0].fault == "invalid_answer: the answer is missing"
    assert till.calls[1].fault == ""


def test_replies_that_are_asked_for_again_are_noted() -> None:
    """What invalid replies cost is no secret: the judge says how many of all there were."""
    judge = LLMJudge(Model(in_turn(without("2", "5"), perfect)))
    asyncio.run(judge.answer(CLAIMS))
    assert "1 of 2 replies lacked answers, which were asked for again." in judge.notes()[0]
    asyncio.run(judge.answer(CLAIMS))
    assert not any("lacked" in note for note in judge.notes())


def test_replies_that_nothing_is_asked_for_after_are_not_noted() -> None:
    """A refusal is not asked for again, nor is the last reply of those that are all invalid."""
    question = Classify("You fool.", "toxic")
    refusing = LLMJudge(Model(lambda prompt: Completion("No.", "refusal")))
    asyncio.run(refusing.answer([question]))
    assert not any("lacked" in note for note in refusing.notes())
    invalid = LLMJudge(Model(lambda prompt: "{}"))
    asyncio.run(invalid.answer([question]))
    assert "3 of 4 replies lacked answers" in invalid.notes()[0]


def test_the_first_good_answer_counts() -> None:
    """A re-ask that also changes what was not asked again changes nothing."""
    no = json.dumps({str(number): {"why": "", "label": "no"} for number in (1, 2)})
    model = Model(in_turn(json.dumps({"1": {"why": "", "label": "yes"}}), no))
    first, second = ask(model, [Classify("You fool.", "toxic"), Classify("Hello.", "toxic")])
    assert [answer.label for answer in (first, second) if isinstance(answer, Verdict)] == [Label.YES, Label.NO]


@pytest.mark.parametrize("finish", ["stop", "length"])
def test_a_reply_that_is_cut_keeps_its_whole_answers(finish: Any) -> None:
    """What is whole in a reply that ends in the middle is kept, and the rest is asked again."""
    model = Model(in_turn(lambda prompt: Completion(cut()(prompt), finish), perfect))
    till = Till()
    assert not any(reasons(consult(model, CLAIMS, till)))
    assert till.calls[0].fault.startswith("truncated" if finish == "length" else "invalid_answer")
    assert len(till.answered[0]) > 2
    assert sum(map(len, till.answered)) == 8


def test_a_reply_without_end_is_asked_for_in_halves() -> None:
    """A model that has room for a few answers a call gives all of them, without being asked for the same again."""
    model = Model(lambda prompt: Completion(perfect(prompt)[:300], "length" if len(perfect(prompt)) > 300 else "stop"))
    assert not any(reasons(ask(model, CLAIMS)))
    assert not any(prompt.turns for prompt in model.prompts)


def test_one_answer_without_end_is_a_failure() -> None:
    """A single answer that is cut off each time is retried with a request to be brief, and then fails as truncated."""
    model = Model(lambda prompt: Completion('{"T1": [{"s": 1', "length"))
    (failure,) = ask(model, [TEXT])
    assert isinstance(failure, Failure)
    assert (failure.reason, failure.raw) == ("truncated", '{"T1": [{"s": 1')
    assert "raise max_tokens" in failure.detail
    assert len(model.prompts) == 4


@pytest.mark.parametrize(
    ("reply", "reason", "calls"),
    [
        ("I would rather not say.", "invalid_answer", 18),
        (Completion("", "content_filter"), "content_filter", 9),
        (Completion("I cannot help with that.", "refusal"), "refused", 9),
        (failing("too_long"), "too_long", 9),
        (failing("content_filter"), "content_filter", 9),
    ],
)
def test_the_culprit_is_found(reply: Reply, reason: str, calls: int) -> None:
    """A question that the model will not answer, in whatever way, fails alone; the others of its pack are answered."""
    questions = [*CLAIMS, Entail(("Ann has 3 cats.",), "The poison is here.")]
    model = Model(never("poison", reply))
    answers = ask(model, questions)
    assert reasons(answers) == [""] * 8 + [reason]
    assert len(model.prompts) <= calls


def test_a_failure_keeps_the_reply() -> None:
    """A question that nothing helps has a failure with the fault and the model's reply, cut to a page."""
    model = Model(lambda prompt: '{"1": {"label": "maybe", "why": "' + "x" * 10_000 + '"}}')
    (failure,) = ask(model, [Classify("Hello.", "toxic")])
    assert isinstance(failure, Failure)
    assert failure.reason == "invalid_answer"
    assert failure.detail.startswith('the answer has as its "label" some text, not one of yes, no')
    assert failure.raw is not None
    assert failure.raw.startswith('{"1": {"label": "maybe"')
    assert len(failure.raw) == 4000
    assert len(model.prompts) == 4


def test_a_call_that_fails_costs_its_questions() -> None:
    """A call without a reply fails its own questions, with its reason, and no others; it is not made again."""
    questions = [*CLAIMS, TEXT]
    model = Model(never('"texts"', failing("timeout")))
    assert reasons(ask(model, questions)) == [""] * 8 + ["timeout"]
    assert len(model.prompts) == 2


def test_an_error_of_the_transport_is_a_failure() -> None:
    """What a transport should not raise is a failure too."""
    (failure,) = ask(Model(lambda prompt: KeyError("oops")), [TEXT])
    assert failure == Failure("judge_error", "model: the call raised KeyError: 'oops'")
