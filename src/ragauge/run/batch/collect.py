"""Sending files of requests to their provider, and importing its results into the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple

import msgspec

from ragauge.errors import BadData
from ragauge.host import open_file
from ragauge.judges.llm.judge import unanswered
from ragauge.judges.llm.messages import Completion, TokenUsage
from ragauge.judges.llm.prompts import Pack
from ragauge.judges.llm.replies import parse_reply
from ragauge.judges.llm.transport.batches import (
    Batches,
    BatchFailed,
    BatchProgress,
    BatchResult,
    batches,
    failure_of,
    may_pass,
    read_result,
)
from ragauge.judges.llm.transport.protocols import ServerFeatures, downgraded
from ragauge.judges.llm.transport.session import Fault
from ragauge.questions import Judgment, Question
from ragauge.redaction import redacted
from ragauge.run.asking import normalised
from ragauge.run.batch.folder import Folder, LedgerEntry, LedgerFile
from ragauge.run.sync import blocking
from ragauge.store import Store
from ragauge.types import Answer, Call, Failure, TotalUsage

#: How many results are written to the store at a time.
RESULTS_AT_ONCE = 256

#: No more of a line of results is held in memory.
MAX_LINE_BYTES = 16_000_000


class Imported(msgspec.Struct):
    """The outcome of an import; every line is counted once.

    replies: lines with a reply, good or bad. refused: lines with an error instead, by reason. first: the first error of
    each reason. repeated: lines of requests whose reply was imported before. foreign: lines that answer no request of
    this folder. unreadable: lines that are not results, each with its place and the reason. answered: questions with an
    answer; faults: questions that a reply did not answer, by reason. spent: calls, tokens and price.
    """

    replies: int = 0
    refused: Counter[str] = msgspec.field(default_factory=Counter)
    first: dict[str, str] = {}
    repeated: int = 0
    foreign: int = 0
    unreadable: list[str] = []
    answered: int = 0
    faults: Counter[str] = msgspec.field(default_factory=Counter)
    spent: TotalUsage = msgspec.field(default_factory=TotalUsage)

    @property
    def lines(self) -> int:
        """How many lines were read."""
        return self.replies + self.refused.total() + self.repeated + self.strange

    @property
    def strange(self) -> int:
        """How many lines answer no request of this folder."""
        return self.foreign + len(self.unreadable)


def import_results(folder: Folder, paths: Iterable[Path], progress: Callable[[int], None] | None = None) -> Imported:
    """Import files of results, whole or not, in any order. To import a line twice does nothing.

    Args:
        folder: the batch folder whose requests the results answer.
        paths: the files of results.
        progress: called with the number of lines read so far.

    Raises:
        BadData: a file cannot be read, or none of its lines answers a request of this folder.
    """
    imported = Imported()
    with Store.open(folder.settings.store) as store:
        importer = _Importer(folder, store, imported)
        for path in paths:
            lines_before, strange_before = imported.lines, imported.strange
            importer.import_file(path, progress)
            read = imported.lines - lines_before
            strange = f": {imported.unreadable[0]}" if imported.unreadable else ""
            if read and read == imported.strange - strange_before:
                problem = f"none of its {read} lines answers a request of {folder.path}{strange}"
                raise BadData(f"{path}: {problem}; give its results")
    return imported


class _Reply(NamedTuple):
    """A reply to a request. answers, failures: by question."""

    entry: LedgerEntry
    call: Call
    answers: dict[Question, Answer]
    failures: dict[Question, Failure]


class _Importer:
    """Imports results. The store is written before the ledger: calls that it holds already are not stored twice."""

    def __init__(self, folder: Folder, store: Store, imported: Imported) -> None:
        self._folder, self._store, self._imported = folder, store, imported
        self._stored_calls = {call.id for call in store.calls() if call.id.startswith(folder.token)}

    def import_file(self, path: Path, progress: Callable[[int], None] | None) -> None:
        """Import a file, RESULTS_AT_ONCE at a time."""
        results = self._results(path)
        while next_results := list(islice(results, RESULTS_AT_ONCE)):
            self._keep(next_results)
            if progress:
                progress(self._imported.lines)

    def _results(self, path: Path) -> Iterator[BatchResult]:
        """The results of a file; lines that are not results are noted."""
        try:
            with open_file(path, pipes=True) as file:
                for number, line in enumerate(_lines(file), 1):
                    if line.isspace():
                        continue
                    try:
                        yield read_result(line)
                    except ValueError as error:
                        self._imported.unreadable.append(f"{path}, line {number}: {error}")
        except OSError as error:
            raise BadData(f"{path}: {error.strerror}; give files of results") from error

    def _keep(self, results: Sequence[BatchResult]) -> None:
        imported, ledger = self._imported, self._folder.ledger
        with ledger.writing():
            replies: dict[str, _Reply] = {}
            for result in results:
                entry = ledger.entry(result.id)
                if entry is None:
                    imported.foreign += 1
                elif entry.replied or result.id in replies:
                    imported.repeated += 1
                elif isinstance(result.outcome, Fault):
                    self._note_refusal(entry, result.outcome)
                else:
                    replies[entry.id] = self._read(entry, result.outcome)
            self._store_answers(replies.values())
            for reply in replies.values():
                self._settle(reply)

    def _read(self, entry: LedgerEntry, completion: Completion) -> _Reply:
        member, questions = self._folder.members[entry.spec], entry.questions
        style = member.policy.style
        completion = msgspec.structs.replace(completion, text=redacted(completion.text))
        reply = parse_reply(Pack(questions, style.shuffle), completion.text, style, completion.tokens)
        failures = {questions[position]: unanswered(completion, fault) for position, fault in reply.faults.items()}
        answers: dict[Question, Answer] = {}
        for position, raw in reply.answers.items():
            question = questions[position]
            answer = normalised(question, raw)
            if isinstance(answer, Failure):
                failures[question] = answer
            else:
                answers[question] = answer
        usage, price = completion.usage or TokenUsage(), member.price
        call = Call(
            id=f"{self._folder.token}-{entry.id}",
            asked=len(entry.questions),
            model=completion.model,
            prompt_tokens=usage.prompt,
            cached_tokens=usage.cached,
            completion_tokens=usage.completion,
            cost=price.of(usage) if price and completion.usage else None,
            fault=str(next(iter(failures.values()), ""))[:200],
        )
        return _Reply(entry, call, answers, failures)

    def _note_refusal(self, entry: LedgerEntry, fault: Fault) -> None:
        """Note that a request came back with an error; its questions are asked again where that can help."""
        failure = failure_of(fault)
        self._imported.refused[failure.reason] += 1
        self._imported.first.setdefault(failure.reason, failure.detail)
        form = msgspec.json.decode(entry.form, type=ServerFeatures)
        simpler = downgraded(form, fault)
        if simpler and self._folder.form(entry.spec) == form:
            self._folder.learn(entry.spec, simpler)
        if not entry.waiting:
            return
        if simpler or may_pass(fault):
            self._folder.ledger.release(entry.id)
        else:
            keys = self._folder.members[entry.spec].keys(entry.questions)
            self._folder.ledger.settle(entry, (), dict.fromkeys(keys, failure), replied=False)

    def _store_answers(self, replies: Iterable[_Reply]) -> None:
        unstored = [reply for reply in replies if reply.call.id not in self._stored_calls]
        judgments = []
        for reply in unstored:
            member = self._folder.members[reply.entry.spec]
            for (question, answer), key in zip(reply.answers.items(), member.keys(reply.answers), strict=True):
                judgments.append(Judgment(question, answer, member.identity, key, reply.call.id))
        self._store.keep(judgments, [reply.call for reply in unstored])

    def _settle(self, reply: _Reply) -> None:
        imported = self._imported
        self._stored_calls.add(reply.call.id)
        imported.replies += 1
        imported.spent.add(reply.call)
        imported.answered += len(reply.answers)
        imported.faults.update(failure.reason for failure in reply.failures.values())
        keys = self._folder.members[reply.entry.spec].keys
        failed = dict(zip(keys(reply.failures), reply.failures.values(), strict=True))
        self._folder.ledger.settle(reply.entry, keys(reply.answers), failed, replied=True)


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file; a line longer than MAX_LINE_BYTES is cut there, and no decoder will accept it."""
    while line := file.readline(MAX_LINE_BYTES):
        yield line
        while len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
            line = file.readline(MAX_LINE_BYTES)


class Sent(NamedTuple):
    """A file that is a batch now. existed: the batch was made before, by a command that was killed."""

    file: LedgerFile
    batch: str
    existed: bool


class Fetched(NamedTuple):
    """A file whose batch has ended. imported: its results. again: how many requests got none, and are asked again."""

    file: LedgerFile
    progress: BatchProgress
    imported: Imported
    again: int


async def submit_async(folder: Folder, on_sent: Callable[[Sent], None] | None = None) -> list[Sent]:
    """Send the exported files that were not sent; `on_sent` is called with each file once it is a batch.

    Raises UsageError where a key is missing, BatchFailed where a provider refuses.
    """
    sent = []
    async with _open(folder) as provider:
        for file in folder.ledger.files():
            if file.untouched:
                sent.append(await _sent(folder, await provider(file), file))
                if on_sent:
                    on_sent(sent[-1])
    return sent


async def _sent(folder: Folder, provider: Batches, file: LedgerFile) -> Sent:
    """Make a batch of a file, unless a command that was killed made one before it could note so."""
    if file.since:
        noted_batches = {other.batch for other in folder.ledger.files()}
        for batch in reversed(await provider.find(file.upload, file.since, file.requests)):
            if batch not in noted_batches:
                with folder.ledger.writing():
                    folder.ledger.sent(file.name, batch)
                return Sent(file, batch, existed=True)
    path = folder.path / file.name
    upload = file.upload or await provider.upload(path)
    now = datetime.now(UTC).isoformat()
    with folder.ledger.writing():
        folder.ledger.begin_sending(file, upload, now)
    with folder.ledger.writing():  # held while the batch is made, so that no other command makes one too
        folder.ledger.check_sending(file, upload, now)
        batch = await provider.create(path, upload)
        folder.ledger.sent(file.name, batch)
    return Sent(file, batch, existed=False)


async def status_async(folder: Folder) -> list[tuple[LedgerFile, BatchProgress | None]]:
    """All files, with the progress of those that are sent and not fetched. Raises as `submit`."""
    files: list[tuple[LedgerFile, BatchProgress | None]] = []
    async with _open(folder) as provider:
        for file in folder.ledger.files():
            progress = None
            if file.under_way:
                progress = await (await provider(file)).progress(file.batch)
            files.append((file, progress))
    return files


async def fetch_async(folder: Folder, progress: Callable[[int], None] | None = None) -> list[Fetched]:
    """Download the results of the batches that ended, and import them. Raises as `submit`."""
    fetched = []
    async with _open(folder) as provider:
        for file in folder.ledger.files():
            if file.under_way:
                endpoint = await provider(file)
                batch_progress = await endpoint.progress(file.batch)
                if batch_progress.ended:
                    fetched.append(await _fetched(folder, endpoint, file, batch_progress, progress))
    return fetched


async def _fetched(
    folder: Folder,
    endpoint: Batches,
    file: LedgerFile,
    batch_progress: BatchProgress,
    progress: Callable[[int], None] | None,
) -> Fetched:
    """Import the results of a batch that ended; requests without a result are to be asked again."""
    path = folder.path / f"{Path(file.name).stem}-results.jsonl"
    if not path.exists():
        await endpoint.download(batch_progress, path)
    try:
        imported = import_results(folder, [path], progress)
    except BadData as error:
        path.unlink()
        with folder.ledger.writing():
            folder.ledger.unsent(file.name)
        raise BatchFailed(f"{file.batch} is not the batch of {file.name}; send that again: {error}") from error
    with folder.ledger.writing():
        again = folder.ledger.release_waiting(file.name)
        folder.ledger.end(file.name)
    return Fetched(file, batch_progress, imported, again)


submit = blocking(submit_async, "submit")
status = blocking(status_async, "status")
fetch = blocking(fetch_async, "fetch")


def release_lost(folder: Folder) -> int:
    """Let the requests without a result be asked again, except those that a provider works on; return their number."""
    ledger = folder.ledger
    with ledger.writing():
        return sum(ledger.release_waiting(file.name) for file in ledger.files() if not file.under_way)


@asynccontextmanager
async def _open(folder: Folder) -> AsyncIterator[Callable[[LedgerFile], Awaitable[Batches]]]:
    """Gives a function from a file to the open endpoints of its model; each is opened when it is first needed."""
    opened: dict[str, Batches] = {}
    async with AsyncExitStack() as stack:

        async def provider(file: LedgerFile) -> Batches:
            if file.spec not in opened:
                opened[file.spec] = await stack.enter_async_context(batches(folder.members[file.spec].asked))
            return opened[file.spec]

        yield provider
