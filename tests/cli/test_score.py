"""`ragauge score`: lines in, lines out."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from tests.interrupts import hear_ctrl_c

Start = Callable[..., subprocess.Popen[str]]
Call = Callable[..., Result]


def lines(rows: list[dict[str, Any]]) -> str:
    """Rows as JSON Lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def parsed(output: str) -> list[dict[str, Any]]:
    """The objects of JSON Lines."""
    return [json.loads(line) for line in output.splitlines()]


def test_a_line_comes_out_for_each_that_goes_in(call: Call, rows: list[dict[str, Any]]) -> None:
    """Each line in gives one line out, in order, that is the line of a run's .jsonl under its number."""
    result = call("score", "-", "-m", "faithfulness,bleu", input=lines(rows))
    call("run", "data.jsonl", "-m", "faithfulness,bleu", "-o", "run.jsonl")
    of_a_run = [json.loads(line) for line in Path("run.jsonl").read_text(encoding="utf-8").splitlines()]
    assert parsed(result.stdout) == [{"line": n, **one} for n, one in enumerate(of_a_run, start=1)]
    assert result.stderr.splitlines() == ["6 lines, 0 without scores"]
    assert result.exit_code == 0


BAD = {
    "not JSON": "line 2 is not JSON: Expecting value at column 1; fix or remove the line",
    "5": "line 2 is a number, not an object; write one object a line",
    '{"a": 1}': "no column of a known name; found: 'a'",
    '{"query": "?"}': "no sample has 'contexts' (the retrieved chunks) and 'response'; name the column with --map",
    '{"query": "?", "response": "x", "contexts": {"a": [1]}}': "column 'contexts'",
    '{"query": "?", "response": "x", "conversation": []': "line 2 is not JSON",
}


@pytest.mark.parametrize("line", BAD)
def test_a_bad_line_does_not_end_the_stream(call: Call, rows: list[dict[str, Any]], line: str) -> None:
    """A bad line gives its number and an error that says what is wrong and how to fix it; the lines after it go on."""
    result = call("score", "-", "-m", "faithfulness", input=lines(rows[:1]) + line + "\n" + lines(rows[1:2]))
    first, bad, last = parsed(result.stdout)
    assert (bad["line"], set(bad)) == (2, {"line", "error"})
    assert BAD[line] in bad["error"]
    assert (first["line"], last["line"], last["scores"]["faithfulness"]["value"]) == (1, 3, 1.0)
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (0, "3 lines, 1 without scores")


def test_bytes_that_are_no_text(start: Start, folder: Path, rows: list[dict[str, Any]]) -> None:
    """Lines that are not UTF-8, blank, or end without a line break are handled one by one."""
    row = json.dumps(rows[0]).encode()
    (folder / "in").write_bytes(b"\xef\xbb\xbf" + row + b"\r\n\xff\n\n" + row)
    with (folder / "in").open() as source:
        output, _ = start("score", "-", "-m", "rouge", stdin=source).communicate(timeout=120)
    first, not_text, last = parsed(output)
    assert "scores" in first
    assert (not_text["line"], last["line"]) == (2, 4)
    assert "not UTF-8: byte 0xff at offset 0; write the line as UTF-8" in not_text["error"]
    assert "scores" in last


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give - for standard input, or --watch FOLDER"),
        (["-", "--watch", "."], "give - for standard input, or --watch FOLDER"),
        (["data.jsonl"], "measure a file with `ragauge run`, or feed it: ragauge score - < FILE"),
        (["--watch", "data.jsonl"], "Directory 'data.jsonl' is a file"),
        (["-", "-m", "faithfulnes"], "did you mean 'faithfulness'"),
        (["-", "--map", "respons=x"], "did you mean 'response'"),
        (["-", "-j", "embeded"], "did you mean 'embedded'"),
    ],
)
def test_a_wrong_call_is_told_before_a_line_is_read(call: Call, arguments: list[str], message: str) -> None:
    """A wrong call exits with 2 and says what is wrong and how to fix it."""
    result = call("score", *arguments, input="{}\n")
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_exit_codes_of_an_empty_and_of_a_useless_stream(call: Call) -> None:
    """No line at all is fine; lines of which none could be scored exit with 1."""
    assert call("score", "-", input="").exit_code == 0
    result = call("score", "-", input="{}\n")
    assert result.exit_code == 1
    assert "no line could be scored" in result.stderr


def test_metrics_that_a_line_lacks_the_fields_for_are_named(call: Call, rows: list[dict[str, Any]]) -> None:
    """A metric asked for by name that cannot be measured on a line is under "left_out" with the reason."""
    del rows[0]["references"]
    first, second = parsed(call("score", "-", "-m", "faithfulness,bleu", input=lines(rows[:2])).stdout)
    assert list(first["scores"]) == ["faithfulness"]
    assert "'references'" in first["left_out"]["bleu"]
    assert "left_out" not in second


def test_a_missing_key_ends_the_stream(call: Call, rows: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the key of its judge a stream ends with 2, and says how to give it."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    result = call("score", "-", "-j", "openai/gpt-4o-mini", "-m", "faithfulness", input=lines(rows))
    assert result.exit_code == 2
    assert "OPENAI_API_KEY" in result.stderr


@pytest.mark.slow
def test_each_line_is_answered_at_once(start: Start, rows: list[dict[str, Any]]) -> None:
    """The scores of a line are written while the input stays open, as behind `tail -f`."""
    with start("score", "-", "-m", "faithfulness", "--no-store", stdin=subprocess.PIPE) as child:
        assert child.stdin
        assert child.stdout
        for number, row in enumerate(rows[:3], start=1):
            child.stdin.write(lines([row]))
            child.stdin.flush()
            assert json.loads(child.stdout.readline())["line"] == number
        child.stdin.close()
        assert child.wait(timeout=60) == 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_with_what_is_done_written(
    start: Start, rows: list[dict[str, Any]], number: signal.Signals, code: int
) -> None:
    """Ctrl-C and SIGTERM end a stream that waits for input with their exit codes; what was scored is written."""
    child = start("score", "-", "-m", "faithfulness", stdin=subprocess.PIPE, preexec_fn=hear_ctrl_c)
    assert child.stdin
    assert child.stdout
    child.stdin.write(lines(rows[:2]))
    child.stdin.flush()
    written = [child.stdout.readline(), child.stdout.readline()]
    child.send_signal(number)
    assert child.wait(timeout=60) == code
    complaint = child.stderr.read() if child.stderr else ""
    child.communicate()
    assert [json.loads(line)["line"] for line in written] == [1, 2]
    assert "Stopped. Every judgment made so far is kept in .ragauge" in complaint
    assert "Traceback" not in complaint


def test_a_reader_that_leaves_early_is_no_error(start: Start, folder: Path, rows: list[dict[str, Any]]) -> None:
    """When the pipe of the output is closed (`| head -1`) the stream ends quietly, with 0."""
    (folder / "many.jsonl").write_text(lines(rows * 20), encoding="utf-8")
    with (folder / "many.jsonl").open() as source, start("score", "-", "-m", "bleu", stdin=source) as child:
        assert child.stdout
        assert child.stderr
        child.stdout.readline()
        child.stdout.close()
        complaint = child.stderr.read()
    assert (child.returncode, complaint) == (0, "")


def test_a_folder_is_watched(start: Start, folder: Path, rows: list[dict[str, Any]]) -> None:
    """--watch scores what files in a folder hold, what is added to them, new files, and files that are replaced."""
    logs = folder / "logs"
    logs.mkdir()
    (logs / "a.jsonl").write_text(lines(rows[:1]), encoding="utf-8")
    (logs / "notes.txt").write_text("not read", encoding="utf-8")
    child = start("score", "--watch", "logs", "-m", "faithfulness", preexec_fn=hear_ctrl_c)
    assert child.stdout

    def next_line() -> tuple[str, int, bool]:
        assert child.stdout
        found = json.loads(child.stdout.readline())
        return found["file"], found["line"], "scores" in found

    assert next_line() == ("a.jsonl", 1, True)
    with (logs / "a.jsonl").open("a", encoding="utf-8") as file:
        file.write(lines(rows[1:2]) + '{"quer')
    assert next_line() == ("a.jsonl", 2, True)
    with (logs / "a.jsonl").open("a", encoding="utf-8") as file:
        file.write('y": "?"}\n')
    assert next_line() == ("a.jsonl", 3, False)
    (logs / "b.ndjson").write_text(lines(rows[2:4]), encoding="utf-8")
    assert [next_line(), next_line()] == [("b.ndjson", 1, True), ("b.ndjson", 2, True)]
    (logs / "b.ndjson").write_text(lines(rows[4:5]), encoding="utf-8")
    assert next_line() == ("b.ndjson", 1, True)
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=60) == 130
    child.communicate()
    child = start("score", "--watch", "logs", "-m", "faithfulness", preexec_fn=hear_ctrl_c)
    assert child.stdout
    (logs / "a.jsonl").rename(logs / "a.jsonl.1")
    (logs / "a.jsonl").write_text(lines(rows[:1]), encoding="utf-8")
    assert next_line() == ("a.jsonl", 1, True)  # and nothing that was written before
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=60) == 130
    child.communicate()
