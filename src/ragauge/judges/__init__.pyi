"""The public names and their modules, for `ragauge.lazy` and type checkers."""

from ragauge.judges.base import Judge as Judge

__all__: list[str]
