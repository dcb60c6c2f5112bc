"""Samples on their way: read from what people have, worked on side by side, and written in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from ragauge.errors import UsageError
from ragauge.needs.base import EvidenceTable, Need, NeedOutcome
from ragauge.report.files import check_place, replacing
from ragauge.rounds import Rounds
from ragauge.run.asking import Dispatcher, Stopped
from ragauge.run.scheduler import ordered_map
from ragauge.types import Sample, TotalUsage

#: The key of a sample's metadata under which it stands why a part of it is missing: part -> reason.
FAILED = "failed"

#: The key under which it stands which judge found the citations, where it was not the system itself.
CITED_BY = "cited_by"

ProgressCallback = Callable[[int], None]


class Failures(Counter[str]):
    """How often each part of samples failed for want of an answer, and the first reason of each."""

    def __init__(self) -> None:
        super().__init__()
        self.first: dict[str, str] = {}

    def note(self, part: str, reason: str) -> None:
        """Count a failure."""
        self[part] += 1
        self.first.setdefault(part, reason)


@dataclass(kw_only=True)
class SampleSet:
    """Samples, and what there is to say of how they were made.

    samples: as many as were given, in order. One that lacks something for want of an answer says so in its metadata,
    under "failed". failures: what samples lack so, which another attempt may bring. asked, reused: what was asked for,
    and what the store held. stopped: why nothing more was asked, where max_cost or the end of a judge or model came
    before that of the data. bad_rows: rows that were skipped on request.
    """

    samples: list[Sample] = field(default_factory=list)
    failures: Failures = field(default_factory=Failures)
    asked: int = 0
    reused: int = 0
    spent: TotalUsage = field(default_factory=TotalUsage)
    stopped: str = ""
    bad_rows: tuple[str, ...] = ()

    def save(self, path: str | Path) -> Path:
        """Write the samples as JSON Lines, which `ragauge run` reads. Raises UsageError."""
        write_samples(self.samples, Path(path))
        return Path(path)

    def lacking(self, sample: Sample, part: str, reason: object) -> Sample:
        """The sample with a word on what it lacks and why, which is counted."""
        self.failures.note(part, str(reason))
        return failed(sample, part, str(reason))

    def stop(self, sample: Sample, part: str, stopped: Stopped) -> Sample:
        """The same, where a sample lacks something because nothing more may be asked."""
        self.stopped = self.stopped or str(stopped)
        return self.lacking(sample, part, f"stopped: {stopped}")


def failed(sample: Sample, part: str, reason: str) -> Sample:
    """The sample with a word on what it lacks and why."""
    return with_metadata(sample, **{FAILED: {**sample.metadata.get(FAILED, {}), part: reason}})


def fresh(sample: Sample) -> Sample:
    """The sample without what an earlier attempt says of itself."""
    kept = {key: value for key, value in sample.metadata.items() if key not in (FAILED, CITED_BY)}
    return msgspec.structs.replace(sample, metadata=kept)


def with_metadata(sample: Sample, **more: Any) -> Sample:
    """The sample with more metadata."""
    return msgspec.structs.replace(sample, metadata={**sample.metadata, **more})


def with_first_documents(sample: Sample, top: int | None) -> Sample:
    """The sample with its first `top` documents, None for all.

    That there is an answer in the documents need not hold of fewer; that there is none does.
    """
    kept = sample.contexts and sample.contexts[:top]
    fewer_may_lack_it = sample.answerable is True and kept != sample.contexts
    return msgspec.structs.replace(sample, contexts=kept, answerable=None if fewer_may_lack_it else sample.answerable)


async def worked_out(asker: Dispatcher, sample: Sample, need: Need[EvidenceTable]) -> NeedOutcome:
    """What a need of one sample comes to. Raises Stopped."""
    waves = Rounds(sample, [need])
    while questions := waves.questions:
        waves.advance(await asker.answer(questions))
    return waves.outcomes[need.name]


async def worked(
    samples: Iterable[Sample],
    work: Callable[[Sample], Awaitable[Sample]],
    width: int,
    progress: ProgressCallback | None,
) -> list[Sample]:
    """What `work` makes of each sample, in order, many side by side. progress: called with the number done."""
    done: list[Sample] = []
    async with aclosing(ordered_map(samples, work, width)) as results:
        async for one in results:
            done.append(one)
            if progress:
                progress(len(done))
    return done


def check_samples_output(path: Path, inputs: Iterable[str | Path]) -> None:
    """Raise UsageError where samples cannot be written to `path`, or where it is one of the `inputs`."""
    if path.suffix.lower() != ".jsonl":
        raise UsageError(f"cannot write {path.name!r}: samples are written as JSON Lines; name it {path.stem}.jsonl")
    check_place(path, inputs)


def write_samples(samples: Iterable[Sample], path: Path) -> None:
    """Write samples as JSON Lines, whole or not at all. Raises UsageError where the file cannot be written."""
    with replacing(path) as part, part.open("wb") as file:
        for sample in samples:
            file.write(msgspec.json.encode(sample) + b"\n")
