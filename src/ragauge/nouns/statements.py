"""Statements: the pieces a text is taken apart into."""

from __future__ import annotations

import msgspec

Span = tuple[int, int]


class Statement(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A self-contained piece of a text.

    span: its characters there, start inclusive, end exclusive; None where the judge rewrote it beyond recognition.
    claim: it asserts something that can be checked.
    opinion: it carries the author's own belief, judgment, attitude or threat.
    The flags are independent; greetings and fillers have neither.
    """

    text: str
    span: Span | None = None
    claim: bool = True
    opinion: bool = False
