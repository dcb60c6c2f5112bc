"""Another system's scores compared with a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.parity.conftest import SUPPORTED

import ragauge as rg
from ragauge.analysis.parity import CAUSES, ParityColumn
from ragauge.errors import UsageError

#: What faithfulness is on the first eleven rows.
OURS = [supported / 4 for supported in SUPPORTED[:-1]]


def compared(run: rg.Run, rows: list[dict[str, Any]], values: list[Any], name: str = "faithfulness") -> ParityColumn:
    """One column of theirs compared with ours, on the rows."""
    scores = [{**row, name: value} for row, value in zip(rows, values, strict=True)]
    (column,) = rg.parity(run, scores, "ragas", columns={name: "faithfulness"}).columns
    return column


def test_equal_numbers(run: rg.Run, rows: list[dict[str, Any]]) -> None:
    """With equal numbers nothing differs, also if one is undefined here and NaN there."""
    column = compared(run, rows, [*OURS, float("nan")])
    assert (column.figures.n, column.figures.close, column.neither, column.differences) == (11, 11, 1, ())
    assert column.figures.mean_theirs == column.figures.mean_ours == pytest.approx(sum(OURS) / 11)
    assert column.figures.rank == pytest.approx(1)
    assert column.figures.difference is not None
    assert column.figures.difference.value == 0
    assert (column.figures.difference.low or 0) < 0 < (column.figures.difference.high or 0)


def test_each_difference_has_its_cause(run: rg.Run, rows: list[dict[str, Any]]) -> None:
    """Causes: NaN there, undefined here, other claims, other verdicts, off the scale."""
    values: list[Any] = [*OURS, 1.0]
    values[0] = ""  # NaN in a CSV file
    values[1] = 0.667  # 3 of 4 here, and no share of 4
    values[4] = 0.5  # 0 of 4 here
    values[6] = 7  # 0.75 here
    column = compared(run, rows, values)
    found = {one.cause: (one.count, one.rows[0].id) for one in column.differences}
    assert found == {
        "undefined_here": (1, "r11"),
        "missing_there": (1, "r0"),
        "scale": (1, "r6"),
        "pieces": (1, "r1"),
        "verdicts": (1, "r4"),
    }
    assert list(found) == [cause for cause in CAUSES if cause in found]
    worst = {one.cause: one.rows[0] for one in column.differences}
    assert worst["undefined_here"].why == "the response makes no claim"
    assert worst["missing_there"].why == "theirs is ''"
    assert worst["verdicts"].evidence == tuple(
        f"not supported by contexts: “{claim}”"
        for claim in ("Ada wrote it.", "Bob drew it.", "Cleo printed it.", "Dan sold it.")
    )


def test_the_evidence_follows_the_direction(run: rg.Run, rows: list[dict[str, Any]]) -> None:
    """If ours is higher, the evidence is the claims found supported, with their context."""
    column = compared(run, rows, [*OURS[:2], 0.0, *OURS[3:], None])
    ((row,),) = [one.rows for one in column.differences]
    assert (row.theirs, row.ours) == (0.0, 0.5)
    assert row.evidence == ("supported by context 1: “Ada wrote it.”", "supported by context 1: “Bob drew it.”")


def test_another_definition(run: rg.Run, rows: list[dict[str, Any]]) -> None:
    """A metric with another definition has a note, may be negative, and differs for that cause."""
    scores = [{**row, "answer_relevancy": -0.01 if n else 0.6} for n, row in enumerate(rows)]
    (column,) = rg.parity(run, scores, "ragas").columns
    assert [one.cause for one in column.differences] == ["undefined_here", "definition"]
    assert column.notes[0].startswith("different definition: theirs is the mean cosine")
    assert column.figures.difference is not None


def test_per_cent_and_inverted_columns(run: rg.Run, rows: list[dict[str, Any]]) -> None:
    """Columns in per cent or inverted have a warning, and are right once declared."""
    per_cent = compared(run, rows, [*(100 * value for value in OURS), None], "mine")
    assert per_cent.figures.difference is None
    assert per_cent.notes[0].startswith("different scale: theirs range from 0 to 100, our scale is 0 to 1")
    turned = compared(run, rows, [*(1 - value for value in OURS), None], "mine")
    assert turned.notes == ("opposite direction: theirs fall where ours rise; try --column 1-mine=...",)
    rows = [{**row, "p": 100 * value, "q": 1 - value} for row, value in zip(rows, OURS, strict=False)]
    declared = rg.parity(run, rows, "ragas", columns={"p/100": "faithfulness", "1-q": "faithfulness"})
    assert [one.figures.close for one in declared.columns] == [11, 11]


def test_numbers_without_verdicts(run: rg.Run, rows: list[dict[str, Any]]) -> None:
    """Overlap metrics have no verdicts; if ours has other parameters than theirs, a note says so."""
    (column,) = rg.parity(run, [{**row, "rouge_score(mode=fmeasure)": 0.9} for row in rows], "ragas").columns
    assert {one.cause for one in column.differences} == {"numbers"}
    assert column.notes == (
        "measured here as rouge(types=rougeL); rouge(types=rougeL,stemmer=true) is closer to theirs",
    )


def test_a_custom_metric(rows: list[dict[str, Any]], judge: rg.judges.Judge) -> None:
    """A metric that is in no catalogue is compared on a scale that spans the numbers."""

    @rg.check(scale=(1.0, 5.0))
    def stars(sample: rg.Sample) -> float:
        """Four for each."""
        return 4.0 if sample else 1.0

    run = rg.evaluate(rows, [stars], judge)
    (column,) = rg.parity(run, [{**row, "rating": 2} for row in rows], "valor", columns={"rating": "stars"}).columns
    assert (column.figures.mean_ours, column.figures.mean_theirs) == (4.0, 2.0)


def test_groups_widen_the_interval(rows: list[dict[str, Any]], judge: rg.judges.Judge) -> None:
    """Groups of samples are resampled together."""
    scores = [{**row, "faithfulness": value} for row, value in zip(rows, [0.5] * 12, strict=True)]
    grouped = [{**row, "group": str(n // 3)} for n, row in enumerate(rows)]
    (column,) = rg.parity(rg.evaluate(grouped, "faithfulness", judge), scores, "ragas").columns
    assert column.figures.difference is not None
    assert column.figures.difference.method == "Gaffke over clusters"


def test_what_cannot_be_compared(run: rg.Run, rows: list[dict[str, Any]]) -> None:
    """A run without the counterpart is an error that says what to measure."""
    with pytest.raises(UsageError, match="has no counterpart of what list of 1 row holds; measure bias"):
        rg.parity(run, [{**rows[0], "Bias": 0}], "valor")


def test_files(run: rg.Run, rows: list[dict[str, Any]], tmp_path: Path) -> None:
    """JSON is one versioned document, Markdown the printed text, without active markup."""
    scores = [{**row, "faithfulness": 0.0 if n else "<b>", "a|b": 1} for n, row in enumerate(rows)]
    found = rg.parity(run, scores, "ragas")
    document = json.loads(found.save(tmp_path / "out.json").read_text(encoding="utf-8"))
    assert (document["schema"], document["peer"]) == ("ragauge.parity/1", "ragas")
    assert document["columns"][0]["differences"][-1]["rows"][0]["evidence"]
    assert document["matching"]["by"] == "id"
    assert "'<b>'" in str(found)
    assert "<" not in found.save(tmp_path / "out.md").read_text(encoding="utf-8")
    for bad in ("out.html", "out.json/out.md"):
        with pytest.raises(UsageError, match="cannot write"):
            found.save(tmp_path / bad)


@given(st.lists(st.one_of(st.none(), st.floats(0, 1.1)), min_size=12, max_size=12), st.integers(0, 4))
def test_every_row_is_accounted_for(run: rg.Run, rows: list[dict[str, Any]], values: list[Any], show: int) -> None:
    """Each row is close, different, or without a number on either side; at most `show` rows are listed."""
    scores = [
        {**row, "faithfulness": value} for row, value in zip(rows, [*values[:11], values[11] or 0.0], strict=True)
    ]
    (column,) = rg.parity(run, scores, "ragas", show=show).columns
    assert column.figures.close + sum(one.count for one in column.differences) + column.neither == 12
    assert all(len(one.rows) == min(show, one.count) for one in column.differences)


@pytest.mark.slow
@pytest.mark.shared
def test_the_scores_of_dataworkz(shared: Path) -> None:
    """On the hundred rows of Dataworkz BLEU and ROUGE agree to the digits written, and its claims are quoted."""
    path = shared / "data" / "dataworkz" / "apple10k_evaluation_result.csv"
    metrics = "bleu(tokenizer=whitespace,smoothing=method1),rouge(types=rouge1+rougeL,stemmer=true),claim_recall"
    found = rg.parity(rg.evaluate(path, metrics), path, "dataworkz")
    assert found.matching is not None
    assert (found.matching.by, found.matching.pairs) == ("id", 100)
    by_name = {one.theirs: one for one in found.columns}
    for name in ("Bleu Score", "Rouge-1", "Rouge-L"):
        assert (by_name[name].figures.n, by_name[name].figures.close) == (100, 100)
        assert by_name[name].figures.mean_theirs == pytest.approx(by_name[name].figures.mean_ours, abs=5e-5)
    recall = by_name["LLM Recall"]
    assert recall.figures.mean_theirs is not None
    assert recall.figures.mean_theirs == pytest.approx(0.825, abs=0.03)  # without the rows that ours leaves undefined
    assert recall.figures.rank is not None
    assert recall.figures.rank > 0.3
    assert any(line.startswith("theirs, Common Claims: ") for line in recall.differences[0].rows[0].evidence)
    assert found.left["LLM F1"] == "claim_f1 was not measured"
