"""Validators of JSON Schema, by the library jsonschema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from ragauge.host import optional
from ragauge.text.patterns import bounded_search


def schema_fault(text: str, value: Any) -> str | None:
    """The first fault of a value by a JSON Schema, with its place; None where the schema allows the value.

    Raises as `json_schema_validator` does, and ValueError where a `pattern` in it takes too long.
    """
    fault = next(json_schema_validator(text).iter_errors(value), None)
    return fault and f"{fault.json_path}: {fault.message}"


@cache
def json_schema_validator(text: str) -> Any:
    """A validator that opens no file and no address: references lead into the schema, or to the drafts' own schemas.

    Others raise where they are followed. Raises MissingExtra without jsonschema, ValueError for an invalid JSON Schema.
    """
    jsonschema = optional("JSON Schema", "checks", "jsonschema", "jsonschema.validators")
    from jsonschema_specifications import REGISTRY

    schema = json.loads(text)
    kind = jsonschema.validators.validator_for(schema)
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise ValueError(error.message) from error
    bounded = jsonschema.validators.extend(kind, {"pattern": _matching})
    return bounded(schema, registry=REGISTRY)


def _matching(validator: Any, pattern: str, value: Any, _: Any) -> Iterator[Any]:
    """The fault of a text that a "pattern" does not match."""
    from jsonschema import ValidationError

    if validator.is_type(value, "string") and not bounded_search(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")
