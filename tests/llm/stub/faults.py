"""Faults: what goes wrong with which call, the same in every run of the same calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from zlib import crc32

import msgspec

#: Faults beside plain HTTP statuses such as "429" or "500".
NAMES = {
    "quota": "status 429 of a spent account",
    "cut": "the reply ends in the middle and says that it is complete",
    "length": "the reply ends in the middle and says so",
    "malformed": "the reply is prose in place of JSON",
    "invalid": "the reply is JSON without its last key and with a nonsense under its first",
    "fenced": "the reply stands in a code fence, with prose around and a trailing comma",
    "empty": "the reply has no text",
    "refusal": "the model refuses",
    "filter": "a content filter stops the reply",
    "blocked": "status 400 of a content filter that refuses the prompt",
    "garbled": "status 200 with a page of HTML",
    "severed": "the connection ends in the middle of the body",
    "drop": "the connection ends before anything is said",
    "stall": "the connection stays open and nothing comes",
    "expired": "in a batch: the call is not made in time; elsewhere: nothing",
}
NONE = "ok"


class Faults:
    """Draws the fault of a call from its body, the number of times that it came, and a seed; "" for none.

    chances: fault -> probability. script: faults of the first calls, in the order of arrival ("ok" for none).
    """

    def __init__(self, chances: Mapping[str, float], script: Sequence[str], seed: int) -> None:
        for name in {*chances, *script} - {NONE}:
            if not name.isdigit() and name not in NAMES:
                raise ValueError(f"no fault {name!r}: give an HTTP status or one of {', '.join(NAMES)}")
        if sum(chances.values()) > 1 + 1e-9:
            raise ValueError("the chances of all faults together exceed 1")
        self._chances = dict(chances)
        self._script = list(reversed(script))
        self._key = seed.to_bytes(8, "big", signed=True)
        self._seen: Counter[bytes] = Counter()

    def draw(self, body: bytes) -> tuple[str, float]:
        """The fault of a call, and a number of [0, 1) for its jitter."""
        if not self._chances and not self._script:
            return "", crc32(body) / 2**32
        digest = blake2b(body, digest_size=8, key=self._key).digest()
        self._seen[digest] += 1
        draws = blake2b(digest + str(self._seen[digest]).encode(), digest_size=16).digest()
        jitter = int.from_bytes(draws[8:], "big") / 2**64
        if self._script:
            return self._script.pop().replace(NONE, ""), jitter
        return self._pick(int.from_bytes(draws[:8], "big") / 2**64), jitter

    def _pick(self, draw: float) -> str:
        for name, chance in self._chances.items():
            draw -= chance
            if draw < 0:
                return name
        return ""


def spoil(text: str, fault: str) -> str:
    """A reply with a fault in its text."""
    match fault:
        case "cut" | "length" | "filter":
            return text[: len(text) // 2]
        case "malformed":
            return "I would say that most of this holds, though it is hard to be sure."
        case "invalid":
            return _spoiled(text)
        case "fenced":
            return f"Here is my answer:\n```json\n{text[:-1]},{text[-1:]}\n```\nLet me know if you need more."
        case "empty":
            return ""
    return text


def _spoiled(text: str) -> str:
    """A reply without its last key, and with a nonsense under its first."""
    reply = msgspec.json.decode(text)
    if not isinstance(reply, dict) or not reply:
        return "7"
    keys = list(reply)
    kept = {key: reply[key] for key in keys[:-1]} if len(keys) > 1 else {}
    return msgspec.json.encode({**kept, keys[0]: 7}).decode()
