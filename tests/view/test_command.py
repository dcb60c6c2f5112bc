from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
import webbrowser
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
from click.testing import CliRunner
from tests.interrupts import hear_ctrl_c

import ragauge
from ragauge.cli.main import main
from ragauge.cli.runs import opened_in_browser
from ragauge.store import Store


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)], ids=["Ctrl-C", "SIGTERM"])
def test_it_serves_until_it_is_interrupted(store: Store, number: signal.Signals, code: int) -> None:
    """The command prints the address, serves the page, and ends with 0 on Ctrl-C, with 143 on SIGTERM."""
    command = [sys.executable, "-m", "ragauge", "view", "first", "--store", str(store.path), "--no-open"]
    environment = {**os.environ, "PYTHONPATH": str(Path(ragauge.__file__).parents[1]), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, preexec_fn=hear_ctrl_c
    ) as served:
        try:
            assert served.stdout is not None
            address, _, start = served.stdout.readline().strip().partition("#")
            assert start == f"run={store.run('first').id}"
            with urllib.request.urlopen(address, timeout=20) as page:
                assert b'id="served"' in page.read()
            with pytest.raises(urllib.error.HTTPError, match="403"):
                urllib.request.urlopen(address.rsplit("/", 2)[0] + "/", timeout=20)
            served.send_signal(number)
            words, faults = served.communicate(timeout=20)
        finally:
            served.kill()
    assert (served.returncode, faults, "ended" in words) == (code, "", True)


def test_the_browser_is_started_with_a_private_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is readable by this user only, and removed in the end."""
    asked: list[str] = []
    monkeypatch.setattr(webbrowser, "open", asked.append)
    with opened_in_browser("http://127.0.0.1:1/secret/"):
        path = Path(url2pathname(urlsplit(asked[0]).path))
        assert "http://127.0.0.1:1/secret/" in path.read_text(encoding="utf-8")
        assert path.parent.stat().st_mode & 0o077 == 0
    assert "secret" not in asked[0]
    assert not path.exists()


def test_a_missing_store(tmp_path: Path) -> None:
    """Without a store, or with a run that it lacks, the command ends with 2."""
    missing = CliRunner().invoke(main, ["view", "--store", str(tmp_path / "none")])
    assert (missing.exit_code, "there is no store" in missing.output) == (2, True)


def test_a_missing_run(store: Store) -> None:
    """An unknown run is an error before anything is served."""
    missing = CliRunner().invoke(main, ["view", "none", "--store", str(store.path), "--no-open"])
    assert (missing.exit_code, "unknown run 'none'" in missing.output) == (2, True)
