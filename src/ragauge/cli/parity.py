"""`ragauge parity`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ragauge.analysis.parity import choose, measuring, parity
from ragauge.analysis.parity_columns import NAMING, PEERS, read_sheet
from ragauge.analysis.parity_results import PARITY_WRITERS
from ragauge.cli.options import judge_option, output_option, work_options
from ragauge.cli.run import end
from ragauge.cli.running import measure
from ragauge.cli.screen import say
from ragauge.errors import BadParameter
from ragauge.metrics.registry import split_specs
from ragauge.report.files import check_ending, check_place
from ragauge.run.results import Run


@click.command("parity")
@click.argument("scores")
@click.option("--against", type=click.Choice(list(PEERS)), required=True, help="The system that SCORES are of.")
@click.option("--data", help="The samples, where they are not in SCORES.")
@click.option("--run", "beside", metavar="RUN", help="A run in the store, or latest, instead: nothing is judged.")
@click.option("-m", "--metrics", metavar="LIST", help="Only these of ours. [default: all that SCORES has columns for]")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="THEIRS=OURS",
    help="Compare this column, repeatable; NAME/100=... if it is in per cent, 1-NAME=... if it says the reverse.",
)
@click.option(
    "-j", "--judge", "judges", multiple=True, metavar="JUDGE", help="As for `ragauge run`. [default: embedded]"
)
@work_options
@click.option(
    "--show", type=click.IntRange(min=0), default=3, show_default=True, metavar="N", help="Rows shown for each cause."
)
@output_option("Write the comparison", PARITY_WRITERS)
def command(
    scores: str,
    against: str,
    data: str | None,
    beside: str | None,
    metrics: str | None,
    columns: Sequence[str],
    judges: Sequence[str],
    work: dict[str, Any],
    show: int,
    output: Sequence[Path],
) -> None:
    """Put another system's SCORES beside ours on the same rows, and say why they differ.

    SCORES is its file of scores, in any form that `ragauge run` reads: a row per sample under the system's own column
    names, or one row of numbers for the whole data set. The samples are read from it too, and measured now, unless
    --data or --run names them.
    """
    for path in output:
        check_ending(path, PARITY_WRITERS)
        check_place(path, filter(None, (scores, data)))
    if data and beside:
        raise BadParameter("give --data or --run, not both: a run has its samples")
    store, map = work.pop("store"), work["map"]
    if beside and store is None:
        raise BadParameter("--run names a run in the store; leave out --no-store")
    sheet = read_sheet(scores, {} if data else {field: map[field] for field in NAMING if field in map})
    if not (data or beside or any(line.query or line.response for line in sheet.lines)):
        raise BadParameter(f"{scores} holds no samples; name them with --data FILE, or a run of them with --run RUN")
    kept = choose(sheet, against, _columns(columns), split_specs(metrics or ""))
    if beside:
        run = Run.open(store, beside)
    else:
        judge = judge_option(judges)
        run = measure(data or scores, "judging", store, metrics=measuring(kept), judge=judge, **work)
    found = parity(run, sheet, against, columns=_columns(columns), metrics=split_specs(metrics or ""), show=show)
    say(*str(found).splitlines())
    for path in output:
        say(f"wrote {found.save(path)}")
    end(run, (), store)


def _columns(given: Sequence[str]) -> dict[str, str]:
    """--column: theirs to ours; both may hold an "=" in brackets."""
    matches = [(one, re.fullmatch(r"(.+)=([^=()]+(?:\(.*\))?[.\w]*)", one)) for one in given]
    for one, match in matches:
        if match is None:
            raise BadParameter(f"--column {one!r}: write --column THEIRS=OURS")
    return {match[1]: match[2] for _, match in matches if match}
