"""Dataworkz' own results: its file of a hundred rows comes out again, from a benchmark and responses made of it."""

from __future__ import annotations

import csv
import json
from ast import literal_eval
from pathlib import Path
from random import Random
from typing import Any

import pytest

import ragauge as rg
from ragauge.compat.dataworkz import COLUMNS, Evaluation, evaluate, scores_of_counts

pytestmark = pytest.mark.shared

Rows = list[dict[str, str]]

COUNTS = ("Golden Response Claim Count", "Candidate Response Claim Count", "Common Claim Count")
LLM = ("LLM Recall", "LLM Precision", "LLM F1")
WORDING = {"Bleu Score": "bleu_method1", "Rouge-1": "rouge1_f", "Rouge-L": "rougeL_f"}

#: What stands below the links in a response file.
TAIL = "links : [a.pdf, b.pdf]\nsystemId : 7\nqueryPlan : {steps=[]}\nstatus : COMPLETED\nprobe : none\n"


@pytest.fixture
def results(shared: Path) -> Rows:
    """The result file, by number."""
    with (shared / "data" / "dataworkz" / "apple10k_evaluation_result.csv").open(encoding="utf-8", newline="") as file:
        return sorted(csv.DictReader(file), key=lambda row: int(row["SNo."]))


@pytest.fixture
def vectors(shared: Path) -> list[dict[str, Any]]:
    """The golden vectors of Dataworkz."""
    rows = json.loads((shared / "vectors" / "valor_ragevals_dataworkz.json").read_text("utf-8"))
    return [row for row in rows if row["system"] == "dataworkz-eval"]


def _recorded(results: Rows) -> rg.judges.Judge:
    """A judge that finds the claims of the file, as many in common as the file says, none of them in the question."""
    claims: dict[tuple[str, str], list[str]] = {}
    common: set[tuple[str, str]] = set()
    for row in results:
        for side in ("Golden Response", "Candidate Response"):
            claims[row["Question"], row[side]] = list(literal_eval(row[f"{side} Claims"]).values())
        found = claims[row["Question"], row["Golden Response"]][: _counts(row)[2]]
        common |= {(row["Candidate Response"], claim) for claim in found}
    return rg.judge_from(
        decompose=lambda text, query: claims[query, text],
        entail=lambda premise, hypothesis: "entailed" if (premise, hypothesis) in common else "neutral",
        name="recorded",
    )


def _counts(row: dict[str, str]) -> tuple[int, int, int]:
    golden, candidate, common = (int(float(row[column])) for column in COUNTS)
    return golden, candidate, common


@pytest.fixture
def evaluation(results: Rows, tmp_path: Path) -> Evaluation:
    """The file's questions evaluated anew, responses in another order than the benchmark."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["Query", "Golden Response", "Golden Context"])
    for row in results:
        book.active.append([row[name] for name in ("Question", "Golden Response", "Golden Context")])
    book.save(tmp_path / "benchmark.xlsx")
    shuffled = Random(7).sample(results, len(results))
    blocks = [f"question : {row['Question']}\nanswer : \n\n{row['Candidate Response']}\n\n{TAIL}" for row in shuffled]
    (tmp_path / "responses.txt").write_text("".join(blocks), encoding="utf-8")
    files = [tmp_path / name for name in ("benchmark.xlsx", "responses.txt")]
    return evaluate(*files, judge=_recorded(results), extras=False)


def test_scores_of_the_counts_of_all_rows(results: Rows) -> None:
    """Recall, precision and F1 recomputed from the claim counts agree with all hundred rows."""
    for row in results:
        assert scores_of_counts(*_counts(row))[:3] == pytest.approx([float(row[name]) for name in LLM], abs=5.1e-5)


def test_the_result_file_comes_out_again(results: Rows, evaluation: Evaluation) -> None:
    """Texts, claims and counts are the same, scores to the four digits that are shown."""
    assert list(results[0]) == list(COLUMNS[:-1])
    assert evaluation.report.keys() == {
        "with a reference that is a bare number or date, as spreadsheets make of $411 or May 24"
    }
    for theirs, ours in zip(results, evaluation.rows, strict=True):
        same = ("SNo.", "Question", "Golden Context", "Golden Response", "Candidate Response")
        assert [ours[column] for column in same] == [theirs[column] for column in same]
        assert [ours[column] for column in COUNTS] == list(_counts(theirs))
        for side in ("Golden Response Claims", "Candidate Response Claims"):
            assert ours[side] == literal_eval(theirs[side])
        assert len(ours["Common Claims"]) == _counts(theirs)[2]
        scores = (*WORDING, *LLM)
        assert [ours[name] for name in scores] == pytest.approx([float(theirs[name]) for name in scores], abs=5.1e-5)


def test_rows_of_the_vectors(evaluation: Evaluation, vectors: list[dict[str, Any]]) -> None:
    """Unrounded, the scores of each row are those of the original's formulas and libraries."""
    names = dict(zip(LLM, ("llm_recall", "llm_precision", "llm_f1"), strict=True)) | WORDING
    rows = [row for row in vectors if row["metric"] == "row"]
    assert len(rows) > 50
    for row in rows:
        ours = evaluation.rows[row["inputs"]["sno"] - 1]
        for column, name in names.items():
            assert ours[column] == pytest.approx(row["expected"][name], rel=1e-9, abs=1e-12), (ours["SNo."], column)


def test_means_of_the_vectors(evaluation: Evaluation, vectors: list[dict[str, Any]]) -> None:
    """The means of the columns, and recall and precision over all claims, are those of the file."""
    expected = {row["metric"]: row["expected"] for row in vectors}
    for column in (*WORDING, *LLM):
        mean, n = evaluation.means[column]
        assert mean == pytest.approx(expected["column means"][column], abs=5e-6)
        assert n == 100
    together = expected["micro-average"]
    assert evaluation.micro[:2] == (together["recall"], together["precision"])


def test_counts_of_the_vectors(vectors: list[dict[str, Any]]) -> None:
    """Loose counts give the original's scores, an error where it had a recall above 1, a reason where it crashed."""
    for row in vectors:
        if row["metric"] != "claim P/R/F1":
            continue
        counts = [row["inputs"][f"{side}_count"] for side in ("golden", "candidate", "common")]
        expected = row["expected"]
        if expected.get("recall", 0) > 1:
            with pytest.raises(rg.errors.BadParameter, match="count again"):
                scores_of_counts(*counts)
        elif "raises" in expected:
            assert scores_of_counts(*counts).undefined
        else:
            got = scores_of_counts(*counts)
            assert got[:3] == pytest.approx([expected[name] for name in ("recall", "precision", "f1")])
            assert got.candidate == expected.get("candidate_count_used", counts[1])


def test_the_written_file_reads_as_theirs(evaluation: Evaluation, tmp_path: Path) -> None:
    """What reads their file reads ours: the same columns first, claims as literals, counts as numbers."""
    evaluation.save(tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file))
    assert len(written) == 100
    for row in written:
        assert [len(literal_eval(row[name])) for name in ("Golden Response Claims", "Common Claims")] == [
            int(row["Golden Response Claim Count"]),
            int(row["Common Claim Count"]),
        ]


@pytest.mark.slow
def test_the_figures_on_the_page(results: Rows) -> None:
    """The means of the default judge on their hundred answers are those that the page gives."""
    golden = [{"query": row["Question"], "reference": row["Golden Response"]} for row in results]
    said = [{"query": row["Question"], "response": row["Candidate Response"]} for row in results]
    done = evaluate(golden, said, extras=False)
    figures = [done.means[column][0] for column in ("LLM Recall", "LLM Precision", "LLM F1")] + [done.micro.precision]
    page = " ".join((Path(__file__).parents[2] / "docs/migrating/dataworkz.md").read_text("utf-8").split())
    texts = [f"{figure:.3f}".lstrip("0") for figure in figures if figure is not None]
    form = "recall {} (theirs .825), precision {} (.735), F1 {} (.749), and over all claims precision {} (.648)"
    assert form.format(*texts) in page
