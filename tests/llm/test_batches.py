"""The batch endpoints of OpenAI and Anthropic, over real HTTP against the stub server process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.llm.batching import METRICS, Killed, answered, killed, lines, results, settings
from tests.llm.stub.fixture import StubFactory
from tests.llm.stub.process import StubServer

import ragauge as rg
from ragauge.errors import RagaugeError, UsageError
from ragauge.judges.llm.providers import parse_llm_spec
from ragauge.judges.llm.transport import batches as module
from ragauge.judges.llm.transport.batches import BatchFailed, BatchProgress, batches
from ragauge.run.batch.collect import fetch, import_results, status, submit
from ragauge.run.batch.export import export
from ragauge.run.batch.folder import Folder, Ledger

MODELS = ("openai/gpt-4o-mini", "anthropic/claude-haiku-4-5")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pause before a request is made again."""
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0.001)


@pytest.fixture
def batch(tmp_path: Path, stub_server: StubFactory) -> Callable[..., tuple[Folder, StubServer]]:
    """Makes a folder for a model, and the stub that serves it."""

    def make(model: str = MODELS[0], **options: Any) -> tuple[Folder, StubServer]:
        server = stub_server(**options)
        asked = settings(tmp_path, judge=f"{model}?base_url={server.url}")
        return Folder.make(tmp_path / "batch", asked), server

    return make


@pytest.mark.parametrize("model", MODELS)
def test_submit_and_fetch_until_all_is_answered(model: str, batch: Callable[..., Any]) -> None:
    """Round after round is sent, waited for, fetched and imported; a run then makes no call and scores every sample."""
    folder, server = batch(model, batch_seconds=0.2)
    with folder:
        rounds = 0
        while not export(folder).done:
            rounds += 1
            (sent,) = submit(folder)
            assert submit(folder) == []
            assert [one.status for _, one in status(folder) if one] == ["in_progress"]
            assert fetch(folder) == []
            time.sleep(0.25)
            (fetched,) = fetch(folder)
            assert (fetched.progress.done, fetched.imported.replies, fetched.again) == (6, 6, 0)
            assert (fetched.file.batch, fetched.progress.total) == (sent.batch, 6)
            assert fetch(folder) == []
        asked = folder.settings
    calls = server.stats()["calls"]
    run = rg.evaluate(asked.data, METRICS, asked.judge, asked.store)
    assert (rounds, run.record.asked, server.stats()["calls"]) == (2, 0, calls)
    assert all(estimate.n == 6 for estimate in run.estimates.values())


@pytest.mark.parametrize("model", MODELS)
def test_what_failed_in_a_batch_is_asked_in_the_next(model: str, batch: Callable[..., Any]) -> None:
    """Errors, expired requests and bad replies are distinguished, and all questions are answered in the end."""
    folder, _ = batch(model, script="500,expired,malformed,refusal,cut")
    with folder:
        export(folder)
        submit(folder)
        (fetched,) = fetch(folder)
        assert fetched.imported.refused == {"server_error": 1, "expired": 1}
        assert fetched.imported.replies == 4
        assert {"invalid_answer", "refused"} <= set(fetched.imported.faults)
        for _ in range(5):
            exported = export(folder)
            submit(folder)
            fetch(folder)
        assert exported.done
        assert not exported.unanswered


def test_nothing_is_sent_before_submit(batch: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """An export needs no key and no server; submit says which key is missing."""
    folder, server = batch()
    with folder:
        export(folder)
        assert server.stats()["paths"] == {}
    with Folder.make(folder.path.parent / "hosted", settings(folder.path.parent)) as hosted:
        export(hosted)
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        with pytest.raises(UsageError, match="set OPENAI_API_KEY"):
            submit(hosted)
        assert [file.batch for file in hosted.ledger.files()] == [""]


def test_a_refused_key_says_so_and_can_be_mended(batch: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch whose requests are all refused is asked again once the key is good."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-good")
    folder, _ = batch(key="sk-other")
    with folder:
        export(folder)
        submit(folder)
        (fetched,) = fetch(folder)
        assert fetched.imported.refused == {"unauthorized": 6}
        assert export(folder).requests == 6


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("step", "made"), [("check_sending", False), ("sent", True)])
def test_a_submit_that_is_killed_pays_once(
    step: str, made: bool, model: str, batch: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed just before the batch is made, or before that is written down, submit makes it, or finds it, later."""
    folder, server = batch(model)
    with folder:
        export(folder)
        with monkeypatch.context() as patched:
            patched.setattr(Ledger, step, killed)
            with pytest.raises(Killed):
                submit(folder)
        assert [file.batch for file in folder.ledger.files()] == [""]
        (sent,) = submit(folder)
        assert sent.existed == made
        (fetched,) = fetch(folder)
    assert fetched.imported.replies == 6
    assert server.stats()["calls"] == 6


@pytest.mark.parametrize("step", ["download", "import_results", "release_waiting"])
def test_a_fetch_that_is_killed_imports_once(
    step: str, batch: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed in the download, before the import or after it, fetch does the rest when it is called again."""
    folder, _ = batch()
    with folder:
        export(folder)
        submit(folder)
        with monkeypatch.context() as patched:
            if step == "download":
                patched.setattr(Path, "replace", killed)
            elif step == "import_results":
                patched.setattr(f"ragauge.run.batch.collect.{step}", killed)
            else:
                patched.setattr(Ledger, step, killed)
            with pytest.raises(Killed):
                fetch(folder)
        (fetched,) = fetch(folder)
        imported = fetched.imported
        assert (imported.replies, imported.repeated) == ((0, 6) if step == "release_waiting" else (6, 0))
        assert export(folder).requests == 6


def test_two_commands_do_not_send_one_file_twice(batch: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that another command has begun to send meanwhile is left to that one."""
    folder, server = batch()
    begun = Ledger.begin_sending

    def begin(self: Ledger, file: Any, upload: str, now: str) -> None:
        begun(self, file, upload, now)
        begun(self, file._replace(since=now), upload, f"{now} by another")

    with folder:
        export(folder)
        with monkeypatch.context() as patched:
            patched.setattr(Ledger, "begin_sending", begin)
            with pytest.raises(RagaugeError, match="another command"):
                submit(folder)
    assert server.stats()["calls"] == 0


def test_a_batch_of_somebody_else_is_given_back(batch: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the batch that was found is another one of the same size, its results are refused and the file is sent."""
    folder, server = batch(MODELS[1])
    with folder:
        (path,) = export(folder).files
        path.write_bytes(path.read_bytes().replace(b'"custom_id":"', b'"custom_id":"other-'))
        submit(folder)
        path.write_bytes(path.read_bytes().replace(b'"custom_id":"other-', b'"custom_id":"'))
        with pytest.raises(BatchFailed, match="is not the batch of"):
            fetch(folder)
        assert not submit(folder)[0].existed
        assert fetch(folder)[0].imported.replies == 6
    assert server.stats()["calls"] == 12


def test_a_file_with_imported_results_is_not_sent(batch: Callable[..., Any], tmp_path: Path) -> None:
    """What was brought to a provider by hand is not paid for again by submit."""
    folder, _ = batch()
    with folder:
        found = lines(export(folder).files[0])
        import_results(folder, [results(tmp_path, map(answered, found[:2]))])
        assert submit(folder) == []


def test_a_cancelled_batch_gives_its_requests_back(batch: Callable[..., Any]) -> None:
    """What a batch that ended early has no result for is asked again, under the same ids."""
    for model in MODELS:
        folder, server = batch(model, batch_seconds=60)
        with folder:
            first = lines(export(folder).files[0])
            (sent,) = submit(folder)
            asyncio.run(_cancel(folder, sent.batch))
            (fetched,) = fetch(folder)
            assert (fetched.imported.replies, fetched.progress.ended) == (0, True)
            again = lines(export(folder).files[0])
        assert [line["custom_id"] for line in again] == [line["custom_id"] for line in first]
        assert server.stats()["calls"] == 0
        for path in folder.path.iterdir():
            path.unlink()
        folder.path.rmdir()


async def _cancel(folder: Folder, batch: str) -> None:
    (member,) = folder.members.values()
    path = "/messages/batches" if member.asked.provider.protocol == "anthropic" else "/batches"
    async with batches(member.asked) as endpoints:
        await endpoints._json(dict, "POST", f"{path}/{batch}/cancel", b"{}")


@pytest.mark.slow
def test_requests_that_can_do_no_harm_are_made_again() -> None:
    """A server that is busy at first is asked again; one that stays so, or whose reply is no JSON, is an error."""
    with _serving(503, 429, 200) as (url, seen):
        assert _progress(url).status == "completed"
    assert len(seen) == 3
    with _serving(*[500] * 5) as (url, seen), pytest.raises(BatchFailed, match="server_error"):
        _progress(url)
    with _serving(404) as (url, seen), pytest.raises(BatchFailed, match="404"):
        _progress(url)
    with _serving(200, text=b"<html>") as (url, seen), pytest.raises(BatchFailed, match="not the JSON expected"):
        _progress(url)
    with pytest.raises(BatchFailed, match="Connect"):
        _progress("http://127.0.0.1:9/v1")


def test_a_batch_is_not_made_twice_for_an_unclear_reply(tmp_path: Path) -> None:
    """After a server error it is not known whether the batch was made, so it is not asked for again."""
    (tmp_path / "file.jsonl").write_bytes(b"{}\n")

    async def create(url: str) -> str:
        async with batches(parse_llm_spec(f"openai/m?base_url={url}")) as endpoints:
            return await endpoints.create(tmp_path / "file.jsonl", "file-1")

    with _serving(500, 200) as (url, seen), pytest.raises(BatchFailed):
        asyncio.run(create(url))
    assert len(seen) == 1
    with _serving(429, 200) as (url, seen):
        assert asyncio.run(create(url)) == "batch_1"


def test_a_batch_that_failed_as_a_whole_says_why() -> None:
    """The errors of a batch that the provider would not begin are in its progress."""
    failed = b'{"id": "b", "status": "failed", "errors": {"data": [{"message": "Enqueued token limit reached"}]}}'
    with _serving(200, text=failed) as (url, _):
        assert _progress(url) == BatchProgress("b", "failed", 0, 0, 0, True, (), "Enqueued token limit reached")


def test_batches_from_before_are_not_taken_for_ours(stub_server: StubFactory, tmp_path: Path) -> None:
    """Of Anthropic's batches those may be ours that were made since then, with as many requests."""
    server = stub_server()
    (tmp_path / "file.jsonl").write_bytes(b'{"custom_id": "a", "params": {}}\n')

    async def find() -> list[list[str]]:
        async with batches(parse_llm_spec(f"anthropic/m?base_url={server.url}")) as endpoints:
            id = await endpoints.create(tmp_path / "file.jsonl", "")
            now = datetime.now(UTC)
            later = (now + timedelta(hours=1)).isoformat()
            asked = [(now.isoformat(), 1), (later, 1), (now.isoformat(), 2)]
            return [[id], *[await endpoints.find("", since, requests) for since, requests in asked]]

    ours, *rest = asyncio.run(find())
    assert rest == [ours, [], []]


def _progress(url: str) -> BatchProgress:
    async def asked() -> BatchProgress:
        async with batches(parse_llm_spec(f"openai/m?base_url={url}")) as endpoints:
            return await endpoints.progress("b")

    return asyncio.run(asked())


@contextmanager
def _serving(
    *statuses: int, text: bytes = b'{"id": "batch_1", "status": "completed"}'
) -> Iterator[tuple[str, list[str]]]:
    """A server that answers with these statuses, the last for ever; its address, and the paths it was asked."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            seen.append(self.path)
            status = statuses[min(len(seen), len(statuses)) - 1]
            body = text if status == 200 else b'{"error": {"message": "no"}}'
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *arguments: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1", seen
        server.shutdown()
        thread.join()
