"""Decisions endpoints over HTTP, from their specs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from aiohttp import web
from tests.llm.deciding import TOXIC, ask, reply_to, serving

from ragauge.errors import BadParameter, UnknownName, UsageError
from ragauge.judges.base import checked
from ragauge.judges.llm.decisions import decisions_judge
from ragauge.questions import Question, Relevant
from ragauge.testing import PLAIN
from ragauge.types import Answer, Failure, Label, Verdict


async def over_http(
    spec: str, replies: Sequence[tuple[int, str | None]], questions: Sequence[Question]
) -> tuple[list[Answer | Failure], list[tuple[str, Mapping[str, str], dict[str, Any]]]]:
    """Answers over HTTP, and what arrived; replies: (status, body) of the first requests, None for a good body."""
    arrived: list[tuple[str, Mapping[str, str], dict[str, Any]]] = []

    async def handle(call: web.Request) -> web.Response:
        sent = await call.json()
        arrived.append((call.path, call.headers, sent))
        status, text = replies[len(arrived) - 1] if len(arrived) <= len(replies) else (200, None)
        return web.Response(status=status, text=text or json.dumps(reply_to(sent)), content_type="application/json")

    async with serving(handle) as base_url:
        return await decisions_judge(spec, base_url=base_url).answer(questions), arrived


@pytest.mark.parametrize(("spec", "path"), [("openai/gpt-6-luna", "/v1/decisions"), ("vllm/org/m", "/v1/systemone")])
def test_a_judge_from_its_spec_asks_over_http(spec: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model, the key and the questions arrive at the protocol's path, and what comes back are answers."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-key")
    monkeypatch.setenv("VLLM_API_KEY", "sk-key")
    questions = PLAIN[1:]
    answers, ((where, headers, sent),) = asyncio.run(over_http(spec, [], questions))
    assert (where, headers["Authorization"], sent["model"]) == (path, "Bearer sk-key", spec.partition("/")[2])
    assert [checked(question, answer) for question, answer in zip(questions, answers, strict=True)] == answers
    assert not any(isinstance(answer, Failure) for answer in answers)


def test_faults_of_a_server_lose_no_answer() -> None:
    """Throttling, an error, a reply that is cut off and one that leaves an answer out are all overcome."""
    one_left_out = json.dumps({"answers": {"1": {"type": "noul", "noul": 0.7}}})
    replies = [(429, "{}"), (500, "{}"), (200, '{"answers": {"1": {"type"'), (200, one_left_out)]
    questions = [Relevant("query", "one"), Relevant("query", "two")]
    answers, arrived = asyncio.run(over_http("vllm/m", replies, questions))
    assert answers == [Verdict(Label.YES, 0.7)] * 2
    assert [len(sent["questions"]) for _, _, sent in arrived] == [2, 2, 2, 2, 1]


@pytest.mark.parametrize(
    ("status", "message", "reason", "calls"),
    [
        (401, '{"error": {"message": "Incorrect API key"}}', "unauthorized", 1),
        (404, '{"detail": "Not Found"}', "no_such_model", 1),
        (422, '{"detail": [{"msg": "bad"}]}', "bad_request", 3),
        (413, "too large", "too_long", 3),
        (200, "not JSON", "invalid_answer", 3),
    ],
)
def test_errors_of_a_server_become_failures(status: int, message: str, reason: str, calls: int) -> None:
    """What cannot be overcome is a failure with the reason, for every question, after few calls."""
    questions = [Relevant("query", "one"), Relevant("query", "two")]
    answers, arrived = asyncio.run(over_http("vllm/m", [(status, message)] * 9, questions))
    assert [answer.reason for answer in answers if isinstance(answer, Failure)] == [reason] * 2
    assert len(arrived) == calls


def test_a_key_that_is_missing_is_reported_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run ends when it opens the judge; asked directly, the judge answers with failures that name the variable."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    judge = decisions_judge("openai/gpt-6-luna?base_url=https://api.openai.com/v1")
    with pytest.raises(UsageError, match="set OPENAI_API_KEY"):
        asyncio.run(judge.__aenter__())
    (failed,) = ask(judge, [TOXIC])
    assert isinstance(failed, Failure)
    assert "set OPENAI_API_KEY" in failed.detail


def test_the_dialect_follows_the_provider_unless_it_is_named() -> None:
    """OpenAI speaks decisions, others System One; the spec or a keyword may say otherwise, and identities tell."""

    def settings(spec: str, **options: str) -> dict[str, str]:
        return dict(decisions_judge(spec, **options).identity.settings)

    assert settings("openai/gpt-6-luna")["dialect"] == "decisions"
    assert settings("openrouter/openai/gpt-6-luna-decisions")["dialect"] == "systemone"
    assert settings("openai/m?base_url=http://127.0.0.1:1/v1&dialect=systemone&rpm=5")["dialect"] == "systemone"
    assert settings("fireworks/m", dialect="decisions")["dialect"] == "decisions"
    assert settings("vllm/m?base_url=http://127.0.0.1:1")["base_url"] == "http://127.0.0.1:1/v1"
    assert decisions_judge("openai/gpt-6-luna").identity.name == "decisions:openai/gpt-6-luna"


def test_what_a_decisions_endpoint_does_not_know_is_refused() -> None:
    """Unknown dialects and providers, and options of judges that write text, are errors that name them."""
    with pytest.raises(UnknownName, match="dialect 'systmone'; did you mean 'systemone'"):
        decisions_judge("openai/m?dialect=systmone")
    with pytest.raises(UnknownName, match="provider"):
        decisions_judge("opnai/m")
    with pytest.raises(BadParameter, match="temperature: a decisions endpoint takes none"):
        decisions_judge("openai/m?temperature=0")
    with pytest.raises(BadParameter, match="pack: a decisions endpoint takes none"):
        decisions_judge("openai/m", pack="alone")
