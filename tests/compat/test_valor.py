"""Valor's front door, as somebody uses it who comes from there."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compat.valor_ferry import FERRY, Client, judge
from tests.llm.stub.fixture import StubFactory

import ragauge as rg
from ragauge.compat.valor import Context, Evaluator, Metric, MetricType, QueryResponse, sample_of

METHODS = [
    "answer_correctness",
    "answer_relevance",
    "bias",
    "context_precision",
    "context_recall",
    "context_relevance",
    "faithfulness",
    "hallucination",
    "summary_coherence",
    "toxicity",
]


def test_the_dozen_of_valor_with_a_client_of_ones_own(stub_server: StubFactory) -> None:
    """A program written for Valor runs as it is: twelve keys in Valor's order, dicts of Valor's shape, fewer calls."""
    client = Client(stub_server().url)
    results = Evaluator(client=client, retries=1).compute_all(FERRY)
    judged = [kind for kind in MetricType if kind not in ("ROUGE", "BLEU")]
    assert list(results) == [*judged, MetricType.ROUGE, MetricType.BLEU]
    for kind in judged:
        (metric,) = results[kind]
        assert metric.to_dict().keys() == {"type", "value", "parameters"}
        assert (metric.type, metric.parameters) == (kind, {"evaluator": "my-model", "retries": 1})
    assert results[MetricType.Faithfulness][0].value == 1.0
    assert isinstance(results[MetricType.SummaryCoherence][0].value, int)
    assert [metric.parameters["rouge_type"] for metric in results[MetricType.ROUGE]][-1] == "rougeLsum"
    assert json.loads(json.dumps(results[MetricType.BLEU][0].to_dict()))["parameters"] == {"weights": [0.25] * 4}
    assert client.calls <= 4 < 12 + 5 * 2
    assert client.most == 1


def test_each_metric_alone_is_as_among_all(stub_server: StubFactory) -> None:
    """Every compute method gives what compute_all gives under its key, with the pieces it was counted from."""
    evaluator = Evaluator(Client(stub_server().url))
    together = evaluator.compute_all(FERRY)
    for kind, method in zip(together, METHODS, strict=False):
        metric: Metric = getattr(evaluator, f"compute_{method}")(FERRY)
        assert [metric] == together[kind]
        assert metric.evidence or metric.value == 0.0
        assert "evidence" not in metric.to_dict()


def test_evidence_leads_from_a_value_to_its_verdicts() -> None:
    """A metric's evidence holds each judged piece with its verdict, which Valor throws away."""
    metric = Evaluator(judge("The ferry takes 40 minutes.")).compute_faithfulness(FERRY)
    assert metric.value == 1.0
    assert [(piece.text, piece.label) for piece in metric.evidence] == [
        ("The ferry takes 40 minutes.", rg.Label.ENTAILED)
    ]


def test_judgments_are_kept_where_one_says(tmp_path: Path, stub_server: StubFactory) -> None:
    """With a store nothing is asked twice, by whichever method."""
    client = Client(stub_server().url)
    Evaluator(client, store=tmp_path).compute_all(FERRY)
    before = client.calls
    assert Evaluator(client, store=tmp_path).compute_answer_correctness(FERRY).type == "AnswerCorrectness"
    assert client.calls == before


def test_in_a_notebook() -> None:
    """The methods work under a running event loop."""

    async def cell() -> Metric:
        return Evaluator("embedded").compute_faithfulness(FERRY)

    assert asyncio.run(cell()) == Evaluator("embedded").compute_faithfulness(FERRY)


def test_threads_may_share_an_evaluator(stub_server: StubFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Responses that are measured side by side in threads have the values that each has alone."""
    server = stub_server(latency=0.01)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    for evaluator in (Evaluator.openai(), Evaluator(Client(server.url))):
        alone = evaluator.compute_faithfulness(FERRY)
        with ThreadPoolExecutor(4) as pool:
            assert all(metric == alone for metric in pool.map(evaluator.compute_faithfulness, [FERRY] * 12))


def test_types_are_written_as_valor_writes_them() -> None:
    """Shown they name their class as Valor's do, in JSON and with texts they are the name alone."""
    assert (str(MetricType.BLEU), json.dumps(MetricType.BLEU)) == ("MetricType.BLEU", '"BLEU"')
    assert (MetricType.BLEU.value, MetricType.BLEU) == ("BLEU", "BLEU")


@pytest.mark.parametrize(("verdicts", "value"), [("yes no no yes", 0.75), ("no yes no yes", 0.5), ("no no no no", 0.0)])
def test_the_worked_example_of_valors_documentation(verdicts: str, value: float) -> None:
    """Context precision has the values of the example, and of several ground truths any makes a context useful."""
    reply = dict(zip("abcd", verdicts.split(), strict=True))
    useful = rg.judge_from(relevant=lambda query, text, reference=None: reply[text] == "yes" and reference == "g")
    for golden in (["g"], ["other", "g"]):
        response = QueryResponse("q", "r", Context(golden, list("abcd")))
        assert Evaluator(useful).compute_context_precision(response).value == value


@given(st.lists(st.booleans(), min_size=1, max_size=6), st.lists(st.booleans(), min_size=1, max_size=6))
def test_shares(of_contexts: list[bool], of_opinions: list[bool]) -> None:
    """Context relevance and bias are the share of yes, whatever the number of contexts and opinions."""
    opinions = [(f"o{i}", "opinion") for i in range(len(of_opinions))]
    yes = rg.judge_from(
        decompose=lambda text: opinions,
        relevant=lambda query, text: of_contexts[int(text)],
        classify=lambda text, trait: of_opinions[int(text[1:])],
    )
    response = QueryResponse("q", "r", Context([], [str(i) for i in range(len(of_contexts))]))
    assert Evaluator(yes).compute_context_relevance(response).value == sum(of_contexts) / len(of_contexts)
    assert Evaluator(yes).compute_bias(response).value == sum(of_opinions) / len(of_opinions)


def test_responses_go_on_to_a_run() -> None:
    """Responses are samples for a run over all of them, in which an empty list is present and no context is absent."""
    samples = [sample_of(FERRY, "ferry"), sample_of(QueryResponse("q", "r", Context()), "empty")]
    run = rg.evaluate([*samples, sample_of(QueryResponse("q", "r"), "bare")], ["faithfulness", "rouge(types=rouge1)"])
    assert run.scores[0]["faithfulness"].value == Evaluator("embedded").compute_faithfulness(FERRY).value
    assert run.scores[1]["faithfulness"].value == 0.0
    assert run.scores[2]["faithfulness"].undefined == "the sample has no contexts"
