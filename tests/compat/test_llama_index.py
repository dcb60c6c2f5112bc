"""LlamaIndex's own base class and batch runner with metrics of ours."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any, cast
from urllib.request import Request, urlopen

import pytest
from tests.llm.stub.fixture import StubFactory

import ragauge as rg
from ragauge.compat import llama_index
from ragauge.errors import MissingExtra, MissingField, UnknownName

pytestmark = pytest.mark.filterwarnings("ignore")  # LlamaIndex warns of its own deprecated parts

ADA = {"query": "Who wrote it?", "response": "Ada wrote it. Bob sang.", "contexts": ["Ada wrote it."]}


@pytest.fixture
def library() -> Any:
    """LlamaIndex; a test that needs it is skipped where it is not installed."""
    return pytest.importorskip("llama_index.core", reason="llama-index-core is not installed (extra dev-compat)")


@pytest.fixture
def asked() -> list[str]:
    """The texts that the judge was given to take apart."""
    return []


@pytest.fixture
def judge(asked: list[str]) -> rg.judges.Judge:
    """A judge that takes texts apart at full stops, finds pieces in texts, and counts what it is asked."""

    def decompose(text: str) -> list[str]:
        asked.append(text)
        return [f"{piece.strip()}." for piece in text.split(".") if piece.strip()]

    def entail(premise: str, hypothesis: str) -> str:
        return "entailed" if hypothesis in premise else "contradicted" if "Bob" in hypothesis else "neutral"

    return rg.judge_from(decompose=decompose, entail=entail, relevant=lambda query, text: "Ada" in text, name="looker")


def test_an_evaluator_of_llama_index(library: Any) -> None:
    """A metric is a BaseEvaluator, with score, passing, and feedback that names the unsupported claim."""
    from llama_index.core.evaluation import BaseEvaluator, EvaluationResult

    evaluator = llama_index.MetricEvaluator("faithfulness")
    assert isinstance(evaluator, BaseEvaluator)
    assert evaluator.get_prompts() == {}
    result = evaluator.evaluate(**ADA)
    assert isinstance(result, EvaluationResult)
    assert (result.score, result.passing, result.invalid_result) == (0.5, True, False)
    assert result.feedback == "0.500 (1 of 2); not supported by contexts: “Bob sang.”"
    assert (result.query, result.response, result.contexts) == (ADA["query"], ADA["response"], ADA["contexts"])


def test_undefined_is_neither_nought_nor_nan(library: Any) -> None:
    """Where there is nothing to count the score is None, and the result invalid with the reason."""
    result = llama_index.MetricEvaluator("faithfulness").evaluate(query="?", response="Hello!", contexts=["Ada."])
    assert (result.score, result.passing, result.invalid_result) == (None, None, True)
    assert result.invalid_reason == "the response makes no claim"
    assert result.feedback == "undefined: the response makes no claim"


def test_failed_is_reported(library: Any) -> None:
    """Where the judge has no answer the score is None too, and the reason is the judge's."""

    def entail(premise: str, hypothesis: str) -> str:
        raise ValueError("down")

    judge = {"entail": rg.judge_from(entail=entail), "*": "embedded"}
    result = llama_index.MetricEvaluator("faithfulness", judge).evaluate(**ADA)
    assert (result.score, result.invalid_result) == (None, True)
    assert "down" in result.invalid_reason


@pytest.mark.parametrize("workers", [1, 8])
def test_the_batch_runner(library: Any, judge: rg.judges.Judge, asked: list[str], workers: int) -> None:
    """BatchEvalRunner gets a result for each metric and response, in order; each text is taken apart once for all."""
    from llama_index.core import Response
    from llama_index.core.evaluation import BatchEvalRunner
    from llama_index.core.schema import NodeWithScore, TextNode

    count = 20
    nodes = [NodeWithScore(node=TextNode(text=f"Ada wrote book {n}.")) for n in range(count)]
    responses = [
        Response(f"Ada wrote book {n}." + " Bob sang." * (n % 2), source_nodes=[nodes[n]]) for n in range(count)
    ]
    evaluators = llama_index.evaluators("faithfulness", "answer_relevance", "hallucination", judge=judge, threshold=0.9)
    runner = BatchEvalRunner(evaluators, workers=workers)
    results = asyncio.run(runner.aevaluate_responses([f"Who wrote {n}?" for n in range(count)], responses))
    assert [result.score for result in results["faithfulness"]] == [1.0, 0.5] * (count // 2)
    assert [result.passing for result in results["answer_relevance"]] == [True, False] * (count // 2)
    assert [result.passing for result in results["hallucination"]] == [True, False] * (count // 2)
    assert results["hallucination"][1].feedback == "1.000 (1 of 1); “Bob sang.” is contradicted by context 1"
    assert [result.query for result in results["faithfulness"]] == [f"Who wrote {n}?" for n in range(count)]
    assert len(asked) == count


def test_references_come_with_the_call(library: Any) -> None:
    """A reference is given by keyword, to one evaluator of several if need be; the others do without."""
    from llama_index.core.evaluation import BatchEvalRunner

    runner = BatchEvalRunner(llama_index.evaluators("faithfulness", "rouge.rougeL"), workers=2)
    results = runner.evaluate_response_strs(
        [ADA["query"]], [ADA["response"]], [ADA["contexts"]], **{"rouge.rougeL": {"reference": [ADA["response"]]}}
    )
    assert [results[name][0].score for name in ("faithfulness", "rouge.rougeL")] == [0.5, 1.0]


def test_under_a_running_loop(library: Any) -> None:
    """In a notebook both the plain call and the awaited one work."""

    async def notebook() -> list[float | None]:
        evaluator = llama_index.MetricEvaluator("faithfulness")
        return [evaluator.evaluate(**ADA).score, (await evaluator.aevaluate(**ADA)).score]

    assert asyncio.run(notebook()) == [0.5, 0.5]


def test_a_model_of_llama_index_judges(library: Any, stub_server: StubFactory) -> None:
    """A model of LlamaIndex is a judge as it is; its name is part of the judge's identity."""
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse
    from llama_index.core.llms.mock import MockLLM

    url = f"{stub_server().url}/chat/completions"

    class Posting(MockLLM):  # type: ignore[misc]  # the library is not there for mypy
        async def achat(self, messages: Any, **more: Any) -> ChatResponse:
            output = [{"role": message.role.value, "content": message.content} for message in messages]
            body = json.dumps({"model": "m", "messages": output}).encode()
            with urlopen(Request(url, body, {"Content-Type": "application/json"})) as reply:
                text = json.load(reply)["choices"][0]["message"]["content"]
            return ChatResponse(message=ChatMessage(role="assistant", content=text))

    result = llama_index.MetricEvaluator("faithfulness", Posting()).evaluate(**ADA)
    assert result.score == 0.5
    assert str(rg.load_judge(Posting()).identity).startswith("llama_index/Posting(model=")


def test_a_judge_by_name(library: Any, stub_server: StubFactory) -> None:
    """An LLM by its name keeps to two calls a sample for all metrics that share it."""
    server = stub_server()
    evaluators = llama_index.evaluators(
        "faithfulness", "answer_relevance", judge=f"openai/gpt-4o-mini?base_url={server.url}"
    )

    async def both() -> list[Any]:
        return await asyncio.gather(*(evaluator.aevaluate(**ADA) for evaluator in evaluators.values()))

    assert [result.score is None for result in asyncio.run(both())] == [False, False]
    assert server.stats()["calls"] == 2


def test_wrong_calls(library: Any) -> None:
    """What is no metric, no single value, or lacks a field, is reported by name."""
    with pytest.raises(UnknownName, match="unknown metric 'faith'"):
        llama_index.MetricEvaluator("faith")
    with pytest.raises(UnknownName, match=r"known: rouge\.rouge1"):
        llama_index.evaluators("rouge")
    with pytest.raises(MissingField, match="faithfulness: no sample has 'contexts'"):
        asyncio.run(llama_index.MetricEvaluator("faithfulness").aevaluate(query="?", response="Ada wrote it."))


def test_without_llama_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the library the module says what to install, and has the Trust-Eval evaluator all the same."""
    monkeypatch.setitem(sys.modules, "llama_index", None)
    monkeypatch.setitem(sys.modules, "llama_index.core", None)
    monkeypatch.setitem(sys.modules, "llama_index.core.evaluation", None)
    cast(Any, llama_index.__getattr__).cache_clear()
    with pytest.raises(MissingExtra, match=r"pip install 'ragauge\[llama-index\]'"):
        llama_index.evaluators("faithfulness")
    assert llama_index.TrustScoreEvaluator.__module__ == "ragauge.compat.trust_eval"
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = llama_index.Nothing
