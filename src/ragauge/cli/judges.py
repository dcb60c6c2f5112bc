"""`ragauge judges`."""

from __future__ import annotations

from pathlib import Path

import click

from ragauge.run.specs import DESCRIPTIONS, judge_of


@click.group("judges", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """List the judges, or measure one against people's labels."""
    if ctx.invoked_subcommand:
        return
    for spec, description in DESCRIPTIONS.items():
        click.echo(f"{spec:<18} {description}")
    answers = ", ".join(sorted(judge_of("embedded").answers))
    click.echo(f"\nembedded answers: {answers}. In Python any function can judge: ragauge.judge_from(...).")


@command.command("measure")
@click.argument("judge", default="embedded")
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    required=True,
    help="Folder of labelled sets (.jsonl.gz).",
)
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", help="At most N rows of each set, drawn with a fixed seed."
)
@click.option("--set", "sets", multiple=True, metavar="NAME", help="Only this set, repeatable.")
def measure_command(judge: str, data: Path, limit: int | None, sets: tuple[str, ...]) -> None:
    """Measure JUDGE against people's labels: AUC and balanced accuracy per set, with 95 % intervals."""
    raise NotImplementedError
