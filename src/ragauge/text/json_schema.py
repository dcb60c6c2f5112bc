"""Validators of JSON Schema, by the library jsonschema."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator
from contextvars import ContextVar
from functools import cache, wraps
from time import monotonic
from typing import Any

from ragauge.host import optional
from ragauge.text.patterns import bounded_search

#: Seconds that a schema may take on a value, and when the time of the current value is over.
_SCHEMA_SECONDS = 5.0
_DEADLINE: ContextVar[float] = ContextVar("_DEADLINE")


def schema_fault(text: str, value: Any) -> str | None:
    """The first fault of a value by a JSON Schema, with its place; None where the schema allows the value.

    Raises as `json_schema_validator` does, and ValueError where the schema or a pattern in it takes too long.
    """
    _DEADLINE.set(monotonic() + _SCHEMA_SECONDS)
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
    if {"patternProperties", "unevaluatedProperties"} <= _keywords(resource):
        raise ValueError(
            "patternProperties beside unevaluatedProperties, which cannot be limited in time; name the fields"
        )
    bounded = {name: _timed(_OWN_KEYWORDS.get(name, keyword)) for name, keyword in kind.VALIDATORS.items()}
    return jsonschema.validators.extend(kind, bounded)(schema, registry=REGISTRY)


def _timed(keyword: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a keyword, which raises ValueError once the time of the schema is over."""

    @wraps(keyword)
    def timed(*arguments: Any) -> Any:
        if monotonic() > _DEADLINE.get():
            raise ValueError(f"the schema takes more than {_SCHEMA_SECONDS:g} s; make it simpler")
        return keyword(*arguments)

    return timed


def _keywords(resource: Any) -> set[str]:
    """The keywords of a schema and of those within it."""
    contents = resource.contents if isinstance(resource.contents, dict) else {}
    return set(contents).union(*map(_keywords, resource.subresources()))


def _matching(validator: Any, pattern: str, value: Any, _: Any) -> Iterator[Any]:
    """The fault of a text that a "pattern" does not match."""
    from jsonschema import ValidationError

    if validator.is_type(value, "string") and not bounded_search(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _matching_names(validator: Any, patterns: dict[str, Any], value: Any, _: Any) -> Iterator[Any]:
    """The faults of fields that "patternProperties" covers."""
    for name in value if validator.is_type(value, "object") else ():
        for pattern, inner in patterns.items():
            if bounded_search(pattern, name):
                yield from validator.descend(value[name], inner, path=name, schema_path=pattern)


def _without_matching_names(validator: Any, allowed: Any, value: Any, schema: dict[str, Any]) -> Iterator[Any]:
    """The faults of fields that "additionalProperties" covers: those that match no pattern."""
    from jsonschema import Draft202012Validator

    patterns = schema.get("patternProperties", {})
    if validator.is_type(value, "object"):
        named = {name for name in value if any(bounded_search(pattern, name) for pattern in patterns)}
        value = {name: field for name, field in value.items() if name not in named}
    plain = Draft202012Validator.VALIDATORS["additionalProperties"]
    schema = {name: keyword for name, keyword in schema.items() if name != "patternProperties"}
    yield from plain(validator, allowed, value, schema)


def _unique(validator: Any, wanted: bool, value: Any, _: Any) -> Iterator[Any]:
    """The fault of a list that holds a value twice, found in time that is linear in its length."""
    from jsonschema import ValidationError

    if wanted and validator.is_type(value, "array") and len(set(map(_comparable, value))) < len(value):
        yield ValidationError(f"{value!r} has non-unique elements")


def _comparable(value: Any) -> Hashable:
    """A JSON value by which to compare it: 1 equals 1.0 and not true, and the order of keys is no matter."""
    if isinstance(value, dict):
        return frozenset((name, _comparable(field)) for name, field in value.items())
    if isinstance(value, list):
        return tuple(map(_comparable, value))
    return isinstance(value, bool), value


#: Own versions of keywords, whose time is limited or linear in the length of a value.
_OWN_KEYWORDS = {
    "pattern": _matching,
    "patternProperties": _matching_names,
    "additionalProperties": _without_matching_names,
    "uniqueItems": _unique,
}


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
