"""ragas' vectors, where a metric of ours means the same; rules say where it does not."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ragauge.questions import Decompose, Entail, Question, Relevant
from ragauge.scores import F1Counts
from ragauge.types import Answer, ChunkVerdict, Decomposition, Failure, Label, Statement, Verdict

if TYPE_CHECKING:
    from tests.metrics.conftest import Row, Rule, Valuing

RULES: list[Rule] = [
    (
        "the judge left statements out and ragas counts those it named; ours is a failure",
        lambda row: row["inputs"].get("case") == "fewer verdicts",
        "failed: not_recorded (2 of 4 questions unanswered)",
    ),
    (
        "ragas takes any number but 0 for support; a verdict of ours is one of its labels",
        lambda row: row["inputs"].get("case") == "verdict -1",
        0.0,
    ),
    (
        "about the repair of a model's reply, which is the business of a judge that reads replies",
        lambda row: row["inputs"].get("case") == "garbage then fixed",
        None,
    ),
    (
        "ragas gives 0 without contexts; a mean over no ranks is undefined here",
        lambda row: row["metric"] == "context_precision(LLM)" and not row["inputs"]["verdicts"],
        "undefined: there are no contexts",
    ),
    (
        "a share of no statements is NaN in ragas and undefined here",
        lambda row: row["inputs"].get("hhem_scores") == [],
        "undefined: the response makes no claim",
    ),
    (
        "ragas mixes units: its recall divides response claims by response claims and missing reference claims; "
        "claim_recall counts reference claims",
        lambda row: row["inputs"].get("mode") == "recall",
        0.5,
    ),
    (
        "no metric here has a beta other than 1",
        lambda row: row["inputs"].get("beta", 1.0) != 1.0,
        None,
    ),
]


def label(yes: Any) -> Label:
    """Support or not."""
    return Label.ENTAILED if yes else Label.NEUTRAL


def statements(count: int, name: str) -> Decomposition:
    """This number of statements."""
    return Decomposition(tuple(Statement(f"{name}{i}") for i in range(count)))


def support(joint: list[Any], chunks: int, name: str = "s") -> dict[Question, Answer]:
    """Statements of a text held against contexts, each supported or not."""
    premise = tuple(f"c{i}" for i in range(chunks))
    return {
        Entail(premise, f"{name}{i}"): Verdict(label(yes), chunks=(ChunkVerdict(label(yes)),) * chunks)
        for i, yes in enumerate(joint)
    }


def faithfulness(given: dict[str, Any], value: Valuing) -> float | str:
    """Statements and verdicts as two replies of a model."""
    first, second = (json.loads(reply)["statements"] for reply in given["llm_outputs"])
    verdicts = support([int(one["verdict"]) == 1 for one in second], 1)
    table = {Decompose("r"): statements(len(first), "s"), **verdicts}
    return value(
        "faithfulness", answering=lambda q: table.get(q, Failure("not_recorded")), response="r", contexts=["c0"]
    )


def with_hhem(given: dict[str, Any], value: Valuing) -> float | str:
    """Scores of a two-way model, which supports above one half."""
    contexts, found = given["retrieved_contexts"], given["hhem_scores"]

    def answer(question: Question) -> Answer:
        if isinstance(question, Decompose):
            return statements(len(found), "s")
        assert isinstance(question, Entail)
        two_way = Label.ENTAILED if found[int(question.hypothesis[1:])] > 0.5 else Label.NOT_ENTAILED
        return Verdict(two_way, chunks=(ChunkVerdict(two_way),) * len(contexts))

    return value("faithfulness", answering=answer, response="r", contexts=contexts)


def context_precision(given: dict[str, Any], value: Valuing) -> float | str:
    """Usefulness of contexts in their order."""
    useful = given["verdicts"]

    def answer(question: Question) -> Answer:
        assert isinstance(question, Relevant)
        return Verdict(Label.YES if useful[int(question.text)] else Label.NO)

    contexts = [str(i) for i in range(len(useful))]
    return value("context_precision", answering=answer, query="q", contexts=contexts, references=["g"])


def context_recall(given: dict[str, Any], value: Valuing) -> float | str:
    """Statements of the reference, attributed or not."""
    found = given["attributed"]
    table: dict[Question, Answer] = {Decompose("g"): statements(len(found), "s"), **support(found, 1)}
    return value("context_recall", answering=table.__getitem__, contexts=["c0"], references=["g"])


def noise_sensitivity(given: dict[str, Any], value: Valuing) -> float | str:
    """Reference and response statements by context, and response statements by reference."""
    golden, own, correct = (
        given[f"{name}"]
        for name in (
            "gt_statements_x_contexts",
            "answer_statements_x_contexts",
            "answer_statements_supported_by_reference",
        )
    )
    contexts = tuple(f"c{i}" for i in range(len(golden[0])))
    table: dict[Question, Answer] = {
        Decompose("g"): statements(len(golden), "g"),
        Decompose("r"): statements(len(own), "r"),
        **{Entail(("g",), f"r{i}"): Verdict(label(yes)) for i, yes in enumerate(correct)},
    }
    for name, rows in (("g", golden), ("r", own)):
        for i, row in enumerate(rows):
            table[Entail(contexts, f"{name}{i}")] = Verdict(
                label(any(row)), chunks=tuple(ChunkVerdict(label(yes)) for yes in row)
            )
    return value(
        f"composite(noise_sensitivity.{given['mode']}=1)",
        answering=table.__getitem__,
        response="r",
        contexts=contexts,
        references=["g"],
    )


def factual_correctness(given: dict[str, Any], value: Valuing) -> float | str:
    """Claims of either side supported by the other; ragas rounds to two digits."""
    own, golden = given["response_claims_supported_by_reference"], given["reference_claims_supported_by_response"]
    table: dict[Question, Answer] = {
        Decompose("r", "q"): statements(len(own), "r"),
        Decompose("g", "q"): statements(len(golden), "g"),
        **{Entail(("g",), f"r{i}", "q"): Verdict(label(yes)) for i, yes in enumerate(own)},
        **{Entail(("r",), f"g{i}", "q"): Verdict(label(yes)) for i, yes in enumerate(golden)},
        **{Entail(("q",), f"g{i}"): Verdict(Label.NEUTRAL) for i in range(len(golden))},
    }
    metric = {"f1": "answer_correctness", "recall": "claim_recall"}[given["mode"]]
    got = value(metric, answering=table.__getitem__, query="q", response="r", references=["g"])
    return round(got, 2) if isinstance(got, float) else got


def fbeta(given: dict[str, Any], value: Valuing) -> float | str:
    """F1 of counts."""
    got = F1Counts(given["tp"], given["fp"], given["fn"]).value
    assert got is not None
    return got


MEASURES: dict[str, Callable[[dict[str, Any], Valuing], float | str]] = {
    "faithfulness": faithfulness,
    "faithfulness_with_hhem": with_hhem,
    "context_precision(LLM)": context_precision,
    "context_recall": context_recall,
    "noise_sensitivity": noise_sensitivity,
    "factual_correctness": factual_correctness,
    "fbeta_score": fbeta,
}


@pytest.fixture
def rows(golden: Path) -> list[Row]:
    """The rows of ragas on metrics that have a counterpart here, with the one number that is compared."""
    everything = json.loads((golden / "systems" / "trust_eval_and_ragas.json").read_text("utf-8"))
    ragas = [row for row in everything if row["system"].startswith("ragas") and row["metric"] in MEASURES]
    return [
        {**row, "expected": row["expected"]["score"] if isinstance(row["expected"], dict) else row["expected"]}
        for row in ragas
    ]


def test_ragas_rows(rows: list[Row], value: Valuing, compared: Callable[..., Counter[str]]) -> None:
    """On ragas' verdicts our metrics have its values, but for what the rules list."""
    tally = compared(rows, lambda row: MEASURES[row["metric"]](row["inputs"], value), RULES)
    assert tally["equal"] >= 19


def test_every_counterpart_is_compared(rows: list[Row]) -> None:
    """Each metric of ragas that has a counterpart here has a row whose value must be equal."""
    assert {row["metric"] for row in rows if not any(applies(row) for _, applies, _ in RULES)} == set(MEASURES)
