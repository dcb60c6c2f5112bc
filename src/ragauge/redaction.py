"""Texts from outside without the keys of this process, which servers repeat in errors and replies."""

from __future__ import annotations

import re
from base64 import b64encode, urlsafe_b64encode
from collections import defaultdict
from collections.abc import Iterator
from urllib.parse import quote

#: How many characters of a secret give it away. In base64 they are ten.
SHORTEST = 8
_SHORTEST_IN_BASE64 = 10

PLACEHOLDER = "[key]"


class Secrets:
    """The secrets of this process, by the first characters of each form in which they may be repeated."""

    def __init__(self) -> None:
        self._added: frozenset[str] = frozenset()
        self._forms: dict[str, list[str]] = {}

    def add(self, secret: str) -> None:
        """Protect a secret. One of less than eight characters is none."""
        if len(secret) < SHORTEST or secret in self._added:
            return
        forms = defaultdict(list, self._forms)  # a copy, since other threads may be reading
        for length, form in _forms_of(secret):
            forms[form[:length]].append(form)
        self._forms, self._added = dict(forms), self._added | {secret}

    def removed(self, text: str) -> str:
        """The text, in which `PLACEHOLDER` stands for each secret, and for each beginning of one that gives it away."""
        for beginning, forms in self._forms.items():
            if beginning in text:
                text = _without(text, beginning, forms)
        return text


def _forms_of(secret: str) -> Iterator[tuple[int, str]]:
    """The forms of a secret, each with how many characters of it give it away: plain, URL-encoded and in base64.

    In base64 it differs with what precedes it, as in "Bearer SECRET": there are three forms.
    """
    every = re.sub(r"[^0-9A-Za-z]", lambda sign: f"%{ord(sign[0]):02X}", secret)
    in_url = {quote(secret, safe=""), every}
    lower = {re.sub("%..", lambda code: code[0].lower(), form) for form in in_url}
    yield from ((SHORTEST, form) for form in {secret, *in_url, *lower})
    for encode in (b64encode, urlsafe_b64encode):
        for before, skipped in ((0, 0), (1, 2), (2, 3)):
            content = b"\0" * before + secret.encode()
            yield _SHORTEST_IN_BASE64, encode(content).decode()[skipped : len(content) * 8 // 6]


def _without(text: str, beginning: str, forms: list[str]) -> str:
    pieces, done = [], 0
    while (place := text.find(beginning, done)) >= 0:
        pieces += [text[done:place], PLACEHOLDER]
        done = place + max(_shared_length(form, text, place) for form in forms)
    return "".join([*pieces, text[done:]])


def _shared_length(form: str, text: str, place: int) -> int:
    """How many characters of a text are those of a form, from a place on."""
    length = 0
    for ours, theirs in zip(form, text[place : place + len(form)], strict=False):
        if ours != theirs:
            break
        length += 1
    return length


SECRETS = Secrets()

#: A text without the secrets of this process.
redacted = SECRETS.removed
