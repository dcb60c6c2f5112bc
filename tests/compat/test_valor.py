"""Valor's front door, as somebody uses it who comes from there."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.llm.stub.fixture import StubFactory

import ragauge as rg
from ragauge.compat.valor import (
    BadInput,
    Context,
    Evaluator,
    Metric,
    MetricType,
    MistralWrapper,
    OpenAIWrapper,
    QueryResponse,
    UndefinedScore,
    sample_of,
)

FERRY = QueryResponse(
    query="When does the ferry leave, and how long does it take?",
    response="The ferry leaves at nine. It takes 40 minutes.",
    context=Context(
        groundtruth=["The ferry leaves at nine.", "The ferry leaves at nine and takes 40 minutes."],
        prediction=["The ferry leaves the harbour at nine.", "The ferry takes 40 minutes.", "Gulls are white."],
    ),
)

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


class Client:
    """A client as people write them for Valor: it posts the messages to a server. most: calls that it had at once."""

    model_name = "my-model"

    def __init__(self, url: str) -> None:
        self.calls = self.most = 0
        self._url, self._busy, self._lock = url, 0, threading.Lock()

    def __call__(self, messages: list[dict[str, str]]) -> str:
        """What the server replies."""
        with self._lock:
            self.calls, self._busy = self.calls + 1, self._busy + 1
            self.most = max(self.most, self._busy)
        body = json.dumps({"model": self.model_name, "messages": messages}).encode()
        with urlopen(Request(f"{self._url}/chat/completions", body, {"Content-Type": "application/json"})) as reply:
            text: str = json.load(reply)["choices"][0]["message"]["content"]
        with self._lock:
            self._busy -= 1
        return text


def judge(*statements: str, kind: str = "both") -> rg.Judge:
    """A judge who finds the same statements in every text, and says yes to all but entailment."""
    return rg.judge_from(
        decompose=lambda text: [(statement, kind) for statement in statements],
        entail=lambda premise, hypothesis: "entailed" if hypothesis in premise else "neutral",
        relevant=lambda query, text: True,
        classify=lambda text, trait: True,
        rate=lambda rubric, **texts: 4,
        name="always",
    )


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
    with pytest.raises(rg.RunFailed, match="set OPENAI_API_KEY to a key"):
        Evaluator.openai().compute_bias(FERRY)


EDGES = [
    ("answer_correctness", Context([], ["c"]), 0.0),
    ("context_precision", Context([], []), 1.0),
    ("context_precision", Context(["g"], []), 0.0),
    ("context_precision", Context([], ["c"]), 0.0),
    ("context_recall", Context([], []), 1.0),
    ("context_recall", Context(["g"], []), 0.0),
    ("context_recall", Context([], ["c"]), 0.0),
    ("context_relevance", Context(["g"], []), 0.0),
    ("faithfulness", Context(["g"], []), 0.0),
]


@pytest.mark.parametrize(("method", "context", "value"), EDGES)
def test_lists_that_decide_by_themselves(method: str, context: Context, value: float) -> None:
    """Where a list is empty Valor's value is given without a word to the judge, who need not even be there."""
    metric = getattr(Evaluator("ollama/nowhere"), f"compute_{method}")(QueryResponse("q", "r", context))
    assert (metric.value, metric.evidence) == (value, ())


@pytest.mark.parametrize(
    ("method", "value"),
    [("answer_correctness", 0.0), ("answer_relevance", 0.0), ("bias", 0.0), ("toxicity", 0.0), ("faithfulness", 1.0)],
)
def test_texts_that_say_nothing(method: str, value: float) -> None:
    """A response without statements, opinions or claims has Valor's value where ragauge's own is undefined."""
    response = QueryResponse("q", "Hm.", Context(["g"], ["c"]))
    assert getattr(Evaluator(judge()), f"compute_{method}")(response).value == value


def test_blank_ground_truths() -> None:
    """A ground truth without a word supports nothing and needs no context."""
    blank = QueryResponse("q", "r", Context([" "], ["c"]))
    evaluator = Evaluator(judge("s"))
    assert evaluator.compute_answer_correctness(blank).value == 0.0
    assert evaluator.compute_context_precision(blank).value == 0.0
    assert {metric.value for metric in evaluator.compute_rouge(blank)} == {0.0}
    assert evaluator.compute_sentence_bleu(blank).value == 0.0


def test_recall_of_nothing() -> None:
    """Where Valor divides by zero, context recall raises a typed error, and costs compute_all no other metric."""
    evaluator = Evaluator(judge())
    with pytest.raises(UndefinedScore, match="ContextRecall: no reference makes a statement"):
        evaluator.compute_context_recall(FERRY)
    results = evaluator.compute_all(FERRY)
    (recall,) = results[MetricType.ContextRecall]
    assert recall.to_dict() == {
        "type": "Error",
        "value": {"type": "UndefinedScore", "message": "ContextRecall: no reference makes a statement"},
        "parameters": {"evaluator": "always", "retries": 0},
    }
    assert results[MetricType.ContextRelevance][0].value == 1.0


def test_recall_is_the_best_over_the_ground_truths() -> None:
    """Of several ground truths the one counts that the contexts hold best; one that states nothing is left out."""
    pieces = {"one": ["a", "x"], "two": ["a", "b"], "none": []}
    several = rg.judge_from(decompose=pieces.__getitem__, entail=lambda premise, hypothesis: hypothesis in premise)
    response = QueryResponse("q", "r", Context(["one", "none", "two"], ["a b"]))
    assert Evaluator(several).compute_context_recall(response).value == 1.0


@pytest.mark.parametrize(
    ("response", "fault"),
    [
        (QueryResponse("q", "r"), "ROUGE reads the context, which is None"),
        (QueryResponse("q", "r", Context([], ["c"])), "no references to compare with"),
        (QueryResponse("q", "r", Context(["g"], [])), "Hallucination is a share of the contexts"),
        (QueryResponse("q", 3, Context(["g"], ["c"])), r"\[response\] must be a list"),  # type: ignore[arg-type]
        (QueryResponse(None, "r", Context(["g"], ["c"])), r"\[query, response\] must be a list"),  # type: ignore[arg-type]
        (QueryResponse("q", "r", Context(["g"], "c")), "context.prediction must be a list"),  # type: ignore[arg-type]
        (QueryResponse("q", "r", Context("g", ["c"])), "context.groundtruth must be a list"),  # type: ignore[arg-type]
        (QueryResponse("q", "r", Context([None], ["c"])), "context.groundtruth must be a list"),  # type: ignore[list-item]
    ],
)
def test_what_cannot_be_measured_is_refused_before_it_costs(response: QueryResponse, fault: str) -> None:
    """A response that lacks something is refused with a ValueError that says what, and nothing is asked."""
    with pytest.raises(ValueError, match=fault) as refused:
        Evaluator("ollama/nowhere").compute_all(response)
    assert isinstance(refused.value, rg.UsageError)


@pytest.mark.parametrize("types", [["rouge10"], ["rougeX"], None])
def test_rouge_types_that_there_are_not(types: Any) -> None:
    """An unknown type of ROUGE is a ValueError; none at all is no metric, and one twice is one."""
    with pytest.raises(ValueError, match=r"ROUGE type|not iterable"):
        Evaluator.compute_rouge(FERRY, types)
    assert Evaluator.compute_rouge(FERRY, []) == []
    assert len(Evaluator.compute_rouge(FERRY, ["rouge1", "rouge1"])) == 1


@pytest.mark.parametrize("weights", [[], None, [-1], [float("nan")], [(0.5, 0.5)]])
def test_weights_that_no_bleu_has(weights: Any) -> None:
    """Weights that are none, negative or no numbers are refused, where Valor leaves 0..1 or crashes."""
    with pytest.raises(BadInput, match=r"BLEU weights|real number"):
        Evaluator.compute_sentence_bleu(FERRY, weights)


def test_an_evaluator_that_cannot_be() -> None:
    """Without a client no metric asks one; negative retries, and a judge that cannot answer, are refused."""
    with pytest.raises(ValueError, match="Faithfulness asks a model"):
        Evaluator().compute_faithfulness(FERRY)
    assert Evaluator().compute_rouge(FERRY)
    with pytest.raises(ValueError, match="retries=-1 must be 0 or more"):
        Evaluator(retries=-1)
    with pytest.raises(rg.UnanswerableNeed, match="bias"):
        Evaluator(rg.judge_from(entail=lambda premise, hypothesis: True)).compute_bias(FERRY)
    with pytest.raises(rg.UsageError, match="not a judge"):
        Evaluator(3).compute_bias(FERRY)


def test_a_system_prompt_of_ones_own_is_warned_of() -> None:
    """A system prompt is not sent, and a program that sets one is told."""
    with pytest.warns(UserWarning, match="default_system_prompt is not sent"):
        evaluator = Evaluator(default_system_prompt="You are a pirate.")
    assert evaluator.default_system_prompt == "You are a pirate."
    with pytest.warns(UserWarning, match="default_system_prompt is not sent"):
        Evaluator.mistral(default_system_prompt="You are a pirate.")


def test_types_are_written_as_valor_writes_them() -> None:
    """Shown they name their class as Valor's do, in JSON and beside texts they are the name alone."""
    assert (str(MetricType.BLEU), json.dumps(MetricType.BLEU)) == ("MetricType.BLEU", '"BLEU"')
    assert (MetricType.BLEU.value, MetricType.BLEU) == ("BLEU", "BLEU")


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
    """What a client raises is told by the metric that wanted its reply, and is asked for again as often as is said."""
    monkeypatch.setattr("ragauge.judges.llm.calling.PAUSE", 0)
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


def test_threads_may_share_an_evaluator(stub_server: StubFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Responses that are measured side by side in threads have the values that each has alone."""
    server = stub_server(latency=0.01)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    for evaluator in (Evaluator.openai(), Evaluator(Client(server.url))):
        alone = evaluator.compute_faithfulness(FERRY)
        with ThreadPoolExecutor(4) as pool:
            assert all(metric == alone for metric in pool.map(evaluator.compute_faithfulness, [FERRY] * 12))


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


@pytest.mark.parametrize(("verdicts", "value"), [("yes no no yes", 0.75), ("no yes no yes", 0.5), ("no no no no", 0.0)])
def test_the_worked_example_of_valors_documentation(verdicts: str, value: float) -> None:
    """Context precision has the values of the example, and of several ground truths any makes a context useful."""
    said = dict(zip("abcd", verdicts.split(), strict=True))
    useful = rg.judge_from(relevant=lambda query, text, reference=None: said[text] == "yes" and reference == "g")
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
