from __future__ import annotations

import msgspec
import pytest

from ragauge.errors import StoreError, UnknownName, UsageError
from ragauge.scores import Estimate, RunRecord, SampleRecord, ScoreRecord
from ragauge.store import Store
from ragauge.types import Identity, Sample


def run(id: str) -> RunRecord:
    """A run as it stands when it begins."""
    judges = {"entail": Identity("stub")}
    return RunRecord(id, "2026-11-20T10:00:00Z", "data.jsonl", ("faithfulness",), judges, "0.1")


def record(n: int, **values: float | None) -> SampleRecord:
    """Sample number `n` with a score for each of `values`."""
    scores = {name: ScoreRecord(value, None if value is not None else "no claims") for name, value in values.items()}
    return SampleRecord(Sample(str(n), query=f"query {n}"), scores)


def test_a_run_from_begin_to_finish(store: Store) -> None:
    """The record given at the end replaces the one given at the beginning."""
    begun = run("20261120-100000-aaaa")
    store.begin(begun)
    assert store.run(begun.id) == begun
    estimate = Estimate(0.5, 0.4, 0.6, 10, 0, 0, "bootstrap")
    ended = msgspec.structs.replace(begun, status="finished", samples=10, estimates={"faithfulness": estimate})
    store.finish(ended)
    assert store.runs() == [ended]


def test_runs_are_listed_newest_first(store: Store) -> None:
    """Runs stand in the order in which they were begun, although a clock that goes back gives them earlier ids."""
    for id in ("b", "c", "a"):
        store.begin(msgspec.structs.replace(run(id), name="same"))
    assert [each.id for each in store.runs()] == ["a", "c", "b"]
    assert store.run("latest").id == "a"
    assert store.run("same").id == "a"


def test_an_id_is_taken_once(store: Store) -> None:
    """Another run with the same id is an error that says so; to begin the same one again changes nothing."""
    store.begin(run("a"))
    store.begin(run("a"))
    with pytest.raises(StoreError, match="there is a run 'a' already"):
        store.begin(msgspec.structs.replace(run("a"), name="another"))
    assert [each.name for each in store.runs()] == [run("a").name]


def test_a_run_is_found_by_the_beginning_of_its_id(store: Store) -> None:
    """A beginning that one run has is enough; a full id goes before longer ids that begin with it."""
    for id in ("2026-a", "2026-b", "2026-bc"):
        store.begin(run(id))
    assert store.run("2026-a").id == "2026-a"
    assert store.run("2026-b").id == "2026-b"
    with pytest.raises(UsageError, match=r"beginning of 3 runs \(2026-bc, 2026-b, 2026-a\)"):
        store.run("2026")


def test_a_run_is_found_by_its_name(store: Store) -> None:
    """A name stands for the newest run of that name, and goes before ids that begin so; an id goes before a name."""
    for id, name in (("2026-a", "base"), ("2026-b", "base"), ("2026-c", "2026-a"), ("2026-d", "2026"), ("2026-e", "")):
        store.begin(msgspec.structs.replace(run(id), name=name))
    assert store.run("base").id == "2026-b"
    assert store.run("2026-a").id == "2026-a"
    assert store.run("2026").id == "2026-d"
    assert store.run("latest").id == "2026-e"
    with pytest.raises(UnknownName, match="unknown run 'bass'; did you mean 'base'"):
        store.run("bass")


@pytest.mark.parametrize("wanted", ["2026-x", ""])
def test_an_unknown_run_suggests_known_ones(store: Store, wanted: str) -> None:
    """An id that no run has is an error that names runs there are."""
    store.begin(run("2026-a"))
    with pytest.raises(UnknownName, match="2026-a"):
        store.run(wanted)


def test_a_store_without_runs_says_how_to_make_one(store: Store) -> None:
    """Asking for a run of an empty store names the command that makes one."""
    with pytest.raises(StoreError, match="holds no runs yet; make one with: ragauge run"):
        store.run("latest")


def test_samples_are_read_by_position(store: Store) -> None:
    """Windows kept in any order are read in the order of positions, in part or one by one."""
    store.begin(run("a"))
    records = [record(n, faithfulness=n / 600) for n in range(600)]
    store.keep_samples("a", 300, records[300:])
    store.keep_samples("a", 0, records[:300])
    assert list(store.samples("a")) == records
    assert list(store.samples("a", 250, 520)) == records[250:520]
    assert list(store.samples("a", 590)) == records[590:]
    assert store.sample("a", 599) == records[599]


def test_a_position_without_a_sample(store: Store) -> None:
    """Reading a sample beyond the end is an IndexError that names run and position."""
    store.begin(run("a"))
    store.keep_samples("a", 0, [record(0)])
    with pytest.raises(IndexError, match="run 'a' has no sample at position 1"):
        store.sample("a", 1)


def test_values_of_a_metric(store: Store) -> None:
    """Values come by position; undefined ones, absent ones and windows not kept yet are None."""
    store.begin(run("a"))
    store.keep_samples("a", 0, [record(0, x=0.25, y=1.0), record(1, x=None)])
    store.keep_samples("a", 3, [record(3, x=0.0), record(4)])
    assert store.values("a", "x") == [0.25, None, None, 0.0, None]
    assert store.values("a", "y") == [1.0, None, None, None, None]


def test_samples_kept_again_replace_the_old_ones(store: Store) -> None:
    """A window that is kept twice counts once, as it was kept last, even where windows overlap."""
    store.begin(run("a"))
    store.keep_samples("a", 1, [record(1, x=0.1), record(2, x=0.2)])
    store.keep_samples("a", 0, [record(0, x=0.7), record(1, x=0.8)])
    assert store.values("a", "x") == [0.7, 0.8, 0.2]
    assert store.sample("a", 1) == record(1, x=0.8)


def test_runs_do_not_mix(store: Store) -> None:
    """Two runs with samples at the same positions keep them apart."""
    for id, value in (("a", 0.1), ("b", 0.9)):
        store.begin(run(id))
        store.keep_samples(id, 0, [record(0, x=value)])
    assert (store.values("a", "x"), store.values("b", "x")) == ([0.1], [0.9])
    assert store.sample("b", 0) == record(0, x=0.9)


def test_an_unknown_metric_suggests_known_ones(store: Store) -> None:
    """A metric that no sample has a score of is an error; a run without samples has no values."""
    store.begin(run("a"))
    assert store.values("a", "faithfulness") == []
    store.keep_samples("a", 0, [record(0, faithfulness=1.0)])
    with pytest.raises(UnknownName, match="did you mean 'faithfulness'"):
        store.values("a", "faithfullness")


def test_samples_need_their_run(store: Store) -> None:
    """Samples and results of a run that was not begun are refused."""
    with pytest.raises(UnknownName, match="unknown run 'a'"):
        store.keep_samples("a", 0, [record(0)])
    with pytest.raises(UnknownName, match="unknown run 'a'"):
        store.finish(run("a"))
    with pytest.raises(UnknownName, match="unknown run 'a'"):
        list(store.samples("a"))
