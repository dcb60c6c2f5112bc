"""Responses that a model gave to prompts, as the store keeps them."""

from __future__ import annotations

import msgspec

from ragauge.nouns.identity import Identity


class Response(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What a system under test answered.

    key: a hash of all that can change it, the prompt and the system (32 hex digits). call: the id of the call that
    brought it.
    """

    key: str
    text: str
    system: Identity
    call: str = ""
