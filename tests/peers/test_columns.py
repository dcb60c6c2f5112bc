"""The names of peers' columns, and what is measured for them."""

from __future__ import annotations

import pytest

from ragauge.analysis.parity import choose, measuring, metric_of, others
from ragauge.analysis.parity_columns import SYSTEMS, Column, read_sheet
from ragauge.errors import UnknownName, UsageError
from ragauge.metrics.registry import select_metrics
from ragauge.readers.columns import folded

COLUMNS = [(name, theirs, column) for name, peer in SYSTEMS.items() for theirs, column in peer.columns.items()]


@pytest.mark.parametrize(("peer", "theirs", "column"), COLUMNS, ids=[f"{peer}-{theirs}" for peer, theirs, _ in COLUMNS])
def test_each_column_has_a_counterpart(peer: str, theirs: str, column: Column) -> None:
    """Every entry of the table has a folded name, and names a value that its metric gives."""
    assert folded(theirs) == theirs
    values = {value for metric in select_metrics(column.metric or metric_of(column.ours)) for value in metric.values}
    assert column.ours in values


def test_what_has_to_be_measured() -> None:
    """Metrics are asked for once, in the form that is nearest to theirs, and variants side by side."""
    row = {"context_precision": 1, "context_utilization": 1, "rouge_score(mode=fmeasure)": 1, "faithfulness": "nan"}
    kept = choose(read_sheet([row, {**row, "faithfulness": 0.5}], {}), "ragas")
    expected = ["context_precision", "context_precision(against=response)", "rouge(types=rougeL,stemmer=true)"]
    assert measuring(kept) == [*expected, "faithfulness"]


def test_trust_eval_is_measured_as_a_family() -> None:
    """The form of correctness is that of the columns, and what the family gives is not asked for again."""
    row = {"reject_rec": 50, "calib_str_em_f1": 50, "trust_score": 50}
    kept = choose(read_sheet([row], {}), "trust_eval")
    specs = measuring(kept)
    assert specs == ["reject_recall(refusals=trust_eval)", "trust(variant=trust_eval,correctness=em)"]
    assert len({metric.key for metric in select_metrics(specs)}) == len(select_metrics(specs))


def test_the_caller_knows_better() -> None:
    """A column that the caller names goes before the known names, in per cent or turned round if so written."""
    sheet = read_sheet([{"faithfulness": 80, "error": 0.1, "a/100": 1.0}], {})
    named = {"faithfulness/100": "claim_recall", "1-error": "faithfulness", "a/100": "bleu"}
    kept = {one.theirs: one.column for one in choose(sheet, "ragas", named)}
    assert (kept["faithfulness"].ours, kept["faithfulness"].converted(80)) == ("claim_recall", 0.8)
    assert kept["error"].converted(0.1) == pytest.approx(0.9)
    assert kept["a/100"].converted(1.0) == 1.0


def test_what_is_left() -> None:
    """Other columns of numbers are named with the reason; ids, texts and sparse columns are not taken for scores."""
    row = {"id": 1, "question": "2", "faithfulness": 1, "Context Recall": 1, "mine": 1, "comment": "good"}
    sheet = read_sheet([row, {**row, "comment": 5}, {**row, "comment": "bad"}], {})
    kept = choose(sheet, "ragas", only=["faithfulness"])
    assert [one.theirs for one in kept] == ["faithfulness"]
    assert others(sheet, "ragas", kept) == {
        "Context Recall": "not requested",
        "mine": "no known counterpart among ours",
    }


def test_what_cannot_be_compared() -> None:
    """An unknown system or column, and a file without any known column, are told with what there is."""
    sheet = read_sheet([{"score": 1}], {})
    with pytest.raises(UnknownName, match="unknown system 'raga'; did you mean 'ragas'"):
        choose(sheet, "raga")
    with pytest.raises(UnknownName, match="unknown column 'scor'"):
        choose(sheet, "ragas", {"scor/100": "bleu"})
    with pytest.raises(UsageError, match=r"no column of ragas has a counterpart; found: 'score'; name one with"):
        choose(sheet, "ragas")
