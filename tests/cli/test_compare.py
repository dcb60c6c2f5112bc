from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import ragauge as rg
from ragauge.store import Store

Call = Callable[..., Result]

COUNT = 16


def _rows(right: Sequence[int], **fields: Any) -> list[dict[str, Any]]:
    """Rows of which those in `right` are answered as in the reference."""
    return [
        {
            "query": f"Who wrote book {n}?",
            "response": "Ada Bell." if n in right else "Nobody knows.",
            "contexts": [f"Ada Bell wrote book {n}."],
            "references": ["Ada Bell."],
            "house": f"house {n % 4}",
            **fields,
        }
        for n in range(COUNT)
    ]


@pytest.fixture
def runs(call: Call, folder: Path) -> Path:
    """The folder with a store of four runs: "bad" with few right answers, "good" and "best" with many, "few" rows."""
    _measure(call, folder, "bad", _rows(range(3)))
    _measure(call, folder, "good", _rows(range(12)))
    _measure(call, folder, "best", _rows(range(13)))
    _measure(call, folder, "few", _rows(range(4)), "--limit", "4")
    return folder


def _measure(call: Call, folder: Path, name: str, rows: Sequence[dict[str, Any]], *more: str) -> None:
    (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    metrics = ("-m", "exact_match,token_f1,rouge(types=rouge1+rougeL)")
    assert call("run", f"{name}.jsonl", *metrics, "--name", name, *more).exit_code == 0


def test_compare_prints_the_difference(call: Call, runs: Path) -> None:
    """`ragauge compare A B` names both runs and shows each metric with its difference, interval, p and verdict."""
    result = call("compare", "bad", "good")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("A: bad (")
    assert lines[1].startswith("B: good (")
    assert lines[2] == "16 samples in both, matched by id."
    (exact,) = [line.split() for line in lines if line.strip().startswith("exact_match ↑")]
    assert exact[2:5] == ["0.188", "0.750", "+0.562"]
    assert exact[-3:-1] == ["9/7/0", "better"]
    assert sum("sample 4: Who wrote book 3?" in line for line in lines) == 1
    assert any(line.startswith("exact_match 0.000 → 1.000, ") for line in lines)


def test_runs_are_named_in_any_way(call: Call, runs: Path) -> None:
    """A run is named by id, the beginning of one, name or "latest"."""
    bad, good = (rg.Run.open(runs / ".ragauge", name).id for name in ("bad", "good"))
    outputs = {call("compare", a, b).stdout for a, b in ((bad, good), ("bad", good), (bad[:-1], "good"))}
    assert len(outputs) == 1
    assert call("compare", "few", "latest").stdout.splitlines()[1].startswith("B: few (")


def test_nothing_is_judged(call: Call, runs: Path) -> None:
    """Comparing adds neither a run nor a judgment to the store."""
    before = len(Store.open(runs / ".ragauge").runs()), len(list(Store.open(runs / ".ragauge").judgments()))
    assert call("compare", "bad", "good").exit_code == 0
    after = len(Store.open(runs / ".ragauge").runs()), len(list(Store.open(runs / ".ragauge").judgments()))
    assert before == after


@pytest.mark.parametrize(
    ("a", "b", "gates", "code"),
    [
        ("good", "bad", ["exact_match"], 3),
        ("good", "bad", ["exact_match", "token_f1"], 3),
        ("bad", "good", ["exact_match"], 0),
        ("best", "good", ["exact_match"], 0),
        ("good", "good", ["exact_match"], 0),
        ("best", "few", ["exact_match", "rouge.rougeL"], 0),
        ("good", "bad", [], 0),
    ],
)
def test_the_gate(call: Call, runs: Path, a: str, b: str, gates: list[str], code: int) -> None:
    """--fail-if-worse ends with 3 if B is significantly worse, not if it is better, equal or a little worse."""
    options = [option for gate in gates for option in ("--fail-if-worse", gate)]
    result = call("compare", a, b, *options)
    assert result.exit_code == code
    outcome = "gate failed: {} is significantly worse (" if code else "gate holds: {} is not significantly worse ("
    assert len(result.stderr.splitlines()) == len(gates)
    assert all(map(str.startswith, result.stderr.splitlines(), map(outcome.format, gates)))
    assert "exact_match" in result.stdout


def test_outputs_are_written_although_the_gate_fails(call: Call, runs: Path) -> None:
    """-o writes JSON and Markdown even if the gate fails."""
    result = call("compare", "good", "bad", "--fail-if-worse", "exact_match", "-o", "out/x.json", "-o", "x.md")
    assert result.exit_code == 3
    assert "wrote out/x.json" in result.stdout
    document = json.loads((runs / "out/x.json").read_text(encoding="utf-8"))
    assert document["schema"] == "ragauge.compare/1"
    assert document["differences"]["exact_match"]["verdict"] == "worse"
    assert (runs / "x.md").read_text(encoding="utf-8").startswith("# Comparison\n")


def test_a_gate_shows_the_numbers_that_decide_it(call: Call, runs: Path) -> None:
    """The difference, interval and p of a gate, adjusted for gates alone, are printed and in both files."""
    gates = ("--fail-if-worse", "exact_match", "--fail-if-worse", "rouge(types=rouge1+rougeL).rougeL")
    result = call("compare", "best", "few", *gates, "-o", "x.json", "-o", "x.md")
    held = json.loads((runs / "x.json").read_text(encoding="utf-8"))["gates"]
    assert list(held) == ["exact_match", "rouge.rougeL"]
    for (key, gate), line in zip(held.items(), result.stderr.splitlines(), strict=True):
        assert gate["verdict"] == ""
        assert line.startswith(f"gate holds: {key} is not significantly worse ({gate['difference']:+.3f} [")
        assert f", p {gate['p_adjusted']:.3f} for 2 gates)" in line
        assert f"- ✅ {line.removeprefix('gate holds: ')}" in (runs / "x.md").read_text(encoding="utf-8")


def test_only_some_metrics(call: Call, runs: Path) -> None:
    """-m takes keys and names, also with commas in brackets, and p is adjusted for these alone."""
    result = call("compare", "bad", "good", "-m", "rouge,exact_match", "-o", "x.json")
    assert result.exit_code == 0
    document = json.loads((runs / "x.json").read_text(encoding="utf-8"))
    assert list(document["differences"]) == ["exact_match", "rouge.rouge1", "rouge.rougeL"]
    one = document["differences"]["exact_match"]
    assert one["p_adjusted"] == pytest.approx(3 * one["p"])


def test_variants_of_a_metric(call: Call, runs: Path) -> None:
    """Variants are compared under their full specs."""
    metrics = "rouge(types=rouge1),rouge(types=rouge1,stemmer=true)"
    for name in ("bad", "good"):
        assert call("run", f"{name}.jsonl", "-m", metrics, "--name", f"{name} twice").exit_code == 0
    result = call("compare", "bad twice", "good twice", "-m", "rouge(types=rouge1,stemmer=true).rouge1")
    assert result.exit_code == 0
    assert "adjusted for 1 test (Holm)" in result.stdout


@pytest.mark.parametrize("ending", ["jsonl", "csv", "json"])
def test_any_column_groups_samples(call: Call, folder: Path, ending: str) -> None:
    """--group takes any column besides the fields, from every format of data."""
    for name, right in (("a", range(3)), ("b", range(12))):
        rows = [{**row, "contexts": json.dumps(row["contexts"])} for row in _rows(right)]
        with (folder / f"{name}.{ending}").open("w", encoding="utf-8", newline="") as file:
            if ending == "csv":
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
            else:
                file.write("\n".join(map(json.dumps, rows)) if ending == "jsonl" else json.dumps(rows))
        assert call("run", f"{name}.{ending}", "-m", "exact_match", "--name", name).exit_code == 0
    grouped, alone = call("compare", "a", "b", "--group", "house"), call("compare", "a", "b")
    assert "16 samples in 4 groups in both" in grouped.stdout
    assert "16 samples in both" in alone.stdout
    assert "better" in alone.stdout
    assert "better" not in grouped.stdout


def test_runs_that_were_made_with_groups(call: Call, folder: Path) -> None:
    """Groups of the runs count without --group; naming their column is an error that says so."""
    for name, right in (("a", range(3)), ("b", range(12))):
        _measure(call, folder, name, _rows(right), "--group", "house")
    assert "16 samples in 4 groups in both" in call("compare", "a", "b").stdout
    again = call("compare", "a", "b", "--group", "house")
    assert again.exit_code == 2
    assert "known: none (without group, the groups of the runs count)" in again.stderr


def test_repeated_rows_are_no_evidence(call: Call, folder: Path) -> None:
    """A run says how many samples repeat earlier ones, and so does a comparison, unless groups are given."""
    for name, right in (("a", range(3)), ("b", range(12))):
        rows = [{"id": f"{copy}-{n}", **row} for copy in range(2) for n, row in enumerate(_rows(right))]
        _measure(call, folder, name, rows)
    said = "Samples that repeat the query, response and contexts of an earlier one: 16. They count as independent"
    assert said in " ".join(call("report", "a").stdout.split())
    alone, grouped = (
        " ".join(call("compare", "a", "b", *group).stdout.split()) for group in ((), ("--group", "house"))
    )
    said = "B: 16 of 32 samples repeat an earlier one. They count as independent"
    assert said in alone
    assert "repeat" not in grouped


def test_rows_in_another_order(call: Call, runs: Path) -> None:
    """Shuffled rows without ids match by their queries, and the comparison is the same."""
    _measure(call, runs, "turned", _rows(range(12))[::-1])
    result, straight = call("compare", "bad", "turned"), call("compare", "bad", "good")
    assert result.stdout.splitlines()[2] == "16 samples in both, matched by query."
    assert result.stdout.splitlines()[3:12] == straight.stdout.splitlines()[3:12]


def test_different_judges_have_a_warning(call: Call, folder: Path) -> None:
    """Runs of different judges are compared, with a warning above the table."""
    call("run", "data.jsonl", "-m", "context_relevance", "--name", "a")
    call("run", "data.jsonl", "-m", "context_relevance", "--name", "b", "-j", "recording:.ragauge")
    lines = call("compare", "a", "b").stdout.splitlines()
    assert lines[3].startswith("Different judges (relevant): embedded and recording. The difference may come from")


def test_show_limits_the_samples(call: Call, runs: Path) -> None:
    """--show N shows N samples of each metric shown, none for 0."""
    for count in (0, 1, 3):
        shown = call("compare", "bad", "good", "-m", "exact_match", "--show", count).stdout
        assert shown.count("exact_match 0.000 → 1.000, sample") == count


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bad"], "Missing argument 'B'"),
        (["bad", "god"], "unknown run 'god'; did you mean 'good'"),
        (["", "good"], "unknown run ''"),
        (["2", "good"], "is the beginning of"),
        (["bad", "good", "--store", "none"], "there is no store at none"),
        (["bad", "good", "-m", "exact"], "unknown metric of both runs 'exact'; did you mean 'exact_match'"),
        (["bad", "good", "-m", "bleu"], "unknown metric of both runs 'bleu'"),
        (["bad", "good", "--fail-if-worse", "bleu"], "unknown metric of this comparison 'bleu'"),
        (["bad", "good", "-m", "token_f1", "--fail-if-worse", "bleu"], "unknown metric of both runs 'bleu'"),
        (["bad", "good", "--group", "hous"], "unknown column 'hous'; did you mean 'house'"),
        (["bad", "good", "-o", "x.txt"], "cannot write 'x.txt': unknown ending; use one of .json .md .html"),
        (["bad", "good", "-o", "bad.jsonl/x.md"], "choose another place"),
        (["bad", "good", "--show", "-1"], "--show"),
        (["bad", "other"], "sample '1' asks “Who wrote book 0?” in the first and “Elsewhere?” in the second"),
    ],
)
def test_a_wrong_call_ends_with_2(call: Call, runs: Path, arguments: list[str], message: str) -> None:
    """An error is one line with the fix; nothing is printed or written."""
    _measure(call, runs, "other", _rows(range(3), query="Elsewhere?"))
    before = sorted(runs.iterdir())
    result = call("compare", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert result.stdout == ""
    assert sorted(runs.iterdir()) == before


def test_a_store_without_runs(call: Call, folder: Path) -> None:
    """A store without runs ends the command with 1 and says how to make one."""
    Store.open(folder / "empty").close()
    result = call("compare", "a", "b", "--store", "empty")
    assert result.exit_code == 1
    assert "it holds no runs yet" in result.stderr
