"""The report. It turns the record of a run and its samples into documents, tables and files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragauge.lazy import public_names

if TYPE_CHECKING:
    from ragauge.report.sections import report_section as report_section

__getattr__, __dir__, __all__ = public_names(
    __name__,
    {
        "report.sections": "report_section",
    },
)
