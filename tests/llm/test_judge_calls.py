"""The calls of an LLM judge: paid for, recorded, and no more of them once it has ended."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.llm.judging import CLAIMS, PRICE, TEXT, consult, reasons, without
from tests.llm.models import Model, Till, failing, in_turn, perfect

import ragauge as rg
from ragauge.judges.llm.judge import LLMJudge
from ragauge.judges.llm.messages import CallFailed, Completion, Prompt, TokenUsage
from ragauge.judges.llm.pricing import REASONING_TOKENS
from ragauge.types import Answer, Failure

if TYPE_CHECKING:
    from tests.llm.conftest import Kit


def test_calls_that_were_never_sent_are_not_recorded() -> None:
    """Where a transport knows beforehand that nobody answers, no call is recorded, no money stays set aside."""
    till = Till()
    known = CallFailed(Failure("quota", "spent"), fatal=True, sent=False)

    async def consulted() -> LLMJudge:
        async with LLMJudge(Model(lambda prompt: known), price=PRICE) as judge:
            assert judge.ended is None
            assert reasons(await judge.consult([*CLAIMS, TEXT], till)) == ["quota"] * 9
        return judge

    assert asyncio.run(consulted()).ended == known.failure
    assert (till.calls, till.open) == ([], [])
    assert till.reserved


def test_a_call_that_waited_for_its_money_is_not_made_after_the_end() -> None:
    """A judge that has ended while a call waited to be paid for sends it no more, and gives the money back."""

    class Slow(Till):
        async def reserve(self, dollars: float) -> bool:
            is_first = not self.reserved
            granted = await super().reserve(dollars)
            while not (is_first or self.calls):
                await asyncio.sleep(0)
            return granted

    till, model = Slow(), Model(lambda prompt: failing("unauthorized", fatal=True))
    assert reasons(consult(model, [*CLAIMS, TEXT], till)) == ["unauthorized"] * 9
    assert (len(model.prompts), len(till.calls), till.open) == (1, 1, [])


def test_a_fatal_failure_ends_all_calls() -> None:
    """After a failure that no call escapes, further questions have it without one, until the judge is opened anew."""
    model = Model(in_turn(failing("unauthorized", fatal=True), perfect))

    async def answers() -> list[list[Answer | Failure]]:
        judge = LLMJudge(model)
        async with judge:
            found = [await judge.answer([TEXT]), await judge.answer(CLAIMS)]
        return [*found, await judge.answer([TEXT])]

    first, second, third = asyncio.run(answers())
    assert first == [Failure("unauthorized", "unauthorized, says the server")]
    assert second == first * 8
    assert not any(reasons(third))
    assert len(model.prompts) == 2


def test_a_call_that_may_not_be_paid_for_is_not_made() -> None:
    """Where the desk refuses, questions fail with max_cost, nothing is sent, and nothing is recorded."""
    till, model = Till(calls=1), Model(without("2"))
    answers = consult(model, CLAIMS, till)
    assert reasons(answers) == ["", "max_cost", "", "", "", "", "", ""]
    assert "max_cost" in str(answers[1])
    assert len(model.prompts) == len(till.calls) == 1
    assert till.open == []


def test_calls_are_recorded() -> None:
    """A record has a new id, what was asked, the server's counts and name, and the price of these."""
    till = Till()
    model = Model(
        in_turn("?", lambda prompt: Completion(perfect(prompt), usage=TokenUsage(2000, 300, 1000), model="model-2"))
    )
    consult(model, CLAIMS, till, price=PRICE)
    first, second = till.calls
    assert first.id != second.id
    assert (first.model, first.asked, first.prompt_tokens, first.completion_tokens) == ("model-1", 8, 1000, 100)
    assert first.cost == pytest.approx((1000 * 1.0 + 100 * 2.0) / 1e6)
    assert second.cached_tokens == 1000
    assert second.cost == pytest.approx((1000 * 1.0 + 1000 * 0.1 + 300 * 2.0) / 1e6)
    assert first.fault.startswith("invalid_answer: the answer is missing")
    assert till.open == []
    assert min(till.reserved) > 0


def test_an_unknown_price_is_none() -> None:
    """Without a price nothing is reserved, and no cost is made up; with one, what nobody counts costs too."""
    till = Till()
    consult(Model(), CLAIMS, till)
    consult(Model(lambda prompt: Completion(perfect(prompt))), CLAIMS, till, price=PRICE)
    uncounted = till.calls.pop()
    assert uncounted.cost == pytest.approx(till.reserved[-1], rel=0.5)
    assert uncounted.prompt_tokens > 500
    consult(Model(lambda prompt: failing("timeout")), CLAIMS, till, price=PRICE)
    consult(Model(lambda prompt: failing("bad_request")), CLAIMS, till, price=PRICE)
    assert [call.cost for call in till.calls] == [None, None, 0.0]
    assert till.reserved[0] == 0


def test_ids_are_unique_over_processes() -> None:
    """Two openings of a judge, as in two processes, number their calls apart."""
    till = Till()
    judge = LLMJudge(Model())

    async def twice() -> None:
        for _ in range(2):
            async with judge:
                await judge.consult(CLAIMS, till)
                await judge.consult(CLAIMS, till)

    asyncio.run(twice())
    assert len({call.id for call in till.calls}) == 4


def test_cancellation_passes_and_is_recorded() -> None:
    """A judge that is cancelled stops at once, and the calls under way are recorded as cancelled."""
    till = Till()

    class Slow(Model):
        async def send(self, prompt: Prompt) -> Completion:
            self.prompts.append(prompt)
            await asyncio.sleep(3600)
            raise AssertionError

    async def cancelled() -> None:
        model = Slow()
        async with LLMJudge(model, price=PRICE) as judge:
            task = asyncio.ensure_future(judge.consult([*CLAIMS, TEXT], till))
            while len(model.prompts) < 2 and not task.done():
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.sleep(0)

    asyncio.run(cancelled())
    assert [(call.fault, call.cost) for call in till.calls] == [("cancelled", None)] * 2
    assert till.open == []


def test_calls_that_wait_for_their_turn_are_not_recorded_when_cancelled(kit: Kit) -> None:
    """Of eight calls, two side by side, those that the server got are recorded as cancelled, and no other."""
    till = Till()

    async def cancelled() -> int:
        async with kit.serving(lambda number, request: "stall") as server:
            judge = rg.llm("openai/m", base_url=server.url, api_key="k", concurrency=2, pack="alone", price=(1, 2))
            async with judge:
                task = asyncio.ensure_future(judge.consult(CLAIMS, till))
                while len(server.requests) < 2:
                    await asyncio.sleep(0.001)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            return len(server.requests)

    assert asyncio.run(cancelled()) == len(till.calls) == 2
    assert till.open == []


def test_calls_of_a_function_that_wait_for_their_turn_are_not_recorded_when_cancelled() -> None:
    """Of eight calls of a function, two side by side, those that it got are recorded as cancelled, and no other."""
    till, asked = Till(), []

    async def silent(messages: list[dict[str, str]]) -> str:
        asked.append(messages)
        await asyncio.sleep(60)
        return ""

    async def cancelled() -> None:
        async with rg.llm(silent, name="m", concurrency=2, pack="alone") as judge:
            task = asyncio.ensure_future(judge.consult(CLAIMS, till))
            while len(asked) < 2:
                await asyncio.sleep(0.001)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(cancelled())
    assert len(asked) == len(till.calls) == 2
    assert till.open == []


def test_thought_is_paid_for() -> None:
    """Calls to models that think are expected, and money is set aside for them, with REASONING_TOKENS more each."""

    class Thinking(Model):
        name = "openai/o3-mini"

    plain, thinking, tills = LLMJudge(Model(), price=PRICE), LLMJudge(Thinking(), price=PRICE), (Till(), Till())
    for judge, till in zip((plain, thinking), tills, strict=True):
        asyncio.run(judge.consult(CLAIMS, till))
    (less,), (more,) = plain.expect(CLAIMS), thinking.expect(CLAIMS)
    assert more.completion_tokens == less.completion_tokens + REASONING_TOKENS
    more_set_aside = tills[1].reserved[0] - tills[0].reserved[0]
    assert more_set_aside == pytest.approx(1.08 * REASONING_TOKENS * PRICE.completion / 1e6, abs=2e-6)
