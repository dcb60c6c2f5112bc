"""The public names and their modules, for `ragauge.lazy` and type checkers."""

from ragauge.report.sections import report_section as report_section

__all__: list[str]
