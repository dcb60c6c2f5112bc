"""Faults: what goes wrong with which call, the same in every run of the same calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from zlib import crc32

from tests.llm.stub.texts import COMPLETIONS, TEXTS
from tests.llm.stub.transmission import CONNECTIONS, COPIES, DRESSES

#: Faults in addition to plain HTTP statuses such as "429" or "500", with what each means.
NAMES = {
    "quota": "status 429 of a spent account",
    "refusal": "the model refuses",
    "blocked": "status 400 of a content filter that refuses the prompt",
    "expired": "in a batch: the call is not made in time; elsewhere: nothing",
    **{name: fault.meaning for name, fault in {**TEXTS, **COMPLETIONS}.items()},
    **{name: dress.meaning for name, dress in DRESSES.items()},
    **{name: meaning for name, (meaning, _) in {**CONNECTIONS, **COPIES}.items()},
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
