"""Decisions endpoints in runs, over HTTP: what requests cost and whom they answered, limits, ends, and long texts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
from aiohttp import web
from tests.llm.deciding import reply_to, serving
from tests.llm.judging import CLAIMS
from tests.llm.models import Till

import ragauge as rg
from ragauge.judges.base import ContextJudge, ForecastingJudge
from ragauge.judges.llm.decisions import DecisionsJudge, decisions_judge
from ragauge.judges.llm.pricing import Price
from ragauge.questions import COHERENCE, Decompose, Entail, Question, Rate, Relevant
from ragauge.scores import RunRecord
from ragauge.types import Answer, ChunkVerdict, Failure, Label, Verdict

LONG = " ".join(f"Town {n} was founded by monks and lies on a river." for n in range(400))
T = TypeVar("T")
METRICS = ["context_precision", "context_recall", "faithfulness"]


class Endpoint:
    """Replies as its options say, and keeps what it answered. window: characters of a body that it takes."""

    def __init__(self, window: int = 1_000_000, status: int = 200, bad: int = 0) -> None:
        self.answered: list[dict[str, Any]] = []
        self.calls = self.tokens = 0
        self._window, self._status, self._bad = window, status, bad

    async def handle(self, call: web.Request) -> web.Response:
        """The reply to a request."""
        text = await call.text()
        self.calls += 1
        if self._status != 200:
            return web.json_response({"error": {"message": "no"}}, status=self._status)
        if len(text) > self._window:
            return web.json_response({"error": {"message": "maximum context length exceeded"}}, status=400)
        sent = json.loads(text)
        self.answered.append(sent)
        self.tokens += len(text) // 4
        reply = reply_to(sent) | {"usage": {"input_tokens": len(text) // 4, "output_tokens": 0}}
        if self.calls <= self._bad:
            reply["answers"] = {}
        return web.json_response(reply)


def working(endpoint: Endpoint, work: Callable[[str], Awaitable[T]]) -> T:
    """What `work` comes to, given the URL of the endpoint."""

    async def work_there() -> T:
        async with serving(endpoint.handle) as url:
            return await work(url)

    return asyncio.run(work_there())


def consult(
    endpoint: Endpoint, questions: Sequence[Question], desk: Till, **options: Any
) -> tuple[Sequence[Answer | Failure], DecisionsJudge]:
    """What the judge answers at a desk."""

    async def work(url: str) -> tuple[Sequence[Answer | Failure], DecisionsJudge]:
        async with decisions_judge("vllm/m", base_url=url, **options) as judge:
            return await judge.consult(questions, desk), judge

    return working(endpoint, work)


def samples(count: int) -> list[dict[str, Any]]:
    """Samples about a town each."""
    return [
        {
            "query": f"When was town {n} founded?",
            "response": f"Town {n} was founded in {1000 + n}.",
            "contexts": [f"Town {n} was founded in {1000 + n} by monks.", f"Town {n} has a mill."],
            "references": [f"Town {n} was founded in {1000 + n}."],
        }
        for n in range(count)
    ]


def test_requests_are_recorded_with_tokens_and_cost() -> None:
    """A request is one record: its tokens as the server counted them, its price, and the questions it answered."""
    till, endpoint = Till(), Endpoint()
    _, judge = consult(endpoint, [*CLAIMS, Decompose("text")], till, price=(10, 10, 0))
    assert isinstance(judge, ContextJudge)
    assert isinstance(judge, ForecastingJudge)
    (call,) = till.calls
    assert (call.asked, call.prompt_tokens, call.completion_tokens) == (8, endpoint.tokens, 0)
    assert call.model == "m"
    assert call.cost == pytest.approx(endpoint.tokens * 10 / 1e6)
    assert till.answered == [CLAIMS]
    assert till.open == []
    assert till.reserved == [pytest.approx(call.cost, rel=0.3)]


def test_a_reply_that_is_no_use_is_paid_for_and_asked_again() -> None:
    """Each try is a record, the first with its fault and no question, the second with those that it answered."""
    till = Till()
    consult(Endpoint(bad=1), CLAIMS, till, price=(10, 10, 0))
    assert ["leaves a question out" in call.fault for call in till.calls] == [True, False]
    assert till.answered == [[], CLAIMS]
    assert all(call.cost for call in till.calls)


def test_questions_of_several_requests_belong_to_the_last() -> None:
    """A question whose asks go into two requests is counted with the one that brought the last of them."""
    till = Till()
    many: list[Question] = [Entail((f"a {n}", f"b {n}"), "claim") for n in range(30)]
    consult(Endpoint(), many, till)
    assert len(till.calls) == 2
    assert sorted(map(repr, [question for some in till.answered for question in some])) == sorted(map(repr, many))


def test_money_that_is_gone_is_not_spent() -> None:
    """Where the desk says no nothing is sent, and the failure says what to raise."""
    endpoint = Endpoint()
    answers, _ = consult(endpoint, CLAIMS, Till(calls=0), price=(10, 10, 0))
    assert {answer.reason for answer in answers if isinstance(answer, Failure)} == {"max_cost"}
    assert endpoint.calls == 0


@pytest.mark.parametrize(
    ("spec", "price"),
    [
        ("openai/gpt-6-luna", Price(0.1, 0.01, 0.5)),
        ("openai/gpt-6-luna?price=1:0", Price(1.0, 1.0, 0.0)),
        ("vllm/org/m", Price(0.0, 0.0, 0.0)),
        ("openai/unheard-of", None),
    ],
)
def test_the_price_is_that_of_the_option_or_of_the_table(spec: str, price: Price | None) -> None:
    """The option goes before the table; a model on one's own machine costs nothing, an unknown one is not guessed."""
    found = decisions_judge(spec).price
    assert (found and msgspec.structs.replace(found, dated=None)) == price


def test_what_is_expected_is_what_is_sent() -> None:
    """A plan counts as many requests as are made, their tokens within a third, and every question, without a key."""
    questions: list[Question] = [Entail((f"a {n}", f"b {n}"), "claim") for n in range(30)]
    expected = decisions_judge("vllm/m", price=(0.1, 0.1, 0)).expect([*questions, Decompose("text")])
    till, endpoint = Till(), Endpoint()
    consult(endpoint, questions, till)
    assert len(expected) == len(till.calls)
    assert {question for one in expected for question in one.questions} == set(questions)
    assert sum(one.prompt_tokens for one in expected) == pytest.approx(endpoint.tokens, rel=1 / 3)
    assert expected[0].cost == pytest.approx(expected[0].prompt_tokens * 0.1 / 1e6)


def test_an_end_is_remembered_until_the_judge_is_opened_again() -> None:
    """After a refused key nothing more is sent, and the judge says so; opened anew it asks again."""
    endpoint = Endpoint(status=401)

    async def work(url: str) -> list[str]:
        ends = []
        judge = decisions_judge("vllm/m", base_url=url)
        async with judge:
            await judge.answer(CLAIMS)
            await judge.answer(CLAIMS)
            ends.append(judge.ended.reason if judge.ended else "")
        async with judge:
            ends.append(judge.ended.reason if judge.ended else "")
        return ends

    assert working(endpoint, work) == ["unauthorized", ""]
    assert endpoint.calls == 1


def test_a_text_that_is_too_long_is_judged_in_parts() -> None:
    """Chunks and passages beyond the window are read in windows; each has a label, and the call names the whole."""
    till, endpoint = Till(), Endpoint(window=8000)
    questions: list[Question] = [Entail((LONG, "A mill."), "claim"), Relevant("query", LONG)]
    (entail, relevant), _ = consult(endpoint, questions, till)
    assert isinstance(entail, Verdict)
    assert [type(chunk) for chunk in entail.chunks] == [ChunkVerdict] * 2
    assert (entail.label, relevant) == (Label.ENTAILED, Verdict(Label.YES, 0.7))
    assert {question for some in till.answered for question in some} == set(questions)
    read = " ".join(json.loads(sent["state"])["sources"].get("S1", "") for sent in endpoint.answered)
    assert len(read) < 4 * len(LONG)


def test_questions_with_one_long_text_share_the_requests_that_are_answered() -> None:
    """Of twenty claims held against a long text each window is sent once with all claims, not twenty times."""
    endpoint = Endpoint(window=16_000)
    answers, _ = consult(endpoint, [Entail((LONG,), f"Claim {n}.") for n in range(20)], Till())
    assert {type(answer) for answer in answers} == {Verdict}
    assert len(endpoint.answered) < 20


def test_a_text_to_be_graded_that_is_too_long_fails_with_a_way_out() -> None:
    """A grade is of a whole text: the failure says whom to name for that kind, and the rest is answered."""
    questions: list[Question] = [Rate(COHERENCE, (("source", LONG), ("response", "r"))), *CLAIMS]
    (failed, *others), _ = consult(Endpoint(window=8000), questions, Till())
    assert isinstance(failed, Failure)
    assert failed.reason == "too_long"
    assert "judge={'rate': 'PROVIDER/MODEL'" in failed.detail
    assert not any(isinstance(answer, Failure) for answer in others)


async def run(url: str, store: Path, **options: Any) -> RunRecord:
    """The record of a run over ten samples."""
    judge: dict[str, Any] = {
        "decompose": "embedded",
        "*": decisions_judge("vllm/m", base_url=url, price=(10, 10, 0)),
    }
    return (await rg.evaluate_async(samples(10), METRICS, judge, store, **options)).record


def test_a_run_counts_keeps_and_stops(tmp_path: Path) -> None:
    """A run says what was spent, stops at its limit without overrunning it, and goes on without paying twice."""
    endpoint = Endpoint()

    async def work(url: str) -> list[RunRecord]:
        whole = await run(url, tmp_path / "whole")
        assert (whole.spent.calls, whole.spent.prompt_tokens) == (endpoint.calls, endpoint.tokens)
        part = await run(url, tmp_path / "part", max_cost=whole.spent.cost / 2)
        return [whole, part, await run(url, tmp_path / "part")]

    whole, part, rest = working(endpoint, work)
    assert [record.status for record in (whole, part, rest)] == ["finished", "stopped", "finished"]
    assert 0 < part.spent.cost <= whole.spent.cost / 2
    assert part.spent.cost + rest.spent.cost == pytest.approx(whole.spent.cost)


def test_a_run_ends_with_the_judge(tmp_path: Path) -> None:
    """A key that is refused ends the run after at most one request a sample, with the reason."""
    endpoint = Endpoint(status=401)
    with pytest.raises(rg.RunFailed, match="unauthorized: vllm/m at"):
        working(endpoint, lambda url: run(url, tmp_path))
    assert endpoint.calls <= 10
