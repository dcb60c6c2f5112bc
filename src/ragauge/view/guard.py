"""The guard: which requests are served at all.

The page shows what may be confidential and takes labels, so no other page that the same browser shows may reach it. The
token, which is in every path, is a secret that only the printed address has: a page elsewhere cannot name a path that
exists. No cookie carries it, since cookies go to every port of a machine. The Host header is checked, so that a name
that somebody points at 127.0.0.1 (DNS rebinding) leads nowhere. Nothing allows other origins to read (CORS), and what
changes something must come from the page itself.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping

#: The names of this machine that a browser may ask for.
NAMES = ("127.0.0.1", "localhost")

#: Sent with everything: who may show, embed and read it (nobody else), and that it is not kept or named elsewhere.
HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Guard:
    """Knows the token and the port."""

    def __init__(self, token: str, port: int) -> None:
        self._token = token
        self._hosts = {f"{name}:{port}" for name in NAMES}
        self._origins = {f"http://{host}" for host in self._hosts}

    def admits(self, method: str, path: str, headers: Mapping[str, str]) -> bool:
        """Whether a request may be served. path: what was asked for. headers: by name in lower case."""
        given = path.removeprefix("/").partition("/")[0]
        known = hmac.compare_digest(given.encode(), self._token.encode())
        return known and headers.get("host", "") in self._hosts and self._is_own(method, headers)

    def _is_own(self, method: str, headers: Mapping[str, str]) -> bool:
        """Whether the page itself asks, or somebody opens its address; what reads only may come without an origin."""
        origin = headers.get("origin")
        foreign = headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
        if method == "GET":
            return (origin is None or origin in self._origins) and (not foreign or _is_opened(headers))
        own = origin in self._origins and not foreign
        return own and headers.get("content-type", "") == "application/json"


def _is_opened(headers: Mapping[str, str]) -> bool:
    """Whether a link is followed in a window of its own: whoever gave the link cannot read what it leads to."""
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
