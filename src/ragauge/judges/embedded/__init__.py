"""The embedded judge: rules, word lists and small tables, on the machine at hand, without a network."""

from ragauge.judges.embedded.statements import decompose

__all__ = ["decompose"]
