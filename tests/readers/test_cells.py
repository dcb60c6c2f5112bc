"""Single cells: text, absence, references, ids, metadata."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ragauge import evaluate
from ragauge.errors import BadRow
from ragauge.readers import read
from ragauge.types import Sample


def sample(**row: Any) -> Sample:
    """The sample of one row with a query, a response and these cells."""
    return next(iter(read([{"query": "q", "response": "a"} | row])))


@pytest.mark.parametrize("missing", [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT])
def test_what_is_missing_is_absent(missing: Any) -> None:
    """None, NaN, NaT and pandas.NA are absent in every field, and no metadata."""
    row = dict.fromkeys(
        ["id", "query", "response", "contexts", "reference", "answers", "answerable", "system", "group", "note"],
        missing,
    )
    assert sample(**row) == Sample(id="1")


@pytest.mark.parametrize("blank", ["", "  ", "\n\t"])
def test_blank_text_is_absent_but_an_empty_response_is_an_answer(blank: str) -> None:
    """A blank query, reference or list is absent; a blank response is what the system answered, and kept as it is."""
    row = dict.fromkeys(["query", "response", "contexts", "reference", "answers", "answerable", "group"], blank)
    assert sample(**row) == Sample(id="1", response=blank)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("  kept as it is\n", "  kept as it is\n"),
        (411, "411"),
        (411.0, "411"),
        (2.83e12, "2830000000000"),
        (0.25, "0.25"),
        (10**30, "1" + "0" * 30),
        (np.int64(5), "5"),
        (np.str_("x"), "x"),
        (Decimal("1.50"), "1.50"),
        (date(2022, 10, 27), "2022-10-27"),
        (datetime(2022, 10, 27), "2022-10-27 00:00:00"),
    ],
)
def test_text_of_a_cell(value: Any, text: str) -> None:
    """Numbers and dates become the text that people would write, and text stays character for character."""
    found = sample(response=value, reference=value)
    assert (found.response, found.references) == (text, (text,))
    assert type(found.response) is str


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (True, 'a boolean, not text; write it as text, such as "yes" or "no"'),
        (np.bool_(False), "a boolean, not text"),
        (["x"], "a list, not text; give it as one string"),
        ({"x": 1, "y": 2}, "an object, not text"),
        (b"x", "a value of type bytes, not text"),
        (float("inf"), "a value of type float, not text"),
        ("x\ud800y", "character 2 is half of a surrogate pair, which is not text"),
    ],
)
def test_what_is_no_text_is_refused(value: Any, problem: str) -> None:
    """A value whose wording would have to be guessed is refused with the row, the column and the fix."""
    with pytest.raises(BadRow, match="list of 1 row, row 1, column 'query': ") as raised:
        sample(query=value)
    assert problem in str(raised.value)
    assert (raised.value.row, raised.value.column) == (1, "query")


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("reference", "r", ("r",)),
        ("reference", ["r", "s"], ("r", "s")),
        ("reference", np.array(["r", "s"]), ("r", "s")),
        ("reference", [], ()),
        ("reference", ["r", " "], ("r",)),
        ("references", '["r", "s"]', ("r", "s")),
        ("ground_truths", "['r', 's']", ("r", "s")),
        ("ground_truths", "r", ("r",)),
        ("references", 411, ("411",)),
    ],
)
def test_references(column: str, value: Any, expected: tuple[str, ...]) -> None:
    """One text or a list of alternatives, which under a plural name may be spelled as text."""
    assert sample(**{column: value}).references == expected


def test_a_list_under_a_singular_name_is_one_reference_and_noted() -> None:
    """A list that is written as text may be the answer itself, whatever the other rows hold; the report counts them."""
    rows = [{"response": "s", "ground_truth": cell} for cell in ('["r", "s"]', "[see annex] no", "r", "")]
    reading = read(rows)
    assert [one.references for one in reading] == [('["r", "s"]',), ("[see annex] no",), ("r",), None]
    assert "lists written as text: 1;" in " ".join(str(evaluate(rows, "exact_match")).split())
    plural = read([{"response": "s", "references": '["r", "s"]'}])
    assert [one.references for one in plural] == [("r", "s")]
    assert not plural.unmeasured["listed_references"]


@pytest.mark.parametrize("value", [["r", None], ["r", ["s"]], [{"r": 1}]])
def test_a_reference_that_is_no_text_is_refused(value: Any) -> None:
    """Nulls, lists and objects among the references are refused by their position."""
    with pytest.raises(BadRow, match=r"column 'reference': item \d(: a list, not text| is null|: an object, not text)"):
        sample(reference=value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([["x", "y"], ["z"]], (("x", "y"), ("z",))),
        ([["x"], "y"], (("x",), ("y",))),
        ([[]], ((),)),
        ("[['x', 'y']]", (("x", "y"),)),
    ],
)
def test_gold_claims(value: Any, expected: tuple[tuple[str, ...], ...]) -> None:
    """Nested answers are claims, each with its wordings, in order."""
    assert sample(answers=value).answers == expected


@pytest.mark.parametrize("value", [True, 1, 1.0, "true", "Yes", " 1 ", np.True_])
def test_answerable_in_its_spellings(value: Any) -> None:
    """Booleans, 0 and 1 and the usual words are yes or no."""
    assert sample(answerable=value).answerable is True


@pytest.mark.parametrize("value", [False, 0, "FALSE", "no", np.int8(0)])
def test_not_answerable_in_its_spellings(value: Any) -> None:
    """The negative spellings are read as such."""
    assert sample(is_answerable=value).answerable is False


def test_answerable_in_other_words_is_refused() -> None:
    """A word that is neither yes nor no is refused."""
    with pytest.raises(BadRow, match="column 'answerable': 'maybe' is neither yes nor no; write true or false"):
        sample(answerable="maybe")


def test_ids_are_texts_and_default_to_the_row_number() -> None:
    """A numeric id is its text, and a row without one has its 1-based number."""
    rows = [{"id": 18.0, "query": "q"}, {"id": None, "query": "q"}, {"id": "x", "query": "q"}]
    assert [found.id for found in read(rows)] == ["18", "2", "x"]


def test_a_repeated_id_names_both_rows() -> None:
    """Two rows of one id are refused with both numbers and the two ways to fix it."""
    rows = [{"query_id": name, "query": "q"} for name in ("a", "b", "a")]
    with pytest.raises(
        BadRow, match=r"row 3, column 'query_id': id 'a' was given to row 1 already; .*--map id=COLUMN.*--map id="
    ):
        list(read(rows))
    assert [found.id for found in read(rows, map={"id": ""})] == ["1", "2", "3"]


def test_a_row_number_that_another_row_took_is_refused() -> None:
    """An id that equals the number of a row without one is a repeated id too."""
    with pytest.raises(BadRow, match="row 2, column 'id': id '2' was given to row 1 already"):
        list(read([{"id": "2", "query": "q"}, {"id": "", "query": "q"}]))


def test_ids_that_begin_far_down_are_checked_too() -> None:
    """An id that only a later row has is held against the numbers of the rows before it."""
    rows = [{"query": "q"}] * 150 + [{"query": "q", "id": "7"}]
    with pytest.raises(BadRow, match="row 151, column 'id': id '7' was given to row 7 already"):
        list(read(rows))


def test_system_and_group() -> None:
    """The system and the group of a row are read as text under their known names."""
    found = sample(model="gpt", cluster=7)
    assert (found.system, found.group) == ("gpt", "7")


def test_metadata_holds_what_json_can() -> None:
    """Other columns are kept as JSON values: arrays as lists, dates and unknown objects as text, infinity as text."""
    found = sample(
        label=np.int64(1),
        scores=np.array([0.5, float("nan")]),
        day=date(2022, 1, 2),
        huge=float("inf"),
        inner={1: (2,)},
    )
    expected = {"label": 1, "scores": [0.5, None], "day": "2022-01-02", "huge": "inf", "inner": {"1": [2]}}
    assert found.metadata == expected


def test_metadata_written_as_json() -> None:
    """A metadata cell that spells an object is that object; any other text is kept as it is."""
    assert sample(metadata='{"k": [1]}').metadata == {"k": [1]}
    assert sample(metadata="{}").metadata == {}
    assert sample(metadata="note").metadata == {"metadata": "note"}
