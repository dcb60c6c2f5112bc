"""Exporting: the questions that nobody has answered yet, as files of requests for a provider's batch."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing, closing
from pathlib import Path
from typing import BinaryIO

import msgspec

from ragauge.errors import RagaugeError
from ragauge.judges.llm.deferred import PENDING, DeferredRequest, QuestionStatus, batch_price
from ragauge.judges.llm.messages import TokenUsage
from ragauge.judges.llm.transport.batches import LIMITS, request_line
from ragauge.judges.llm.transport.protocols import ServerFeatures
from ragauge.needs.base import Rounds
from ragauge.questions import Judgment, Question, judgment_key
from ragauge.run.batch.folder import UNANSWERED, BatchMember, Folder, LedgerEntry
from ragauge.run.prepare import Prepared, prepared
from ragauge.run.sync import blocking, ordered_map
from ragauge.store import Store
from ragauge.types import Failure, Identity, Sample

#: How many samples are looked at side by side.
AT_ONCE = 32


class ExportedBatch(msgspec.Struct):
    """What an export came to.

    wave: its number, 0 where there was nothing to write. files: what was written. requests, questions: how many are in
    them. tokens, dollars: what they are expected to take; dollars is None where the price is not known. waiting: how
    many requests of earlier waves have no result yet. unanswered: why questions were given up, by question.
    """

    wave: int = 0
    files: list[Path] = []
    requests: int = 0
    questions: int = 0
    tokens: TokenUsage = TokenUsage()
    dollars: float | None = 0.0
    waiting: int = 0
    unanswered: dict[Question, Failure] = {}

    @property
    def done(self) -> bool:
        """Whether nothing is asked any more."""
        return not self.requests and not self.waiting


async def export_async(folder: Folder, progress: Callable[[int], None] | None = None) -> ExportedBatch:
    """Write what can be asked now and is not under way: texts to take apart first, what hangs on them in later waves.

    Judges that are no models answer at once, into the store. The new files and what the ledger says of them come into
    being together; an export that is killed leaves nothing behind, and the next one writes the same.

    Raises what `evaluate` raises before it asks, and RagaugeError where the folder cannot be written.
    """
    settings = folder.settings
    with Store.open(settings.store) as store, folder.ledger.writing(), closing(_ExportRound(folder)) as wave:
        task = prepared(
            settings.data,
            settings.metrics,
            folder.router(wave),
            store,
            settings.labels,
            settings.map,
            settings.group,
            settings.limit,
            settings.skip_bad_rows,
        )
        await _walk(task, wave, progress)
        return wave.finished()


export = blocking(export_async, "export")


async def _walk(task: Prepared, wave: _ExportRound, progress: Callable[[int], None] | None) -> None:
    """Put to the judges what each sample asks, as far as that is known."""
    needs = [need for metric in task.settings.metrics for need in metric.needs]

    async def ask(sample: Sample) -> None:
        waves = Rounds(sample, needs)
        while questions := waves.questions:
            judgments = await task.dispatcher.answer(questions)
            if wave.holds_up(judgments):
                return
            waves.advance(judgments)
            task.settings.check_judges(task.dispatcher.unable)

    async with task.dispatcher.opened(), aclosing(ordered_map(task.samples, ask, AT_ONCE)) as asked:
        done = 0
        async for _ in asked:
            done += 1
            if progress:
                progress(done)


class _ExportRound:
    """The book of one export. Its files have their names only once it is finished."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._by_identity = {member.identity: member for member in folder.members.values()}
        self._forms = {spec: folder.form(spec) for spec in folder.members}
        files = folder.ledger.files()
        self._number = 1 + max((file.wave for file in files), default=0)
        self._outboxes: list[_Outbox] = []
        self._exported = ExportedBatch(waiting=sum(file.waiting for file in files))

    def status(self, key: str) -> QuestionStatus | None:
        """How the question stands whose judgment has this key."""
        return self._folder.ledger.standing(key)

    def features(self, judge: Identity) -> ServerFeatures:
        """The form of requests to a judge's server."""
        return self._forms[self._by_identity[judge].spec]

    def add(self, judge: Identity, request: DeferredRequest) -> None:
        """Write a request into a file of its model."""
        member, exported = self._by_identity[judge], self._exported
        outbox = self._outbox(member, request_line(member.asked.provider.protocol, request.id, request.body) + b"\n")
        form = msgspec.json.encode(self._forms[member.spec]).decode()
        entry = LedgerEntry(request.id, member.spec, form, request.questions, waiting=True, replied=False)
        keys = [judgment_key(question, judge) for question in request.questions]
        self._folder.ledger.add(entry, outbox.name, keys)
        exported.requests += 1
        exported.questions += len(request.questions)
        expected, before, price = request.expected, exported.tokens, batch_price(member.asked)
        exported.tokens = TokenUsage(before.prompt + expected.prompt, before.completion + expected.completion)
        known = exported.dollars is not None and price is not None
        exported.dollars = (exported.dollars or 0.0) + price.of(expected) if known and price else None

    def _outbox(self, member: BatchMember, line: bytes) -> _Outbox:
        """The file that a line was written to: the last one of its model, or a new one where that is full."""
        mine = [outbox for outbox in self._outboxes if outbox.member is member]
        if mine and mine[-1].took(line):
            return mine[-1]
        name = f"wave-{self._number:02}-{len(self._outboxes) + 1}.jsonl"
        outbox = _Outbox(self._folder.path / name, member)
        self._outboxes.append(outbox)
        outbox.took(line)
        self._folder.ledger.add_file(name, self._number, member.spec)
        return outbox

    def holds_up(self, judgments: Mapping[Question, Judgment]) -> bool:
        """Whether a sample must wait for a result; takes note of what was given up.

        Raises RagaugeError where requests could not be written.
        """
        failures = {one.question: one.answer for one in judgments.values() if isinstance(one.answer, Failure)}
        for question, failure in failures.items():
            if failure.reason == "judge_error" and judgments[question].judge in self._by_identity:
                raise RagaugeError(f"{self._folder.path}: {failure.detail}; nothing was exported")
        lost = {question: failure for question, failure in failures.items() if failure != PENDING}
        self._exported.unanswered.update(lost)
        return len(lost) < len(failures)

    def close(self) -> None:
        """Close the files; those that were not finished keep no name."""
        for outbox in self._outboxes:
            outbox.close()

    def finished(self) -> ExportedBatch:
        """Give the files their names, and say what was done."""
        exported = self._exported
        for outbox in self._outboxes:
            exported.files.append(outbox.finished())
        exported.wave = self._number if exported.files else 0
        if exported.unanswered:
            _write_lines(self._folder.path / UNANSWERED, exported.unanswered)
        else:
            (self._folder.path / UNANSWERED).unlink(missing_ok=True)
        return exported


class _Outbox:
    """A file of requests to one model under way."""

    def __init__(self, path: Path, member: BatchMember) -> None:
        self.member = member
        self.name = path.name
        self.requests = 0
        self._path = path
        self._limit = LIMITS[member.asked.provider.protocol]
        self._size = 0
        self._file: BinaryIO = path.with_suffix(".part").open("wb")

    def took(self, line: bytes) -> bool:
        """Add a line, unless the file is full; the first is always taken."""
        full = self.requests >= self._limit.requests or self._size + len(line) > self._limit.bytes
        if self.requests and full:
            return False
        self._file.write(line)
        self.requests += 1
        self._size += len(line)
        return True

    def close(self) -> None:
        """Close it; to close twice does nothing."""
        self._file.close()

    def finished(self) -> Path:
        """The file, on the disk and under its name."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self.close()
        return self._path.with_suffix(".part").replace(self._path)


def _write_lines(path: Path, unanswered: Mapping[Question, Failure]) -> None:
    lines: Sequence[bytes] = [
        msgspec.json.encode({"question": question, **msgspec.structs.asdict(failure)})
        for question, failure in unanswered.items()
    ]
    path.write_bytes(b"\n".join(lines) + b"\n")
