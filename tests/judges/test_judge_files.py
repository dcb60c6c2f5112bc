from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.llm.stub.fixture import StubFactory

import ragauge as rg
from ragauge.cli import main
from ragauge.compat.trust_eval import Config

ROWS = [{"query": "Who wrote it?", "response": "Ada wrote it.", "contexts": ["Ada wrote it."]}]


@pytest.fixture
def send(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """Writes a judge file into the working folder, where there is data, a module and a key, and returns its name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    (tmp_path / "data.json").write_text(json.dumps(ROWS))
    (tmp_path / "sent.py").write_text("from pathlib import Path\nPath('ran').touch()\njudge = None\n")

    def write(judge: str) -> str:
        (tmp_path / "judge.json").write_text(json.dumps({"schema": "ragauge.judge/1", "judge": judge}))
        return "judge.json"

    yield write
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "judge",
    [
        "python:sent:judge",
        "panel(embedded,python:sent:judge)",
        "panel(embedded, cascade(lexical, python:sent:judge, threshold=0.9))",
        "repeat(python:sent:judge,3)",
    ],
)
def test_a_judge_file_runs_no_code(send: Callable[[str], str], judge: str) -> None:
    """Wherever a judge file names Python code, it is refused before anything is imported."""
    with pytest.raises(rg.errors.BadData, match="python:sent:judge is code, which no file can have run"):
        rg.load_judge(send(judge))
    for file in (send(judge), f"panel({send(judge)},lexical)"):
        for command in ("run", "plan"):
            result = CliRunner().invoke(main, [command, "data.json", "-j", file])
            assert result.exit_code == 2
            assert "is code" in result.output


def test_settings_of_trust_eval_run_no_code(send: Callable[[str], str], tmp_path: Path) -> None:
    """A file of Trust-Eval's settings that names Python code as its judge is refused."""
    assert send("embedded")
    (tmp_path / "settings.json").write_text('{"autoais_model": "python:sent:judge"}')
    with pytest.raises(rg.errors.BadData, match=r"settings.json: autoais_model names code or a server"):
        Config.from_yaml(tmp_path / "settings.json")


def test_a_plan_imports_nothing(send: Callable[[str], str]) -> None:
    """A plan with the user's own module, or a model of the hub, loads neither, and says what it does not know."""
    assert send("embedded")
    planned = rg.plan(ROWS, ["faithfulness"], {"entail": "python:sent:judge", "*": "hf/no/such"})
    assert planned.questions.total() > 0
    assert "python:sent:judge is not loaded to plan" in str(planned)
    assert "hf/no/such is not loaded to plan" in str(planned)


@pytest.mark.parametrize("judge", ["openai/m?base_url={}", "panel(embedded,openai/m?base_url={})"])
def test_a_key_goes_to_no_host_that_a_file_names(
    send: Callable[[str], str], stub_server: StubFactory, judge: str
) -> None:
    """A judge file with a server of its own is refused with the option to add, and judges once that is given."""
    server = stub_server()
    file = send(judge.format(server.url))
    refused = CliRunner().invoke(main, ["run", "data.json", "-m", "faithfulness", "-j", file, "--no-store"])
    assert refused.exit_code == 2
    assert "--allow-host 127.0.0.1 (in Python: rg.load_judge(..., allow_hosts=['127.0.0.1']))" in refused.output
    assert server.stats()["calls"] == 0
    allowed = ["-j", file, "--no-store", "--allow-host", "127.0.0.1"]
    result = CliRunner().invoke(main, ["run", "data.json", "-m", "faithfulness", *allowed])
    assert result.exit_code == 0, result.output
    assert server.stats()["calls"] > 0
    assert rg.load_judge(file, allow_hosts=["127.0.0.1"]).answers


@pytest.mark.parametrize("host", ["https://API.OpenAI.com/v1", "HTTPS://api.openai.com:443/v1"])
def test_the_host_of_a_provider_however_it_is_written(send: Callable[[str], str], host: str) -> None:
    """Capitals and the usual port make no other host of a provider's own."""
    assert rg.load_judge(send(f"openai/m?base_url={host}")).answers


def test_an_address_with_colons(send: Callable[[str], str]) -> None:
    """An IPv6 address is allowed with its brackets and without."""
    file = send("openai/m?base_url=http://[::ffff:127.0.0.1]:9/v1")
    assert rg.load_judge(file, allow_hosts=["[::ffff:127.0.0.1]"]).answers
    assert rg.load_judge(file, allow_hosts=["::FFFF:127.0.0.1"]).answers


@pytest.mark.parametrize(
    ("judge", "host"),
    [
        ("openai/m?base_url=http://api.openai.com/v1", "api.openai.com"),
        ("openai/m?base_url=https://api.openai.com:8443/v1", "api.openai.com"),
        ("openai/m?base_url=https://API.openai.com.evil.example/v1", "api.openai.com.evil.example"),
        ("ollama/m?base_url=http://192.0.2.1:11434", "192.0.2.1"),
        ("azure/m?base_url=https://evil.openai.azure.com", "evil.openai.azure.com"),
    ],
)
def test_what_is_nearly_the_providers_server_is_not_it(send: Callable[[str], str], judge: str, host: str) -> None:
    """Another scheme, port or ending of the provider's address, and another customer's resource, are other hosts."""
    with pytest.raises(rg.errors.BadData, match=f"--allow-host {host} "):
        rg.load_judge(send(judge))


def test_the_providers_own_server_needs_no_word(send: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider's address, and that which the user's environment names, may stand in a judge file."""
    assert rg.load_judge(send("openai/m?base_url=https://api.openai.com/v1")).answers
    monkeypatch.setenv("OPENAI_BASE_URL", "http://gateway.example:8080")
    assert rg.load_judge(send("openai/m?base_url=http://gateway.example:8080/v1")).answers
