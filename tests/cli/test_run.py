from __future__ import annotations

import csv
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pandas
import pyarrow.parquet
import pytest
from click.testing import Result
from tests.interrupts import hear_ctrl_c
from tests.llm.stub.fixture import StubFactory

import ragauge as rg
from ragauge.store import Store

Call = Callable[..., Result]
Start = Callable[..., subprocess.Popen[str]]
Rows = list[dict[str, Any]]


def test_run_prints_the_estimates(call: Call, folder: Path) -> None:
    """`ragauge run` shows the headline, every estimate with its interval, and how to read the run again."""
    result = call("run", "data.jsonl", "-m", "faithfulness,rouge(types=rougeL)")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("data.jsonl: 6 samples, judge embedded, ")
    for expected in ("faithfulness ↑", "rouge.rougeL ↑", "95 % interval", "undefined", "failed"):
        assert expected in result.stdout
    run = rg.Run.open(folder / ".ragauge")
    assert f"run {run.id}; read it again with: ragauge report {run.id}" in result.stdout


def test_all_metrics_in_a_word(call: Call, folder: Path) -> None:
    """`-m all` is the same as leaving out -m."""
    assert call("run", "data.jsonl", "--store", "without").exit_code == 0
    assert call("run", "data.jsonl", "--store", "with", "-m", "all").exit_code == 0
    without, given = (rg.Run.open(folder / store) for store in ("without", "with"))
    assert list(given.estimates) == list(without.estimates) != []


def test_the_default_store_is_in_the_working_directory(call: Call, folder: Path) -> None:
    """Judgments and the run are kept in `.ragauge`, and a second run asks nothing."""
    call("run", "data.jsonl")
    again = call("run", "data.jsonl")
    assert sorted(path.name for path in folder.iterdir()) == [".ragauge", "data.jsonl"]
    assert "judgments (all from the store)" in again.stdout
    assert len(rg.Store.open(folder / ".ragauge").runs()) == 2


def test_another_store(call: Call, folder: Path) -> None:
    """--store names another folder or file."""
    call("run", "data.jsonl", "--store", "deep/er", "-m", "bleu")
    call("run", "data.jsonl", "--store", "team.db", "-m", "bleu")
    assert (folder / "deep/er/store.db").is_file()
    assert (folder / "team.db").is_file()
    assert not (folder / ".ragauge").exists()


def test_no_store_leaves_nothing(call: Call, folder: Path) -> None:
    """With --no-store no file is left, and the message names no run."""
    result = call("run", "data.jsonl", "--no-store")
    assert result.exit_code == 0
    assert [path.name for path in folder.iterdir()] == ["data.jsonl"]
    assert "read it again" not in result.stdout


def test_every_format_of_data(call: Call, start: Start, folder: Path, rows: Rows) -> None:
    """The same rows as JSON Lines, JSON, CSV, TSV and Parquet, and from standard input, give the same estimates."""
    frame = pandas.DataFrame([{**row, "contexts": json.dumps(row["contexts"])} for row in rows])
    (folder / "data.json").write_text(json.dumps(rows))
    frame.to_csv("data.csv", index=False)
    frame.to_csv("data.tsv", index=False, sep="\t")
    pandas.DataFrame(rows).to_parquet("data.parquet")
    for name in ("data.jsonl", "data.json", "data.csv", "data.tsv", "data.parquet"):
        assert call("run", name, "-m", "faithfulness,bleu", "--name", name).exit_code == 0
    with (folder / "data.jsonl").open() as data:
        piped = start("run", "-", "-m", "faithfulness,bleu", stdin=data)
        assert piped.communicate(timeout=60)[0].startswith("standard input: 6 samples")
    runs = rg.Store.open(folder / ".ragauge").runs()
    assert len(runs) == 6
    assert all(run.estimates == runs[0].estimates for run in runs)


@pytest.mark.parametrize("ending", [".json", ".jsonl", ".csv", ".parquet", ".md"])
def test_every_format_of_output(call: Call, folder: Path, ending: str) -> None:
    """-o writes the run in the format of its ending, with the values of the run, and prints so."""
    path = folder / f"out{ending}"
    result = call("run", "data.jsonl", "-m", "token_f1", "-o", path.name)
    assert result.exit_code == 0
    assert f"wrote out{ending}" in result.stdout
    values = rg.Run.open(folder / ".ragauge").values("token_f1")
    text = path.read_text(encoding="utf-8") if ending != ".parquet" else ""
    if ending == ".json":
        assert [one["scores"]["token_f1"]["value"] for one in json.loads(text)["samples"]] == values
    elif ending == ".jsonl":
        assert [json.loads(line)["scores"]["token_f1"]["value"] for line in text.splitlines()] == values
    elif ending == ".csv":
        assert [float(row["token_f1"]) for row in csv.DictReader(text.splitlines())] == values
    elif ending == ".parquet":
        assert pyarrow.parquet.read_table(path).column("token_f1").to_pylist() == values
    else:
        assert f"{sum(filter(None, values)) / len(values):.3f}" in text


def test_several_outputs_at_once(call: Call, folder: Path) -> None:
    """-o is repeatable, and creates missing folders."""
    assert call("run", "data.jsonl", "-m", "bleu", "-o", "new/a.json", "-o", "new/b.md").exit_code == 0
    assert sorted(path.name for path in (folder / "new").iterdir()) == ["a.json", "b.md"]


def test_an_unknown_ending_is_refused_before_judging(call: Call, folder: Path) -> None:
    """An ending that cannot be written ends the command before anything is asked or written."""
    for arguments in (["run", "data.jsonl"], ["demo"]):
        result = call(*arguments, "-o", "out.xlsx")
        assert result.exit_code == 2
        assert "unknown ending; use one of .json .jsonl .csv .parquet .md" in result.stderr
        assert [path.name for path in folder.iterdir()] == ["data.jsonl"]


def test_limit_and_map_and_group(call: Call, folder: Path, rows: Rows) -> None:
    """--limit, --map (also to keep a field empty) and --group work as in Python."""
    for row in rows:
        row["reply"] = row.pop("response")
        row["id"] = "same"
    (folder / "odd.json").write_text(json.dumps(rows))
    arguments = ["run", "odd.json", "-m", "token_f1", "--map", "response=reply", "--map", "id=", "--limit", "4"]
    assert call(*arguments, "--group", "house", "--by", "house").exit_code == 0
    run = rg.Run.open(folder / ".ragauge")
    assert [scores.sample.id for scores in run.scores] == ["1", "2", "3", "4"]
    assert [scores.sample.group for scores in run.scores] == ["house 1", "house 0", "house 1", "house 0"]
    assert "clusters" in run.estimates["token_f1"].method


def test_show_prints_the_worst_samples(call: Call, folder: Path, rows: Rows) -> None:
    """--show N prints the N worst samples with the verdict on each claim."""
    rows[3]["response"] = "Zoe Quill painted the bridge."
    (folder / "data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    result = call("run", "data.jsonl", "-m", "faithfulness", "--show", "1")
    assert "Worst by faithfulness:" in result.stdout
    assert "Zoe Quill painted the bridge." in result.stdout
    assert "faithfulness 0.000" in result.stdout
    assert "Who wrote book 1?" not in result.stdout
    assert call("report", "--show", "4").stdout.count("faithfulness 0.000") == 1
    assert "faithfulness 1.000" not in call("report", "--show", "4").stdout


def test_labels_take_precedence(call: Call, folder: Path) -> None:
    """--labels takes human labels from a file, which change the estimate."""
    run = call("run", "data.jsonl", "-m", "context_relevance", "-o", "before.json")
    assert run.exit_code == 0
    judgments = rg.Store.open(folder / ".ragauge").judgments()
    lines = [{"question": msgspec.to_builtins(one.question), "answer": "yes", "by": "ann"} for one in judgments]
    (folder / "labels.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert call("run", "data.jsonl", "-m", "context_relevance", "--labels", "labels.jsonl").exit_code == 0
    assert rg.Run.open(folder / ".ragauge").estimates["context_relevance"].value == 1.0


def test_a_recording_replays(call: Call, folder: Path) -> None:
    """-j recording:STORE answers from the store of another run; by kind it can be combined with another judge."""
    call("run", "data.jsonl", "-m", "faithfulness", "--store", "first")
    replayed = call("run", "data.jsonl", "-m", "faithfulness", "--store", "second", "-j", "recording:first")
    mixed = call("run", "data.jsonl", "-m", "faithfulness", "--store", "third", "-j", "entail=recording:first")
    assert (replayed.exit_code, mixed.exit_code) == (0, 0)
    assert "judge recording" in replayed.stdout
    estimates = [rg.Run.open(folder / name).estimates for name in ("first", "second", "third")]
    assert estimates[0] == estimates[1] == estimates[2]


def test_unicode(call: Call, folder: Path) -> None:
    """Texts in any script are judged and written unchanged; a report makes marks of direction visible."""
    text = "Ödön 漢字 مرحبا 😀 \u202eabc\u202c e\u0301."
    row = {"query": text, "response": text, "contexts": [text], "references": [text]}
    rows = [row, {**row, "contexts": ["No."]}]
    (folder / "unicode.json").write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    result = call("run", "unicode.json", "-o", "out.json", "-o", "out.csv", "-o", "out.md", "--show", "1")
    assert result.exit_code == 0
    sample = json.loads((folder / "out.json").read_text(encoding="utf-8"))["samples"][0]
    assert sample["sample"]["response"] == text
    assert sample["scores"]["exact_match"]["value"] == 1.0
    assert text in (folder / "out.csv").read_text(encoding="utf-8")
    shown = text.replace("\u202e", "�").replace("\u202c", "�")
    assert shown in (folder / "out.md").read_text(encoding="utf-8")


def test_a_context_of_100_000_words(call: Call, folder: Path) -> None:
    """A context of 100,000 words is read completely: a claim supported by its last sentence is found."""
    filler = " ".join(f"The lamp of room {n % 977} is lit at dusk." for n in range(11_200))
    context = f"{filler} Ada Bell wrote the book in 1910."
    assert len(context.split()) > 100_000
    row = {"query": "Who wrote the book?", "response": "Ada Bell wrote the book in 1910.", "contexts": [context]}
    (folder / "long.json").write_text(json.dumps([row]))
    assert call("run", "long.json", "-m", "faithfulness").exit_code == 0
    assert rg.Run.open(folder / ".ragauge").estimates["faithfulness"].value == 1.0


def test_metrics_left_out_are_named(call: Call, folder: Path) -> None:
    """The default set leaves out metrics that the data lacks fields for, with the option that fixes it."""
    (folder / "few.jsonl").write_text(json.dumps({"query": "Who?", "response": "Ada Bell."}))
    result = call("run", "few.jsonl")
    assert result.exit_code == 0
    assert "Not measured: " in result.stdout
    assert "--map contexts=COLUMN" in " ".join(result.stdout.split())


def test_columns_of_other_names_are_said(call: Call, folder: Path) -> None:
    """A run says which column became which field where their names differ, and says nothing where they do not."""
    (folder / "own.csv").write_text("Question,Answer,References\nWho?,Ada.,Ada.\n", encoding="utf-8")
    arguments = ("run", "own.csv", "-m", "exact_match", "--no-store")
    assert "Read: query from 'Question', response from 'Answer'." in call(*arguments).stdout
    assert "Read:" not in call("run", "data.jsonl", "-m", "exact_match", "--no-store").stdout


def test_the_first_screen_says_what_matters(call: Call, folder: Path, rows: list[dict[str, Any]]) -> None:
    """Six metrics, the worst answers with their deciding claim, and what to do next; -m all shows every metric."""
    rows[0]["response"] = "A whale lives in the sea."
    (folder / "data.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    call("run", "data.jsonl", "--name", "first")
    result = call("run", "data.jsonl")
    shown = result.stdout
    table = shown.partition("Not shown")[0]
    assert [line.split()[0] for line in table.splitlines() if " ↑ " in line or " ↓ " in line] == [
        *("faithfulness", "contradicted_claims", "correctness", "answer_relevance"),
        *("context_precision", "context_recall"),
    ]
    assert re.search(r"\d+ claims in \d+ answers: \d+ supported by the contexts, \d+ contradicted, \d+ neither.", shown)
    assert "claims contexts contradict" in table
    assert re.search(r"Not shown: \d+ other metrics \(\d+ not measured\); -m all shows them.", shown)
    assert "Worst by faithfulness  Share of the response's claims that the contexts entail." in shown
    assert shown.count("A whale lives in the sea.") >= 2
    assert "Ada Bell wrote book" not in shown  # which is supported
    assert "The judge was unsure of " in shown
    assert "ragauge view " in shown
    assert "compare it with the run before: ragauge compare " in shown
    assert "token_f1" not in shown
    assert "token_f1" in call("report", "-m", "all").stdout
    assert "compare it with a later run: " in call("run", "data.jsonl", "-m", "bleu").stdout


def test_estimates_by_a_column(call: Call, folder: Path) -> None:
    """--by shows the slices, gates on a slice exit with 3 if it fails, and mistakes say how to fix them."""
    done = call("run", "data.jsonl", "-m", "rouge", "--by", "house", "--fail-under", "rouge.rougeL@house=house 1:0.99")
    assert done.exit_code == 3
    assert "By house" in done.stdout
    assert "gate failed: rouge.rougeL@house=house 1 is 0." in done.stderr
    assert "By house" in call("report", "--by", "house").stdout
    wrong = call("run", "data.jsonl", "-m", "rouge", "--by", "hose")
    assert (wrong.exit_code, "did you mean 'house'" in wrong.stderr) == (2, True)
    runs = len(Store.open(folder / ".ragauge").runs())
    value = call("run", "data.jsonl", "-m", "rouge", "--fail-under", "rouge.rougeL@house=hose 1:0.9")
    assert (value.exit_code, "did you mean 'house 1'" in value.stderr) == (2, True)
    assert len(Store.open(folder / ".ragauge").runs()) == runs
    form = call("run", "data.jsonl", "-m", "rouge", "--fail-under", "rouge.rougeL@house=one")
    assert (form.exit_code, "METRIC@COLUMN=VALUE:NUMBER" in form.stderr) == (2, True)


def test_a_report_shows_what_its_run_showed(call: Call, folder: Path) -> None:
    """`report` has the slices of `run --by`, and all metrics where its run had them by `-m all`."""
    call("run", "data.jsonl", "-m", "all", "--by", "house")
    shown = call("report").stdout
    assert "By house" in shown
    assert "token_f1" in shown


def test_responses_in_a_file_of_their_own_are_joined_to_a_benchmark(call: Call, folder: Path) -> None:
    """--benchmark joins DATA by question or id, keeps its name and columns, and says what has no counterpart."""
    (folder / "tests.jsonl").write_text(
        '{"question": "Who?", "reference": "Ada"}\n{"question": "When?", "reference": "1842"}\n'
    )
    (folder / "out.jsonl").write_text('{"asked": "who?", "said": "Ada", "ms": 7}\n')
    command = ["run", "out.jsonl", "--benchmark", "tests.jsonl", "-m", "exact_match"]
    result = call(*command, "--map", "query=asked", "--map", "response=said")
    assert result.exit_code == 0, result.output
    assert result.stderr == "out.jsonl: 1 without a response, left out, such as 'When?'\n"
    run = rg.Run.open(folder / ".ragauge")
    assert (run.record.data, run.estimates["exact_match"].value) == ("out.jsonl", 1)
    assert [record.sample.metadata for record in run.records()] == [{"ms": 7}]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
@pytest.mark.parametrize("is_slow", [False, True])
def test_after_ctrl_c_a_run_names_what_can_be_read(start: Start, stub_server: StubFactory, is_slow: bool) -> None:
    """An interrupted run names the report with its store, unless no sample is done."""
    server = stub_server(latency=30 if is_slow else 0.3)
    judge = f"openai/m?base_url={server.url}&concurrency=1"
    child = start("run", "data.jsonl", "-m", "faithfulness", "-j", judge, "--store", "my store", preexec_fn=hear_ctrl_c)
    while server.stats()["calls"] < (1 if is_slow else 6):
        assert child.poll() is None
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=60) == 130
    _, complaint = child.communicate()
    shown = "to resume, and `ragauge report --store 'my store'` shows the samples that are done." in complaint
    assert shown != is_slow
    assert "run the same command again to resume" in complaint
