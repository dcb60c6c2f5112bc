"""The worst and the best that one sample more could add to the counts of a metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

from ragauge.errors import BadParameter
from ragauge.statistics.checks import on_scale

#: From the sums of the counts to a metric's value, or None where it is undefined.
Value = Callable[[Sequence[float]], float | None]

Row = tuple[float, ...]

#: 2¹⁶ candidates are tried at most.
MOST_COLUMNS = 16


def extreme_rows(
    sums: Sequence[float], size: float, value: Value, scale: tuple[float, float]
) -> tuple[Row | None, Row | None]:
    """The rows of counts that, added to `sums`, lower and raise `value` most; None where there is no possible row.

    A row has 0 or `size` in each column and must be possible: taken alone it has a value on the scale. Hits without a
    total have none, so for (hits, total) the two rows are (0, size) and (size, size).
    Raises BadParameter for more than 16 columns.
    """
    if len(sums) > MOST_COLUMNS:
        raise BadParameter(f"{len(sums)} counts a sample; an interval can be made of {MOST_COLUMNS} at most")
    values: dict[Row, float] = {}
    for row in product((0.0, size), repeat=len(sums)):
        with_row = value([total + more for total, more in zip(sums, row, strict=True)])
        if on_scale(value(row), scale) and with_row is not None:
            values[row] = with_row
    return min(values, key=values.__getitem__, default=None), max(values, key=values.__getitem__, default=None)
