"""Options of judges, written behind a name as in `openai/gpt-4o-mini?temperature=0&seed=1`, or given as keywords."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any, Generic, TypeVar, get_type_hints
from urllib.parse import unquote

import msgspec

from ragauge.errors import BadParameter, UnknownName

T = TypeVar("T", bound=msgspec.Struct)


class OptionParser(Generic[T]):
    """Parses the options of one kind of judge into the struct `options`.

    expected: what each option must be, ending with an example such as "seed=1", for messages. prepare: conversions of
    options before their type is checked. secret: options whose values are not repeated in messages.
    """

    def __init__(
        self,
        options: type[T],
        expected: Mapping[str, str],
        prepare: Mapping[str, Callable[[object], object]] | None = None,
        secret: Collection[str] = (),
    ) -> None:
        self._options, self._expected, self._prepare, self._secret = options, expected, prepare or {}, secret
        self._types: dict[str, Any] = get_type_hints(options, include_extras=True)

    def split(self, spec: str) -> tuple[str, dict[str, object]]:
        """A spec without its options, and the options as they are written. Raises BadParameter."""
        name, _, query = spec.partition("?")
        written: dict[str, object] = {}
        for pair in filter(None, query.split("&")):
            option, equals, value = pair.partition("=")
            if not equals:
                example = self._expected.get(option, "NAME=VALUE").rpartition(" ")[2]
                raise BadParameter(f"option {option!r}: give it a value, as in ?{example}")
            if option in written:
                raise BadParameter(f"option {option!r} is given twice; give it once")
            written[option] = unquote(value)
        return name, written

    def parse(self, values: Mapping[str, object], allowed: Collection[str] | None = None) -> T:
        """The options from names and values; texts are converted to the types of the options.

        Raises UnknownName for an option that is not `allowed` (by default all are), and BadParameter for a value that
        is not what its option must be.
        """
        accepted = self._expected if allowed is None else allowed
        converted = {}
        for option, value in values.items():
            if option not in accepted:
                raise UnknownName("option", option, accepted)
            try:
                prepared = self._prepare[option](value) if option in self._prepare else value
                if isinstance(prepared, bool) and self._types[option] is not bool:
                    raise TypeError
                converted[option] = msgspec.convert(prepared, self._types[option], strict=False)
                numbers = converted[option] if isinstance(converted[option], tuple) else [converted[option]]
                if any(isinstance(number, float) and not math.isfinite(number) for number in numbers):
                    raise ValueError
            except (TypeError, ValueError) as error:
                shown = "this" if option in self._secret else f"{value!r:.60}"
                raise BadParameter(f"{option}: must be {self._expected[option]}; not {shown}") from error
        return self._options(**converted)
