"""Valor's vectors: its scripted replies, read as judgments, give its values; where they do not, a rule says why."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ragauge.judges.base import checked
from ragauge.questions import Classify, Decompose, Entail, Question, Rate, Relevant
from ragauge.types import Answer, ChunkVerdict, Decomposition, Failure, Grade, Label, Statement, Verdict

if TYPE_CHECKING:
    from tests.metrics.conftest import Answering, Row, Rule, Valuing

METRICS = {
    "AnswerCorrectness": "answer_correctness",
    "AnswerRelevance": "answer_relevance",
    "Bias": "bias",
    "Toxicity": "toxicity",
    "ContextPrecision": "context_precision",
    "ContextRecall": "context_recall",
    "ContextRelevance": "context_relevance",
    "Faithfulness": "faithfulness",
    "Hallucination": "hallucination",
    "SummaryCoherence": "summary_coherence",
}

NO_CONTEXTS = "undefined: there are no contexts"
NO_REFERENCE = "undefined: the sample has no reference"


def args(row: Row) -> dict[str, Any]:
    """What the row measures, in whichever of Valor's two forms it gives it."""
    given: dict[str, Any] = row["inputs"].get("args", row["inputs"])
    return given


def replies(row: Row) -> list[Any]:
    """What Valor's scripted model says, one reply a call."""
    given: list[Any] = row["inputs"].get("llm_responses", [])
    return given


def of(metric: str, is_so: Callable[[Row], bool]) -> Callable[[Row], bool]:
    """Rows of one metric of which something is so."""
    return lambda row: row["metric"] == metric and is_so(row)


def raises(row: Row, *kinds: str) -> bool:
    """Whether Valor answers the row with one of these exceptions."""
    return isinstance(row["expected"], dict) and row["expected"]["raises"] in kinds


def is_plain_number(row: Row) -> bool:
    """Whether a reply of the coherence judge is a whole number and nothing else."""
    return str(replies(row)[0]).lstrip("-").isdigit()


RULES: list[Rule] = [
    (
        "Valor refuses a row without context; ours says which field is missing",
        lambda row: raises(row, "ValueError") and "context" in args(row) and args(row)["context"] is None,
        "undefined: the sample has no contexts",
    ),
    (
        "Valor's predecessor refused an empty list of contexts; each metric of ours has its own meaning there",
        of("ContextPrecision", lambda row: raises(row, "ValueError") and args(row)["context_list"] == []),
        NO_CONTEXTS,
    ),
    (
        "as above; without contexts no claim is supported, which is what today's Valor says too",
        of("Faithfulness", lambda row: raises(row, "ValueError") and args(row)["context_list"] == []),
        0.0,
    ),
    (
        "Valor counts an empty list of ground truths as 0; ours has nothing to compare with",
        of("AnswerCorrectness", lambda row: args(row)["groundtruths"] == []),
        NO_REFERENCE,
    ),
    (
        "Valor gives 0 without statements; 0/0 is undefined here",
        of("AnswerRelevance", lambda row: replies(row) == [{"statements": []}, {"verdicts": []}]),
        "undefined: the response makes no statement",
    ),
    (
        "Valor gives 0 without ground truth, 1 if the contexts are empty too; ours has nothing to compare with",
        lambda row: (
            row["metric"] in ("ContextPrecision", "ContextRecall") and args(row).get("groundtruth_context") == []
        ),
        NO_REFERENCE,
    ),
    (
        "Valor gives 0 without contexts; a mean over no ranks is undefined here",
        of("ContextPrecision", lambda row: args(row).get("predicted_context") == []),
        NO_CONTEXTS,
    ),
    (
        "Valor gives 0 without contexts; 0/0 is undefined here",
        of("ContextRelevance", lambda row: args(row)["context"] == []),
        NO_CONTEXTS,
    ),
    (
        "Valor gives 1 to a response without claims; 0/0 is undefined here",
        of("Faithfulness", lambda row: replies(row) == [{"claims": []}]),
        "undefined: the response makes no claim",
    ),
    (
        "Valor refuses an empty list of contexts; 0/0 is undefined here",
        of("Hallucination", lambda row: args(row)["context"] == []),
        NO_CONTEXTS,
    ),
    (
        "Valor refuses a grade off the scale; ours fails with that reason",
        of("SummaryCoherence", lambda row: raises(row, "InvalidLLMResponseError") and is_plain_number(row)),
        "failed: invalid_answer: ",
    ),
    (
        "about finding a number in prose, which is the business of a judge that reads replies",
        of("SummaryCoherence", lambda row: not is_plain_number(row)),
        None,
    ),
    (
        "about the shape of a model's reply, which is the business of a judge that reads replies",
        lambda row: raises(row, "InvalidLLMResponseError", "TypeError"),
        None,
    ),
]


def verdicts(votes: list[Any], step: int) -> list[bool]:
    """The yes and no of the reply at a step, none where Valor stops before it; "idk" is no yes."""
    reply = votes[step] if step < len(votes) else {"verdicts": []}
    return [verdict["verdict"] == "yes" for verdict in reply["verdicts"]]


def statements(texts: list[str], *, opinion: bool = False) -> Decomposition:
    """Texts as the statements of a text."""
    return Decomposition(tuple(Statement(text, claim=not opinion, opinion=opinion) for text in texts))


def table_of(row: Row) -> dict[Question, Answer | Failure]:
    """The row's replies as answers to our questions, on the texts of `fields_of`."""
    return _TABLES[row["metric"]](args(row), replies(row))


def _answer_correctness(given: dict[str, Any], votes: list[Any]) -> dict[Question, Answer | Failure]:
    own = [f"p{i}" for i in range(len(votes[0]["statements"]))]
    table: dict[Question, Answer | Failure] = {Decompose("response", "q"): statements(own)}
    for k in range(len(given["groundtruths"])):
        golden = [f"g{k}.{i}" for i in range(len(votes[1 + 2 * k]["statements"]))]
        counts = votes[2 + 2 * k]
        table[Decompose(f"g{k}", "q")] = statements(golden)
        for i, statement in enumerate(own):
            table[Entail((f"g{k}",), statement, "q")] = support(i < len(counts["TP"]))
        for i, statement in enumerate(golden):
            table[Entail(("response",), statement, "q")] = support(i >= len(counts["FN"]))
    return table


def _answer_relevance(given: dict[str, Any], votes: list[Any]) -> dict[Question, Answer | Failure]:
    texts = votes[0]["statements"]
    table: dict[Question, Answer | Failure] = {Decompose("response", "q"): statements(texts)}
    return table | {Relevant("q", text): yes_no(yes) for text, yes in zip(texts, verdicts(votes, 1), strict=True)}


def _opinions(trait: str) -> Callable[[dict[str, Any], list[Any]], dict[Question, Answer | Failure]]:
    def table(given: dict[str, Any], votes: list[Any]) -> dict[Question, Answer | Failure]:
        texts = votes[0]["opinions"]
        answers = zip(texts, verdicts(votes, 1), strict=True)
        start: dict[Question, Answer | Failure] = {Decompose("response", "q"): statements(texts, opinion=True)}
        return start | {Classify(text, trait): yes_no(yes) for text, yes in answers}

    return table


def _context_precision(given: dict[str, Any], votes: list[Any]) -> dict[Question, Answer | Failure]:
    return {
        Relevant("q", f"c{i}", f"g{k}"): yes_no(yes)
        for k in range(len(votes))
        for i, yes in enumerate(verdicts(votes, k))
    }


def _context_recall(given: dict[str, Any], votes: list[Any]) -> dict[Question, Answer | Failure]:
    if not votes:  # Valor stops before it takes the ground truth apart; with any statement the share is 0
        return {Decompose("g0", "q"): statements(["s"])}
    contexts = texts("c", given["predicted_context"])
    golden = votes[0]["statements"]
    table: dict[Question, Answer | Failure] = {Decompose("g0", "q"): statements(golden)}
    return table | {
        Entail(contexts, text, "q"): support(yes, len(contexts))
        for text, yes in zip(golden, verdicts(votes, 1), strict=True)
    }


def _context_relevance(given: dict[str, Any], votes: list[Any]) -> dict[Question, Answer | Failure]:
    return {Relevant("q", f"c{i}"): yes_no(yes) for i, yes in enumerate(verdicts(votes, 0))}


def _faithfulness(given: dict[str, Any], votes: list[Any]) -> dict[Question, Answer | Failure]:
    if not votes:  # Valor stops before it looks for claims; with any claim the share is 0
        return {Decompose("response", "q"): statements(["s"])}
    contexts, claims = texts("c", given["context"]), votes[0]["claims"]
    table: dict[Question, Answer | Failure] = {Decompose("response", "q"): statements(claims)}
    return table | {
        Entail(contexts, text, "q"): support(yes, len(contexts))
        for text, yes in zip(claims, verdicts(votes, 1), strict=True)
    }


def _hallucination(given: dict[str, Any], votes: list[Any]) -> dict[Question, Answer | Failure]:
    labels = tuple(ChunkVerdict(Label.CONTRADICTED if yes else Label.NEUTRAL) for yes in verdicts(votes, 0))
    contexts = texts("c", given["context"])
    return {
        Decompose("response", "q"): statements(["s"]),
        Entail(contexts, "s", "q"): Verdict(Label.CONTRADICTED, chunks=labels),
    }


_TABLES: dict[str, Callable[[dict[str, Any], list[Any]], dict[Question, Answer | Failure]]] = {
    "AnswerCorrectness": _answer_correctness,
    "AnswerRelevance": _answer_relevance,
    "Bias": _opinions("biased"),
    "Toxicity": _opinions("toxic"),
    "ContextPrecision": _context_precision,
    "ContextRecall": _context_recall,
    "ContextRelevance": _context_relevance,
    "Faithfulness": _faithfulness,
    "Hallucination": _hallucination,
}


def texts(name: str, given: list[str]) -> tuple[str, ...]:
    """As many texts as were given, each unlike the others."""
    return tuple(f"{name}{i}" for i in range(len(given)))


def support(yes: bool, chunks: int = 1) -> Verdict:
    """A verdict of entailment; the first chunk is what supports."""
    label = Label.ENTAILED if yes else Label.NEUTRAL
    return Verdict(label, chunks=(ChunkVerdict(label), *(ChunkVerdict(Label.NEUTRAL),) * (chunks - 1)))


def yes_no(yes: bool) -> Verdict:
    """A verdict of relevance or of a trait."""
    return Verdict(Label.YES if yes else Label.NO)


def fields_of(row: Row) -> dict[str, Any]:
    """The row as a sample, its texts named so that each is unlike the others."""
    given = args(row)
    contexts = given.get("predicted_context", given.get("context", given.get("context_list")))
    golden = given.get("groundtruths", given.get("groundtruth_context", ["g"]))
    return {
        "query": "q",
        "response": "response",
        "source": "source",
        "contexts": None if contexts is None else texts("c", contexts),
        "references": texts("g", golden),
    }


@pytest.fixture
def rows(golden: Path) -> list[Row]:
    """Valor's rows on the ten metrics that a model judges, with scripted replies."""
    everything = json.loads((golden / "systems" / "valor_ragevals_dataworkz.json").read_text("utf-8"))
    scripted = [row for row in everything if row["system"].startswith(("valor-lite", "valor-core"))]
    return [row for row in scripted if row["metric"] in METRICS]


def test_valor_rows(rows: list[Row], value: Valuing, compared: Callable[..., Counter[str]]) -> None:
    """On Valor's replies our metrics have Valor's values, but for the edges and formats that the rules list."""

    def ours(row: Row) -> float | str:
        got = value(METRICS[row["metric"]], answering=answering(row), **fields_of(row))
        return got if not str(got).startswith("failed: invalid_answer: ") else "failed: invalid_answer: "

    tally = compared(rows, ours, RULES)
    assert tally["equal"] >= 25
    assert tally["equal"] + tally["other"] > tally["foreign"]


def answering(row: Row) -> Answering:
    """A judge who says what the row's model says; a grade off the scale is refused as a run refuses it."""

    def answer(question: Question) -> Answer | Failure:
        if isinstance(question, Rate):
            return checked(question, Grade(float(replies(row)[0])))
        if not row["inputs"].get("llm_responses") and isinstance(question, Decompose):
            return statements(["s"])
        return table_of(row)[question]

    return answer


def test_every_metric_of_valor_is_compared(rows: list[Row]) -> None:
    """Each of the ten metrics has a row whose value must be equal."""
    equal = {row["metric"] for row in rows if not any(applies(row) for _, applies, _ in RULES)}
    assert equal == set(METRICS)
