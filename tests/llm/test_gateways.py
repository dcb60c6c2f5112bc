"""Replies and token counts of odd models and gateways, over real HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.llm.conftest import Act, Kit, Request, Scripted
from tests.llm.models import perfect_reply

import ragauge as rg
from ragauge.judges.llm.messages import MAX_MALFORMED, TokenUsage, credible, usage_of
from ragauge.questions import Classify, Question
from ragauge.run.results import Run
from ragauge.store import Store
from ragauge.types import Answer, Failure, Label, Verdict

Reply = Callable[[int, str], str]

ONE = Classify("You fool.", "toxic")
PROSE = "I would say that most of this holds, though it is hard to be sure."
YES, NO = (json.dumps({"1": {"why": "", "label": label}}) for label in ("yes", "no"))
WHOLE = {"prompt_tokens": 550, "completion_tokens": 22}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key, which the server takes as it takes any."""
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")


def rows(count: int) -> list[dict[str, Any]]:
    """Samples of a sentence each, no two alike."""
    return [
        {"query": f"When was {n}?", "response": f"Town {n} was founded in {n}.", "contexts": [f"Town {n} is of {n}."]}
        for n in range(1000, 1000 + count)
    ]


def script(kit: Kit, reply: Reply, usage: Any = WHOLE) -> Callable[[int, Request], Act]:
    """A server that says what `reply` makes of the number of the call and a good reply to it."""

    def act(number: int, request: Request) -> Act:
        output = [(message["role"], message["content"]) for message in request.body["messages"]]
        schema = request.body["response_format"]["json_schema"]["schema"]
        return kit.reply(reply(number, perfect_reply(output, schema)), usage=usage)

    return act


def answered(kit: Kit, reply: Reply, question: Question = ONE) -> tuple[Answer | Failure, Scripted]:
    """What a judge makes of one question to that server, and the server."""

    async def asked() -> tuple[Answer | Failure, Scripted]:
        async with kit.serving(script(kit, reply)) as server:
            (answer,) = await rg.llm("openai/gpt-4o-mini", base_url=server.url).answer([question])
            return answer, server

    return asyncio.run(asked())


def measured(kit: Kit, reply: Reply, count: int, usage: Any = WHOLE, **options: Any) -> tuple[Run, Scripted]:
    """A run of faithfulness over that server, and the server."""
    model = options.pop("model", "openai/gpt-4o-mini")
    concurrency = options.pop("concurrency", 8)

    async def ran() -> tuple[Run, Scripted]:
        async with kit.serving(script(kit, reply, usage)) as server:
            judge = rg.llm(model, base_url=server.url, concurrency=concurrency)
            return await rg.evaluate_async(rows(count), "faithfulness", judge, **options), server

    return asyncio.run(ran())


@pytest.mark.parametrize("form", ["{}\n{}", "```json\n{}\n```\nOn reflection:\n```json\n{}\n```", "[{}, {}]"])
def test_two_whole_objects_that_disagree_are_asked_again(kit: Kit, form: str) -> None:
    """Neither of two contradictory replies is taken for the answer; the model is asked again and that reply counts."""
    answer, server = answered(kit, lambda number, good: form.format(YES, NO) if number == 0 else YES)
    assert isinstance(answer, Verdict)
    assert answer.label == Label.YES
    assert len(server.requests) == 2
    assert "given more than once" in server.requests[1].body["messages"][-1]["content"]


@pytest.mark.parametrize(
    "reply",
    [
        f"{YES}\n{YES}",
        f"```json\n{YES}\n```\nSo, in short: {YES.replace(' ', '')}",
        f"<think>At first {NO}, no: {YES}, or {NO}?</think>\n{YES}",
    ],
    ids=["equal", "repeated", "thought"],
)
def test_an_answer_that_is_repeated_or_follows_a_draft_is_read(kit: Kit, reply: str) -> None:
    """Equal objects are one answer, and drafts in a <think> block are none: nothing is asked again."""
    answer, server = answered(kit, lambda number, good: reply)
    assert isinstance(answer, Verdict)
    assert answer.label == Label.YES
    assert len(server.requests) == 1


def test_a_draft_alone_is_no_reply(kit: Kit) -> None:
    """What stands in a <think> block is not taken for the answer where none follows."""
    answer, server = answered(kit, lambda number, good: f"<think>{NO}</think>\nDone." if number == 0 else YES)
    assert isinstance(answer, Verdict)
    assert answer.label == Label.YES
    assert len(server.requests) == 2


def test_no_score_is_wrong_where_replies_contradict_themselves(kit: Kit) -> None:
    """With one reply in five followed by its opposite every score is that of a faultless server."""

    def opposite(number: int, good: str) -> str:
        return good + good.replace("entailed", "neutral").replace('"claim"', '"neither"') if number % 5 == 0 else good

    calm, _ = measured(kit, lambda number, good: good, 20)
    run, _ = measured(kit, opposite, 20)
    assert run.values("faithfulness") == calm.values("faithfulness")


def test_a_model_that_never_replies_in_form_is_given_up(kit: Kit, tmp_path: Any) -> None:
    """Of 40 rows of prose a few calls are made and no more; the message says what came, and no run is left behind."""
    with pytest.raises(
        rg.errors.RunFailed, match=r"no_form: none of 24 replies holds a JSON object.*'I would say that"
    ) as failed:
        measured(kit, lambda number, good: PROSE, 40, store=tmp_path)
    assert "no sample was done: " in str(failed.value)
    assert Store.open(tmp_path).runs() == []
    assert MAX_MALFORMED <= len(list(Store.open(tmp_path).calls())) <= MAX_MALFORMED + 8


@pytest.mark.parametrize("concurrency", [1, 8, 32])
def test_giving_up_takes_few_calls_at_any_width(kit: Kit, concurrency: int) -> None:
    """No more calls are made than the replies it takes to be sure, and those under way."""
    sent = []

    def prose(number: int, good: str) -> str:
        sent.append(number)
        return PROSE

    try:
        run, _ = measured(kit, prose, 40, concurrency=concurrency)
        assert run.record.status == "stopped"
    except rg.errors.RunFailed:
        pass
    assert MAX_MALFORMED <= len(sent) <= MAX_MALFORMED + concurrency


def test_a_model_that_sometimes_replies_in_form_is_not_given_up(kit: Kit) -> None:
    """One good reply, however late and rare, and the run goes on to its end."""
    run, server = measured(kit, lambda number, good: good if number % 20 == 19 else PROSE, 40, concurrency=4)
    assert run.record.status == "finished"
    assert run.record.samples == 40
    assert len(server.requests) > 2 * MAX_MALFORMED


def test_one_sample_that_is_refused_in_prose_does_not_end_the_run(kit: Kit) -> None:
    """However many calls one text costs, others are asked: it takes several samples without form to give up."""
    text = " ".join(f"Claim {n}." for n in range(40))
    sample = {"query": "q", "response": "r", "contexts": [f"{n}. {text}" for n in range(12)], "references": ["r"]}

    def reply(number: int, good: str) -> str:
        return PROSE if number < 40 else good

    async def ran() -> Run:
        async with kit.serving(script(kit, reply)) as server:
            judge = rg.llm("openai/gpt-4o-mini", base_url=server.url, concurrency=1, pack="alone")
            return await rg.evaluate_async([sample], "context_precision", judge)

    assert asyncio.run(ran()).record.status == "finished"


ODD_USAGE = [
    {"prompt_tokens": 10},
    {"prompt_tokens": 150, "completion_tokens": 22, "prompt_tokens_details": {"cached_tokens": 400}},
    {"prompt_tokens": 0, "completion_tokens": 0},
    {"prompt_tokens": -5, "completion_tokens": -7, "prompt_cache_hit_tokens": -9},
    {"prompt_tokens": "many", "completion_tokens": 1.5, "prompt_tokens_details": []},
    {"prompt_tokens": 10**30, "completion_tokens": True},
    "unknown",
    {},
    None,
]


@pytest.mark.parametrize("usage", ODD_USAGE, ids=str)
def test_no_count_of_tokens_makes_a_good_reply_bad(kit: Kit, usage: Any) -> None:
    """Whatever a gateway counts, a valid reply is read, costs what its tokens cost, and nothing is asked again."""
    run, server = measured(kit, lambda number, good: good, 3, usage)
    assert run.estimates["faithfulness"].n == 3
    assert len(server.requests) == 6
    whole, _ = measured(kit, lambda number, good: good, 3)
    assert 0.4 * whole.record.spent.cost < run.record.spent.cost < 2.5 * whole.record.spent.cost
    assert run.record.spent.unpriced == 0


def test_estimated_tokens_are_reported(kit: Kit) -> None:
    """A run whose tokens the server did not count says in its notes that they are estimates; another says nothing."""
    run, _ = measured(kit, lambda number, good: good, 3, {"prompt_tokens": 10})
    assert any("tokens and price of 6 calls are estimates" in note for note in run.record.notes)
    assert not any("estimates" in note for note in measured(kit, lambda number, good: good, 3)[0].record.notes)


TOKENS = st.integers(-(10**4), 10**7)


@given(TOKENS, TOKENS, TOKENS, st.integers(0, 10**5), st.integers(0, 10**5))
def test_counts_are_believed_within_reason(prompt: int, completion: int, cached: int, sent: int, wrote: int) -> None:
    """No combination of counts is taken for less than half of the estimate, or has more cached tokens than others."""
    usage = credible(TokenUsage(prompt, completion, cached), TokenUsage(sent, wrote))
    assert 2 * usage.prompt >= sent
    assert 2 * usage.completion >= wrote
    assert 0 <= usage.cached <= usage.prompt
    assert credible(None, TokenUsage(sent, wrote)) == TokenUsage(sent, wrote)


def test_cached_tokens_apart_are_reported_from_those_within() -> None:
    """The same counts are read as the estimate of the prompt suggests: cached tokens on top of the others, or among."""
    assert credible(TokenUsage(1600, 60, 1500), TokenUsage(3000, 50)) == TokenUsage(3100, 60, 1500)
    assert credible(TokenUsage(3100, 60, 1500), TokenUsage(3000, 50)) == TokenUsage(3100, 60, 1500)


@given(st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers()))
def test_what_is_no_count_counts_nothing(output: object) -> None:
    """A count is a number that a call can have; text, fractions of nothing, and the like are 0."""
    usage = usage_of({"read": output}, "read", "written") or TokenUsage()
    assert 0 <= usage.prompt < 10**8
    assert json.dumps(usage.prompt).isdigit()
