"""Text of the data is never a command to a terminal or a CI runner that prints it."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import Result

import ragauge as rg

Call = Callable[..., Result]

#: Escapes of a terminal, changes of reading direction, ends of lines, and commands of CI runners.
EVIL = (
    "x\x1b]0;owned\x07\x1b[2J\x9b31m\u202elive\u2066"
    "\r\n::error file=a::boo\n##[error]boo\x85##vso[task.x]\u2028::warning::y"
)
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def harmless(printed: str) -> bool:
    """Whether these lines contain no command."""
    commands = [line for line in printed.splitlines() if line.lstrip().startswith(("::error", "::warning"))]
    return not (STEERING.search(printed) or commands or re.search(r"##\w*\[", printed))


@pytest.fixture
def store(call: Call, folder: Path) -> Path:
    """A store with two runs of rows in which every text, id and name is hostile, the rows as evil.jsonl."""
    rows: list[dict[str, Any]] = [
        {
            "id": f"{n}{EVIL}",
            "query": f"who wrote {n}? {EVIL}",
            "response": f"Ada wrote {n}. {EVIL}" if n % 2 else f"::error::Bob sang all night {n}",
            "contexts": [{"id": f"c{n}{EVIL}", "text": f"Ada wrote {n}. {EVIL}"}],
            "references": [f"Ada wrote {n}. {EVIL}"],
            "faithfulness": 0.1 * n,
        }
        for n in range(1, 7)
    ]
    (folder / "evil.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    metrics = ("-m", "faithfulness,hallucination,answer_correctness,token_f1", "-j", "lexical")
    assert call("run", "evil.jsonl", *metrics, "--name", f"one{EVIL}", "--show", 0).exit_code == 0
    for row in rows:
        row["response"] = f"Bob wrote it. {EVIL}"
    (folder / "worse.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert call("run", "worse.jsonl", *metrics, "--name", f"two{EVIL}", "--show", 0).exit_code == 0
    return folder / ".ragauge"


COMMANDS = {
    "run": ["run", "evil.jsonl", "-m", "faithfulness", "-j", "lexical", "--show", "9", "--name", EVIL],
    "gates": ["run", "evil.jsonl", "-m", "faithfulness", "-j", "lexical", "--fail-under", "faithfulness=1"],
    "report": ["report", "--show", "9"],
    "list": ["report", "--list"],
    "unknown run": ["report", EVIL],
    "compare": ["compare", f"one{EVIL}", f"two{EVIL}", "--show", "9"],
    "plan": ["plan", "evil.jsonl", "-j", "lexical"],
    "parity": ["parity", "evil.jsonl", "--against", "ragas", "-j", "lexical", "--show", "9"],
    "column": ["run", "evil.jsonl", "--map", f"query={EVIL}"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_prints_commands(call: Call, store: Path, name: str) -> None:
    """Ids, queries, chunk ids, run names and quotes in errors stay on their lines without effect."""
    result = call(*COMMANDS[name], input="?\n\n\n\n")
    assert result.stdout + result.stderr
    assert harmless(result.stdout + result.stderr)


def test_errors_quote_files_safely(call: Call, folder: Path) -> None:
    """Error messages that quote a column, a cell or an id of a file are one harmless line."""
    (folder / "columns.csv").write_text(f'"{EVIL}"\n1\n', encoding="utf-8", newline="")
    (folder / "ids.jsonl").write_text(f"{json.dumps({'id': EVIL, 'response': 'a'})}\n" * 2, encoding="utf-8")
    (folder / "scores.jsonl").write_text(json.dumps({"response": "a", "contexts": {EVIL: 1}}), encoding="utf-8")
    for name in ("columns.csv", "ids.jsonl", "scores.jsonl"):
        result = call("run", name, "-m", "token_f1,faithfulness", "-j", "lexical")
        assert result.exit_code == 2
        assert harmless(result.stderr)
        assert len(result.stderr.splitlines()) == 1


def test_texts_in_python_are_harmless(call: Call, store: Path) -> None:
    """So are `print` of a run, a comparison, a plan, a parity, and scores in words."""
    one, two = (rg.Run.open(store, f"{name}{EVIL}") for name in ("one", "two"))
    compared = rg.compare(one, two, show=3)
    texts = [str(one), str(compared), str(rg.plan("evil.jsonl", judge="lexical"))]
    texts += [str(rg.parity(one, "evil.jsonl", "ragas"))]
    texts += [scores.explain("faithfulness") for scores in one.scores]
    assert [text for text in texts if not harmless(text.replace("::error::Bob", ""))] == []


@pytest.mark.parametrize("ending", [".md", ".xml", ".compare.md", ".parity.md"])
def test_files_for_a_job_summary_are_harmless(call: Call, store: Path, folder: Path, ending: str) -> None:
    """Markdown and JUnit of a run, and Markdown of comparisons, can be printed in a CI job."""
    path = folder / f"out{ending}"
    one, two = (rg.Run.open(store, f"{name}{EVIL}") for name in ("one", "two"))
    one.hold_to({"faithfulness": 1.0})
    if ending == ".compare.md":
        rg.compare(one, two, show=3).save(path)
    elif ending == ".parity.md":
        rg.parity(one, "evil.jsonl", "ragas", show=9).save(path)
    else:
        one.save(path)
    text = path.read_text(encoding="utf-8")
    assert harmless(text)
    assert ending in (".compare.md", ".parity.md") or "faithfulness is " in text


def test_a_run_name_is_no_markdown(tmp_path: Path) -> None:
    """A name in the heading and the first line loads no image, makes no link, and mentions nobody."""
    name = "![a](https://x/y.png) @team <img src=x> [b](https://z)"
    run = rg.evaluate([{"response": "a", "reference": "a"}], "token_f1", name=name)
    heading = run.save(tmp_path / "out.md").read_text(encoding="utf-8")
    assert heading.startswith("# !\\[a\\](https://x/y.png) @<!-- -->team &lt;img src=x> [b\\](https://z)\n")
    assert not re.search(r"!\[|\w\]\(|@team|<img", heading)


def test_names_and_messages_of_sarif_are_harmless(call: Call, store: Path, folder: Path) -> None:
    """A viewer of SARIF shows the run, the message, and the name of the sample."""
    log = json.loads(rg.Run.open(store, f"one{EVIL}").save(folder / "out.sarif").read_text(encoding="utf-8"))["runs"][0]
    shown = [log["automationDetails"]["id"], log["automationDetails"]["description"]["text"]]
    for result in log["results"]:
        names = result["locations"][0]["logicalLocations"][0]
        shown += [result["message"]["text"], names["name"], names["fullyQualifiedName"]]
    assert len(shown) > 5
    assert not [text for text in shown if STEERING.search(text) or "\n" in text]


def test_junit_is_valid(call: Call, store: Path, folder: Path) -> None:
    """However hostile the data, the file is XML, and the name of the suite is one line."""
    root = ElementTree.parse(rg.Run.open(store, f"one{EVIL}").save(folder / "out.xml")).getroot()
    assert "\n" not in root.get("name", "\n")


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("http://x","y")']


@pytest.mark.parametrize("name", ["out.csv", "out.claims.csv"])
def test_no_text_in_csv_is_a_formula(call: Call, folder: Path, name: str) -> None:
    """A text that a spreadsheet would evaluate gets an apostrophe, numbers do not; --raw-csv changes nothing."""
    named = dict.fromkeys(filter(str.isprintable, FORMULAS), "a column")
    rows = [{"id": text, "query": text, "response": f"{text} is b.", "contexts": ["no"], **named} for text in FORMULAS]
    (folder / "f.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")

    def cells(*options: str) -> list[list[str]]:
        assert call("run", "f.jsonl", "-m", "faithfulness", "-j", "lexical", "-o", name, *options).exit_code == 0
        with (folder / name).open(encoding="utf-8", newline="") as file:
            return list(csv.reader(file))

    def is_number(cell: str) -> bool:
        return bool(re.fullmatch(r"-?[\d.]+", cell))

    escaped, raw = cells(), cells("--raw-csv")
    ids = [row[0] for row in escaped[1:]]
    assert [id for id in ids if not id.startswith("'")] == []
    assert [cell for row in escaped for cell in row if cell[:1] in tuple("=+-@\t\r")] == []
    assert {row[0] for row in raw[1:]} == set(FORMULAS)
    for one, other in zip(escaped, raw, strict=True):
        assert [cell.removeprefix("'") for cell in one] == other
        assert [cell for cell in other if is_number(cell) and cell not in one and cell not in FORMULAS] == []


def test_a_run_saves_raw_csv(tmp_path: Path) -> None:
    """`run.save(path, raw_csv=True)` is --raw-csv."""
    run = rg.evaluate([{"response": "- a list", "reference": "- a list"}], "token_f1")
    assert ",'- a list,1.0," in run.save(tmp_path / "out.csv").read_text(encoding="utf-8")
    assert ",- a list,1.0," in run.save(tmp_path / "out.csv", raw_csv=True).read_text(encoding="utf-8")


def test_commands_print_through_one_place() -> None:
    """No module of the command line but `main` writes lines itself, but for JSON lines."""
    modules = (Path(rg.__file__).parent / "cli").glob("*.py")
    lines = [(path.name, line.strip()) for path in modules for line in path.read_text(encoding="utf-8").splitlines()]
    wrote = [(name, line) for name, line in lines if re.search(r"click\.s?echo\(|(?<![.\w])print\(", line)]
    assert {name for name, _ in wrote} == {"main.py", "live.py"}
    assert len([name for name, _ in wrote if name != "main.py"]) == 2
