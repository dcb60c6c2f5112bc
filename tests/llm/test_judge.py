"""The LLM judge: questions in, answers or typed failures out, whatever the model says."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.llm.judging import CLAIMS, LONG, PRICE, TEXT, ask, consult, reasons
from tests.llm.models import Model, Reply, Till, failing, perfect

from ragauge.errors import BadParameter, UsageError
from ragauge.judges.base import ContextJudge, Judge, checked
from ragauge.judges.llm.judge import LLMJudge
from ragauge.judges.llm.messages import Completion
from ragauge.kinds.call import PromptStyle
from ragauge.questions import KINDS, Decompose, Relevant
from ragauge.testing import PLAIN, check_judge
from ragauge.types import Failure


def test_it_is_a_judge_that_consults_and_expects() -> None:
    """It has the members of a judge, of one that uses a desk, and of one that knows its calls beforehand."""
    judge = LLMJudge(Model())
    assert isinstance(judge, Judge)
    assert isinstance(judge, ContextJudge)
    assert judge.is_paid
    assert judge.by_sample > 1


def test_it_keeps_the_contract() -> None:
    """It passes the contract that anybody's judge can run, packed and alone."""
    check_judge(lambda: LLMJudge(Model()))
    check_judge(lambda: LLMJudge(Model(), pack="alone", style=PromptStyle(False, True)))
    assert LLMJudge(Model()).answers == set(KINDS)


def test_a_wave_takes_as_few_calls_as_it_fits_in() -> None:
    """Texts to take apart go into one call, all verdicts into another; a question given twice is asked once."""
    model = Model()
    questions = [*CLAIMS, TEXT, *PLAIN[1:], *CLAIMS]
    answers = ask(model, questions)
    assert len(model.prompts) == 2
    assert answers[:8] == answers[-8:]
    assert [checked(question, answer) for question, answer in zip(questions, answers, strict=True)] == answers
    assert not any(reasons(answers))


def test_alone_asks_one_question_a_call() -> None:
    """With pack="alone" there are as many calls as questions."""
    model = Model()
    ask(model, [*CLAIMS, TEXT], pack="alone")
    assert len(model.prompts) == 9


def test_no_questions_no_calls() -> None:
    """Nothing asked, nothing sent."""
    model = Model()
    assert ask(model, []) == []
    assert model.prompts == []


def test_it_is_open_while_anybody_uses_it() -> None:
    """The transport is opened once and closed once however often the judge is entered in between."""
    model = Model()

    async def nested() -> None:
        judge = LLMJudge(model)
        async with judge, judge:
            await judge.answer(CLAIMS)
            assert (model.opened, model.closed) == (1, 0)
        assert (model.opened, model.closed) == (1, 1)
        await asyncio.gather(judge.answer(CLAIMS), judge.answer([TEXT]))

    asyncio.run(nested())
    assert (model.opened, model.closed) == (2, 2)


def test_what_is_missing_to_begin_is_reported() -> None:
    """A missing key ends a run before it begins; a judge that is only asked has it as a failure."""

    class Keyless(Model):
        async def __aenter__(self) -> Keyless:
            raise UsageError("set MODEL_API_KEY to your key")

    async def entered() -> None:
        judge = LLMJudge(Keyless())
        for _ in range(2):
            with pytest.raises(UsageError, match="MODEL_API_KEY"):
                await judge.__aenter__()

    asyncio.run(entered())
    assert ask(Keyless(), [TEXT]) == [Failure("judge_error", "set MODEL_API_KEY to your key")]


def test_expected_calls_are_those_that_are_made() -> None:
    """What is expected without sending anything are the calls that good replies make it, with their price."""
    model, till = Model(), Till()
    questions = [*CLAIMS, Decompose(" ".join(TEXT.text for _ in range(20))), *PLAIN, Relevant("Which box?", LONG)]
    expected = LLMJudge(model, price=PRICE, context=8000).expect(questions)
    assert model.prompts == []
    consult(model, questions, till, price=PRICE, context=8000)
    assert [len(set(call.questions)) for call in expected] == [len(set(answered)) for answered in till.answered]
    assert all(
        call.cost and 0.6 * call.cost < reserved < 1.7 * call.cost
        for call, reserved in zip(expected, till.reserved, strict=True)
    )
    assert all(call.prompt_tokens > 100 and call.completion_tokens > 5 for call in expected)
    assert [call.cost for call in LLMJudge(model).expect(CLAIMS)] == [None]


def test_identity_tells_what_can_change_an_answer() -> None:
    """Model, prompts, packing and what answers carry are in the identity; equal settings are equal, also pickled."""
    judges = [
        LLMJudge(Model()),
        LLMJudge(Model(), pack="alone"),
        LLMJudge(Model(), style=PromptStyle(rationales=False)),
        LLMJudge(Model(), style=PromptStyle(quotes=True)),
        LLMJudge(Model(), context=8000),
    ]
    assert len({judge.identity for judge in judges}) == 5
    assert LLMJudge(Model(), price=PRICE).identity == judges[0].identity
    assert pickle.loads(pickle.dumps(judges[0].identity)) == judges[0].identity
    assert "prompts" in dict(judges[0].identity.settings)


@pytest.mark.parametrize("options", [{"context": 2000}])
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    """A window without room is refused with what would do."""
    with pytest.raises(BadParameter, match=r"must be"):
        LLMJudge(Model(), **options)


def _mangled(draw: Callable[[st.SearchStrategy[Any]], Any], text: str) -> Reply:
    """A reply with something wrong in it."""
    sort = draw(st.sampled_from(["whole", "cut", "keys", "noise", "values", "failed", "end"]))
    if sort == "whole":
        return text
    if sort == "cut":
        return text[: draw(st.integers(0, len(text)))]
    if sort == "failed":
        return failing(draw(st.sampled_from(["timeout", "too_long", "content_filter", "bad_request"])))
    if sort == "noise":
        return str(draw(st.text(max_size=30)))
    reply = json.loads(text)
    if sort == "keys":
        return json.dumps({draw(st.sampled_from([key, "0", "T9", "x"])): value for key, value in reply.items()})
    if sort == "end":
        return Completion(text, draw(st.sampled_from(["stop", "length", "content_filter", "refusal"])))
    junk = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), st.lists, max_leaves=3)
    return json.dumps({key: draw(st.one_of(st.just(value), junk)) for key, value in reply.items()})


@given(st.data())
def test_whatever_comes_back_every_question_ends(data: st.DataObject) -> None:
    """Any garbage leads to answers that fit or typed failures, in order, in at most four calls a question."""
    questions = data.draw(st.lists(st.sampled_from([*CLAIMS, TEXT, *PLAIN]), min_size=1, max_size=6, unique=True))
    model, till = Model(lambda prompt: _mangled(data.draw, perfect(prompt))), Till()
    answers = consult(model, questions, till, style=PromptStyle(quotes=True))
    assert len(answers) == len(questions)
    for question, answer in zip(questions, answers, strict=True):
        assert checked(question, answer) is answer, (question.kind, answer)
        assert not isinstance(answer, Failure) or answer.detail
    assert len(model.prompts) <= 4 * len(questions)
    assert len(till.calls) == len(model.prompts)
    assert till.open == []
