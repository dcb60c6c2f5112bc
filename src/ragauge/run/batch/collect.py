"""Files of requests to their provider, and its results back into the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec

from ragauge.errors import BadData
from ragauge.host import open_file
from ragauge.judges.llm.judge import unanswered
from ragauge.judges.llm.messages import Completion, TokenUsage
from ragauge.judges.llm.packing import Pack
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

#: How many results are kept at a time.
AT_ONCE = 256

#: Bytes of a line of results; no more of a longer one is held in memory.
MOST_LINE = 16_000_000


class Imported(msgspec.Struct):
    """The outcome of an import; every line is counted once.

    replies: lines with a reply, good or bad. refused: lines with an error instead, by reason. first: the first error of
    each reason. repeated: lines of requests whose reply was imported before. foreign: lines that this folder did not
    ask. unreadable: lines that are no results, each with its place and the reason. answered: questions with an answer;
    faults: questions that a reply did not answer, by reason. spent: calls, tokens and price.
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
        """How many of them are nothing that this folder asked for."""
        return self.foreign + len(self.unreadable)


def import_results(folder: Folder, paths: Iterable[Path], progress: Callable[[int], None] | None = None) -> Imported:
    """Import files of results, whole or not, in any order. To import a line twice does nothing.

    Raises BadData for a file that cannot be read, or none of whose lines were asked by this folder.
    """
    imported = Imported()
    with Store.open(folder.settings.store) as store:
        importing = _Importing(folder, store, imported)
        for path in paths:
            lines, strange = imported.lines, imported.strange
            importing.take(path, progress)
            read = imported.lines - lines
            if read and read == imported.strange - strange:
                first = f"; the first is {imported.unreadable[0]}" if imported.unreadable else ""
                raise BadData(
                    f"{path}: none of its {read} lines answers a request of {folder.path}; give files of results, "
                    f"as the provider returned them{first}"
                )
    return imported


class _Taken(NamedTuple):
    """A reply read. answers, failures: by question."""

    entry: LedgerEntry
    call: Call
    answers: dict[Question, Answer]
    failures: dict[Question, Failure]


class _Importing:
    """An import under way. The store is written first: what it holds when an import is killed is not kept twice."""

    def __init__(self, folder: Folder, store: Store, imported: Imported) -> None:
        self._folder, self._store, self._imported = folder, store, imported
        self._kept = {call.id for call in store.calls() if call.id.startswith(folder.token)}

    def take(self, path: Path, progress: Callable[[int], None] | None) -> None:
        """Import a file, some lines at a time."""
        results = self._results(path)
        while some := list(islice(results, AT_ONCE)):
            self._keep(some)
            if progress:
                progress(self._imported.lines)

    def _results(self, path: Path) -> Iterator[BatchResult]:
        """The results of a file; lines that are none are noted."""
        try:
            with open_file(path, pipes=True) as file:
                for number, line in enumerate(_lines(file), 1):
                    if not line.isspace():
                        try:
                            yield read_result(line)
                        except ValueError as error:
                            self._imported.unreadable.append(f"{path}, line {number}: {error}")
        except OSError as error:
            raise BadData(f"{path}: {error.strerror}; give files of results") from error

    def _keep(self, results: Sequence[BatchResult]) -> None:
        imported, ledger = self._imported, self._folder.ledger
        with ledger.writing():
            taken: dict[str, _Taken] = {}
            for result in results:
                entry = ledger.entry(result.id)
                if entry is None:
                    imported.foreign += 1
                elif entry.replied or result.id in taken:
                    imported.repeated += 1
                elif isinstance(result.outcome, Fault):
                    self._refused(entry, result.outcome)
                else:
                    taken[entry.id] = self._read(entry, result.outcome)
            self._store_answers(taken.values())
            for reply in taken.values():
                self._settle(reply)

    def _read(self, entry: LedgerEntry, completion: Completion) -> _Taken:
        member, questions = self._folder.members[entry.spec], entry.questions
        style = member.policy().style
        completion = msgspec.structs.replace(completion, text=redacted(completion.text))
        reply = parse_reply(Pack(questions, style.shuffle), completion.text, style, completion.tokens)
        failures = {questions[position]: unanswered(completion, fault) for position, fault in reply.faults.items()}
        answers: dict[Question, Answer] = {}
        for position, raw in reply.answers.items():
            answer = normalised(questions[position], raw)
            kept: dict[Question, Any] = failures if isinstance(answer, Failure) else answers
            kept[questions[position]] = answer
        usage, price = completion.usage or TokenUsage(), member.price()
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
        return _Taken(entry, call, answers, failures)

    def _refused(self, entry: LedgerEntry, fault: Fault) -> None:
        """A request came back with an error: note it, and let its questions be asked again, unless that is vain."""
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
            self._folder.ledger.release([entry.id])
        else:
            keys = self._folder.members[entry.spec].keys(entry.questions)
            self._folder.ledger.settle(entry, (), dict.fromkeys(keys, failure))

    def _store_answers(self, taken: Iterable[_Taken]) -> None:
        fresh = [reply for reply in taken if reply.call.id not in self._kept]
        judgments = []
        for reply in fresh:
            member = self._folder.members[reply.entry.spec]
            rows = zip(reply.answers.items(), member.keys(reply.answers), strict=True)
            judgments += [Judgment(*pair, member.identity, key, reply.call.id) for pair, key in rows]
        self._store.keep(judgments, [reply.call for reply in fresh])

    def _settle(self, reply: _Taken) -> None:
        imported = self._imported
        self._kept.add(reply.call.id)
        imported.replies += 1
        imported.spent.add(reply.call)
        imported.answered += len(reply.answers)
        imported.faults.update(failure.reason for failure in reply.failures.values())
        keys = self._folder.members[reply.entry.spec].keys
        failed = dict(zip(keys(reply.failures), reply.failures.values(), strict=True))
        self._folder.ledger.settle(reply.entry, keys(reply.answers), failed)
        self._folder.ledger.replied(reply.entry.id)


def give_back(folder: Folder, files: Iterable[str]) -> int:
    """Let what is still waited for in these files be asked again; how many requests that is."""
    with folder.ledger.writing():
        ids = [id for file in files for id in folder.ledger.waiting_in(file)]
        folder.ledger.release(ids)
    return len(ids)


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file; the beginning of one that is longer than MOST_LINE, which no decoder will accept."""
    while line := file.readline(MOST_LINE):
        yield line
        while len(line) == MOST_LINE and not line.endswith(b"\n"):
            line = file.readline(MOST_LINE)


class Sent(NamedTuple):
    """A file that is a batch now. found: it was one already, made by a command that was killed."""

    file: LedgerFile
    batch: str
    found: bool


class Fetched(NamedTuple):
    """A file whose batch is over. imported: what came of it. again: how many requests got no result."""

    file: LedgerFile
    progress: BatchProgress
    imported: Imported
    again: int


async def submit_async(folder: Folder, on_sent: Callable[[Sent], None] | None = None) -> list[Sent]:
    """Send what is exported and was not sent; `on_sent` is called with each file once it is a batch.

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
    """Make a batch of a file, unless one was made of it by a command that was killed before it could say so."""
    if file.since:
        of_other_files = {other.batch for other in folder.ledger.files()}
        for batch in reversed(await provider.find(file.upload, file.since, file.requests)):
            if batch not in of_other_files:
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


async def status_async(folder: Folder) -> list[tuple[LedgerFile, BatchProgress | None]]:
    """All files, with how far their batches are where they are sent and not fetched. Raises as `submit`."""
    async with _open(folder) as provider:
        return [
            (file, await (await provider(file)).progress(file.batch) if file.under_way else None)
            for file in folder.ledger.files()
        ]


async def fetch_async(folder: Folder, progress: Callable[[int], None] | None = None) -> list[Fetched]:
    """Download the results of the batches that ended, and import them. Raises as `submit`."""
    fetched = []
    async with _open(folder) as provider:
        for file in folder.ledger.files():
            if file.under_way:
                batches = await provider(file)
                how_far = await batches.progress(file.batch)
                if how_far.ended:
                    fetched.append(await _fetched(folder, batches, file, how_far, progress))
    return fetched


async def _fetched(
    folder: Folder, batches: Batches, file: LedgerFile, how_far: BatchProgress, progress: Callable[[int], None] | None
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


def lost(folder: Folder, files: Iterable[LedgerFile]) -> int:
    """Let what came back from nobody be asked again, unless a provider is at it; how many requests that is."""
    return give_back(folder, [file.name for file in files if not file.under_way])


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
