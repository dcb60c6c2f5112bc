"""Batches of samples in Arrow, alone and under an engine."""

from __future__ import annotations

import asyncio
import pickle
import shutil
import sys
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from tests.run.test_llm_run import _samples

import ragauge as rg
from ragauge.run.cluster import LEASE_SECONDS, LeasedBudget, Purse
from ragauge.store import Store
from ragauge.types import Call

METRICS = "faithfulness,token_f1,rouge,pooled(faithfulness)"


def _named(count: int) -> list[dict[str, Any]]:
    """Samples with ids, the last without contexts and references."""
    rows = [{"id": f"town-{n}", **row} for n, row in enumerate(_samples(count))]
    rows[-1] = {**rows[-1], "contexts": None, "references": None}
    return rows


def test_a_batch_has_the_scores_of_a_run(tmp_path: Path) -> None:
    """The rows of a pickled scorer have the values, counts, reasons and evidence of `evaluate` on the same samples."""
    rows = _named(7)
    run = rg.evaluate(rows, METRICS, "lexical")
    run.save(tmp_path / "run.claims.parquet")
    score = pickle.loads(pickle.dumps(rg.BatchScorer(METRICS, "lexical")))
    batch = pyarrow.RecordBatch.from_pylist(rows)
    found = score(batch)
    assert isinstance(found, pyarrow.RecordBatch)
    assert found.schema == score.schema
    assert found["id"].to_pylist() == [row["id"] for row in rows]
    for key in ("faithfulness", "token_f1", "rouge.rougeL"):
        assert found[key].to_pylist() == run.values(key)
    first, last = found.to_pylist()[0], found.to_pylist()[-1]
    assert dict(first["counts"])["pooled(faithfulness)"] == list(run.scores[0].counted["pooled(faithfulness)"].counts)
    assert "faithfulness, pooled(faithfulness): the sample has no contexts" in last["remarks"]
    pieces = [{"id": row["id"], **piece} for row in found.to_pylist() for piece in row["evidence"]]
    assert pieces == pyarrow.parquet.read_table(tmp_path / "run.claims.parquet").to_pylist()


def test_tables_and_empty_batches_are_scored() -> None:
    """A table gives a table, and no rows give no rows, with the same columns."""
    score = rg.BatchScorer("token_f1")
    table = pyarrow.Table.from_pylist(_named(3))
    assert score(table).num_rows == 3
    assert score(table.slice(0, 0)).schema == score(table.to_batches()[0].slice(0, 0)).schema == score.schema


def test_batches_share_a_store(tmp_path: Path) -> None:
    """What one process has judged, another finds in the store: the second scorer adds no judgment."""
    batch = pyarrow.RecordBatch.from_pylist(_named(4))
    first = rg.BatchScorer("faithfulness", "lexical", tmp_path)(batch)
    with Store.open(tmp_path) as store:
        kept = len(list(store.judgments()))
        assert rg.BatchScorer("faithfulness", "lexical", store)(batch) == first
        assert len(list(store.judgments())) == kept > 0


def test_mistakes_in_a_scorer_are_told_at_once() -> None:
    """A metric that does not exist, and none at all, are errors before any batch."""
    with pytest.raises(rg.errors.UnknownName, match="faithfulnes"):
        rg.BatchScorer("faithfulnes")
    with pytest.raises(rg.errors.BadParameter, match="no metric"):
        rg.BatchScorer(None)


@pytest.mark.filterwarnings("ignore")
def test_dask_scores_partitions() -> None:
    """Dask's `map_partitions` gives the scores of `evaluate`, partition by partition, as docs/scale.md shows."""
    frames = pytest.importorskip("dask.dataframe")
    import pandas

    rows = _named(10)
    score = rg.BatchScorer("token_f1,faithfulness", "lexical")
    data = frames.from_pandas(pandas.DataFrame(rows), npartitions=3)
    scored = data.map_partitions(
        lambda part: score(pyarrow.Table.from_pandas(part, preserve_index=False)).to_pandas(),
        meta=score.schema.empty_table().to_pandas(),
    ).compute(scheduler="threads")
    run = rg.evaluate(rows, "token_f1,faithfulness", "lexical")
    assert [None if value != value else value for value in scored["token_f1"]] == run.values("token_f1")
    assert list(scored["faithfulness"])[:-1] == run.values("faithfulness")[:-1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed")
def test_spark_scores_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark's `mapInArrow` gives the scores of `evaluate`; its processes keep their judgments in one store."""
    sql = pytest.importorskip("pyspark.sql")
    from_arrow_schema = pytest.importorskip("pyspark.sql.pandas.types").from_arrow_schema
    for name, value in {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)
    rows = _named(40)
    score = rg.BatchScorer("token_f1,faithfulness", "lexical", tmp_path / "store")
    config = {"spark.ui.enabled": "false", "spark.sql.warehouse.dir": str(tmp_path / "warehouse")}
    spark = sql.SparkSession.builder.master("local[2]").config(map=config).getOrCreate()
    try:
        frame = spark.createDataFrame(rows).repartition(4)
        scored = frame.mapInArrow(lambda batches: map(score, batches), from_arrow_schema(score.schema)).collect()
    finally:
        spark.stop()
    run = rg.evaluate(rows, "token_f1,faithfulness", "lexical", tmp_path / "store")
    assert run.record.asked == 0
    expected = zip(run.values("token_f1"), run.values("faithfulness"), strict=True)
    found = {one["id"]: (one["token_f1"], one["faithfulness"]) for one in scored}
    assert found == dict(zip((row["id"] for row in rows), expected, strict=True))


class _Here:
    """The purse as an actor's handle offers it, in this process."""

    def __init__(self, limit: float) -> None:
        purse = self.purse = Purse(limit)

        class Method:
            def __init__(self, name: str) -> None:
                self.name = name

            async def remote(self, *given: Any) -> Any:
                return getattr(purse, self.name)(*given)

        self.take, self.settle = Method("take"), Method("settle")


def test_leased_budgets_keep_one_limit_together() -> None:
    """Eight batches that borrow from one purse spend what it holds and no more, and each learns that it is empty."""
    purse = _Here(1.0)

    async def work() -> float:
        budget = LeasedBudget(purse, 1.0)
        while await budget.reserve(0.003):
            await asyncio.sleep(0.001)
            budget.record(Call("c", 1, cost=0.003), 0.003)
        assert budget.exceeded
        assert budget.reason == "the limit of $1 was reached"
        await budget.settle()
        return budget.spent.cost

    async def all_of_them() -> list[float]:
        return await asyncio.gather(*(work() for _ in range(8)))

    spent = asyncio.run(all_of_them())
    assert 0.99 < sum(spent) <= 1.0 + 1e-9


def test_a_lost_lease_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    """Money lent to a batch that is not heard of any more is lent again, but for what it had spent."""
    now = [0.0]
    monkeypatch.setattr("ragauge.run.cluster.time.monotonic", lambda: now[0])
    purse = Purse(1.0)
    assert purse.take("lost", 0.0, 0.7, 0.7) == 0.7
    assert purse.take("lost", 0.2, 0.3, 0.3) == 0.3
    assert purse.take("other", 0.0, 0.5, 0.5) == 0.0
    now[0] += LEASE_SECONDS + 1
    assert purse.take("other", 0.0, 0.5, 0.5) == 0.5
    assert purse.take("third", 0.0, 0.5, 0.5) == 0.0
    purse.settle("other", 0.5)
    assert purse.take("third", 0.0, 0.5, 0.5) is None
    assert purse.take("third", 0.0, 0.3, 0.3) == pytest.approx(0.3)
