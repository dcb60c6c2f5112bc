"""A run as a pandas frame."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ragauge.errors import MissingExtra
from ragauge.report.files import columns, rows
from ragauge.scores import RunRecord, SampleRecord

if TYPE_CHECKING:
    import pandas


def run_frame(run: RunRecord, samples: Iterable[SampleRecord]) -> pandas.DataFrame:
    """One row per sample; see `ragauge.report.files.rows`. Raises MissingExtra where pandas is not installed."""
    try:
        import pandas
    except ImportError:
        raise MissingExtra("to_pandas()", "pandas") from None
    frame = pandas.DataFrame(list(rows(run, samples)), columns=columns(run))
    texts = {"id", "query", "response", "remarks"}
    return frame.astype({column: float for column in frame.columns if column not in texts})
