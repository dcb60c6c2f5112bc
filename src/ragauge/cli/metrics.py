"""`ragauge metrics`."""

from __future__ import annotations

import inspect

import click

from ragauge.cli.screen import screen
from ragauge.metrics.catalogue import ALIASES, METRICS, named
from ragauge.metrics.metric import Metric


@click.command("metrics")
@click.argument("name", required=False)
def command(name: str | None) -> None:
    """List the metrics, or tell all about one of them."""
    if name:
        click.echo(_about(named(name)))
        return
    from rich import box
    from rich.table import Table

    table = Table("metric", "", "reads", "asks", "what it is", box=box.SIMPLE_HEAD, pad_edge=False)
    for metric in METRICS:
        table.add_row(metric.name, _arrow(metric), ", ".join(_reads(metric)), ", ".join(_asks(metric)), metric.summary)
    screen().print(table)
    aliases = ", ".join(f"{alias} = {name}" for alias, name in ALIASES.items())
    click.echo(f"Also: {aliases}; composite(METRIC=WEIGHT,...); pooled(METRIC). One in full: ragauge metrics NAME")


def _about(metric: Metric) -> str:
    params = ", ".join(f"{key}={value}" for key, value in metric.defaults.items()) or "none"
    return "\n".join(
        [
            f"{metric.key}  {metric.scale[0]:g}..{metric.scale[1]:g}, {metric.better} is better",
            "",
            inspect.getdoc(metric.function) or "",
            "",
            f"reads: {', '.join(_reads(metric))}",
            f"asks: {', '.join(_asks(metric)) or 'nothing'}",
            f"parameters: {params}",
            f"values: {', '.join(metric.values)}",
        ]
    )


def _arrow(metric: Metric) -> str:
    return "↑" if metric.better == "higher" else "↓"


def _reads(metric: Metric) -> list[str]:
    return list(dict.fromkeys(field for need in metric.needs for field in need.reads))


def _asks(metric: Metric) -> list[str]:
    return sorted({topic for need in metric.needs for topic in need.asks})
