"""`ragauge metrics` and `ragauge docs`: what can be measured, and the pages of the documentation."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ragauge.cli.main import say, show_parts
from ragauge.cli.options import complete_metrics
from ragauge.errors import BadParameter, UnknownName
from ragauge.metrics.base import Metric, pass_all, pooled
from ragauge.metrics.registry import ALIASES, CATALOGUE, composite, installed_metric, installed_names, metric_named
from ragauge.report.text import rich_table
from ragauge.report.wording import arrow

#: The forms that combine metrics, and what makes them.
COMBINED: dict[str, tuple[str, Callable[..., Any]]] = {
    "composite": ("composite(METRIC=WEIGHT,...)", composite),
    "pooled": ("pooled(METRIC)", pooled),
    "pass_all": ("pass_all(K,METRIC)", pass_all),
}


@click.command("metrics")
@click.argument("name", required=False, shell_complete=complete_metrics)
def metrics_command(name: str | None) -> None:
    """List the metrics, or describe one in full. Those of installed packages are listed too."""
    if name:
        if combined := COMBINED.get(name.partition("(")[0]):
            form, function = combined
            text, _, _ = inspect.cleandoc(function.__doc__ or "").partition("\n\nRaises")
            say(form, "", *text.splitlines())
        else:
            say(*_about(metric_named(name)).splitlines())
        return
    metrics, faults = list(CATALOGUE), []
    for installed_name in installed_names():
        try:
            metrics.append(installed_metric(installed_name))
        except BadParameter as error:
            faults.append(str(error))
    rows = [(metric.name, arrow(metric.better), _reads(metric), metric.caption or metric.summary) for metric in metrics]
    columns = ("metric", "", "reads", "what it counts")
    show_parts(rich_table(columns, rows, left=columns))
    say(
        *faults,
        f"Also: trust; {'; '.join(form for form, _ in COMBINED.values())}. One in full: ragauge metrics NAME",
        f"Other names: {', '.join(f'{alias} = {name}' for alias, name in ALIASES.items())}",
    )


def _about(metric: Metric) -> str:
    asks = sorted({topic for need in metric.needs for topic in need.asks})
    purposes = "\n".join(f"  {name}: {text}" for name, text in metric.described.items() if text)
    parts = (
        f"{metric.key}  {metric.scale[0]:g}..{metric.scale[1]:g}, {metric.better} is better",
        inspect.getdoc(metric.function) or "",
        purposes,
        f"""counts: {metric.caption or "see above"}
reads: {_reads(metric)}
asks: {", ".join(asks) or "nothing"}
parameters: {", ".join(metric.usage) or "none"}
values: {", ".join(metric.values)}""",
    )
    return "\n\n".join(filter(None, parts))


def _reads(metric: Metric) -> str:
    return ", ".join(dict.fromkeys(field for need in metric.needs for field in need.reads))


def _pages() -> dict[str, Path]:
    """The pages of the documentation, which the wheel holds and an editable installation reads from the repository."""
    packaged = Path(__file__).parents[1] / "docs"
    folder = packaged if packaged.is_dir() else Path(__file__).parents[3] / "docs"
    folders = (folder.name, "migrating", "measured", "decisions")
    paths = sorted(folder.rglob("*.md"), key=lambda path: (folders.index(path.parent.name), path.name))
    return {path.relative_to(folder).with_suffix("").as_posix(): path for path in paths}


@click.command("docs")
@click.argument("page", required=False)
def docs_command(page: str | None) -> None:
    """List the pages of the documentation, or show PAGE. It is Markdown; one is embedded-judge."""
    pages = _pages()
    if page is None:
        listed = {name: path for name, path in pages.items() if not name.startswith("decisions/0")}
        texts = {name: path.read_text(encoding="utf-8") for name, path in listed.items()}
        say(*(f"{name:<27} {text.partition(chr(10))[0].removeprefix('# ')}" for name, text in texts.items()))
        return
    name = page.removeprefix("docs/").removesuffix(".md")
    if name not in pages:
        raise UnknownName("page", page, pages, listing="(`ragauge docs` lists all)")
    click.echo_via_pager(pages[name].read_text(encoding="utf-8").removesuffix("\n"))
