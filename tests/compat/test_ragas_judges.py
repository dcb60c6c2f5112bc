"""Who judges for ragas' metrics: an llm for all, one of a metric's own, HHEM, models of LangChain."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.compat.ragas_ferry import ROWS, literal, two_way
from tests.judges.saying import Saying
from tests.llm.models import perfect_reply
from tests.nli.conftest import model as model

from ragauge.compat.ragas import evaluate
from ragauge.compat.ragas.metrics import (
    Faithfulness,
    FaithulnesswithHHEM,
    context_precision,
    context_recall,
    faithfulness,
)
from ragauge.questions import Decompose, Entail
from ragauge.types import Failure, Label


def test_a_metric_has_a_judge_of_its_own() -> None:
    """The llm of a metric goes before that of `evaluate`; metrics of one judge share a run, in the order asked for."""
    own, common = literal(), literal()
    chosen = [context_recall, Faithfulness(llm=own), context_precision]
    result = evaluate(ROWS, chosen, common)
    assert list(result.scores[0]) == ["context_recall", "faithfulness", "context_precision"]
    assert result.runs["context_recall"] is result.runs["context_precision"]
    assert own.asked
    assert result.runs["faithfulness"] is not result.run


def test_hhem_checks_what_the_llm_finds() -> None:
    """Of faithfulness with HHEM the llm finds the claims, once for both metrics, and the model checks them."""
    llm, model = literal(), two_way(Label.NOT_ENTAILED)
    result = evaluate(ROWS[1:], [faithfulness, FaithulnesswithHHEM(judge=model)], llm)
    assert result.scores == [{"faithfulness": 0.5, "faithfulness_with_hhem": 0.0}]
    assert [type(question) for question in llm.asked] == [Decompose, Entail, Entail]
    assert [type(question) for question in model.asked] == [Entail, Entail]
    assert result.runs["faithfulness"].id != result.runs["faithfulness_with_hhem"].id


def test_hhem_beside_judges_by_kind() -> None:
    """Where the llm is several judges by kind, HHEM takes the place of the one for entailment."""
    llm, model = literal(), two_way(Label.ENTAILED)
    judge = {"decompose": llm, "entail": Saying("none", Failure("none"))}
    assert evaluate(ROWS, [FaithulnesswithHHEM(judge=model)], judge)["faithfulness_with_hhem"] == [1.0, 1.0]


@pytest.mark.slow
def test_hhem_itself(model: Callable[[str], Path]) -> None:
    """A folder with a model of HHEM's form is read by torch, and checks the claims that the llm finds."""
    hhem = FaithulnesswithHHEM(judge=f"hf/{model('hhem')}?device=cpu")
    row = {"user_input": "q", "retrieved_contexts": ["it rains in york"], "response": "it rains in york ."}
    result = evaluate([row], [hhem], literal())
    (evidence,) = result.run.scores[0]["faithfulness"].evidence
    assert evidence.probability is not None
    assert result["faithfulness_with_hhem"] == [float(evidence.probability > 0.5)]


class Chat:
    """A chat model as LangChain has them."""

    model_name = "chatty"

    def __init__(self) -> None:
        self.calls = 0

    async def ainvoke(self, messages: list[dict[str, str]]) -> Any:
        """A good reply, as a message."""
        self.calls += 1
        reply = perfect_reply([(message["role"], message["content"]) for message in messages])
        return SimpleNamespace(content=[{"type": "text", "text": reply}])


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_model_of_langchain_judges(wrapped: bool) -> None:
    """A chat model of LangChain is an llm, as it is or as ragas wraps it."""
    chat = Chat()
    llm = SimpleNamespace(langchain_llm=chat) if wrapped else chat
    result = evaluate(ROWS, [faithfulness], llm)
    assert chat.calls == 4
    assert all(0 <= value <= 1 for value in result["faithfulness"])
    assert "chatty" in str(result.run.record.judges)


def test_the_embedded_judge_by_default() -> None:
    """Without an llm the embedded judge is asked, which needs no key."""
    assert [str(judge) for judge in evaluate(ROWS, [faithfulness]).run.record.judges.values()] == ["embedded"]
