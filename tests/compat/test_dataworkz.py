from __future__ import annotations

import asyncio
import csv
import sys
from ast import literal_eval
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragauge as rg
from ragauge.compat.dataworkz import (
    COLUMNS,
    SCORES,
    evaluate,
    evaluate_question,
    scores_of_counts,
)

QUESTIONS = ["When was the mill built?", "Who owns the mill?"]
GOLDEN = ["It was built in 1931. It has two wheels.", "Ada Bell owns it."]
ANSWERS = ["It was built in 1931. It is of oak. Nobody knows more.", "Bob owns it."]


def _pieces(text: str) -> list[str]:
    return [f"{piece}." for piece in text.rstrip(".").split(". ")] if text else []


JUDGE = rg.judge_from(
    decompose=_pieces,
    entail=lambda premise, hypothesis: "entailed" if hypothesis in premise else "neutral",
    name="sentences",
)


@pytest.fixture(autouse=True)
def _without_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """The libraries of the extras are not there, whether or not they are installed."""
    monkeypatch.setitem(sys.modules, "bert_score", None)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a benchmark and responses in another order."""
    monkeypatch.chdir(tmp_path)
    with Path("benchmark.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["Query", "Golden Response", "Golden Context", "Category"])
        table.writerows(zip(QUESTIONS, GOLDEN, ["The mill.", ""], ["a", "b"], strict=True))
    blocks = [
        f"question : {one}\nanswer : \n\n{two}\n\nlinks : [x]\n" for one, two in zip(QUESTIONS, ANSWERS, strict=True)
    ]
    Path("responses.txt").write_text("".join(reversed(blocks)), encoding="utf-8")
    return tmp_path


def _table(path: str | Path) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("counts", "scores"),
    [
        ((4, 3, 4), (1.0, 1.0, 1.0, 4)),
        ((4, 2, 1), (0.25, 0.5, 1 / 3, 2)),
        ((2, 0, 0), (0.0, 0.0, 0.0, 0)),
        ((2, 3, 0), (0.0, 0.0, 0.0, 3)),
        ((0, 3, 0), (None, None, None, 3)),
    ],
)
def test_scores_of_counts(counts: tuple[int, int, int], scores: tuple[float | None, ...]) -> None:
    """Precision is over no fewer claims than were found, 0 over none; without golden claims nothing is defined."""
    got = scores_of_counts(*counts)
    assert got[:4] == pytest.approx(scores)
    assert bool(got.undefined) is (counts[0] == 0)


@pytest.mark.parametrize("counts", [(2, 3, 4), (-1, 0, 0), (2, -3, 1)])
def test_counts_that_cannot_be_are_refused(counts: tuple[int, int, int]) -> None:
    """More common claims than golden ones, which gave Dataworkz a recall above 1, and negative numbers are errors."""
    with pytest.raises(rg.errors.BadParameter, match="count again"):
        scores_of_counts(*counts)


@given(st.integers(1, 30), st.integers(0, 30), st.data())
def test_scores_of_counts_stay_between_0_and_1(golden: int, candidate: int, data: st.DataObject) -> None:
    """All three lie in 0..1, F1 between the other two, and more common claims never lower any."""
    common = data.draw(st.integers(0, golden))
    recall, precision, f1, *_ = scores_of_counts(golden, candidate, common)
    assert recall is not None
    assert precision is not None
    assert f1 is not None
    assert 0 <= min(recall, precision) - 1e-12 <= f1 <= max(recall, precision) + 1e-12 or f1 == 0
    more = scores_of_counts(golden, candidate, min(common + 1, golden))
    assert (more.recall or 0) >= recall
    assert (more.f1 or 0) >= f1


def test_rows_without_one_golden_response_are_left_out(files: Path) -> None:
    """A row needs exactly one golden response; those of the others are named, and damaged ones are measured."""
    rows = [{"query": "q0", "reference": "411"}, {"query": "q1"}, {"query": "q2", "reference": ["a", "b"]}]
    done = evaluate(rows, [{"query": f"q{n}", "response": "a"} for n in range(3)], judge=JUDGE)
    assert [row["Question"] for row in done.rows] == ["q0"]
    assert done.report == {
        "with a reference that is a bare number or date, as spreadsheets make of $411 or May 24": ["q0"],
        "without one golden response, left out": ["q1", "q2"],
    }


def test_rows_hold_scores_counts_claims_and_reasons(files: Path) -> None:
    """A row has every column: shared wording, claims on both sides, those in common, their scores and verdicts."""
    done = evaluate("benchmark.csv", "responses.txt", judge=JUDGE)
    assert [list(row) for row in done.rows] == [list(COLUMNS)] * 2
    first = done.rows[0]
    assert {column: first[column] for column in COLUMNS if column not in SCORES} == {
        "SNo.": "1",
        "Question": QUESTIONS[0],
        "Golden Context": "The mill.",
        "Golden Response": GOLDEN[0],
        "Candidate Response": ANSWERS[0],
        "Comments/Actions": None,
        "Golden Response Claim Count": 2,
        "Candidate Response Claim Count": 3,
        "Common Claim Count": 1,
        "Golden Response Claims": {"1": "It was built in 1931.", "2": "It has two wheels."},
        "Candidate Response Claims": {"1": "It was built in 1931.", "2": "It is of oak.", "3": "Nobody knows more."},
        "Common Claims": {"1": "It was built in 1931."},
        "Explanation": "golden claim 1: entailed\ngolden claim 2: neutral",
    }
    assert (first["LLM Recall"], first["LLM Precision"], first["LLM F1"]) == (0.5, 1 / 3, 0.4)
    assert all(first[column] is None for column in SCORES if column.startswith(("Bert", "Similarity")))
    assert [row["Question"] for row in done.rows] == QUESTIONS


def test_the_file_holds_the_rows(files: Path) -> None:
    """Numbers are written in full, claims as Python literals, and what has no value as an empty cell, never as 0."""
    done = evaluate("benchmark.csv", "responses.txt", judge=JUDGE)
    done.save("out.csv")
    table = _table("out.csv")
    assert list(table[0]) == list(COLUMNS)
    assert float(table[0]["LLM Precision"]) == 1 / 3
    assert literal_eval(table[0]["Candidate Response Claims"]) == done.rows[0]["Candidate Response Claims"]
    assert (table[0]["Bert Recall"], table[0]["Similarity Score"], table[0]["Comments/Actions"]) == ("", "", "")


def test_means_and_all_claims_together(files: Path) -> None:
    """A mean is over the rows with a value, with their number; all claims together have scores of their own."""
    done = evaluate("benchmark.csv", "responses.txt", judge=JUDGE)
    assert done.means["LLM Recall"] == (0.25, 2)
    assert done.means["Bert Recall"] == (None, 0)
    assert done.micro == scores_of_counts(3, 4, 1)


def test_claims_that_the_question_implies_are_left_out() -> None:
    """On both sides; the row says which of the golden claims they are."""
    (row,) = evaluate_question("Ada came. When?", "Ada came. At six.", "Ada came. At six.", judge=JUDGE).rows
    assert row["Golden Response Claims"] == row["Candidate Response Claims"] == {"1": "At six."}
    assert "left out, since the question implies it: Ada came." in row["Explanation"]


def test_a_restatement_in_the_passive_has_the_claim() -> None:
    """The judge without a model finds the golden claim in a response that turns the sentence round."""
    turned = "The lighthouse was built by Ada Smith in 1902."
    (row,) = evaluate_question("Who built it?", "Ada Smith built the lighthouse in 1902.", turned, extras=False).rows
    assert (row["LLM Recall"], row["LLM Precision"], row["LLM F1"]) == (1.0, 1.0, 1.0)


def test_without_golden_claims_the_scores_are_undefined() -> None:
    """Where Dataworkz divides by zero the cells are empty, the counts stand, and the row says why."""
    done = evaluate_question("Ada came. Did she?", "Ada came.", "She did. At six.", judge=JUDGE, extras=False)
    (row,) = done.rows
    assert (row["LLM Recall"], row["LLM Precision"], row["LLM F1"]) == (None, None, None)
    assert (row["Golden Response Claim Count"], row["Candidate Response Claim Count"]) == (0, 2)
    assert row["Explanation"].startswith("undefined: the golden response makes no claim beyond the question")
    assert done.micro.f1 is None
    assert done.run.estimates["claim_f1"].undefined == 1


def test_an_empty_response_is_a_wrong_one() -> None:
    """It holds no golden claim, and that is a score of 0."""
    (row,) = evaluate_question("Who came?", "Ada came.", "", judge=JUDGE).rows
    assert (row["LLM Recall"], row["LLM Precision"], row["LLM F1"], row["Bleu Score"]) == (0.0, 0.0, 0.0, 0.0)


def test_a_reason_or_the_passage_is_the_explanation() -> None:
    """A judge that gives no reason is quoted with the passage of the response that decided."""
    (row,) = evaluate_question("Who came?", "Ada came at six.", "It was Ada who came at six.", extras=False).rows
    assert row["Explanation"] == "golden claim 1: entailed, “It was Ada who came at six.”"


def _failing(text: str) -> list[str]:
    if "1931" in text:
        raise RuntimeError("overloaded")
    return _pieces(text)


def test_a_row_that_fails_says_why_and_costs_no_other(files: Path) -> None:
    """Its claim cells are empty, with the reason; its wording and the other rows are measured."""
    judge = rg.judge_from(decompose=_failing, entail=lambda premise, hypothesis: hypothesis in premise)
    done = evaluate("benchmark.csv", "responses.txt", judge=judge)
    done.save("out.csv")
    broken, whole = _table("out.csv")
    assert broken["Explanation"].startswith("failed: ")
    assert "overloaded" in broken["Explanation"]
    assert (broken["LLM F1"], broken["Common Claim Count"], whole["LLM F1"]) == ("", "", "0.0")
    assert float(broken["Bleu Score"]) > 0
    assert done.means["LLM F1"] == (0.0, 1)


def test_a_second_evaluation_asks_nothing_again(files: Path) -> None:
    """With a store the judgments of the first are there, so that one that was killed goes on."""
    first = evaluate("benchmark.csv", "responses.txt", judge=JUDGE, store="kept")
    second = evaluate("benchmark.csv", "responses.txt", judge=JUDGE, store="kept")
    assert (first.run.record.asked > 0, second.run.record.asked) == (True, 0)
    assert second.rows == first.rows


def test_it_works_under_a_running_loop(files: Path) -> None:
    """In a notebook, where a loop runs already, a call is the same."""

    async def cell() -> float | None:
        return evaluate("benchmark.csv", "responses.txt", judge=JUDGE).micro.f1

    assert asyncio.run(cell()) == scores_of_counts(3, 4, 1).f1


def test_comments_of_people_are_kept(files: Path) -> None:
    """An evaluation file serves as a benchmark: its comments stay, its own responses give way."""
    evaluate("benchmark.csv", "responses.txt", judge=JUDGE).save("out.csv")
    rows = _table("out.csv")
    rows[0]["Comments/Actions"] = "the golden answer is thin"
    with Path("again.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    done = evaluate("again.csv", [{"question": QUESTIONS[0], "answer": "It has two wheels."}], judge=JUDGE)
    assert [(row["Comments/Actions"], row["LLM Recall"]) for row in done.rows] == [("the golden answer is thin", 0.5)]


def test_wrong_files_are_refused_before_anything_is_asked(files: Path) -> None:
    """Files that do not belong together, and a blank golden response."""
    asked: list[str] = []

    def decompose(text: str) -> list[str]:
        asked.append(text)
        return []

    judge = rg.judge_from(decompose=decompose, entail=lambda premise, hypothesis: True)
    with pytest.raises(rg.errors.BadData, match="no row has a golden response and a response"):
        evaluate("benchmark.csv", [{"question": "Something else?", "answer": "Yes."}], judge=judge)
    with pytest.raises(rg.errors.BadData, match=r"response: without one golden response, left out; read: \{'query'"):
        evaluate_question("Who came?", " ", "Ada.", judge=judge)
    assert asked == []


def test_columns_of_other_names_and_bad_rows(files: Path) -> None:
    """Columns are named as for any data, with `rg.read`; rows that cannot be read can be left out, and are named."""
    rows: list[dict[str, object]] = [
        {"asked": QUESTIONS[0], "right": GOLDEN[0]},
        {"asked": QUESTIONS[1], "right": True},
    ]
    names = {"query": "asked", "references": "right"}
    with pytest.raises(rg.errors.BadRow, match="row 2"):
        evaluate(rg.read(rows, map=names), "responses.txt", judge=JUDGE)
    done = evaluate(rg.read(rows, map=names, skip_bad_rows=True), "responses.txt", judge=JUDGE)
    assert len(done.rows) == 1
    assert "row 2" in done.report["in rows that cannot be read, left out"][0]


def test_a_file_that_cannot_be_written_after_all(files: Path) -> None:
    """What the system says is passed on as an error of use."""
    done = evaluate("benchmark.csv", "responses.txt", judge=JUDGE)
    with pytest.raises(rg.errors.UsageError, match=r"cannot write responses\.txt.out\.csv: "):
        done.save(Path("responses.txt") / "out.csv")


def test_what_the_extras_lack_is_reported_once(files: Path) -> None:
    """Without the libraries their columns are empty, and a line for each says what to install; unless not wanted."""
    done = evaluate("benchmark.csv", "responses.txt", judge=JUDGE)
    assert [line.rpartition(": ")[2] for line in done.missing] == [
        "pip install 'ragauge[bertscore]'",
        "pip install 'ragauge[similarity]'",
    ]
    assert evaluate("benchmark.csv", "responses.txt", judge=JUDGE, extras=False).missing == []


Encoding = Callable[..., Any]


def test_the_extras_fill_their_columns(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """BERTScore is asked once for all rows as Dataworkz asks it; an empty response has none, and one may fail alone."""
    asked: list[Any] = []

    class BERTScorer:
        def __init__(self, **options: Any) -> None:
            asked.append(options)

        def score(self, *texts: list[str]) -> tuple[list[float], ...]:
            asked.append(texts)
            return ([0.5], [-0.25], [0.125])

    monkeypatch.setitem(sys.modules, "bert_score", SimpleNamespace(BERTScorer=BERTScorer))
    answers = [{"question": QUESTIONS[0], "answer": ANSWERS[0]}, {"question": QUESTIONS[1], "answer": ""}]
    done = evaluate("benchmark.csv", answers, judge=JUDGE)
    assert asked == [{"lang": "en", "rescale_with_baseline": True}, ([ANSWERS[0]], [GOLDEN[0]])]
    columns = ("Bert Precision", "Bert Recall", "Bert Score F1", "Similarity Score")
    assert [done.rows[0][column] for column in columns] == [0.5, -0.25, 0.125, None]
    assert [done.rows[1][column] for column in columns] == [None] * 4
    assert [line.partition(":")[0] for line in done.missing] == ["Similarity Score"]
