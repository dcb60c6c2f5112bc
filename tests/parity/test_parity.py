"""Another system's scores compared with a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.parity.conftest import SUPPORTED

import ragauge as rg
from ragauge.errors import UsageError

#: What faithfulness is on the first eleven rows.
OURS = [supported / 4 for supported in SUPPORTED[:-1]]


def compared(run: rg.Run, rows: list[dict[str, Any]], values: list[Any], name: str = "faithfulness") -> rg.Comparison:
    """A column of theirs compared with our faithfulness, on the rows."""
    scores = [{**row, name: value} for row, value in zip(rows, values, strict=True)]
    return rg.parity(run, scores, "ragas", columns={name: "faithfulness"})


def test_equal_numbers(run: rg.Run, rows: list[dict[str, Any]]) -> None:
    """With equal numbers nothing differs, also if one is undefined here and NaN there."""
    found = compared(run, rows, [*OURS, float("nan")])
    difference = found.differences["faithfulness"]
    assert (difference.n, difference.ties, difference.difference, found.changes) == (11, 11, 0, ())
    assert difference.a == difference.b == pytest.approx(sum(OURS) / 11)
    assert "faithfulness is their faithfulness: rank correlation 1.00 over 11 samples" in found.notes


def test_missing_numbers_are_counted(run: rg.Run, rows: list[dict[str, Any]]) -> None:
    """NaN there, undefined here, and numbers off the scale are no numbers, and counted."""
    values: list[Any] = [*OURS, 1.0]
    values[0] = ""  # NaN in a CSV file
    values[6] = 7  # 0.75 here
    found = compared(run, rows, values)
    missing = found.differences["faithfulness"].missing
    assert (missing.undefined_a, missing.undefined_b, missing.failed_a) == (1, 1, 1)
    assert any("faithfulness has numbers off the scale" in note for note in found.notes)


def test_texts_that_are_no_numbers_are_failed(run: rg.Run, rows: list[dict[str, Any]]) -> None:
    """A text that cannot be read is failed, not undefined, and a note names it; per cent are read once."""
    found = compared(run, rows, ["good", *(f"{100 * value}%" for value in OURS[1:]), "N/A"])
    difference = found.differences["faithfulness"]
    assert (difference.missing.failed_a, difference.missing.undefined_a, difference.ties) == (1, 1, 10)
    assert any("count as failed: row 1 holds 'good'" in note for note in found.notes)


def test_what_rows_are_matched_by_is_said(run: rg.Run, rows: list[dict[str, Any]]) -> None:
    """Texts, ids and, with a caution, the order."""
    for keys, by in [(("user_input", "response"), "query and response"), (("id",), "id"), ((), "order")]:
        scores = [{"faithfulness": 0.5, **{key: row[key] for key in keys}} for row in rows]
        found = rg.parity(run, scores, "ragas")
        assert found.by == by
        assert any("matched in order" in note for note in found.notes) is (by == "order")


def test_the_evidence_follows_the_direction(run: rg.Run, rows: list[dict[str, Any]]) -> None:
    """If ours is lower, the evidence is the claims found unsupported; if higher, those found supported."""
    higher = compared(run, rows, [*OURS[:2], 0.0, *OURS[3:], None]).changes[0]
    assert (higher.a, higher.b) == (0.0, 0.5)
    assert [piece.said for piece in higher.pieces] == [
        "supported by context 1: “Ada wrote it.”",
        "supported by context 1: “Bob drew it.”",
    ]
    lower = compared(run, rows, [*OURS[:3], 1.0, *OURS[4:], None]).changes[0]
    assert (lower.a, lower.b) == (1.0, 0.25)
    assert lower.pieces[0].said == "not supported by contexts: “Bob drew it.”"


def test_another_definition(run: rg.Run, rows: list[dict[str, Any]]) -> None:
    """A metric with another definition has a note that says how it differs."""
    found = rg.parity(run, [{**row, "answer_relevancy": 0.6} for row in rows], "ragas")
    assert any("different definition: theirs is the mean cosine" in note for note in found.notes)


def test_other_parameters(run: rg.Run, rows: list[dict[str, Any]]) -> None:
    """If ours has other parameters than theirs, a note says so."""
    found = rg.parity(run, [{**row, "rouge_score(mode=fmeasure)": 0.9} for row in rows], "ragas")
    assert any(note.endswith("rouge(types=rougeL,stemmer=true) is closer to theirs") for note in found.notes)


def test_a_custom_metric(rows: list[dict[str, Any]], judge: rg.judges.Judge) -> None:
    """A metric that is in no catalogue is compared on a scale that spans the numbers."""

    @rg.check(scale=(1.0, 5.0))
    def stars(sample: rg.Sample) -> float:
        """Four for each."""
        return 4.0 if sample else 1.0

    run = rg.evaluate(rows, [stars], judge)
    found = rg.parity(run, [{**row, "rating": 2} for row in rows], "valor", columns={"rating": "stars"})
    assert (found.differences["stars"].a, found.differences["stars"].b) == (2.0, 4.0)


def test_groups_widen_the_interval(rows: list[dict[str, Any]], judge: rg.judges.Judge) -> None:
    """Groups of samples are resampled together."""
    scores = [{**row, "faithfulness": 0.5} for row in rows]
    grouped = [{**row, "group": str(n // 3)} for n, row in enumerate(rows)]
    found = rg.parity(rg.evaluate(grouped, "faithfulness", judge), scores, "ragas")
    assert found.differences["faithfulness"].method == "Gaffke over clusters"


def test_what_cannot_be_compared(run: rg.Run, rows: list[dict[str, Any]]) -> None:
    """A run without the counterpart is an error that says what to measure."""
    with pytest.raises(UsageError, match="has no counterpart of what list of 1 row holds; measure bias"):
        rg.parity(run, [{**rows[0], "Bias": 0}], "valor")


def test_files(run: rg.Run, rows: list[dict[str, Any]], tmp_path: Path) -> None:
    """It is saved as any comparison, with the columns that were not compared."""
    found = rg.parity(run, [{**row, "faithfulness": 0.0, "a|b": 1} for row in rows], "ragas")
    document = json.loads(found.save(tmp_path / "out.json").read_text(encoding="utf-8"))
    assert (document["schema"], document["a"]["name"]) == ("ragauge.compare/1", "ragas: list of 12 rows")
    assert document["left_out"] == {"a|b": "no known counterpart among ours"}
    assert "# Comparison" in found.save(tmp_path / "out.md").read_text(encoding="utf-8")
