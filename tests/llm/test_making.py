"""LLM judges from names, clients and functions, and over real HTTP through faults."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.llm.models import Till, perfect_reply
from tests.llm.stub.fixture import StubFactory

import ragauge as rg
from ragauge.errors import BadParameter, UnknownName
from ragauge.judges.base import checked
from ragauge.judges.llm.judge import LLMJudge
from ragauge.judges.llm.messages import CallTempo
from ragauge.judges.llm.pricing import Price
from ragauge.questions import Decompose, Entail, Question, Relevant
from ragauge.run.specs import load_judge
from ragauge.testing import check_judge
from ragauge.types import Answer, Failure, TotalUsage

if TYPE_CHECKING:
    from tests.llm.conftest import Act, Kit, Request

Messages = list[dict[str, str]]


def replying(messages: Messages) -> str:
    """A model that answers well."""
    return perfect_reply([(message["role"], message["content"]) for message in messages])


def test_a_name_becomes_a_judge() -> None:
    """A model's name with options, as text or as keywords, is one and the same judge, with its price."""
    judge = rg.llm("openai/gpt-4o-mini?max_tokens=800&pack=alone&rationales=false")
    assert judge.identity == rg.llm("openai/gpt-4o-mini", max_tokens=800, pack="alone", rationales=False).identity
    assert judge.identity.name == "openai/gpt-4o-mini"
    assert {("max_tokens", "800"), ("pack", "alone"), ("rationales", "false")} <= set(judge.identity.settings)
    assert isinstance(judge.price, Price)


def test_a_price_can_be_given() -> None:
    """A price of one's own goes before the table; a model that is in no table has none until it is given."""
    assert rg.llm("openai/none-such").price is None
    assert rg.llm("openai/none-such", price=(1, 0.5, 2)).price == Price(1, 0.5, 2)
    assert rg.llm(replying).price is None
    assert rg.llm(replying, price=(1, 2)).price == Price(1, 1, 2)


def test_more_calls_at_once_need_more_samples() -> None:
    """A judge asks for enough samples side by side to fill the calls that it may make at once."""
    assert rg.llm("openai/gpt-4o-mini", concurrency=1000).by_sample == 2000
    assert rg.llm(replying, concurrency=3).by_sample == 6
    assert rg.llm("openai/gpt-4o-mini").by_sample == 256


@pytest.mark.parametrize(
    ("judge", "tempo"),
    [
        (rg.llm("openai/gpt-4o-mini"), CallTempo(16)),
        (rg.llm("openai/gpt-4o-mini?rpm=60&tpm=1000&concurrency=99"), CallTempo(99, 60, 1000)),
        (rg.llm("ollama/qwen3:8b"), CallTempo(4)),
        (rg.llm(replying), CallTempo(8)),
        (rg.llm(replying, concurrency=3), CallTempo(3)),
    ],
)
def test_how_fast_calls_follow_each_other(judge: LLMJudge, tempo: CallTempo) -> None:
    """A judge says how many calls go side by side and what limits were given, for estimates of time."""
    assert judge.tempo == tempo


def test_a_function_becomes_a_judge() -> None:
    """A function of messages, sync or async, judges, and keeps the contract."""

    async def waits(messages: Messages) -> str:
        return replying(messages)

    check_judge(lambda: rg.llm(replying, name="mine"))
    check_judge(lambda: rg.llm(waits, name="mine", concurrency=2))
    assert rg.llm(replying, name="mine").identity.name == "mine"


def test_a_run_takes_models_as_they_are() -> None:
    """`judge=` takes a model's name, a function of messages, and each of these by kind."""
    rows = [{"query": "Who?", "response": "Ada wrote it.", "contexts": ["Ada wrote it."]}]
    run = rg.evaluate(rows, "faithfulness", replying)
    assert run.scores[0]["faithfulness"].value == 1.0
    run = rg.evaluate(rows, "faithfulness", {"decompose": "embedded", "*": replying})
    assert run.scores[0]["faithfulness"].value == 1.0
    assert isinstance(load_judge("ollama/qwen3:8b?concurrency=2"), LLMJudge)


@pytest.mark.parametrize(
    ("model", "options", "error", "message"),
    [
        ("opnai/gpt-4o", {}, UnknownName, "unknown provider 'opnai'; did you mean 'openai'"),
        ("openai/gpt-4o?temprature=0", {}, UnknownName, "unknown option 'temprature'; did you mean 'temperature'"),
        ("gpt-4o", {}, BadParameter, "write PROVIDER/MODEL"),
        (replying, {"temperature": 0}, UnknownName, "unknown option 'temperature'"),
        (replying, {"pack": "sample"}, BadParameter, "pack=alone"),
        (7, {}, BadParameter, "7 is not a 'provider/model'"),
        (dict, {}, BadParameter, "a function of messages"),
        (lambda premise, hypothesis: True, {}, BadParameter, "a function of messages"),
    ],
)
def test_what_is_no_model_is_refused(model: Any, options: dict[str, Any], error: type[Exception], message: str) -> None:
    """A provider, option or value that there is not, and what is no model at all, are refused with what would do."""
    with pytest.raises(error, match=message):
        rg.llm(model, **options)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("opnai/gpt-4o", "unknown provider 'opnai'; did you mean 'openai'"),
        ("nobody/gpt-4o", "known: .*PROVIDER/MODEL.*anthropic.*embedded"),
        ("embeded", "unknown judge 'embeded'; did you mean 'embedded'"),
    ],
)
def test_a_spec_that_nobody_answers_to(spec: str, message: str) -> None:
    """An unknown name in a run names close ones, or all providers and judges that there are."""
    with pytest.raises(UnknownName, match=message):
        load_judge(spec)


def questions_of(sample: int) -> list[Question]:
    """What a sample asks in a round."""
    chunks = tuple(f"In {sample + chunk} the harbour had {chunk} cranes and {sample} ships." for chunk in range(5))
    claims = [f"The harbour had {number} cranes." for number in range(6)]
    return [
        *(Entail(chunks, claim, "How many cranes?") for claim in claims),
        *(Relevant("How many cranes did the harbour have?", chunk) for chunk in chunks),
        Decompose(" ".join(claims), f"How many cranes were there in {sample}?"),
    ]


async def _judged(judge: LLMJudge, samples: int, till: Till) -> list[tuple[Question, Answer | Failure]]:
    async with judge:
        rounds = [questions_of(sample) for sample in range(samples)]
        answers = await asyncio.gather(*(judge.consult(asked, till) for asked in rounds))
    return [pair for asked, output in zip(rounds, answers, strict=True) for pair in zip(asked, output, strict=True)]


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_no_answer_is_lost(provider: str, stub_server: StubFactory) -> None:
    """Through rate limits, server errors, cut replies and lost connections every question of 80 samples is answered."""
    faults = {"429": 0.10, "500": 0.05, "cut": 0.05, "invalid": 0.02, "length": 0.02, "drop": 0.02, "severed": 0.01}
    server = stub_server(latency=0.005, fault=faults)
    till = Till()
    judge = rg.llm(f"{provider}/some-model", base_url=server.url, concurrency=32, price=(1, 2))
    reported = asyncio.run(_judged(judge, 80, till))
    assert not [answer for _, answer in reported if isinstance(answer, Failure)]
    assert [checked(question, answer) for question, answer in reported] == [answer for _, answer in reported]
    stats = server.stats()
    assert sum(stats["faults"].values()) > 20
    assert sum(call.prompt_tokens for call in till.calls) <= stats["prompt_tokens"]
    assert till.open == []


def test_a_clean_wave_takes_two_calls(stub_server: StubFactory) -> None:
    """A sample's questions take one call to decompose and one for all verdicts, and cost what the server counted."""
    server, till = stub_server(), Till()
    asyncio.run(_judged(rg.llm("openai/some-model", base_url=server.url, price=(1, 2)), 5, till))
    stats = server.stats()
    assert len(till.calls) == stats["calls"] == 10
    assert sum(call.prompt_tokens for call in till.calls) == stats["prompt_tokens"]
    assert sum(call.completion_tokens for call in till.calls) == stats["completion_tokens"]
    dollars = (stats["prompt_tokens"] * 1 + stats["completion_tokens"] * 2) / 1e6
    assert sum(call.cost or 0 for call in till.calls) == pytest.approx(dollars)


def test_a_call_that_was_abandoned_counts(stub_server: StubFactory) -> None:
    """Of a call that is sent twice, since no reply came in time, both count and cost something, once as expected."""
    server, till = stub_server(script=["stall"]), Till()
    judge = rg.llm("openai/some-model", base_url=server.url, price=(1, 2), timeout=0.5)
    asyncio.run(_judged(judge, 1, till))
    (twice,) = (call for call in till.calls if call.abandoned)
    assert twice.abandoned == 1
    usage = TotalUsage()
    for call in till.calls:
        usage.add(call)
    assert usage.calls == server.stats()["calls"] == 3
    assert twice.cost == pytest.approx((twice.prompt_tokens * 1 + twice.completion_tokens * 2) / 1e6)
    assert usage.prompt_tokens == pytest.approx(server.stats()["prompt_tokens"], rel=0.3)
    assert judge.notes() == ["openai/some-model: calls were tried again once: timeout 1"]


def test_what_was_tried_again_is_reported(stub_server: StubFactory) -> None:
    """A judge notes how often calls were tried again since it was opened, by reason, and nothing where none was."""
    server = stub_server(fault={"500": 0.5})
    judge = rg.llm("openai/some-model", base_url=server.url)
    asyncio.run(_judged(judge, 10, Till()))
    (note,) = judge.notes()
    assert re.fullmatch(r"openai/some-model: calls were tried again (\d+) times: server_error \1", note)
    server.reset()
    asyncio.run(_judged(judge, 1, Till()))
    assert judge.notes() == []


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"key": "right"}, "unauthorized"),
        ({"model": ["other-model"]}, "no_such_model"),
        ({"script": "quota"}, "quota"),
        ({"fault": {"refusal": 1}}, "refused"),
        ({"fault": {"filter": 1}}, "content_filter"),
        ({"fault": {"blocked": 1}}, "content_filter"),
        ({"fault": {"malformed": 1}}, "invalid_answer"),
        ({"fault": {"length": 1}}, "truncated"),
        ({"window": 100}, "too_long"),
    ],
)
def test_what_went_wrong_is_reported_apart(options: dict[str, Any], reason: str, stub_server: StubFactory) -> None:
    """Over real HTTP each way of failing comes out as its own reason, with a sentence, for each question that fails."""
    server = stub_server(**options)
    judge = rg.llm("openai/some-model", base_url=server.url, concurrency=4)
    failures = [one for one in asyncio.run(judge.answer(questions_of(1)[-3:])) if isinstance(one, Failure)]
    assert {failure.reason for failure in failures} == {reason}
    assert all(failure.detail for failure in failures)


def test_a_key_can_be_handed_over(stub_server: StubFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key given as api_key goes before the environment's, and is no part of the judge's identity."""
    monkeypatch.setenv("OPENAI_API_KEY", "wrong")
    server = stub_server(key="right")
    judge = rg.llm("openai/some-model", base_url=server.url, api_key="right")
    assert judge.identity == rg.llm("openai/some-model", base_url=server.url).identity
    (answer,) = asyncio.run(judge.answer(questions_of(1)[-1:]))
    assert not isinstance(answer, Failure), answer


def test_one_judge_in_two_threads_is_refused(stub_server: StubFactory) -> None:
    """A judge that is at work in one thread says so in another, and works there once the first is done."""
    judge = rg.llm("openai/some-model", base_url=stub_server().url)

    def elsewhere() -> Answer | Failure:
        (answer,) = asyncio.run(judge.answer(questions_of(1)[-1:]))
        return answer

    async def here() -> Answer | Failure:
        async with judge:
            return await asyncio.to_thread(elsewhere)

    refused = asyncio.run(here())
    assert isinstance(refused, Failure)
    assert "is in use in another thread" in refused.detail
    assert not isinstance(elsewhere(), Failure)


def test_a_server_that_cuts_prompts_is_found_out(kit: Kit) -> None:
    """A text of which the server counts too few tokens is judged in parts; if that is no cure, the failure says so."""

    def serve(window: int) -> tuple[Answer | Failure, list[int]]:
        def script(number: int, request: Request) -> Act:
            output = [(message["role"], message["content"]) for message in request.body["messages"]]
            counted = min(window, sum(len(text) for _, text in output) // 4)
            return kit.reply(perfect_reply(output), usage={"prompt_tokens": counted, "completion_tokens": 9})

        async def served() -> tuple[Answer | Failure, list[int]]:
            async with kit.serving(script) as server:
                (answer,) = await rg.llm("ollama/small", base_url=server.url).answer([Relevant("Which?", text)])
                return answer, [len(json.dumps(request.body)) for request in server.requests]

        return asyncio.run(served())

    text = " ".join(f"Fact number {n} is that box {n} holds {n} stones." for n in range(900))
    answer, sizes = serve(2048)
    assert not isinstance(answer, Failure), answer
    assert sizes[0] > 40_000
    assert sizes[-1] < 20_000
    failure, _ = serve(100)
    assert isinstance(failure, Failure)
    assert failure.reason == "too_long"
    assert "the server counted 100 tokens of a prompt of" in failure.detail
    assert "OLLAMA_CONTEXT_LENGTH" in failure.detail


def test_a_small_window_of_the_server_is_found_out(stub_server: StubFactory) -> None:
    """A text that fits by our measure, but not the server's window, is judged in parts and answered."""
    server = stub_server(window=6000)
    text = " ".join(f"Fact number {n} is that box {n} holds {n} stones." for n in range(900))
    judge = rg.llm("openai/some-model", base_url=server.url)
    (answer,) = asyncio.run(judge.answer([Relevant("Which box holds 700 stones?", text)]))
    assert not isinstance(answer, Failure), answer
    assert server.stats()["statuses"]["400"] > 0
