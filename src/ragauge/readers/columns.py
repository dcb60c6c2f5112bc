"""Which column holds which field, under the names of the ecosystem."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from pkgutil import get_data
from typing import Any

import msgspec

from ragauge.errors import BadData, BadParameter, UnknownName
from ragauge.readers.conversations import conversation, messages
from ragauge.readers.values import IMPORTANCE, is_blank, list_items, list_of, native, parse_object
from ragauge.types import FIELDS

#: Field -> the columns that may hold it, best first. A name listed under two fields ("answer", "context") is taken for
#: the later one only where a better column already holds the earlier. A point leads into an object or a list.
ALIASES = msgspec.json.decode(get_data(__name__, "columns.json") or b"", type=dict[str, tuple[str, ...]])

#: Fields of ids -> the field of the chunks that they belong to; ids of chunks without their texts go to the metadata.
IDS_OF = {"retrieved_context_ids": "contexts", "reference_context_ids": "reference_contexts"}

#: The fields of which a row must have one.
MEASURED = {*FIELDS, *IDS_OF, "tool_calls", "reference_tool_calls"}

_INPUT_FIELDS = ("id", "query", "contexts", "source")
_OUTPUT_FIELDS = ("response", "contexts")
_REFERENCE_FIELDS = ("answers", "references", "reference_contexts")

#: Keys of a map that name no column, but what separates the chunks in one text -> the field of the chunks.
SPLIT = {f"{field}.split": field for field in IDS_OF.values()}

#: Columns that hold what was said before the query, and never the query itself, where there is one of its own.
HISTORIES = ("turns", "history", "chathistory", "inputschathistory", "conversationhistory")

#: Columns that may hold an object with the real columns inside -> the fields that these may hold.
WRAPPERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("inputs", "input", "request", "attributes.input.value"), _INPUT_FIELDS),
    **dict.fromkeys(("outputs", "output", "response", "attributes.output.value"), _OUTPUT_FIELDS),
    **dict.fromkeys(("reference_outputs", "expectations", "expected", "reference"), _REFERENCE_FIELDS),
    "vars": (*_INPUT_FIELDS, *_REFERENCE_FIELDS),
    "sample": tuple(ALIASES),  # of the scores that a run or a stream writes
}


@lru_cache(maxsize=4096)
def folded(name: str) -> str:
    """A column name without case, spaces, hyphens, underscores and points: "Golden Response" is "goldenresponse"."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())


_RANKS = {
    field: {folded(name): rank for rank, name in reversed(list(enumerate(names)))} for field, names in ALIASES.items()
}
_WRAPPERS = {folded(name): fields for name, fields in WRAPPERS.items()}


def _above(paths: Iterable[str]) -> set[str]:
    """The paths of the objects and lists that hold what the paths name: "a" and "a.b" for "a.b.c"."""
    split = [path.split(".") for path in paths]
    return {".".join(names[:length]) for names in split for length in range(1, len(names))}


_ABOVE = {folded(path) for path in _above([*WRAPPERS, *(name for names in ALIASES.values() for name in names)])}


def rank(field: str, column: str) -> int | None:
    """How well a column's name fits a field, 0 best; None where it does not.

    A column within a wrapper is written with a point, as in "inputs.question", and comes after all plain columns, and
    the paths of known exports come last.
    """
    ranks = _RANKS[field]
    wrapper, _, leaf = column.rpartition(".")
    if field in _WRAPPERS.get(folded(wrapper), ()) and (inner := ranks.get(folded(leaf))) is not None:
        return inner + len(ranks)
    place = ranks.get(folded(column))
    return place if place is None or "." not in column else place + 2 * len(ranks)


def flatten_wrappers(
    row: Mapping[str, Any], opened: Collection[str] = (), known_as: Callable[[str], str] = str
) -> Mapping[str, Any]:
    """The row with what its wrappers hold as columns of its own, under names such as "inputs.question".

    A wrapper around one value under an unknown name is that value: {"outputs": {"x": "Yes"}} is "Yes"; but a
    `response` must be a text.

    opened: paths of further objects and lists, or of texts of them, in which the caller's map names columns.
    known_as: from a column to its name among the aliases.
    """
    if not opened and not any(isinstance(value, Mapping | list) for value in row.values()):
        return row
    flat: dict[str, Any] = {}
    for column, value in row.items():
        flat |= _flattened(column, value, opened, known_as)
    return flat


def _flattened(path: str, value: Any, opened: Collection[str], known_as: Callable[[str], str]) -> Mapping[str, Any]:
    fields, asked = _WRAPPERS.get(folded(known_as(path)), ()), path in opened
    if asked and isinstance(value, str):
        value = parse_object(value) or list_items(value) or value
    if not (asked or fields or folded(known_as(path)) in _ABOVE):
        return {path: value}
    if isinstance(value, list) and (asked or folded(f"{known_as(path)}.0") in _ABOVE):
        value = {str(place): item for place, item in enumerate(value)}
    if not value or not isinstance(value, Mapping) or (not asked and messages(value)):
        return {path: value}
    inner: dict[str, Any] = {}
    for name, item in value.items():
        inner |= _flattened(f"{path}.{name}", item, opened, known_as)
    is_known = any(rank(field, known_as(column)) is not None for field in fields for column in inner)
    if is_known or asked or not fields or len(value) != 1:
        return inner
    return {path: value if path in fields else next(iter(value.values()))}


#: Columns whose meaning depends on the others.
_AMBIGUOUS = ("answers", "annotations")

#: Columns of what was spoken, which may have been summarised.
_SPOKEN = ("transcript", "dialogue")

#: Columns that only examples of a LangSmith data set have, and columns that only its runs have.
_LANGSMITH_EXAMPLE = {"dataset_id", "source_run_id", "modified_at"}
_LANGSMITH_RUN = {"run_type", "trace_id", "dotted_order", "start_time", "parent_run_id"}

#: With what DeepEval joins chunks into one text: a bar in the goldens that it saves and reads, a semicolon in the test
#: cases that it reads. A semicolon next to white space belongs to the text.
_DELIMITERS = (re.compile(r"\|"), re.compile(r"(?<=\S);(?=\S)"))


class ColumnMapping:
    """What the columns of a data set mean: the caller's map first, then the known names.

    The first rows decide together, so that an optional column missing from one of them does not change what the
    others mean; from then on a column holds its field in every row that has it.

    Attributes:
        by_field: field -> column, as known so far.
        chats: column of conversations -> the fields that they hold.
        delimiters: what separates the chunks in columns that hold several as one text.
    """

    def __init__(self, name: str, chosen: Mapping[str, str], first_rows: Sequence[Mapping[str, Any]]) -> None:
        separators = {field: text for field, text in chosen.items() if field in SPLIT}
        chosen = {field: column for field, column in chosen.items() if field not in SPLIT}
        self._opened = _above(chosen.values())
        self._outputs_are_references = any(map(_is_example, first_rows))
        rows = [self.unfold(row) for row in first_rows]
        seen = list(dict.fromkeys(column for row in rows for column in row))
        self._given = {field: _resolve(field, column, seen) for field, column in chosen.items()}
        self._bound = {column: field for field, column in self._given.items() if column}
        self._seen = dict.fromkeys(seen)
        self.chats = {column: fields for column in seen if (fields := _chat_fields(rows, column))}
        self._excluded: Collection[tuple[str, str]] = ()
        self._excluded = set(_misleading(rows, self._match([c for c in seen if folded(c) not in _AMBIGUOUS])))
        is_deepeval = "input" in seen and ("actual_output" in seen or "retrieval_context" in seen)
        joined = {"retrieval_context", "context"} & {*seen} - self._bound.keys() if is_deepeval else set()
        self.delimiters = {column: _delimiter(rows, column) for column in joined}
        self.by_field: dict[str, str] = {}
        self.assign = lru_cache(maxsize=256)(self._assign)
        self.assign(tuple(seen))
        for key, separator in separators.items():
            if not separator:
                raise BadParameter(f"{key} is empty; give the text that stands between the chunks")
            if rows and SPLIT[key] not in self.by_field:
                raise BadParameter(f"{key}: {name} has no column of {SPLIT[key]}; name it, too ({SPLIT[key]}=COLUMN)")
            self.delimiters[self.by_field.get(SPLIT[key], "")] = re.compile(re.escape(separator))
        if rows and not self.by_field.keys() & MEASURED:
            raise BadData(
                f"{name}: no column of a known name; found: {', '.join(map(repr, seen)) or 'none'}. Name the right "
                "ones, such as --map query=COLUMN (map={'query': COLUMN} in Python); check that the first row is a "
                "header; if each row is a message, make rows with messages=[{'role': 'user', 'content': TEXT}, ...]"
            )

    def unfold(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """The row with the columns of its wrappers as columns of its own."""
        return flatten_wrappers(row, self._opened, self._known_as)

    def _known_as(self, column: str) -> str:
        """A column's name among the aliases: what a LangSmith data set calls outputs are reference outputs."""
        wrapper, point, leaf = column.partition(".")
        is_reference = self._outputs_are_references and wrapper == "outputs"
        return f"reference_outputs{point}{leaf}" if is_reference else column

    @property
    def unused(self) -> tuple[str, ...]:
        """The columns seen so far that hold no field; their values go to `Sample.metadata`."""
        return tuple(column for column in self._seen if column not in self._bound)

    def _assign(self, present: tuple[str, ...]) -> dict[str, str]:
        """Field -> column for a row with these columns. Binds columns that were not seen before."""
        column_of = self._match(present)
        self._seen |= dict.fromkeys(present)
        self._bound |= {column: field for field, column in column_of.items()}
        self.by_field = column_of | self.by_field
        return column_of

    def _match(self, present: Sequence[str]) -> dict[str, str]:
        column_of: dict[str, str] = {}
        withheld: set[str] = set()
        for field in ALIASES:
            column = self._given.get(field) or self._best(field, [c for c in present if c not in column_of.values()])
            if self._given.get(field) == "":
                withheld.add(column)
            elif column in present and column not in withheld:
                column_of[field] = column
        for column, fields in self.chats.items():
            if column_of.get("turns") == column and folded(column) in HISTORIES:
                continue
            ranks = [rank(field, self._known_as(column)) for field in ("query", "response")]
            if column in present and (column in self._given.values() or ranks != [None, None]):
                column_of = {field: column for field in fields if field not in self._given} | column_of
        return column_of

    def _best(self, field: str, columns: Iterable[str]) -> str:
        """The column that held the field before, else the best by name, else by exact spelling; "" for none."""
        fits = [
            (column not in self._bound, place, column not in ALIASES[field], column)
            for column in columns
            if (place := rank(field, self._known_as(column))) is not None
            and self._bound.get(column, field) == field
            and (field, folded(column)) not in self._excluded
        ]
        return min(fits)[-1] if fits else ""


def _resolve(field: str, column: str, seen: Sequence[str]) -> str:
    """The column of the data that the caller names; "" keeps the field empty."""
    if field not in ALIASES:
        similar = get_close_matches(field, [name for names in ALIASES.values() for name in names], n=1)
        raise UnknownName("field", field, ALIASES, [key for key in ALIASES if {*similar} & {*ALIASES[key]}])
    if not column or column in seen or not seen:
        return column
    same = [name for name in seen if folded(name) == folded(column)]
    if len(same) != 1:
        raise UnknownName("column", column, seen)
    return same[0]


def _misleading(rows: Sequence[Mapping[str, Any]], others: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Pairs of field and folded column that agree in name but not in meaning.

    `answers` are alternatives (SQuAD, Natural Questions) unless other columns or their own shape show that they are
    claims (ALCE), or the columns are those of answered items of Trust-Eval. In the files of these two an `answer` was
    written by people, even where no system has answered yet. Next to a query, a `source` of under 20 words names where
    a row comes from, and other texts may be anything; none of them was summarised.
    """
    is_history = _is_history(rows, others)
    has_query = "query" in others and not (is_history and others["query"] == "turns")
    columns_of = [set(map(folded, row)) for row in rows]
    columns = set[str]().union(*columns_of)
    texts = [(folded(column), native(cell)) for row in rows for column, cell in row.items()]
    is_long = any(column == "source" and isinstance(text, str) and len(text.split()) >= 20 for column, text in texts)
    rubrics = [item for row in rows for item in list_of(row.get("rubrics")) or ()]
    is_answered = any(not is_blank(native(row.get(others.get("response", "")))) for row in rows)
    asked = [row for row, names in zip(rows, columns_of, strict=True) if {"question", "docs"} <= names]
    conditions = {
        ("source", "text"): has_query,
        ("source", "source"): has_query and not is_long,
        ("group", "sessionid"): {"runtype", "traceid"} <= columns,  # a project of LangSmith
        # of ragas, a description for each grade
        ("criteria", "rubrics"): not any(isinstance(item, Mapping) and "points" in item for item in rubrics),
        # of DeepEval's goldens, what should be retrieved
        ("contexts", "context"): {"input", "expectedoutput"} <= columns and not is_answered,
        # unless they are long answers (ASQA)
        ("references", "annotations"): "annotations" not in columns or not any(map(_holds_annotations, rows)),
        ("response", "answer"): any(_holds_claims(row) or "claims" in map(folded, row) for row in asked),
        ("answers", "answers"): "references" not in others and not any(map(_holds_claims, rows)),
        ("query", "turns"): is_history,
    }
    yield from (pair for pair, is_met in conditions.items() if is_met)
    yield from (("source", name) for name in _SPOKEN if has_query)
    yield from (("source", name) for name, cell in texts if name in _SPOKEN and not isinstance(cell, str | None))
    for column in {column for row in rows for column in row if rank("turns", column) is not None}:
        cells = [list_of(cell) for row in rows if not is_blank(cell := native(row.get(column)))]
        if cells and not any(cell is not None and (not cell or messages(cell)) for cell in cells):
            yield "turns", folded(column)


def _is_history(rows: Sequence[Mapping[str, Any]], others: Mapping[str, str]) -> bool:
    """Whether `turns` are what was said before, as a response has a column of its own."""
    turns = [cell for row in rows if not is_blank(cell := native(row.get("turns")))]
    return others.get("response", "turns") != "turns" and all(list_of(cell) is not None for cell in turns)


def _holds_claims(row: Mapping[str, Any]) -> bool:
    cells = {folded(column): value for column, value in row.items()}
    docs = list_of(cells.get("docs")) or ()
    labelled = any(isinstance(doc, Mapping) and "answers_found" in doc for doc in docs)
    nested = any(_is_claim(native(item)) for item in (list_of(cells.get("answers")) or ()))
    is_answered = cells.keys() >= {"question", "answers", "docs", "output"}  # of Trust-Eval
    return labelled or nested or "qapairs" in cells or is_answered


def _is_claim(item: Any) -> bool:
    """Whether an item of "answers" is a gold claim: its wordings, or an object that says how much it counts."""
    return isinstance(item, list | tuple) or (isinstance(item, Mapping) and not IMPORTANCE.isdisjoint(item))


def _holds_annotations(row: Mapping[str, Any]) -> bool:
    cells = (value for column, value in row.items() if folded(column) == "annotations")
    annotations = [native(item) for value in cells for item in (list_of(value) or ())]
    return bool(annotations) and all(isinstance(item, Mapping) and "long_answer" in item for item in annotations)


def _is_example(row: Mapping[str, Any]) -> bool:
    """Whether the row is an example of a LangSmith data set, whose outputs are references, rather than a run."""
    metadata = row.get("metadata")
    split = isinstance(metadata, Mapping) and "dataset_split" in metadata
    return "outputs" in row and (split or not _LANGSMITH_EXAMPLE.isdisjoint(row)) and _LANGSMITH_RUN.isdisjoint(row)


def _chat_fields(rows: Sequence[Mapping[str, Any]], column: str) -> list[str]:
    """The fields that the conversations in a column hold; those of a trace are read from its spans."""
    may_be_text = rank("query", column) is not None or rank("turns", column) is not None
    cells = [cell for row in rows if not isinstance(cell := native(row.get(column)), str) or may_be_text]
    chats = [conversation(said) for cell in cells if (said := messages(cell))]
    fields = ["query", "response", "contexts", "turns", "tool_calls"][: 2 if column.startswith("attributes.") else None]
    return [field for field in fields if any(chat.field(field) is not None for chat in chats)]


def _delimiter(rows: Sequence[Mapping[str, Any]], column: str) -> re.Pattern[str] | None:
    cells = [cell for row in rows if isinstance(cell := row.get(column), str)]
    return next((delimiter for delimiter in _DELIMITERS if any(map(delimiter.search, cells))), None)
