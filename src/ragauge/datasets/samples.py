"""What building and generating share: samples with notes on failures, processed concurrently and written in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ragauge.errors import UsageError
from ragauge.needs.base import EvidenceTable, Failed, Need, NeedOutcome, Rounds
from ragauge.readers import SampleReader, read
from ragauge.report.files import check_place, replacing
from ragauge.run.asking import Dispatcher
from ragauge.run.budget import Stopped
from ragauge.run.prepare import StoreLike
from ragauge.run.sync import ordered_map
from ragauge.types import Chunk, Sample, TotalUsage

#: The key of a sample's metadata for its failures: part of the sample -> why it is missing.
FAILED = "failed"
#: The key of a sample's metadata for the judge that added citations, where the system gave none.
CITED_BY = "cited_by"

ProgressCallback = Callable[[int], None]
SampleWork = Callable[[Sample], Awaitable[Sample]]


@dataclass(frozen=True, kw_only=True)
class SampleOptions:
    """Options that `build`, `generate` and `questions` share.

    map, limit: as in `read`. skip_bad_rows: also files and rows of a corpus. max_cost: in dollars; samples beyond it
    lack what was to be made, which they record. progress: called with the number of samples done.
    """

    store: StoreLike = None
    map: Mapping[str, str] | None = None
    limit: int | None = None
    skip_bad_rows: bool = False
    max_cost: float | None = None
    progress: ProgressCallback | None = None

    def read(self, data: Any) -> SampleReader:
        """The samples of data of any form. Raises as `ragauge.read` does."""
        return read(data, map=self.map, skip_bad_rows=self.skip_bad_rows, limit=self.limit)


class Failures(Counter[str]):
    """Part of a sample -> the number of samples that lack it. first: part -> the reason of its first failure."""

    def __init__(self) -> None:
        super().__init__()
        self.first: dict[str, str] = {}


@dataclass(kw_only=True)
class SampleSet:
    """Samples in order, with a record of how they were made; one that lacks a part has the reason in its metadata.

    failures: the number of samples that lack each part; another attempt may succeed. asked, reused: the number of
    questions or prompts that were asked, and that the store could answer. stopped: why asking stopped early, or "".
    bad_rows: the errors of rows that were skipped on request.
    """

    samples: list[Sample] = field(default_factory=list)
    failures: Failures = field(default_factory=Failures)
    asked: int = 0
    reused: int = 0
    spent: TotalUsage = field(default_factory=TotalUsage)
    stopped: str = ""
    bad_rows: tuple[str, ...] = ()

    async def fill(
        self, reader: SampleReader, samples: Iterable[Sample], work: SampleWork, width: int, options: SampleOptions
    ) -> None:
        """Add the results of `work` on each sample that was read, in order, with up to `width` samples at once."""
        async with aclosing(ordered_map(samples, work, width)) as results:
            async for sample in results:
                self.samples.append(sample)
                if options.progress:
                    options.progress(len(self.samples))
        self.bad_rows = tuple(str(bad) for bad in reader.bad_rows)

    def save(self, path: str | Path) -> Path:
        """Write the samples as JSON Lines for `ragauge run`, whole or not at all. Raises UsageError."""
        with replacing(Path(path)) as part:
            part.write_bytes(msgspec.json.Encoder().encode_lines(self.samples))
        return Path(path)

    def fail(self, sample: Sample, part: str, reason: object) -> Sample:
        """The sample with a note on the part that it lacks, which is counted as a failure."""
        self.failures[part] += 1
        self.failures.first.setdefault(part, str(reason))
        return add_metadata(sample, **{FAILED: {**sample.metadata.get(FAILED, {}), part: str(reason)}})

    def stop(self, sample: Sample, part: str, stopped: Stopped) -> Sample:
        """The same, for a sample that lacks a part because asking stopped."""
        self.stopped = self.stopped or str(stopped)
        return self.fail(sample, part, f"stopped: {stopped}")

    async def resolve(
        self, dispatcher: Dispatcher, sample: Sample, need: Need[EvidenceTable], part: str
    ) -> NeedOutcome | Sample:
        """The outcome of a need of a sample, or the sample with a note why the part that needs it is missing."""
        rounds = Rounds(sample, [need])
        try:
            while questions := rounds.questions:
                rounds.advance(await dispatcher.answer(questions))
        except Stopped as stopped:
            return self.stop(sample, part, stopped)
        outcome = rounds.outcomes[need.name]
        return self.fail(sample, part, outcome.reason) if isinstance(outcome, Failed) else outcome


def without_notes(sample: Sample) -> Sample:
    """The sample without the notes of an earlier attempt."""
    return without_metadata(sample, FAILED, CITED_BY)


SampleOrChunk = TypeVar("SampleOrChunk", Sample, Chunk)


def add_metadata(of: SampleOrChunk, **more: Any) -> SampleOrChunk:
    """The sample or chunk with more metadata."""
    return msgspec.structs.replace(of, metadata={**of.metadata, **more})


def without_metadata(of: SampleOrChunk, *keys: str) -> SampleOrChunk:
    """The sample or chunk without this metadata."""
    return msgspec.structs.replace(of, metadata={key: of.metadata[key] for key in of.metadata if key not in keys})


def with_top_documents(sample: Sample, top: int | None) -> Sample:
    """The sample with its first `top` documents; if others are dropped, it may be answerable no longer."""
    kept = sample.contexts and sample.contexts[:top]
    is_uncertain = sample.answerable is True and kept != sample.contexts
    return msgspec.structs.replace(sample, contexts=kept, answerable=None if is_uncertain else sample.answerable)


def check_samples_output(path: Path, inputs: Iterable[str | Path | None]) -> None:
    """Raise UsageError where samples cannot be written to `path`, or where it is one of the `inputs`."""
    if path.suffix.lower() != ".jsonl":
        raise UsageError(f"cannot write {path.name!r}: samples are written as JSON Lines; name it {path.stem}.jsonl")
    check_place(path, inputs)
