"""The clients that Valor's front door takes: hosted models, functions, and those that fail."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.compat.valor_ferry import FERRY
from tests.llm.stub.fixture import StubFactory

import ragauge as rg
from ragauge.compat.valor import Evaluator, MetricType, MistralWrapper, OpenAIWrapper, QueryResponse


@pytest.mark.parametrize(
    ("make", "environment", "key"),
    [(Evaluator.openai, "OPENAI", "openai-key"), (Evaluator.mistral, "MISTRAL", "mistral-key")],
)
def test_hosted_models(
    make: Callable[..., Evaluator],
    environment: str,
    key: str,
    stub_server: StubFactory,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """`Evaluator.openai` and `.mistral` ask the provider's server for the model, with the key that is given."""
    server = stub_server(key=key, record=str(tmp_path / "calls.jsonl"))
    monkeypatch.setenv(f"{environment}_BASE_URL", server.url)
    monkeypatch.setenv(f"{environment}_API_KEY", "another-key")
    metric = make("model-1", api_key=key).compute_context_relevance(FERRY)
    assert metric.parameters == {"evaluator": "model-1", "retries": 0}
    assert isinstance(metric.value, float)
    calls = [json.loads(line) for line in (tmp_path / "calls.jsonl").read_text("utf-8").splitlines()]
    assert {call["body"]["model"] for call in calls} == {"model-1"}


def test_wrappers_are_clients(stub_server: StubFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrapped model may be handed over as Valor's is, and the key in the environment serves without another."""
    monkeypatch.setenv("OPENAI_BASE_URL", stub_server(key="k").url)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    evaluator = Evaluator(client=OpenAIWrapper("gpt-4o", seed=3))
    assert evaluator.compute_faithfulness(FERRY).value == 1.0
    assert ("seed", "3") in evaluator.client.judge.identity.settings
    mistral = MistralWrapper(model_name="mistral-large-latest")
    assert mistral.model_name == "mistral-large-latest"
    assert isinstance(evaluator.client, OpenAIWrapper)
    assert not isinstance(mistral, OpenAIWrapper)


def test_a_refused_key_is_an_error(stub_server: StubFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge that cannot be reached at all ends the method, as an error of the API does with Valor."""
    monkeypatch.setenv("OPENAI_BASE_URL", stub_server(key="right").url)
    monkeypatch.setenv("OPENAI_API_KEY", "wrong")
    with pytest.raises(rg.errors.RunFailed, match="set OPENAI_API_KEY to a key"):
        Evaluator.openai().compute_bias(FERRY)


def test_an_evaluator_that_cannot_be() -> None:
    """Without a client no metric asks one; negative retries, and a judge that cannot answer, are refused."""
    with pytest.raises(ValueError, match="Faithfulness asks a model"):
        Evaluator().compute_faithfulness(FERRY)
    assert Evaluator().compute_rouge(FERRY)
    with pytest.raises(ValueError, match="retries=-1 must be 0 or more"):
        Evaluator(retries=-1)
    with pytest.raises(rg.errors.UnanswerableNeed, match="bias"):
        Evaluator(rg.judge_from(entail=lambda premise, hypothesis: True)).compute_bias(FERRY)
    with pytest.raises(rg.errors.UsageError, match="not a judge"):
        Evaluator(3).compute_bias(FERRY)


def test_a_system_prompt_of_ones_own_is_warned_of() -> None:
    """A system prompt is not sent, and a program that sets one is warned."""
    with pytest.warns(UserWarning, match="default_system_prompt is not sent"):
        evaluator = Evaluator(default_system_prompt="You are a pirate.")
    assert evaluator.default_system_prompt == "You are a pirate."
    with pytest.warns(UserWarning, match="default_system_prompt is not sent"):
        Evaluator.mistral(default_system_prompt="You are a pirate.")


@pytest.mark.parametrize("retries", [0, 2])
def test_each_round_asks_four_times(retries: int) -> None:
    """A round asks, quotes the fault, asks afresh and quotes again; retries are further rounds."""
    asked: list[Any] = []

    def prose(messages: list[dict[str, str]]) -> str:
        asked.append(messages)
        return "I would rather chat."

    assert Evaluator(prose, retries).compute_toxicity(QueryResponse("q?", "I hate it.")).type == "Error"
    assert len(asked) == 4 * (1 + retries)


def test_a_client_that_talks_nonsense() -> None:
    """Without a usable reply a metric is of type "Error" and says why, and ROUGE and BLEU have their values."""

    def nonsense(messages: list[dict[str, str]]) -> str:
        return "I would rather not."

    results = Evaluator(nonsense).compute_all(FERRY)
    (bias,), (bleu,) = results[MetricType.Bias], results[MetricType.BLEU]
    assert bias.type == "Error"
    assert isinstance(bias.value, dict)
    assert bias.value["type"] == "InvalidLLMResponseError"
    assert "no JSON object" in bias.value["message"]
    assert isinstance(bleu.value, float)


def test_a_client_that_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a client raises is reported by the metric that needed its reply, which is retried as often as configured."""
    monkeypatch.setattr("ragauge.judges.llm.adapters.PAUSE_SECONDS", 0)
    calls: list[int] = []

    def broken(messages: list[dict[str, str]]) -> str:
        calls.append(1)
        raise ConnectionResetError("gone")

    metric = Evaluator(broken).compute_context_relevance(FERRY)
    assert isinstance(metric.value, dict)
    assert "ConnectionResetError: gone" in metric.value["message"]
    once = len(calls)
    Evaluator(broken, retries=2).compute_context_relevance(FERRY)
    assert len(calls) == once + 3 * once
