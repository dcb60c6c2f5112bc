from __future__ import annotations

import doctest
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs" / "statistics.md"


def test_the_example_of_the_page_runs() -> None:
    """What docs/statistics.md shows is what the code gives."""
    result = doctest.testfile(str(DOCS), module_relative=False)
    assert (result.failed, result.attempted) == (0, 3)
