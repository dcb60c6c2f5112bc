"""Weights & Biases, offline: what a run leaves on this machine for `wandb sync`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ragauge.cli import main
from ragauge.store import Store

wandb = pytest.importorskip("wandb", reason="the tracker is an extra")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


def records(folder: Path) -> list[Any]:
    """The records of the only run in a folder of wandb's: a log of LevelDB's format after a header of 7 bytes."""
    from wandb.proto.wandb_internal_pb2 import Record

    (file,) = folder.glob("wandb/offline-run-*/*.wandb")
    data, place, found, whole = file.read_bytes(), 7, [], b""
    while place + 7 <= len(data):
        if 2**15 - place % 2**15 < 7:  # the rest of a block that is too short for a header
            place += 2**15 - place % 2**15
        length, kind = int.from_bytes(data[place + 4 : place + 6], "little"), data[place + 6]
        whole += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # a whole record, or the last part of one
            record = Record()
            record.ParseFromString(whole)
            found.append(record)
            whole = b""
    return found


def test_a_run_is_logged_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """-o wandb:PROJECT keeps each estimate with its interval and numbers, the judge, claims and report; no NaN."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "offline")
    row = {"query": "Who wrote it?", "response": "Ada wrote it.", "contexts": ["Ada wrote it."]}
    (tmp_path / "data.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    arguments = ["run", "data.jsonl", "-m", "faithfulness", "--name", "first", "-o", "wandb:answers"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert "logged to wandb:answers as run" in result.output
    (run,) = Store.open(".ragauge").runs()
    summary: dict[str, Any] = {}
    config: dict[str, Any] = {}
    kept = records(tmp_path)
    for record in kept:
        updates = [*record.summary.update, *record.run.summary.update]
        summary |= {(one.key or "/".join(one.nested_key)): json.loads(one.value_json) for one in updates}
        config |= {one.key: json.loads(one.value_json) for one in record.run.config.update}
    estimate = run.estimates["faithfulness"]
    assert summary["faithfulness"] == estimate.value
    assert (summary["faithfulness.low"], summary["faithfulness.n"]) == (pytest.approx(estimate.low), 1)
    assert (config["judge"], config["data_hash"]) == ("embedded", run.data_hash)
    assert any(record.HasField("artifact") or record.WhichOneof("record_type") == "request" for record in kept)
