"""A run as text: in a terminal, in a notebook, and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ragauge.report.explain import HEADLINE, MAX_HEADLINES, certainty, chooser, deciding, piece_words, worst
from ragauge.report.sections import Section
from ragauge.report.wording import (
    BAD,
    arrow,
    caution,
    chunk_words,
    claims_line,
    counted,
    flat,
    footnotes,
    gate_words,
    headline,
    interval,
    number,
    one_line,
    score_words,
    shortened,
    shortfalls,
    verdict_words,
)
from ragauge.scores import RunRecord, SampleRecord
from ragauge.types import POSITIVE, Sample

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.console import RenderableType as RenderableType
    from rich.segment import Segment
    from rich.table import Table
    from rich.text import Text
else:
    RenderableType = Any  # rich is imported when something is shown


def plain_text(parts: Iterable[RenderableType], width: int) -> str:
    """These parts as a terminal of this width shows them, without colours."""
    console = printing_console(width=width, color_system=None, force_jupyter=False)
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    return "\n".join(map(str.rstrip, captured.get().rstrip().splitlines()))


def printing_console(**options: Any) -> Console:
    """A console that prints each string and Text, alone or in a cell, as one line without control characters."""
    from rich.console import Console
    from rich.text import Text

    class Printing(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(one_line(text), **options)

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            if isinstance(renderable, Text):
                renderable = renderable.copy()
                renderable.plain = one_line(renderable.plain)
            return super().render(renderable, options)

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Printing(highlight=False, markup=False, emoji=False, **options)


def run_view(
    run: RunRecord, sections: Sequence[Section] = (), shown: Collection[str] | None = None
) -> list[RenderableType]:
    """The headline, the estimates of the metrics `shown` (None: all), the sections, the footnotes and the caution."""
    estimates = {key: estimate for key, estimate in run.estimates.items() if shown is None or key in shown}
    table = estimates_table({"value": msgspec.structs.replace(run, estimates=estimates)})
    added = [part for section in sections for part in _section_view(section)]
    more = [name for name in (*run.estimates, *run.left_out) if name not in estimates] if shown is not None else []
    unmeasured = len(run.left_out.keys() & {*more})
    others = f"Not shown: {counted(len(more), 'other metric')} ({unmeasured} not measured); -m all shows them."
    notes = [
        *footnotes(run, None if shown is None else {*shown, *HEADLINE[:MAX_HEADLINES]}),
        *([others] if more and run.samples else []),
        *filter(None, [caution(run)]),
    ]
    return [headline(run), *filter(None, [claims_line(run)]), table, *added, *notes]


#: What stands in place of the worst samples by a metric where there are none.
PERFECT = "No answer is less than perfect by {}."


def worst_view(records: Sequence[SampleRecord], key: str, run: RunRecord) -> Iterator[RenderableType]:
    """The worst samples in short: query, response, and the claim that decides."""
    from rich.padding import Padding
    from rich.text import Text

    def indented(text: str, style: str = "") -> Padding:
        return Padding(Text(text, style=style), (0, 0, 0, 7), expand=False)

    if not records:
        yield PERFECT.format(key)
        return
    about = run.about.get(key, "")
    yield Text.assemble((f"Worst by {key}", "bold"), (f"  {about}" if about else "", "dim"))
    for record in records:
        piece, score = deciding(record.score(key), run.estimates[key].better), record.score(key)
        yield ""
        asked = shortened(record.sample.query or record.sample.source or "", 80)
        yield Text.assemble((f"{score_words(score)}  ", "bold"), (f"{record.sample.id}  ", "dim"), asked)
        yield indented(shortened(record.sample.response or "(empty)", 200))
        if piece is not None:
            style = "red" if piece.label in BAD else "yellow"
            sure = f", {certainty(piece):.0%} sure" if piece.label and piece.probability is not None else ""
            yield indented(f"{'✗' if piece.label in BAD else '○'} {piece_words(piece, record.sample)}{sure}", style)


#: The most characters of a line of a section; wider tables become several, each with the first column.
_WIDTH = 120


def _section_view(section: Section) -> Iterator[RenderableType]:
    yield section.title
    if section.description:
        yield section.description
    if section.rows:
        columns = list(zip(section.columns, *section.shown_rows(), strict=True))
        width = sum(max(map(len, column)) + 3 for column in columns)
        step = 4 if width > _WIDTH else len(columns)
        for start in range(1, max(2, len(columns)), step):
            head, *rows = zip(columns[0], *columns[start : start + step], strict=True)
            yield rich_table(head, rows, left=head)
    yield section.note


def rich_table(
    columns: Iterable[str],
    rows: Iterable[Iterable[str]],
    left: Collection[str] = (),
    whole: Collection[str] = (),
    styles: Iterable[str | None] = repeat(None),
    **options: Any,
) -> Table:
    """A table for the terminal. left: the columns aligned left; whole: those not wrapped; options: of rich's table."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, **options)
    for name in columns:
        justify: Literal["left", "right"] = "left" if name in left else "right"
        is_whole = name in whole
        table.add_column(name, justify=justify, no_wrap=is_whole, overflow="ellipsis" if is_whole else "fold")
    for cells, style in zip(rows, styles, strict=False):
        table.add_row(*cells, style=style)
    return table


def estimates_table(runs: dict[str, RunRecord]) -> Table:
    """The estimates of one run, or of several side by side under their names, each with its n."""
    columns = ["metric", *(column for name in runs for column in (name, "95 % interval", "n"))]
    columns += ["undefined", "failed"] if len(runs) == 1 else []
    columns += ["what it counts"]
    captions = {key: words for run in runs.values() for key, words in run.captions.items()}
    rows = []
    for key in dict.fromkeys(key for run in runs.values() for key in run.estimates):
        estimates = [run.estimates.get(key) for run in runs.values()]
        any_run = next(filter(None, estimates))
        cells = [f"{key} {arrow(any_run.better)}"]
        for estimate in estimates:
            cells += [number(estimate.value), interval(estimate), str(estimate.n)] if estimate else ["", "", ""]
        cells += [str(any_run.undefined or ""), str(any_run.failed or "")] if len(runs) == 1 else []
        rows.append([*cells, captions.get(key, "")])
    left = ("metric", "95 % interval", "what it counts")
    table = rich_table(columns, rows, left, whole=[name for name in columns if name not in ("n", "what it counts")])
    dim = dict.fromkeys(("95 % interval", "undefined", "what it counts"), "dim")
    styles = {"metric": "", "n": "", "failed": "red", **dim}
    for column in table.columns:
        column.style = styles.get(str(column.header), "bold")
    return table


def sample_view(record: SampleRecord, key: str) -> list[RenderableType]:
    """One sample: query, calls, response, its score by `key`, and each judged piece with the chunks behind it."""
    from rich.text import Text

    score = record.score(key)
    lines: list[RenderableType] = [
        Text.assemble((f"{record.sample.id}  ", "dim"), (record.sample.query or "", "bold")),
        *(Text(f"  {line}", style="dim") for line in call_lines(record.sample)),
        Text(shortened(record.sample.response or "(empty)", 600)),
        Text.assemble((f"{key} ", "dim"), (score_words(score), "bold")),
    ]
    for piece in score.evidence:
        style = "green" if piece.label in POSITIVE else "red" if piece.label in BAD else "yellow"
        reason = f"  ({shortened(piece.rationale)})" if piece.rationale else ""
        lines.append(Text.assemble("  ", (f"{verdict_words(piece)}  ", style), shortened(piece.text, 200), reason))
        lines.extend(Text(f"      {line}", style="dim") for line in chunk_words(piece, record.sample))
    return [*lines, ""]


#: The most calls of tools that are shown of a sample.
CALLS = 20


def call_lines(sample: Sample) -> list[str]:
    """The calls of a sample, each on a line, and how many more there are."""
    lines = [shortened(call.passage, TEXT) for call in sample.calls.values()]
    return lines[:CALLS] + ([f"and {counted(len(lines) - CALLS, 'more call')}"] if len(lines) > CALLS else [])


SHOWN = 10

#: The maximum length of the report. GitHub accepts comments of 65,536 characters; the rest is for other text.
LENGTH = 60_000

#: The characters shown of a response, and of any other text.
RESPONSE, TEXT = 2000, 300


def run_markdown(run: RunRecord, samples: Iterable[SampleRecord], sections: Sequence[Section] = ()) -> str:
    """The report: every estimate, and the worst samples by the metric of a gate that failed, or else by the usual one.

    It is safe as a comment on a pull request: short enough, and no text in it mentions anyone or loads anything.
    """
    report = "\n".join(_lines(run, sections))[:LENGTH] + "\n"
    key = chooser(run)
    if key is None:
        return report
    report += f"\n<details><summary>Worst by {plain(key)}</summary>\n"
    end = "\n</details>\n"
    shown = worst(samples, key, run.estimates[key], SHOWN)
    report += "" if shown else f"\n{PERFECT.format(plain(key))}\n"
    for record in shown:
        part = "\n".join(sample_lines(record, key)) + "\n"
        if len(report) + len(part) + len(end) > LENGTH:
            break
        report += part
    return report + end


def _lines(run: RunRecord, sections: Sequence[Section]) -> Iterator[str]:
    yield f"# {plain(run.name or 'Run ' + run.id)}"
    yield ""
    yield plain(f"{headline(run)}, ragauge {run.version}, started {run.started}.")
    yield ""
    if claims := claims_line(run):
        yield from (plain(claims), "")
    outcomes = [(True, fault) for fault in shortfalls(run)]
    outcomes += [(bool(gate.failure(run)), gate_words(run, gate)) for gate in run.gates]
    yield from (f"- ❌ **{plain(words)}**" if failed else f"- ✅ {plain(words)}" for failed, words in outcomes)
    if outcomes:
        yield ""
    head = ("metric", "better", "value", "95 % interval", "n", "undefined", "failed", "what it counts")
    rows = []
    for key, estimate in run.estimates.items():
        numbers = (number(estimate.value), interval(estimate), estimate.n, estimate.undefined, estimate.failed)
        rows.append([key, arrow(estimate.better), *map(str, numbers), run.captions.get(key, "")])
    yield from markdown_table(head, rows)
    yield ""
    yield from (f"- {plain(shortened(note, 2 * TEXT))}" for note in (*footnotes(run), caution(run)) if note)
    for section in sections:
        yield from ("", f"## {plain(section.title)}")
        if section.description:
            yield from ("", plain(shortened(section.description, 2 * TEXT)))
        if section.rows:
            yield ""
            yield from markdown_table(section.columns, section.shown_rows())
        if section.note:
            yield from ("", section.note)


def sample_lines(record: SampleRecord, key: str) -> Iterator[str]:
    """One sample: query, response, its score, and each judged piece."""
    score = record.score(key)
    yield ""
    asked = shortened(record.sample.query or record.sample.source or "", 100)
    yield f"### {plain(record.sample.id)}: {plain(asked)}"
    yield ""
    yield f"**{plain(f'{key} {score_words(score)}')}**"
    yield ""
    response = record.sample.response or ""
    cut = response if len(response) <= RESPONSE else response[: RESPONSE - 1] + "…"
    yield from (f"> {plain(line.strip())}".rstrip() for line in cut.splitlines() or ["(empty)"])
    yield ""
    yield from (f"- called {plain(line)}" for line in call_lines(record.sample))
    for piece in score.evidence:
        reason = f" ({plain(shortened(piece.rationale, TEXT))})" if piece.rationale else ""
        yield f"- {verdict_words(piece)}: {plain(shortened(piece.text, TEXT))}{reason}"
        yield from (f"  - {plain(line)}" for line in chunk_words(piece, record.sample))


#: What is more than text in Markdown or on GitHub: mentions, images, and the commands "::error::" and "##[error]" of CI
#: runners.
_ACTIVE = re.compile(
    r"[\\`*~$]|^[#>]|(?<=#)#(?=\w*\[)|(?<![\w:]):(?=:\w)|(?<!\w)_|_(?!\w)|(?<=!)\[|\](?=[(\[])|(?<![0-9A-Za-z_])@(?=\w)|<(?=[A-Za-z/!?])|&(?=#?\w+;)"
)
_HARMLESS = {"<": "&lt;", "&": "&amp;", "@": "@<!-- -->"}


def markdown_table(columns: Sequence[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """The lines of a table; its cells are shown literally."""
    yield f"| {' | '.join(map(_markdown_cell, columns))} |"
    yield "|" + "---|" * len(columns)
    yield from (f"| {' | '.join(map(_markdown_cell, cells))} |" for cells in rows)


def _markdown_cell(text: str) -> str:
    return plain(text.replace("|", "\N{DIVIDES}"))


def plain(line: str) -> str:
    """A line that Markdown shows literally."""
    return _ACTIVE.sub(lambda match: _HARMLESS.get(match[0], "\\" + match[0]), flat(line))
