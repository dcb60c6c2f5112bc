"""ragas' front door, as somebody uses it who comes from there."""

from __future__ import annotations

import asyncio
import json
import math
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.judges.saying import Saying
from tests.llm.models import perfect_reply
from tests.llm.stub.fixture import StubFactory
from tests.nli.conftest import model as model

import ragauge as rg
from ragauge.compat import ragas
from ragauge.compat.ragas import BadInput, EvaluationDataset, SingleTurnSample, aevaluate, evaluate, metrics
from ragauge.compat.ragas.metrics import (
    AnswerCorrectness,
    ChrfScore,
    FactualCorrectness,
    Faithfulness,
    FaithfulnesswithHHEM,
    FaithulnesswithHHEM,
    NoiseSensitivity,
    RougeScore,
    answer_relevancy,
    context_precision,
    context_recall,
    context_utilization,
    faithfulness,
)
from ragauge.nouns.answers import Answer, ChunkVerdict, Decomposition, Failure, Label, Verdict
from ragauge.nouns.statements import Statement
from ragauge.questions import Decompose, Entail, Question, Relevant

#: Rows in the columns of ragas 0.1; of the two statements of each answer the contexts hold the first.
OLDER: list[dict[str, Any]] = [
    {
        "question": "When does the ferry leave?",
        "answer": "The ferry leaves at nine. Gulls like bread.",
        "contexts": ["The ferry leaves at nine.", "The ferry is white."],
        "ground_truth": "The ferry leaves at nine.",
    },
    {
        "question": "How long does the ferry take?",
        "answer": "The ferry takes 40 minutes. Gulls like fish.",
        "contexts": ["The ferry takes 40 minutes."],
        "ground_truth": "The ferry takes 40 minutes.",
    },
]

#: The same in the columns of today.
ROWS: list[dict[str, Any]] = [
    {
        "user_input": row["question"],
        "retrieved_contexts": row["contexts"],
        "response": row["answer"],
        "reference": row["ground_truth"],
    }
    for row in OLDER
]


def sentences(text: str) -> Decomposition:
    """Each sentence as a statement."""
    return Decomposition(tuple(Statement(f"{sentence}.") for sentence in re.findall(r"[^.]+(?=\.)", text)))


def literally(question: Question) -> Answer:
    """What a judge answers who takes sentences for statements, and looks for them letter for letter."""
    match question:
        case Decompose(text):
            return sentences(text)
        case Entail(premise, hypothesis):
            labels = [Label.ENTAILED if hypothesis.strip() in text else Label.NEUTRAL for text in premise]
            joint = Label.ENTAILED if Label.ENTAILED in labels else Label.NEUTRAL
            return Verdict(joint, chunks=tuple(map(ChunkVerdict, labels)))
        case Relevant(query, text, reference):
            return Verdict(Label.YES if text in (reference or query) else Label.NO)
    raise AssertionError(question)


def two_way(label: Label) -> Saying:
    """A model that says the same of all that it checks, in the place of HHEM."""

    def says(question: Question) -> Answer:
        assert isinstance(question, Entail)
        return Verdict(label, chunks=(ChunkVerdict(label),) * len(question.premise))

    return Saying("hhem", says, "entail:support")


def literal() -> Saying:
    """Such a judge, who remembers what it was asked."""
    return Saying("literal", literally)


# The documentation


@pytest.fixture
def samples_of_the_seed(shared: Path) -> list[str]:
    """The two code samples of ragas' documentation, as written but for the import."""
    text = next((shared / "seeds").glob("001_*.txt")).read_text("utf-8")
    found = re.findall(r"^from datasets.*?^score\.to_pandas\(\)", text, re.DOTALL | re.MULTILINE)
    return [re.sub(r"^from ragas", "from ragauge.compat.ragas", code, flags=re.MULTILINE) for code in found]


@pytest.mark.shared
def test_the_samples_of_the_documentation(samples_of_the_seed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Both code samples run with the import changed, the second with a stand-in for HHEM, and score two rows."""
    pytest.importorskip("datasets")
    hhem = two_way(Label.NOT_ENTAILED)
    monkeypatch.setattr(FaithulnesswithHHEM, "entail", hhem)
    assert len(samples_of_the_seed) == 2
    for code, metric in zip(samples_of_the_seed, ("faithfulness", "faithfulness_with_hhem"), strict=True):
        names: dict[str, Any] = {}
        exec(code, names)
        frame = names["score"].to_pandas()
        assert list(frame.columns) == ["user_input", "retrieved_contexts", "response", metric]
        assert frame[metric].between(0, 1).all()
    assert hhem.asked


@pytest.mark.shared
def test_a_sample_of_the_documentation_with_an_llm(
    samples_of_the_seed: list[str], stub_server: StubFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a model as the metric's llm the first sample takes two calls a row, as ragas does, and all is scored."""
    pytest.importorskip("datasets")
    server = stub_server()
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    monkeypatch.setattr(faithfulness, "llm", f"openai/gpt-4o-mini?base_url={server.url}")
    names: dict[str, Any] = {}
    exec(samples_of_the_seed[0], names)
    assert all(0 <= value <= 1 for value in names["score"]["faithfulness"])
    assert server.stats()["calls"] == 4


@pytest.mark.parametrize("name", ["Faithfulness", "faithfulness", "FaithulnesswithHHEM", "FaithfulnesswithHHEM"])
def test_metrics_are_in_both_places(name: str) -> None:
    """A metric is imported from `ragas.metrics` and from `ragas`, HHEM's in both spellings."""
    assert getattr(ragas, name) is getattr(metrics, name)
    assert FaithfulnesswithHHEM is FaithulnesswithHHEM
    with pytest.raises(AttributeError, match="AspectCritic"):
        ragas.AspectCritic  # noqa: B018


# Data


def forms() -> dict[str, Callable[[list[dict[str, Any]]], Any]]:
    """How people hold their rows."""
    return {
        "list": list,
        "datasets": lambda rows: pytest.importorskip("datasets").Dataset.from_list(rows),
        "pandas": lambda rows: pytest.importorskip("pandas").DataFrame(rows),
        "polars": lambda rows: pytest.importorskip("polars").DataFrame(rows),
        "EvaluationDataset": EvaluationDataset.from_list,
        "ragas' EvaluationDataset": lambda rows: SimpleNamespace(samples=[dict(row) for row in rows]),
    }


@pytest.mark.parametrize("rows", [OLDER, ROWS], ids=["0.1", "today"])
@pytest.mark.parametrize("form", forms())
def test_data_of_both_generations_in_every_form(form: str, rows: list[dict[str, Any]]) -> None:
    """Rows in the columns of either generation, however they are held, are the same samples with the same scores."""
    result = evaluate(forms()[form](rows), [faithfulness], literal())
    assert result["faithfulness"] == [0.5, 0.5]
    assert result.dataset.to_list() == ROWS


@pytest.mark.parametrize("name", ["from_list", "from_dict", "from_pandas", "from_hf_dataset", "from_jsonl"])
def test_a_data_set_is_made_under_each_name(name: str) -> None:
    """Every constructor makes the same data set, a list of samples that gives its rows back."""
    dataset = getattr(EvaluationDataset, name)(OLDER)
    assert dataset[0] == SingleTurnSample(**ROWS[0])
    assert dataset.samples == list(dataset)
    assert (len(dataset), list(dataset), dataset.to_list()) == (2, [SingleTurnSample(**row) for row in ROWS], ROWS)


def test_column_map_names_columns() -> None:
    """`column_map` gives the column for a name of either generation, and goes before a column of that name."""
    rows = [{"Q": "When?", "A": "At nine.", "C": ["At nine."], "response": "Never.", "reference": "Nine."}]
    for names in (("user_input", "response", "retrieved_contexts"), ("question", "answer", "contexts")):
        result = evaluate(rows, [faithfulness], literal(), column_map=dict(zip(names, "QAC", strict=True)))
        assert result.dataset[0].to_dict() == {
            "user_input": "When?",
            "retrieved_contexts": ["At nine."],
            "response": "At nine.",
            "reference": "Nine.",
        }
        assert result["faithfulness"] == [1.0]


def test_columns_that_ragas_does_not_know_are_left_alone() -> None:
    """Columns that are ragauge's and not ragas', such as ids that repeat, change nothing."""
    rows = [{**row, "id": "same", "answerable": "perhaps", "source": "a file", "group": None} for row in ROWS]
    assert evaluate(rows, [faithfulness], literal()).dataset.to_list() == ROWS


def test_of_several_ground_truths_the_first_counts() -> None:
    """As in ragas 0.1, the first of `ground_truths` is the reference."""
    (sample,) = EvaluationDataset([{"question": "q", "answer": "a", "ground_truths": ["first", "second"]}])
    assert sample.reference == "first"


# Results


def test_the_result() -> None:
    """A result gives values by metric and by row, means, a frame and a text, and the run with the evidence."""
    result = evaluate(OLDER, [faithfulness, context_precision], literal(), experiment_name="ferry")
    assert result["faithfulness"] == [0.5, 0.5]
    assert result.scores == [{"faithfulness": 0.5, "context_precision": 1.0}] * 2
    assert repr(result) == "{'faithfulness': 0.5000, 'context_precision': 1.0000}"
    assert result.means == {"faithfulness": 0.5, "context_precision": 1.0}
    assert [piece.text for piece in result.run.scores[1]["faithfulness"].evidence] == [
        "The ferry takes 40 minutes.",
        " Gulls like fish.",
    ]
    assert result.run is result.runs["context_precision"]
    assert result.run.record.name == "ferry"
    frame = result.to_pandas()
    columns = ["user_input", "retrieved_contexts", "response", "reference", "faithfulness", "context_precision"]
    assert list(frame.columns) == columns
    assert frame["faithfulness"].tolist() == [0.5, 0.5]


def test_undefined_is_nan_and_left_out_of_means() -> None:
    """Where there is nothing to count the value is NaN, the mean leaves it out, and the run says why."""
    result = evaluate([ROWS[0], {**ROWS[1], "response": ""}], [faithfulness], literal())
    assert result["faithfulness"] == pytest.approx([0.5, math.nan], nan_ok=True)
    assert repr(result) == "{'faithfulness': 0.5000}"
    assert result.run.scores[1]["faithfulness"].undefined == "the response makes no claim"
    nothing = evaluate([{**ROWS[1], "response": ""}], [faithfulness], literal())
    assert repr(nothing) == "{'faithfulness': nan}"


def test_without_contexts_context_precision_is_zero() -> None:
    """No contexts give ragas' 0, a row without the column or the reference NaN."""
    rows = [{**ROWS[0], "retrieved_contexts": []}, {**ROWS[0], "retrieved_contexts": None}, ROWS[0]]
    result = evaluate(rows, [context_precision, context_utilization], literal())
    assert result["context_precision"] == pytest.approx([0.0, math.nan, 1.0], nan_ok=True)
    assert result["context_utilization"] == pytest.approx([0.0, math.nan, 1.0], nan_ok=True)
    no_reference = evaluate([ROWS[0], {**ROWS[0], "reference": None}], [context_precision], literal())
    assert no_reference["context_precision"] == pytest.approx([1.0, math.nan], nan_ok=True)


def unsure(question: Question) -> Answer | Failure:
    """A judge that has no answer about gulls."""
    return Failure("timeout") if isinstance(question, Entail) and "fish" in question.hypothesis else literally(question)


def test_no_answer_is_nan_with_a_warning() -> None:
    """Where the judge has no answer the value is NaN, which is warned of with the reason, and others are scored."""
    with pytest.warns(UserWarning, match="faithfulness is NaN for some samples: timeout"):
        result = evaluate(ROWS, [faithfulness], Saying("unsure", unsure))
    assert result["faithfulness"] == pytest.approx([0.5, math.nan], nan_ok=True)


def test_no_answer_is_an_error_on_demand() -> None:
    """With raise_exceptions=True a missing answer raises, and so it does for a single sample."""
    with pytest.raises(rg.RunFailed, match="timeout"):
        evaluate(ROWS, [faithfulness], Saying("unsure", unsure), raise_exceptions=True)
    with pytest.raises(rg.RunFailed, match="timeout"):
        Faithfulness(llm=Saying("unsure", unsure)).single_turn_score(SingleTurnSample(**ROWS[1]))


# Metrics


@pytest.mark.parametrize(
    ("metric", "key"),
    [
        (Faithfulness(name="mine"), "mine"),
        (NoiseSensitivity(), "noise_sensitivity(mode=relevant)"),
        (NoiseSensitivity(mode="irrelevant"), "noise_sensitivity(mode=irrelevant)"),
        (FactualCorrectness(mode="recall"), "factual_correctness(mode=recall)"),
        (RougeScore(rouge_type="rouge1"), "rouge_score(mode=fmeasure)"),
        (metrics.LLMContextPrecisionWithReference(), "llm_context_precision_with_reference"),
        (metrics.LLMContextPrecisionWithoutReference(), "llm_context_precision_without_reference"),
        (metrics.ResponseRelevancy(), "answer_relevancy"),
        (metrics.LLMContextRecall(), "context_recall"),
    ],
)
@pytest.mark.filterwarnings("ignore:answer_relevancy is not")
def test_scores_are_called_as_in_ragas(metric: metrics.Metric, key: str) -> None:
    """Scores have the metric's name, with the mode of a metric that has one."""
    assert list(evaluate(ROWS, [metric], literal()).scores[0]) == [key]


def test_every_metric_in_one_run() -> None:
    """All metrics of a judge share one run, in which nothing is asked twice."""
    judge = literal()
    everything = [
        *(faithfulness, context_precision, context_utilization, context_recall, AnswerCorrectness(weights=[1, 0])),
        *(NoiseSensitivity(), FactualCorrectness(), RougeScore(), ChrfScore()),
    ]
    result = evaluate(ROWS, everything, judge)
    assert len(set(judge.asked)) == len(judge.asked)
    assert len({run.id for run in result.runs.values()}) == 1
    assert result.scores[0] == {
        "faithfulness": 0.5,
        "context_precision": 1.0,
        "context_utilization": 1.0,
        "context_recall": 1.0,
        "answer_correctness": pytest.approx(2 / 3),
        "noise_sensitivity(mode=relevant)": 0.0,
        "factual_correctness(mode=f1)": 0.67,
        "rouge_score(mode=fmeasure)": pytest.approx(10 / 13),
        "chrf_score": pytest.approx(rg.evaluate(ROWS[:1], "chrf").estimates["chrf"].value),
    }


def test_context_precision_against_response_or_reference() -> None:
    """Context precision holds contexts against the reference, context utilization against the response."""
    row = {"user_input": "q", "retrieved_contexts": ["own", "gold"], "response": "own", "reference": "gold"}
    result = evaluate([row], [context_precision, context_utilization], literal())
    assert result.scores == [{"context_precision": 0.5, "context_utilization": 1.0}]


def test_ragas_four_by_default() -> None:
    """Without metrics ragas' four are measured, and the one for which ragas has another number is told of."""
    with pytest.warns(UserWarning, match="answer_relevancy is not ragas'.*cosine"):
        result = evaluate(ROWS, llm=literal())
    assert list(result.runs) == ["answer_relevancy", "context_precision", "faithfulness", "context_recall"]


@pytest.mark.parametrize("metric", [answer_relevancy, AnswerCorrectness(), AnswerCorrectness(weights=[0.5, 0.5])])
def test_other_numbers_are_warned_of(metric: metrics.Metric) -> None:
    """A metric that is not ragas' says so in its documentation, and whenever it is measured."""
    assert "ragas'" in (metric.__doc__ or "")
    with pytest.warns(UserWarning, match=f"{metric.name} is not ragas'"):
        evaluate(ROWS, [metric], literal())


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


def test_hhem_itself(model: Callable[[str], Path]) -> None:
    """A folder with a model of HHEM's form is read by torch, and checks the claims that the llm finds."""
    hhem = FaithulnesswithHHEM(judge=f"hf/{model('hhem')}?device=cpu")
    row = {"user_input": "q", "retrieved_contexts": ["it rains in york"], "response": "it rains in york ."}
    result = evaluate([row], [hhem], literal())
    (evidence,) = result.run.scores[0]["faithfulness"].evidence
    assert evidence.probability is not None
    assert result["faithfulness_with_hhem"] == [float(evidence.probability > 0.5)]


def test_a_metric_has_a_judge_of_its_own() -> None:
    """The llm of a metric goes before that of `evaluate`; metrics of one judge share a run, in the order asked for."""
    own, common = literal(), literal()
    chosen = [context_recall, Faithfulness(llm=own), context_precision]
    result = evaluate(ROWS, chosen, common)
    assert list(result.scores[0]) == ["context_recall", "faithfulness", "context_precision"]
    assert result.runs["context_recall"] is result.runs["context_precision"]
    assert own.asked
    assert result.runs["faithfulness"] is not result.run


def test_one_sample() -> None:
    """A metric scores a single sample, waited for or not, also under a running loop."""
    metric, sample = Faithfulness(llm=literal()), SingleTurnSample(**ROWS[0])

    async def notebook() -> list[float]:
        return [await metric.single_turn_ascore(sample), metric.single_turn_score(sample)]

    assert [metric.single_turn_score(sample), *asyncio.run(notebook())] == [0.5] * 3


def test_evaluate_under_a_running_loop() -> None:
    """`aevaluate` is awaited, and `evaluate` works where a loop runs already, with the same result."""

    async def notebook() -> list[str]:
        return [repr(await aevaluate(ROWS, [faithfulness], literal())), repr(evaluate(ROWS, [faithfulness], literal()))]

    assert asyncio.run(notebook()) == ["{'faithfulness': 0.5000}"] * 2


def test_a_store_keeps_what_was_judged(tmp_path: Path) -> None:
    """With a store a second evaluation asks nothing."""
    first, second = literal(), literal()
    kept = evaluate(ROWS, [faithfulness], first, store=tmp_path)
    again = evaluate(ROWS, [faithfulness], second, store=tmp_path)
    assert (bool(first.asked), second.asked) == (True, [])
    assert kept.scores == again.scores


# Models


class Chat:
    """A chat model as LangChain has them."""

    model_name = "chatty"

    def __init__(self) -> None:
        self.calls = 0

    async def ainvoke(self, messages: list[dict[str, str]]) -> Any:
        """A good reply, as a message."""
        self.calls += 1
        said = perfect_reply([(message["role"], message["content"]) for message in messages])
        return SimpleNamespace(content=[{"type": "text", "text": said}])


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


def test_ragas_other_arguments_are_taken() -> None:
    """What has no meaning here is taken, so that calls need not change."""
    idle: dict[str, Any] = {
        "embeddings": object(),
        "callbacks": [],
        "run_config": object(),
        "show_progress": False,
        "batch_size": 4,
    }
    assert evaluate(ROWS, [faithfulness], literal(), **idle, allow_nest_asyncio=True).means == {"faithfulness": 0.5}
    assert evaluate(ROWS, [Faithfulness(max_retries=3)], literal(), object(), "a name").means == {"faithfulness": 0.5}
    assert FaithulnesswithHHEM(device="cpu", batch_size=4).name == "faithfulness_with_hhem"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SingleTurnSample(user_input=3), "user_input must be one text, not 3"),  # type: ignore[arg-type]
        (lambda: Faithfulness(retries=3), "faithfulness has no argument 'retries'"),
    ],
)
def test_samples_and_metrics_of_bad_arguments(make: Callable[[], Any], message: str) -> None:
    """What is no text in a sample, and an argument that no metric of ragas has, is told by name."""
    with pytest.raises(BadInput, match=message):
        make()


def test_an_empty_text_counts_as_missing() -> None:
    """A row with an empty reference is NaN, and as the only row an error that says so; ragas looks for None alone."""
    rows = [*OLDER, {**OLDER[0], "ground_truth": ""}]
    assert math.isnan(evaluate(rows, [context_recall], literal())["context_recall"][2])
    with pytest.raises(BadInput, match="context_recall needs reference; no row has any"):
        evaluate(rows[2:], [context_recall], literal())


# Bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metrics": Faithfulness()}, "must be a list"),
        ({"metrics": [Faithfulness]}, "must be a list of objects"),
        ({"metrics": ["faithfulness"]}, "must be a list of objects"),
        ({"metrics": []}, "must be a list"),
        ({"metrics": [context_recall]}, "context_recall needs reference; .*column_map={'reference': NAME}"),
        ({"metric": [faithfulness]}, "no argument 'metric'"),
    ],
)
def test_what_ragas_refuses(arguments: dict[str, Any], message: str) -> None:
    """What ragas refuses with a ValueError or TypeError is one here too, and a UsageError, before anything is asked."""
    judge = literal()
    rows = [{key: value for key, value in row.items() if key != "reference"} for row in ROWS]
    for kind in (rg.UsageError, ValueError, TypeError):
        with pytest.raises(kind, match=message) as caught:
            evaluate(rows, **{"metrics": [faithfulness], "llm": judge, **arguments})
        assert isinstance(caught.value, BadInput)
    assert judge.asked == []


@pytest.mark.parametrize(
    ("dataset", "options", "kind"),
    [
        ([], {}, rg.BadData),
        (None, {}, rg.BadData),
        ([1], {}, rg.BadRow),
        ([{"question": "q", "answer": {"a": 1}, "contexts": []}], {}, rg.BadRow),
        ("nowhere.csv", {}, rg.BadData),
        (ROWS, {"column_map": {"response": "nowhere"}}, rg.UnknownName),
        (ROWS, {"llm": "gpt-4o-mini"}, rg.UnknownName),
        (ROWS, {"llm": 3}, rg.BadParameter),
    ],
)
def test_bad_data_and_models(dataset: Any, options: dict[str, Any], kind: type[Exception]) -> None:
    """Data and models that are none are errors of ragauge, which say what and where."""
    with pytest.raises(kind):
        evaluate(dataset, [faithfulness], **options)


@pytest.mark.parametrize(
    "make",
    [
        lambda: NoiseSensitivity(mode="both"),
        lambda: FactualCorrectness(mode="F1"),
        lambda: RougeScore(rouge_type="rouge-l"),
    ],
)
def test_unknown_modes(make: Callable[[], Any]) -> None:
    """A mode that there is not is told when the metric is made."""
    with pytest.raises(rg.UsageError):
        make()


# Oracles

WORDS = st.lists(st.sampled_from(["the", "ferry", "ferries", "leaves", "at", "nine", "Nine."]), min_size=1, max_size=8)


@settings(max_examples=30)
@given(WORDS, WORDS)
def test_rouge_and_chrf_are_those_of_the_libraries(response: list[str], reference: list[str]) -> None:
    """ROUGE and chrF have the values of the libraries that ragas calls, with its settings."""
    rouge = pytest.importorskip("rouge_score.rouge_scorer")
    sacrebleu = pytest.importorskip("sacrebleu")
    row = {"response": " ".join(response), "reference": " ".join(reference)}
    types = [RougeScore(name=name, rouge_type=name) for name in ("rouge1", "rougeL")]
    (scores,) = evaluate([row], [*types, ChrfScore()]).scores
    theirs = rouge.RougeScorer(["rouge1", "rougeL"], use_stemmer=True).score(row["reference"], row["response"])
    chrf = sacrebleu.corpus_chrf([row["response"]], [[row["reference"]]]).score / 100
    assert list(scores.values()) == pytest.approx([theirs["rouge1"].fmeasure, theirs["rougeL"].fmeasure, chrf])


def fbeta(tp: int, fp: int, fn: int, beta: float) -> float:
    """The F-score from precision and recall, as textbooks have it."""
    precision, recall = tp / (tp + fp or 1), tp / (tp + fn or 1)
    weighted = beta**2 * precision + recall
    return (1 + beta**2) * precision * recall / weighted if weighted else 0.0


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.floats(0.1, 4))
def test_factual_correctness_is_the_f_score(tp: int, fp: int, fn: int, beta: float) -> None:
    """From counts come precision, recall and the F-score of any beta, each to two decimals."""
    expected = {"precision": tp / (tp + fp or 1), "recall": tp / (tp + fn or 1), "f1": fbeta(tp, fp, fn, beta)}
    for mode, value in expected.items():
        metric = FactualCorrectness(mode=mode, beta=beta)
        assert abs(metric.counted(0.0, (tp, fp, fn)) - value) <= 0.005 + 1e-9


@settings(max_examples=20)
@given(st.lists(st.sampled_from([*ROWS, {**ROWS[0], "response": ""}]), min_size=1, max_size=6))
def test_rows_do_not_see_each_other(rows: list[dict[str, Any]]) -> None:
    """A row's value is the same alone and among others, in its place."""
    alone = [evaluate([row], [faithfulness], literal())["faithfulness"][0] for row in rows]
    assert evaluate(rows, [faithfulness], literal())["faithfulness"] == pytest.approx(alone, nan_ok=True)


def test_no_warning_where_there_is_nothing_to_say() -> None:
    """An evaluation in which all is ragas' own and all was answered warns of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = evaluate(ROWS, [faithfulness, context_recall], literal())
    assert json.dumps(result.scores) == json.dumps([{"faithfulness": 0.5, "context_recall": 1.0}] * 2)
