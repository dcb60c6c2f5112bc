from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Call = Callable[..., Result]

ROWS = [
    {"question": "When does the harbour open?", "answer": "The harbour opens at six."},
    {"question": "Who sweeps the quay?"},
    {"question": "Is zinc heavy?", "answer": "Zinc is heavy."},
]


@pytest.fixture
def workplace(folder: Path) -> Path:
    """A folder with a corpus and a file of questions."""
    (folder / "corpus").mkdir()
    (folder / "corpus" / "harbour.md").write_text("# Harbour\nThe harbour opens at six.\n\n## Quay\nIt is of basalt.\n")
    (folder / "corpus" / "map.zip").write_bytes(b"PK")
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    return folder


def test_build_writes_samples_and_says_what_they_lack(call: Call, workplace: Path) -> None:
    """Every question is in the file; samples without documents or labels, and skipped rows, are counted."""
    result = call("dataset", "build", "questions.jsonl", "--corpus", "corpus", "-o", "samples.jsonl")
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "corpus: 2 passages; files skipped: 1 .zip",
        "3 samples, 1 answerable; 1 judgments asked, 0 known",
        "without documents: 1 sample",
        "without a gold answer, so not labelled: 1 sample",
        "wrote samples.jsonl; next: ragauge generate samples.jsonl -j PROVIDER/MODEL -o answers.jsonl",
    ]
    rows = [json.loads(line) for line in (workplace / "samples.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["query"] for row in rows] == [row["question"] for row in ROWS]
    assert rows[0]["contexts"][0]["metadata"]["answers_found"] == [1]
    assert (rows[0]["answerable"], rows[2]["answerable"], rows[2]["contexts"]) == (True, False, [])
    assert "answers" not in rows[1]


def test_bad_files_of_a_corpus(call: Call, workplace: Path) -> None:
    """One bad file ends the command with 2, or is skipped and counted with --skip-bad-rows."""
    (workplace / "corpus" / "menu.txt").write_bytes(b"caf\xe9")
    command = ["dataset", "build", "questions.jsonl", "--corpus", "corpus", "-o", "samples.jsonl"]
    refused = call(*command)
    assert (refused.exit_code, "menu.txt: not UTF-8" in refused.stderr) == (2, True)
    result = call(*command, "--skip-bad-rows")
    assert result.exit_code == 0
    assert "skipped in corpus: 1, the first because: corpus/menu.txt: not UTF-8" in result.output


def test_a_custom_retriever(call: Call, workplace: Path) -> None:
    """--retriever names a function in a module of this folder, which finds the documents instead of the corpus."""
    (workplace / "harbour_finder.py").write_text(
        "def find(query):\n    return ['The harbour opens at six.', f'Letters asked: {len(query)}.']\n"
    )
    command = [
        "dataset",
        "build",
        "questions.jsonl",
        "-o",
        "samples.jsonl",
        "--retriever",
        "python:harbour_finder:find",
    ]
    result = call(*command)
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[0] == "3 samples, 1 answerable; 2 judgments asked, 0 known"
    row = json.loads((workplace / "samples.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert [chunk["text"] for chunk in row["contexts"]] == ["The harbour opens at six.", "Letters asked: 27."]
    both = call(*command, "--corpus", "corpus")
    assert (both.exit_code, "a corpus or a retriever, not both" in both.stderr) == (2, True)


def test_judgments_are_in_the_store(call: Call, workplace: Path) -> None:
    """A second call finds them in the store; with --no-store no file is left."""
    command = ["dataset", "build", "questions.jsonl", "--corpus", "corpus", "-o", "samples.jsonl"]
    call(*command, "--no-store")
    assert not (workplace / ".ragauge").exists()
    call(*command)
    assert "0 judgments asked, 1 known" in call(*command).output
    assert (workplace / ".ragauge" / "store.db").exists()


def test_options_of_build(call: Call, workplace: Path) -> None:
    """The number of documents, the judge of claims, columns and rows can be chosen."""
    (workplace / "odd.jsonl").write_text('{"asked": "The harbour?", "right": "It opens. It is of basalt."}\n{broken\n')
    result = call(
        *(
            "dataset",
            "build",
            "odd.jsonl",
            "--corpus",
            "corpus",
            "-o",
            "samples.jsonl",
            "--top",
            1,
            "--claims",
            "embedded",
        ),
        *("--map", "query=asked", "--map", "references=right", "--skip-bad-rows"),
    )
    assert "rows skipped: 1, the first because: odd.jsonl, row 2" in result.output
    (row,) = map(json.loads, (workplace / "samples.jsonl").read_text(encoding="utf-8").splitlines())
    assert (len(row["contexts"]), len(row["answers"])) == (1, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["questions.jsonl", "-o", "samples.jsonl"], "no documents; give a corpus (--corpus FOLDER)"),
        (["questions.jsonl", "--corpus", "corpus", "-o", "samples.csv"], "samples are written as JSON Lines"),
        (["questions.jsonl", "--corpus", "corpus", "-o", "questions.jsonl"], "is read by this command"),
        (["nowhere.jsonl", "--corpus", "corpus", "-o", "samples.jsonl"], "no such file"),
        (["questions.jsonl", "--corpus", "nowhere", "-o", "samples.jsonl"], "does not exist"),
        (["questions.jsonl", "--corpus", "corpus/map.zip", "-o", "samples.jsonl"], "not a corpus"),
        (["questions.jsonl", "--corpus", "corpus", "-o", "s.jsonl", "-j", "decompose=embedded", "--top", 0], "--top"),
    ],
)
def test_wrong_calls_end_with_2(arguments: list[str], message: str, call: Call, workplace: Path) -> None:
    """An error in the call or the data is one line, and nothing is written."""
    result = call("dataset", "build", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (workplace / "samples.jsonl").exists()


def test_all_judgments_failed(call: Call, workplace: Path) -> None:
    """If the judge fails on every sample the exit code is 1; the samples are written, with the reason."""
    (workplace / "mine.py").write_text(
        "import ragauge as rg\n\ndef entail(premise, hypothesis):\n    raise OSError('no memory')\n\n"
        "judge = rg.judge_from(entail=entail)\n"
    )
    (workplace / "one.jsonl").write_text(json.dumps(ROWS[0]), encoding="utf-8")
    result = call(
        "dataset", "build", "one.jsonl", "--corpus", "corpus", "-o", "samples.jsonl", "-j", "python:mine:judge"
    )
    assert result.exit_code == 1
    assert "without labels: 1 sample, the first because judge_error: entail() raised OSError" in result.output
    assert "wrote samples.jsonl\n" in result.output
    assert "no memory" in (workplace / "samples.jsonl").read_text(encoding="utf-8")


def test_mini_copies_the_packaged_corpus(call: Call, folder: Path) -> None:
    """The folder has a dozen documents and fifteen questions with gold answers; an existing one is left alone."""
    assert call("dataset", "mini", "small").exit_code == 0
    assert len(list((folder / "small" / "corpus").glob("*.md"))) == 12
    assert len((folder / "small" / "questions.jsonl").read_text(encoding="utf-8").splitlines()) == 15
    again = call("dataset", "mini", "small")
    assert (again.exit_code, "small is there already" in again.stderr) == (2, True)


def test_claims_are_of_the_first_gold_answer(call: Call, workplace: Path) -> None:
    """With --claims the number of samples with more gold answers is printed."""
    row = {"question": "The harbour?", "references": ["It opens at six. It is of basalt.", "At six; of basalt."]}
    (workplace / "several.jsonl").write_text(json.dumps(row), encoding="utf-8")
    command = ["dataset", "build", "several.jsonl", "--corpus", "corpus", "-o", "samples.jsonl"]
    result = call(*command, "--claims", "embedded")
    assert "only the first of several gold answers was taken apart: 1 sample" in result.output
    assert "only the first" not in call(*command).output
