"""The report. It turns the record of a run and its samples into documents, tables and files."""

from __future__ import annotations

from ragauge.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
