"""The part of SARIF 2.1.0 that a log of ours uses, as a JSON schema: members, their types, and which are required.

Written down from the OASIS standard (sections 3.13 to 3.54), with nothing else allowed, so that a misspelled member is
found; the standard's own schema is not a package that could be installed.
"""

from __future__ import annotations

from typing import Any


def _object(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    properties = {**required, **optional}
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _list(items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


TEXT = {"type": "string"}
FROM_0 = {"type": "integer", "minimum": 0}
FROM_1 = {"type": "integer", "minimum": 1}
BAG = {"type": "object"}
URI = {"type": "string", "format": "uri-reference"}
MESSAGE = _object({"text": TEXT})
LEVEL = {"enum": ["none", "note", "warning", "error"]}

RULE = _object({"id": TEXT}, name=TEXT, shortDescription=MESSAGE, defaultConfiguration=_object({}, level=LEVEL))
REGION = _object(
    {},
    startLine=FROM_1,
    startColumn=FROM_1,
    endLine=FROM_1,
    endColumn=FROM_1,
    charOffset=FROM_0,
    charLength=FROM_0,
    snippet=_object({}, text=TEXT),
)
LOCATION = _object(
    {},
    physicalLocation=_object({"artifactLocation": _object({"uri": URI}, index=FROM_0)}, region=REGION),
    logicalLocations=_list(_object({}, name=TEXT, fullyQualifiedName=TEXT, kind=TEXT), uniqueItems=True),
)
RESULT = _object(
    {"message": MESSAGE},
    ruleId=TEXT,
    ruleIndex=FROM_0,
    level=LEVEL,
    locations=_list(LOCATION),
    partialFingerprints={"type": "object", "additionalProperties": TEXT},
    properties=BAG,
)
DRIVER = _object({"name": TEXT}, version=TEXT, semanticVersion=TEXT, rules=_list(RULE, uniqueItems=True))
RUN = _object(
    {"tool": _object({"driver": DRIVER})},
    automationDetails=_object({}, id=TEXT, description=MESSAGE),
    invocations=_list(_object({"executionSuccessful": {"type": "boolean"}}), uniqueItems=True),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    artifacts=_list(_object({}, location=_object({}, uri=URI), contents=_object({}, text=TEXT)), uniqueItems=True),
    results=_list(RESULT),
)
LOG = _object({"version": {"const": "2.1.0"}, "runs": _list(RUN)}, **{"$schema": {"type": "string", "format": "uri"}})
