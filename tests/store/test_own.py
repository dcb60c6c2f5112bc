"""Judgments that others made: reused with a word about it, and asked anew where that is wanted."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import ragauge as rg
from ragauge.cli import main
from ragauge.store import Store

ROWS = [{"query": "Who?", "response": "Ada wrote it.", "contexts": ["Bob wrote it."]}]
NOTE = "not made by you on this machine"


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The settings of a user who has none yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "mine"))
    return monkeypatch


def judged(store: Path | Store, answer: bool) -> rg.Run:
    """A run with a judge that has one answer to everything."""
    judge = rg.judge_from(entail=lambda premise, hypothesis: answer, name="same")
    return rg.evaluate(ROWS, "faithfulness", {"entail": judge, "*": "embedded"}, store)


def test_ones_own_judgments_are_reused_in_silence(tmp_path: Path, mine: pytest.MonkeyPatch) -> None:
    """The same user's second run takes the first one's judgments, and says nothing of others."""
    first = judged(tmp_path / "store", True)
    second = judged(tmp_path / "store", False)
    assert second.scores[0]["faithfulness"].value == 1
    assert second.record.asked == 0
    assert NOTE not in str(second.record.notes)
    assert first.record.made_by == second.record.made_by != ""


def test_judgments_of_others_are_named(tmp_path: Path, mine: pytest.MonkeyPatch) -> None:
    """Another user's judgments are reused with a note; a run with only one's own asks anew, and keeps the answers."""
    theirs = judged(tmp_path / "store", True)
    mine.setenv("XDG_CONFIG_HOME", str(tmp_path / "yours"))
    reused = judged(tmp_path / "store", False)
    assert reused.scores[0]["faithfulness"].value == 1
    assert NOTE in str(reused.record.notes)
    assert reused.record.made_by != theirs.record.made_by
    with Store.open(tmp_path / "store", only_own=True) as store:
        anew = judged(store, False)
        assert anew.scores[0]["faithfulness"].value == 0
        assert NOTE not in str(anew.record.notes)
    again = judged(tmp_path / "store", True)
    assert again.scores[0]["faithfulness"].value == 0
    assert NOTE not in str(again.record.notes)


def test_a_changed_answer_is_not_ones_own(tmp_path: Path, mine: pytest.MonkeyPatch) -> None:
    """A copy of judgments into a store of one's own does not make them one's own."""
    judged(tmp_path / "theirs", True)
    mine.setenv("XDG_CONFIG_HOME", str(tmp_path / "yours"))
    with Store.open(tmp_path / "theirs") as theirs, Store.open(tmp_path / "copy") as copy:
        theirs.copy_to(copy)
    assert NOTE in str(judged(tmp_path / "copy", False).record.notes)


def test_the_command_asks_anew(tmp_path: Path, mine: pytest.MonkeyPatch) -> None:
    """`--only-own` holds for its command alone."""
    mine.chdir(tmp_path)
    Path("data.csv").write_text("query,response,contexts\nWho?,Ada wrote it.,Ada wrote it.\n")

    def run(*options: str) -> Result:
        return CliRunner().invoke(main, ["run", "data.csv", "-m", "faithfulness", *options])

    assert run().exit_code == 0
    mine.setenv("XDG_CONFIG_HOME", str(tmp_path / "yours"))
    assert NOTE in " ".join(run().output.split())
    assert NOTE not in " ".join(run("--only-own").output.split())
    assert NOTE not in " ".join(run().output.split())


def test_runs_work_without_a_place_for_settings(tmp_path: Path, mine: pytest.MonkeyPatch) -> None:
    """Where no secret can be kept, judgments are stored and reused as they are."""
    (tmp_path / "file").touch()
    mine.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    judged(tmp_path / "store", True)
    assert judged(tmp_path / "store", True).record.asked == 0
