"""Batches: commands that are killed, and folders, files and judges that will not do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.llm.batching import SPEC, Killed, answered, killed, lines, settings, take, waves_of

from ragauge.errors import BadData, BadParameter, RagaugeError, UsageError
from ragauge.run.batch.collect import _Importer, import_results
from ragauge.run.batch.export import export
from ragauge.run.batch.folder import LEDGER, Folder, Ledger
from ragauge.store import Store


def test_an_export_that_is_killed_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed before its end, an export has named no file and asked nothing; the next one writes all."""
    asked = settings(tmp_path)
    with Folder.make(tmp_path / "batch", asked) as folder:
        with monkeypatch.context() as patched:
            patched.setattr("ragauge.run.batch.export._Outbox.finished", killed)
            with pytest.raises(Killed):
                export(folder)
        assert not list((tmp_path / "batch").glob("*.jsonl"))
        assert folder.ledger.files() == []
    with Folder.open(tmp_path / "batch") as folder:
        assert export(folder).requests == 6


def test_what_cannot_be_written_ends_the_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is an error of the export, and no failure of the questions that were to be written."""

    def full(*arguments: object) -> None:
        raise OSError("no space left")

    with Folder.make(tmp_path / "batch", settings(tmp_path)) as folder:
        with monkeypatch.context() as patched:
            patched.setattr(Ledger, "add", full)
            with pytest.raises(RagaugeError, match="no space left; nothing was exported"):
                export(folder)
        assert export(folder).requests == 6


@pytest.mark.parametrize("step", ["_store_answers", "_settle"])
def test_an_import_that_is_killed_counts_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Killed before or after the answers are kept, an import done again keeps each answer and each call once."""
    asked = settings(tmp_path)
    with Folder.make(tmp_path / "batch", asked) as folder:
        made = list(map(answered, lines(export(folder).files[0])))
        with monkeypatch.context() as patched:
            patched.setattr(_Importer, step, killed)
            with pytest.raises(Killed):
                take(folder, tmp_path, made)
    with Folder.open(tmp_path / "batch") as folder:
        assert take(folder, tmp_path, made).replies == 6
        assert take(folder, tmp_path, made).repeated == 6
        with Store.open(asked.store) as store:
            assert (len(list(store.calls())), len(list(store.judgments()))) == (6, 12)
        assert list(waves_of(folder, tmp_path))[-1].done


@pytest.mark.parametrize("judge", ["embedded", {"entail": "embedded", "*": "embedded"}])
def test_a_batch_needs_a_model(tmp_path: Path, judge: Any) -> None:
    """Where no judge is a model there is nothing to batch, and the folder is not made."""
    with pytest.raises(BadParameter, match="name a PROVIDER/MODEL"):
        Folder.make(tmp_path / "batch", settings(tmp_path, judge=judge))
    assert not (tmp_path / "batch").exists()


def test_judges_that_would_ask_by_themselves_are_refused(tmp_path: Path) -> None:
    """Judges made of judges cannot be asked in a batch; the message says what can."""
    for spec, message in (("panel(openai/a,openai/b,openai/c)", "batch each of them by itself"),):
        with pytest.raises(BadParameter, match=message):
            Folder.make(tmp_path / "batch", settings(tmp_path, judge={"entail": spec, "*": SPEC}))


def test_folders_are_not_mixed_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with other settings, other files, another judge or no batch is refused, with a way out."""
    Folder.make(tmp_path / "batch", settings(tmp_path, metrics="rouge")).close()  # into which nothing is exported
    with Folder.make(tmp_path / "batch", settings(tmp_path)) as folder:
        export(folder)
    with pytest.raises(UsageError, match=r"another metrics .*; export into another folder"):
        Folder.make(tmp_path / "batch", settings(tmp_path, metrics="faithfulness"))
    with pytest.raises(UsageError, match="holds other things"):
        Folder.make(tmp_path, settings(tmp_path))
    with pytest.raises(UsageError, match="ragauge batch export"):
        Folder.open(tmp_path / "nowhere")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(UsageError, match="base_url differ"):
        Folder.open(tmp_path / "batch")


def test_a_file_of_somebody_else_is_an_error(tmp_path: Path) -> None:
    """Results of which none was asked here are most likely the wrong file, and so is what cannot be read."""
    with Folder.make(tmp_path / "batch", settings(tmp_path)) as folder:
        line = lines(export(folder).files[0])[0]
        with pytest.raises(BadData, match="none of its 1 lines answers a request"):
            take(folder, tmp_path, [answered({**line, "custom_id": "x"})])
        with pytest.raises(BadData, match="give files of results"):
            import_results(folder, [tmp_path])


def test_a_damaged_or_busy_ledger_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What SQLite says becomes one sentence with the file and a way out."""
    with Folder.make(tmp_path / "batch", settings(tmp_path)) as folder, folder.ledger.writing():
        monkeypatch.setattr("ragauge.run.batch.folder.PATIENCE", 0.01)
        with Folder.open(tmp_path / "batch") as other, pytest.raises(RagaugeError, match="another command"):
            export(other)
    (tmp_path / "batch" / LEDGER).write_bytes(b"no database" * 1000)
    with pytest.raises(RagaugeError, match="export into a new folder"):
        Folder.open(tmp_path / "batch")
