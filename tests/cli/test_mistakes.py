"""Mistakes of new users, from the command line and from Python: each is one sentence that names the fix."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import Result

import ragauge as rg

Call = Callable[..., Result]
ROW = {"question": "Who?", "answer": "Ada.", "contexts": ["Ada wrote it."], "domain": "HR", "relevant_ids": ["d1"]}

#: The name of a file -> what it holds, for the commands below.
FILES: dict[str, str | bytes] = {
    "answers.jsonl": json.dumps(ROW),
    "blank.jsonl": "\n \n",
    "list.json": "[]",
    "object.json": "{}",
    "header.csv": "question,answer\n",
    "bare.csv": "Who?,Ada.\nWhen?,1931.\n",
    "french.csv": "demande;réponse\nQui?;Ada\n",
    "latin.csv": "question,answer\nWho?,Müller\n".encode("latin-1"),
    "wide.csv": "question,answer\nWho?,Ada, of London\n",
    "twice.csv": "question,question\na,b\n",
    "cut.json": '[{"question": "a"},',
    "cut.jsonl": json.dumps(ROW) + '\n{"question": "x", "ans',
    "strings.jsonl": '"a"\n"b"\n',
    "same.jsonl": '{"id": "1", "answer": "b"}\n{"id": "1", "answer": "b"}\n',
    "titles.jsonl": '{"answer": "a", "contexts": [{"title": "x"}]}',
    "boolean.jsonl": '{"answer": true}',
    "nulls.jsonl": '{"question": null, "answer": null}',
    "bare.jsonl": '{"question": "a", "answer": "b"}',
    "deep.jsonl": '{"answer": "b", "x": ' + "[" * 5000 + "]" * 5000 + "}",
    "picture.jsonl": b"\x89PNG\r\n\x1a\n\x00\x00",
    "page.jsonl": "<!DOCTYPE html><html></html>",
    "text.parquet": "hello",
    "text.xlsx": "hello",
    "text.jsonl.gz": "hello",
    "old.xls": b"\xd0\xcf",
    "prose.txt": "hello",
    "silent.json": json.dumps(
        {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "a", "spanId": "b", "name": "GET /"}]}]}]}
    ),
    "labels.jsonl": '{"x": 1}',
    "judge.json": '{"a": 1}',
    "users.jsonl": "\n".join(json.dumps({"answer": "a", "user": f"u{n}"}) for n in range(60)),
    "own.py": "limit = 3\n",
}


@pytest.mark.parametrize(
    ("command", "fix"),
    [
        ("run ANSWERS.JSONL", "did you mean 'answers.jsonl'"),
        ("run answers.json", "did you mean 'answers.jsonl'"),
        ("run https://example.org/answers.jsonl", "download it"),
        ("run blank.jsonl", "write one sample a row"),
        ("run list.json", "write one sample a row"),
        ("run object.json", "--map query=COLUMN"),
        ("run header.csv", "write one sample a row"),
        ("run bare.csv", "check that the first row is a header"),
        ("run french.csv", "--map query=COLUMN"),
        ("run latin.csv", "save it as UTF-8"),
        ("run wide.csv", "in double quotes"),
        ("run twice.csv", "give each column its own name"),
        ("run cut.json", "line 1, column 20"),
        ("run cut.jsonl", "fix or remove the line"),
        ("run strings.jsonl", "write one object a line"),
        ("run same.jsonl", "make ids unique"),
        ("run titles.jsonl", "give its text under 'text'"),
        ("run boolean.jsonl", 'such as "yes" or "no"'),
        ("run nulls.jsonl", "the column 'answer' is empty"),
        ("run bare.jsonl -m faithfulness", "--map contexts=COLUMN"),
        ("run deep.jsonl", "fix or remove the line"),
        ("run picture.jsonl", "name its format by its extension"),
        ("run page.jsonl", "line 1 is not JSON"),
        ("run text.parquet", "write it again"),
        ("run text.xlsx", "save it again as .xlsx"),
        ("run text.jsonl.gz", "rename it without .gz"),
        ("run old.xls", "save it as one of these"),
        ("run prose.txt", "write them so"),
        ("run silent.json", "switch the recording of content on"),
        ("run answers.jsonl -m Faithfulness", "did you mean 'faithfulness'"),
        ("run answers.jsonl --metric bleu", "'--metrics'"),
        ("run answers.jsonl -m max_words", "write max_words(n)"),
        ("run answers.jsonl -m 'max_words(ten)'", "give a whole number"),
        ("run answers.jsonl -m 'max_words(10'", "write it as name or name(parameter=value"),
        ("run answers.jsonl -m 'matches([)'", "a backslash"),
        ("run answers.jsonl -m retrieval_recall", "--map reference_context_ids=COLUMN if it holds ids"),
        ("run answers.jsonl -m own.py:limit", "name a function of a sample"),
        ("run answers.jsonl -j openai", "openai/MODEL"),
        ("run answers.jsonl -j gpt-4o", "did you mean 'openai/gpt-4o'"),
        ("run answers.jsonl -j opnai/gpt-4o", "did you mean 'openai'"),
        ("run answers.jsonl -j openai/gpt-4o -m faithfulness", "set OPENAI_API_KEY"),
        ("run answers.jsonl -j 'openai/gpt-4o?temprature=0'", "did you mean 'temperature'"),
        ("run answers.jsonl -j judge.json", "give a judge file"),
        ("run answers.jsonl --map qustion=question", "did you mean 'query'"),
        ("run answers.jsonl --by domian", "did you mean 'domain'"),
        ("run users.jsonl --by user", "slice by one of few"),
        ("run answers.jsonl -m bleu --fail-under bleu@domain=HRR:0.5", "did you mean 'HR'"),
        ("run answers.jsonl -m 'max_words(3)' --fail-under max_words=80", "give a number from 0 to 1"),
        ("run answers.jsonl --labels labels.jsonl", "write one judgment a line"),
        ("run answers.jsonl -o out.pdf", "use one of .json"),
        ("score answers.jsonl", "measure a file with `ragauge run`"),
        ("rnu answers.jsonl", "did you mean 'run'"),
        ("report", "`ragauge run` makes one"),
        ("batch fetch nowhere", "make one with: ragauge batch export"),
    ],
)
def test_a_mistake_on_the_command_line(
    call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch, command: str, fix: str
) -> None:
    """A wrong command or file ends with 2 and one message that names the fix, and no run is kept."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (folder / "data.jsonl").unlink()
    for name, content in FILES.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    result = call(*shlex.split(command))
    message = " ".join(result.stderr.split())
    assert (result.exit_code, fix in message, "Traceback" in message) == (2, True, False), message
    assert call("report").exit_code != 0


def _run(**options: Any) -> rg.Run:
    return rg.evaluate([ROW], "max_words(3)", **options)


@pytest.mark.parametrize(
    ("mistake", "fix"),
    [
        (lambda: rg.evaluate(None), "give a path, a list of dicts, a frame or a data set"),
        (lambda: rg.evaluate([]), "write one sample a row"),
        (lambda: rg.evaluate(["a"]), "give each row as a dict"),
        (lambda: rg.evaluate(pd.Series([1, 2])), "give a frame of named columns"),
        (lambda: rg.evaluate([ROW], 5), "give a metric itself"),  # type: ignore[arg-type]
        (lambda: rg.evaluate([ROW], len), "@ragauge.check"),  # type: ignore[arg-type]
        (lambda: rg.evaluate([ROW], "faithfulness", 5), "give a name, rg.judge_from"),  # type: ignore[arg-type]
        (lambda: rg.evaluate([ROW], "faithfulness", {"entails": "embedded"}), "did you mean 'entail'"),
        (lambda: _run(map="query=question"), "give a dict from field to column"),
        (lambda: _run(map={"question": "query"}), "did you mean 'query'"),
        (lambda: _run(limit="3"), "give 1 or more"),
        (lambda: _run(max_cost="1"), "give dollars as a number"),
        (lambda: _run(labels=5), "give the path of a file"),
        (lambda: _run(engine="spark"), "give 'ray'"),
        (lambda: _run().by("domian"), "did you mean 'domain'"),
        (lambda: _run().hold_to({"bleu": 0.5}), "known: max_words"),
        (lambda: _run().save("x.pdf"), "use one of .json"),
        (lambda: rg.compare(_run(), None), "give what `evaluate` returned"),  # type: ignore[arg-type]
    ],
)
def test_a_mistake_in_python(folder: Path, mistake: Callable[[], object], fix: str) -> None:
    """A wrong argument is a UsageError whose message names the fix."""
    with pytest.raises(rg.errors.UsageError) as refused:
        mistake()
    assert fix in str(refused.value)
