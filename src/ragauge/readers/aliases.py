"""The names under which the ecosystem keeps what a sample holds."""

from __future__ import annotations

#: Field -> the columns that may serve it, best first. A name that stands under two fields ("answer", "context")
#: serves the later one only where a better column already serves the earlier.
ALIASES: dict[str, tuple[str, ...]] = {
    "id": ("id", "sample_id", "query_id", "question_id", "example_id", "qid", "SNo."),
    "query": ("query", "question", "user_input", "input", "inputs", "questions", "user_query", "request", "prompt"),
    "response": (
        "response",
        "actual_output",
        "candidate_response",
        "prediction",
        "predicted_answer",
        "predicted_answers",
        "generated_answer",
        "output",
        "outputs",
        "result",
        "completion",
        "answer",
        "summary",
    ),
    "contexts": (
        "contexts",
        "retrieved_contexts",
        "retrieval_context",
        "retrieved_context",
        "context_list",
        "retrieved_documents",
        "retrieved_chunks",
        "source_documents",
        "source_nodes",
        "docs",
        "documents",
        "chunks",
        "passages",
        "passage",
        "context",
    ),
    "answers": ("answers", "qa_pairs", "claims", "expected_facts"),
    "references": (
        "references",
        "reference",
        "ground_truth",
        "ground_truths",
        "groundtruth",
        "gt_answer",
        "golden_response",
        "golden_answer",
        "gold_answer",
        "expected_output",
        "expected_response",
        "expected_answer",
        "reference_outputs",
        "ground_truth_answers",
        "correct_answers",
        "expectations",
        "expected",
        "highlights",
        "annotations",
        "answers",
        "answer",
        "summary",
    ),
    "reference_contexts": (
        "reference_contexts",
        "golden_context",
        "golden_contexts",
        "gold_contexts",
        "ideal_contexts",
        "ground_truth_documents",
        "expected_retrieved_context",
        "context",
    ),
    "source": ("source_text", "document", "article", "source", "text"),
    "answerable": ("answerable", "is_answerable", "has_answer"),
    "system": ("system", "system_name", "model", "model_name"),
    "group": ("group", "group_id", "cluster", "cluster_id"),
    "metadata": ("metadata",),
    "retrieved_context_ids": ("retrieved_context_ids",),
    "reference_context_ids": ("reference_context_ids",),
}

#: Fields that mean something only beside another: ids of chunks whose text is not there go to the metadata.
BESIDE = {"retrieved_context_ids": "contexts", "reference_context_ids": "reference_contexts"}

_GIVEN = ("id", "query", "contexts", "source")
_MADE = ("response", "contexts")
_RIGHT = ("answers", "references", "reference_contexts")

#: Columns that may hold an object with the real columns inside -> the fields these may serve.
WRAPPERS: dict[str, tuple[str, ...]] = {
    "inputs": _GIVEN,
    "input": _GIVEN,
    "outputs": _MADE,
    "output": _MADE,
    "reference_outputs": _RIGHT,
    "expectations": _RIGHT,
    "expected": _RIGHT,
}


def folded(name: str) -> str:
    """A column name without case, spaces, hyphens, underscores and points: "Golden Response" is "goldenresponse"."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())


_RANKS = {
    field: {folded(name): rank for rank, name in reversed(list(enumerate(names)))} for field, names in ALIASES.items()
}
_WRAPPERS = {folded(name): fields for name, fields in WRAPPERS.items()}


def wrapped_fields(column: str) -> tuple[str, ...]:
    """The fields that columns inside `column` may serve; none where it is not a known wrapper."""
    return _WRAPPERS.get(folded(column), ())


def rank(field: str, column: str) -> int | None:
    """How well a column's name fits a field, 0 best; None where it does not.

    A column within a wrapper is written with a point, as in "inputs.question", and comes after all plain columns.
    """
    ranks = _RANKS[field]
    wrapper, point, leaf = column.partition(".")
    if point and field in wrapped_fields(wrapper):
        inner = ranks.get(folded(leaf))
        return None if inner is None else inner + len(ranks)
    return ranks.get(folded(column))
