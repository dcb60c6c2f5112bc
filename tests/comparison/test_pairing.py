"""Matching the samples of two runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.analysis.differences import Pairing, compared_runs, paired
from ragauge.errors import UnknownName, UsageError
from ragauge.scores import SampleRecord, ScoreRecord
from ragauge.types import Chunk, Sample


def together(a: Iterable[Sample], b: Iterable[Sample]) -> Pairing:
    """The pairing of two runs over these samples."""
    return paired(*(run.rows for run in compared_runs(map(records_of, (a, b)))))


def records_of(samples: Iterable[Sample]) -> list[SampleRecord]:
    """The samples without scores."""
    return [SampleRecord(sample, {}) for sample in samples]


def asking(*queries: str, ids: Iterable[str] | None = None) -> list[Sample]:
    """Samples with these queries, with row numbers as ids unless given."""
    names = ids or map(str, range(1, len(queries) + 1))
    return [Sample(id, query=query) for id, query in zip(names, queries, strict=True)]


def test_by_id() -> None:
    """Samples with the same id and query match, whatever their order and their responses."""
    a = [Sample(id, query=f"what is {id}", response="yes") for id in "xyz"]
    b = [Sample(id, query=f"what is {id}", contexts=(Chunk("no"),)) for id in "zxy"]
    assert together(a, b) == Pairing([(0, 1), (1, 2), (2, 0)], "id", 0, 0)


def test_shuffled_rows_match_by_query() -> None:
    """If ids are row numbers and the order differs, samples match by their queries."""
    assert together(asking("who", "when", "why"), asking("why", "who", "when")) == Pairing(
        [(0, 1), (1, 2), (2, 0)], "query", 0, 0
    )


@given(st.permutations(range(8)), st.integers(0, 8), st.booleans())
def test_the_same_pairs_in_any_order(order: list[int], kept: int, numbered: bool) -> None:
    """However rows are shuffled, each sample matches the one with the same query; the others are counted."""
    first = [Sample(str(n), query=f"query {n}") for n in range(8)]
    second = [Sample(str(at if numbered else n), query=f"query {n}") for at, n in enumerate(order[: max(1, kept)])]
    found = together(first, second)
    assert [(first[a].query, second[b].query) for a, b in found.pairs] == [
        (f"query {n}", f"query {n}") for n in sorted(order[: max(1, kept)])
    ]
    assert (found.only_a, found.only_b) == (8 - max(1, kept), 0)


def test_repeated_queries_need_ids() -> None:
    """Repeated queries match by id if ids agree, and are an error if their order differs."""
    assert together(asking("who", "who", "why"), asking("who", "who", "why")).by == "id"
    with pytest.raises(UsageError, match=r"sample '2' asks “who” in the first and “why” in the second; give each sam"):
        together(asking("who", "who", "why"), asking("who", "why", "who"))


def test_one_query_with_many_sources() -> None:
    """Summaries with the same query are distinguished by their source."""
    a = [Sample(str(n), query="Sum it up.", source=f"text {n}") for n in range(3)]
    b = [Sample(str(n), query="Sum it up.", source=f"text {2 - n}") for n in range(3)]
    assert together(a, a).by == "id"
    assert together(a, b) == Pairing([(0, 2), (1, 1), (2, 0)], "query", 0, 0)


def test_samples_without_a_query() -> None:
    """Without query and source, references distinguish samples; without these only ids do."""
    a = [Sample(str(n), references=(f"right {n}",)) for n in range(3)]
    b = [Sample(str(n), references=(f"right {2 - n}",)) for n in range(3)]
    assert together(a, b).pairs == [(0, 2), (1, 1), (2, 0)]
    bare = [Sample(str(n), response="yes") for n in range(3)]
    assert together(bare, bare[1:]) == Pairing([(1, 0), (2, 1)], "id", 1, 0)


def test_a_reference_may_be_corrected() -> None:
    """Samples with the same id and query match even if the reference was changed between the runs."""
    a, b = ([Sample("x", query="who", references=(name,))] for name in ("Ada", "Ada Bell"))
    assert together(a, b).by == "id"


def test_ids_that_agree_by_accident() -> None:
    """If few ids agree and all queries do, samples match by their queries."""
    a = asking("who", "when", "why")
    b = asking("when", "why", "who", ids=("q7", "3", "q9"))
    assert together(a, b) == Pairing([(0, 2), (1, 0), (2, 1)], "query", 0, 0)


def test_a_changed_query_leaves_its_sample_out() -> None:
    """A sample whose query differs between the runs matches none, and is counted on both sides."""
    assert together(asking("who", "when"), asking("who", "where")) == Pairing([(0, 0)], "query", 1, 1)


@pytest.mark.parametrize(
    ("b", "message"),
    [
        (asking("where", "how", ids="xy"), "no sample in common: neither their ids agree, nor their queries"),
        (asking("who", "who", ids="xy"), "or these repeat"),
        (asking("where", "how"), "sample '1' asks “who” in the first and “where” in the second"),
        (asking("where\n\x1b[2J" * 50, "how"), r"and “where �\[2J"),
    ],
)
def test_runs_of_different_samples(b: list[Sample], message: str) -> None:
    """Runs without a common sample are an error that shows the first difference, safe to print."""
    with pytest.raises(UsageError, match=message):
        together(asking("who", "when"), b)


def test_cells_of_a_run() -> None:
    """A cell is the value, the counts over the data set, or why there is neither."""
    record = SampleRecord(
        Sample("1"),
        {"x": ScoreRecord(0.5, counts=(1, 2)), "y": ScoreRecord(undefined="no claims"), "z": ScoreRecord(failed="no")},
        counted={"all": ScoreRecord(counts=(1.0, 2.0))},
    )
    (found,) = compared_runs([[record]], ["x", "y", "z", "all", "other"])
    assert found.cells == {"x": [0.5], "y": ["undefined"], "z": ["failed"], "all": [(1.0, 2.0)], "other": ["absent"]}


@pytest.mark.parametrize(("house", "group"), [("a", "a"), (7, "7"), (None, None), (False, "False")])
def test_a_column_groups_samples(house: Any, group: str | None) -> None:
    """The group is the text of the column; a sample without it is its own group."""
    samples = records_of([Sample("1", group="own", metadata={"house": house})])
    (by_column,), (by_group,) = compared_runs([samples], group="house"), compared_runs([samples])
    assert (by_column.rows[0].group, by_group.rows[0].group) == (group, "own")


def test_an_unknown_column() -> None:
    """A misspelled column is an error that suggests the right one; runs made with groups need no column."""
    plain, grouped = records_of([Sample("1", metadata={"house": "a"})]), records_of([Sample("1", group="a")])
    compared_runs([plain, grouped], group="house")
    with pytest.raises(UnknownName, match="unknown column 'hous'; did you mean 'house'"):
        compared_runs([plain, plain], group="hous")
    with pytest.raises(UnknownName, match=r"unknown column 'house'.*without group"):
        compared_runs([grouped, grouped], group="house")
