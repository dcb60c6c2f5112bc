"""Exporting: the questions that nobody has answered yet, as files of requests for a provider's batch."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, closing
from pathlib import Path

import msgspec

from ragauge.errors import RagaugeError
from ragauge.judges.base import ContextJudge, Judge, JudgeRouter, RunContext
from ragauge.judges.llm import pricing, prompts
from ragauge.judges.llm.messages import Prompt, TokenUsage
from ragauge.judges.llm.pricing import reasoning_tokens
from ragauge.judges.llm.prompts import Pack, PackingPolicy, PackLimits
from ragauge.judges.llm.transport.batches import LIMITS, request_line
from ragauge.judges.llm.transport.client import PROTOCOLS
from ragauge.kinds.windows import SplitQuestion
from ragauge.needs.base import Rounds
from ragauge.questions import KINDS, Judgment, Question, judgment_key
from ragauge.run.batch.folder import BatchMember, Folder, LedgerEntry, QuestionStatus
from ragauge.run.prepare import Prepared, prepared
from ragauge.run.sync import blocking, ordered_map
from ragauge.store import Store
from ragauge.types import Answer, Failure, Sample

#: How many samples are looked at concurrently.
AT_ONCE = 32

#: The answer to a question while its batch is not done.
PENDING = Failure("pending", "its answer is still to come from a batch")

#: Failures that are quoted where a question was asked alone and is asked again.
_QUOTED = frozenset({"invalid_answer", "truncated"})


class ExportedBatch(msgspec.Struct):
    """The outcome of an export.

    wave: its number, 0 where there was nothing to write. requests, questions: how many are in `files`. tokens, dollars:
    what they are expected to take; dollars is None where the price is not known. waiting: how many requests of earlier
    waves have no result yet. unanswered: why questions were given up, by question.
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
        await _walk(prepared(settings.request(wave.router(), store)), wave, progress)
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


class DeferredJudge(ContextJudge):
    """Answers no question: each is written into a request, and is PENDING until the result is in the store.

    It has the identity of the LLM judge that it stands in for, so that a store treats answers from a batch and live
    ones alike. A question that came back without an answer is asked again in a smaller call, then alone, and then is
    given up with the failure of its last reply.
    """

    answers = frozenset(KINDS)
    by_sample = 32

    def __init__(self, member: BatchMember, wave: _ExportRound) -> None:
        self.identity = member.identity
        self._member, self._wave, self._policy = member, wave, member.policy

    async def consult(self, questions: Sequence[Question], context: RunContext) -> list[Answer | Failure]:
        """PENDING for each question, or the failure with which it was given up.

        What is too long for a call is asked in parts, whose answers the context knows later.
        """
        splits = {question: in_parts for question in questions if (in_parts := self._split(question))}
        parts = list(dict.fromkeys(part for in_parts in splits.values() for part in in_parts.parts))
        answers = dict(zip(parts, await context.ask(self, parts), strict=True)) if parts else {}
        self._write([question for question in questions if question not in splits])
        return [
            _merged(splits[question], answers) if question in splits else self._failure(question)
            for question in questions
        ]

    def _split(self, question: Question) -> SplitQuestion | None:
        """The parts of a question that is too long for a call, or that the server found too long by itself."""
        outweighs = self._policy.style.support_outweighs
        if in_parts := question.in_parts(self._policy.limits.limit(question), outweighs):
            return in_parts
        failed = self._failed_alone(question)
        return question.in_halves(outweighs) if failed and failed.reason == "too_long" else None

    def _status(self, question: Question) -> QuestionStatus | None:
        return self._wave.folder.ledger.standing(judgment_key(question, self.identity))

    def _failed_alone(self, question: Question) -> Failure | None:
        status = self._status(question)
        return status.failure if status and status.alone else None

    def _failure(self, question: Question) -> Failure:
        status = self._status(question)
        return (status.failure if status and status.given_up else None) or PENDING

    def _write(self, questions: Iterable[Question]) -> None:
        """Write requests for what is neither waiting nor given up; questions asked equally often share requests."""
        by_tries: dict[int, list[Question]] = {}
        for question in questions:
            status = self._status(question)
            if status is None or not (status.waiting or status.given_up):
                by_tries.setdefault(status.tries if status else 0, []).append(question)
        for tries, group in by_tries.items():
            for pack in _smaller(self._policy, tries).packs(group):
                self._write_request(pack, tries)

    def _write_request(self, pack: Pack, tries: int) -> None:
        """Write the request of a pack, named by a hash of it."""
        spec, style = self._member.asked, self._policy.style
        prompt = self._prompt(pack)
        form = self._wave.forms[self._member.spec]
        body = PROTOCOLS[spec.provider.protocol].body(prompt, spec.model, spec.options, form)
        prefix = msgspec.json.encode((self.identity, tries, pack.questions))
        reasoning = reasoning_tokens(spec.model, spec.options.reasoning_effort)
        expected = TokenUsage(pricing.prompt_tokens(prompt), pricing.completion_tokens(pack, style) + reasoning)
        id = hashlib.sha256(prefix + body).hexdigest()[:32]
        self._wave.add(self._member, id, body, pack.questions, expected)

    def _prompt(self, pack: Pack) -> Prompt:
        """The prompt of a pack; for a question that failed alone it quotes what was wrong."""
        prompt = prompts.prompt_of(pack, self._policy.style)
        failure = self._failed_alone(pack.questions[0]) if len(pack.questions) == 1 else None
        if failure is None or failure.reason not in _QUOTED:
            return prompt
        return prompts.repeat_prompt(prompt, failure.raw or "", {0: failure.detail})


def _smaller(policy: PackingPolicy, tries: int) -> PackingPolicy:
    """The policy by the number of tries: unchanged, a quarter as much in a call, one question a call."""
    full = policy.limits
    quarter = PackLimits(full.prompt_chars, max(1, full.verdicts // 4), full.decompose_chars // 4)
    return msgspec.structs.replace(policy, limits=quarter if tries == 1 else full, alone=policy.alone or tries > 1)


def _merged(split: SplitQuestion, answers: Mapping[Question, Answer | Failure]) -> Answer | Failure:
    """The answer to a whole; a part that was given up decides, whatever others are still waited for."""
    failures = (answer for part in split.parts if isinstance(answer := answers[part], Failure))
    given_up = next((failure for failure in failures if failure != PENDING), None)
    return given_up or split.answer(answers)


class _ExportRound:
    """What one export writes. Its files have their names only once it is finished.

    forms: by spec, the form of requests that the model's server is known to understand.
    """

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.forms = {spec: folder.form(spec) for spec in folder.members}
        files = folder.ledger.files()
        self._number = 1 + max((file.wave for file in files), default=0)
        self._outboxes: list[_Outbox] = []
        self._exported = ExportedBatch(waiting=sum(file.waiting for file in files))

    def router(self) -> JudgeRouter:
        """The judges of the run, with requests in place of those that are models."""
        deferred = {spec: DeferredJudge(member, self) for spec, member in self.folder.members.items()}
        judges: dict[str, Judge] = {**self.folder.live}
        judges |= {kind: deferred[member.spec] for kind, member in self.folder.by_kind.items()}
        return JudgeRouter({kind: judges[kind] for kind in self.folder.settings.judges})

    def add(
        self, member: BatchMember, id: str, body: bytes, questions: tuple[Question, ...], expected: TokenUsage
    ) -> None:
        """Write a request into a file of its model."""
        exported, price = self._exported, member.price
        outbox = self._outbox(member, request_line(member.asked.provider.protocol, id, body) + b"\n")
        form = msgspec.json.encode(self.forms[member.spec]).decode()
        entry = LedgerEntry(id, member.spec, form, questions, waiting=True, replied=False)
        self.folder.ledger.add(entry, outbox.name, member.keys(questions))
        exported.requests += 1
        exported.questions += len(questions)
        before = exported.tokens
        exported.tokens = TokenUsage(before.prompt + expected.prompt, before.completion + expected.completion)
        exported.dollars = None if exported.dollars is None or price is None else exported.dollars + price.of(expected)

    def _outbox(self, member: BatchMember, line: bytes) -> _Outbox:
        """The file that a line was written to: the last one of its model, or a new one where that is full."""
        mine = [outbox for outbox in self._outboxes if outbox.member is member]
        if mine and mine[-1].took(line):
            return mine[-1]
        name = f"wave-{self._number:02}-{len(self._outboxes) + 1}.jsonl"
        outbox = _Outbox(self.folder.path / name, member)
        self._outboxes.append(outbox)
        outbox.took(line)
        self.folder.ledger.add_file(name, self._number, member.spec)
        return outbox

    def holds_up(self, judgments: Mapping[Question, Judgment]) -> bool:
        """Whether a sample must wait for a result; takes note of what was given up.

        Raises RagaugeError where requests could not be written.
        """
        failures = {
            judgment.question: judgment.answer
            for judgment in judgments.values()
            if isinstance(judgment.answer, Failure)
        }
        models = {member.identity for member in self.folder.members.values()}
        for question, failure in failures.items():
            if failure.reason == "judge_error" and judgments[question].judge in models:
                raise RagaugeError(f"{self.folder.path}: {failure.detail}; nothing was exported")
        lost = {question: failure for question, failure in failures.items() if failure != PENDING}
        self._exported.unanswered.update(lost)
        return len(lost) < len(failures)

    def close(self) -> None:
        """Close the files; those that were not finished keep no name."""
        for outbox in self._outboxes:
            outbox.file.close()

    def finished(self) -> ExportedBatch:
        """Give the files their names, and say what was done."""
        exported = self._exported
        exported.files += [outbox.finished() for outbox in self._outboxes]
        exported.wave = self._number if exported.files else 0
        return exported


class _Outbox:
    """A file of requests to one model under way."""

    def __init__(self, path: Path, member: BatchMember) -> None:
        self.member = member
        self.name = path.name
        self.file = path.with_suffix(".part").open("wb")
        self._path = path
        self._requests = 0

    def took(self, line: bytes) -> bool:
        """Add a line, unless the file is full; the first is always taken."""
        limit = LIMITS[self.member.asked.provider.protocol]
        full = self._requests >= limit.requests or self.file.tell() + len(line) > limit.bytes
        if self._requests and full:
            return False
        self.file.write(line)
        self._requests += 1
        return True

    def finished(self) -> Path:
        """The file, on the disk and under its name."""
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()
        return self._path.with_suffix(".part").replace(self._path)
