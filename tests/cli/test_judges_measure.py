"""Measuring judges that cost money: errors, stored answers, limits."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import Result
from tests.llm.stub.fixture import StubFactory

from ragauge.analysis.measure import Confusion, Measurement
from ragauge.store import Store, read_labels

Call = Callable[..., Result]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key; the stub accepts any."""
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")


@pytest.fixture
def sets(folder: Path) -> Path:
    """Two labelled sets: forty claims against a text each, twenty passages for a question each."""
    claims = [
        {"premise": f"The bridge of town {n} is red.", "claim": f"The {thing} of town {n} is red.", "label": label}
        for n in range(20)
        for thing, label in (("bridge", 1), ("harbour tunnel company", 0))
    ]
    passages = [
        {"question": f"Who built mill {n}?", "passage": f"Ann built mill {n}." if n % 2 else "Bees.", "label": n % 2}
        for n in range(20)
    ]
    write(folder / "sets" / "ent_bridges.jsonl", claims)
    write(folder / "sets" / "rel_mills.jsonl", passages)
    return folder / "sets"


def write(file: Path, rows: list[dict[str, Any]]) -> None:
    """A labelled set."""
    file.parent.mkdir(exist_ok=True)
    file.write_text("\n".join(map(json.dumps, rows)))


def rows_of(result: Result) -> dict[str, list[str]]:
    """The cells of the first table by the name of the set."""
    lines = [line.split() for line in result.stdout.splitlines() if line.strip().startswith(("ent_", "rel_"))]
    return {cells[0]: cells[1:] for cells in reversed(lines)}


def test_a_judge_without_probabilities_is_measured(call: Call, sets: Path, stub_server: StubFactory) -> None:
    """An LLM has no AUC, but a balanced accuracy with its interval; each row is a call."""
    server = stub_server(latency=0.05)
    result = call("judges", "measure", f"openai/gpt-4o-mini?base_url={server.url}&concurrency=32", "--data", sets)
    assert result.exit_code == 0, result.output
    table = rows_of(result)
    assert table["ent_bridges"][:4] == ["40", "–", "1.00", "0.85–1.00"]
    assert table["rel_mills"][:2] == ["20", "–"]
    stats = server.stats()
    assert stats["calls"] == 60
    assert stats["widest"] > 8
    assert "calls to models: 60 calls" in result.stdout


def test_verdicts_are_counted_against_labels_of_people(call: Call, folder: Path) -> None:
    """A file of labels is measured with accuracy, kappa and the confusion matrix, of several people by the majority."""
    answers = [("A dog.", "entailed", "ann"), ("A cat.", "neutral", "ann"), ("A cow.", "entailed", "ann")]
    answers += [("A cow.", "neutral", "bob"), ("A cow.", "neutral", "cy"), ("A dog and.", "contradicted", "ann")]
    lines = [
        {"question": {"kind": "entail", "premise": ["A dog."], "hypothesis": claim}, "answer": answer, "by": by}
        for claim, answer, by in answers
    ]
    write(folder / "kept" / "labels.jsonl", lines)
    labels = folder / "kept" / "labels.jsonl"
    (folder / "dogs.py").write_text(
        "import ragauge as rg\njudge = rg.judge_from(entail=lambda premise, hypothesis: 'dog' in hypothesis)\n"
    )
    result = call("judges", "measure", "python:dogs:judge", "--labels", labels, "-o", folder / "m.json")
    assert result.exit_code == 0, result.output
    (measured,) = msgspec.json.decode((folder / "m.json").read_bytes(), type=Measurement).sets
    assert measured.confusion == Confusion(1, 0, 1, 2)
    assert measured.accuracy is not None
    assert measured.kappa is not None
    assert (measured.name, measured.accuracy.value, measured.kappa.value) == ("labels", 0.75, 0.5)
    assert "1 of 1" in result.stdout
    assert "2 of 3" in result.stdout


def test_a_row_without_a_label_is_named(call: Call, sets: Path) -> None:
    """A blank label stops a set, with its row."""
    rows = [{"premise": "A dog.", "claim": "A dog.", "label": label} for label in (1, 0)]
    write(sets / "ent_dogs.jsonl", [*rows, {"premise": "A dog.", "claim": "A cat.", "label": ""}])
    result = call("judges", "measure", "lexical", "--data", sets / "ent_dogs.jsonl")
    assert result.exit_code == 2
    assert "row 3: the label '' is neither 1 nor 0" in " ".join(result.stdout.split())


def test_measuring_needs_labels(call: Call) -> None:
    """Without labels the error names both options."""
    result = call("judges", "measure", "lexical")
    assert result.exit_code == 2
    assert "give people's labels: --labels FILE, or --data FOLDER" in result.stderr


def test_an_interrupted_measurement_continues(call: Call, sets: Path, stub_server: StubFactory) -> None:
    """Answers are stored, so that nothing is asked twice; --no-store stores nothing."""
    server = stub_server()
    judge = f"openai/gpt-4o-mini?base_url={server.url}"
    call("judges", "measure", judge, "--data", sets, "--limit", 10)
    assert server.stats()["calls"] == 20
    again = call("judges", "measure", judge, "--data", sets, "--limit", 10)
    assert server.stats()["calls"] == 20
    assert rows_of(again)["ent_bridges"][0] == "10"
    assert "calls to models" not in again.stdout
    call("judges", "measure", judge, "--data", sets)
    assert server.stats()["calls"] == 60
    call("judges", "measure", judge, "--data", sets, "--no-store", "--limit", 1)
    assert server.stats()["calls"] == 62


def test_human_labels_are_not_the_judge(call: Call, sets: Path, folder: Path, stub_server: StubFactory) -> None:
    """Human labels of the same questions in the store are not taken for the judge's answers."""
    server = stub_server()
    question = {
        "kind": "entail",
        "premise": ["The bridge of town 0 is red."],
        "hypothesis": "The bridge of town 0 is red.",
    }
    (folder / "labels.jsonl").write_text(json.dumps({"question": question, "answer": "neutral", "by": "ann"}))
    with Store.open(folder / ".ragauge") as store:
        store.keep(list(read_labels(folder / "labels.jsonl")))
    result = call("judges", "measure", f"openai/gpt-4o-mini?base_url={server.url}", "--data", sets)
    assert server.stats()["calls"] == 60
    assert rows_of(result)["ent_bridges"][2] == "1.00"


def test_a_limit_ends_the_measurement(call: Call, sets: Path, stub_server: StubFactory) -> None:
    """At the limit the exit code is 4 with how to continue; afterwards only the rest is asked."""
    server = stub_server()
    judge = f"openai/gpt-4o-mini?base_url={server.url}&price=10:10"
    result = call("judges", "measure", judge, "--data", sets, "--max-cost", 0.25)
    stats = server.stats()
    assert result.exit_code == 4, result.output
    assert "stopped: the limit of $0.25 was reached; run the same command again to resume" in result.stderr
    assert 0 < (stats["prompt_tokens"] + stats["completion_tokens"]) * 10 / 1e6 <= 0.25
    assert 0 < stats["calls"] < 60
    assert call("judges", "measure", judge, "--data", sets).exit_code == 0
    assert server.stats()["calls"] == 60


def test_a_limit_needs_a_price(call: Call, sets: Path) -> None:
    """A model of unknown price is refused together with a limit."""
    result = call("judges", "measure", "openai/my-own", "--data", sets, "--max-cost", 1)
    assert result.exit_code == 2
    assert "price=0.15:0.60" in result.stderr


def test_a_missing_key_is_named(call: Call, sets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key the command ends with 2 and names the variable."""
    monkeypatch.delenv("OPENAI_API_KEY")
    for command in (("measure",), ("tune", "-o", "judge.json", "-j")):
        result = call("judges", *command, "openai/gpt-4o-mini", "--data", sets)
        assert result.exit_code == 2
        assert "set OPENAI_API_KEY" in result.stderr


@pytest.mark.parametrize("command", [("measure",), ("tune", "-o", "judge.json", "-j")])
def test_a_refused_key_is_the_reason(
    call: Call, sets: Path, stub_server: StubFactory, command: tuple[str, ...]
) -> None:
    """A server that refuses the key ends the command with 1 and its reason, after as few calls as possible."""
    server = stub_server(key="another")
    judge = f"openai/gpt-4o-mini?base_url={server.url}&concurrency=2"
    result = call("judges", *command, judge, "--data", sets)
    assert result.exit_code == 1
    assert "unauthorized" in result.stderr
    assert "HTTP 401" in result.stderr
    assert server.stats()["calls"] <= 2


def test_a_failing_set_does_not_stop_others(call: Call, sets: Path, folder: Path) -> None:
    """The other sets are measured and shown; the error names the set, and its first reason."""
    (folder / "half.py").write_text(
        "import ragauge as rg\n"
        "def broken(premise, hypothesis):\n    raise OSError('no route')\n"
        "mine = rg.judge_from(entail=broken, relevant=lambda query, text: 'built' in text)\n"
    )
    result = call("judges", "measure", "python:half:mine", "--data", sets)
    assert result.exit_code == 1
    assert rows_of(result)["rel_mills"][0] == "20"
    assert "ent_bridges: 40 rows without an answer, the first because: judge_error: entail() raised" in result.output
    assert "ent_bridges: function answered no row" in result.stderr
    assert "no route" in result.stderr


def test_an_unreadable_file_does_not_stop_others(call: Call, sets: Path) -> None:
    """Such a file is named with the row and the error, the others are measured; the exit code is 0."""
    write(sets / "ent_a.jsonl", [{"premise": "p", "claim": "c", "label": 1}, {"premise": "p", "label": 1}])
    write(sets / "ent_b.jsonl", [{"premise": None, "claim": "c", "label": 1}])
    write(sets / "ent_c.jsonl", [{"premise": "p", "claim": "c", "label": "perhaps"}])
    write(sets / "claims_d.jsonl", [{"text": "t", "question": "q"}])
    (sets / "ent_e.jsonl").write_text('{"premise": "p"')
    (sets / "ent_f.jsonl").write_bytes(b'{"premise": "\xff"}')
    (sets / "rel_g.jsonl.gz").write_bytes(gzip.compress(b'{"question": "q", "passage": "p", "label": 1}\n' * 9)[:-9])
    result = call("judges", "measure", "lexical", "--data", sets)
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())
    for fault in (
        "ent_a.jsonl, row 2: a field is missing or of the wrong form ('claim')",
        "ent_b.jsonl, row 1: a field is missing or of the wrong form",
        "ent_c.jsonl, row 1: the label 'perhaps' is neither 1 nor 0",
        "claims_d.jsonl, row 1: a field is missing or of the wrong form ('sentences')",
        "ent_e.jsonl: line 1 is not JSON",
        "ent_f.jsonl: not UTF-8",
        "rel_g.jsonl.gz: not a whole gzip file",
    ):
        assert fault in words
    assert rows_of(result)["ent_bridges"][0] == "40"


def test_only_unreadable_files_end_with_2(call: Call, folder: Path) -> None:
    """If no file could be measured the exit code is 2, with the reasons."""
    write(folder / "broken" / "ent_a.jsonl", [{"premise": "p"}])
    result = call("judges", "measure", "lexical", "--data", folder / "broken")
    assert (
        result.exit_code,
        "a field is missing or of the wrong form ('claim')" in " ".join(result.stdout.split()),
    ) == (2, True)
    assert "can be measured on; see `ragauge docs embedded-judge`" in result.stderr


@pytest.mark.slow
def test_the_embedded_judge_is_compared_with_the_lexical_one(call: Call, sets: Path) -> None:
    """That is its default baseline; the result is written on request."""
    result = call("judges", "measure", "embedded", "--data", sets, "-o", "out/found.json", "-o", "found.md")
    assert result.exit_code == 0, result.output
    assert "embedded against lexical on the same rows:" in result.stdout
    assert "not distinguishable" in result.stdout
    assert "adjusted for 2 tests" in result.stdout
    found = msgspec.json.decode(Path("out/found.json").read_bytes(), type=Measurement)
    assert (str(found.judge), str(found.baseline), found.limit) == ("embedded", "lexical", None)
    assert [one.name for one in found.sets] == ["ent_bridges", "rel_mills"]
    assert "| ent_bridges | 40 |" in Path("found.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_any_two_judges_are_compared(call: Call, sets: Path, folder: Path, stub_server: StubFactory) -> None:
    """--against names the other judge, whose answers are stored too; only the embedded judge has a default."""
    server = stub_server()
    judge = f"openai/gpt-4o-mini?base_url={server.url}"
    alone = call("judges", "measure", "lexical", "--data", sets)
    assert "lexical against" not in alone.stdout
    result = call("judges", "measure", "lexical", "--against", judge, "--data", sets)
    assert "lexical against openai/gpt-4o-mini on the same rows:" in result.stdout
    assert "ent_bridges: compared by balanced accuracy" in result.stdout
    assert server.stats()["calls"] == 60
    call("judges", "measure", "lexical", "--against", judge, "--data", sets)
    assert server.stats()["calls"] == 60


def test_an_unknown_ending_is_refused_at_once(call: Call, sets: Path) -> None:
    """Nothing is asked if the figures could not be written."""
    result = call("judges", "measure", "--data", sets, "-o", "found.csv")
    assert result.exit_code == 2
    assert "unknown ending; use one of .json .md" in result.stderr
