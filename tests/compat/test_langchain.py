"""langsmith's runners and LangChain's string evaluators with metrics of ours."""

from __future__ import annotations

import asyncio
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from tests.llm.stub.fixture import StubFactory

import ragauge as rg
from ragauge.compat import langchain
from ragauge.compat.langchain import aevaluator, evaluator
from ragauge.errors import BadParameter, MissingExtra, MissingField, UnknownName

pytestmark = pytest.mark.filterwarnings("ignore")  # the libraries warn of their own deprecated parts

INPUTS = {"question": "Who wrote it?"}
OUTPUTS = {"answer": "Ada wrote it. Bob sang.", "documents": ["Ada wrote it."]}


def test_feedback() -> None:
    """An evaluator gives key, score and a comment that names the unsupported claim; several metrics come at once."""
    feedback = evaluator("faithfulness,token_f1")(INPUTS, OUTPUTS, {"answer": "Ada wrote it."})
    assert feedback["results"][0] == {
        "key": "faithfulness",
        "score": 0.5,
        "comment": "0.500 (1 of 2); not supported by contexts: “Bob sang.”",
    }
    assert [one["key"] for one in feedback["results"]] == ["faithfulness", "token_f1"]


def test_undefined_is_neither_nought_nor_nan() -> None:
    """Where there is nothing to count the score is None, and the comment says why."""
    (found,) = evaluator("faithfulness")(INPUTS, {**OUTPUTS, "answer": "Hello!"})["results"]
    assert found == {"key": "faithfulness", "score": None, "comment": "undefined: the response makes no claim"}


def test_plain_texts_and_columns_of_ones_own() -> None:
    """Inputs and outputs may be plain texts, as openevals has them, or have names of their own."""
    assert evaluator("token_f1")("Who?", "Ada", "Ada")["results"][0]["score"] == 1.0
    named = evaluator("faithfulness", map={"query": "inputs.topic", "contexts": "outputs.found"})
    (found,) = named({"topic": "Who?", "n": 1}, {"answer": "Ada wrote it.", "found": ["Ada wrote it."]})["results"]
    assert found["score"] == 1.0


def test_it_can_be_awaited_and_called_under_a_loop() -> None:
    """Both forms give the same in a notebook."""

    async def notebook() -> list[Any]:
        return [await aevaluator("faithfulness")(INPUTS, OUTPUTS), evaluator("faithfulness")(INPUTS, OUTPUTS)]

    one, other = asyncio.run(notebook())
    assert one == other


def test_threads_share_a_judge(stub_server: StubFactory) -> None:
    """Threads of a runner may use one evaluator at once, with one LLM behind it."""
    server = stub_server(latency=0.01)
    judging = evaluator("faithfulness", rg.llm(f"openai/gpt-4o-mini?base_url={server.url}"))
    outputs = [{"answer": f"Ada wrote book {n}.", "documents": [f"Ada wrote book {n}."]} for n in range(16)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda reply: judging(INPUTS, reply), outputs))
    assert [one["results"][0]["score"] for one in found] == [1.0] * 16


def test_wrong_calls() -> None:
    """What is no judge, no metric, or lacks a field, is reported by name."""
    with pytest.raises(BadParameter, match="is not a judge"):
        evaluator("faithfulness", 7)
    with pytest.raises(UnknownName, match="unknown metric 'faith'"):
        evaluator("faith")
    with pytest.raises(MissingField, match="no sample has 'contexts'"):
        evaluator("faithfulness")(INPUTS, {"answer": "Ada."})


@pytest.fixture
def client() -> Any:
    """A client of langsmith that sends nothing; skipped where langsmith is not installed."""
    langsmith = pytest.importorskip("langsmith", reason="langsmith is not installed (extra dev-compat)")
    from requests import Response, Session

    class Silent(Session):
        def request(self, *given: Any, **more: Any) -> Response:
            response = Response()
            response.status_code, response._content = 202, b"{}"
            return response

    return langsmith.Client(api_key="none", api_url="http://localhost", session=Silent(), info={})


@pytest.fixture
def examples(client: Any) -> list[Any]:
    """Six examples of a data set."""
    from langsmith.schemas import Example

    about = {"dataset_id": uuid.uuid4(), "created_at": datetime.now(UTC), "outputs": {"answer": "Ada wrote it."}}
    return [Example(id=uuid.uuid4(), inputs={"question": f"Who wrote book {n}?"}, **about) for n in range(6)]


def results_of(rows: list[Any]) -> list[list[tuple[str, float | None, str]]]:
    """Key, score and comment of each result of each row."""
    found = [row["evaluation_results"]["results"] for row in rows]
    return [[(one.key, one.score, one.comment) for one in results] for results in found]


def test_evaluate_of_langsmith(client: Any, examples: list[Any]) -> None:
    """langsmith's evaluate takes the function as it is, with documents of LangChain among the outputs."""
    documents = pytest.importorskip("langchain_core.documents", reason="langchain-core is not installed (dev-compat)")
    from langsmith import evaluate

    def target(inputs: dict[str, str]) -> dict[str, Any]:
        return {"answer": OUTPUTS["answer"], "documents": [documents.Document(page_content="Ada wrote it.")]}

    judged = [evaluator("faithfulness,answer_correctness"), evaluator("bleu")]
    rows = list(
        evaluate(target, data=examples, evaluators=judged, upload_results=False, client=client, max_concurrency=4)
    )
    found = results_of(rows)
    assert len(found) == 6
    assert {key for key, _, _ in found[0]} == {"faithfulness", "answer_correctness", "bleu"}
    assert ("faithfulness", 0.5, "0.500 (1 of 2); not supported by contexts: “Bob sang.”") in found[0]


def test_aevaluate_of_langsmith(client: Any, examples: list[Any]) -> None:
    """langsmith's aevaluate takes both forms; an undefined score is feedback without a score."""
    from langsmith import aevaluate

    async def target(inputs: dict[str, str]) -> dict[str, Any]:
        return {"answer": "Hello!", "documents": ["Ada wrote it."]}

    async def run() -> list[Any]:
        judged = [aevaluator("faithfulness"), evaluator("context_recall")]
        about = {"upload_results": False, "client": client, "max_concurrency": 4}
        return [row async for row in await aevaluate(target, data=examples, evaluators=judged, **about)]

    found = results_of(asyncio.run(run()))
    undefined = ("faithfulness", None, "undefined: the response makes no claim")
    assert found == [[undefined, ("context_recall", 1.0, "1.000 (1 of 1)")]] * 6


@pytest.fixture
def evaluation() -> Any:
    """LangChain's module of evaluators; a test that needs it is skipped where it is not installed."""
    reason = "langchain-classic is not installed (extra dev-compat)"
    return pytest.importorskip("langchain_classic.evaluation", reason=reason)


def test_string_evaluators(evaluation: Any) -> None:
    """A metric is a StringEvaluator, sync and async, with the reasoning that the comments have."""
    judging = langchain.StringEvaluator("faithfulness")
    assert isinstance(judging, evaluation.StringEvaluator)
    assert (judging.evaluation_name, judging.requires_input, judging.requires_reference) == (
        "faithfulness",
        True,
        False,
    )
    given = {"prediction": OUTPUTS["answer"], "input": "Who?", "contexts": OUTPUTS["documents"]}
    expected = {"score": 0.5, "reasoning": "0.500 (1 of 2); not supported by contexts: “Bob sang.”"}
    assert judging.evaluate_strings(**given) == expected
    assert asyncio.run(judging.aevaluate_strings(**given)) == expected


def test_string_evaluators_with_references(evaluation: Any) -> None:
    """One value of several is named with a point, and a reference is asked for where the metric reads one."""
    judging = langchain.StringEvaluator("rouge.rougeL")
    assert judging.requires_reference
    assert judging.evaluate_strings(prediction="Ada wrote it.", reference="Ada wrote it.")["score"] == 1.0
    with pytest.raises(MissingField, match="no sample has 'references'"):
        judging.evaluate_strings(prediction="Ada wrote it.", input="Who?")


def test_a_model_of_langchain_judges(evaluation: Any) -> None:
    """A chat model of LangChain is a judge as it is; a reply of no use is a failure with its reason."""
    from langchain_core.language_models.fake_chat_models import FakeListChatModel

    (found,) = evaluator("faithfulness", FakeListChatModel(responses=["no idea"]))(INPUTS, OUTPUTS)["results"]
    assert found["score"] is None
    assert found["comment"].startswith("failed: ")


def test_without_langchain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the library only the string evaluator is missing, and says what to install."""
    monkeypatch.setitem(sys.modules, "langchain_classic", None)
    monkeypatch.setitem(sys.modules, "langchain_classic.evaluation", None)
    cast(Any, langchain.__getattr__).cache_clear()
    with pytest.raises(MissingExtra, match=r"pip install 'ragauge\[langchain\]'"):
        langchain.StringEvaluator("faithfulness")
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = langchain.Nothing
