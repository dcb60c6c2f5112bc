"""Valor's own values: its vectors, and itself where it is installed, against our front door."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metrics.test_valor_vectors import METRICS, answering, args, fields_of, is_plain_number, raises, replies

import ragauge as rg
from ragauge.compat.valor import BadInput, Context, Evaluator, Metric, MetricType, QueryResponse, UndefinedScore
from ragauge.questions import Question
from ragauge.types import Answer, Failure, Identity

if TYPE_CHECKING:
    from tests.metrics.conftest import Row

INVALID = Failure("invalid_answer", "abc")


class Scripted:
    """A judge that says what a script has Valor's model say, and remembers what it was asked."""

    identity = Identity("mock")
    answers = frozenset({"decompose", "entail", "relevant", "classify", "rate"})

    def __init__(self, answer: Callable[[Question], Answer | Failure], *, invalid: int = 0) -> None:
        """invalid: how many rounds of questions get no usable reply, before the first that does."""
        self._answer, self._invalid = answer, invalid
        self.asked: list[Question] = []

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """The script's answers."""
        self.asked += questions
        self._invalid -= 1
        return [INVALID if self._invalid >= 0 else self._answer(question) for question in questions]


def response_of(row: Row) -> QueryResponse:
    """What the row measures, its texts named so that each is unlike the others."""
    fields, given = fields_of(row), args(row)
    context = Context(list(fields["references"]), list(fields["contexts"] or ()))
    return QueryResponse(fields["query"], fields["response"], None if given.get("context", 0) is None else context)


def computed(metric: str, response: QueryResponse, judge: Scripted, retries: int = 0) -> Metric:
    """One metric by its method."""
    compute: Callable[[QueryResponse], Metric] = getattr(Evaluator(judge, retries), f"compute_{METRICS[metric]}")
    return compute(response)


@pytest.fixture
def vectors(golden: Path) -> list[Row]:
    """All rows of Valor and its predecessor."""
    return rows_in(golden / "systems")


def rows_in(folder: Path) -> list[Row]:
    """The rows of Valor and its predecessor in a folder."""
    rows: list[Row] = json.loads((folder / "valor_ragevals_dataworkz.json").read_text("utf-8"))
    return [row for row in rows if row["system"].startswith("valor-")]


def test_rows_with_scripted_replies(vectors: list[Row]) -> None:
    """On Valor's scripted replies every metric has Valor's value, and asks nothing where Valor does not.

    Left out is finding a number in prose, which is a judge's business.
    """
    rows = [row for row in vectors if row["metric"] in METRICS and not isinstance(row["expected"], dict)]
    rows = [row for row in rows if row["metric"] != "SummaryCoherence" or is_plain_number(row)]
    for row in rows:
        judge = Scripted(answering(row))
        metric = computed(row["metric"], response_of(row), judge)
        value, parameters = pytest.approx(row["expected"], rel=1e-12), {"evaluator": "mock", "retries": 0}
        assert metric.to_dict() == {"type": row["metric"], "value": value, "parameters": parameters}, row
        assert type(metric.value) is (int if row["metric"] == "SummaryCoherence" else float)
        assert bool(judge.asked) == bool(replies(row) and row["inputs"]["args"].get("groundtruths") != [])
    assert {row["metric"] for row in rows} == set(METRICS)


def test_rows_of_invalid_replies(vectors: list[Row]) -> None:
    """Where Valor's model says nothing usable, or Valor breaks on what it says, the metric is of type "Error"."""
    rows = [row for row in vectors if row["metric"] in METRICS and replies(row)]
    rows = [row for row in rows if raises(row, "InvalidLLMResponseError", "TypeError")]
    for row in rows:
        metric = computed(row["metric"], response_of(row), Scripted(lambda question: INVALID))
        assert metric.type == "Error"
        assert isinstance(metric.value, dict)
        assert metric.value["type"] == "InvalidLLMResponseError"
        assert metric.value["message"].startswith(f"{row['metric']}: invalid_answer: abc")
    assert len(rows) > 10


def test_rows_that_valor_refuses(vectors: list[Row]) -> None:
    """What Valor refuses with a ValueError is refused with one, before anything is asked."""
    rows = [row for row in vectors if row["metric"] in METRICS and row["system"] == "valor-lite"]
    rows = [row for row in rows if raises(row, "ValueError")]
    for row in rows:
        judge = Scripted(lambda question: INVALID)
        with pytest.raises(ValueError, match="context"):
            computed(row["metric"], response_of(row), judge)
        assert not judge.asked
    assert rows


def test_rows_on_retries(vectors: list[Row]) -> None:
    """A metric is tried once and `retries` times more; what was answered is not asked again, as it is by Valor."""
    response = QueryResponse("q", "response")
    opinions = {"metric": "Bias", "inputs": {"args": {}, "llm_responses": [{"opinions": ["a"]}, _reply("yes")]}}
    for row in (row for row in vectors if row["metric"] == "retry" and "outcomes" in row["inputs"]):
        judge = Scripted(answering(opinions), invalid=row["inputs"]["outcomes"].count("invalid"))
        metric, expected = computed("Bias", response, judge, row["inputs"]["retries"]), row["expected"]
        assert (metric.type, metric.parameters) == (expected["type"], expected["parameters"])
        if metric.type == "Error":
            expected["value"]["message"] = "Bias: invalid_answer: abc"
        assert metric.value == expected["value"]
    (row,) = (row for row in vectors if row["metric"] == "retry" and "llm_responses" in row["inputs"])
    judge = Scripted(_failing_once(answering(opinions)))
    assert computed("Bias", response, judge, 2).value == row["expected"]["value"]
    assert len(judge.asked) == 4 < row["expected"]["llm_calls"]


def _failing_once(answer: Callable[[Question], Answer | Failure]) -> Callable[[Question], Answer | Failure]:
    """The first time that a question is asked, the reply is of no use."""
    heard: set[Question] = set()

    def unsure(question: Question) -> Answer | Failure:
        if question in heard:
            return answer(question)
        heard.add(question)
        return INVALID

    return unsure


def test_rows_of_metrics_and_evaluators(vectors: list[Row]) -> None:
    """A metric with attributes of other types, and a seed with retries, are refused as Valor refuses them."""
    for row in (row for row in vectors if row["metric"] == "Metric()"):
        given = dict(row["inputs"])
        if isinstance(given["parameters"], str):
            given["parameters"] = {1: "hello"}
        with pytest.raises(TypeError, match="a metric has a text"):
            Metric(**given)
    (row,) = (row for row in vectors if row["metric"] == "Evaluator.openai")
    with pytest.raises(ValueError, match="retries with a seed"):
        Evaluator.openai(**row["inputs"])


def rouge(row: dict[str, Any]) -> dict[str, Any]:
    """ROUGE of a row by type."""
    response = QueryResponse("q", row["prediction"], Context(row["references"]))
    metrics = Evaluator.compute_rouge(response, row["rouge_types"], row["use_stemmer"])
    assert all(metric.parameters["use_stemmer"] is row["use_stemmer"] for metric in metrics)
    return {metric.parameters["rouge_type"]: metric.value for metric in metrics}


def bleu(row: dict[str, Any]) -> Any:
    """BLEU of a row."""
    metric = Evaluator.compute_sentence_bleu(
        QueryResponse("q", row["prediction"], Context(row["references"])), row["weights"]
    )
    assert metric.parameters == {"weights": row["weights"]}
    return metric.value


@pytest.mark.parametrize(("metric", "measure"), [("ROUGE", rouge), ("BLEU", bleu)])
def test_rows_of_overlap(metric: str, measure: Callable[[dict[str, Any]], Any], vectors: list[Row]) -> None:
    """ROUGE and BLEU are Valor's to the last digit, and refused where they are there.

    BLEU refuses two things more: negative weights, which leave 0..1, and one text in place of a list, whose letters
    Valor takes for references.
    """
    rows = [row for row in vectors if row["metric"] == metric and "prediction" in row["inputs"]]
    for row in rows:
        given, refused = row["inputs"], row["expected"] == {"raises": "ValueError"}
        if metric == "BLEU":
            refused = refused or isinstance(given["references"], str) or min(given["weights"]) < 0
        if refused:
            with pytest.raises(BadInput):
                measure(given)
        else:
            assert measure(given) == row["expected"], row
    assert rows


def test_rows_of_the_predecessor(vectors: list[Row]) -> None:
    """Several predictions in the older interface have the values of each alone; what is no text is refused."""
    types = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
    rows = [row for row in vectors if row["system"].startswith("valor-core") and "predictions" in row["inputs"]]
    for row in rows:
        votes, golden = row["inputs"]["predictions"], row["inputs"]["references"]
        if row["metric"] == "ROUGE(multi-prediction)":
            more = {"rouge_types": types, "use_stemmer": row["inputs"]["use_stemmer"]}
            each = [rouge({"prediction": p, "references": r, **more}) for p, r in zip(votes, golden, strict=True)]
            assert each == row["expected"]
        elif not (isinstance(votes, str) and isinstance(golden, str)):  # today's Valor takes those two
            with pytest.raises(ValueError, match="must be"):
                Evaluator.compute_rouge(QueryResponse("q", votes, Context(golden)))
    assert rows


@cache
def _table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.shared
def test_rows_of_valors_example_files(shared: Path) -> None:
    """ROUGE, stemmed ROUGE and three BLEUs of Valor's example data are Valor's to the last digit."""
    rows = [row for row in rows_in(shared / "vectors") if row["metric"] == "ROUGE+BLEU(csv row)"]
    weights = {"bleu1": [1], "bleu2": [0.5, 0.5], "bleu4": [0.25] * 4}
    for row in rows:
        sample = _table(shared / "data" / "valor" / row["inputs"]["csv"])[row["inputs"]["row"]]
        given = {
            "prediction": sample[row["inputs"]["prediction_col"]],
            "references": [sample[row["inputs"]["reference_col"]]],
            "rouge_types": ["rouge1", "rouge2", "rougeL", "rougeLsum"],
        }
        values = {"rouge": rouge({**given, "use_stemmer": False}), "rouge_stem": rouge({**given, "use_stemmer": True})}
        values |= {name: bleu({**given, "weights": each}) for name, each in weights.items()}
        assert values == {name: row["expected"][name] for name in values}
    assert len(rows) > 50


def _reply(*verdicts: str) -> dict[str, Any]:
    return {"verdicts": [{"analysis": "", "verdict": verdict} for verdict in verdicts]}


YES_NO = st.sampled_from(["yes", "no"])
FEW = st.integers(0, 3)


@st.composite
def scripts(draw: st.DrawFn) -> Row:
    """A metric, lists of contexts and ground truths of any length, and what the model says of them."""
    metric = draw(st.sampled_from([name for name in METRICS if name != "SummaryCoherence"]))
    contexts, golden, pieces = draw(FEW), draw(FEW), draw(FEW)
    texts = [f"s{i}" for i in range(pieces)]
    votes: list[Any] = []

    def verdicts(count: int) -> dict[str, Any]:
        return _reply(*draw(st.lists(YES_NO, min_size=count, max_size=count)))

    args: dict[str, Any] = {"query": "q", "response": "response"}
    match metric:
        case "AnswerCorrectness":
            args["groundtruths"] = [f"g{k}" for k in range(golden)]
            votes = [{"statements": texts}]
            for k in range(golden):
                hits, own = draw(st.integers(0, pieces)), [f"g{k}.{i}" for i in range(draw(FEW))]
                missing = draw(st.integers(0, len(own)))
                counts = {"TP": texts[:hits], "FP": texts[hits:], "FN": own[:missing]}
                votes += [{"statements": own}, counts]
        case "AnswerRelevance":
            votes = [{"statements": texts}, verdicts(pieces)]
        case "Bias" | "Toxicity":
            votes = [{"opinions": texts}] + ([verdicts(pieces)] if pieces else [])
        case "ContextPrecision":
            args |= {"predicted_context": ["c"] * contexts, "groundtruth_context": ["g"] * golden}
            votes = [verdicts(contexts) for _ in range(golden)] if contexts else []
        case "ContextRecall":
            golden = min(golden, 1)
            args |= {"predicted_context": ["c"] * contexts, "groundtruth_context": ["g"] * golden}
            votes = [{"statements": texts}, verdicts(pieces)] if contexts and golden else []
        case "ContextRelevance" | "Hallucination":
            args["context"] = ["c"] * contexts
            votes = [verdicts(contexts)] if contexts else []
        case "Faithfulness":
            args["context"] = ["c"] * contexts
            votes = [{"claims": texts}, verdicts(pieces)][: 2 if pieces else 1] if contexts else []
    return {"metric": metric, "inputs": {"args": args, "llm_responses": votes}, "expected": None}


@given(row=scripts())
def test_valor_itself_agrees(row: Row) -> None:
    """Valor with a model that says what our judge says returns the same dict, or raises an error of the same kind."""
    theirs = pytest.importorskip("valor_lite.text_generation", reason="valor-lite is not installed")
    response, votes = response_of(row), iter(replies(row))

    class Client:
        model_name = "mock"

        def __call__(self, messages: list[dict[str, str]]) -> str:
            return json.dumps(next(votes))

    def outcome(evaluator: Any, wanted: QueryResponse) -> Any:
        try:
            return getattr(evaluator, f"compute_{METRICS[row['metric']]}")(wanted).to_dict()
        except (ValueError, ZeroDivisionError) as error:
            return ValueError if isinstance(error, ValueError) else ZeroDivisionError

    assert response.context is not None
    context = theirs.Context(response.context.groundtruth, response.context.prediction)
    expected = outcome(theirs.Evaluator(Client()), theirs.QueryResponse(response.query, response.response, context))
    assert outcome(Evaluator(Scripted(answering(row))), response) == expected
    assert next(votes, None) is None


def test_the_public_names_are_valors() -> None:
    """Every name that Valor exports is here, and its metric types are ours."""
    theirs = pytest.importorskip("valor_lite.text_generation", reason="valor-lite is not installed")
    from ragauge.compat import valor

    assert [name for name in theirs.__all__ if not hasattr(valor, name)] == []
    assert [kind.value for kind in theirs.MetricType] == list(MetricType)
    assert issubclass(UndefinedScore, ZeroDivisionError)
    assert issubclass(UndefinedScore, rg.RagaugeError)
