"""A run as Markdown: the estimates, and the samples that scored worst with the evidence for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ragauge.nouns.records import RunRecord, SampleRecord
from ragauge.report.wording import (
    arrow,
    chunk_words,
    footnotes,
    headline,
    interval,
    number,
    printable,
    score_words,
    shortened,
    verdict_words,
)
from ragauge.report.worst import chooser, worst

#: How many samples the report shows.
SHOWN = 10


def run_markdown(run: RunRecord, samples: Iterable[SampleRecord]) -> str:
    """The report: what was measured, every estimate, and the worst samples with their evidence."""
    return "\n".join(_lines(run, samples)) + "\n"


def _lines(run: RunRecord, samples: Iterable[SampleRecord]) -> Iterator[str]:
    yield f"# {run.name or 'Run ' + run.id}"
    yield ""
    yield headline(run) + f", ragauge {run.version}, started {run.started}."
    yield ""
    yield from estimates_lines(run)
    yield ""
    yield from (f"- {note}" for note in footnotes(run))
    key = chooser(run)
    if key is None:
        return
    yield ""
    yield f"## Worst by {key}"
    for record in worst(samples, key, run.estimates[key].better, SHOWN):
        yield from sample_lines(record, key)


def estimates_lines(run: RunRecord) -> Iterator[str]:
    """The table of estimates."""
    yield "| metric | better | value | 95 % interval | n | undefined | failed |"
    yield "|---|---|---|---|---|---|---|"
    for key, estimate in run.estimates.items():
        cells = (
            key,
            arrow(estimate.better),
            number(estimate.value),
            interval(estimate),
            estimate.n,
            estimate.undefined,
            estimate.failed,
        )
        yield f"| {' | '.join(map(str, cells))} |"


def sample_lines(record: SampleRecord, key: str) -> Iterator[str]:
    """One sample: what was asked and answered, its score, and each piece that was judged."""
    score = record.score(key)
    yield ""
    yield f"### {record.sample.id}: {_plain(shortened(record.sample.query or record.sample.source or '', 100))}"
    yield ""
    yield f"**{key} {score_words(score)}**"
    yield ""
    yield _quoted(record.sample.response or "")
    yield ""
    for piece in score.evidence:
        yield f"- {verdict_words(piece)}: {_plain(shortened(piece.text, 300))}"
        yield from (f"  - {_plain(line)}" for line in chunk_words(piece, record))


def _quoted(text: str) -> str:
    lines: Sequence[str] = text.splitlines() or ["(empty)"]
    return "\n".join(f"> {_plain(line)}".rstrip() for line in lines)


def _plain(line: str) -> str:
    """A line that Markdown shows as it stands, as far as HTML goes."""
    return printable(line).replace("<", "&lt;")
