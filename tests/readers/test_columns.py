"""How columns are understood over a whole data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ragauge.errors import BadData, BadRow, UnknownName
from ragauge.readers import read
from ragauge.types import Chunk


def test_the_reading_says_what_it_understood() -> None:
    """`columns` and `unused` are known before the first sample, and unused columns are kept as metadata."""
    reading = read([{"question": "q", "answer": "a", "label": 1}])
    assert reading.name == "list of 1 row"
    assert reading.columns == {"query": "question", "response": "answer"}
    assert reading.unused == ("label",)
    assert next(iter(reading)).metadata == {"label": 1}


def test_map_overrides_the_known_names() -> None:
    """A mapped column serves its field although another has the field's own name, which becomes metadata."""
    (sample,) = read([{"query": "rewritten", "original": "asked"}], map={"query": "original"})
    assert (sample.query, sample.metadata) == ("asked", {"query": "rewritten"})


def test_map_reaches_into_objects() -> None:
    """A point in a mapped column steps into an object."""
    (sample,) = read([{"query": "q", "trace": {"docs": ["c"], "ms": 3}}], map={"contexts": "trace.docs"})
    assert sample.contexts == (Chunk("c", "1"),)
    assert sample.metadata == {"trace.ms": 3}


def test_map_accepts_another_spelling() -> None:
    """A mapped column is found under a different case and spacing."""
    (sample,) = read([{"My Question": "q"}], map={"query": "my_question"})
    assert sample.query == "q"


def test_map_to_nothing_leaves_a_field_out() -> None:
    """An empty column name keeps a field absent, and the column as metadata."""
    (sample,) = read([{"query": "q", "context": 3}], map={"contexts": ""})
    assert (sample.contexts, sample.metadata) == (None, {"context": 3})


def test_map_may_give_one_column_to_two_fields() -> None:
    """The caller may read one column as two fields."""
    (sample,) = read([{"x": "t"}], map={"query": "x", "source": "x"})
    assert (sample.query, sample.source) == ("t", "t")


def test_an_unknown_field_in_map_is_named_with_what_is_near() -> None:
    """A field that does not exist is refused with a suggestion."""
    with pytest.raises(UnknownName, match=r"unknown field 'reference'; did you mean .*'references'"):
        read([{"query": "q"}], map={"reference": "query"})


def test_an_unknown_column_in_map_is_named_with_what_is_near() -> None:
    """A column that does not exist is refused with a suggestion."""
    with pytest.raises(UnknownName, match="unknown column 'qestion'; did you mean 'question'"):
        read([{"question": "q"}], map={"query": "qestion"})


def test_no_known_column_lists_what_was_found() -> None:
    """Data without any known column is refused with its columns and the way to name them."""
    with pytest.raises(BadData, match=r"list of 1 row: no column of a known name; found: 'a', 'b'.*--map query=COLUMN"):
        read([{"a": 1, "b": 2}])


def test_a_later_row_without_known_columns_is_a_bad_row() -> None:
    """A row that has none of the known columns is refused by its number."""
    with pytest.raises(BadRow, match=r"list of 2 rows, row 2: no known column among 'x'; .*--map query=COLUMN"):
        list(read([{"query": "q"}, {"x": 1}]))


def test_a_missing_cell_does_not_change_what_the_others_mean() -> None:
    """Where a row lacks the prediction, its gold `answer` must not be taken for the response."""
    rows = [{"question": "q", "answer": "gold"}, {"question": "q", "answer": "gold", "prediction": "p"}]
    first, second = read(rows)
    assert (first.response, first.references) == (None, ("gold",))
    assert (second.response, second.references) == ("p", ("gold",))


def test_what_a_column_means_does_not_change_far_down() -> None:
    """A better column that appears after the first rows does not displace the one that served so far."""
    rows = [{"question": "q", "answer": "a"}] * 200 + [{"question": "q", "answer": "a", "prediction": "p"}]
    reading = read(rows)
    last = list(reading)[-1]
    assert (last.response, last.metadata) == ("a", {"prediction": "p"})
    assert reading.unused == ("prediction",)


def test_rows_of_two_files_put_together_are_read_alike() -> None:
    """Rows that name the same thing differently each serve the same fields."""
    first, second = read([{"question": "q", "output": "a"}, {"user_input": "r", "response": "b"}])
    assert (first.query, first.response, second.query, second.response) == ("q", "a", "r", "b")


def test_answers_are_claims_where_another_column_holds_references() -> None:
    """A flat list `answers` together with a reference is a list of gold claims, each in one wording."""
    (sample,) = read([{"query": "q", "reference": "r", "answers": ["x", "y"]}])
    assert (sample.references, sample.answers) == (("r",), (("x",), ("y",)))


def test_answers_written_as_text_are_recognised_as_claims() -> None:
    """In a table, the nesting inside the text of `answers` tells claims from alternatives."""
    (claims,) = read([{"query": "q", "answers": '[["x", "y"]]'}])
    (alternatives,) = read([{"query": "q", "answers": '["x", "y"]'}])
    assert (claims.answers, claims.references) == ((("x", "y"),), None)
    assert (alternatives.answers, alternatives.references) == (None, ("x", "y"))


def test_answers_can_be_mapped_either_way() -> None:
    """The caller decides what `answers` are, whatever their shape suggests."""
    rows = [{"query": "q", "answers": ["x", "y"]}]
    assert next(iter(read(rows, map={"answers": "answers"}))).answers == (("x",), ("y",))
    assert next(iter(read(rows, map={"references": "answers"}))).references == ("x", "y")


@pytest.mark.parametrize("column", ["source", "text", "transcript", "dialogue"])
def test_beside_a_query_a_source_is_where_a_row_comes_from(column: str) -> None:
    """Next to a query, `source` and `text` are metadata unless mapped; without one they were summarised."""
    (asked,) = read([{"query": "q", column: "wiki"}])
    (mapped,) = read([{"query": "q", column: "long text"}], map={"source": column})
    (summarised,) = read([{"response": "a", column: "long text"}])
    assert (asked.source, asked.metadata) == (None, {column: "wiki"})
    assert mapped.source == summarised.source == "long text"


def test_what_was_spoken_is_what_was_summarised() -> None:
    """Without a query, a transcript as a text is the source of a summary; a list of its turns is none."""
    for spoken, source in (("Ann: Hi. Bo: Bye.", "Ann: Hi. Bo: Bye."), ([{"speaker": "Ann"}], None)):
        for column in ("transcript", "Dialogue"):
            (sample,) = read([{column: spoken, "summary": "They met."}])
            assert (sample.source, sample.response) == (source, "They met.")


def test_ids_of_chunks_without_text_are_kept() -> None:
    """`retrieved_context_ids` without contexts serve nothing and stay in the metadata."""
    (sample,) = read([{"query": "q", "retrieved_context_ids": ["d1"]}])
    assert (sample.contexts, sample.metadata) == (None, {"retrieved_context_ids": ["d1"]})


def test_an_object_around_one_unknown_value_stands_for_it() -> None:
    """{"outputs": {"final": "a"}} is the response "a"; with two unknown values both are metadata."""
    (one,) = read([{"query": "q", "outputs": {"final": "a"}}])
    (two,) = read([{"query": "q", "outputs": {"final": "a", "draft": "b"}}])
    assert one.response == "a"
    assert (two.response, two.metadata) == (None, {"outputs.final": "a", "outputs.draft": "b"})


def test_metadata_that_shares_a_name_with_a_column_is_kept_whole() -> None:
    """Neither a metadata object nor a column of the same name is lost."""
    (sample,) = read([{"query": "q", "label": 1, "metadata": {"label": 2}}])
    assert sample.metadata == {"label": 1, "metadata": {"label": 2}}


def test_a_long_source_beside_a_query_is_the_text_that_was_summarised() -> None:
    """Twenty words under `source` are a text, whatever else the row holds."""
    (sample,) = read([{"query": "Sum it up.", "source": "word " * 20, "response": "words"}])
    assert sample.source == "word " * 20


@pytest.mark.parametrize("name", [1, None, 2.5, ("a", "b")])
def test_a_column_may_have_a_name_of_any_kind(name: object) -> None:
    """Frames and dicts name columns by numbers and more; such a column is kept under the text of its name."""
    (sample,) = read([{"response": "a", name: "kept"}])
    assert sample.metadata == {str(name): "kept"}


def _texts(chunks: tuple[Chunk, ...] | None) -> list[str] | None:
    return None if chunks is None else [chunk.text for chunk in chunks]


@pytest.mark.parametrize(
    ("cells", "chunks"),
    [
        (("a is b.|c is d.", "e; f"), [["a is b.", "c is d."], ["e; f"]]),
        (("a is b;c is d", "e; f;g"), [["a is b", "c is d"], ["e; f", "g"]]),
        (("a; b", "c"), [["a; b"], ["c"]]),
        (('["a|b", "c"]', "d|e"), [["a|b", "c"], ["d", "e"]]),
        ((["a|b", "c"], "d;e"), [["a|b", "c"], ["d", "e"]]),
        (("a||b|", None), [["a", "b"], None]),
    ],
)
def test_chunks_that_deepeval_has_joined_are_several(cells: tuple[Any, Any], chunks: list[Any]) -> None:
    """Under DeepEval's column names a text holds the chunks that it joins with bars, else those with semicolons."""
    for column in ("retrieval_context", "context"):
        rows = [{"input": "q", "actual_output": "a", column: cell} for cell in cells]
        assert [_texts(sample.contexts) for sample in read(rows)] == chunks


def test_what_deepeval_saves_is_read_as_it_was(tmp_path: Path) -> None:
    """In a file of goldens retrieved and ideal contexts are several chunks each, and bars elsewhere are text."""
    header = "input,actual_output,expected_output,retrieval_context,context,name,comments,source_file"
    (tmp_path / "goldens.csv").write_text(f"{header}\nq,a|b,c|d,one|two,three|four|five,,,\n")
    (sample,) = read(tmp_path / "goldens.csv")
    assert (_texts(sample.contexts), _texts(sample.reference_contexts)) == (["one", "two"], ["three", "four", "five"])
    assert (sample.response, sample.references) == ("a|b", ("c|d",))


@pytest.mark.parametrize(
    "row",
    [
        {"question": "q", "answer": "a", "contexts": "x|y;z"},
        {"input": "q", "output": "a", "context": "x|y;z"},
        {"user_input": "q", "actual_output": "a", "retrieved_contexts": "x|y;z"},
    ],
)
def test_bars_and_semicolons_of_other_systems_are_text(row: dict[str, str]) -> None:
    """Where the columns are not DeepEval's, a context with bars and semicolons is one chunk."""
    (sample,) = read([row])
    assert _texts(sample.contexts) == ["x|y;z"]


def test_a_column_that_is_mapped_is_not_split() -> None:
    """A caller who names the column of the contexts has its text as it stands, under DeepEval's names too."""
    row = {"input": "q", "actual_output": "a", "retrieval_context": "x|y"}
    (sample,) = read([row], map={"contexts": "retrieval_context"})
    assert _texts(sample.contexts) == ["x|y"]


_EXAMPLE = {
    "id": "e1",
    "dataset_id": "d1",
    "source_run_id": None,
    "inputs": {"question": "q"},
    "outputs": {"answer": "right"},
    "metadata": {"dataset_split": ["base"]},
}


@pytest.mark.parametrize(
    "row",
    [
        _EXAMPLE,
        {**_EXAMPLE, "outputs": {"label": "right"}},
        {"inputs": {"question": "q"}, "outputs": {"answer": "right"}, "metadata": {"dataset_split": ["base"]}},
        {"inputs": {"question": "q"}, "outputs": {"answer": "right"}, "modified_at": "2026-01-01"},
    ],
)
def test_outputs_of_a_langsmith_data_set_are_references(row: dict[str, Any]) -> None:
    """In an export of a data set of LangSmith `outputs` are what people wrote; no system has answered."""
    (sample,) = read([row])
    assert (sample.query, sample.response, sample.references) == ("q", None, ("right",))


@pytest.mark.parametrize(
    "more",
    [
        {"run_type": "chain", "trace_id": "t", "reference_example_id": "e1"},
        {"run_type": "chain", "trace_id": "t", "metadata": {"dataset_split": ["base"]}},
        {},
        {"reference_outputs": {"answer": "right"}},
    ],
)
def test_outputs_of_runs_are_responses(more: dict[str, Any]) -> None:
    """In an export of runs, and where no column says what it is, `outputs` are what the system answered."""
    (sample,) = read([{"inputs": {"question": "q"}, "outputs": {"answer": "said"}, **more}])
    assert (sample.query, sample.response) == ("q", "said")


def test_outputs_of_a_langsmith_data_set_can_be_mapped() -> None:
    """The caller's map goes before what is known of LangSmith."""
    (sample,) = read([_EXAMPLE], map={"response": "outputs.answer"})
    assert (sample.response, sample.references) == ("right", None)


def test_samples_that_repeat_earlier_ones_are_counted() -> None:
    """Samples equal but for id, references and metadata are counted, unless they have a group or ask nothing."""
    row: dict[str, Any] = {"query": "Who?", "response": "Ada.", "contexts": ["Ada."], "references": ["Ada"]}
    changes: list[dict[str, Any]] = [
        {"references": ["Bob"], "seconds": 3},
        {"response": "Bob."},
        {"contexts": []},
        {"query": "When?"},
    ]

    def repeated(rows: list[dict[str, Any]]) -> int:
        reading = read([{"id": str(number), **one} for number, one in enumerate(rows)])
        for _ in range(2):
            list(reading)
        return reading.unmeasured["repeated"]

    assert repeated([row, *(row | change for change in changes)]) == 1
    assert repeated([row] * 6) == 5
    assert repeated([row | {"group": "a"}] * 6) == 0
    assert repeated([{"response": "Ada.", "references": ["Ada"]}] * 6) == 0
    assert repeated([{"query": "Who?", "retrieved_context_ids": [str(n % 2)], "response": ""} for n in range(4)]) == 2
