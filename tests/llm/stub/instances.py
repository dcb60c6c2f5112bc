"""JSON schemas: the smallest instance of one, and whether a server with a strict mode takes it."""

from __future__ import annotations

from typing import Any

_DEEPEST = 12
_PLAIN = {"string": "text", "boolean": True, "null": None}


def instance(schema: dict[str, Any], root: dict[str, Any] | None = None, depth: int = 0) -> Any:
    """A small valid instance: first of the enum, lowest number, one item in a list; lists are empty far down."""
    root = schema if root is None else root
    schema = resolved(schema, root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return _object(schema, root, depth)
    if kind == "array":
        least = min(1, schema.get("maxItems", 1)) if depth < _DEEPEST else 0
        return [instance(schema.get("items", {}), root, depth + 1)] * max(schema.get("minItems", 0), least)
    if kind in ("integer", "number"):
        return schema.get("minimum", schema.get("maximum", 1))
    return _PLAIN.get(kind, "text")


def _object(schema: dict[str, Any], root: dict[str, Any], depth: int) -> dict[str, Any]:
    properties = schema.get("properties", {})
    keys = schema.get("required", properties if depth < _DEEPEST else ())
    return {key: instance(properties.get(key, {}), root, depth + 1) for key in keys}


def resolved(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """A schema with its reference followed, and the first of its alternatives taken."""
    while True:
        if "$ref" in schema:
            target: Any = root
            for step in schema["$ref"].removeprefix("#").strip("/").split("/"):
                target = target[step] if step else target
            schema = target
        elif choices := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
            schema = choices[0]
        else:
            return schema


def unfit(schema: Any, refused: frozenset[str], where: str = "schema") -> str | None:
    """Why a strict mode would not take a schema; None where it would. refused: keywords that it does not know."""
    if not isinstance(schema, dict):
        return None
    if found := refused & schema.keys():
        return f"{where}: {', '.join(sorted(found))} not permitted"
    properties = schema.get("properties")
    if properties is not None or schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            return f"{where}: 'additionalProperties' is required to be supplied and to be false"
        if set(schema.get("required", ())) != set(properties or ()):
            return f"{where}: 'required' is required to be supplied and to include every key in properties"
    below = [(f"{where}.{key}", part) for key, part in (properties or {}).items() if "$ref" not in part]
    below += [(f"{where}.$defs.{key}", part) for key, part in schema.get("$defs", {}).items()]
    below += [(f"{where}.anyOf", part) for part in schema.get("anyOf", ())]
    below += [(f"{where}.items", schema["items"])] if "items" in schema else []
    return next((fault for path, part in below if (fault := unfit(part, refused, path))), None)
