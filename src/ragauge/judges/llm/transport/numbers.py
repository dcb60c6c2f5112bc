"""Numbers of calls: each call over HTTP has one, which its reply repeats, so that no reply is taken for another.

A gateway may write a reply twice, or late, on a connection that is kept open; the next call would read it as its own.
The number is a digest of the call: equal calls have equal numbers. It is not part of the prompts, whose digests and
judgments it leaves as they are, and the schema with it depends on nothing but that of the prompt.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import msgspec

from ragauge.judges.llm.messages import Prompt

#: The field of the document, and of the reply.
FIELD = "call"

_LOWEST, _COUNT = 100_000, 900_000
_NUMBER = re.compile(rf'"{FIELD}"\s*:\s*"?(\d{{6}})(?!\d)')


class CallNumbers:
    """The numbers of all calls that one client has sent."""

    def __init__(self) -> None:
        self._sent: set[int] = set()

    def numbered(self, prompt: Prompt) -> tuple[Prompt, int]:
        """A prompt with its number, in its document and its schema; as it is, with 0, where it has no document."""
        document = prompt.user
        if not (document.startswith("{") and document.endswith("}")) or "properties" not in prompt.schema:
            return prompt, 0
        content = msgspec.json.encode((prompt.system, prompt.user, prompt.turns))
        number = _LOWEST + int.from_bytes(blake2b(content, digest_size=8).digest()) % _COUNT
        self._sent.add(number)
        comma = "," if document != "{}" else ""
        user = f'{document[:-1]}{comma}"{FIELD}":{number}}}'
        schema = _with_number(msgspec.json.encode(prompt.schema))
        return msgspec.structs.replace(prompt, user=user, schema=schema), number

    def is_misplaced(self, text: str, number: int) -> bool:
        """Whether a reply has the number of another call, and not this one; a model may leave its number out."""
        written = {int(digits) for digits in _NUMBER.findall(text)} if number else set()
        return number not in written and not written.isdisjoint(self._sent)


@lru_cache(maxsize=512)
def _with_number(schema: bytes) -> dict[str, Any]:
    """A schema of which the number is the first property."""
    plain = msgspec.json.decode(schema)
    properties = {FIELD: {"type": "integer"}, **plain["properties"]}
    return {**plain, "properties": properties, "required": [FIELD, *plain.get("required", ())]}
