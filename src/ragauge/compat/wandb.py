"""Weights & Biases: runs in its projects; docs/trackers.md. WANDB_MODE=offline keeps them on this machine."""

from __future__ import annotations

import tempfile
from itertools import islice
from pathlib import Path
from typing import Any

import ragauge as rg
from ragauge.compat.tracking import MOST_CLAIMS, TrackerError, numbers, parameters
from ragauge.host import optional
from ragauge.report.files import COLUMNS, claims


def check_installed() -> Any:
    """The library. Raises MissingExtra where it is not installed."""
    return optional("ragauge.compat.wandb", "wandb", "wandb")


def log_run(run: rg.Run, project: str) -> str:
    """Log a run to a project: estimates as its summary, claims as a table, the report as an artifact.

    Each estimate has `.low`, `.high`, `.n`, `.undefined` and `.failed` beside it; a number that does not exist is left
    out. Judges, metrics and data are the configuration.

    Returns:
        The id of the run there.

    Raises:
        MissingExtra: wandb is not installed.
        TrackerError: the project cannot be reached, or no key is set.
    """
    wandb = check_installed()
    settings = wandb.Settings(silent=True, disable_code=True, disable_git=True, x_disable_stats=True, console="off")
    try:
        name = run.record.name or run.id
        with wandb.init(project=project, name=name, config=parameters(run.record), settings=settings) as logged:
            logged.summary.update(numbers(run.record))
            table = wandb.Table(columns=list(COLUMNS))
            for row in islice(claims(run.records()), MOST_CLAIMS):
                table.add_data(*(", ".join(cell) if isinstance(cell, list) else cell for cell in row.values()))
            logged.log({"claims": table})
            with tempfile.TemporaryDirectory() as folder:
                report = wandb.Artifact(f"report-{logged.id}", type="report")
                report.add_file(str(run.save(Path(folder) / "report.html")))
                logged.log_artifact(report)
            return str(logged.id)
    except (wandb.errors.Error, OSError) as error:
        raise TrackerError(f"wandb:{project}", error) from error
