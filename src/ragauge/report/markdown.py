"""A run as Markdown: the estimates, and the samples that scored worst with the evidence for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ragauge.report.wording import (
    arrow,
    chunk_words,
    flat,
    footnotes,
    headline,
    interval,
    number,
    score_words,
    shortened,
    verdict_words,
)
from ragauge.report.worst import chooser, worst
from ragauge.scores import RunRecord, SampleRecord

#: How many samples the report shows.
SHOWN = 10

#: Characters that the report has at most. GitHub takes comments of 65,536; the rest is room for words around it.
LENGTH = 60_000

#: Characters that are shown of a response, and of any other text.
RESPONSE, TEXT = 2000, 300


def run_markdown(run: RunRecord, samples: Iterable[SampleRecord]) -> str:
    """The report: what was measured, every estimate, and the worst samples with their evidence.

    It is fit for a comment on a pull request: it is not too long, and no text in it pings anybody or loads anything.
    """
    report = "\n".join(_lines(run))[:LENGTH] + "\n"
    key = _key(run)
    return report if key is None else report + _worst_part(run, samples, key, LENGTH - len(report))


def _key(run: RunRecord) -> str | None:
    """The metric whose worst samples are shown: that of a gate that failed, or else the usual one."""
    failed = [gate.metric for gate in run.gates if gate.failure(run.estimates)]
    shown = (key for key in failed if key in run.estimates and run.estimates[key].over == "samples")
    return next(shown, None) or chooser(run)


def _lines(run: RunRecord) -> Iterator[str]:
    yield f"# {plain(run.name or 'Run ' + run.id)}"
    yield ""
    yield plain(f"{headline(run)}, ragauge {run.version}, started {run.started}.")
    yield ""
    yield from _gate_lines(run)
    yield from estimates_lines(run)
    yield ""
    yield from (f"- {plain(shortened(note, 2 * TEXT))}" for note in footnotes(run))


def _gate_lines(run: RunRecord) -> Iterator[str]:
    for gate in run.gates:
        failure = gate.failure(run.estimates)
        yield f"- ❌ **{plain(failure)}**" if failure else f"- ✅ {plain(str(gate))}"
    if run.gates:
        yield ""


def _worst_part(run: RunRecord, samples: Iterable[SampleRecord], key: str, room: int) -> str:
    """The worst samples, folded; as many as there is room for."""
    begin, end = f"\n<details><summary>Worst by {plain(key)}</summary>\n", "\n</details>\n"
    room -= len(begin) + len(end)
    parts = []
    for record in worst(samples, key, run.estimates[key].better, SHOWN):
        part = "\n".join(sample_lines(record, key)) + "\n"
        room -= len(part)
        if room < 0:
            break
        parts.append(part)
    return "".join([begin, *parts, end])


def estimates_lines(run: RunRecord) -> Iterator[str]:
    """The table of estimates."""
    yield "| metric | better | value | 95 % interval | n | undefined | failed |"
    yield "|---|---|---|---|---|---|---|"
    for key, estimate in run.estimates.items():
        cells = (
            plain(key),
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
    asked = shortened(record.sample.query or record.sample.source or "", 100)
    yield f"### {plain(record.sample.id)}: {plain(asked)}"
    yield ""
    yield f"**{plain(f'{key} {score_words(score)}')}**"
    yield ""
    yield _quoted(record.sample.response or "")
    yield ""
    for piece in score.evidence:
        yield f"- {verdict_words(piece)}: {plain(shortened(piece.text, TEXT))}"
        yield from (f"  - {plain(line)}" for line in chunk_words(piece, record))


def _quoted(text: str) -> str:
    cut = text if len(text) <= RESPONSE else text[: RESPONSE - 1] + "…"
    lines: Sequence[str] = cut.splitlines() or ["(empty)"]
    return "\n".join(f"> {plain(line.strip())}".rstrip() for line in lines)


#: What Markdown, or GitHub in it, would take for more than text: a mention would ping people, an image be loaded, and
#: "::error::" or "##[error]" be obeyed where a job prints its summary.
_ACTIVE = re.compile(
    r"[\\`*~$]|^[#>]|(?<=#)#(?=\w*\[)|(?<![\w:]):(?=:\w)|(?<!\w)_|_(?!\w)|(?<=!)\[|\](?=[(\[])|@(?=\w)|<(?=[A-Za-z/!?])|&(?=#?\w+;)"
)
_HARMLESS = {"<": "&lt;", "&": "&amp;", "@": "@<!-- -->"}


def plain(line: str) -> str:
    """A line that Markdown shows as it stands."""
    return _ACTIVE.sub(lambda found: _HARMLESS.get(found[0], "\\" + found[0]), flat(line))
