"""The tables of docs/data.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ragauge.readers.columns import ALIASES
from ragauge.readers.formats import ROW_KEYS
from ragauge.readers.values import ID_KEYS, TEXT_KEYS
from ragauge.types import Sample

PAGE = (Path(__file__).resolve().parents[2] / "docs/data.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("field", [field for field in ALIASES if not field.endswith("_ids")])
def test_the_page_lists_the_columns_of_each_field(field: str) -> None:
    """The table of names is the one the readers use, in the same order."""
    (row,) = re.findall(rf"^\| `{field}` \| (`[^|]*`) \|$", PAGE, re.MULTILINE)
    assert re.findall(r"`([^`]+)`", row) == list(ALIASES[field])


def test_the_page_lists_every_field() -> None:
    """The table of fields has all fields of a sample, and the page names every key that is looked under."""
    fields = re.findall(r"^\| `(\w+)` \| [^`]", PAGE, re.MULTILINE)
    assert fields == list(Sample.__struct_fields__)
    assert all(f"`{key}`" in PAGE for key in (*TEXT_KEYS, *ID_KEYS, *ROW_KEYS))
