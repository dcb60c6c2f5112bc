"""Which column serves which field, under the names of the ecosystem."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ragauge.errors import BadData, UnknownName
from ragauge.readers.values import Malformed, list_in, native
from ragauge.types import FIELDS

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


def unfolded(
    row: Mapping[str, Any], opened: Collection[str] = (), known_as: Callable[[str], str] = str
) -> Mapping[str, Any]:
    """The row with its wrappers opened, and those columns which the caller's map reaches into.

    A wrapper around one value under an unknown name stands for that value: {"outputs": {"x": "Yes"}} is "Yes".
    known_as: from a column to the name under which the aliases have it.
    """
    if not any(isinstance(value, Mapping) for value in row.values()):
        return row
    flat: dict[str, Any] = {}
    for column, value in row.items():
        fields = wrapped_fields(known_as(column))
        if isinstance(value, Mapping) and (column in opened or fields):
            inner = {f"{column}.{name}": item for name, item in value.items()}
            known = any(rank(field, known_as(name)) is not None for field in fields for name in inner)
            flat |= inner if known or len(inner) != 1 or column in opened else {column: next(iter(value.values()))}
        else:
            flat[column] = value
    return flat


#: Columns whose meaning hangs on what the others are.
_AMBIGUOUS = ("answers", "annotations")

#: The columns of an item of Trust-Eval that a system has answered.
_ANSWERED_ITEM = {"question", "answers", "docs", "output"}

#: Columns that only examples of a LangSmith data set have, and columns that only its runs have.
_OF_EXAMPLES = {"dataset_id", "source_run_id", "modified_at"}
_OF_RUNS = {"run_type", "trace_id", "dotted_order", "start_time", "parent_run_id"}

#: Columns in which DeepEval joins chunks to one text.
_JOINED = ("retrieval_context", "context")

#: What DeepEval joins them with: a bar in the goldens that it saves and reads, a semicolon in the test cases that it
#: reads. A semicolon beside white space is one of the text.
_DELIMITERS = (re.compile(r"\|"), re.compile(r"(?<=\S);(?=\S)"))

#: Words that a `source` beside a query must have to be read as a text that was summarised.
_SHORTEST_SOURCE = 20


class ColumnMapping:
    """What the columns of one data set mean: the caller's map first, then the known names.

    delimiters: what separates the chunks in columns that hold several as one text.

    The first rows decide together, so that an optional column missing from one of them does not change what the
    others mean; from then on a column serves its field in every row that has it.
    """

    def __init__(self, name: str, asked: Mapping[str, str], first_rows: Sequence[Mapping[str, Any]]) -> None:
        self._opened = {column.partition(".")[0] for column in asked.values() if "." in column}
        self._outputs_are_right = any(map(_is_example, first_rows))
        rows = [self.unfold(row) for row in first_rows]
        seen = list(dict.fromkeys(column for row in rows for column in row))
        self._asked = {field: _existing(field, column, seen) for field, column in asked.items()}
        self._bound = {column: field for field, column in self._asked.items() if column}
        self._seen = dict.fromkeys(seen)
        self._refused: Collection[tuple[str, str]] = ()
        self._refused = set(_misleading(rows, self._assign([c for c in seen if folded(c) not in _AMBIGUOUS])))
        self.delimiters = {column: _delimiter(rows, column) for column in _joined(seen, self._bound)}
        self.by_field: dict[str, str] = {}
        self.serving = lru_cache(maxsize=256)(self._serving)
        self.serving(tuple(seen))
        if rows and not self.by_field.keys() & set(FIELDS):
            raise BadData(_nothing_known(name, seen))

    def unfold(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """The row with the objects opened that hold columns of their own."""
        return unfolded(row, self._opened, self._known_as)

    def _known_as(self, column: str) -> str:
        """The name under which the aliases have a column: what a LangSmith data set calls outputs is the reference."""
        wrapper, point, leaf = column.partition(".")
        right = self._outputs_are_right and wrapper == "outputs"
        return f"reference_outputs{point}{leaf}" if right else column

    @property
    def unused(self) -> tuple[str, ...]:
        """The columns seen so far that serve no field; their values go to `Sample.metadata`."""
        return tuple(column for column in self._seen if column not in self._bound)

    def _serving(self, present: tuple[str, ...]) -> dict[str, str]:
        """Field -> column for a row with these columns. Binds columns that were not seen before."""
        found = self._assign(present)
        self._seen |= dict.fromkeys(present)
        self._bound |= {column: field for field, column in found.items()}
        self.by_field = found | self.by_field
        return found

    def _assign(self, present: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        withheld: set[str] = set()
        for field in ALIASES:
            column = self._asked.get(field) or self._best(field, [c for c in present if c not in found.values()])
            if self._asked.get(field) == "":
                withheld.add(column)
            elif column in present and column not in withheld and BESIDE.get(field, field) in (*found, field):
                found[field] = column
        return found

    def _best(self, field: str, columns: Iterable[str]) -> str:
        """The column that has served the field before, else the best by name, else by exact spelling; "" for none."""
        fits = [
            (column not in self._bound, place, column not in ALIASES[field], column)
            for column in columns
            if (place := rank(field, self._known_as(column))) is not None
            and self._bound.get(column, field) == field
            and (field, folded(column)) not in self._refused
        ]
        return min(fits)[-1] if fits else ""


def _existing(field: str, column: str, seen: Sequence[str]) -> str:
    """The column of the data that the caller means; "" keeps the field from every column."""
    if field not in ALIASES:
        raise UnknownName("field", field, ALIASES)
    if not column or column in seen or not seen:
        return column
    same = [name for name in seen if folded(name) == folded(column)]
    if len(same) != 1:
        raise UnknownName("column", column, seen)
    return same[0]


def _misleading(rows: Sequence[Mapping[str, Any]], others: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Pairs of field and folded column whose names agree and whose meanings do not.

    Beside a query, `text` may be anything, and a `source` of a few words says where a row comes from; neither is a
    text that was summarised. `answers` are alternatives (SQuAD, Natural Questions) unless other columns or their own
    shape tell that they are claims (ALCE), or the columns are those of answered items of Trust-Eval. In the files of
    these two an `answer` is what people wrote, also where no system has answered yet. Annotations are references where
    they hold long answers (ASQA).
    """
    if "query" in others:
        yield "source", "text"
        if not any(map(_has_source_text, rows)):
            yield "source", "source"
    if not any(map(_holds_annotations, rows)):
        yield "references", "annotations"
    if any(map(_is_of_benchmark, rows)):
        yield "response", "answer"
    if "references" not in others and not any(map(_holds_claims, rows)):
        yield "answers", "answers"


def _has_source_text(row: Mapping[str, Any]) -> bool:
    """Whether the row's `source` is long enough to be a text that was summarised."""
    sources = (value for column, value in row.items() if folded(column) == "source")
    return any(isinstance(value, str) and len(value.split()) >= _SHORTEST_SOURCE for value in sources)


def _holds_claims(row: Mapping[str, Any]) -> bool:
    cells = {folded(column): value for column, value in row.items()}
    docs = _listed(cells.get("docs"))
    labelled = any(isinstance(doc, Mapping) and "answers_found" in doc for doc in docs)
    nested = any(isinstance(native(item), list | tuple) for item in _listed(cells.get("answers")))
    return labelled or nested or "qapairs" in cells or cells.keys() >= _ANSWERED_ITEM


def _holds_annotations(row: Mapping[str, Any]) -> bool:
    """Whether the row's annotations are long answers."""
    found = [
        native(item) for column, value in row.items() if folded(column) == "annotations" for item in _listed(value)
    ]
    return bool(found) and all(isinstance(item, Mapping) and "long_answer" in item for item in found)


def _is_of_benchmark(row: Mapping[str, Any]) -> bool:
    """Whether the row has documents and gold claims under the names of ALCE and Trust-Eval."""
    columns = set(map(folded, row))
    return {"question", "docs"} <= columns and ("claims" in columns or _holds_claims(row))


def _is_example(row: Mapping[str, Any]) -> bool:
    """Whether the row is an example of a LangSmith data set, whose outputs are what people wrote, and no run."""
    metadata = row.get("metadata")
    split = isinstance(metadata, Mapping) and "dataset_split" in metadata
    return "outputs" in row and (split or not _OF_EXAMPLES.isdisjoint(row)) and _OF_RUNS.isdisjoint(row)


def _joined(seen: Sequence[str], mapped: Collection[str]) -> Iterator[str]:
    """The columns in which DeepEval joins chunks, where the columns are its; one that the caller maps stays whole."""
    if "input" in seen and ("actual_output" in seen or "retrieval_context" in seen):
        yield from (column for column in _JOINED if column in seen and column not in mapped)


def _delimiter(rows: Sequence[Mapping[str, Any]], column: str) -> re.Pattern[str] | None:
    """What separates the chunks in the cells of a column, None for nothing."""
    cells = [cell for row in rows if isinstance(cell := row.get(column), str)]
    return next((one for one in _DELIMITERS if any(map(one.search, cells))), None)


def _listed(value: Any) -> Sequence[Any]:
    value = native(value)
    try:
        value = list_in(value) if isinstance(value, str) else value
    except Malformed:
        return ()
    return value if isinstance(value, list | tuple) else ()


def _nothing_known(name: str, seen: Sequence[str]) -> str:
    found = ", ".join(map(repr, seen)) or "none"
    return (
        f"{name}: no column of a known name; found: {found}. Name the right ones, such as "
        "map={'query': COLUMN, 'response': COLUMN} (--map query=COLUMN), and check that the first row is a header"
    )
