from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ragauge as rg
from ragauge.errors import BadData, BadRow
from ragauge.run.prepare import SAMPLES_READ_AHEAD
from ragauge.run.scoring import WRITE_BATCH

Make = Callable[..., Any]

GOOD = {"query": "who", "response": "Ada.", "contexts": ["Ada."]}
BAD = {"query": "who", "response": "Ada.", "contexts": [7.5, {"no": "text"}]}


def _rows(count: int, bad: int) -> Iterator[dict[str, Any]]:
    for n in range(count):
        yield {**(BAD if n == bad else GOOD), "query": f"who {n}", "response": f"Ada {n}."}


def test_a_bad_row_near_the_start_asks_nobody(judge: Any) -> None:
    """A row that cannot be read among the first is found before any judge is asked, and named with the fix."""
    with pytest.raises(BadRow, match="generator, row 7, column 'contexts'") as raised:
        rg.evaluate(_rows(10, bad=6), "faithfulness", judge)
    assert (raised.value.row, raised.value.column) == (7, "contexts")
    assert judge.asked == []


def test_skipped_rows_are_counted(judge: Any) -> None:
    """Rows that cannot be read are skipped on request, counted and reported."""
    run = rg.evaluate(_rows(10, bad=6), "faithfulness", judge, skip_bad_rows=True)
    assert run.record.samples == run.estimates["faithfulness"].n == 9
    assert len(run.record.bad_rows) == 1
    assert "row 7" in run.record.bad_rows[0]
    assert "Rows skipped: 1." in str(run)
    many = rg.evaluate([GOOD, *[BAD] * 7], "faithfulness", judge, skip_bad_rows=True)
    assert str(many).count("Skipped: list of 8 rows, row ") == 5


def test_nothing_but_bad_rows(judge: Any) -> None:
    """Where every row was skipped there is nothing to measure, and the first reason is given."""
    with pytest.raises(BadData, match=r"holds no sample; rows were skipped, the first because: .*row 1"):
        rg.evaluate([BAD, BAD], "faithfulness", judge, skip_bad_rows=True)


@pytest.mark.slow
def test_a_bad_row_far_down_keeps_what_was_judged(judge: Any, tmp_path: Path) -> None:
    """A bad row after the inspected ones ends the run; its judgments stay, and the corrected data continues it."""
    count, bad = SAMPLES_READ_AHEAD + 2 * WRITE_BATCH, SAMPLES_READ_AHEAD + WRITE_BATCH + 1
    with pytest.raises(BadRow, match=f"row {bad + 1}, "):
        rg.evaluate(_rows(count, bad), "faithfulness", judge, tmp_path)
    before = len(judge.asked)
    interrupted = rg.Run.open(tmp_path)
    assert interrupted.record.status == "interrupted"
    assert interrupted.record.samples == interrupted.estimates["faithfulness"].n > SAMPLES_READ_AHEAD - WRITE_BATCH
    assert interrupted.record.asked == before

    corrected = rg.evaluate(_rows(count, bad=-1), "faithfulness", judge, tmp_path)
    assert corrected.record.reused == before
    assert corrected.estimates["faithfulness"].n == count
