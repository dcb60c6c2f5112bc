from __future__ import annotations

from contextlib import suppress

import pytest
from tests.house.growing import READERS, texts

from ragauge.errors import UsageError
from ragauge.readers.values import Malformed


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", READERS)
def test_no_text_takes_much_more_than_its_length(name: str) -> None:
    """Texts of 20,000 characters that repeat a piece or two are all read within the limit; slow code would meet it."""
    every = texts(pairs=60)
    read = 0
    for text in every:
        with suppress(UsageError, Malformed):  # a text may be no such data
            READERS[name](text)
        read += 1
    assert read == len(every) > 60
