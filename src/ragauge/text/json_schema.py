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

    Raises MissingExtra without jsonschema, and ValueError for an invalid JSON Schema.
    """
    jsonschema = optional("JSON Schema", "checks", "jsonschema", "jsonschema.validators")
    from jsonschema_specifications import REGISTRY
    from referencing.jsonschema import DRAFT202012, specification_with

    schema = json.loads(text)
    kind = jsonschema.validators.validator_for(schema)
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise ValueError(error.message) from error
    specification = specification_with(kind.META_SCHEMA.get("$schema", ""), default=DRAFT202012)
    resource = specification.create_resource(schema)
    _check_references(resource, REGISTRY.resolver_with_root(resource))
    bounded = jsonschema.validators.extend(kind, {"pattern": _matching})
    return bounded(schema, registry=REGISTRY)


def _matching(validator: Any, pattern: str, value: Any, _: Any) -> Iterator[Any]:
    """The fault of a text that a "pattern" does not match."""
    from jsonschema import ValidationError

    if validator.is_type(value, "string") and not bounded_search(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _check_references(resource: Any, resolver: Any) -> None:
    """Raise ValueError for a reference of a schema, or of one within it, that leads out of the document."""
    from referencing.exceptions import Unresolvable

    contents = resource.contents if isinstance(resource.contents, dict) else {}
    for reference in filter(None, map(contents.get, ("$ref", "$dynamicRef", "$recursiveRef"))):
        try:
            resolver.lookup(reference)
        except Unresolvable as error:
            raise ValueError(f"{reference!r} is not in the document; copy it into its $defs") from error
    for inner in resource.subresources():
        _check_references(inner, resolver.in_subresource(inner))
