from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.llm.stub.fixture import StubFactory
from tests.llm.stub.process import StubServer

import ragauge as rg
from ragauge.store import Store

METRICS = ["faithfulness", "answer_relevance", "context_precision", "context_recall", "answer_correctness"]

FAULTS = {"429": 0.10, "500": 0.05, "cut": 0.05, "stall": 0.004}


def _samples(count: int) -> list[dict[str, Any]]:
    """Samples with five contexts, a response of two sentences and a reference of one, each about a town of its own."""
    return [
        {
            "query": f"When was town {n} founded?",
            "response": f"Town {n} was founded in {1000 + n}. It lies on a river.",
            "contexts": [
                f"Town {n} was founded in {1000 + n} by monks.",
                *(f"Town {n} has {k} mills." for k in range(4)),
            ],
            "references": [f"Town {n} was founded in {1000 + n}."],
        }
        for n in range(count)
    ]


def _judge(server: StubServer, **options: Any) -> Any:
    return rg.llm("openai/gpt-4o-mini", base_url=server.url, **options)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key, which the stub takes as it takes any."""
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")


def test_five_metrics_take_two_calls_a_sample(stub_server: StubFactory) -> None:
    """A sample is decomposed in one call and judged in another, within 12,000 characters beyond twice its contexts."""
    server = stub_server()
    samples = _samples(10)
    run = rg.evaluate(samples, METRICS, _judge(server))
    stats = server.stats()
    contexts = sum(len(text) for sample in samples for text in sample["contexts"])
    assert stats["calls"] == 20
    assert stats["prompt_characters"] <= 2 * contexts + 10 * 12_000
    assert {key: (one.n, one.failed) for key, one in run.estimates.items()} == dict.fromkeys(METRICS, (10, 0))


def test_every_sample_is_scored_whatever_the_server_does(stub_server: StubFactory) -> None:
    """With one reply in five refused, failed, cut off or stalled, each sample has the scores of a faultless run."""
    samples = _samples(60)
    calm = rg.evaluate(samples, METRICS, _judge(stub_server(latency=0.01)))
    server = stub_server(latency=0.01, fault=FAULTS)
    run = rg.evaluate(samples, METRICS, _judge(server, concurrency=16, timeout=20))
    assert set(server.stats()["faults"]) >= {"429", "500", "cut"}
    assert run.record.failures == {}
    assert [{key: one.value for key, one in scores.items()} for scores in run.scores] == [
        {key: one.value for key, one in scores.items()} for scores in calm.scores
    ]


@pytest.mark.parametrize("is_mixed", [False, True])
def test_one_call_at_a_time_finishes_samples_early(stub_server: StubFactory, is_mixed: bool) -> None:
    """With concurrency=1 the first samples are done while most are not begun, whatever other judges there are."""
    server = stub_server()
    calls: list[int] = []
    judge = _judge(server, concurrency=1)
    judges = {"relevant": "embedded", "*": judge} if is_mixed else judge
    rg.evaluate(_samples(12), METRICS, judges, progress=lambda _: calls.append(server.stats()["calls"]))
    assert calls[0] <= 4
    assert len(calls) == 12


def test_a_reference_is_decomposed_once_for_all_systems(stub_server: StubFactory, tmp_path: Path) -> None:
    """A second system's run with the same store sends no reference to be taken apart again."""
    server = stub_server()
    samples = _samples(5)
    rg.evaluate(samples, METRICS, _judge(server), tmp_path)
    others = [{**sample, "response": f"In {1500 + n}."} for n, sample in enumerate(samples)]
    run = rg.evaluate(others, METRICS, _judge(server), tmp_path)
    kinds = [judgment.question for judgment in run.store.judgments() if type(judgment.question).__name__ == "Decompose"]
    assert len(kinds) == 15
    assert run.record.reused > 5


def test_calls_and_their_questions_are_kept(stub_server: StubFactory, tmp_path: Path) -> None:
    """Each judgment names the call that brought it, and the calls have the tokens that the server counted."""
    server = stub_server()
    run = rg.evaluate(_samples(3), METRICS, _judge(server, price=(1, 1, 2)), tmp_path)
    calls = {call.id: call for call in run.store.calls()}
    assert len(calls) == 6
    assert {judgment.call for judgment in run.store.judgments()} == set(calls)
    spent, stats = run.record.spent, server.stats()
    assert (spent.calls, spent.prompt_tokens, spent.completion_tokens) == (
        6,
        stats["prompt_tokens"],
        stats["completion_tokens"],
    )
    assert spent.cost == pytest.approx((stats["prompt_tokens"] + 2 * stats["completion_tokens"]) / 1e6)
    assert "price $" in " ".join(str(run).split())


def test_a_limit_on_the_cost_ends_the_run_with_what_is_done(stub_server: StubFactory, tmp_path: Path) -> None:
    """The run stops before it costs more, says so, is valid for its first samples, and can go on later."""
    server = stub_server()
    samples = _samples(40)
    whole = rg.plan(samples, METRICS, _judge(server)).cost.dollars
    assert whole
    part = rg.evaluate(samples, METRICS, _judge(server, concurrency=2), tmp_path, max_cost=whole / 2)
    assert part.record.status == "stopped"
    assert part.record.spent.cost <= whole / 2
    assert 18 <= part.record.samples <= 28
    assert part.estimates["faithfulness"].n == part.record.samples == len(part.scores)
    assert f"with {40 - part.record.samples} samples to go" in " ".join(str(part).split())
    before = server.stats()["calls"]
    rest = rg.evaluate(samples, METRICS, _judge(server), tmp_path)
    assert rest.record.samples == 40
    assert server.stats()["calls"] == 80 > before


def test_a_limit_needs_a_price(stub_server: StubFactory) -> None:
    """A model of unknown price is refused together with a limit, before anything is sent; the message names the fix."""
    server = stub_server()
    with pytest.raises(rg.errors.BadParameter, match=r"price=0\.15:0\.60"):
        rg.evaluate(_samples(1), METRICS, rg.llm("openai/my-own", base_url=server.url), max_cost=1.0)
    assert server.stats()["calls"] == 0


def test_an_unknown_model_costs_unknown(stub_server: StubFactory) -> None:
    """Without a price the report says unknown, never 0."""
    run = rg.evaluate(_samples(1), METRICS, rg.llm("openai/my-own", base_url=stub_server().url))
    assert run.record.spent.unpriced == 2
    assert "price unknown" in str(run)
    assert "price unknown" in str(rg.plan(_samples(1), METRICS, "openai/my-own"))


def test_a_missing_key_ends_the_run_before_it_begins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a key there is an error that names the variable, and no run in the store; a plan needs none."""
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(rg.errors.UsageError, match="OPENAI_API_KEY"):
        rg.evaluate(_samples(1), METRICS, "openai/gpt-4o-mini", tmp_path)
    assert Store.open(tmp_path).runs() == []
    assert rg.plan(_samples(1), METRICS, "openai/gpt-4o-mini").cost.calls == 2


def test_what_the_store_answers_needs_no_key(
    stub_server: StubFactory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A run that asks nothing new needs neither key nor server."""
    server = stub_server()
    first = rg.evaluate(_samples(2), METRICS, _judge(server), tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY")
    again = rg.evaluate(_samples(2), METRICS, _judge(server), tmp_path)
    assert (again.record.asked, again.record.reused) == (0, first.record.asked)
    with pytest.raises(rg.errors.UsageError, match="OPENAI_API_KEY"):
        rg.evaluate(_samples(3), METRICS, "openai/gpt-4o-mini", tmp_path)


def test_a_wrong_key_ends_the_run_after_few_calls(stub_server: StubFactory, tmp_path: Path) -> None:
    """A refused key is not tried again and again: the run ends with the reason, and leaves no trace."""
    server = stub_server(key="the-right-one")
    with pytest.raises(rg.errors.RunFailed, match=r"no sample was done: .*unauthorized"):
        rg.evaluate(_samples(50), METRICS, _judge(server, concurrency=4), tmp_path)
    assert server.stats()["statuses"].get("401", 0) <= 8
    assert Store.open(tmp_path).runs() == []


@pytest.mark.parametrize("name", ["panel({0},{1},embedded)", "cascade(embedded,{1},threshold=2)", "repeat({1},3)"])
def test_a_member_that_cannot_answer_ends_the_run(stub_server: StubFactory, name: str) -> None:
    """A member of a composite judge whose model there is not ends the run as it does alone, and is named."""
    judges = [f"openai/{model}?base_url={stub_server(model=['a']).url}" for model in ("a", "b")]
    with pytest.raises(rg.errors.RunFailed, match=r"cannot answer any more: no_such_model: openai/b at 127"):
        rg.evaluate(_samples(50), METRICS, name.format(*judges))


def test_prompts_that_are_refused_do_not_end_the_run(stub_server: StubFactory) -> None:
    """Samples whose prompts the server refuses fail alone, also where a run has no others left to ask."""
    server = stub_server(fault={"400": 1.0})
    run = rg.evaluate(_samples(30), METRICS, _judge(server, concurrency=4))
    assert (run.record.status, run.record.samples) == ("finished", 30)


def test_a_server_that_gives_out_stops_the_run(stub_server: StubFactory, tmp_path: Path) -> None:
    """When the key is refused half-way the run stops with what is done, says why, and can go on later."""
    server = stub_server(script=",".join(["ok"] * 45 + ["401"] * 60))
    part = rg.evaluate(_samples(60), METRICS, _judge(server, concurrency=4), tmp_path)
    assert part.record.status == "stopped"
    assert 0 < part.record.samples < 60
    assert "unauthorized" in part.record.stopped
    assert f"with {60 - part.record.samples} samples to go" in part.record.stopped
    assert {one.failed for one in part.estimates.values()} == {0}
    server.reset()
    assert rg.evaluate(_samples(60), METRICS, _judge(server), tmp_path).record.samples == 60


def test_a_failure_keeps_what_the_judge_replied(stub_server: StubFactory) -> None:
    """A reply that is of no use to the end is in the run's document, with the reason."""
    run = rg.evaluate(_samples(1), METRICS, _judge(stub_server(fault={"malformed": 1.0})))
    (failure, *_) = run.to_dict()["samples"][0]["failures"]
    assert failure["reason"] == "invalid_answer"
    assert failure["raw"]


def test_calls_that_all_fail_are_no_judgments(stub_server: StubFactory) -> None:
    """Where the server refuses every prompt the report counts no judgments, and states no price of no tokens."""
    shown = " ".join(str(rg.evaluate(_samples(3), METRICS, _judge(stub_server(fault={"blocked": 1.0})))).split())
    assert "3 samples, judge openai/gpt-4o-mini, 0 judgments, " in shown
    assert "0 prompt and 0 completion tokens." in shown


def test_too_little_money_for_a_sample_is_reported(stub_server: StubFactory) -> None:
    """A limit below the price of one sample ends the run with an error, not with an empty run."""
    with pytest.raises(rg.errors.RunFailed, match=r"no sample was done: the limit of \$0\.00001 "):
        rg.evaluate(_samples(5), METRICS, _judge(stub_server()), max_cost=1e-5)


def test_a_plan_foretells_the_tokens(stub_server: StubFactory) -> None:
    """Prompt tokens are within 15 % of what the server counts, and the calls are exact."""
    server = stub_server()
    samples = _samples(20)
    planned = rg.plan(samples, METRICS, _judge(server))
    rg.evaluate(samples, METRICS, _judge(server))
    stats = server.stats()
    assert planned.cost.calls == stats["calls"]
    assert planned.cost.prompt_tokens == pytest.approx(stats["prompt_tokens"], rel=0.15)


def test_a_plan_foretells_the_tokens_of_the_demo(stub_server: StubFactory) -> None:
    """On the answers of the demo, all metrics: tokens within 15 % of what the server counts."""
    server = stub_server()
    data = Path(rg.__file__).parent / "demo" / "candidate.jsonl"
    planned = rg.plan(data, judge=_judge(server)).cost
    rg.evaluate(data, judge=_judge(server))
    stats = server.stats()
    assert planned.prompt_tokens == pytest.approx(stats["prompt_tokens"], rel=0.15)
    assert planned.prompt_tokens + planned.completion_tokens == pytest.approx(
        stats["prompt_tokens"] + stats["completion_tokens"], rel=0.15
    )


def test_one_question_a_call(stub_server: StubFactory) -> None:
    """With pack=alone each question goes out by itself; the stub, which judges each alone, gives the same scores."""
    server = stub_server()
    together = rg.evaluate(_samples(3), METRICS, _judge(server))
    alone = rg.evaluate(_samples(3), METRICS, _judge(server, pack="alone"))
    assert alone.record.spent.calls == alone.record.asked > together.record.spent.calls
    assert alone.estimates == together.estimates


SCRIPT = """
import sys
import ragauge as rg
from tests.run.test_llm_run import METRICS, _samples

url, store = sys.argv[1:]
rg.evaluate(_samples(120), METRICS, rg.llm("openai/gpt-4o-mini", base_url=url, concurrency=8), store)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_killed_run_repeats_only_what_was_under_way(stub_server: StubFactory, tmp_path: Path) -> None:
    """Killed at half and resumed, a run makes no more calls than those missing and those that were under way."""
    server = stub_server(latency=0.02)
    root = Path(__file__).resolve().parents[2]
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"}
    command = [sys.executable, str(script), server.url, str(tmp_path / "store")]
    child = subprocess.Popen(command, env=environment)
    while server.stats()["calls"] < 120:
        assert child.poll() is None
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.wait(timeout=30)
    subprocess.run(command, env=environment, check=True, timeout=120)
    assert 240 <= server.stats()["calls"] <= 240 + 8


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_run_that_is_killed_twenty_times_repeats_what_was_in_flight(stub_server: StubFactory, tmp_path: Path) -> None:
    """Each of twenty kills at eight calls a time costs eight calls at most; the scores are those of one run."""
    server, other = stub_server(latency=0.05), stub_server()
    root = Path(__file__).resolve().parents[2]
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"}
    command = [sys.executable, str(script), server.url, str(tmp_path / "store")]
    for kill in range(1, 21):
        before = server.stats()["calls"]
        child = subprocess.Popen(command, env=environment)
        while server.stats()["calls"] < before + 10 + kill % 7:
            assert child.poll() is None
            time.sleep(0.002)
        child.send_signal(signal.SIGKILL)
        child.wait(timeout=30)
    assert server.stats()["calls"] < 120 * 2 + 20 * 8
    subprocess.run(command, env=environment, check=True, timeout=120)
    assert 240 <= server.stats()["calls"] <= 240 + 20 * 8

    whole = rg.evaluate(_samples(120), METRICS, _judge(other), tmp_path / "whole")
    resumed = rg.Run.open(tmp_path / "store")
    assert other.stats()["calls"] == 240
    assert resumed.estimates == whole.estimates
    assert all(resumed.values(key) == whole.values(key) for key in whole.estimates)


def test_a_plan_reckons_with_the_limits_that_the_judge_is_given() -> None:
    """At ten calls a minute twenty calls take two minutes, and one call at a time takes longer than sixteen."""
    samples = _samples(10)

    def seconds(options: str) -> float:
        return rg.plan(samples, METRICS, f"openai/gpt-4o-mini?{options}").cost.seconds

    assert seconds("rpm=10") == pytest.approx(120)
    assert seconds("concurrency=1") > 10 * seconds("concurrency=16")


def test_a_report_says_of_what_day_its_prices_are(stub_server: StubFactory, tmp_path: Path) -> None:
    """A price from the table comes with the table's date, in the plan and the report; one that was given does not."""
    from ragauge.judges.llm.pricing import price_table

    said = f"prices of {price_table().date}"
    server = stub_server()
    table = rg.llm("openai/gpt-4o-mini", base_url=server.url, api_key="k")
    assert said in str(rg.plan(_samples(1), METRICS, table))
    assert f"{said}, the provider's own, though" in str(rg.evaluate(_samples(1), METRICS, table, tmp_path / "table"))
    given = rg.llm("openai/gpt-4o-mini", base_url=server.url, api_key="k", price=(1, 1, 2))
    assert "prices of" not in str(rg.plan(_samples(1), METRICS, given))
    assert "prices of" not in str(rg.evaluate(_samples(1), METRICS, given, tmp_path / "given"))
