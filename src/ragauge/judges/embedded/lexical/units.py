"""Units of measure by the key of their name: what each measures, and how much of it."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from ragauge.judges.embedded.lexical.words import key_of


class Unit(NamedTuple):
    """What a unit measures. An amount of it is put in the first unit of the dimension by factor, and then by zero."""

    dimension: str
    factor: float
    zero: float = 0.0


_LISTED = {
    "time": """second 1, minute 60, hour 3600, day 86400, week 604800, fortnight 1209600, month 2629800, year 31557600,
        decade 315576000, century 3155760000""",
    "length": """meter 1, mm 0.001, millimeter 0.001, cm 0.01, centimeter 0.01, km 1000, inch 0.0254, foot 0.3048,
        yard 0.9144, mile 1609.344""",
    "mass": "gram 1, mg 0.001, milligram 0.001, kg 1000, tonne 1000000, ounce 28.3495, pound 453.592, stone 6350.29",
    "volume": "liter 1, ml 0.001, milliliter 0.001, cl 0.01, centiliter 0.01",
    "area": "hectare 1, acre 0.404686",
    "share": "whole 1, percent 0.01",
}
_CELSIUS, _FAHRENHEIT = Unit("warmth", 1), Unit("warmth", 5 / 9, -160 / 9)

WHOLE = "whole"
"""The unit of a share that is told in words."""

UNITS = {
    key_of(name): Unit(dimension, float(factor))
    for dimension, listed in _LISTED.items()
    for name, factor in map(str.split, listed.split(","))
} | {
    **dict.fromkeys(map(key_of, ("c", "celsius", "centigrade")), _CELSIUS),
    **dict.fromkeys(map(key_of, ("f", "fahrenheit")), _FAHRENHEIT),
}


@cache
def measuring(dimension: str) -> frozenset[str]:
    """The keys of the units of a dimension."""
    return frozenset(key for key, unit in UNITS.items() if unit.dimension == dimension)
