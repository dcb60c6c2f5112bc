"""Sending: files of requests to their provider, and its results back into the store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from ragauge.errors import BadData
from ragauge.judges.llm.transport.batches import Batches, BatchFailed, BatchProgress, batches
from ragauge.run.batch.folder import Folder
from ragauge.run.batch.importing import Imported, give_back, import_results
from ragauge.run.batch.ledger import File
from ragauge.run.blocking import blocking


class Sent(NamedTuple):
    """A file that is a batch now. found: it was one already, made by a command that did not live to see it."""

    file: File
    batch: str
    found: bool


class Fetched(NamedTuple):
    """A file whose batch is over. imported: what came of it. again: how many requests got no result."""

    file: File
    progress: BatchProgress
    imported: Imported
    again: int


async def submit_async(folder: Folder, told: Callable[[Sent], None] | None = None) -> list[Sent]:
    """Send what is exported and was not sent; `told` is called with each file as soon as it is a batch.

    Raises UsageError where a key is missing, BatchFailed where a provider refuses.
    """
    sent = []
    async with _open(folder) as provider:
        for file in folder.ledger.files():
            if file.untouched:
                sent.append(await _sent(folder, await provider(file), file))
                if told:
                    told(sent[-1])
    return sent


async def _sent(folder: Folder, provider: Batches, file: File) -> Sent:
    """Make a batch of a file, unless one was made of it by a command that was killed before it could say so."""
    if file.since:
        known = {one.batch for one in folder.ledger.files()}
        for batch in reversed(await provider.found(file.upload, file.since, file.requests)):
            if batch not in known:
                with folder.ledger.writing():
                    folder.ledger.sent(file.name, batch)
                return Sent(file, batch, found=True)
    path = folder.path / file.name
    upload = file.upload or await provider.upload(path)
    now = datetime.now(UTC).isoformat()
    with folder.ledger.writing():
        folder.ledger.begin_sending(file, upload, now)
    with folder.ledger.writing():  # held while the batch is made, so that no other command makes one too
        folder.ledger.check_sending(file, upload, now)
        batch = await provider.create(path, upload)
        folder.ledger.sent(file.name, batch)
    return Sent(file, batch, found=False)


async def status_async(folder: Folder) -> list[tuple[File, BatchProgress | None]]:
    """All files, with how far their batches are where they are sent and not fetched. Raises as `submit`."""
    found = []
    async with _open(folder) as provider:
        for file in folder.ledger.files():
            under_way = bool(file.batch) and not file.ended
            found.append((file, await (await provider(file)).progress(file.batch) if under_way else None))
    return found


async def fetch_async(folder: Folder, progress: Callable[[int], None] | None = None) -> list[Fetched]:
    """Download the results of the batches that ended, and import them. Raises as `submit`."""
    fetched = []
    async with _open(folder) as provider:
        for file in folder.ledger.files():
            if file.batch and not file.ended:
                batches = await provider(file)
                how_far = await batches.progress(file.batch)
                if how_far.ended:
                    fetched.append(await _fetched(folder, batches, file, how_far, progress))
    return fetched


async def _fetched(
    folder: Folder, batches: Batches, file: File, how_far: BatchProgress, progress: Callable[[int], None] | None
) -> Fetched:
    """What came of a batch that ended; what it has no result for is to be asked again."""
    path = folder.path / f"{Path(file.name).stem}-results.jsonl"
    if not path.exists():
        await batches.download(how_far, path)
    try:
        imported = import_results(folder, [path], progress)
    except BadData as error:
        path.unlink()
        with folder.ledger.writing():
            folder.ledger.unsent(file.name)
        raise BatchFailed(f"{file.batch} is not the batch of {file.name}; send that again: {error}") from error
    again = give_back(folder, [file.name])
    with folder.ledger.writing():
        folder.ledger.end(file.name)
    return Fetched(file, how_far, imported, again)


submit = blocking(submit_async, "submit")
status = blocking(status_async, "status")
fetch = blocking(fetch_async, "fetch")


def lost(folder: Folder, files: Iterable[File]) -> int:
    """Let what came back from nobody be asked again, unless a provider is at it; how many requests that is."""
    return give_back(folder, [file.name for file in files if not file.batch or file.ended])


@asynccontextmanager
async def _open(folder: Folder) -> AsyncIterator[Callable[[File], Awaitable[Batches]]]:
    """Gives a function from a file to the open endpoints of its model; each is opened when it is first needed."""
    opened: dict[str, Batches] = {}
    async with AsyncExitStack() as stack:

        async def provider(file: File) -> Batches:
            if file.spec not in opened:
                opened[file.spec] = await stack.enter_async_context(batches(folder.members[file.spec].asked))
            return opened[file.spec]

        yield provider
