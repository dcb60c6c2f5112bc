"""Runs with a limit on the cost: never overrun, and what the money is enough for is finished."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.llm.conftest import Act, Kit, Request
from tests.llm.models import perfect_reply
from tests.llm.stub.fixture import StubFactory
from tests.llm.stub.process import StubServer
from tests.run.test_llm_run import METRICS, _samples

import ragauge as rg
from ragauge.cli import main
from ragauge.run.results import Run
from ragauge.store import Store

Measure = Callable[..., Run]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key, which the stub takes as it takes any."""
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")


def judge(server: StubServer, **options: Any) -> Any:
    """A judge of known price at that server."""
    return rg.llm("openai/gpt-4o-mini", base_url=server.url, **options)


@pytest.fixture
def server(stub_server: StubFactory) -> StubServer:
    """A stub whose replies take a while, so that many calls are under way at once."""
    return stub_server(latency=0.01)


@pytest.mark.parametrize("share", [0.75, 0.5, 0.25, 0.1])
def test_what_the_money_is_enough_for_is_finished(server: StubServer, share: float) -> None:
    """The share of samples is done that the limit is of what all cost, and next to nothing is spent on others."""
    samples = _samples(20)
    whole = rg.evaluate(samples, METRICS, judge(server)).record.spent.cost
    run = rg.evaluate(samples, METRICS, judge(server), max_cost=whole * share * 1.05)
    spent, each = run.record.spent, whole / 20
    assert run.record.status == "stopped"
    assert spent.cost <= whole * share * 1.05
    assert 20 * share - 1.5 <= run.record.samples <= 20 * share + 1
    assert spent.cost == pytest.approx(run.record.samples * each, abs=0.6 * each)
    assert run.estimates["faithfulness"].n == run.record.samples


def test_half_of_a_plan_does_about_half_and_the_same_again_the_rest(server: StubServer, tmp_path: Path) -> None:
    """Repeating the command with the same limit goes on with what is left, and nothing is asked twice."""
    samples = _samples(20)
    limit = rg.plan(samples, METRICS, judge(server)).cost.dollars
    assert limit
    first, second = (rg.evaluate(samples, METRICS, judge(server), tmp_path, max_cost=limit / 2) for _ in range(2))
    assert 9 <= first.record.samples <= 15
    assert (second.record.samples, second.record.status) == (20, "finished")
    assert server.stats()["calls"] == 40
    assert len(Store.open(tmp_path).runs()) == 2


def test_a_limit_below_one_sample_sends_nothing(server: StubServer, tmp_path: Path) -> None:
    """A plan that shows the limit to be less than one sample costs ends the run with the price, and leaves no trace."""
    with pytest.raises(
        rg.errors.RunFailed, match=r"the limit of \$0\.0002 is below the expected cost of one sample, about"
    ):
        rg.evaluate(_samples(5), METRICS, judge(server), tmp_path, max_cost=0.0002)
    assert server.stats()["calls"] == 0
    assert Store.open(tmp_path).runs() == []


def test_money_that_is_gone_before_a_sample_is_done_is_reported(stub_server: StubFactory, tmp_path: Path) -> None:
    """A first sample that costs more than was foreseen leaves a run without samples, which says what was spent."""
    server = stub_server(fault={"invalid": 1.0})
    limit = rg.plan(_samples(1), METRICS, judge(server)).cost.dollars
    assert limit
    run = rg.evaluate(_samples(5), METRICS, judge(server), tmp_path, max_cost=1.05 * limit)
    assert (run.record.status, run.record.samples) == ("stopped", 0)
    assert run.record.spent.cost > 0
    assert "with 5 samples to go" in " ".join(str(run).split())
    assert "price $0.0" in str(run)


def test_the_first_paid_sample_is_alone(server: StubServer) -> None:
    """Under a limit nothing else is begun before one sample shows what samples cost: of three, two are side by side."""
    rg.evaluate(_samples(3), METRICS, judge(server), max_cost=1)
    assert server.stats()["widest"] <= 2


def _call(folder: Path, *arguments: object) -> Result:
    (folder / "data.jsonl").write_text("\n".join(map(json.dumps, _samples(10))), encoding="utf-8")
    fixed = ("run", str(folder / "data.jsonl"), "-m", "faithfulness,context_precision")
    return CliRunner().invoke(main, [*fixed, *map(str, arguments)])


def test_the_command_says_what_is_done_and_goes_on(server: StubServer, tmp_path: Path) -> None:
    """The exit code is 4, the samples done and the money are reported, and repeating the command finishes the run."""
    name = f"openai/gpt-4o-mini?base_url={server.url}"
    store = ("--store", tmp_path / "kept", "-j", name)
    whole = rg.plan(tmp_path / "data.jsonl" if _call(tmp_path, "--no-store") else "", METRICS[:1] + METRICS[2:3], name)
    assert whole.cost.dollars
    limit = f"{whole.cost.dollars / 2:.6f}"
    first = _call(tmp_path, *store, "--max-cost", limit)
    done = Run.open(tmp_path / "kept").record.samples
    assert first.exit_code == 4
    assert 4 <= done <= 8
    assert f"these are the first {done} samples" in " ".join(first.stdout.split())
    assert f"spent), with {10 - done} samples to go; run the same command again to resume" in first.stderr
    assert _call(tmp_path, *store, "--max-cost", limit).exit_code == 0
    assert Run.open(tmp_path / "kept").record.samples == 10
    server.reset()
    gate = ("--fail-under", "faithfulness=0.01")
    nothing = _call(tmp_path, "--no-store", "-j", name, "--max-cost", limit, *gate)
    assert nothing.exit_code == 4
    assert "gate holds: faithfulness ≥ 0.01" in nothing.stderr
    assert "Calls to models" in nothing.stdout
    assert "spent), with" in nothing.stderr
    assert "goes on" not in nothing.stderr


TOKENS = st.none() | st.integers(-100, 5000)
USAGES = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "prompt_tokens": TOKENS,
        "completion_tokens": TOKENS,
        "prompt_tokens_details": st.none() | st.fixed_dictionaries({"cached_tokens": TOKENS}),
        "prompt_cache_hit_tokens": TOKENS,
    },
)


@settings(max_examples=15)
@given(usage=USAGES, share=st.floats(0.15, 0.9))
def test_a_limit_holds_whatever_the_server_counts(usage: Any, share: float) -> None:
    """Under every combination of counts no call is made once the limit is spent, and no call is free."""
    samples = _samples(8)

    def script(number: int, request: Request) -> Act:
        output = [(message["role"], message["content"]) for message in request.body["messages"]]
        schema = request.body["response_format"]["json_schema"]["schema"]
        return Kit().reply(perfect_reply(output, schema), usage=usage)

    async def ran() -> tuple[Run, float]:
        async with Kit().serving(script) as server:
            model = rg.llm("openai/gpt-4o-mini", base_url=server.url, concurrency=1)
            limit = share * (rg.plan(samples, METRICS, model).cost.dollars or 0)
            return await rg.evaluate_async(samples, METRICS, model, max_cost=limit), limit

    run, limit = asyncio.run(ran())
    costs = [call.cost or 0.0 for call in run.store.calls()]
    assert sum(costs) == pytest.approx(run.record.spent.cost)
    assert min(costs) > 0.00005
    assert sum(costs) - costs[-1] <= limit or len(costs) <= 2
    assert run.record.spent.unpriced == 0
